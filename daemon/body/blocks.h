/*
 * The blocks of a long body: the next ones are decoded while one is being sent.
 *
 * A body holds at most BLOCKS_AHEAD blocks, each of BLOCK_BYTES, or of one row if that is longer, and
 * their frames.
 */
#ifndef BODY_BLOCKS_H
#define BODY_BLOCKS_H

#include "decode-thread.h"

#define BLOCKS_AHEAD 2u
#define BLOCK_BYTES  262144u

struct block {
	uint8_t *data;
	size_t capacity, bytes;
	struct decode_batch batch; /* frames whose content goes to DATA */
	int rc;			   /* what FILL returned: behind this block the body ends */
};

/*
 * Fill BLOCK, which is empty, with the next part of a body, and set BLOCK->bytes to the length of
 * that part. Return 0 if more parts follow. Any other result ends the body behind this part, which
 * may be empty.
 */
typedef int blocks_fill(void *context, struct block *block);

struct blocks {
	struct decode_thread *thread;
	blocks_fill *fill;
	void *context;
	struct block list[BLOCKS_AHEAD]; /* N of them from FIRST on are filled, in turn */
	unsigned first, n;
	size_t at;    /* bytes of the first block that were read */
	bool decoded; /* the first block is */
	bool ended;   /* the last block was filled */
	int rc;	      /* the result behind the last block */
};

/* Make room for BYTES in BLOCK, whose content is lost. Return 0 or -ENOMEM. */
int block_reserve(struct block *block, size_t bytes);

/* Set up B. Borrow THREAD, and CONTEXT for FILL. */
void blocks_init(struct blocks *b, struct decode_thread *thread, blocks_fill *fill, void *context);
/* Give back all memory. A zeroed B is allowed. */
void blocks_deinit(struct blocks *b);

/*
 * Read the next bytes, *N of at most MAX. Behind the last byte return what FILL returned. If a frame
 * does not decode return ARCHIVE_E_DAMAGED, and *DAMAGE is that frame, valid until the next call.
 */
int blocks_read(struct blocks *b, char *out, size_t max, size_t *n, const struct decode_frame **damage);

#endif
