/*
 * Items that the loop passes to the commit thread: recordings, their bytes, and requests.
 *
 * A batch is written in one transaction, in the order of its items. Its reports of damage are
 * handled after that, each in a transaction of its own.
 */
#ifndef SINK_BATCH_H
#define SINK_BATCH_H

#include <stdbool.h>

#include "cleanup.h"
#include "control-server.h"
#include "memtraces.h"

enum item_kind { ITEM_APPEND, ITEM_PUT, ITEM_PATCH, ITEM_DELETE, ITEM_DAMAGE };

struct item {
	struct item *next;
	enum item_kind kind;
	int64_t recording;
	/* APPEND: whole packets; owned */
	uint8_t *data;
	uint32_t length;
	uint64_t offset;
	struct memtrace *put; /* PUT: a copy of the recording with its strings in one allocation; owned */
	int pinned;	      /* PATCH: new value; -1 = no change */
	char *note;	      /* PATCH: new value; NULL = no change; owned */
	uint64_t pieces;      /* DAMAGE: number of damaged pieces */
	bool is_known;	      /* DAMAGE: an earlier item of the batch reports the same recording */
	/*
	 * The client that is answered after the commit; CLIENT 0 = none. RESULT is then 0 or an
	 * archive_condition.
	 */
	struct control_asker asker;
	int result;
};

struct batch {
	struct item *first, **last; /* list of items; LAST points to the pointer at its end */
	uint64_t bytes;		    /* bytes of the APPEND items */
};

void batch_init(struct batch *b);
void batch_deinit(struct batch *b); /* frees the items */
/*
 * Append an item of KIND for RECORDING; all other fields are zero. Return the item, or NULL without
 * memory.
 */
struct item *batch_add(struct batch *b, enum item_kind kind, int64_t recording);
/*
 * Append an item that appends LENGTH bytes to RECORDING at OFFSET. DATA is from malloc() and is
 * taken over, also on failure. Return 0 or -ENOMEM.
 */
int batch_append(struct batch *b, int64_t recording, uint64_t offset, uint8_t *data, uint32_t length);
/*
 * Append an item with a copy of the recording as it is now. Return the item, or NULL without
 * memory.
 */
struct item *batch_put(struct batch *b, const struct memtrace *recording);
/* Move all items to TO, which must be empty. */
void batch_move(struct batch *from, struct batch *to);

#endif
