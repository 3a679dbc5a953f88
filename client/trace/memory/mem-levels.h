/*
 * Live samples of each allocating code at some moments of a run. Moments are numbers of allocations: they are
 * evenly spaced, whatever the clock does, and there are always between half of MEM_LEVELS_MAX of them and all.
 */
#ifndef TRACE_MEM_LEVELS_H
#define TRACE_MEM_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/profile.h>

#include "mem-tree.h"

#define MEM_LEVELS_MAX 32u

/* Live samples by code: code I has the item I + 3, and the items before are those of codes without a number. */
struct mem_level {
	uint64_t *live; /* owned */
	uint32_t n;	/* items */
};

struct mem_levels {
	struct mem_level levels[MEM_LEVELS_MAX];
	uint32_t n;
	uint64_t interval; /* allocations between two moments; 0 before the first one */
	uint64_t next;	   /* allocations at the next moment */
};

/* Free all levels of L, which is then empty. */
void mem_levels_deinit(struct mem_levels *l);
/*
 * After ALLOCS allocations, more than L has seen before: take the moment if it is due. T has the samples of now. Return
 * false without memory.
 */
bool mem_levels_take(struct mem_levels *l, const struct mem_tree *t, uint64_t allocs);
/* Return true if mem_levels_take() would take a moment after ALLOCS allocations. */
static inline bool mem_levels_due(const struct mem_levels *l, uint64_t allocs)
{
	return allocs >= l->next;
}
/*
 * Return the live samples of CODE at the last moment within the first PART of PARTS equal parts of ALLOCS allocations; 0
 * before the first moment.
 */
uint64_t mem_levels_at(const struct mem_levels *l, uint32_t code, uint64_t allocs, uint32_t part, uint32_t parts);

#endif
