/*
 * What the thread that copies hands to the thread that commits: a bounded first-in, first-out queue of items.
 *
 * Every byte in it is accounted, in all and per guest.  Who finds no room leaves the bytes where they are, in the ring, and comes again;
 * if the writer is faster, that becomes a counted gap.  Beside the room for the living there is room for the dead, who may use both, and
 * who may take room back from the living: a living guest's newest bytes are mostly still in its ring, a dead one's soon are nowhere.  One
 * dead guest never has more than it leaves for the others.
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
	ITEM_RANGE,   /* range: a capture's of one stream */
	ITEM_TAIL,    /* chunk and data, of a capture */
	ITEM_PATCH,   /* patch: change a capture */
	ITEM_DELETE,  /* patch.capture: delete it */
	ITEM_DAMAGE,  /* damage: a reader met some */
};

/* What one guest has in the queue.  Counted references: the guest's own, one an item, one a lane. */
struct account {
	size_t bytes;
	size_t end; /* of these, of its end: what came since it died */
	unsigned refs;
	bool dead; /* what it has is not taken back, and what comes finds room as the dead do */
};

/* Those of a stream's items that wait and may be taken back: the newest, as long as its ring is attached. */
struct lane;

struct item {
	struct item *next, *prev;
	struct account *account; /* NULL for items that belong to nobody */
	struct lane *lane;	 /* set before the push of a CHUNK or GAP: it may be taken back */
	struct item *lane_next, *lane_prev;
	enum item_kind kind;
	bool urgent;
	bool of_end;		 /* accounted as its guest's end */
	size_t bytes;		 /* accounted */
	uint64_t queued;	 /* CLOCK_MONOTONIC ns */
	uint64_t ticket;	 /* given by queue_push, ascending */
	int64_t stream;		 /* of CHUNK, GAP, TAIL */
	struct ring_cursor from; /* of CHUNK, GAP in a lane: where the ring's cursor was before it */
	int *result; /* where PATCH, DELETE and DAMAGE leave 0 or an archive_condition; borrowed until the commit */
	union {
		struct archive_run run; /* its texts are the item's: owned */
		struct archive_stream record;
		struct archive_gap gap;
		struct archive_capture capture; /* note and context owned */
		struct archive_capture_stream range;
		struct {
			int64_t capture;
			struct ring_chunk chunk;
		} piece;
		struct {
			int64_t capture;
			int pinned;    /* -1 = leave */
			char *note;    /* owned; NULL = leave */
			char *context; /* owned JSON; NULL = leave */
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
struct queue *queue_free(struct queue *queue); /* with all that is in it */
CLEANUP_DEFINE(struct queue, queue_free)

struct account *account_new(void);
void account_release(struct queue *queue, struct account *account); /* NULL too */
size_t account_bytes(struct queue *queue, const struct account *account);

/*
 * The guest of ACCOUNT died: nothing that it has in the queue, or that comes, is taken back, and no cap but the share of the dead holds for
 * it.  Or, not DEAD, it goes on: that holds for what comes.
 */
void account_died(struct queue *queue, struct account *account, bool dead);

/* A lane of ACCOUNT's for the stream OWNER (borrowed until lane_close).  NULL: no memory. */
struct lane *lane_open(struct queue *queue, struct account *account, void *owner);
/* Its ring is not there any more, so that what waits can be had nowhere else: it stays.  NULL too; returns NULL. */
struct lane *lane_close(struct queue *queue, struct lane *lane);
/* What waits in it stays: a capture names it.  NULL too. */
void lane_seal(struct queue *queue, struct lane *lane);

/* What was taken back: everything of a stream that waited, from a position on. */
struct evicted {
	void *owner;
	struct ring_cursor to; /* where its ring's cursor goes back to */
	uint64_t packets;      /* declared lost by the gaps among it, which must be declared again ... */
	uint64_t gaps;
	bool at_least;	/* ... and one of them said "at least" */
	uint64_t bytes; /* of content */
};
/*
 * Make room for an item of N bytes of the dead ACCOUNT: take back the newest items of the living stream that has most waiting.  False:
 * nothing that can be taken back would help.
 */
bool queue_evict(struct queue *queue, struct account *account, size_t n, struct evicted *evicted);

/* How many bytes of ACCOUNT's would find room now, items and all; of the dead, with what could be taken back. */
size_t queue_room(struct queue *queue, struct account *account, bool dead);

/* An item of KIND with N bytes of data, or NULL: no room.  Small items without data always find some.  DEAD: use the reserve too. */
struct item *queue_item(struct queue *queue, struct account *account, enum item_kind kind, size_t n, bool dead);
void queue_item_free(struct queue *queue, struct item *item); /* NULL too; with what it owns */

/* Hand ITEM over; returns its ticket. */
uint64_t queue_push(struct queue *queue, struct item *item);

/*
 * Wait until something is worth a commit, then take all of it, at most about BYTES: something urgent, BYTES bytes, or something that is
 * INTERVAL ns old.  Returns NULL after WAIT ns without, or when the queue was closed and is empty.
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
