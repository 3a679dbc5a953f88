/* Tree of a profile's stacks, with the samples of each node that lived at the peak. */
#ifndef TRACE_MEM_TREE_H
#define TRACE_MEM_TREE_H

#include <mprof/profile.h>

#include "grow.h"
#include "map.h"

/* Nodes of a domain's previous stack, frame by frame. */
struct mem_path {
	uint32_t *nodes;
	uint32_t n, room;
	uint16_t domain;
};

/* One cache line. */
struct mem_node {
	/* As in struct mprof_profile_node. */
	uint32_t parent, code, depth;
	/*
	 * Valid when EPOCH is the tree's: samples made since the last peak, and older samples that
	 * ended since.
	 */
	uint32_t epoch;
	uint64_t made, ended;
	uint64_t allocs, samples, live;
	uint64_t padding;
};

struct mem_tree {
	struct grow nodes; /* struct mem_node */
	struct grow out;   /* result of the last mem_tree_nodes() */
	struct map map;	   /* parent and code to node */
	struct mem_path paths[MPROF_MEM_DOMAINS_MAX];
	uint32_t n_paths;
	uint32_t epoch; /* number of peaks so far */
};

/* Return false without memory. Call mem_tree_deinit() in any case. */
bool mem_tree_init(struct mem_tree *t, uint64_t seed);
void mem_tree_deinit(struct mem_tree *t);

/*
 * Return the node at which the stack of an alloc ends, or MPROF_NONE without memory. Set *LEFT_OUT
 * when frames are left out because the tree is full.
 */
uint32_t mem_tree_node(struct mem_tree *t, const struct mprof_mem_event *e, bool *left_out);
/* Count SAMPLES allocated at NODE. */
void mem_tree_made(struct mem_tree *t, uint32_t node, uint64_t samples);
/* Count the end of SAMPLES of NODE, allocated when the tree's epoch was EPOCH. */
void mem_tree_ended(struct mem_tree *t, uint32_t node, uint64_t samples, uint32_t epoch);
/* Begin an epoch: more lives now than ever before. */
static inline void mem_tree_peak(struct mem_tree *t)
{
	t->epoch++;
}

const struct mprof_profile_node *mem_tree_nodes(struct mem_tree *t, uint32_t *n);

#endif
