/* The tree of a profile's stacks, and how much of each node lived at the peak. */
#ifndef TRACE_MEM_TREE_H
#define TRACE_MEM_TREE_H

#include <mprof/profile.h>

#include "grow.h"
#include "map.h"

/* The nodes of a domain's stack before, frame by frame. */
struct mem_path {
	uint32_t *nodes;
	uint32_t n, room;
	uint16_t domain;
};

/* One line of the cache. */
struct mem_node {
	/* As in struct mprof_profile_node. */
	uint32_t parent, code, depth;
	/* Of the peak EPOCH, to be believed only where that is the last one: samples made since, and those of before that have ended since. */
	uint32_t epoch;
	uint64_t made, ended;
	uint64_t allocs, samples, live;
	uint64_t padding;
};

struct mem_tree {
	struct grow nodes; /* struct mem_node */
	struct grow out;   /* struct mprof_profile_node: as they were asked for last */
	struct map map;	   /* parent and code to node */
	struct mem_path paths[MPROF_MEM_DOMAINS_MAX];
	uint32_t n_paths;
	uint32_t epoch; /* peaks so far */
};

/* False without memory; deinit it in any case. */
bool mem_tree_init(struct mem_tree *t, uint64_t seed);
void mem_tree_deinit(struct mem_tree *t);

/* The node at which the stack of an alloc ends, or MPROF_NONE without memory.  *LEFT_OUT: frames of it are missing for want of room. */
uint32_t mem_tree_node(struct mem_tree *t, const struct mprof_mem_event *e, bool *left_out);
/* SAMPLES were allocated at NODE. */
void mem_tree_made(struct mem_tree *t, uint32_t node, uint64_t samples);
/* And are gone; EPOCH as it was when they were allocated. */
void mem_tree_ended(struct mem_tree *t, uint32_t node, uint64_t samples, uint32_t epoch);
/* Now as much lives as never before. */
static inline void mem_tree_peak(struct mem_tree *t)
{
	t->epoch++;
}

const struct mprof_profile_node *mem_tree_nodes(struct mem_tree *t, uint32_t *n);

#endif
