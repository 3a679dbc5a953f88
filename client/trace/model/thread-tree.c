/*
 * The finished tree: cycles broken, a root's children sorted by id, all threads listed depth first.
 *
 * A bind moves below the thread that it read first, and a trace can let two binds read each other.
 * No root leads to such a cycle, so its threads would not be drawn. In each set of connected
 * threads without a root every thread has a parent, and there is exactly one cycle: moving one of
 * the cycle's threads below its stream's root makes all threads of the set reachable.
 */
#include <stdlib.h>

#include "model-state.h"

struct tree_node {
	uint32_t parent; /* MPROF_NONE for a root */
	uint32_t first_child;
	uint32_t next_sibling;
};

/*
 * Data of one thread for moving binds: PLACE and SIZE of its subtree in the order in which a
 * depth-first walk leaves threads; and a chain, from FIRST on by NEXT, of those of its children
 * that move to another parent.
 */
struct tree_move {
	uint32_t place;
	uint32_t size;
	uint32_t first;
	uint32_t next;
};

/* ---- binds ---- */

/*
 * Move binds to their wake-up.
 *
 * Most threads of a program are binds, created together long before they do anything. Drawn from
 * their creation on, they hide what happens. Drawn from their wake-up on, below the thread that
 * woke them, they show it.
 *
 * The order of children is the first viewer's. That viewer walked the recorded tree depth first,
 * the newest child first. When it left a thread, it took those of the thread's children that move,
 * the newest last, and put each before all children of its new parent. The children that stay
 * follow, the newest first. This file gets the same order without the walk: a creator is older than
 * its thread, so one pass from the newest thread to the oldest computes the sizes of all subtrees,
 * and one pass from the oldest to the newest the position at which each thread is left.
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

/*
 * Return the read by which thread I wakes. Return NULL when its first interaction is no read, or
 * when the thread had a label, was tried or ended before that read.
 */
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
	/* A thread that was resolved before it woke has nothing to draw after its wake-up. */
	return first->time <= t->end ? first : NULL;
}

/*
 * Set PARENT, START and the flag of the binds that move. The chains of children are not changed
 * yet.
 */
static void simplify_mark(struct mprof_model *m)
{
	for (uint32_t i = 0; i < model_count(m, MODEL_THREADS); i++) {
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

/*
 * In one pass from the newest thread on, compute the size of each recorded subtree, how much of the
 * creator's subtree is left before it, and each thread's chain of children that move. Until leave(),
 * NEXT_SIBLING of a node is its creator, so that leave() need not read the threads again.
 */
static void measure(const struct mprof_model *m, struct tree_node *nodes, struct tree_move *moves)
{
	for (uint32_t i = model_count(m, MODEL_THREADS); i-- > 0;) {
		const struct mprof_thread *t = model_thread(m, i);
		struct tree_move *move = &moves[i], *creator;

		nodes[i].parent = t->parent;
		nodes[i].next_sibling = t->creator;
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

/*
 * In one pass from the oldest thread on, put the threads that stay into their parent's chain, and
 * list the threads in LEFT in the order in which the walk leaves them.
 */
static void leave(struct tree_node *nodes, struct tree_move *moves, uint32_t n, uint32_t *left)
{
	uint32_t roots = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t creator = nodes[i].next_sibling;

		nodes[i].next_sibling = MPROF_NONE;
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
 * Build the tree of M's threads in NODES. simplify_mark() was called before. All three arrays have
 * an item for each thread; MOVES and LEFT are scratch space.
 */
static void simplify_tree(const struct mprof_model *m, struct tree_node *nodes, struct tree_move *moves, uint32_t *left)
{
	uint32_t n = model_count(m, MODEL_THREADS);

	for (uint32_t i = 0; i < n; i++) {
		nodes[i].first_child = MPROF_NONE;
		moves[i] = (struct tree_move){0, 0, MPROF_NONE, MPROF_NONE};
	}
	measure(m, nodes, moves);
	leave(nodes, moves, n, left);
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = moves[left[k]].first; i != MPROF_NONE; i = moves[i].next)
			put_first(nodes, nodes[i].parent, i);
}

/* ---- the finished tree ---- */

#define REACHED MPROF_NONE

/*
 * Move thread I of a cycle below its stream's root. No two cycles share a parent, so all these
 * searches in a parent's chain together visit each thread at most once.
 */
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
 * Break each cycle. Walk up from each thread I to a thread that was visited before, and mark the
 * threads on the way with I + 1. A walk that meets its own mark has found a cycle. A thread with
 * another mark is reachable, and so are all threads below it.
 */
static void break_cycles(struct mprof_model *m, struct tree_node *nodes, uint32_t *marks)
{
	uint32_t n = model_count(m, MODEL_THREADS), at;

	for (uint32_t i = 0; i < n; i++)
		marks[i] = nodes[i].parent == MPROF_NONE ? REACHED : 0;
	for (uint32_t i = 0; i < n; i++) {
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

/* List all threads in ORDER, each after its parent, stream by stream. */
static void put_in_order(const struct mprof_model *m, const struct tree_node *nodes, uint32_t *order)
{
	uint32_t i;

	for (uint32_t s = 0; s < m->streams.n; s++) {
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
	for (uint32_t i = 0; i < model_count(m, MODEL_THREADS); i++) {
		struct mprof_thread *t = model_thread(m, i);

		t->parent = nodes[i].parent;
		t->first_child = nodes[i].first_child;
		t->next_sibling = nodes[i].next_sibling;
	}
}

bool model_tree(struct mprof_model *m)
{
	uint32_t n = model_count(m, MODEL_THREADS), *order = model_aliases(m);
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
		break_cycles(m, nodes.items, order);
	}
	for (uint32_t i = 0; i < m->streams.n && ok; i++)
		ok = sort_children(m, nodes.items, model_stream_at(m, i)->seen.root);
	if (ok) {
		put_in_order(m, nodes.items, order);
		show(m, nodes.items);
	}
	grow_deinit(&nodes);
	grow_pass(&moves, &m->spare, 1);
	return ok;
}
