/*
 * Different outcomes: threads resolved in one run only, and threads failed in one run only.
 *
 * One cause has many *victims*, threads with a different outcome, which are reported together:
 * threads that wait on one root, or threads that fail with one text, because a failure is passed
 * from thread to thread. The report names the first victim that should resolve, else the first one
 * with a label.
 */
#include <stdlib.h>
#include <string.h>

#include "diff-state.h"

/* A divergence explains a wait if it is at most this many steps of the thread before the wait. */
#define FORK_STEPS_MAX 16u

enum fate { FATE_WAITS, FATE_FULFILLED, FATE_FAILED };

struct victim {
	uint64_t cause; /* what victims of one cause share: the root, or the number of the failure's text */
	uint32_t good, bad;
	uint32_t kind;
	bool should_resolve, labelled;
};

struct outcome_search {
	struct mprof_diff *d;
	struct grow victims;
	/*
	 * For each shape of a text a bit 1 << side: a thread of that run that has no counterpart
	 * failed with such a text.
	 */
	uint8_t *failures;
};

static uint32_t final_of(const struct diff_side *s, uint32_t thread)
{
	return s->why->final[thread];
}

static bool fails(const struct mprof_thread *t)
{
	return (t->flags & MPROF_THREAD_RESOLVED) && t->failure != MPROF_NONE;
}

static enum fate fate_of(const struct diff_side *s, uint32_t thread)
{
	const struct mprof_thread *t = diff_thread(s, final_of(s, thread));

	return !(t->flags & MPROF_THREAD_RESOLVED) ? FATE_WAITS : fails(t) ? FATE_FAILED : FATE_FULFILLED;
}

/* Return the time from the creation of THREAD to its end, or to the end of its stream, ns. */
static uint64_t took(const struct diff_side *s, uint32_t thread)
{
	const struct mprof_thread *t = diff_thread(s, thread), *final = diff_thread(s, final_of(s, thread));
	uint64_t end = s->view->streams[final->stream].end;

	if (final->flags & MPROF_THREAD_RESOLVED)
		end = final->end;
	return end > t->created ? end - t->created : 0;
}

static bool should(const struct diff_side *s, uint32_t thread)
{
	return (diff_thread(s, thread)->flags | diff_thread(s, final_of(s, thread))->flags) &
	       MPROF_THREAD_SHOULD_RESOLVE;
}

/*
 * Add GOOD and BAD, of which one may be MPROF_NONE, as a victim of KIND. Return false without
 * memory.
 */
static bool add_victim(struct outcome_search *search, uint32_t kind, uint32_t good, uint32_t bad)
{
	const struct diff_side *s = &search->d->side[kind == MPROF_DIFF_BAD_WAITS || kind == MPROF_DIFF_BAD_FAILS];
	uint32_t own = s == &search->d->side[BAD] ? bad : good, final = final_of(s, own);
	struct victim *v = grow_add(&search->victims, sizeof(*v));

	if (!v)
		return false;
	*v = (struct victim){
		.good = good,
		.bad = bad,
		.kind = kind,
		.cause = s->why->root[final],
		.should_resolve = (good != MPROF_NONE && should(&search->d->side[GOOD], good)) ||
				  (bad != MPROF_NONE && should(&search->d->side[BAD], bad)),
		.labelled = diff_label(s, own) != MPROF_NONE,
	};
	if (kind == MPROF_DIFF_BAD_FAILS || kind == MPROF_DIFF_GOOD_FAILS)
		v->cause = s->shapes[diff_thread(s, final)->failure];
	return true;
}

static bool judge_pair(struct outcome_search *s, uint32_t good, uint32_t bad)
{
	const struct diff_side *g = &s->d->side[GOOD], *b = &s->d->side[BAD];
	enum fate of_good = fate_of(g, good), of_bad = fate_of(b, bad);
	uint64_t g_ns, b_ns;

	/* Nothing differs; or both became other threads, and these are compared by themselves. */
	if (of_good == of_bad || (final_of(g, good) != good && final_of(b, bad) != bad))
		return true;
	if (of_bad == FATE_FAILED)
		return add_victim(s, MPROF_DIFF_BAD_FAILS, good, bad);
	if (of_good == FATE_FAILED)
		return add_victim(s, MPROF_DIFF_GOOD_FAILS, good, bad);
	g_ns = took(g, good);
	b_ns = took(b, bad);
	if (of_bad == FATE_WAITS ? b_ns > g_ns : g_ns > b_ns)
		return add_victim(s, of_bad == FATE_WAITS ? MPROF_DIFF_BAD_WAITS : MPROF_DIFF_GOOD_WAITS, good, bad);
	s->d->view.not_due++;
	return true;
}

static bool judge_unmatched(struct outcome_search *search, int side, uint32_t thread)
{
	const struct diff_side *s = &search->d->side[side];
	const struct mprof_thread *t = diff_thread(s, thread);
	uint32_t good = side == GOOD ? thread : MPROF_NONE, bad = side == BAD ? thread : MPROF_NONE;

	/* THREAD became an alias of another thread (event `becomes`), which this search examines anyway. */
	if (final_of(s, thread) != thread)
		return true;
	if (t->flags & MPROF_THREAD_NEVER_RESOLVED)
		return add_victim(search, side == GOOD ? MPROF_DIFF_GOOD_WAITS : MPROF_DIFF_BAD_WAITS, good, bad);
	if (fails(t) && search->failures[s->shapes[t->failure]] == 1u << side)
		return add_victim(search, side == GOOD ? MPROF_DIFF_GOOD_FAILS : MPROF_DIFF_BAD_FAILS, good, bad);
	return true;
}

static void note_failures(struct outcome_search *search, int side)
{
	const struct diff_side *s = &search->d->side[side];

	for (uint32_t i = 0; i < s->view->n_threads; i++)
		if (s->match[i] == MPROF_NONE && fails(diff_thread(s, i)))
			search->failures[s->shapes[diff_thread(s, i)->failure]] |= (uint8_t)(1u << side);
}

static bool judge_all(struct outcome_search *s)
{
	const struct diff_side *g = &s->d->side[GOOD], *b = &s->d->side[BAD];

	note_failures(s, GOOD);
	note_failures(s, BAD);
	for (uint32_t i = 0; i < g->view->n_threads; i++) {
		if (g->match[i] == MPROF_NONE ? !diff_is_reported(g, i)
					      : !diff_is_reported(g, i) && !diff_is_reported(b, g->match[i]))
			continue;
		if (!(g->match[i] == MPROF_NONE ? judge_unmatched(s, GOOD, i) : judge_pair(s, i, g->match[i])))
			return false;
	}
	for (uint32_t i = 0; i < b->view->n_threads; i++)
		if (b->match[i] == MPROF_NONE && diff_is_reported(b, i) && !judge_unmatched(s, BAD, i))
			return false;
	return true;
}

static int compare_victims(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->cause != y->cause)
		return x->cause < y->cause ? -1 : 1;
	if (x->should_resolve != y->should_resolve)
		return x->should_resolve ? -1 : 1;
	if (x->labelled != y->labelled)
		return x->labelled ? -1 : 1;
	if (x->bad != y->bad)
		return x->bad < y->bad ? -1 : 1;
	return x->good < y->good ? -1 : x->good > y->good;
}

/*
 * Make one outcome of all victims of one cause; its GOOD and BAD are the first victim. Return false
 * without memory.
 */
static bool join_victims(struct outcome_search *s)
{
	struct victim *list = s->victims.items;
	struct mprof_diff_outcome *o = NULL;

	if (s->victims.n)
		qsort(list, s->victims.n, sizeof(*list), compare_victims);
	for (uint32_t i = 0; i < s->victims.n; i++) {
		if (!i || list[i].kind != list[i - 1].kind || list[i].cause != list[i - 1].cause) {
			o = grow_add(&s->d->outcomes, sizeof(*o));
			if (!o)
				return false;
			*o = (struct mprof_diff_outcome){
				.kind = list[i].kind,
				.good = list[i].good,
				.bad = list[i].bad,
			};
		}
		o->threads++;
		o->should_resolve += list[i].should_resolve;
	}
	return true;
}

static bool in_bad(const struct mprof_diff_outcome *o)
{
	return o->kind == MPROF_DIFF_BAD_WAITS || o->kind == MPROF_DIFF_BAD_FAILS;
}

static int compare_outcomes(const void *a, const void *b)
{
	const struct mprof_diff_outcome *x = a, *y = b;

	if (!x->should_resolve != !y->should_resolve)
		return x->should_resolve ? -1 : 1;
	if (in_bad(x) != in_bad(y))
		return in_bad(x) ? -1 : 1;
	if (x->threads != y->threads)
		return x->threads > y->threads ? -1 : 1;
	if (x->bad != y->bad)
		return x->bad < y->bad ? -1 : 1;
	return x->good < y->good ? -1 : x->good > y->good;
}

/*
 * Return true, and fill *F, when THREAD of SIDE diverges from its counterpart at most
 * FORK_STEPS_MAX steps before SINCE, or later.
 */
static bool parts_near(const struct mprof_diff *d, int side, uint32_t thread, uint64_t since, struct diff_fork *f)
{
	const struct diff_side *s = &d->side[side];
	uint32_t good = side == GOOD ? thread : d->side[BAD].match[thread], at;

	if (good == MPROF_NONE || !diff_fork_find(d, good, f))
		return false;
	at = s->first_track[thread] + f->same;
	return s->first_track[thread + 1] - at <= FORK_STEPS_MAX || diff_track_time(s, at + FORK_STEPS_MAX) >= since;
}

/*
 * Choose the divergence that explains O best. The thread of SIDE waits as ANSWER says, or if ANSWER
 * is NULL fails. Return false without memory.
 */
static bool part(struct mprof_diff *d, struct mprof_diff_outcome *o, int side, const struct mprof_why_answer *answer)
{
	uint32_t candidates[3] = {MPROF_NONE, MPROF_NONE, side == GOOD ? o->good : o->bad};
	struct diff_fork fork;

	if (answer) {
		candidates[0] = answer->condition;
		candidates[1] = answer->root;
	}
	o->divergence = MPROF_NONE;
	for (size_t i = 0; i < 3; i++)
		if (candidates[i] != MPROF_NONE &&
		    parts_near(d, side, candidates[i], answer ? answer->since : 0, &fork))
			return diff_fork_report(d, &fork, &o->divergence);
	return true;
}

/*
 * Fill in the fields of O, an outcome that will be reported, that joining the victims did not set.
 * Return false without memory.
 */
static bool explain(struct mprof_diff *d, struct mprof_diff_outcome *o)
{
	int side = in_bad(o) ? BAD : GOOD;
	const struct diff_side *s = &d->side[side];
	struct mprof_why_answer answer;

	o->good_ns = o->good == MPROF_NONE ? 0 : took(&d->side[GOOD], o->good);
	o->bad_ns = o->bad == MPROF_NONE ? 0 : took(&d->side[BAD], o->bad);
	diff_outcome_coverage(d, o);
	mprof_why_ask(s->why, side == GOOD ? o->good : o->bad, &answer);
	o->verdict = answer.verdict;
	o->root = o->root_match = o->condition = o->lost_signal = MPROF_NONE;
	if (o->kind == MPROF_DIFF_BAD_FAILS || o->kind == MPROF_DIFF_GOOD_FAILS)
		return part(d, o, side, NULL);
	o->root = answer.root;
	o->root_match = s->match[answer.root];
	o->condition = answer.condition;
	o->lost_signal = answer.verdict == MPROF_WHY_MISSED_SIGNAL ? answer.lost_signal : MPROF_NONE;
	return part(d, o, side, &answer);
}

static bool report_outcomes(struct mprof_diff *d)
{
	struct mprof_diff_outcome *list = d->outcomes.items;

	d->view.all_outcomes = d->outcomes.n;
	if (d->outcomes.n)
		qsort(list, d->outcomes.n, sizeof(*list), compare_outcomes);
	if (d->outcomes.n > d->options.results_max)
		d->outcomes.n = d->options.results_max;
	for (uint32_t i = 0; i < d->outcomes.n; i++)
		if (!explain(d, &list[i]))
			return false;
	return true;
}

bool diff_outcomes(struct mprof_diff *d)
{
	struct outcome_search j = {.d = d};
	bool fine;

	j.failures = calloc((size_t)d->n_texts + 1, 1);
	fine = j.failures && judge_all(&j) && join_victims(&j) && report_outcomes(d);
	free(j.failures);
	grow_deinit(&j.victims);
	return fine;
}
