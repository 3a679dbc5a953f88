/*
 * A bounded first-in, first-out queue of items, from the collector's loop to the commit thread.
 *
 * The queue counts the bytes of its items, in total and per guest (struct account). If an item
 * finds no room, its bytes stay in the ring and a later poll tries again; if the guest overwrites
 * them before that, they become a gap, which is counted. Besides the room for living guests there
 * is a reserve for the last bytes of dead guests. A dead guest may use both, and may also have
 * items of living guests evicted: the newest bytes of a living guest are mostly still in its ring,
 * while a dead guest's ring is unmapped soon. The last bytes of one dead guest may take at most as
 * much room as they leave for the other guests.
 */
#ifndef COLLECT_QUEUE_H
#define COLLECT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive.h"
#include "cleanup.h"
#include "outbox.h"
#include "ring.h"

enum item_kind {
	ITEM_RUN,     /* run: it begins, changes or ends */
	ITEM_STREAM,  /* record: a stream begins or changes */
	ITEM_CHUNK,   /* piece.chunk and data */
	ITEM_GAP,     /* gap */
	ITEM_CAPTURE, /* capture */
	ITEM_RANGE,   /* range: the part of one stream in a capture */
	ITEM_TAIL,    /* piece.chunk and data, the tail of a capture */
	ITEM_PATCH,   /* patch: change a capture */
	ITEM_DELETE,  /* patch.capture: delete this capture */
	ITEM_JUDGE,   /* verdict: what the reader found in a capture of the kind `unread` */
	ITEM_DAMAGE,  /* damage: the place at which a reader met damage */
	ITEM_FINISH,  /* patch.capture: this capture is complete, and will not change */
	ITEM_SENT,    /* sent: a hub has acknowledged a row of the outbox */
	ITEM_AGAIN,   /* again: the hub does not have this capture, or these packets, any more */
	ITEM_MARK,    /* nothing: its commit says that all items before it are in the archive */
};

/*
 * Sums over the items of one guest. REFS counts the guest, each of its items, and each of its
 * lanes.
 */
struct account {
	size_t bytes;
	size_t end; /* bytes of its end: of items that were made after it died */
	unsigned refs;
	bool dead; /* the guest is dead: its items are not evicted, and new items use the room of dead guests */
	uint64_t followed_until; /* CLOCK_MONOTONIC ns; until then a client reads the guest live */
};

/*
 * The waiting items of a stream that may be evicted (queue-room.c). They are the stream's newest
 * items. A stream has a lane as long as its ring is attached.
 */
struct lane;

struct item {
	struct item *next, *prev;
	struct account *account; /* NULL for an item that belongs to no guest */
	struct lane *lane;	 /* set before the push of a CHUNK or GAP that may be evicted; NULL = it must stay */
	struct item *lane_next, *lane_prev;
	enum item_kind kind;
	/*
	 * Its push asks for a commit now (URGENT), or now if no such commit was made in the last
	 * 100 ms (SOON): guests and clients can cause the latter as often as they like.
	 */
	bool urgent, soon;
	bool taken;		 /* queue_take() has returned it */
	bool of_end;		 /* its bytes count as the guest's end */
	size_t bytes;		 /* bytes that it counts as */
	uint64_t queued;	 /* when it was pushed, or a pending gap was found, CLOCK_MONOTONIC ns */
	uint64_t ticket;	 /* number that queue_push() gives it, ascending */
	int64_t stream;		 /* stream of a CHUNK, GAP or TAIL */
	struct ring_cursor from; /* CHUNK and GAP in a lane: cursor of the ring before the item */
	/*
	 * PATCH, DELETE, JUDGE, DAMAGE, SENT and AGAIN: receives 0 or an archive_condition; borrowed until the commit;
	 * NULL = not wanted
	 */
	int *result;
	char *texts; /* memory of the strings of RUN, STREAM or CAPTURE; owned; NULL = none */
	union {
		struct archive_run run;
		struct archive_stream record;
		struct archive_gap gap;
		struct archive_capture capture;
		struct archive_capture_stream range;
		struct {
			int64_t capture;
			struct ring_chunk chunk;
		} piece;
		struct {
			int64_t capture;
			int pinned;	 /* -1 = no change */
			char *note;	 /* owned; NULL = no change */
			char *marks;	 /* owned JSON; NULL = no change */
			char *context;	 /* owned JSON; NULL = no change */
			int64_t version; /* that the capture must have; -1 = any */
		} patch;
		struct {
			int64_t capture;
			bool crashed; /* the main thread failed */
			/* The name of the archive that has the capture; "" = that of this process. */
			char archive[ARCHIVE_NAME_BYTES];
		} verdict;
		struct {
			int64_t stream;
			uint64_t sequence;
			int64_t capture; /* 0 = none */
			/* ""; else row SEQUENCE of this table is damaged (row-sums.h) */
			char table[16];
		} damage;
		struct archive_sent sent;
		struct {
			int64_t capture, stream; /* one of them; the other is 0 */
			uint64_t first, last;	 /* packets of STREAM */
		} again;
	};
	uint8_t data[];
};

struct queue;

struct queue *queue_new(size_t limit, size_t per_guest, size_t reserve);
struct queue *queue_free(struct queue *queue); /* frees the items too */
CLEANUP_DEFINE(struct queue, queue_free)

struct account *account_new(void);
void account_release(struct queue *queue, struct account *account); /* accepts NULL */
size_t account_bytes(struct queue *queue, const struct account *account);

/*
 * Set whether the guest of ACCOUNT is dead. If it is, none of its items is evicted, and new items
 * use the room of dead guests. If it lives again, that holds for new items only.
 */
void account_died(struct queue *queue, struct account *account, bool dead);

/* Commit each item of the guest of ACCOUNT soon until this moment (CLOCK_MONOTONIC ns). */
void account_follow(struct queue *queue, struct account *account, uint64_t until);

/*
 * Open a lane of ACCOUNT for the stream OWNER, which is borrowed until lane_close() and whose ring
 * has RING_BYTES. A quarter of the ring that waits is committed soon, because the guest may write
 * over it. Return NULL without memory.
 */
struct lane *lane_open(struct queue *queue, struct account *account, void *owner, uint64_t ring_bytes);
/*
 * Close the lane, because the ring is being detached. Its waiting items stay in the queue, cannot be
 * evicted any more, and are committed now. Accept NULL; return NULL.
 */
struct lane *lane_close(struct queue *queue, struct lane *lane);
/*
 * Keep the waiting items of the lane from being evicted, because a capture includes them. Accept
 * NULL.
 */
void lane_seal(struct queue *queue, struct lane *lane);

/* The result of an eviction: all waiting items of one stream from a position on were dropped. */
struct evicted {
	void *owner;
	struct ring_cursor to; /* where the ring's cursor must go back to */
	uint64_t packets;      /* packets that the evicted gaps declared lost; they will be declared again */
	uint64_t gaps;
	bool at_least;	/* one of these gaps had AT_LEAST set */
	uint64_t bytes; /* content bytes of the evicted chunks */
};
/*
 * Make room for an item with N bytes of data, of the dead guest of ACCOUNT: evict the newest items
 * of the living stream that has the most bytes waiting. Fill *EVICTED; the caller moves that
 * stream's ring back. Return false if no eviction would make enough room.
 */
bool queue_evict(struct queue *queue, struct account *account, size_t n, struct evicted *evicted);

/*
 * Return the number of bytes for which ACCOUNT's items, headers included, would find room now.
 * DEAD: include the reserve and the bytes that could be evicted.
 */
size_t queue_room(struct queue *queue, struct account *account, bool dead);

/*
 * Return a new item of KIND with room for N bytes of data, or NULL if the queue has no room or
 * memory is short. An item without data always finds room. DEAD: use the room of dead guests. The
 * caller passes the item to queue_push() or queue_item_free().
 */
struct item *queue_item(struct queue *queue, struct account *account, enum item_kind kind, size_t n, bool dead);
/* Accepts NULL; also frees the memory that the item owns. */
void queue_item_free(struct queue *queue, struct item *item);

/* Append ITEM to the queue, which then owns it. Return the item's ticket. */
uint64_t queue_push(struct queue *queue, struct item *item);

/*
 * Wait until a commit is due: an item is urgent, or BYTES bytes or half of the room of a guest or of
 * all are waiting, or an item is older than INTERVAL ns. Then take the first items, about 8 * BYTES,
 * off the queue and return them as a list, which the caller owns. Return NULL if no commit was due
 * for WAIT ns, or if the queue is closed and empty.
 */
struct item *queue_take(struct queue *queue, size_t bytes, uint64_t interval, uint64_t wait);
/* Make queue_take() return at once, if an item waits. */
void queue_hurry(struct queue *queue);
/* Return the ticket of the last item that was pushed; 0 = none was. */
uint64_t queue_last(struct queue *queue);
void queue_close(struct queue *queue);
bool queue_closed(struct queue *queue);

struct queue_level {
	size_t bytes, limit;
	/*
	 * When the oldest item was pushed that waits or was taken and is not freed yet,
	 * CLOCK_MONOTONIC ns; 0 = there is none.
	 */
	uint64_t oldest;
};
struct queue_level queue_level(struct queue *queue);

#endif
