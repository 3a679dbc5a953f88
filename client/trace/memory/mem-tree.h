/*
 * Tree of a profile's stacks. A node (struct mprof_profile_node) counts its samples, and those that
 * lived when the most samples of the profile did (the peak).
 */
#ifndef TRACE_MEM_TREE_H
#define TRACE_MEM_TREE_H

#include <mprof/profile.h>

#include "grow.h"
#include "map.h"

/* The node of each frame of a domain's previous stack. */
struct mem_path {
	uint32_t *nodes;
	uint32_t n, room;
	uint16_t domain;
};

/* The size of a node is one cache line. */
struct mem_node {
	/* As in struct mprof_profile_node. */
	uint32_t parent, code, depth;
	/*
	 * Valid when EPOCH is the tree's EPOCH: MADE are the samples allocated since the last peak,
	 * ENDED the older samples that ended since the last peak.
	 */
	uint32_t epoch;
	uint64_t made, ended;
	uint64_t allocs, samples, live;
	uint64_t padding;
};

struct mem_tree {
	struct grow nodes; /* struct mem_node */
	struct grow out;   /* result of the last mem_tree_nodes() */
	struct map map;	   /* from parent and code to node */
	struct mem_path paths[MPROF_MEM_DOMAINS_MAX];
	uint32_t n_paths;
	/* number of peaks so far */
	uint32_t epoch;
};

/*
 * Make a tree that only has a root. Return false without memory. Call mem_tree_deinit() in any
 * case.
 */
bool mem_tree_init(struct mem_tree *t, uint64_t seed);
void mem_tree_deinit(struct mem_tree *t);

/*
 * Return the node at which the stack of the alloc E ends, and create it if needed. Return
 * MPROF_NONE without memory. Set *LEFT_OUT when the tree is full and inner frames have no node.
 */
uint32_t mem_tree_node(struct mem_tree *t, const struct mprof_mem_event *e, bool *left_out);
/* Count SAMPLES that were allocated at NODE. */
void mem_tree_made(struct mem_tree *t, uint32_t node, uint64_t samples);
/* Count the end of SAMPLES that were allocated at NODE when the tree's epoch was EPOCH. */
void mem_tree_ended(struct mem_tree *t, uint32_t node, uint64_t samples, uint32_t epoch);
/* Begin an epoch: more samples live now than ever before. */
static inline void mem_tree_peak(struct mem_tree *t)
{
	t->epoch++;
}

const struct mprof_profile_node *mem_tree_nodes(struct mem_tree *t, uint32_t *n);

#endif
