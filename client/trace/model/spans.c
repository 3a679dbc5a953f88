/*
 * Spans in B-trees. A *span* is a range of positions with one value.
 *
 * A leaf lists positions in ascending order, each with the value from there to the next position.
 * An inner node lists its children with the position at which each begins, and for each child
 * - MARK, a value that is added to everything below the child,
 * - ANY, all values below combined with MARK,
 * - ALL, the bits set everywhere below (for OR only).
 *
 * Invariants:
 * - The first position of a node is the one in its parent; the leftmost position is 0.
 * - To add a value over a range, it is added to MARK of each child that the range covers wholly,
 *   and below each child that the range covers partly: at most two paths lead down.
 * - When a leaf has no room, the path is walked again, and each full node on it is split before it
 *   is entered.
 */
#include "spans.h"

#include <string.h>

/* ---- nodes ---- */

/*
 * Nodes.
 *
 * Invariant: a node that is split copies its mark to both halves, and all summaries above stay
 * valid.
 */

#define SPAN_FAN 32u
/* A node has at least 4 children, and there are fewer than 2^32 spans. */
#define SPAN_HEIGHT_MAX 16u

struct span_leaf {
	uint32_t at[SPAN_FAN];
	uint64_t value[SPAN_FAN];
	uint32_t n;
};

struct span_inner {
	uint32_t at[SPAN_FAN];
	uint64_t mark[SPAN_FAN];
	uint64_t any[SPAN_FAN];
	uint64_t all[SPAN_FAN];
	uint32_t child[SPAN_FAN];
	uint32_t n;
};

static inline struct span_leaf *span_leaf_at(const struct spans *s, uint32_t i)
{
	return pool_at(&s->leaves, sizeof(struct span_leaf), i);
}

static inline struct span_inner *span_inner_at(const struct spans *s, uint32_t i)
{
	return pool_at(&s->inners, sizeof(struct span_inner), i);
}

static inline uint64_t span_together(const struct spans *s, uint64_t a, uint64_t b)
{
	if (s->largest)
		return a > b ? a : b;
	return a | b;
}

/*
 * Return the index of the last of the N ascending positions AT that is at most X. The first
 * position is at most X.
 */
static inline uint32_t span_position(const uint32_t *at, uint32_t n, uint32_t x)
{
	uint32_t low = 0, half;

	while (n > 1) {
		half = n / 2;
		low = at[low + half] <= x ? low + half : low;
		n -= half;
	}
	return low;
}

_Static_assert(sizeof(struct span_inner) * POOL_PIECE < LARGE_MIN, "a piece of nodes would take addresses without end");

/* Compute ANY and ALL of child I of INNER, which is at HEIGHT. */
static void span_sum_up(const struct spans *s, struct span_inner *inner, uint32_t i, uint32_t height)
{
	uint64_t any = 0, all = UINT64_MAX;

	if (height == 0) {
		const struct span_leaf *leaf = span_leaf_at(s, inner->child[i]);

		for (uint32_t k = 0; k < leaf->n; k++) {
			any = span_together(s, any, leaf->value[k]);
			all &= leaf->value[k];
		}
	} else {
		const struct span_inner *below = span_inner_at(s, inner->child[i]);

		for (uint32_t k = 0; k < below->n; k++) {
			any = span_together(s, any, below->any[k]);
			all &= below->all[k];
		}
	}
	inner->any[i] = span_together(s, any, inner->mark[i]);
	inner->all[i] = all | inner->mark[i];
}

static void inner_open(struct span_inner *s, uint32_t i)
{
	size_t behind = s->n - i;

	memmove(s->at + i + 1, s->at + i, behind * sizeof(s->at[0]));
	memmove(s->mark + i + 1, s->mark + i, behind * sizeof(s->mark[0]));
	memmove(s->any + i + 1, s->any + i, behind * sizeof(s->any[0]));
	memmove(s->all + i + 1, s->all + i, behind * sizeof(s->all[0]));
	memmove(s->child + i + 1, s->child + i, behind * sizeof(s->child[0]));
	s->n++;
}

/*
 * Return how many items of a full node stay in the left half when the node is split and X will be
 * inserted. Most threads are placed from the latest to the earliest. The right half then gets no
 * more items, so most items are moved there.
 */
static uint32_t kept_of(const uint32_t *at, uint32_t x)
{
	uint32_t i = span_position(at, SPAN_FAN, x);

	if (i < SPAN_FAN / 4)
		return SPAN_FAN / 8;
	return i < SPAN_FAN - SPAN_FAN / 4 ? SPAN_FAN / 2 : SPAN_FAN - SPAN_FAN / 8;
}

/*
 * Split the full NODE at HEIGHT, because X will be inserted: move its right part into a new node.
 * Return the new node, and store its first position in *AT.
 */
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

/* Split the full child I, which is at HEIGHT, of NODE, because X will be inserted. */
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

/*
 * Let a span of LEAF begin at X, by dividing the span that holds X. Return false when no span
 * begins there yet and the leaf is full.
 */
static bool span_leaf_begin_at(struct span_leaf *leaf, uint32_t x)
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

/*
 * Let a span of TREE begin at X. Each full node on the path is split before it is entered. The
 * caller has reserved as many nodes as the tree has levels, and one for a new root.
 */
static void span_begin_at(struct spans *s, struct span_tree *tree, uint32_t x)
{
	uint32_t node, i;

	split_root(s, tree, x);
	node = tree->root;
	for (uint32_t height = tree->height; height > 0; height--) {
		i = span_position(span_inner_at(s, node)->at, span_inner_at(s, node)->n, x);
		if (is_full(s, span_inner_at(s, node)->child[i], height - 1)) {
			split_child(s, node, i, height - 1, x);
			i += span_inner_at(s, node)->at[i + 1] <= x;
		}
		node = span_inner_at(s, node)->child[i];
	}
	span_leaf_begin_at(span_leaf_at(s, node), x);
}

/* ---- trees ---- */

void spans_init(struct spans *s, bool largest)
{
	*s = (struct spans){.largest = largest};
}

void spans_deinit(struct spans *s)
{
	pool_deinit(&s->leaves);
	pool_deinit(&s->inners);
}

uint64_t spans_memory(const struct spans *s)
{
	return pool_memory(&s->leaves, sizeof(struct span_leaf)) + pool_memory(&s->inners, sizeof(struct span_inner));
}

/* Return the position at which child I of S ends, when S ends at END. */
static uint32_t end_of(const struct span_inner *s, uint32_t i, uint32_t end)
{
	return i + 1 < s->n ? s->at[i + 1] : end;
}

/*
 * Update the summary of child I of INNER, at HEIGHT, after VALUE was added below. ALL is only
 * recomputed when ANY is all ones; else it may have too few bits.
 */
static void note_added(const struct spans *s, struct span_inner *inner, uint32_t i, uint32_t height, uint64_t value)
{
	inner->any[i] = span_together(s, inner->any[i], value);
	if (!s->largest && inner->any[i] == UINT64_MAX)
		span_sum_up(s, inner, i, height);
}

struct range {
	uint32_t from;
	uint32_t to;
	uint64_t value;
};

/* Make room in LEAF for BY spans before span I; BEHIND spans, from I on, move. */
static void leaf_open(struct span_leaf *leaf, uint32_t i, uint32_t behind, uint32_t by)
{
	memmove(leaf->at + i + by, leaf->at + i, behind * sizeof(leaf->at[0]));
	memmove(leaf->value + i + by, leaf->value + i, behind * sizeof(leaf->value[0]));
}

/*
 * Add the part of the range R that lies in LEAF, which ends at END. Return false, with nothing
 * changed, when the leaf has no room. Nearly always the range is inside one span, which becomes
 * three.
 */
static bool leaf_add(const struct spans *s, struct span_leaf *leaf, uint32_t end, const struct range *r)
{
	uint32_t first = span_position(leaf->at, leaf->n, r->from), last = first, begins, ends;
	uint64_t behind;

	while (last + 1 < leaf->n && leaf->at[last + 1] < r->to)
		last++;
	begins = leaf->at[first] < r->from;
	ends = r->to < (last + 1 < leaf->n ? leaf->at[last + 1] : end);
	if (leaf->n + begins + ends > SPAN_FAN)
		return false;
	behind = leaf->value[last];
	if (begins + ends && last + 1 < leaf->n)
		leaf_open(leaf, last + 1, leaf->n - last - 1, begins + ends);
	if (begins && first < last)
		leaf_open(leaf, first + 1, last - first, 1);
	if (begins) {
		leaf->at[first + 1] = r->from;
		leaf->value[first + 1] = leaf->value[first];
	}
	if (ends) {
		leaf->at[last + begins + 1] = r->to;
		leaf->value[last + begins + 1] = behind;
	}
	leaf->n += begins + ends;
	for (uint32_t i = first + begins; i <= last + begins; i++)
		leaf->value[i] = span_together(s, leaf->value[i], r->value);
	return true;
}

/*
 * Add the part of R that lies below NODE, which is at HEIGHT and ends at END. Return false when a
 * leaf has no room; make room then and add R again, because adding a value twice changes nothing.
 */
static bool add_below(struct spans *s, uint32_t node, uint32_t height, uint32_t end, const struct range *r)
{
	struct span_inner *n;

	if (height == 0)
		return leaf_add(s, span_leaf_at(s, node), end, r);
	n = span_inner_at(s, node);
	for (uint32_t i = span_position(n->at, n->n, r->from); i < n->n && n->at[i] < r->to; i++) {
		if (n->at[i] >= r->from && end_of(n, i, end) <= r->to) {
			n->mark[i] = span_together(s, n->mark[i], r->value);
			n->any[i] = span_together(s, n->any[i], r->value);
			n->all[i] |= r->value;
		} else {
			if (!add_below(s, n->child[i], height - 1, end_of(n, i, end), r))
				return false;
			note_added(s, n, i, height - 1, r->value);
		}
	}
	return true;
}

/* Return the bits that A and B have both; with LARGEST the smaller value. */
static uint64_t common(const struct spans *s, uint64_t a, uint64_t b)
{
	if (s->largest)
		return a < b ? a : b;
	return a & b;
}

/* The path to a leaf: each inner node and the chosen child, by height. */
struct way {
	uint32_t nodes[SPAN_HEIGHT_MAX];
	uint32_t places[SPAN_HEIGHT_MAX];
};

/*
 * Find the leaf that holds the whole range R and remember it in TREE; most ranges are short. Store
 * the path to it in *WAY. Return false when the range is in several leaves.
 */
static bool find_leaf(const struct spans *s, struct span_tree *tree, const struct range *r, struct way *way)
{
	uint32_t from = 0, end = UINT32_MAX, node = tree->root, i;
	uint64_t marks = 0, known = UINT64_MAX;

	for (uint32_t height = tree->height; height > 0; height--) {
		const struct span_inner *n = span_inner_at(s, node);

		i = span_position(n->at, n->n, r->from);
		end = end_of(n, i, end);
		if (r->to > end)
			return false;
		from = n->at[i];
		marks = span_together(s, marks, n->mark[i]);
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

/*
 * Add R to the leaf that holds the whole range. Return false, with nothing changed, when there is
 * no such leaf, or when it has no room.
 */
static bool add_in_leaf(struct spans *s, struct span_tree *tree, const struct range *r)
{
	bool known = remembers(tree, r) && span_together(s, tree->known, r->value) == tree->known;
	struct way way;

	if (!known && !find_leaf(s, tree, r, &way))
		return false;
	if (!leaf_add(s, span_leaf_at(s, tree->leaf), tree->to, r))
		return false;
	for (uint32_t i = 0; i < tree->height && !known; i++)
		note_added(s, span_inner_at(s, way.nodes[i]), way.places[i], i, r->value);
	tree->known = span_together(s, tree->known, r->value);
	return true;
}

bool spans_add(struct spans *s, struct span_tree *tree, uint32_t from, uint32_t to, uint64_t value)
{
	const struct range r = {from, to, value};

	/*
	 * Each end of the range splits at most one node of each level, and may add a root: reserve
	 * for both.
	 */
	if (!pool_reserve(&s->leaves, sizeof(struct span_leaf), 3) ||
	    !pool_reserve(&s->inners, sizeof(struct span_inner), 2 * tree->height + 4))
		return false;
	if (tree->root == UINT32_MAX) {
		struct span_leaf *leaf = pool_take(&s->leaves, sizeof(*leaf));

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
	span_begin_at(s, tree, from);
	span_begin_at(s, tree, to);
	return add_below(s, tree->root, tree->height, UINT32_MAX, &r);
}

static uint64_t get_in_leaf(const struct spans *s, const struct span_leaf *leaf, const struct range *r)
{
	uint64_t value = 0;

	for (uint32_t i = span_position(leaf->at, leaf->n, r->from); i < leaf->n && leaf->at[i] < r->to; i++)
		value = span_together(s, value, leaf->value[i]);
	return value;
}

static uint64_t get_below(const struct spans *s, uint32_t node, uint32_t height, uint32_t end, const struct range *r)
{
	const struct span_inner *n;
	uint64_t value = 0;

	if (height == 0)
		return get_in_leaf(s, span_leaf_at(s, node), r);
	n = span_inner_at(s, node);
	for (uint32_t i = span_position(n->at, n->n, r->from); i < n->n && n->at[i] < r->to; i++) {
		if (n->at[i] >= r->from && end_of(n, i, end) <= r->to) {
			value = span_together(s, value, n->any[i]);
		} else {
			value = span_together(s, value, n->mark[i]);
			value = span_together(s, value, get_below(s, n->child[i], height - 1, end_of(n, i, end), r));
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
		return span_together(s, tree->marks, get_in_leaf(s, span_leaf_at(s, tree->leaf), &r));
	return get_below(s, tree->root, tree->height, UINT32_MAX, &r);
}

/*
 * Find the widest run of spans around span I of LEAF, which ends at END, whose values together with
 * MARKS have all bits set. Store its positions in *R. Return false when span I itself is not such a
 * span.
 */
static bool full_in_leaf(const struct span_leaf *leaf, uint32_t i, uint64_t marks, struct range *r, uint32_t end)
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
	uint32_t end = UINT32_MAX, node = tree->root, i;
	uint64_t marks = 0;
	const struct span_leaf *leaf;
	struct range r;

	if (node == UINT32_MAX)
		return false;
	for (uint32_t height = tree->height; height > 0; height--) {
		const struct span_inner *n = span_inner_at(s, node);

		i = span_position(n->at, n->n, at);
		end = end_of(n, i, end);
		if ((n->all[i] | marks) == UINT64_MAX) {
			*from = n->at[i];
			*to = end;
			return true;
		}
		marks |= n->mark[i];
		node = n->child[i];
	}
	leaf = span_leaf_at(s, node);
	if (!full_in_leaf(leaf, span_position(leaf->at, leaf->n, at), marks, &r, end))
		return false;
	*from = r.from;
	*to = r.to;
	return true;
}

struct visit {
	const struct spans *s;
	void (*each)(void *context, uint32_t from, uint32_t end, uint64_t value);
	void *context;
};

static void visit_below(const struct visit *v, uint32_t node, uint32_t height, uint32_t end, uint64_t marks)
{
	if (height == 0) {
		const struct span_leaf *leaf = span_leaf_at(v->s, node);

		for (uint32_t i = 0; i < leaf->n; i++)
			v->each(v->context, leaf->at[i], i + 1 < leaf->n ? leaf->at[i + 1] : end,
				span_together(v->s, marks, leaf->value[i]));
		return;
	}
	for (uint32_t i = 0; i < span_inner_at(v->s, node)->n; i++) {
		const struct span_inner *n = span_inner_at(v->s, node);

		visit_below(v, n->child[i], height - 1, end_of(n, i, end), span_together(v->s, marks, n->mark[i]));
	}
}

void spans_each(const struct spans *s, const struct span_tree *tree,
		void (*each)(void *context, uint32_t from, uint32_t end, uint64_t value), void *context)
{
	const struct visit v = {s, each, context};

	if (tree->root != UINT32_MAX)
		visit_below(&v, tree->root, tree->height, UINT32_MAX, 0);
}
