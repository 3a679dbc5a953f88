/*
 * Build the JSON answer of the verb `diff`. Its keys are an interface: docs/man/mprofctl.1 lists
 * them.
 */
#include "diff-answer.h"

#include <stdlib.h>
#include <string.h>

#include <mprof/statistics.h>

#include "json-whole.h"
#include "json.h"
#include "thread-json.h"

enum { GOOD, BAD };

struct subject {
	const struct mprof_diff_view *v;
	const struct diff_run *runs;
	const struct mprof_why *why[2];
};

static const struct mprof_model_view *model(const struct subject *s, int side)
{
	return s->runs[side].m->view;
}

static uint64_t since_start(const struct subject *s, int side, uint64_t time)
{
	uint64_t start = side == GOOD ? s->v->good_start : s->v->bad_start;

	return time > start ? time - start : 0;
}

/* Set both times in *OBJECT: TIME as recorded, and TIME since the first event of the run SIDE. */
static void put_times(const struct subject *s, int side, uint64_t time, json_t **object)
{
	json_add_member(object, "time_ns", modeller_time(time));
	json_add_member(object, "since_start_ns", modeller_time(since_start(s, side, time)));
	if (s->runs[side].timing->kind == TIME_WALL)
		json_add_member(object, "wall", timing_json(s->runs[side].timing, time));
}

/* Return THREAD of the run SIDE in its state at the end of the trace, or JSON null. */
static json_t *who(const struct subject *s, int side, uint32_t thread)
{
	return thread_json(s->runs[side].m, s->why[side], thread, UINT64_MAX);
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

static json_t *step_json(const struct subject *subject, int side, uint32_t i)
{
	const struct mprof_diff_step *s;
	json_t *object;

	if (i == MPROF_NONE)
		return json_null();
	s = &subject->v->steps[i];
	object = json_pack("{ss so sb}", "step", step_name(s->kind), "other",
			   thread_json(subject->runs[side].m, subject->why[side], s->other, s->time), "self",
			   s->other == s->thread);
	json_add_member(&object, "label",
			s->kind == MPROF_STEP_LABEL
				? modeller_string(subject->runs[side].m, model(subject, side)->labels[s->label].text)
				: json_null());
	put_times(subject, side, s->time, &object);
	return object;
}

static json_t *steps_json(const struct subject *s, int side, uint32_t from, uint32_t n)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_add_item(&array, step_json(s, side, from + i));
	return array;
}

static json_t *divergence_json(const struct subject *s, uint32_t i)
{
	const struct mprof_diff_divergence *p;
	json_t *good, *bad;

	if (i == MPROF_NONE)
		return json_null();
	p = &s->v->divergences[i];
	good = json_pack("{so so so so}", "thread", who(s, GOOD, p->good), "common", step_json(s, GOOD, p->good_common),
			 "next", steps_json(s, GOOD, p->good_next, p->good_n), "later",
			 step_json(s, GOOD, p->good_later));
	bad = json_pack("{so so so so}", "thread", who(s, BAD, p->bad), "common", step_json(s, BAD, p->bad_common),
			"next", steps_json(s, BAD, p->bad_next, p->bad_n), "later", step_json(s, BAD, p->bad_later));
	return json_pack("{so so so}", "since_start_ns", modeller_time(p->ns), "good", good, "bad", bad);
}

static const char *outcome_name(uint32_t kind)
{
	static const char *const names[] = {
		[MPROF_DIFF_BAD_WAITS] = "bad-waits",
		[MPROF_DIFF_BAD_FAILS] = "bad-fails",
		[MPROF_DIFF_GOOD_WAITS] = "good-waits",
		[MPROF_DIFF_GOOD_FAILS] = "good-fails",
	};

	return names[kind];
}

/* Return how THREAD ended, or JSON null if the thread did not end or is MPROF_NONE. */
static json_t *end_json(const struct subject *s, int side, uint32_t thread)
{
	const struct mprof_thread *it;
	json_t *object;

	if (thread == MPROF_NONE)
		return json_null();
	it = &model(s, side)->threads[mprof_why_final(s->why[side], thread)];
	if (!(it->flags & MPROF_THREAD_RESOLVED))
		return json_null();
	object = json_pack("{so so}", "by", thread_json(s->runs[side].m, s->why[side], it->resolver, it->end),
			   "failure", modeller_string(s->runs[side].m, it->failure));
	put_times(s, side, it->end, &object);
	return object;
}

/* Return THREAD with its creation, its duration NS and its end, or JSON null. */
static json_t *life_json(const struct subject *s, int side, uint32_t thread, uint64_t ns)
{
	json_t *object = who(s, side, thread);

	if (json_is_null(object))
		return object;
	put_times(s, side, model(s, side)->threads[thread].created, &object);
	json_add_member(&object, "lasted_ns", modeller_time(ns));
	json_add_member(&object, "end", end_json(s, side, thread));
	json_add_member(&object, "should_resolve",
			json_boolean(model(s, side)->threads[thread].flags & MPROF_THREAD_SHOULD_RESOLVE));
	return object;
}

/* Return interaction I, a signal that no thread waited for, or JSON null if I is MPROF_NONE. */
static json_t *lost_json(const struct subject *s, int side, uint32_t i)
{
	const struct mprof_interaction *it;
	json_t *object;

	if (i == MPROF_NONE)
		return json_null();
	it = &model(s, side)->interactions[i];
	object = json_pack("{so}", "by", thread_json(s->runs[side].m, s->why[side], it->thread, it->time));
	put_times(s, side, it->time, &object);
	return object;
}

static json_t *outcome_json(const struct subject *s, const struct mprof_diff_outcome *o)
{
	int side = o->kind == MPROF_DIFF_BAD_WAITS || o->kind == MPROF_DIFF_BAD_FAILS ? BAD : GOOD;
	json_t *object = json_pack("{ss so so sI sI}", "outcome", outcome_name(o->kind), "good",
				   life_json(s, GOOD, o->good, o->good_ns), "bad", life_json(s, BAD, o->bad, o->bad_ns),
				   "threads", (json_int_t)o->threads, "should_resolve", (json_int_t)o->should_resolve);

	json_add_member(&object, "root", life_json(s, side, o->root, 0));
	json_object_del(json_object_get(object, "root"), "lasted_ns");
	json_add_member(&object, "root_counterpart", life_json(s, !side, o->root_match, 0));
	json_object_del(json_object_get(object, "root_counterpart"), "lasted_ns");
	json_add_member(&object, "condition", who(s, side, o->condition));
	json_add_member(&object, "missed", lost_json(s, side, o->lost_signal));
	json_add_member(&object, "parting", divergence_json(s, o->divergence));
	return object;
}

static json_t *outcomes_json(const struct subject *s)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < s->v->n_outcomes; i++)
		json_add_item(&array, outcome_json(s, &s->v->outcomes[i]));
	return array;
}

static json_t *slower_json(const struct subject *subject)
{
	json_t *array = json_array(), *object;

	for (uint32_t i = 0; i < subject->v->n_slower; i++) {
		const struct mprof_diff_slower *s = &subject->v->slower[i];

		object = json_pack("{so so sI}", "good", life_json(subject, GOOD, s->good, s->good_ns), "bad",
				   life_json(subject, BAD, s->bad, s->bad_ns), "followers", (json_int_t)s->followers);
		json_add_item(&array, object);
	}
	return array;
}

/*
 * Return the first label of THREAD. SEVERAL: the label stands for several labels that differ only
 * in their numbers, so write each number as `#`.
 */
static json_t *first_label(const struct subject *s, int side, uint32_t thread, bool several)
{
	uint32_t label = mprof_why_label(s->why[side], thread, 0), n = 0;
	const struct mprof_string *string;
	const char *text;
	json_t *json = NULL;
	char *shape;

	if (label == MPROF_NONE || !several)
		return modeller_string(s->runs[side].m,
				       label == MPROF_NONE ? MPROF_NONE : model(s, side)->labels[label].text);
	string = &model(s, side)->strings[model(s, side)->labels[label].text];
	text = string->bytes ? model(s, side)->text + string->offset : "";
	shape = malloc((size_t)string->bytes + 1);
	for (uint32_t i = 0; shape && i < string->bytes; i++) {
		if (text[i] < '0' || text[i] > '9')
			shape[n++] = text[i];
		else if (!n || shape[n - 1] != '#')
			shape[n++] = '#';
	}
	if (shape)
		json = text_json(shape, n);
	free(shape);
	return json;
}

static json_t *unmatched_json(const struct subject *s)
{
	json_t *array = json_array(), *object;

	for (uint32_t i = 0; i < s->v->n_unmatched; i++) {
		const struct mprof_diff_unmatched *l = &s->v->unmatched[i];
		int side = l->good == MPROF_NONE ? BAD : GOOD;
		uint32_t thread = side == GOOD ? l->good : l->bad;

		object = json_pack("{ss so sI sI so so}", "type",
				   mprof_thread_type_name(model(s, side)->threads[thread].type), "label",
				   first_label(s, side, thread, l->good_n + l->bad_n > 1), "good",
				   (json_int_t)l->good_n, "bad", (json_int_t)l->bad_n, "first_good",
				   life_json(s, GOOD, l->good, 0), "first_bad", life_json(s, BAD, l->bad, 0));
		json_object_del(json_object_get(object, "first_good"), "lasted_ns");
		json_object_del(json_object_get(object, "first_bad"), "lasted_ns");
		json_add_item(&array, object);
	}
	return array;
}

static json_t *counter_json(const struct subject *s, int side, uint32_t i)
{
	const struct mprof_counter *c;
	const char *kind;
	json_t *object;

	if (i == MPROF_NONE)
		return json_null();
	c = &model(s, side)->counters[i];
	kind = mprof_counter_kind_name(c->kind);
	object = json_pack("{sI sI sI so}", "last", (json_int_t)model(s, side)->samples[c->last].value, "max",
			   (json_int_t)c->max, "samples", (json_int_t)c->samples, "kind",
			   kind ? json_string(kind) : json_null());
	if (c->kind == MPROF_COUNTER_AMOUNT)
		json_add_member(&object, "sum", json_integer((json_int_t)c->sum));
	return object;
}

static json_t *counters_json(const struct subject *s)
{
	json_t *array = json_array(), *object;

	for (uint32_t i = 0; i < s->v->n_counters; i++) {
		const struct mprof_diff_counter *c = &s->v->counters[i];
		int side = c->good == MPROF_NONE ? BAD : GOOD;
		const struct mprof_counter *some = &model(s, side)->counters[side == GOOD ? c->good : c->bad];
		const struct modeller *m = s->runs[side].m;

		object = json_pack("{so so so}", "counter", modeller_string(m, some->name), "good",
				   counter_json(s, GOOD, c->good), "bad", counter_json(s, BAD, c->bad));
		if (m->names)
			json_add_member(&object, "stream",
					text_json(m->names[some->stream], strlen(m->names[some->stream])));
		json_add_item(&array, object);
	}
	return array;
}

static json_t *run_json(const struct subject *s, int side)
{
	uint64_t start = side == GOOD ? s->v->good_start : s->v->bad_start;
	uint64_t end = side == GOOD ? s->v->good_end : s->v->bad_end;
	uint32_t threads = side == GOOD ? s->v->good_threads : s->v->bad_threads;

	json_t *object =
		json_pack("{so sI so so sI}", "trace", text_json(s->runs[side].name, strlen(s->runs[side].name)),
			  "threads", (json_int_t)threads, "first_ns", modeller_time(start), "last_ns",
			  modeller_time(end), "lost_packets", (json_int_t)s->runs[side].lost_packets);

	if (timing_json_walls(s->runs[side].timing, object))
		timing_json_uncertainty(s->runs[side].timing, &object);
	else
		object = (json_decref(object), NULL);
	return object;
}

static void put_left_out(json_t **object, const char *key, uint32_t all, uint32_t listed)
{
	json_add_member(object, key, json_integer((json_int_t)all - listed));
}

json_t *diff_json(const struct mprof_diff *d, const struct diff_run runs[2])
{
	const struct mprof_diff_view *v = mprof_diff_view(d);
	const struct subject t = {.v = v, .runs = runs, .why = {mprof_diff_why(d, false), mprof_diff_why(d, true)}};
	json_t *left_out = json_object();
	json_t *object =
		json_pack("{sb so so sI sI sI so}", "alike", (int)v->alike, "good", run_json(&t, GOOD), "bad",
			  run_json(&t, BAD), "counterparts", (json_int_t)v->matched, "undue", (json_int_t)v->not_due,
			  "partings", (json_int_t)v->all_divergences, "first_parting", divergence_json(&t, v->first));

	if (!object) {
		json_decref(left_out);
		return NULL;
	}
	json_add_member(&object, "slower_percent", json_integer((json_int_t)v->slower_percent));
	json_add_member(&object, "slower_ns", modeller_time(v->slower_ns));
	json_add_member(&object, "outcomes", outcomes_json(&t));
	json_add_member(&object, "slower", slower_json(&t));
	json_add_member(&object, "lone", unmatched_json(&t));
	json_add_member(&object, "counters", counters_json(&t));
	put_left_out(&left_out, "outcomes", v->all_outcomes, v->n_outcomes);
	put_left_out(&left_out, "slower", v->all_slower, v->n_slower);
	put_left_out(&left_out, "lone", v->all_unmatched, v->n_unmatched);
	put_left_out(&left_out, "counters", v->all_counters, v->n_counters);
	json_add_member(&object, "left_out", left_out);
	return object;
}
