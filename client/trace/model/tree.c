/*
 * The finished tree: circles broken, a root's children in the order of their ids, and all threads depth first.
 *
 * Why circles: a bind moves below the thread that it read first, and nothing keeps a trace from letting two read each other.  What hangs from
 * such a circle cannot be reached from any root and would be drawn nowhere.  In each such piece every thread has a parent and there is one
 * circle; one of it is put below its stream's root, and all are reached.
 */
#include <stdlib.h>

#include "model-state.h"

struct tree_node {
	uint32_t parent; /* MPROF_NONE for a root */
	uint32_t first_child;
	uint32_t next_sibling;
};

/* What moving binds needs besides: how much of the tree is left before it and with it, and a chain of the children that move away. */
struct tree_move {
	uint32_t place;
	uint32_t size;
	uint32_t first;
	uint32_t next;
};

/* ---- binds ---- */

/*
 * Binds moved to where they wake.
 *
 * Why: most threads of a program are binds that were created long before they do anything, all at once.  Drawn from their creation they hide
 * what happens; drawn from where they wake, below the thread that woke them, they show it.
 *
 * The order of children is the first viewer's, which went through the tree as it was recorded, depth first and the newest child first.  When it
 * left a thread it put the children that move away, the newest last, before all that their new parents had.  What stays comes
 * behind, the newest first.  Where a thread is left is known without going through the tree: a thread's creator is older than itself, so
 * that the sizes of all subtrees come from one pass over the threads from the newest on, and their places from one from the oldest on.
 */

static bool is_bind(uint8_t type)
{
	switch (type) {
	case MPROF_THREAD_Bind:
	case MPROF_THREAD_Try:
	case MPROF_THREAD_Map:
	case MPROF_THREAD_Ignore_result:
	case MPROF_THREAD_On_failure:
	case MPROF_THREAD_On_termination:
		return true;
	default:
		return false;
	}
}

/* The read that thread I wakes by, or NULL where it cannot be drawn from there: it had a label or was looked at before. */
static const struct mprof_interaction *wake_of(const struct mprof_model *m, uint32_t i)
{
	const struct mprof_thread *t = model_thread(m, i);
	const struct mprof_label *labels = m->arrays[MODEL_LABELS].items;
	const struct mprof_interaction *first;

	if (t->first_interaction == MPROF_NONE)
		return NULL;
	first = (const struct mprof_interaction *)m->arrays[MODEL_INTERACTIONS].items + t->first_interaction;
	if (t->first_label != MPROF_NONE && labels[t->first_label].time < first->time)
		return NULL;
	if (t->first_label == MPROF_NONE && t->failure != MPROF_NONE && t->end < first->time)
		return NULL;
	if (first->kind != MPROF_INTERACTION_READ || first->time >= *model_checked(m, i))
		return NULL;
	/* Resolved before it woke: from its wake-up on there is nothing of it to draw. */
	return first->time <= t->end ? first : NULL;
}

/* Let the binds begin where they wake: PARENT, START and the flags of threads, but not their chains. */
static void simplify_mark(struct mprof_model *m)
{
	uint32_t i;

	for (i = 0; i < model_count(m, MODEL_THREADS); i++) {
		struct mprof_thread *t = model_thread(m, i);
		const struct mprof_interaction *wake;

		if (!is_bind(t->type) || model_thread(m, t->creator)->becomes == i)
			continue;
		wake = wake_of(m, i);
		if (!wake)
			continue;
		t->flags |= MPROF_THREAD_SIMPLIFIED;
		t->start = wake->time;
		if (wake->other != i)
			t->parent = wake->other;
	}
}

/* From the newest on: sizes of subtrees as recorded, how much of the creator's is left before each, and who moves away from whom. */
static void measure(const struct mprof_model *m, struct tree_node *nodes, struct tree_move *moves)
{
	uint32_t i;

	for (i = model_count(m, MODEL_THREADS); i-- > 0;) {
		const struct mprof_thread *t = model_thread(m, i);
		struct tree_move *move = &moves[i], *creator;

		nodes[i].parent = t->parent;
		move->size++;
		if (t->creator == MPROF_NONE)
			continue;
		creator = &moves[t->creator];
		move->place = creator->size;
		creator->size += move->size;
		if (t->parent == t->creator)
			continue;
		move->next = creator->first;
		creator->first = i;
	}
}

static void put_first(struct tree_node *nodes, uint32_t parent, uint32_t i)
{
	nodes[i].next_sibling = nodes[parent].first_child;
	nodes[parent].first_child = i;
}

/* From the oldest on: put what stays in its parent's chain, and into LEFT which thread is left as the how manieth. */
static void leave(const struct mprof_model *m, struct tree_node *nodes, struct tree_move *moves, uint32_t *left)
{
	uint32_t i, roots = 0;

	for (i = 0; i < model_count(m, MODEL_THREADS); i++) {
		uint32_t creator = model_thread(m, i)->creator;

		if (creator == MPROF_NONE) {
			moves[i].place = roots;
			roots += moves[i].size;
		} else {
			moves[i].place += moves[creator].place;
			if (nodes[i].parent == creator)
				put_first(nodes, creator, i);
		}
		left[moves[i].place + moves[i].size - 1] = i;
	}
}

/*
 * Make the tree of M's threads, by what simplify_mark() says, in NODES.  All three arrays have one item for each thread, and MOVES and LEFT
 * are of no use afterwards.
 */
static void simplify_tree(const struct mprof_model *m, struct tree_node *nodes, struct tree_move *moves, uint32_t *left)
{
	uint32_t n = model_count(m, MODEL_THREADS), i, k;

	for (i = 0; i < n; i++) {
		nodes[i] = (struct tree_node){MPROF_NONE, MPROF_NONE, MPROF_NONE};
		moves[i] = (struct tree_move){0, 0, MPROF_NONE, MPROF_NONE};
	}
	measure(m, nodes, moves);
	leave(m, nodes, moves, left);
	for (k = 0; k < n; k++)
		for (i = moves[left[k]].first; i != MPROF_NONE; i = moves[i].next)
			put_first(nodes, nodes[i].parent, i);
}

/* ---- the finished tree ---- */

#define REACHED MPROF_NONE

/* Circles have different parents, so that all these searches together pass no more threads than there are. */
static void detach(struct mprof_model *m, struct tree_node *nodes, uint32_t i)
{
	uint32_t root = model_stream_at(m, model_thread(m, i)->stream)->seen.root;
	uint32_t *link = &nodes[nodes[i].parent].first_child;

	while (*link != i)
		link = &nodes[*link].next_sibling;
	*link = nodes[i].next_sibling;
	nodes[i].parent = root;
	nodes[i].next_sibling = nodes[root].first_child;
	nodes[root].first_child = i;
	m->notes.detached++;
}

/*
 * Walk up from each thread to one that was passed before.  Marks are I + 1, so that a walk that meets its own has found a circle; what has
 * the mark of another is reached, and so is all below it.
 */
static void break_circles(struct mprof_model *m, struct tree_node *nodes, uint32_t *marks)
{
	uint32_t n = model_count(m, MODEL_THREADS), i, at;

	for (i = 0; i < n; i++)
		marks[i] = nodes[i].parent == MPROF_NONE ? REACHED : 0;
	for (i = 0; i < n; i++) {
		for (at = i; !marks[at]; at = nodes[at].parent)
			marks[at] = i + 1;
		if (marks[at] == i + 1)
			detach(m, nodes, at);
	}
}

struct child {
	int64_t id;
	uint32_t thread;
	uint32_t place;
};

static int by_id(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

static bool sort_children(const struct mprof_model *m, struct tree_node *nodes, uint32_t root)
{
	uint32_t *link = &nodes[root].first_child, n = 0, i;
	struct child *list;

	for (i = *link; i != MPROF_NONE; i = nodes[i].next_sibling)
		n++;
	if (!n)
		return true;
	list = malloc(n * sizeof(*list));
	if (!list)
		return false;
	for (n = 0, i = *link; i != MPROF_NONE; i = nodes[i].next_sibling, n++)
		list[n] = (struct child){model_thread(m, i)->id, i, n};
	qsort(list, n, sizeof(*list), by_id);
	for (i = 0; i < n; i++) {
		*link = list[i].thread;
		link = &nodes[list[i].thread].next_sibling;
	}
	*link = MPROF_NONE;
	free(list);
	return true;
}

/* All threads, each behind its parent and one stream's behind the other's, into ORDER. */
static void put_in_order(const struct mprof_model *m, const struct tree_node *nodes, uint32_t *order)
{
	uint32_t s, i;

	for (s = 0; s < m->streams.n; s++) {
		i = model_stream_at(m, s)->seen.root;
		while (i != MPROF_NONE) {
			*order++ = i;
			if (nodes[i].first_child != MPROF_NONE) {
				i = nodes[i].first_child;
				continue;
			}
			while (i != MPROF_NONE && nodes[i].next_sibling == MPROF_NONE)
				i = nodes[i].parent;
			i = i == MPROF_NONE ? MPROF_NONE : nodes[i].next_sibling;
		}
	}
}

static void show(struct mprof_model *m, const struct tree_node *nodes)
{
	uint32_t i;

	for (i = 0; i < model_count(m, MODEL_THREADS); i++) {
		struct mprof_thread *t = model_thread(m, i);

		t->parent = nodes[i].parent;
		t->first_child = nodes[i].first_child;
		t->next_sibling = nodes[i].next_sibling;
	}
}

bool model_tree(struct mprof_model *m)
{
	uint32_t n = model_count(m, MODEL_THREADS), *order = model_aliases(m), i;
	struct grow nodes = {0}, moves = {0};
	bool ok =
		grow_reserve(&nodes, sizeof(struct tree_node), n) && grow_reserve(&moves, sizeof(struct tree_move), n);

	model_note_memory(m, (uint64_t)nodes.room * sizeof(struct tree_node) +
				     (uint64_t)moves.room * sizeof(struct tree_move));
	if (ok) {
		m->notes.detached = 0;
		if (m->options.simplify)
			simplify_mark(m);
		simplify_tree(m, nodes.items, moves.items, order);
		break_circles(m, nodes.items, order);
	}
	for (i = 0; i < m->streams.n && ok; i++)
		ok = sort_children(m, nodes.items, model_stream_at(m, i)->seen.root);
	if (ok) {
		put_in_order(m, nodes.items, order);
		show(m, nodes.items);
	}
	grow_deinit(&nodes);
	grow_pass(&moves, &m->spare, 1);
	return ok;
}
