/*
 * The finished tree: circles broken, a root's children in the order of their ids, and all threads depth first.
 *
 * Why circles: a bind moves below the thread that it read first, and nothing keeps a trace from letting two read each other.  What hangs from
 * such a circle cannot be reached from any root and would be drawn nowhere.  In each such piece every thread has a parent and there is one
 * circle; one of it is put below its stream's root, and all are reached.
 */
#include "tree.h"

#include <stdlib.h>

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
