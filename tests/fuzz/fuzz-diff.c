/*
 * Fuzz the comparison of two runs with any events. The first byte says how many streams there are,
 * and whether the second run begins with the events of the first. The second byte says where the
 * first run's events end. The result must be consistent: if A matches B, B matches A; each index is
 * valid; numbers add up; the number of steps is proportional to the input. A run that is compared
 * with itself has no differences.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/diff-report.h>

#include "fuzz-input.h"

static void event(struct input *in, struct mprof_raw_event *e)
{
	static const char *const texts[] = {"__should_resolve", "a", "a#1", "b", "", "tcp-to-ip", "\xff"};
	uint8_t kind = take(in);

	*e = (struct mprof_raw_event){.id = kind % MPROF_EVENT_IDS};
	in->time += kind / 32 * (uint64_t)(kind / 32);
	e->timestamp = kind == 255 ? take(in) : in->time;
	e->context = take(in) % 40 - 1;
	if (e->id != MPROF_EVENT_switch && e->id != MPROF_EVENT_label)
		e->number = take(in) % 40 - 1;
	if (e->id == MPROF_EVENT_creates)
		e->type = (uint8_t)(take(in) % 22);
	if (e->id == MPROF_EVENT_label || e->id == MPROF_EVENT_fails || e->id == MPROF_EVENT_increase ||
	    e->id == MPROF_EVENT_counter) {
		e->text = texts[take(in) % (sizeof(texts) / sizeof(texts[0]))];
		e->text_bytes = strlen(e->text);
	}
}

static void read_events(struct mprof_model *m, const uint8_t *p, size_t n, uint32_t streams)
{
	struct input in = {p, n, 1000};
	struct mprof_raw_event e;

	while (in.left) {
		uint32_t s = streams > 1 ? take(&in) % streams : 0;

		event(&in, &e);
		require(mprof_model_add(m, s, &e) == MPROF_OK);
	}
}

static struct mprof_model *model(uint32_t streams)
{
	struct mprof_model *m = mprof_model_new(&(struct mprof_model_options){.seed = 1});
	uint32_t i, stream;

	require(m != NULL);
	for (i = 0; i < streams; i++)
		require(mprof_model_stream(m, &(struct mprof_model_source){.guest = i}, &stream) == MPROF_OK);
	return m;
}

static void check_matches(const struct mprof_diff_view *v, const struct mprof_model_view *good,
			  const struct mprof_model_view *bad)
{
	uint32_t i, n = 0, k = 0;

	for (i = 0; i < good->n_threads; i++) {
		if (v->good_match[i] == MPROF_NONE)
			continue;
		require(v->good_match[i] < bad->n_threads && v->bad_match[v->good_match[i]] == i);
		n += !(good->threads[i].flags & MPROF_THREAD_ROOT);
	}
	for (i = 0; i < bad->n_threads; i++)
		k += v->bad_match[i] != MPROF_NONE && !(bad->threads[i].flags & MPROF_THREAD_ROOT);
	require(n == k && n == v->matched);
	require(v->good_threads + good->n_streams == good->n_threads);
	require(v->work < 2000 + 300 * ((uint64_t)good->n_threads + bad->n_threads + good->n_interactions));
}

static void check_step(const struct mprof_diff_step *s, const struct mprof_model_view *m, uint32_t thread)
{
	require(s->kind < MPROF_STEP_KINDS && s->thread == thread);
	require((s->kind == MPROF_STEP_LABEL) == (s->other == MPROF_NONE));
	require(s->other == MPROF_NONE || s->other < m->n_threads);
	require(s->label == MPROF_NONE ? s->kind != MPROF_STEP_LABEL : s->label < m->n_labels);
}

static void check_steps(const struct mprof_diff_view *v, const struct mprof_model_view *m, uint32_t thread,
			uint32_t common, uint32_t next, uint32_t n, uint32_t later)
{
	uint32_t i;

	require(thread < m->n_threads && n <= MPROF_DIFF_STEPS_MAX && next + n <= v->n_steps);
	for (i = 0; i < n; i++)
		check_step(&v->steps[next + i], m, thread);
	require(common == MPROF_NONE || common < v->n_steps);
	if (common != MPROF_NONE)
		check_step(&v->steps[common], m, thread);
	if (later != MPROF_NONE)
		check_step(&v->steps[later], m, thread);
}

static void check_divergences(const struct mprof_diff_view *v, const struct mprof_model_view *good,
			      const struct mprof_model_view *bad)
{
	uint32_t i;

	require(v->first == MPROF_NONE ? !v->all_divergences : v->first < v->n_divergences);
	for (i = 0; i < v->n_divergences; i++) {
		const struct mprof_diff_divergence *p = &v->divergences[i];

		require(v->good_match[p->good] == p->bad && p->good_n + p->bad_n > 0);
		require((p->good_common == MPROF_NONE) == (p->bad_common == MPROF_NONE));
		check_steps(v, good, p->good, p->good_common, p->good_next, p->good_n, p->good_later);
		check_steps(v, bad, p->bad, p->bad_common, p->bad_next, p->bad_n, p->bad_later);
	}
}

static void check_outcomes(const struct mprof_diff_view *v, const struct mprof_model_view *good,
			   const struct mprof_model_view *bad)
{
	uint32_t i;

	for (i = 0; i < v->n_outcomes; i++) {
		const struct mprof_diff_outcome *o = &v->outcomes[i];
		bool in_bad = o->kind <= MPROF_DIFF_BAD_FAILS;
		const struct mprof_model_view *m = in_bad ? bad : good;

		require(o->good == MPROF_NONE ? o->bad < bad->n_threads : o->good < good->n_threads);
		require((in_bad ? o->bad : o->good) != MPROF_NONE && o->threads && o->should_resolve <= o->threads);
		require(o->root == MPROF_NONE || o->root < m->n_threads);
		require(o->condition == MPROF_NONE || o->condition < m->n_threads);
		require(o->lost_signal == MPROF_NONE || o->lost_signal < m->n_interactions);
		require(o->divergence == MPROF_NONE || o->divergence < v->n_divergences);
	}
}

static void check_rest(const struct mprof_diff_view *v, const struct mprof_model_view *good,
		       const struct mprof_model_view *bad)
{
	uint64_t unmatched = 0;
	uint32_t i;

	for (i = 0; i < v->n_slower; i++)
		require(v->good_match[v->slower[i].good] == v->slower[i].bad &&
			v->slower[i].bad_ns > v->slower[i].good_ns);
	for (i = 0; i < v->n_unmatched; i++) {
		require(v->unmatched[i].good != MPROF_NONE || v->unmatched[i].bad != MPROF_NONE);
		require((v->unmatched[i].good == MPROF_NONE) == !v->unmatched[i].good_n);
		unmatched += v->unmatched[i].good_n + v->unmatched[i].bad_n;
	}
	if (v->n_unmatched == v->all_unmatched)
		require(unmatched == (uint64_t)v->good_threads + v->bad_threads - 2 * (uint64_t)v->matched);
	for (i = 0; i < v->n_counters; i++)
		require(v->counters[i].good == MPROF_NONE ? v->counters[i].bad < bad->n_counters
							  : v->counters[i].good < good->n_counters);
}

/* The last byte of an answer. */
static void put(void *context, const char *text, size_t n)
{
	*(char *)context = text[n - 1];
}

static void check_report(const struct mprof_diff *d, const struct mprof_model_view *good,
			 const struct mprof_model_view *bad)
{
	char *const streams[] = {(char *)"one", (char *)"two", (char *)"three"};

	for (int indexed = 0; indexed < 2; indexed++) {
		struct mprof_diff_report r = {.diff = d, .runs = {{.view = good}, {.view = bad}}, .indexed = indexed};
		char last = 0;
		struct mprof_json j = {.put = put, .context = &last, .shown = indexed};

		if (good->n_streams <= 3 && bad->n_streams <= 3)
			r.runs[0].streams = r.runs[1].streams = streams;
		mprof_json_open(&j, NULL, '{');
		require(mprof_diff_write(&r, &j) == MPROF_OK);
		mprof_json_close(&j, '}');
		require(last == '}' && j.depth == 0);
	}
}

static void check(struct mprof_model *good, struct mprof_model *bad, const struct mprof_diff_options *options)
{
	const struct mprof_model_view *g = mprof_model_view(good), *b = mprof_model_view(bad);
	struct mprof_diff *d = mprof_diff_new(g, b, options);
	const struct mprof_diff_view *v;

	require(d != NULL);
	v = mprof_diff_view(d);
	check_matches(v, g, b);
	check_divergences(v, g, b);
	check_outcomes(v, g, b);
	check_rest(v, g, b);
	if (good == bad)
		require(v->alike && !v->n_slower && v->first == MPROF_NONE);
	check_report(d, g, b);
	mprof_diff_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t streams = 1 + (size > 0 ? data[0] % 3 : 0);
	size_t left = size > 2 ? size - 2 : 0, cut = left ? data[1] * left / 255 : 0;
	const uint8_t *events = data + (size - left);
	struct mprof_model *good = model(streams), *bad = model(streams);

	read_events(good, events, cut, streams);
	if (size && data[0] & 0x80)
		read_events(bad, events, left, streams);
	else
		read_events(bad, events + cut, left - cut, streams);
	require(mprof_model_finish(good) == MPROF_OK && mprof_model_finish(bad) == MPROF_OK);
	check(good, bad, &(struct mprof_diff_options){.seed = 5, .slower_percent = 101, .slower_ns = 1});
	check(good, good, NULL);
	check(bad, bad, &(struct mprof_diff_options){.results_max = 1, .slower_percent = 101, .slower_ns = 1});
	mprof_model_free(good);
	mprof_model_free(bad);
	return 0;
}
