/*
 * Items named by numbers, in pieces: never moved once a piece is full, so that many grow at the cost of no more than what they take, and without
 * a place for all of them in one.
 */
#ifndef TRACE_POOL_H
#define TRACE_POOL_H

#include "grow.h"

/* A piece of items of up to 2000 bytes stays on the heap: a large array (large.h) has addresses that many pieces would use up. */
#define POOL_SHIFT 10u
#define POOL_PIECE (1u << POOL_SHIFT) /* items */

/* Zeroed it is empty. */
struct pool {
	struct grow pieces; /* struct grow, POOL_PIECE items in each but the last */
	uint32_t n;
	uint32_t room; /* up to this item there is room */
};

/* Room for EXTRA items of SIZE bytes more; false without memory, with nothing changed.  The last items may move. */
bool pool_reserve(struct pool *p, size_t size, uint32_t extra);
void pool_deinit(struct pool *p);
uint64_t pool_memory(const struct pool *p, size_t size);

static inline void *pool_at(const struct pool *p, size_t size, uint32_t i)
{
	return (char *)((const struct grow *)p->pieces.items)[i >> POOL_SHIFT].items + size * (i % POOL_PIECE);
}

/* One more item, not cleared, for which room was reserved. */
static inline void *pool_take(struct pool *p, size_t size)
{
	((struct grow *)p->pieces.items)[p->n >> POOL_SHIFT].n++;
	return pool_at(p, size, p->n++);
}

#endif
