/*
 * Threads that took much longer.
 *
 * A thread that waits for a slow thread is slow, too. A slow thread is a *follower* of another slow
 * thread, its *leader*, if its last read was of the leader and the leader explains most of its
 * additional time. Followers are only counted.
 */
#include <stdlib.h>
#include <string.h>

#include "diff-state.h"

struct slow {
	uint64_t end; /* end of the thread in the bad run, ns */
	uint64_t good_ns, bad_ns;
	uint32_t good, bad;
	uint32_t leader; /* place in the list of a follower's leader */
	uint32_t followers;
};

static uint64_t excess(const struct slow *s)
{
	return s->bad_ns - s->good_ns;
}

/*
 * Return true when the trace has the beginning and the end of THREAD. Store the time between them
 * in *NS in any case.
 */
static bool lasted(const struct diff_side *s, uint32_t thread, uint64_t *ns)
{
	const struct mprof_thread *t = diff_thread(s, thread);

	*ns = t->end > t->created ? t->end - t->created : 0;
	return (t->flags & MPROF_THREAD_RESOLVED) && !(t->flags & (MPROF_THREAD_PREEXISTING | MPROF_THREAD_ROOT));
}

static bool much_longer(const struct mprof_diff_options *o, uint64_t good, uint64_t bad)
{
	return bad > good && bad - good >= o->slower_ns &&
	       (double)bad * 100 >= (double)good * (double)o->slower_percent;
}

static bool list_slow(const struct mprof_diff *d, struct grow *list)
{
	const struct diff_side *g = &d->side[GOOD], *b = &d->side[BAD];
	struct slow s, *added;

	for (uint32_t i = 0; i < g->view->n_threads; i++) {
		s = (struct slow){.good = i, .bad = g->match[i], .leader = MPROF_NONE};
		if (s.bad == MPROF_NONE || (!diff_is_reported(g, i) && !diff_is_reported(b, s.bad)) ||
		    !lasted(g, i, &s.good_ns) || !lasted(b, s.bad, &s.bad_ns) ||
		    !much_longer(&d->options, s.good_ns, s.bad_ns))
			continue;
		s.end = diff_thread(b, s.bad)->end;
		added = grow_add(list, sizeof(s));
		if (!added)
			return false;
		*added = s;
	}
	return true;
}

static int compare_ends(const void *a, const void *b)
{
	const struct slow *x = a, *y = b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->bad < y->bad ? -1 : x->bad > y->bad;
}

static int compare_excess(const void *a, const void *b)
{
	const struct slow *x = a, *y = b;

	if (excess(x) != excess(y))
		return excess(x) > excess(y) ? -1 : 1;
	return compare_ends(a, b);
}

/*
 * Find the leader of each of the N threads of LIST, which is sorted by end: a leader comes before
 * its followers. PLACE has for each thread its place in the list, SOURCE the thread that it read
 * last.
 */
static void find_leaders(struct slow *list, uint32_t n, const uint32_t *place, const uint32_t *source)
{
	uint32_t at;

	for (uint32_t i = 0; i < n; i++) {
		at = source[list[i].bad];
		at = at == MPROF_NONE ? MPROF_NONE : place[at];
		if (at == MPROF_NONE || at >= i || excess(&list[at]) < excess(&list[i]) / 4 * 3)
			continue;
		list[i].leader = list[at].leader == MPROF_NONE ? at : list[at].leader;
		list[list[i].leader].followers++;
	}
}

static bool lead(const struct mprof_diff *d, struct slow *list, uint32_t n)
{
	const struct mprof_model_view *v = d->side[BAD].view;
	uint32_t *place = malloc(((size_t)v->n_threads + 1) * sizeof(*place));
	uint32_t *source = malloc(((size_t)v->n_threads + 1) * sizeof(*source));

	if (place && source) {
		memset(place, 0xff, v->n_threads * sizeof(*place));
		memset(source, 0xff, v->n_threads * sizeof(*source));
		for (uint32_t i = 0; i < n; i++)
			place[list[i].bad] = i;
		for (uint32_t i = 0; i < v->n_interactions; i++)
			if (v->interactions[i].kind == MPROF_INTERACTION_READ)
				source[v->interactions[i].thread] = v->interactions[i].other;
		find_leaders(list, n, place, source);
	}
	free(place);
	free(source);
	return place && source;
}

static bool report_slow(struct mprof_diff *d, struct slow *list, uint32_t n)
{
	struct mprof_diff_slower *item;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (list[i].leader == MPROF_NONE)
			list[kept++] = list[i];
	d->view.all_slower = kept;
	if (kept)
		qsort(list, kept, sizeof(*list), compare_excess);
	for (uint32_t i = 0; i < kept && i < d->options.results_max; i++) {
		item = grow_add(&d->slower, sizeof(*item));
		if (!item)
			return false;
		*item = (struct mprof_diff_slower){
			.good_ns = list[i].good_ns,
			.bad_ns = list[i].bad_ns,
			.good = list[i].good,
			.bad = list[i].bad,
			.followers = list[i].followers,
		};
	}
	return true;
}

bool diff_slower(struct mprof_diff *d)
{
	struct grow list = {0};
	bool fine = list_slow(d, &list);

	if (fine && list.n) {
		qsort(list.items, list.n, sizeof(struct slow), compare_ends);
		fine = lead(d, list.items, list.n) && report_slow(d, list.items, list.n);
	}
	grow_deinit(&list);
	return fine;
}
