/*
 * Divergences: the first step that one of two counterparts takes and the other does not.
 *
 * The steps of each thread are compared without regard to other threads. If each thread of two runs
 * does the same in the same order, the runs are the same to the program, whatever the order between
 * threads is. A difference in one thread's steps is reported for that thread.
 */
#include <stdlib.h>

#include "diff-state.h"

/* How many steps are searched for a later occurrence of a step. */
#define LATER_MAX 1000u

uint64_t diff_track_time(const struct diff_side *s, uint32_t i)
{
	const struct diff_track *t = &s->tracks[i];

	switch (t->kind) {
	case MPROF_STEP_LABEL:
		return s->view->labels[t->item].time;
	case MPROF_STEP_CREATES:
		return s->view->threads[t->item].created;
	case MPROF_STEP_BECOMES:
		return s->view->threads[t->item].end;
	default:
		return s->view->interactions[t->item].time;
	}
}

/*
 * Return true when two steps are the same. An unknown type, and an unknown label of a thread that
 * existed before the trace, equal any other.
 */
static bool same_step(const struct diff_track *a, const struct diff_track *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->type != b->type && a->type != MPROF_THREAD_UNKNOWN && b->type != MPROF_THREAD_UNKNOWN)
		return false;
	return a->text == b->text || (a->unseen && a->text == MPROF_NONE) || (b->unseen && b->text == MPROF_NONE);
}

static uint32_t track_count(const struct diff_side *s, uint32_t thread)
{
	return s->first_track[thread + 1] - s->first_track[thread];
}

/* Return the time of step I of THREAD, or when I is -1 of THREAD's creation, ns. */
static uint64_t time_behind(const struct diff_side *s, uint32_t thread, int64_t i)
{
	return i < 0 ? diff_thread(s, thread)->created
		     : diff_track_time(s, (uint32_t)(s->first_track[thread] + (uint64_t)i));
}

/*
 * Return true when step I of THREAD, which its counterpart in OTHER does not take, was due before
 * OTHER's trace ended.
 */
static bool was_due(const struct diff_side *s, uint32_t thread, const struct diff_side *other, uint32_t counterpart,
		    uint32_t i)
{
	uint64_t after = time_behind(s, thread, i) - time_behind(s, thread, (int64_t)i - 1);
	uint64_t left = other->view->streams[diff_thread(other, counterpart)->stream].end;

	left -= time_behind(other, counterpart, (int64_t)i - 1);
	return (int64_t)after < (int64_t)left;
}

static uint64_t since_start(const struct diff_side *s, uint32_t thread, uint32_t i)
{
	uint64_t time;

	if (i >= track_count(s, thread))
		return UINT64_MAX;
	time = time_behind(s, thread, i);
	return time > s->start ? time - s->start : 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

bool diff_fork_find(const struct mprof_diff *d, uint32_t good, struct diff_fork *fork)
{
	const struct diff_side *g = &d->side[GOOD], *b = &d->side[BAD];
	uint32_t bad = g->match[good], n_g = track_count(g, good), n_b, n, i;
	unsigned int unseen;

	if (bad == MPROF_NONE || diff_root(g, good))
		return false;
	unseen = diff_thread(g, good)->flags & MPROF_THREAD_PREEXISTING;
	/* The first steps of a thread from before its trace are unknown. */
	if (unseen != (diff_thread(b, bad)->flags & MPROF_THREAD_PREEXISTING))
		return false;
	n_b = track_count(b, bad);
	n = n_g < n_b ? n_g : n_b;
	for (i = 0; i < n && same_step(&g->tracks[g->first_track[good] + i], &b->tracks[b->first_track[bad] + i]);
	     i++) {
	}
	if (i == n_g && i == n_b)
		return false;
	if (i == n_g ? !was_due(b, bad, g, good, i) : i == n_b && !was_due(g, good, b, bad, i))
		return false;
	*fork = (struct diff_fork){.good = good, .bad = bad, .same = i, .unseen = unseen};
	fork->ns = earlier(since_start(g, good, i), since_start(b, bad, i));
	return true;
}

static uint32_t other_of(const struct diff_side *s, const struct diff_track *t, uint32_t thread)
{
	const struct mprof_interaction *it;

	if (t->kind == MPROF_STEP_LABEL)
		return MPROF_NONE;
	if (t->kind == MPROF_STEP_CREATES)
		return t->item;
	if (t->kind == MPROF_STEP_BECOMES)
		return diff_thread(s, t->item)->becomes;
	it = &s->view->interactions[t->item];
	return it->thread == thread ? it->other : it->thread;
}

/* Report step I of THREAD. Return its index, or MPROF_NONE without memory. */
static uint32_t report_step(struct mprof_diff *d, int side, uint32_t thread, uint32_t i)
{
	const struct diff_side *s = &d->side[side];
	const struct diff_track *t = &s->tracks[s->first_track[thread] + i];
	struct mprof_diff_step *step = grow_add(&d->steps, sizeof(*step));

	if (!step)
		return MPROF_NONE;
	*step = (struct mprof_diff_step){
		.time = time_behind(s, thread, i),
		.kind = t->kind,
		.thread = thread,
		.other = other_of(s, t, thread),
		.label = MPROF_NONE,
	};
	if (step->other != MPROF_NONE)
		step->label = mprof_why_label(s->why, step->other, step->time);
	else
		step->label = t->item;
	return d->steps.n - 1;
}

/*
 * Add to the reported steps the last of the SAME common steps of THREAD, as *COMMON, and *N next
 * steps, as *NEXT on. Return false without memory.
 */
static bool report_steps(struct mprof_diff *d, int side, uint32_t thread, uint32_t same, uint32_t *common,
			 uint32_t *next, uint32_t *n)
{
	uint32_t all = track_count(&d->side[side], thread);

	*common = MPROF_NONE;
	if (same) {
		*common = report_step(d, side, thread, same - 1);
		if (*common == MPROF_NONE)
			return false;
	}
	*next = d->steps.n;
	*n = 0;
	for (uint32_t i = same; i < all && *n < MPROF_DIFF_STEPS_MAX; i++, ++*n)
		if (report_step(d, side, thread, i) == MPROF_NONE)
			return false;
	return true;
}

/*
 * Add the other run's next step (number SAME) to the reported steps, as *LATER, if the thread of
 * SIDE takes that step later. Return false without memory.
 */
static bool report_later(struct mprof_diff *d, int side, const struct diff_fork *f, uint32_t *later)
{
	const struct diff_side *s = &d->side[side], *other = &d->side[side == GOOD ? BAD : GOOD];
	uint32_t thread = side == GOOD ? f->good : f->bad, counterpart = side == GOOD ? f->bad : f->good;
	uint32_t n = track_count(s, thread), first = s->first_track[thread];

	*later = MPROF_NONE;
	if (f->same >= track_count(other, counterpart))
		return true;
	for (uint32_t i = f->same; i < n && i - f->same < LATER_MAX; i++) {
		if (!same_step(&s->tracks[first + i], &other->tracks[other->first_track[counterpart] + f->same]))
			continue;
		*later = report_step(d, side, thread, i);
		return *later != MPROF_NONE;
	}
	return true;
}

bool diff_fork_report(struct mprof_diff *d, const struct diff_fork *f, uint32_t *i)
{
	struct mprof_diff_divergence p = {.ns = f->ns, .good = f->good, .bad = f->bad}, *list = d->divergences.items;

	for (*i = 0; *i < d->divergences.n; ++*i)
		if (list[*i].good == f->good)
			return true;
	if (!report_steps(d, GOOD, f->good, f->same, &p.good_common, &p.good_next, &p.good_n) ||
	    !report_steps(d, BAD, f->bad, f->same, &p.bad_common, &p.bad_next, &p.bad_n) ||
	    !report_later(d, GOOD, f, &p.good_later) || !report_later(d, BAD, f, &p.bad_later))
		return false;
	p.good_unknown = !p.good_n && diff_hides_step(d, GOOD, f->good, p.good_common);
	p.bad_unknown = !p.bad_n && diff_hides_step(d, BAD, f->bad, p.bad_common);
	list = grow_add(&d->divergences, sizeof(p));
	if (list)
		*list = p;
	return list;
}

static int compare_forks(const void *a, const void *b)
{
	const struct diff_fork *x = a, *y = b;

	if (x->unseen != y->unseen)
		return x->unseen ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->good < y->good ? -1 : x->good > y->good;
}

static bool report_forks(struct mprof_diff *d, struct grow *forks)
{
	struct diff_fork *list = forks->items;
	uint32_t at;

	if (forks->n)
		qsort(list, forks->n, sizeof(*list), compare_forks);
	for (uint32_t i = 0; i < forks->n && i < d->options.results_max; i++)
		if (!diff_fork_report(d, &list[i], &at))
			return false;
	d->view.first = forks->n ? 0 : MPROF_NONE;
	d->view.all_divergences = forks->n;
	return true;
}

bool diff_divergences(struct mprof_diff *d)
{
	const struct diff_side *g = &d->side[GOOD], *b = &d->side[BAD];
	struct diff_fork fork, *added;
	struct grow forks = {0};
	bool fine = true;

	for (uint32_t i = 0; fine && i < g->view->n_threads; i++) {
		if (!diff_fork_find(d, i, &fork))
			continue;
		d->view.work += fork.same;
		if (!diff_is_reported(g, i) && !diff_is_reported(b, fork.bad))
			continue;
		added = grow_add(&forks, sizeof(fork));
		fine = added;
		if (added)
			*added = fork;
	}
	fine = fine && report_forks(d, &forks);
	grow_deinit(&forks);
	return fine;
}
