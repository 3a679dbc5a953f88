/*
 * Piecewise constant functions of a position, as trees. A function is 0 at first. A value is added
 * over a range of positions, by OR or by maximum. Adding and reading take log n. Many trees share
 * the memory of one store, struct spans.
 */
#ifndef TRACE_SPANS_H
#define TRACE_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "grow.h"

struct spans {
	struct pool leaves;
	struct pool inners;
	bool largest; /* combine values by maximum; else by OR */
};

/*
 * One function; SPAN_TREE_EMPTY is 0 everywhere. The fields after HEIGHT describe the leaf used
 * last, which is often used again.
 */
struct span_tree {
	uint32_t root;
	uint32_t height; /* levels above the leaves */
	uint32_t leaf;	 /* the leaf used last; UINT32_MAX: none */
	uint32_t from;	 /* positions of that leaf: from FROM up to, but not including, TO */
	uint32_t to;
	uint64_t marks; /* combined MARK values (spans.c) of the nodes above that leaf */
	uint64_t known; /* value that ANY (spans.c) of every node above that leaf has already */
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
/*
 * Return the combination, by OR or maximum, of the values from FROM up to, but not including, TO.
 */
uint64_t spans_get(const struct spans *s, struct span_tree *tree, uint32_t from, uint32_t to);
/*
 * In a store that combines by OR: return true when the value at AT is all ones. Then store in *FROM
 * and *TO a range around AT in which it is all ones, though not always the largest such range.
 */
bool spans_full(const struct spans *s, const struct span_tree *tree, uint32_t at, uint32_t *from, uint32_t *to);
/*
 * Call EACH for every range of positions with one value, from FROM up to, but not including, END,
 * in order from position 0 on. The last range ends at UINT32_MAX.
 */
void spans_each(const struct spans *s, const struct span_tree *tree,
		void (*each)(void *context, uint32_t from, uint32_t end, uint64_t value), void *context);

#endif
