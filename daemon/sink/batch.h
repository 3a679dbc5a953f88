/*
 * What goes from the loop to the archivist: recordings as they stand, bytes of theirs, and orders.  One batch is one transaction, in the order of
 * its items; reports of damage come behind it, each in a transaction of its own.
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
	struct memtrace *put; /* PUT: owned, with its texts */
	int pinned;	      /* PATCH: -1 = leave */
	char *note;	      /* PATCH: NULL = leave */
	uint64_t pieces;      /* DAMAGE: how many did not hold */
	bool is_known;	      /* DAMAGE: the batch has an earlier report of the same */
	/* Whom to answer when it is committed; CLIENT 0 = nobody.  RESULT is 0 or a positive archive_condition by then. */
	struct control_asker asker;
	int result;
};

struct batch {
	struct item *first, **last; /* LAST points to where the next one goes */
	uint64_t bytes;		    /* of APPEND items */
};

void batch_init(struct batch *b);
void batch_deinit(struct batch *b); /* frees the items */
/* A new item at the batch's end, zeroed but for these; NULL: no memory. */
struct item *batch_add(struct batch *b, enum item_kind kind, int64_t recording);
/* Append DATA (malloc'ed, taken over also where it fails) to RECORDING at OFFSET.  0 or -ENOMEM. */
int batch_append(struct batch *b, int64_t recording, uint64_t offset, uint8_t *data, uint32_t length);
/* The recording as it stands now, copied.  NULL: no memory. */
struct item *batch_put(struct batch *b, const struct memtrace *recording);
/* Hand over all items: TO, which must be empty, gets them. */
void batch_move(struct batch *from, struct batch *to);

#endif
