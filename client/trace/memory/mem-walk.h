/* Depth-first walk through a profile's tree, with any depth and without recursion. */
#ifndef TRACE_MEM_WALK_H
#define TRACE_MEM_WALK_H

#include <mprof/flame.h>
#include <mprof/profile.h>

#include "mem-levels.h"
#include "mem-live.h"

struct mem_walk {
	const struct mprof_profile_node *nodes;
	uint32_t n;
	/*
	 * FIRST has for each node its first child that is not visited yet, NEXT for each node its
	 * next sibling.
	 */
	uint32_t *first;
	uint32_t *next;
	uint32_t at;   /* the node that was entered or left last */
	uint64_t seed; /* seed of the profile, for maps */
	bool begun;
	bool left; /* AT was left; else entered */
};

/* Return the seed of P's options. */
uint64_t profile_seed(const struct mprof_profile *p);
/* Return P's levels, and set *ALLOCS to the number of allocations that they count. */
const struct mem_levels *profile_levels(const struct mprof_profile *p, uint64_t *allocs);
/* Return the number of all allocations, also of those that P's selection left out: ids are below it. */
uint64_t profile_allocs(const struct mprof_profile *p);
/* Return P's live objects. */
const struct mem_live *profile_live(const struct mprof_profile *p);

/*
 * Begin a walk through P's tree. Return false without memory. Call mem_walk_deinit() in any case.
 */
bool mem_walk_init(struct mem_walk *w, struct mprof_profile *p);
void mem_walk_deinit(struct mem_walk *w);

enum mem_step { MEM_WALK_ENTER, MEM_WALK_LEAVE, MEM_WALK_END };

/* Go to the next step: enter or leave the node W->at, or end. */
enum mem_step mem_walk_next(struct mem_walk *w);

/* Return the samples of NODE that WEIGHT asks for. */
uint64_t mem_weight(const struct mprof_profile_node *node, enum mprof_weight weight);

/* ---- selections ---- */

/* Interface of a selection for a profile. */

/* Return true when the object of alloc NUMBER, from 0, is selected. */
bool selection_has(const struct mprof_selection *s, uint64_t number);
/*
 * selection_from_promotion() returns true when objects of the minor heap begin to count at their
 * promotion; selection_to_promotion() when they end there.
 */
bool selection_from_promotion(const struct mprof_selection *s);
bool selection_to_promotion(const struct mprof_selection *s);

/*
 * Return true when NAME, the BYTES bytes of a function's name, matches CLAUSE. OUTSIDE of the
 * clause is ignored.
 */
bool mem_clause_met(const struct mprof_mem_clause *clause, const char *name, size_t bytes);

#endif
