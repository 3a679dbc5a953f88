/* Pairs of a thread and a value, sorted, for the question whether there is such a pair. */
#ifndef TRACE_PAIR_INDEX_H
#define TRACE_PAIR_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct pair {
	uint64_t value;
	uint64_t rank; /* order of the pairs with one KEY and VALUE */
	uint32_t key;
	uint32_t item; /* what is found; pairs of one rank are ordered by it */
};

struct pair_index {
	struct pair *pairs; /* sorted by KEY, VALUE, RANK and ITEM */
	uint32_t n;
};

/* Reserve room for at most N pairs. Return false without memory. Call pair_index_deinit() in any case. */
bool pair_index_init(struct pair_index *x, uint32_t n);
void pair_index_deinit(struct pair_index *x);
/* Add a pair. There must be room. */
void pair_index_add(struct pair_index *x, struct pair pair);
/* Sort the pairs, before the first question. */
void pair_index_sort(struct pair_index *x);
/* Return the item of the last pair with KEY and VALUE, or MPROF_NONE. */
uint32_t pair_index_last(const struct pair_index *x, uint32_t key, uint64_t value);

#endif
