/* The tree of threads in the making: what is walked again and again, close together. */
#ifndef TRACE_TREE_H
#define TRACE_TREE_H

#include "model-state.h"

struct tree_node {
	uint32_t parent; /* MPROF_NONE for a root */
	uint32_t first_child;
	uint32_t next_sibling;
	/* Of those that move, see simplify.c. */
	uint32_t place;
	uint32_t size;
	uint32_t moved;
	uint32_t next_moved;
};

/* Let the binds begin where they wake: PARENT, START and the flags of threads, but not their chains. */
void simplify_mark(struct mprof_model *m);
/*
 * Make the tree of M's threads, by what simplify_mark() says, in NODES, one for each thread.  SCRATCH has room for a number for each
 * thread.
 */
void simplify_tree(const struct mprof_model *m, struct tree_node *nodes, uint32_t *scratch);

#endif
