/*
 * Piecewise constant functions of a position, 0 at first. A value is added over a range, by OR or
 * by maximum.
 *
 * Adding and reading take log n. Many trees share the nodes of one store.
 */
#ifndef TRACE_SPANS_H
#define TRACE_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "grow.h"

struct spans {
	struct pool leaves;
	struct pool inners;
	bool largest; /* add by maximum; else by OR */
};

/*
 * One function; SPAN_TREE_EMPTY is 0 everywhere. The fields after HEIGHT cache the leaf used last.
 */
struct span_tree {
	uint32_t root;
	uint32_t height; /* levels above the leaves */
	uint32_t leaf;	 /* UINT32_MAX: none */
	uint32_t from;	 /* range of the leaf */
	uint32_t to;
	uint64_t marks; /* values added to the leaf from above */
	uint64_t known; /* value that all nodes above have in their ANY */
};
#define SPAN_TREE_EMPTY ((struct span_tree){.root = UINT32_MAX, .leaf = UINT32_MAX})

void spans_init(struct spans *s, bool largest);
/* Free all trees of the store. */
void spans_deinit(struct spans *s);
uint64_t spans_memory(const struct spans *s);

/*
 * Add VALUE from FROM up to, but not including, TO. FROM < TO < UINT32_MAX. Return false without
 * memory, with nothing changed.
 */
bool spans_add(struct spans *s, struct span_tree *tree, uint32_t from, uint32_t to, uint64_t value);
/* Return all values from FROM up to, but not including, TO, combined. */
uint64_t spans_get(const struct spans *s, struct span_tree *tree, uint32_t from, uint32_t to);
/*
 * Return true when the value at AT is all ones, in a store of OR, and store a range around AT in
 * which it is, not always the largest one, in *FROM and *TO.
 */
bool spans_full(const struct spans *s, const struct span_tree *tree, uint32_t at, uint32_t *from, uint32_t *to);
/* Call EACH for all ranges of one value, from position 0 on; the last one ends at UINT32_MAX. */
void spans_each(const struct spans *s, const struct span_tree *tree,
		void (*each)(void *context, uint32_t from, uint32_t end, uint64_t value), void *context);

#endif
