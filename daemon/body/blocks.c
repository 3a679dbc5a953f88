/*
 * Read a body through blocks.
 *
 * A block that was read to its end is filled again at once, so the thread decodes while the caller
 * sends. A block is read only when all of its frames are decoded.
 */
#include <errno.h>
#include <string.h>

#include "blocks.h"

int block_reserve(struct block *block, size_t bytes)
{
	uint8_t *more;

	if (bytes <= block->capacity)
		return 0;
	more = malloc(bytes);
	if (!more)
		return -ENOMEM;
	free(block->data);
	block->data = more;
	block->capacity = bytes;
	return 0;
}

void blocks_init(struct blocks *b, struct decode_thread *thread, blocks_fill *fill, void *context)
{
	*b = (struct blocks){.thread = thread, .fill = fill, .context = context};
}

void blocks_deinit(struct blocks *b)
{
	for (unsigned i = 0; i < b->n; i++)
		decode_drop(b->thread, &b->list[(b->first + i) % BLOCKS_AHEAD].batch);
	for (unsigned i = 0; i < BLOCKS_AHEAD; i++) {
		decode_batch_deinit(&b->list[i].batch);
		free(b->list[i].data);
	}
	*b = (struct blocks){0};
}

/* Fill blocks, and hand them over, until there are enough of them or the body ends. */
static void fill_all(struct blocks *b)
{
	while (b->n < BLOCKS_AHEAD && !b->ended) {
		struct block *block = &b->list[(b->first + b->n) % BLOCKS_AHEAD];

		decode_batch_clear(&block->batch);
		block->bytes = 0;
		block->rc = block_reserve(block, BLOCK_BYTES);
		if (block->rc == 0)
			block->rc = b->fill(b->context, block);
		b->ended = block->rc != 0;
		decode_begin(b->thread, &block->batch);
		b->n++;
	}
}

/* Go on behind the first block. */
static void next(struct blocks *b)
{
	b->rc = b->list[b->first].rc;
	b->first = (b->first + 1) % BLOCKS_AHEAD;
	b->n--;
	b->at = 0;
	b->decoded = false;
}

int blocks_read(struct blocks *b, char *out, size_t max, size_t *n, const struct decode_frame **damage)
{
	struct block *block;

	*n = 0;
	*damage = NULL;
	for (;;) {
		fill_all(b);
		if (b->n == 0)
			return b->rc;
		block = &b->list[b->first];
		if (!b->decoded)
			*damage = decode_wait(b->thread, &block->batch);
		if (*damage)
			return ARCHIVE_E_DAMAGED;
		b->decoded = true;
		if (b->at < block->bytes)
			break;
		next(b);
	}
	*n = block->bytes - b->at < max ? block->bytes - b->at : max;
	memcpy(out, block->data + b->at, *n);
	b->at += *n;
	if (b->at == block->bytes) {
		next(b);
		fill_all(b);
	}
	return 0;
}
