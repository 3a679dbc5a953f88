/* The nodes of spans.c: what they are, and how they make room.  For spans.c alone. */
#ifndef TRACE_SPAN_NODES_H
#define TRACE_SPAN_NODES_H

#include "spans.h"

#define SPAN_FAN	32u
#define SPAN_HEIGHT_MAX 16u /* a node has 4 children at least, and there are fewer than 2^32 spans */

struct span_leaf {
	uint32_t at[SPAN_FAN];
	uint64_t value[SPAN_FAN];
	uint32_t n;
};

struct span_inner {
	uint32_t at[SPAN_FAN];
	uint64_t mark[SPAN_FAN];
	uint64_t any[SPAN_FAN];
	uint64_t all[SPAN_FAN];
	uint32_t child[SPAN_FAN];
	uint32_t n;
};

static inline struct span_leaf *span_leaf_at(const struct spans *s, uint32_t i)
{
	return pool_at(&s->leaves, sizeof(struct span_leaf), i);
}

static inline struct span_inner *span_inner_at(const struct spans *s, uint32_t i)
{
	return pool_at(&s->inners, sizeof(struct span_inner), i);
}

static inline uint64_t span_together(const struct spans *s, uint64_t a, uint64_t b)
{
	if (s->largest)
		return a > b ? a : b;
	return a | b;
}

/* The last of the N positions that is not above X; the first one never is. */
static inline uint32_t span_position(const uint32_t *at, uint32_t n, uint32_t x)
{
	uint32_t low = 0, half;

	while (n > 1) {
		half = n / 2;
		low = at[low + half] <= x ? low + half : low;
		n -= half;
	}
	return low;
}

/* ANY and ALL of child I of N, which stands at HEIGHT. */
void span_sum_up(const struct spans *s, struct span_inner *n, uint32_t i, uint32_t height);
/* Let a span of a leaf begin at X; false where none does and there is no room. */
bool span_leaf_begin_at(struct span_leaf *leaf, uint32_t x);
/*
 * Let a span of TREE begin at X.  Every full node on the way down is split before it is entered; there are as many nodes in reserve as the tree
 * has levels, and one for a root above it.
 */
void span_begin_at(struct spans *s, struct span_tree *tree, uint32_t x);

#endif
