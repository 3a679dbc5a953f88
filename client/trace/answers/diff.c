/*
 * Creation and release of a diff.
 *
 * The options bound what is reported. Data that is only needed to compute the report is freed at
 * the end.
 */
#include <stdlib.h>

#include "diff-state.h"

#define SLOWER_PERCENT 200u
#define SLOWER_NS      1000000u

static void take_options(struct mprof_diff *d, const struct mprof_diff_options *options)
{
	struct mprof_diff_options *o = &d->options;

	if (options)
		*o = *options;
	if (!o->slower_percent && !o->slower_ns) {
		o->slower_percent = SLOWER_PERCENT;
		o->slower_ns = SLOWER_NS;
	}
	if (!o->results_max || o->results_max > MPROF_DIFF_RESULTS_MAX)
		o->results_max = MPROF_DIFF_RESULTS_MAX;
	d->side[GOOD].from = o->good_from;
	d->side[BAD].from = o->bad_from;
	d->view.slower_percent = o->slower_percent;
	d->view.slower_ns = o->slower_ns;
	d->view.first = MPROF_NONE;
}

static void view_totals(struct mprof_diff *d)
{
	struct mprof_diff_view *v = &d->view;
	const struct diff_side *g = &d->side[GOOD], *b = &d->side[BAD];

	for (uint32_t i = 0; i < g->view->n_threads; i++)
		v->matched += g->match[i] != MPROF_NONE && !diff_root(g, i);
	v->good_threads = g->view->n_threads - g->view->n_streams;
	v->bad_threads = b->view->n_threads - b->view->n_streams;
	v->good_start = g->start;
	v->good_end = g->end;
	v->bad_start = b->start;
	v->bad_end = b->end;
	v->alike = v->matched == v->good_threads && v->matched == v->bad_threads && !v->all_outcomes &&
		   !v->all_divergences && !v->all_counters && !v->not_due;
}

static void view_fill(struct mprof_diff *d)
{
	struct mprof_diff_view *v = &d->view;

	v->good_match = d->side[GOOD].match;
	v->bad_match = d->side[BAD].match;
	v->outcomes = d->outcomes.items;
	v->slower = d->slower.items;
	v->unmatched = d->unmatched.items;
	v->counters = d->counters.items;
	v->divergences = d->divergences.items;
	v->steps = d->steps.items;
	v->n_outcomes = d->outcomes.n;
	v->n_slower = d->slower.n;
	v->n_unmatched = d->unmatched.n;
	v->n_counters = d->counters.n;
	v->n_divergences = d->divergences.n;
	v->n_steps = d->steps.n;
	view_totals(d);
}

/* Free what mprof_diff_view() and mprof_diff_why() do not need. */
static void side_trim(struct diff_side *s)
{
	free(s->texts);
	free(s->shapes);
	free(s->kin);
	free(s->exact);
	free(s->first_track);
	free(s->tracks);
	s->texts = s->shapes = s->first_track = NULL;
	s->kin = s->exact = NULL;
	s->tracks = NULL;
}

struct mprof_diff *mprof_diff_new(const struct mprof_model_view *good, const struct mprof_model_view *bad,
				  const struct mprof_diff_options *options)
{
	struct mprof_diff *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->side[GOOD].view = good;
	d->side[BAD].view = bad;
	take_options(d, options);
	if (!diff_sides(d) || !diff_match(d) || !diff_coverage(d) || !diff_tracks(d) || !diff_divergences(d) ||
	    !diff_outcomes(d) || !diff_slower(d) || !diff_unmatched(d) || !diff_counters(d) || !diff_proof(d))
		return mprof_diff_free(d);
	view_fill(d);
	side_trim(&d->side[GOOD]);
	side_trim(&d->side[BAD]);
	return d;
}

struct mprof_diff *mprof_diff_free(struct mprof_diff *d)
{
	if (!d)
		return NULL;
	for (int i = GOOD; i <= BAD; i++) {
		side_trim(&d->side[i]);
		free(d->side[i].match);
		mprof_why_free(d->side[i].why);
	}
	grow_deinit(&d->divergences);
	grow_deinit(&d->steps);
	grow_deinit(&d->outcomes);
	grow_deinit(&d->slower);
	grow_deinit(&d->unmatched);
	grow_deinit(&d->counters);
	free(d);
	return NULL;
}

const struct mprof_diff_view *mprof_diff_view(const struct mprof_diff *d)
{
	return &d->view;
}

const struct mprof_why *mprof_diff_why(const struct mprof_diff *d, bool bad)
{
	return d->side[bad ? BAD : GOOD].why;
}
