/*
 * A bounded first-in, first-out queue of items, from the collector's loop to the commit thread.
 *
 * Every byte in it is accounted, in total and per guest. A stream that finds no room leaves the
 * bytes in the ring and comes again; if the writer is faster, that becomes a counted gap. Beside
 * the room for living guests there is a reserve for dead ones. The dead may use both, and may evict
 * bytes of the living: a living guest's newest bytes are mostly still in its ring, a dead guest's
 * bytes are soon nowhere. One dead guest never has more than it leaves for the others.
 */
#ifndef COLLECT_QUEUE_H
#define COLLECT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "archive.h"
#include "cleanup.h"
#include "ring.h"

enum item_kind {
	ITEM_RUN,     /* run: begins, changes or ends */
	ITEM_STREAM,  /* stream */
	ITEM_CHUNK,   /* chunk and data */
	ITEM_GAP,     /* gap */
	ITEM_CAPTURE, /* capture */
	ITEM_RANGE,   /* range: one stream of a capture */
	ITEM_TAIL,    /* chunk and data, of a capture */
	ITEM_PATCH,   /* patch: change a capture */
	ITEM_DELETE,  /* patch.capture: delete it */
	ITEM_DAMAGE,  /* damage: a reader met some */
};

/*
 * The items of one guest in the queue. Counted references: one of the guest, one of each item, one
 * of each lane.
 */
struct account {
	size_t bytes;
	size_t end; /* bytes of its end: those that came since it died */
	unsigned refs;
	bool dead; /* its items are not evicted, and new ones find room as those of the dead do */
};

/*
 * The waiting items of a stream that may be evicted: the newest ones, as long as its ring is
 * attached.
 */
struct lane;

struct item {
	struct item *next, *prev;
	struct account *account; /* NULL for items that belong to no guest */
	struct lane *lane;	 /* set before the push of a CHUNK or GAP that may be evicted */
	struct item *lane_next, *lane_prev;
	enum item_kind kind;
	bool urgent;
	bool of_end;		 /* accounted as its guest's end */
	size_t bytes;		 /* accounted */
	uint64_t queued;	 /* CLOCK_MONOTONIC ns */
	uint64_t ticket;	 /* given by queue_push, ascending */
	int64_t stream;		 /* for CHUNK, GAP, TAIL */
	struct ring_cursor from; /* for CHUNK and GAP in a lane: the ring's cursor before it */
	int *result; /* receives 0 or an archive_condition from PATCH, DELETE and DAMAGE; borrowed until the commit */
	char *texts; /* owned: the texts of RUN, RECORD or CAPTURE; NULL = none */
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
			int pinned;    /* -1 = no change */
			char *note;    /* owned; NULL = no change */
			char *context; /* owned JSON; NULL = no change */
		} patch;
		struct {
			int64_t stream;
			uint64_t sequence;
			int64_t capture; /* 0 = none */
		} damage;
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
 * Mark the guest of ACCOUNT as dead: none of its items, queued or to come, is evicted, and only the
 * cap of the dead holds for it. Or, not DEAD, as living again, for the items to come.
 */
void account_died(struct queue *queue, struct account *account, bool dead);

/*
 * Open a lane of ACCOUNT for the stream OWNER (borrowed until lane_close). Return NULL without
 * memory.
 */
struct lane *lane_open(struct queue *queue, struct account *account, void *owner);
/* Close the lane: its ring is gone, so its waiting items must stay. Accept NULL; return NULL. */
struct lane *lane_close(struct queue *queue, struct lane *lane);
/* Keep the lane's waiting items from eviction, because a capture names them. Accept NULL. */
void lane_seal(struct queue *queue, struct lane *lane);

/* Evicted bytes: every waiting item of a stream from a position on. */
struct evicted {
	void *owner;
	struct ring_cursor to; /* new position of its ring's cursor */
	uint64_t packets;      /* packets that evicted gaps declared lost, to be declared again */
	uint64_t gaps;
	bool at_least;	/* one of these gaps said "at least" */
	uint64_t bytes; /* content bytes */
};
/*
 * Make room for an item of N bytes of the dead ACCOUNT: evict the newest items of the living stream
 * that has most waiting. Return false if no eviction would help.
 */
bool queue_evict(struct queue *queue, struct account *account, size_t n, struct evicted *evicted);

/*
 * Return how many bytes of ACCOUNT would find room now, items included; for the dead, with what
 * could be evicted.
 */
size_t queue_room(struct queue *queue, struct account *account, bool dead);

/*
 * Return an item of KIND with N bytes of data, or NULL if there is no room. Small items without
 * data always find room. DEAD: use the reserve too.
 */
struct item *queue_item(struct queue *queue, struct account *account, enum item_kind kind, size_t n, bool dead);
void queue_item_free(struct queue *queue, struct item *item); /* accepts NULL; frees what the item owns */

/* Hand ITEM over. Return its ticket. */
uint64_t queue_push(struct queue *queue, struct item *item);

/*
 * Wait until there is reason for a commit: something urgent, BYTES bytes, or an item that is
 * INTERVAL ns old. Then take all items, at most about BYTES. Return NULL after WAIT ns without a
 * reason, or when the queue was closed and is empty.
 */
struct item *queue_take(struct queue *queue, size_t bytes, uint64_t interval, uint64_t wait);
/* Ask for a commit now. */
void queue_hurry(struct queue *queue);
void queue_close(struct queue *queue);
bool queue_closed(struct queue *queue);

struct queue_level {
	size_t bytes, limit;
};
struct queue_level queue_level(struct queue *queue);

#endif
