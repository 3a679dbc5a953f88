/*
 * What the thread that copies hands to the thread that commits: a bounded first-in, first-out queue of items.
 *
 * Every byte in it is accounted, in all and per guest.  Who finds no room leaves the bytes where they are, in the ring, and comes again;
 * if the writer is faster, that becomes a counted gap.  Beside the room for the living there is room for the dead: tails may use both.
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
};

/* What one guest has in the queue.  Counted references: the guest's own and one an item. */
struct account {
	size_t bytes;
	unsigned refs;
};

struct item {
	struct item *next;
	struct account *account; /* NULL for items that belong to nobody */
	enum item_kind kind;
	bool urgent;
	size_t bytes;	 /* accounted */
	uint64_t queued; /* CLOCK_MONOTONIC ns */
	uint64_t ticket; /* given by queue_push, ascending */
	int64_t stream;	 /* of CHUNK, GAP, TAIL */
	int *result;	 /* where PATCH and DELETE leave 0 or ARCHIVE_E_ABSENT; borrowed until the commit */
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
	};
	uint8_t data[];
};

struct queue;

struct queue *queue_new(size_t limit, size_t per_guest, size_t reserve);
struct queue *queue_free(struct queue *queue); /* with all that is in it */
CLEANUP_DEFINE(struct queue, queue_free)

struct account *account_new(void);
void account_release(struct queue *queue, struct account *account); /* NULL too */

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
