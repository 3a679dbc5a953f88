/*
 * Nodes of spans, and room in them.
 *
 * Why apart: what a tree is asked and what is added to it (spans.c) does not care how its nodes divide.
 *
 * Invariant: a node that is split passes its mark on to both halves, and every summary above stays true.
 */
#include "span-nodes.h"

#include <string.h>

#include "large.h"

_Static_assert(sizeof(struct span_inner) * POOL_PIECE < LARGE_MIN, "a piece of nodes would take addresses without end");

void span_sum_up(const struct spans *s, struct span_inner *n, uint32_t i, uint32_t height)
{
	uint64_t any = 0, all = UINT64_MAX;
	uint32_t k;

	if (height == 0) {
		const struct span_leaf *leaf = span_leaf_at(s, n->child[i]);

		for (k = 0; k < leaf->n; k++) {
			any = span_together(s, any, leaf->value[k]);
			all &= leaf->value[k];
		}
	} else {
		const struct span_inner *below = span_inner_at(s, n->child[i]);

		for (k = 0; k < below->n; k++) {
			any = span_together(s, any, below->any[k]);
			all &= below->all[k];
		}
	}
	n->any[i] = span_together(s, any, n->mark[i]);
	n->all[i] = all | n->mark[i];
}

static void inner_open(struct span_inner *n, uint32_t i)
{
	size_t behind = n->n - i;

	memmove(n->at + i + 1, n->at + i, behind * sizeof(n->at[0]));
	memmove(n->mark + i + 1, n->mark + i, behind * sizeof(n->mark[0]));
	memmove(n->any + i + 1, n->any + i, behind * sizeof(n->any[0]));
	memmove(n->all + i + 1, n->all + i, behind * sizeof(n->all[0]));
	memmove(n->child + i + 1, n->child + i, behind * sizeof(n->child[0]));
	n->n++;
}

/*
 * How much of a full node stays in the left half where X is to come in.  Threads are placed for the most part from the latest to the
 * earliest: then the right half, which is done with, is left nearly full.
 */
static uint32_t kept_of(const uint32_t *at, uint32_t x)
{
	uint32_t i = span_position(at, SPAN_FAN, x);

	if (i < SPAN_FAN / 4)
		return SPAN_FAN / 8;
	return i < SPAN_FAN - SPAN_FAN / 4 ? SPAN_FAN / 2 : SPAN_FAN - SPAN_FAN / 8;
}

/* Move what a full node at HEIGHT does not keep for X into a new one: its number. */
static uint32_t split(struct spans *s, uint32_t node, uint32_t height, uint32_t x, uint32_t *at)
{
	if (height == 0) {
		struct span_leaf *right = pool_take(&s->leaves, sizeof(*right)), *left = span_leaf_at(s, node);

		left->n = kept_of(left->at, x);
		right->n = SPAN_FAN - left->n;
		memcpy(right->at, left->at + left->n, right->n * sizeof(right->at[0]));
		memcpy(right->value, left->value + left->n, right->n * sizeof(right->value[0]));
		*at = right->at[0];
		return s->leaves.n - 1;
	}
	struct span_inner *right = pool_take(&s->inners, sizeof(*right)), *left = span_inner_at(s, node);

	left->n = kept_of(left->at, x);
	right->n = SPAN_FAN - left->n;
	memcpy(right->at, left->at + left->n, right->n * sizeof(right->at[0]));
	memcpy(right->mark, left->mark + left->n, right->n * sizeof(right->mark[0]));
	memcpy(right->any, left->any + left->n, right->n * sizeof(right->any[0]));
	memcpy(right->all, left->all + left->n, right->n * sizeof(right->all[0]));
	memcpy(right->child, left->child + left->n, right->n * sizeof(right->child[0]));
	*at = right->at[0];
	return s->inners.n - 1;
}

static bool is_full(const struct spans *s, uint32_t node, uint32_t height)
{
	return (height ? span_inner_at(s, node)->n : span_leaf_at(s, node)->n) == SPAN_FAN;
}

/* Child I of a node, at HEIGHT, is full: make it two, so that X can come in. */
static void split_child(struct spans *s, uint32_t node, uint32_t i, uint32_t height, uint32_t x)
{
	uint32_t at;
	uint32_t right = split(s, span_inner_at(s, node)->child[i], height, x, &at);
	struct span_inner *n = span_inner_at(s, node);

	inner_open(n, i + 1);
	n->at[i + 1] = at;
	n->mark[i + 1] = n->mark[i];
	n->child[i + 1] = right;
	span_sum_up(s, n, i, height);
	span_sum_up(s, n, i + 1, height);
}

static void split_root(struct spans *s, struct span_tree *tree, uint32_t x)
{
	struct span_inner *n;

	if (!is_full(s, tree->root, tree->height))
		return;
	n = pool_take(&s->inners, sizeof(*n));
	n->n = 1;
	n->at[0] = 0;
	n->mark[0] = 0;
	n->child[0] = tree->root;
	tree->root = s->inners.n - 1;
	split_child(s, tree->root, 0, tree->height, x);
	tree->height++;
}

bool span_leaf_begin_at(struct span_leaf *leaf, uint32_t x)
{
	uint32_t i = span_position(leaf->at, leaf->n, x);

	if (leaf->at[i] == x)
		return true;
	if (leaf->n == SPAN_FAN)
		return false;
	memmove(leaf->at + i + 2, leaf->at + i + 1, (leaf->n - i - 1) * sizeof(leaf->at[0]));
	memmove(leaf->value + i + 1, leaf->value + i, (leaf->n - i) * sizeof(leaf->value[0]));
	leaf->at[i + 1] = x;
	leaf->n++;
	return true;
}

void span_begin_at(struct spans *s, struct span_tree *tree, uint32_t x)
{
	uint32_t node, height, i;

	split_root(s, tree, x);
	node = tree->root;
	for (height = tree->height; height > 0; height--) {
		i = span_position(span_inner_at(s, node)->at, span_inner_at(s, node)->n, x);
		if (is_full(s, span_inner_at(s, node)->child[i], height - 1)) {
			split_child(s, node, i, height - 1, x);
			i += span_inner_at(s, node)->at[i + 1] <= x;
		}
		node = span_inner_at(s, node)->child[i];
	}
	span_leaf_begin_at(span_leaf_at(s, node), x);
}
