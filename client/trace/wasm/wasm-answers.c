/* The answers of libmprof as JSON texts, for client/viewer/worker. */
#include <stdlib.h>
#include <string.h>

#include <mprof/area-report.h>
#include <mprof/diff-report.h>
#include <mprof/hotspots-report.h>
#include <mprof/leaks-report.h>
#include <mprof/profile-report.h>
#include <mprof/statistics-report.h>
#include <mprof/threads-report.h>
#include <mprof/why-report.h>

#include "answer-json.h"
#include "coverage-index.h"
#include "thread-label.h"
#include "wasm.h"

/* A text that grows. */
struct growing {
	char *text; /* owned */
	size_t n, room;
	bool failed;
};

static void put(void *context, const char *text, size_t n)
{
	struct growing *g = context;
	size_t room = g->room ? g->room : 4096;
	char *more;

	while (room - g->n < n)
		room *= 2;
	more = g->failed ? NULL : room == g->room ? g->text : realloc(g->text, room);
	if (!more) {
		g->failed = true;
		return;
	}
	g->text = more;
	g->room = room;
	memcpy(g->text + g->n, text, n);
	g->n += n;
}

/* Return the text of G, terminated, or NULL if the memory was not enough or STATUS is not MPROF_OK. */
static char *taken(struct growing *g, enum mprof_status status)
{
	put(g, "", 1);
	if (!g->failed && status == MPROF_OK)
		return g->text;
	free(g->text);
	return NULL;
}

/* Sum up in R what the loader counted. */
static void add_counts(const struct loader *l, struct mprof_why_report *r)
{
	struct loader_counts counts;

	for (uint32_t i = 0; i < r->view->n_streams; i++) {
		loader_counts(l, i, &counts);
		r->lost_packets += counts.lost_packets;
		r->damages += counts.damages;
		r->unproven_events += counts.unproven;
	}
	for (uint32_t i = 0; i < r->view->n_expectations; i++)
		r->should_resolve += !(r->view->threads[r->view->expectations[i].final].flags & MPROF_THREAD_ROOT);
}

char *wasm_why(const struct loader *l, const struct mprof_why *why, const struct mprof_waits *waits,
	       struct mprof_explanation *explanation, char *const *streams, uint32_t thread)
{
	const struct mprof_waits_group named = {.thread = thread};
	struct mprof_why_report r = {
		.view = mprof_model_view(loader_model(l)),
		.why = why,
		.waits = waits,
		.streams = streams,
		.explanation = explanation,
		.asked = &named,
	};
	struct growing text = {0};
	struct mprof_json j = {.put = put, .context = &text, .shown = true};
	enum mprof_status status;
	uint32_t all, shown;

	if (waits) {
		r.asked = mprof_waits_groups(waits, &all);
		shown = mprof_waits_shown(waits);
		r.n = shown < MPROF_WHY_ANSWERS_MAX ? shown : MPROF_WHY_ANSWERS_MAX;
		r.left_out = shown - r.n;
	} else {
		r.n = thread < r.view->n_threads;
	}
	add_counts(l, &r);
	mprof_json_open(&j, NULL, '{');
	status = mprof_why_write(&r, &j);
	mprof_json_close(&j, '}');
	return taken(&text, status);
}

struct mprof_threads *wasm_threads(const struct mprof_model_view *view, const struct mprof_why *why,
				   char *const *streams)
{
	return mprof_threads_new(view,
				 &(struct mprof_threads_options){.why = why, .streams = streams, .to = UINT64_MAX});
}

char *wasm_thread(const struct mprof_threads *threads, struct mprof_explanation *explanation, uint32_t thread)
{
	struct growing text = {0};
	struct mprof_json j = {.put = put, .context = &text, .shown = true};
	enum mprof_status status;

	mprof_json_open(&j, NULL, '{');
	status = mprof_threads_write_one(threads, thread, explanation, &j);
	mprof_json_close(&j, '}');
	return taken(&text, status);
}

static struct mprof_diff_report_run run_of(const struct loader *l, char *const *streams,
					   struct mprof_explanation *explanation)
{
	struct mprof_diff_report_run run = {
		.view = mprof_model_view(loader_model(l)), .streams = streams, .explanation = explanation};
	struct loader_counts counts;

	for (uint32_t i = 0; i < run.view->n_streams; i++) {
		loader_counts(l, i, &counts);
		run.lost_packets += counts.lost_packets;
	}
	return run;
}

char *wasm_diff_answer(const struct mprof_diff *d, const struct loader *good, char *const *good_streams,
		       struct mprof_explanation *good_explanation, const struct loader *bad, char *const *bad_streams,
		       struct mprof_explanation *bad_explanation)
{
	const struct mprof_diff_report r = {
		.diff = d,
		.runs = {run_of(good, good_streams, good_explanation), run_of(bad, bad_streams, bad_explanation)},
		.indexed = true};
	struct growing text = {0};
	struct mprof_json j = {.put = put, .context = &text, .shown = true};
	enum mprof_status status;

	mprof_json_open(&j, NULL, '{');
	status = mprof_diff_write(&r, &j);
	mprof_json_close(&j, '}');
	return taken(&text, status);
}

struct mprof_area *wasm_area(const struct mprof_model_view *view, uint64_t from, uint64_t to, uint32_t first_row,
			     uint32_t last_row)
{
	return mprof_area_new(view, &(struct mprof_area_place){from, to, first_row, last_row});
}

char *wasm_area_groups(const struct mprof_model_view *view, struct mprof_area *area,
		       struct mprof_explanation *explanation, char *const *streams, enum mprof_area_key key,
		       bool descending, const char *words, uint32_t bytes, uint32_t most)
{
	const struct mprof_area_report r = {view, area, streams, explanation, words, bytes, key, descending, most};
	struct growing text = {0};
	struct mprof_json j = {.put = put, .context = &text, .shown = true};
	enum mprof_status status;

	mprof_json_open(&j, NULL, '{');
	status = mprof_area_write(&r, &j);
	mprof_json_close(&j, '}');
	return taken(&text, status);
}

char *wasm_area_threads(const struct mprof_model_view *view, struct mprof_area *area, uint32_t group)
{
	const struct mprof_area_report r = {.view = view, .area = area};
	struct growing text = {0};
	struct mprof_json j = {.put = put, .context = &text, .shown = true};

	mprof_json_open(&j, NULL, '{');
	mprof_area_write_threads(&r, group, &j);
	mprof_json_close(&j, '}');
	return taken(&text, MPROF_OK);
}

#define COUNTERS_MAX	   65536u /* most counters of a trace that are sent to the page */
#define SHOULD_RESOLVE_MAX 1000u

/* The numbers of a range of time of a trace, and the lists of their report. */
struct numbers {
	const struct mprof_model_view *view;
	char *const *streams; /* NULL of a single one */
	struct mprof_statistics *statistics;
	struct mprof_statistics_report_counter *counters;
	struct mprof_statistics_report_thread *threads;
	uint32_t n_threads;
	struct coverage_index coverage;
};

static void numbers_deinit(struct numbers *n)
{
	mprof_statistics_free(n->statistics);
	free(n->counters);
	free(n->threads);
	coverage_index_deinit(&n->coverage);
}

static void add_counters(struct numbers *n, struct mprof_statistics_report *r)
{
	const struct mprof_statistics_counter *ranges = mprof_statistics_counters(n->statistics);
	uint32_t most = n->view->n_counters < COUNTERS_MAX ? n->view->n_counters : COUNTERS_MAX;

	for (uint32_t i = 0; i < most; i++) {
		const struct mprof_counter *c = &n->view->counters[i];
		struct mprof_statistics_report_counter *to = &n->counters[r->n_counters];

		if (!ranges[i].samples)
			continue;
		to->of = n->streams ? n->streams[c->stream] : NULL;
		to->name = answer_bytes_of(n->view, c->name, &to->name_bytes);
		to->range = ranges[i];
		to->kind = c->kind;
		r->n_counters++;
	}
	r->counters = n->counters;
}

/* Add THREAD of the view to the lists of N, with LABEL, a string or MPROF_NONE. */
static struct mprof_statistics_report_thread *add_thread(struct numbers *n, uint32_t thread, uint32_t label)
{
	struct mprof_statistics_report_thread *to = &n->threads[n->n_threads++];
	const struct mprof_thread *it = &n->view->threads[thread];

	to->id = it->id;
	to->of = n->streams ? n->streams[it->stream] : NULL;
	to->label = answer_bytes_of(n->view, label, &to->label_bytes);
	to->type = it->type;
	to->index = thread;
	return to;
}

static void add_busiest(struct numbers *n, struct mprof_statistics_report *r)
{
	const struct mprof_statistics_thread *list = mprof_statistics_busiest(n->statistics);

	r->busiest = n->threads + n->n_threads;
	for (; r->n_busiest < r->all.busiest; r->n_busiest++)
		add_thread(n, list[r->n_busiest].thread, list[r->n_busiest].label)->running_ns =
			list[r->n_busiest].running_ns;
}

/* Return whether the resolution of THREAD may be missing from the trace. */
static bool may_be_resolved(const struct numbers *n, uint32_t thread)
{
	struct mprof_coverage coverage;

	coverage_unresolved(n->view, &n->coverage, thread, UINT64_MAX, &coverage);
	return coverage.hole != MPROF_HOLE_NONE;
}

static void add_should_resolve(struct numbers *n, struct mprof_statistics_report *r)
{
	r->should_resolve = n->threads + n->n_threads;
	for (uint32_t i = 0; i < n->view->n_expectations && i < SHOULD_RESOLVE_MAX; i++) {
		const struct mprof_expectation *e = &n->view->expectations[i];
		uint32_t label = thread_label(n->view, e->thread);
		struct mprof_statistics_report_thread *to =
			add_thread(n, e->thread, label != MPROF_NONE ? label : thread_label(n->view, e->final));

		to->index = e->final;
		to->resolved = n->view->threads[e->final].flags & MPROF_THREAD_RESOLVED;
		to->unsure = !to->resolved && may_be_resolved(n, e->final);
		r->n_should_resolve++;
	}
}

/* Sum up in R what the loader counted. If the range is the WHOLE trace, the numbers of events are exact, too. */
static void add_totals(const struct loader *l, struct mprof_statistics_report *r, uint32_t streams, bool whole)
{
	if (whole)
		memset(r->all.events_by_type, 0, sizeof(r->all.events_by_type));
	for (uint32_t i = 0; i < streams; i++) {
		struct loader_counts c;

		loader_counts(l, i, &c);
		r->bytes += c.bytes;
		r->packets += c.packets;
		r->lost_packets += c.lost_packets;
		r->damages += c.damages;
		r->unknown_texts += c.unknown_texts;
		r->skipped_extras += c.skipped_extras;
		r->unproven_events += c.unproven;
		r->clock_back_ns = c.step_ns > r->clock_back_ns ? c.step_ns : r->clock_back_ns;
		for (size_t id = 0; whole && id < MPROF_EVENT_IDS; id++)
			r->all.events_by_type[id] += c.events_by_type[id];
	}
}

/* Return whether the range from FROM to TO holds the whole trace. */
static bool holds_all(const struct mprof_model_view *v, uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < v->n_streams; i++)
		if (v->streams[i].events && (v->streams[i].start < from || v->streams[i].end > to))
			return false;
	return true;
}

char *wasm_statistics(const struct loader *l, char *const *streams, uint64_t from, uint64_t to)
{
	struct numbers n = {.view = mprof_model_view(loader_model(l)), .streams = streams};
	struct mprof_statistics_report r = {.several = n.view->n_streams > 1, .indexed = true};
	struct growing text = {0};
	struct mprof_json j = {.put = put, .context = &text, .shown = true};

	n.statistics = mprof_statistics_new(n.view, from, to);
	n.counters = calloc((size_t)n.view->n_counters + 1, sizeof(*n.counters));
	n.threads = calloc(MPROF_STATISTICS_BUSIEST + SHOULD_RESOLVE_MAX, sizeof(*n.threads));
	if (!n.statistics || !n.counters || !n.threads || !coverage_index_init(&n.coverage, n.view)) {
		numbers_deinit(&n);
		return NULL;
	}
	r.all = *mprof_statistics_totals(n.statistics);
	add_totals(l, &r, n.view->n_streams, holds_all(n.view, from, to));
	add_counters(&n, &r);
	add_busiest(&n, &r);
	add_should_resolve(&n, &r);
	mprof_json_open(&j, NULL, '{');
	mprof_statistics_write(&r, &j);
	mprof_json_close(&j, '}');
	numbers_deinit(&n);
	return taken(&text, MPROF_OK);
}

char *wasm_hotspots(const struct scan *s, enum mprof_weight weight)
{
	struct mprof_hotspots *hotspots = mprof_hotspots_new(scan_profile(s), scan_decoder(s), weight);
	const struct mprof_hotspots_report r = {scan_profile(s), scan_decoder(s), hotspots, weight, true};
	struct growing text = {0};
	struct mprof_json j = {.put = put, .context = &text, .shown = true};

	if (!hotspots)
		return NULL;
	mprof_json_open(&j, NULL, '{');
	mprof_hotspots_write(&r, &j);
	mprof_json_close(&j, '}');
	mprof_hotspots_free(hotspots);
	return taken(&text, MPROF_OK);
}

char *wasm_profile(const struct scan *all, const struct scan *base, bool chosen)
{
	const struct mprof_profile_report r = {.profile = scan_profile(all),
					       .mem = scan_decoder(all),
					       .totals = *mprof_mem_totals(scan_decoder(base)),
					       .recording = chosen};
	struct growing text = {0};
	struct mprof_json j = {.put = put, .context = &text, .shown = true};

	mprof_json_open(&j, NULL, '{');
	mprof_profile_write(&r, &j);
	mprof_json_close(&j, '}');
	return taken(&text, MPROF_OK);
}

char *wasm_leaks(const struct scan *s)
{
	struct mprof_profile *profile = scan_profile(s);
	uint64_t start = scan_start(s), last = mprof_profile_sums(profile)->last_us;
	struct mprof_leaks *leaks = mprof_leaks_new(profile, scan_decoder(s), start, last);
	uint32_t n;
	const struct mprof_leaks_report r = {.profile = profile,
					     .nodes = mprof_profile_nodes(profile, &n),
					     .mem = scan_decoder(s),
					     .leaks = leaks,
					     .length_us = last > start ? last - start : 0,
					     .page = true};
	struct growing text = {0};
	struct mprof_json j = {.put = put, .context = &text, .shown = true};

	if (leaks && r.nodes) {
		mprof_json_open(&j, NULL, '{');
		mprof_leaks_write(&r, &j);
		mprof_json_close(&j, '}');
	}
	mprof_leaks_free(leaks);
	return leaks && r.nodes ? taken(&text, MPROF_OK) : NULL;
}
