/*
 * Group the threads that wait.
 *
 * Each thread that waits belongs to a *branch*: the last thread of its chain before the root, or in a cycle the
 * first thread of the cycle. Only the branches are asked, so that a long chain with many threads is walked
 * once. Branches that wait for one thing are one group. The thread that stands for a group is asked, too; what
 * it waits for decides whether the group is a cause, so that the answer about it says the same.
 */
#include <mprof/waits.h>

#include <stdlib.h>

#include <mprof/ids.h>

#include "why-index.h"

#define NAMED_MAX 5u /* longest waits of named threads that an answer has */

struct mprof_waits {
	const struct mprof_model_view *view;
	const struct mprof_why *why;
	struct mprof_waits_group *groups;
	uint32_t *branch; /* for each thread its branch, a thread, or MPROF_NONE if it does not wait */
	uint32_t *group;  /* for each branch its group, else MPROF_NONE */
	uint32_t n;
	uint32_t shown;
};

const char *mprof_waits_name(uint32_t kind)
{
	static const char *const names[MPROF_WAITS_KINDS] = {
		[MPROF_WAITS_CYCLE] = "deadlock",
		[MPROF_WAITS_MISSED] = "missed-wakeup",
		[MPROF_WAITS_ENDED] = "holder-ended",
	};

	return kind < MPROF_WAITS_KINDS ? names[kind] : NULL;
}

/* Return whether a group of KIND is shown in any case: it is a cause, or a lock whose holder is outside. */
static bool is_urgent(uint32_t kind)
{
	return kind <= MPROF_WAITS_OUTSIDE;
}

/* ---- branches ---- */

static bool is_marked(const struct mprof_waits *w, uint32_t thread)
{
	return w->view->threads[thread].flags & MPROF_THREAD_SHOULD_RESOLVE;
}

/* Return whether THREAD waits, or is marked and unresolved. */
static bool is_open(const struct mprof_waits *w, uint32_t thread)
{
	const struct mprof_thread *t = &w->view->threads[thread];

	return w->why->final[thread] == thread && !why_resolved(w->why, thread) && !(t->flags & MPROF_THREAD_ROOT) &&
	       !MPROF_IS_VCPU(t->id) && (w->why->link[thread] != MPROF_NONE || is_marked(w, thread));
}

static bool in_cycle(const struct mprof_waits *w, uint32_t thread)
{
	return w->why->root[thread] == thread && w->why->depth[thread];
}

/* Make the first thread of each cycle the branch of all its threads. */
static void find_cycles(struct mprof_waits *w)
{
	for (uint32_t i = 0; i < w->view->n_threads; i++) {
		uint32_t t = i;

		if (w->why->final[i] != i || !in_cycle(w, i) || w->branch[i] != MPROF_NONE)
			continue;
		do {
			w->branch[t] = i;
			t = why_next(w->why, t);
		} while (t != i);
	}
}

/* Return the number of links from thread I to its root, or MPROF_NONE if it does not wait or is in a cycle. */
static uint32_t depth_of(const void *context, uint32_t i)
{
	const struct mprof_waits *w = context;

	return is_open(w, i) && !in_cycle(w, i) ? w->why->depth[i] : MPROF_NONE;
}

/* Find the branches of all threads, those nearest to their roots first. Return false without memory. */
static bool find_branches(struct mprof_waits *w)
{
	struct buckets by_depth;
	uint32_t n = w->view->n_threads;
	bool ok = buckets_init(&by_depth, w, n, n, depth_of);

	find_cycles(w);
	for (uint32_t i = 0; ok && i < by_depth.start[n]; i++) {
		uint32_t t = by_depth.items[i], next = why_next(w->why, t);

		if (next == MPROF_NONE)
			w->branch[t] = t;
		else if (w->why->root[t] == next && !in_cycle(w, next))
			w->branch[t] = t;
		else
			w->branch[t] = w->branch[next];
	}
	buckets_deinit(&by_depth);
	return ok;
}

/* ---- groups ---- */

/* Return since when the program of THREAD sleeps at the end of the trace, ns, or UINT64_MAX. */
static uint64_t asleep_since(const struct mprof_waits *w, uint32_t thread)
{
	return mprof_coverage_asleep(w->view, w->view->threads[thread].stream);
}

static enum mprof_waits_kind kind_of(const struct mprof_waits *w, const struct mprof_why_answer *a)
{
	switch (a->verdict) {
	case MPROF_WHY_CYCLE:
		return MPROF_WAITS_CYCLE;
	case MPROF_WHY_MISSED_SIGNAL:
		return MPROF_WAITS_MISSED;
	case MPROF_WHY_HOLDER_ENDED:
		return MPROF_WAITS_ENDED;
	default:
		if (a->outside && a->holder == a->root && asleep_since(w, a->thread) < a->end)
			return MPROF_WAITS_OUTSIDE;
		return a->elsewhere ? MPROF_WAITS_ELSEWHERE : MPROF_WAITS_OPEN;
	}
}

/* Return what the thread of A waits for: a thread, which is the same one for all threads of a group. */
static uint32_t awaited(const struct mprof_waits *w, const struct mprof_why_answer *a)
{
	if (a->cycle)
		return w->branch[a->root];
	if (a->verdict == MPROF_WHY_HOLDER_ENDED || a->outside)
		return a->held;
	if (a->condition != MPROF_NONE)
		return a->condition;
	return why_at_place(w->why, a->root) ? w->view->threads[a->root].creator : a->root;
}

/* Make a group of each thing that branches wait for. */
static void number_groups(struct mprof_waits *w, const struct pair_index *branches)
{
	for (uint32_t i = 0; i < branches->n; i++) {
		const struct pair *p = &branches->pairs[i];

		if (!i || p->key != p[-1].key || p->value != p[-1].value)
			w->groups[w->n++] =
				(struct mprof_waits_group){.thread = MPROF_NONE, .kind = (uint32_t)p->value};
		w->group[p->item] = w->n - 1;
	}
}

/* Ask each branch, and number the groups. Return false without memory. */
static bool find_groups(struct mprof_waits *w)
{
	struct pair_index branches;
	struct mprof_why_answer a;
	bool ok = pair_index_init(&branches, w->view->n_threads);

	for (uint32_t i = 0; ok && i < w->view->n_threads; i++) {
		if (w->branch[i] != i)
			continue;
		mprof_why_ask(w->why, i, &a);
		pair_index_add(&branches, (struct pair){.key = awaited(w, &a), .value = kind_of(w, &a), .item = i});
	}
	w->groups = ok ? calloc((size_t)branches.n + 1, sizeof(*w->groups)) : NULL;
	if (w->groups) {
		pair_index_sort(&branches);
		number_groups(w, &branches);
	}
	pair_index_deinit(&branches);
	return w->groups != NULL;
}

/* ---- the threads that stand for groups ---- */

static bool is_named(const struct mprof_waits *w, uint32_t thread)
{
	return mprof_why_label(w->why, thread, UINT64_MAX) != MPROF_NONE;
}

/* Return whether thread A stands for its group better than B, which comes before A. */
static bool is_better(const struct mprof_waits *w, uint32_t a, uint32_t b)
{
	const uint32_t *depth = w->why->depth;

	if (why_is_thread(w->why, a) != why_is_thread(w->why, b))
		return why_is_thread(w->why, a);
	if (in_cycle(w, a) != in_cycle(w, b))
		return in_cycle(w, a);
	if (is_marked(w, a) != is_marked(w, b))
		return is_marked(w, a);
	if (is_named(w, a) != is_named(w, b))
		return is_named(w, a);
	/* A marked thread is one that the program names: the nearest one says it shortest. */
	if (!in_cycle(w, a) && depth[a] != depth[b])
		return is_marked(w, a) ? depth[a] < depth[b] : depth[a] > depth[b];
	return false;
}

static void choose_threads(struct mprof_waits *w)
{
	for (uint32_t i = 0; i < w->view->n_threads; i++) {
		struct mprof_waits_group *g;

		if (w->branch[i] == MPROF_NONE || w->group[w->branch[i]] == MPROF_NONE || !is_open(w, i))
			continue;
		g = &w->groups[w->group[w->branch[i]]];
		if (g->thread == MPROF_NONE || is_better(w, i, g->thread))
			g->thread = i;
		g->threads += why_is_thread(w->why, i);
		g->marked += why_is_thread(w->why, i) && is_marked(w, i);
	}
}

static void ask_threads(struct mprof_waits *w)
{
	struct mprof_why_answer a;

	for (uint32_t i = 0; i < w->n; i++) {
		struct mprof_waits_group *g = &w->groups[i];

		mprof_why_ask(w->why, g->thread, &a);
		g->since = a.since;
		g->kind = kind_of(w, &a);
		g->named = is_named(w, g->thread) || is_named(w, a.root) ||
			   (a.condition != MPROF_NONE && is_named(w, a.condition));
	}
}

/* A thread that became another is asked about by its own id, which the program has marked. */
static void name_marked(struct mprof_waits *w)
{
	for (uint32_t i = 0; i < w->view->n_expectations; i++) {
		const struct mprof_expectation *e = &w->view->expectations[i];
		uint32_t final = w->why->final[e->final], branch = w->branch[final];

		if (branch != MPROF_NONE && w->group[branch] != MPROF_NONE &&
		    w->groups[w->group[branch]].thread == final)
			w->groups[w->group[branch]].thread = e->thread;
	}
}

/* ---- the order ---- */

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Return the place of G in the order: the causes by kind, holders outside, marked threads, named ones, others. */
static unsigned rank(const struct mprof_waits_group *g)
{
	if (is_urgent(g->kind))
		return g->kind;
	return MPROF_WAITS_OPEN + (g->marked ? 0 : g->named ? 1 : 2);
}

static int compare_groups(const void *a, const void *b)
{
	const struct mprof_waits_group *x = a, *y = b;
	int r = compare(rank(x), rank(y));

	r = r ? r : compare(x->kind, y->kind);
	r = r ? r : compare(x->since, y->since);
	return r ? r : compare(x->thread, y->thread);
}

static uint32_t count_shown(const struct mprof_waits *w)
{
	uint32_t shown = 0, named = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct mprof_waits_group *g = &w->groups[i];

		if (is_urgent(g->kind) || g->marked) {
			shown = i + 1;
		} else if (!w->view->n_expectations && g->named && named < NAMED_MAX) {
			shown = i + 1;
			named++;
		}
	}
	return shown;
}

static bool reserve(struct mprof_waits *w)
{
	size_t n = (size_t)w->view->n_threads + 1;

	w->branch = malloc(n * sizeof(*w->branch));
	w->group = malloc(n * sizeof(*w->group));
	if (!w->branch || !w->group)
		return false;
	for (size_t i = 0; i < n; i++)
		w->branch[i] = w->group[i] = MPROF_NONE;
	return true;
}

struct mprof_waits *mprof_waits_new(const struct mprof_model_view *view, const struct mprof_why *why)
{
	struct mprof_waits *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->view = view;
	w->why = why;
	if (!reserve(w) || !find_branches(w) || !find_groups(w))
		return mprof_waits_free(w);
	choose_threads(w);
	ask_threads(w);
	name_marked(w);
	qsort(w->groups, w->n, sizeof(*w->groups), compare_groups);
	w->shown = count_shown(w);
	return w;
}

struct mprof_waits *mprof_waits_free(struct mprof_waits *w)
{
	if (!w)
		return NULL;
	free(w->groups);
	free(w->branch);
	free(w->group);
	free(w);
	return NULL;
}

const struct mprof_waits_group *mprof_waits_groups(const struct mprof_waits *w, uint32_t *n)
{
	*n = w->n;
	return w->groups;
}

uint32_t mprof_waits_shown(const struct mprof_waits *w)
{
	return w->shown;
}

void mprof_waits_coverage(const struct mprof_waits *w, uint32_t stream, struct mprof_coverage *coverage)
{
	coverage_ask(w->view, &w->why->coverage, stream, MPROF_COVERAGE_READ, 0, UINT64_MAX - 1, UINT64_MAX - 1,
		     coverage);
}
