/* Write the answer of `diff` as JSON. Its keys are an interface: schema/answers/diff.json and docs/man/mprofctl.1 list them. */
#include <mprof/diff-report.h>

#include <stdlib.h>

#include <mprof/statistics.h>

#include "answer-json.h"

enum { GOOD, BAD };

/* The answer while it is written. */
struct writing {
	const struct mprof_diff_report *r;
	const struct mprof_diff_view *v;
	struct answer_trace traces[2];
	struct mprof_json *j;
};

static const struct mprof_model_view *model(const struct writing *w, int side)
{
	return w->traces[side].view;
}

static void put_count(const struct writing *w, const char *key, uint64_t n)
{
	answer_put_count(w->j, key, n);
}

/* Write TIME of the run SIDE: as recorded, and since the first event. */
static void put_times(const struct writing *w, int side, uint64_t time)
{
	uint64_t start = side == GOOD ? w->v->good_start : w->v->bad_start;

	mprof_json_time(w->j, "time_ns", time);
	mprof_json_time(w->j, "since_start_ns", time > start ? time - start : 0);
}

/* Close an object of the run SIDE: the clock of the run gives its wall times. */
static void close_of(const struct writing *w, int side)
{
	w->j->clock = w->r->runs[side].clock;
	mprof_json_close(w->j, '}');
}

/* Write the hole C of the run SIDE. */
static void put_hole(const struct writing *w, int side, const struct mprof_coverage *c)
{
	w->j->clock = w->r->runs[side].clock;
	answer_put_coverage(&w->traces[side], w->j, "coverage", c);
}

static void put_who(const struct writing *w, int side, const char *key, uint32_t thread, uint64_t time)
{
	answer_put_thread(&w->traces[side], w->j, key, thread, time);
}

static const char *step_name(uint32_t kind)
{
	static const char *const names[] = {
		[MPROF_STEP_LABEL] = "label",	    [MPROF_STEP_CREATES] = "creates",
		[MPROF_STEP_SIGNALS] = "signals",   [MPROF_STEP_SIGNALLED] = "signalled",
		[MPROF_STEP_RESOLVES] = "resolves", [MPROF_STEP_RESOLVED] = "resolved",
		[MPROF_STEP_FAILS] = "fails",	    [MPROF_STEP_FAILED] = "failed",
		[MPROF_STEP_READS] = "reads",	    [MPROF_STEP_READ] = "read",
		[MPROF_STEP_BECOMES] = "becomes",
	};

	return names[kind];
}

static void put_step(const struct writing *w, int side, const char *key, uint32_t i)
{
	const struct mprof_diff_step *s;

	if (i == MPROF_NONE) {
		mprof_json_null(w->j, key);
		return;
	}
	s = &w->v->steps[i];
	mprof_json_open(w->j, key, '{');
	mprof_json_word(w->j, "step", step_name(s->kind));
	put_who(w, side, "other", s->other, s->time);
	mprof_json_boolean(w->j, "self", s->other == s->thread);
	answer_put_string(&w->traces[side], w->j, "label",
			  s->kind == MPROF_STEP_LABEL ? model(w, side)->labels[s->label].text : MPROF_NONE);
	put_times(w, side, s->time);
	close_of(w, side);
}

static bool has_hole(const struct writing *w, int side)
{
	return (side == GOOD ? w->v->good_coverage : w->v->bad_coverage).hole != MPROF_HOLE_NONE;
}

/* Write the N steps from NEXT on, or null if UNKNOWN: there are none in the trace, where some can be missing. */
static void put_next(const struct writing *w, int side, uint32_t next, uint32_t n, bool unknown)
{
	if (unknown) {
		mprof_json_null(w->j, "next");
		return;
	}
	mprof_json_open(w->j, "next", '[');
	for (uint32_t i = 0; i < n; i++)
		put_step(w, side, NULL, next + i);
	mprof_json_close(w->j, ']');
}

/* Write where the THREAD of the run SIDE parts from its counterpart: step COMMON, N steps from NEXT on, step LATER. */
static void put_side(const struct writing *w, int side, uint32_t thread, uint32_t common, uint32_t next, uint32_t n,
		     uint32_t later, bool unknown)
{
	mprof_json_open(w->j, side == GOOD ? "good" : "bad", '{');
	put_who(w, side, "thread", thread, UINT64_MAX);
	put_step(w, side, "common", common);
	put_next(w, side, next, n, unknown);
	put_step(w, side, "later", later);
	mprof_json_close(w->j, '}');
}

static void put_divergence(const struct writing *w, const char *key, uint32_t i)
{
	const struct mprof_diff_divergence *p;

	if (i == MPROF_NONE) {
		mprof_json_null(w->j, key);
		return;
	}
	p = &w->v->divergences[i];
	mprof_json_open(w->j, key, '{');
	mprof_json_time(w->j, "since_start_ns", p->ns);
	put_side(w, GOOD, p->good, p->good_common, p->good_next, p->good_n, p->good_later, p->good_unknown);
	put_side(w, BAD, p->bad, p->bad_common, p->bad_next, p->bad_n, p->bad_later, p->bad_unknown);
	mprof_json_close(w->j, '}');
}

/* Write how THREAD ended, or null if it did not. */
static void put_end(const struct writing *w, int side, uint32_t thread)
{
	const struct mprof_thread *it = &model(w, side)->threads[mprof_why_final(w->traces[side].why, thread)];

	if (!(it->flags & MPROF_THREAD_RESOLVED)) {
		mprof_json_null(w->j, "end");
		return;
	}
	mprof_json_open(w->j, "end", '{');
	put_who(w, side, "by", it->resolver, it->end);
	answer_put_string(&w->traces[side], w->j, "failure", it->failure);
	put_times(w, side, it->end);
	close_of(w, side);
}

/* Write THREAD with its creation, its duration *NS and its end, or null. If NS is NULL, the duration is left out. */
static void put_life(const struct writing *w, int side, const char *key, uint32_t thread, const uint64_t *ns)
{
	const struct mprof_thread *it;

	if (!answer_names(&w->traces[side], thread)) {
		mprof_json_null(w->j, key);
		return;
	}
	it = &model(w, side)->threads[thread];
	mprof_json_open(w->j, key, '{');
	answer_put_members(&w->traces[side], w->j, thread, UINT64_MAX);
	put_times(w, side, it->created);
	if (ns)
		mprof_json_time(w->j, "lasted_ns", *ns);
	put_end(w, side, thread);
	mprof_json_boolean(w->j, "should_resolve", it->flags & MPROF_THREAD_SHOULD_RESOLVE);
	close_of(w, side);
}

/* Write interaction I, a signal that no thread waited for, or null if I is MPROF_NONE. */
static void put_missed(const struct writing *w, int side, uint32_t i)
{
	const struct mprof_interaction *it;

	if (i == MPROF_NONE) {
		mprof_json_null(w->j, "missed");
		return;
	}
	it = &model(w, side)->interactions[i];
	mprof_json_open(w->j, "missed", '{');
	put_who(w, side, "by", it->thread, it->time);
	put_times(w, side, it->time);
	close_of(w, side);
}

/* Return the run that lacks an end, or the failure, by O. */
static int denied_in(const struct mprof_diff_outcome *o)
{
	return o->kind == MPROF_DIFF_BAD_WAITS || o->kind == MPROF_DIFF_GOOD_FAILS ? BAD : GOOD;
}

static void put_outcome(const struct writing *w, const struct mprof_diff_outcome *o)
{
	static const char *const names[] = {
		[MPROF_DIFF_BAD_WAITS] = "bad-waits",
		[MPROF_DIFF_BAD_FAILS] = "bad-fails",
		[MPROF_DIFF_GOOD_WAITS] = "good-waits",
		[MPROF_DIFF_GOOD_FAILS] = "good-fails",
	};
	int side = o->kind == MPROF_DIFF_BAD_WAITS || o->kind == MPROF_DIFF_BAD_FAILS ? BAD : GOOD;

	mprof_json_open(w->j, NULL, '{');
	mprof_json_word(w->j, "outcome", names[o->kind]);
	put_life(w, GOOD, "good", o->good, &o->good_ns);
	put_life(w, BAD, "bad", o->bad, &o->bad_ns);
	put_count(w, "threads", o->threads);
	put_count(w, "should_resolve", o->should_resolve);
	put_life(w, side, "root", o->root, NULL);
	put_life(w, !side, "root_counterpart", o->root_match, NULL);
	put_who(w, side, "condition", o->condition, UINT64_MAX);
	put_missed(w, side, o->lost_signal);
	put_hole(w, denied_in(o), &o->coverage);
	put_divergence(w, "parting", o->divergence);
	mprof_json_close(w->j, '}');
}

static void put_slower(const struct writing *w, const struct mprof_diff_slower *s)
{
	mprof_json_open(w->j, NULL, '{');
	put_life(w, GOOD, "good", s->good, &s->good_ns);
	put_life(w, BAD, "bad", s->bad, &s->bad_ns);
	put_count(w, "followers", s->followers);
	mprof_json_close(w->j, '}');
}

char *mprof_diff_shape(const char *text, size_t *bytes)
{
	char *shape = malloc(*bytes + 1);
	size_t n = 0;

	if (!shape)
		return NULL;
	for (size_t i = 0; i < *bytes; i++) {
		if (text[i] < '0' || text[i] > '9')
			shape[n++] = text[i];
		else if (!n || shape[n - 1] != '#')
			shape[n++] = '#';
	}
	*bytes = n;
	return shape;
}

/* Write N of the run SIDE, or null for 0 where the run has a hole. */
static void put_number(const struct writing *w, int side, const char *key, uint32_t n)
{
	if (n || !has_hole(w, side))
		put_count(w, key, n);
	else
		mprof_json_null(w->j, key);
}

static enum mprof_status put_unmatched(const struct writing *w, const struct mprof_diff_unmatched *u)
{
	int side = u->good == MPROF_NONE ? BAD : GOOD;
	uint32_t thread = side == GOOD ? u->good : u->bad, label = mprof_why_label(w->traces[side].why, thread, 0),
		 string = label == MPROF_NONE ? MPROF_NONE : model(w, side)->labels[label].text;
	size_t bytes;
	const char *text = answer_bytes_of(model(w, side), string, &bytes);
	char *shape = text && u->good_n + u->bad_n > 1 ? mprof_diff_shape(text, &bytes) : NULL;

	if (text && u->good_n + u->bad_n > 1 && !shape)
		return MPROF_NOMEM;
	mprof_json_open(w->j, NULL, '{');
	mprof_json_word(w->j, "type", mprof_thread_type_name(model(w, side)->threads[thread].type));
	if (shape)
		mprof_json_text(w->j, "label", shape, bytes);
	else
		answer_put_string(&w->traces[side], w->j, "label", string);
	put_number(w, GOOD, "good", u->good_n);
	put_number(w, BAD, "bad", u->bad_n);
	put_life(w, GOOD, "first_good", u->good, NULL);
	put_life(w, BAD, "first_bad", u->bad, NULL);
	mprof_json_close(w->j, '}');
	free(shape);
	return MPROF_OK;
}

static void put_values(const struct writing *w, int side, const char *key, uint32_t i)
{
	const struct mprof_counter *c;

	if (i == MPROF_NONE) {
		mprof_json_null(w->j, key);
		return;
	}
	c = &model(w, side)->counters[i];
	mprof_json_open(w->j, key, '{');
	mprof_json_number(w->j, "last", model(w, side)->samples[c->last].value);
	mprof_json_number(w->j, "max", c->max);
	put_count(w, "samples", c->samples);
	mprof_json_word(w->j, "kind", mprof_counter_kind_name(c->kind));
	if (c->kind == MPROF_COUNTER_AMOUNT)
		mprof_json_number(w->j, "sum", c->sum);
	mprof_json_close(w->j, '}');
}

static void put_counter(const struct writing *w, const struct mprof_diff_counter *c)
{
	int side = c->good == MPROF_NONE ? BAD : GOOD;
	const struct mprof_counter *some = &model(w, side)->counters[side == GOOD ? c->good : c->bad];

	mprof_json_open(w->j, NULL, '{');
	answer_put_string(&w->traces[side], w->j, "counter", some->name);
	put_values(w, GOOD, "good", c->good);
	put_values(w, BAD, "bad", c->bad);
	if (w->traces[side].streams)
		mprof_json_word(w->j, "stream", w->traces[side].streams[some->stream]);
	mprof_json_close(w->j, '}');
}

static enum mprof_status put_run(const struct writing *w, int side)
{
	const struct mprof_diff_report_run *run = &w->r->runs[side];
	const struct mprof_coverage *c = side == GOOD ? &w->v->good_coverage : &w->v->bad_coverage;
	enum mprof_status status = MPROF_OK;

	mprof_json_open(w->j, side == GOOD ? "good" : "bad", '{');
	mprof_json_word(w->j, "trace", run->name);
	put_count(w, "threads", side == GOOD ? w->v->good_threads : w->v->bad_threads);
	mprof_json_time(w->j, "first_ns", side == GOOD ? w->v->good_start : w->v->bad_start);
	mprof_json_time(w->j, "last_ns", side == GOOD ? w->v->good_end : w->v->bad_end);
	put_count(w, "lost_packets", run->lost_packets);
	put_hole(w, side, c);
	if (run->explanation && c->hole != MPROF_HOLE_NONE)
		status = answer_put_story(&w->traces[side], w->j, "missing",
					  mprof_explanation_hole(run->explanation, c));
	if (w->j->wall && run->wall_uncertainty_ns == UINT64_MAX)
		mprof_json_null(w->j, "wall_uncertainty_ns");
	else if (w->j->wall)
		mprof_json_time(w->j, "wall_uncertainty_ns", run->wall_uncertainty_ns);
	close_of(w, side);
	return status;
}

/* Write all divergences but the first one, which has a member of its own. */
static void put_partings(const struct writing *w)
{
	mprof_json_open(w->j, "other_partings", '[');
	for (uint32_t i = 0; i < w->v->n_divergences; i++)
		if (i != w->v->first)
			put_divergence(w, NULL, i);
	mprof_json_close(w->j, ']');
}

static void put_left_out(const struct writing *w)
{
	const struct mprof_diff_view *v = w->v;

	mprof_json_open(w->j, "left_out", '{');
	put_count(w, "outcomes", v->all_outcomes - v->n_outcomes);
	put_count(w, "slower", v->all_slower - v->n_slower);
	put_count(w, "lone", v->all_unmatched - v->n_unmatched);
	put_count(w, "counters", v->all_counters - v->n_counters);
	if (w->r->indexed)
		put_count(w, "partings", v->all_divergences - v->n_divergences);
	mprof_json_close(w->j, '}');
}

static enum mprof_status put_head(const struct writing *w)
{
	const struct mprof_diff_view *v = w->v;
	enum mprof_status good, bad;

	if ((has_hole(w, GOOD) || has_hole(w, BAD)) && !v->differs)
		mprof_json_null(w->j, "alike");
	else
		mprof_json_boolean(w->j, "alike", v->alike);
	good = put_run(w, GOOD);
	bad = put_run(w, BAD);
	put_count(w, "counterparts", v->matched);
	put_count(w, "undue", v->not_due);
	put_count(w, "partings", v->all_divergences);
	put_divergence(w, "first_parting", v->first);
	if (w->r->indexed)
		put_partings(w);
	put_count(w, "slower_percent", v->slower_percent);
	mprof_json_time(w->j, "slower_ns", v->slower_ns);
	return good == MPROF_OK ? bad : good;
}

enum mprof_status mprof_diff_write(const struct mprof_diff_report *r, struct mprof_json *j)
{
	struct writing w = {.r = r, .v = mprof_diff_view(r->diff), .j = j};
	enum mprof_status status = MPROF_OK;

	for (int side = GOOD; side <= BAD; side++)
		w.traces[side] = (struct answer_trace){.view = r->runs[side].view,
						       .why = mprof_diff_why(r->diff, side == BAD),
						       .streams = r->runs[side].streams,
						       .explanation = r->runs[side].explanation,
						       .indexed = r->indexed};
	status = put_head(&w);
	mprof_json_open(j, "outcomes", '[');
	for (uint32_t i = 0; i < w.v->n_outcomes; i++)
		put_outcome(&w, &w.v->outcomes[i]);
	mprof_json_close(j, ']');
	mprof_json_open(j, "slower", '[');
	for (uint32_t i = 0; i < w.v->n_slower; i++)
		put_slower(&w, &w.v->slower[i]);
	mprof_json_close(j, ']');
	mprof_json_open(j, "lone", '[');
	for (uint32_t i = 0; i < w.v->n_unmatched && status == MPROF_OK; i++)
		status = put_unmatched(&w, &w.v->unmatched[i]);
	mprof_json_close(j, ']');
	mprof_json_open(j, "counters", '[');
	for (uint32_t i = 0; i < w.v->n_counters; i++)
		put_counter(&w, &w.v->counters[i]);
	mprof_json_close(j, ']');
	put_left_out(&w);
	return status;
}
