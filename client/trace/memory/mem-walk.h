/* A walk through a profile's tree, depth first: what stands above a node is known when it is entered, whatever its depth. */
#ifndef TRACE_MEM_WALK_H
#define TRACE_MEM_WALK_H

#include <mprof/flame.h>
#include <mprof/profile.h>

#include "mem-live.h"

struct mem_walk {
	const struct mprof_profile_node *nodes;
	uint32_t n;
	uint32_t *first; /* of each node a child to come, and that child's sibling */
	uint32_t *next;
	uint32_t at;   /* the node that was entered or left last */
	uint64_t seed; /* the profile's, for maps */
	bool begun;
	bool left; /* AT was left */
};

/* What a profile was given. */
uint64_t profile_seed(const struct mprof_profile *p);
/* What lives in it. */
const struct mem_live *profile_live(const struct mprof_profile *p);

/* False without memory; deinit it in any case. */
bool mem_walk_init(struct mem_walk *w, struct mprof_profile *p);
void mem_walk_deinit(struct mem_walk *w);

enum mem_step { MEM_WALK_ENTER, MEM_WALK_LEAVE, MEM_WALK_END };

/* The next step, at W->at. */
enum mem_step mem_walk_next(struct mem_walk *w);

/* Samples that count at a node. */
uint64_t mem_weight(const struct mprof_profile_node *node, enum mprof_weight weight);

/* ---- selections ---- */

/* What a profile asks of a selection. */

/* Is the object of alloc NUMBER, counted from 0, selected? */
bool selection_has(const struct mprof_selection *s, uint64_t number);
/* Does an object of the minor heap begin with its promotion, or end with it? */
bool selection_from_promotion(const struct mprof_selection *s);
bool selection_to_promotion(const struct mprof_selection *s);

/* Is the function's name, of BYTES bytes, what the clause says?  OUTSIDE is not looked at. */
bool mem_clause_met(const struct mprof_mem_clause *clause, const char *name, size_t bytes);

#endif
