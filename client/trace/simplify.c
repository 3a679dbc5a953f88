/*
 * The tree of threads: binds moved to where they wake, and the order of a root's children.
 *
 * Why: most threads of a program are binds that were created long before they do anything, all at once.  Drawn from their creation they hide
 * what happens; drawn from where they wake, below the thread that woke them, they show it.
 *
 * Invariants:
 * - Threads are visited depth first, each once, its children before it is decided whether it moves.  A thread that moves is put before
 *   the children that its new parent has.
 * - While the children of a thread are visited, its FIRST_CHILD names only what was moved to it meanwhile; its own children are collected
 *   beside and come behind these.
 * - Threads can move below each other in a circle.  Circles are found when all have moved, by what cannot be reached from a root.
 */
#include <stdlib.h>

#include "grow.h"
#include "model-state.h"

struct frame {
	uint32_t thread;
	uint32_t next;	 /* child to visit */
	uint32_t kept;	 /* first child that stays */
	uint32_t last;	 /* and the last one */
	uint32_t moving; /* the last child that moves away; the others by NEXT_SIBLING */
};

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

/* Child I of the frame was visited: it stays, or it moves. */
static void decide(struct mprof_model *m, struct frame *f, uint32_t i)
{
	struct mprof_thread *t = model_thread(m, i), *parent = model_thread(m, f->thread);
	const struct mprof_interaction *wake = NULL;

	if (is_bind(t->type) && parent->becomes != i)
		wake = wake_of(m, i);
	if (wake) {
		t->flags |= MPROF_THREAD_SIMPLIFIED;
		t->start = wake->time;
	}
	if (wake && wake->other != f->thread && wake->other != i) {
		t->parent = wake->other;
		t->next_sibling = f->moving;
		f->moving = i;
		return;
	}
	t->next_sibling = MPROF_NONE;
	if (f->last == MPROF_NONE)
		f->kept = i;
	else
		model_thread(m, f->last)->next_sibling = i;
	f->last = i;
}

static void leave(struct mprof_model *m, struct frame *f)
{
	struct mprof_thread *t = model_thread(m, f->thread), *moved;
	uint32_t *end = &t->first_child, i, next;

	while (*end != MPROF_NONE)
		end = &model_thread(m, *end)->next_sibling;
	*end = f->kept;
	for (i = f->moving; i != MPROF_NONE; i = next) {
		moved = model_thread(m, i);
		next = moved->next_sibling;
		moved->next_sibling = model_thread(m, moved->parent)->first_child;
		model_thread(m, moved->parent)->first_child = i;
	}
}

static void enter(struct mprof_model *m, struct frame *f, uint32_t i)
{
	struct mprof_thread *t = model_thread(m, i);

	*f = (struct frame){i, t->first_child, MPROF_NONE, MPROF_NONE, MPROF_NONE};
	t->first_child = MPROF_NONE;
}

/* Is I yet to be visited?  Each is noted in the aliases, which nobody needs any more. */
static bool first_visit(const struct mprof_model *m, uint32_t i)
{
	uint32_t *visited = model_aliases(m);

	if (visited[i] == MPROF_NONE)
		return false;
	visited[i] = MPROF_NONE;
	return true;
}

static void walk(struct mprof_model *m, struct frame *frames, uint32_t root)
{
	struct frame *f = frames;

	first_visit(m, root);
	enter(m, f, root);
	for (;;) {
		uint32_t child = f->next;

		if (child == MPROF_NONE) {
			leave(m, f);
			if (f == frames)
				return;
			f--;
			child = f->next;
			f->next = model_thread(m, child)->next_sibling;
			decide(m, f, child);
		} else if (first_visit(m, child)) {
			enter(m, ++f, child);
		} else { /* moved here before this thread was visited */
			f->next = model_thread(m, child)->next_sibling;
			decide(m, f, child);
		}
	}
}

/* Depth of the tree as it was recorded; what moves before its new parent is visited was visited already. */
static uint32_t depth(const struct mprof_model *m)
{
	uint32_t *depths = model_aliases(m), deepest = 0, i;

	for (i = 0; i < m->arrays[MODEL_THREADS].n; i++) {
		uint32_t parent = model_thread(m, i)->parent;

		depths[i] = parent == MPROF_NONE ? 0 : depths[parent] + 1;
		deepest = depths[i] > deepest ? depths[i] : deepest;
	}
	return deepest;
}

bool model_simplify(struct mprof_model *m)
{
	struct frame *frames = malloc(((size_t)depth(m) + 2) * sizeof(*frames));
	uint32_t i;

	if (!frames)
		return false;
	for (i = 0; i < m->streams.n; i++)
		walk(m, frames, model_stream_at(m, i)->seen.root);
	free(frames);
	return true;
}
