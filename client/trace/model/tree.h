/* The tree of threads in the making: what is walked again and again, close together. */
#ifndef TRACE_TREE_H
#define TRACE_TREE_H

#include "model-state.h"

struct tree_node {
	uint32_t parent; /* MPROF_NONE for a root */
	uint32_t first_child;
	uint32_t next_sibling;
};

/* What simplify.c needs besides: how much of the tree is left before it and with it, and a chain of the children that move away. */
struct tree_move {
	uint32_t place;
	uint32_t size;
	uint32_t first;
	uint32_t next;
};

/* Let the binds begin where they wake: PARENT, START and the flags of threads, but not their chains. */
void simplify_mark(struct mprof_model *m);
/*
 * Make the tree of M's threads, by what simplify_mark() says, in NODES.  All three arrays have one item for each thread, and MOVES and LEFT
 * are of no use afterwards.
 */
void simplify_tree(const struct mprof_model *m, struct tree_node *nodes, struct tree_move *moves, uint32_t *left);

#endif
