/*
 * Items that the loop hands to the commit thread: recordings, their bytes, and requests.
 *
 * One batch is one transaction, in the order of its items. Reports of damage come behind it, each
 * in a transaction of its own.
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
	/* APPEND: whole packets, owned */
	uint8_t *data;
	uint32_t length;
	uint64_t offset;
	struct memtrace *put; /* PUT: one allocation with its texts, owned */
	int pinned;	      /* PATCH: -1 = leave */
	char *note;	      /* PATCH: NULL = leave */
	uint64_t pieces;      /* DAMAGE: number of damaged pieces */
	bool is_known;	      /* DAMAGE: the batch has an earlier report of the same */
	/*
	 * The client to answer after the commit; CLIENT 0 = none. RESULT is then 0 or a positive
	 * archive_condition.
	 */
	struct control_asker asker;
	int result;
};

struct batch {
	struct item *first, **last; /* LAST points to the end of the list */
	uint64_t bytes;		    /* of APPEND items */
};

void batch_init(struct batch *b);
void batch_deinit(struct batch *b); /* frees the items */
/* Add an item at the end, zeroed except for these fields. Return NULL if there is no memory. */
struct item *batch_add(struct batch *b, enum item_kind kind, int64_t recording);
/*
 * Append DATA to RECORDING at OFFSET. DATA is from malloc() and taken over in any case. Return 0 or
 * -ENOMEM.
 */
int batch_append(struct batch *b, int64_t recording, uint64_t offset, uint8_t *data, uint32_t length);
/* Add a copy of the recording as it is now. Return NULL if there is no memory. */
struct item *batch_put(struct batch *b, const struct memtrace *recording);
/* Move all items to TO, which must be empty. */
void batch_move(struct batch *from, struct batch *to);

#endif
