/*
 * Spans in B-trees.
 *
 * A leaf lists positions in ascending order, each with the value from there up to the next one.  An inner node lists its children with the
 * position each begins at, and for each a MARK that is to be added to everything below it, ANY, all values below with the mark together,
 * and ALL, the ones that are set everywhere below (OR only).
 *
 * Invariants:
 * - The first position of a node is the one by which its parent knows it; the leftmost is 0.
 * - A range is added where it covers a child wholly, and below where it does not: two paths down.
 * - Where a leaf has no room, the way is gone again and every full node on it is split before it is entered.
 */
#include "spans.h"

#include <string.h>

#define FAN	   32u
#define HEIGHT_MAX 16u /* a node has 4 children at least, and there are fewer than 2^32 spans */

struct leaf {
	uint32_t at[FAN];
	uint64_t value[FAN];
	uint32_t n;
};

struct inner {
	uint32_t at[FAN];
	uint64_t mark[FAN];
	uint64_t any[FAN];
	uint64_t all[FAN];
	uint32_t child[FAN];
	uint32_t n;
};

void spans_init(struct spans *s, bool largest)
{
	*s = (struct spans){.largest = largest};
}

void spans_deinit(struct spans *s)
{
	grow_deinit(&s->leaves);
	grow_deinit(&s->inners);
}

uint64_t spans_memory(const struct spans *s)
{
	return (uint64_t)s->leaves.room * sizeof(struct leaf) + (uint64_t)s->inners.room * sizeof(struct inner);
}

static struct leaf *leaf_at(const struct spans *s, uint32_t i)
{
	return (struct leaf *)s->leaves.items + i;
}

static struct inner *inner_at(const struct spans *s, uint32_t i)
{
	return (struct inner *)s->inners.items + i;
}

static uint64_t together(const struct spans *s, uint64_t a, uint64_t b)
{
	if (s->largest)
		return a > b ? a : b;
	return a | b;
}

/* The last of the N positions that is not above X; the first one never is. */
static uint32_t position(const uint32_t *at, uint32_t n, uint32_t x)
{
	uint32_t low = 0, half;

	while (n > 1) {
		half = n / 2;
		low = at[low + half] <= x ? low + half : low;
		n -= half;
	}
	return low;
}

/* ANY and ALL of child I of N, which stands at HEIGHT. */
static void sum_up(const struct spans *s, struct inner *n, uint32_t i, uint32_t height)
{
	uint64_t any = 0, all = UINT64_MAX;
	uint32_t k;

	if (height == 0) {
		const struct leaf *leaf = leaf_at(s, n->child[i]);

		for (k = 0; k < leaf->n; k++) {
			any = together(s, any, leaf->value[k]);
			all &= leaf->value[k];
		}
	} else {
		const struct inner *below = inner_at(s, n->child[i]);

		for (k = 0; k < below->n; k++) {
			any = together(s, any, below->any[k]);
			all &= below->all[k];
		}
	}
	n->any[i] = together(s, any, n->mark[i]);
	n->all[i] = all | n->mark[i];
}

static void inner_open(struct inner *n, uint32_t i)
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
	uint32_t i = position(at, FAN, x);

	return i < FAN / 4 ? FAN / 8 : FAN / 2;
}

/* Move what a full node at HEIGHT does not keep for X into a new one: its number. */
static uint32_t split(struct spans *s, uint32_t node, uint32_t height, uint32_t x, uint32_t *at)
{
	if (height == 0) {
		struct leaf *right = grow_take(&s->leaves, sizeof(*right)), *left = leaf_at(s, node);

		left->n = kept_of(left->at, x);
		right->n = FAN - left->n;
		memcpy(right->at, left->at + left->n, right->n * sizeof(right->at[0]));
		memcpy(right->value, left->value + left->n, right->n * sizeof(right->value[0]));
		*at = right->at[0];
		return s->leaves.n - 1;
	}
	struct inner *right = grow_take(&s->inners, sizeof(*right)), *left = inner_at(s, node);

	left->n = kept_of(left->at, x);
	right->n = FAN - left->n;
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
	return (height ? inner_at(s, node)->n : leaf_at(s, node)->n) == FAN;
}

/* Child I of a node, at HEIGHT, is full: make it two, so that X can come in. */
static void split_child(struct spans *s, uint32_t node, uint32_t i, uint32_t height, uint32_t x)
{
	uint32_t at;
	uint32_t right = split(s, inner_at(s, node)->child[i], height, x, &at);
	struct inner *n = inner_at(s, node);

	inner_open(n, i + 1);
	n->at[i + 1] = at;
	n->mark[i + 1] = n->mark[i];
	n->child[i + 1] = right;
	sum_up(s, n, i, height);
	sum_up(s, n, i + 1, height);
}

static void split_root(struct spans *s, struct span_tree *tree, uint32_t x)
{
	struct inner *n;

	if (!is_full(s, tree->root, tree->height))
		return;
	n = grow_take(&s->inners, sizeof(*n));
	n->n = 1;
	n->at[0] = 0;
	n->mark[0] = 0;
	n->child[0] = tree->root;
	tree->root = s->inners.n - 1;
	split_child(s, tree->root, 0, tree->height, x);
	tree->height++;
}

/* Let a span of a leaf begin at X; false where none does and there is no room. */
static bool leaf_begin_at(struct leaf *leaf, uint32_t x)
{
	uint32_t i = position(leaf->at, leaf->n, x);

	if (leaf->at[i] == x)
		return true;
	if (leaf->n == FAN)
		return false;
	memmove(leaf->at + i + 2, leaf->at + i + 1, (leaf->n - i - 1) * sizeof(leaf->at[0]));
	memmove(leaf->value + i + 1, leaf->value + i, (leaf->n - i) * sizeof(leaf->value[0]));
	leaf->at[i + 1] = x;
	leaf->n++;
	return true;
}

/* Let a span begin at X. */
static void begin_at(struct spans *s, struct span_tree *tree, uint32_t x)
{
	uint32_t node, height, i;

	split_root(s, tree, x);
	node = tree->root;
	for (height = tree->height; height > 0; height--) {
		i = position(inner_at(s, node)->at, inner_at(s, node)->n, x);
		if (is_full(s, inner_at(s, node)->child[i], height - 1)) {
			split_child(s, node, i, height - 1, x);
			i += inner_at(s, node)->at[i + 1] <= x;
		}
		node = inner_at(s, node)->child[i];
	}
	leaf_begin_at(leaf_at(s, node), x);
}

/* Where child I of a node ends that itself ends at END. */
static uint32_t end_of(const struct inner *n, uint32_t i, uint32_t end)
{
	return i + 1 < n->n ? n->at[i + 1] : end;
}

/*
 * VALUE was added somewhere below child I of N, which stands at HEIGHT.  What is set everywhere below is only asked for where all is set
 * somewhere; else it may be less than it could.
 */
static void note_added(const struct spans *s, struct inner *n, uint32_t i, uint32_t height, uint64_t value)
{
	n->any[i] = together(s, n->any[i], value);
	if (!s->largest && n->any[i] == UINT64_MAX)
		sum_up(s, n, i, height);
}

struct range {
	uint32_t from;
	uint32_t to;
	uint64_t value;
};

/* Add in a leaf that ends at END what of the range lies in it; false where it has no room to begin or end it. */
static bool leaf_add(const struct spans *s, struct leaf *leaf, uint32_t end, const struct range *r)
{
	uint32_t i;

	if (r->from > leaf->at[0] && !leaf_begin_at(leaf, r->from))
		return false;
	if (r->to < end && !leaf_begin_at(leaf, r->to))
		return false;
	for (i = position(leaf->at, leaf->n, r->from); i < leaf->n && leaf->at[i] < r->to; i++)
		leaf->value[i] = together(s, leaf->value[i], r->value);
	return true;
}

/* False where a leaf has no room: then nothing is lost if it is done again, all of it, once the leaf has. */
static bool add_below(struct spans *s, uint32_t node, uint32_t height, uint32_t end, const struct range *r)
{
	struct inner *n;
	uint32_t i;

	if (height == 0)
		return leaf_add(s, leaf_at(s, node), end, r);
	n = inner_at(s, node);
	for (i = position(n->at, n->n, r->from); i < n->n && n->at[i] < r->to; i++) {
		if (n->at[i] >= r->from && end_of(n, i, end) <= r->to) {
			n->mark[i] = together(s, n->mark[i], r->value);
			n->any[i] = together(s, n->any[i], r->value);
			n->all[i] |= r->value;
		} else {
			if (!add_below(s, n->child[i], height - 1, end_of(n, i, end), r))
				return false;
			note_added(s, n, i, height - 1, r->value);
		}
	}
	return true;
}

/* The part of two values that is in both; of two largest ones the smaller. */
static uint64_t common(const struct spans *s, uint64_t a, uint64_t b)
{
	if (s->largest)
		return a < b ? a : b;
	return a & b;
}

/* The way down to a leaf: each inner node and the child that was taken, by height. */
struct way {
	uint32_t nodes[HEIGHT_MAX];
	uint32_t places[HEIGHT_MAX];
};

/* Most ranges are short: remember the leaf that the range lies in.  False where it lies in several. */
static bool find_leaf(const struct spans *s, struct span_tree *tree, const struct range *r, struct way *way)
{
	uint32_t from = 0, end = UINT32_MAX, node = tree->root, height, i;
	uint64_t marks = 0, known = UINT64_MAX;

	for (height = tree->height; height > 0; height--) {
		const struct inner *n = inner_at(s, node);

		i = position(n->at, n->n, r->from);
		end = end_of(n, i, end);
		if (r->to > end)
			return false;
		from = n->at[i];
		marks = together(s, marks, n->mark[i]);
		known = common(s, known, n->any[i]);
		way->nodes[height - 1] = node;
		way->places[height - 1] = i;
		node = n->child[i];
	}
	tree->leaf = node;
	tree->from = from;
	tree->to = end;
	tree->marks = marks;
	tree->known = known;
	return true;
}

static bool remembers(const struct span_tree *tree, const struct range *r)
{
	return tree->leaf != UINT32_MAX && r->from >= tree->from && r->to <= tree->to;
}

/* Add where the range lies in one leaf that has room; false where not. */
static bool add_in_leaf(struct spans *s, struct span_tree *tree, const struct range *r)
{
	bool known = remembers(tree, r) && together(s, tree->known, r->value) == tree->known;
	struct way way;
	uint32_t i;

	if (!known && !find_leaf(s, tree, r, &way))
		return false;
	if (!leaf_add(s, leaf_at(s, tree->leaf), tree->to, r))
		return false;
	for (i = 0; i < tree->height && !known; i++)
		note_added(s, inner_at(s, way.nodes[i]), way.places[i], i, r->value);
	tree->known = together(s, tree->known, r->value);
	return true;
}

bool spans_add(struct spans *s, struct span_tree *tree, uint32_t from, uint32_t to, uint64_t value)
{
	const struct range r = {from, to, value};

	/* Each of the two beginnings splits at most one node of each level, and puts a root on top. */
	if (!grow_reserve(&s->leaves, sizeof(struct leaf), 3) ||
	    !grow_reserve(&s->inners, sizeof(struct inner), 2 * tree->height + 4))
		return false;
	if (tree->root == UINT32_MAX) {
		struct leaf *leaf = grow_take(&s->leaves, sizeof(*leaf));

		leaf->n = 1;
		leaf->at[0] = 0;
		leaf->value[0] = 0;
		*tree = (struct span_tree){.root = s->leaves.n - 1, .leaf = UINT32_MAX};
	}
	if (add_in_leaf(s, tree, &r))
		return true;
	tree->leaf = UINT32_MAX;
	if (add_below(s, tree->root, tree->height, UINT32_MAX, &r))
		return true;
	begin_at(s, tree, from);
	begin_at(s, tree, to);
	return add_below(s, tree->root, tree->height, UINT32_MAX, &r);
}

static uint64_t get_in_leaf(const struct spans *s, const struct leaf *leaf, const struct range *r)
{
	uint64_t value = 0;
	uint32_t i;

	for (i = position(leaf->at, leaf->n, r->from); i < leaf->n && leaf->at[i] < r->to; i++)
		value = together(s, value, leaf->value[i]);
	return value;
}

static uint64_t get_below(const struct spans *s, uint32_t node, uint32_t height, uint32_t end, const struct range *r)
{
	const struct inner *n;
	uint64_t value = 0;
	uint32_t i;

	if (height == 0)
		return get_in_leaf(s, leaf_at(s, node), r);
	n = inner_at(s, node);
	for (i = position(n->at, n->n, r->from); i < n->n && n->at[i] < r->to; i++) {
		if (n->at[i] >= r->from && end_of(n, i, end) <= r->to) {
			value = together(s, value, n->any[i]);
		} else {
			value = together(s, value, n->mark[i]);
			value = together(s, value, get_below(s, n->child[i], height - 1, end_of(n, i, end), r));
		}
	}
	return value;
}

uint64_t spans_get(const struct spans *s, struct span_tree *tree, uint32_t from, uint32_t to)
{
	const struct range r = {from, to, 0};
	struct way way;

	if (tree->root == UINT32_MAX)
		return 0;
	if (remembers(tree, &r) || find_leaf(s, tree, &r, &way))
		return together(s, tree->marks, get_in_leaf(s, leaf_at(s, tree->leaf), &r));
	return get_below(s, tree->root, tree->height, UINT32_MAX, &r);
}

/* The widest run around I in a leaf where, with the marks above it, all bits are set; END is the leaf's. */
static bool full_in_leaf(const struct leaf *leaf, uint32_t i, uint64_t marks, struct range *r, uint32_t end)
{
	uint32_t first = i, last = i;

	if ((leaf->value[i] | marks) != UINT64_MAX)
		return false;
	while (first > 0 && (leaf->value[first - 1] | marks) == UINT64_MAX)
		first--;
	while (last + 1 < leaf->n && (leaf->value[last + 1] | marks) == UINT64_MAX)
		last++;
	r->from = leaf->at[first];
	r->to = last + 1 < leaf->n ? leaf->at[last + 1] : end;
	return true;
}

bool spans_full(const struct spans *s, const struct span_tree *tree, uint32_t at, uint32_t *from, uint32_t *to)
{
	uint32_t end = UINT32_MAX, node = tree->root, height, i;
	uint64_t marks = 0;
	const struct leaf *leaf;
	struct range r;

	if (node == UINT32_MAX)
		return false;
	for (height = tree->height; height > 0; height--) {
		const struct inner *n = inner_at(s, node);

		i = position(n->at, n->n, at);
		end = end_of(n, i, end);
		if ((n->all[i] | marks) == UINT64_MAX) {
			*from = n->at[i];
			*to = end;
			return true;
		}
		marks |= n->mark[i];
		node = n->child[i];
	}
	leaf = leaf_at(s, node);
	if (!full_in_leaf(leaf, position(leaf->at, leaf->n, at), marks, &r, end))
		return false;
	*from = r.from;
	*to = r.to;
	return true;
}
