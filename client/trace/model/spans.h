/*
 * Functions of a position, constant over spans and 0 at first, to which a value is added over a range: by OR, or by taking the larger.
 *
 * Adding and asking take log n.  Many trees share the nodes of one store.
 */
#ifndef TRACE_SPANS_H
#define TRACE_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "grow.h"

struct spans {
	struct pool leaves;
	struct pool inners;
	bool largest; /* take the larger value; else OR */
};

/* One function; SPAN_TREE_EMPTY is 0 everywhere.  What follows the height is what is remembered of the leaf that was used last. */
struct span_tree {
	uint32_t root;
	uint32_t height; /* levels above the leaves */
	uint32_t leaf;	 /* UINT32_MAX: none */
	uint32_t from;	 /* its range */
	uint32_t to;
	uint64_t marks; /* everything that is added to it from above */
	uint64_t known; /* a value that all nodes above know to be below them */
};
#define SPAN_TREE_EMPTY ((struct span_tree){.root = UINT32_MAX, .leaf = UINT32_MAX})

void spans_init(struct spans *s, bool largest);
/* Gives up every tree of the store. */
void spans_deinit(struct spans *s);
uint64_t spans_memory(const struct spans *s);

/* Add VALUE from FROM up to TO, exclusively, FROM < TO < UINT32_MAX; false without memory, with nothing changed. */
bool spans_add(struct spans *s, struct span_tree *tree, uint32_t from, uint32_t to, uint64_t value);
/* All values between FROM and TO, exclusively, together. */
uint64_t spans_get(const struct spans *s, struct span_tree *tree, uint32_t from, uint32_t to);
/*
 * Is the value at AT all ones, in a store of OR?  Then put a range around it in which it is so everywhere, not always the largest one, into
 * *FROM and *TO.
 */
bool spans_full(const struct spans *s, const struct span_tree *tree, uint32_t at, uint32_t *from, uint32_t *to);
/* Call EACH for all ranges of one value, from position 0 on; the last one ends at UINT32_MAX. */
void spans_each(const struct spans *s, const struct span_tree *tree,
		void (*each)(void *to, uint32_t from, uint32_t end, uint64_t value), void *to);

#endif
