/*
 * The finished tree: circles broken, and a root's children in the order of their ids.
 *
 * Why circles: a bind moves below the thread that it read first, and nothing keeps a trace from letting two read each other.  What hangs from
 * such a circle cannot be reached from any root and would be drawn nowhere.  In each such piece every thread has a parent and there is one
 * circle; one of it is put below its stream's root, and all are reached.
 */
#include <stdlib.h>

#include "model-state.h"

#define REACHED MPROF_NONE

/* Mark all threads from TOP on down; the aliases, which nobody needs any more, take the marks. */
static void reach(struct mprof_model *m, uint32_t top)
{
	uint32_t *marks = model_aliases(m), i = top;

	for (;;) {
		struct mprof_thread *t = model_thread(m, i);

		marks[i] = REACHED;
		if (t->first_child != MPROF_NONE) {
			i = t->first_child;
			continue;
		}
		while (i != top && model_thread(m, i)->next_sibling == MPROF_NONE)
			i = model_thread(m, i)->parent;
		if (i == top)
			return;
		i = model_thread(m, i)->next_sibling;
	}
}

/* A thread of the circle above I, which no root reaches.  Marks are I + 1, so that each thread is passed once. */
static uint32_t circle_above(struct mprof_model *m, uint32_t i)
{
	uint32_t *marks = model_aliases(m), walk = i + 1;

	while (marks[i] != walk) {
		marks[i] = walk;
		i = model_thread(m, i)->parent;
	}
	return i;
}

/* Circles have different parents, so that all these searches together pass no more threads than there are. */
static void detach(struct mprof_model *m, uint32_t i)
{
	struct mprof_thread *t = model_thread(m, i);
	uint32_t *link = &model_thread(m, t->parent)->first_child;
	struct mprof_thread *root;

	while (*link != i)
		link = &model_thread(m, *link)->next_sibling;
	*link = t->next_sibling;
	t->parent = model_stream_at(m, t->stream)->seen.root;
	root = model_thread(m, t->parent);
	t->next_sibling = root->first_child;
	root->first_child = i;
	m->notes.detached++;
}

static void break_circles(struct mprof_model *m)
{
	uint32_t *marks = model_aliases(m), n = m->arrays[MODEL_THREADS].n, i, found;

	for (i = 0; i < n; i++)
		marks[i] = 0;
	for (i = 0; i < m->streams.n; i++)
		reach(m, model_stream_at(m, i)->seen.root);
	for (i = 0; i < n; i++) {
		if (marks[i] == REACHED)
			continue;
		found = circle_above(m, i);
		detach(m, found);
		reach(m, found);
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

static bool sort_children(struct mprof_model *m, uint32_t root)
{
	uint32_t *link = &model_thread(m, root)->first_child, n = 0, i;
	struct child *list;

	for (i = *link; i != MPROF_NONE; i = model_thread(m, i)->next_sibling)
		n++;
	if (!n)
		return true;
	list = malloc(n * sizeof(*list));
	if (!list)
		return false;
	for (n = 0, i = *link; i != MPROF_NONE; i = model_thread(m, i)->next_sibling, n++)
		list[n] = (struct child){model_thread(m, i)->id, i, n};
	qsort(list, n, sizeof(*list), by_id);
	for (i = 0; i < n; i++) {
		*link = list[i].thread;
		link = &model_thread(m, list[i].thread)->next_sibling;
	}
	*link = MPROF_NONE;
	free(list);
	return true;
}

bool model_tree_finish(struct mprof_model *m)
{
	uint32_t i;

	break_circles(m);
	for (i = 0; i < m->streams.n; i++)
		if (!sort_children(m, model_stream_at(m, i)->seen.root))
			return false;
	return true;
}
