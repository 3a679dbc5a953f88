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
#include "tree.h"

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

void simplify_mark(struct mprof_model *m)
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

void simplify_tree(const struct mprof_model *m, struct tree_node *nodes, struct tree_move *moves, uint32_t *left)
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
