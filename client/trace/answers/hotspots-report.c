/* Write the answer of `mem hotspots` as JSON. Its keys are an interface: schema/answers/hotspots.json and docs/man/mprofctl.1 list them. */
#include <mprof/hotspots-report.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer-json.h"
#include "memory-json.h"

/* Limits of mprof_hotspots_explains(), shares of all samples and of the caller's. */
#define SHARE_MIN   0.005
#define PART_MIN    0.10
#define PART_FACTOR 1.2

/* A report whose JSON is written. */
struct written {
	const struct mprof_hotspots_report *report;
	struct mprof_hotspots_totals totals;
	const struct mprof_hotspot *list;
	const struct mprof_hotspot_caller *callers;
	uint32_t listed; /* functions of LIST that the answer has */
	double scale;	 /* bytes per sample */
};

struct mprof_hotspots_totals mprof_hotspots_totals(const struct mprof_hotspots_report *r)
{
	const struct mprof_profile_sums *s = mprof_profile_sums(r->profile);
	const struct mprof_mem_info *info = mprof_mem_info(r->mem);
	struct mprof_hotspots_totals t = {.samples = memory_all(s->samples), .objects = memory_all(s->allocs)};
	const struct mprof_hotspot *list;
	uint32_t n;

	if (r->weight == MPROF_WEIGHT_LIVE) {
		t.samples = s->live;
		t.objects = s->live_objects;
	} else if (r->weight == MPROF_WEIGHT_PEAK) {
		t.samples = s->peak;
		t.objects = s->peak_objects;
	}
	if (s->peak && info && s->peak_us > info->start_us)
		t.peak_us = s->peak_us - info->start_us;
	list = mprof_hotspots_list(r->hotspots, &n);
	while (t.functions < n && list[t.functions].self)
		t.functions++;
	return t;
}

bool mprof_hotspots_explains(const struct mprof_hotspots_report *r, const struct mprof_hotspots_totals *totals,
			     const struct mprof_hotspot_caller *caller)
{
	uint32_t n;
	const struct mprof_hotspot *list = mprof_hotspots_list(r->hotspots, &n);
	double all = (double)totals->samples, samples = (double)caller->samples;
	double of = (double)list[caller->caller].total;

	return samples / of > fmax(PART_MIN, PART_FACTOR * (double)list[caller->callee].self / all) &&
	       samples > SHARE_MIN * all && of > SHARE_MIN * all;
}

/* Write SAMPLES as the member KEY, and their bytes as BYTES. */
static void put_amount(const struct written *w, struct mprof_json *j, const char *key, const char *bytes,
		       uint64_t samples)
{
	answer_put_count(j, key, samples);
	mprof_json_real(j, bytes, (double)samples * w->scale);
}

static void put_function(const struct written *w, struct mprof_json *j, const struct mprof_hotspot *spot)
{
	struct mprof_frame frame;

	mprof_hotspot_frame(w->report->mem, spot, &frame);
	memory_put_function(j, &frame);
}

static void put_caller(const struct written *w, struct mprof_json *j, const struct mprof_hotspot_caller *caller)
{
	mprof_json_open(j, NULL, '{');
	if (w->report->indexed) {
		mprof_json_number(j, "index", caller->caller);
		mprof_json_real(j, "direct_bytes", (double)caller->direct * w->scale);
	} else {
		put_function(w, j, &w->list[caller->caller]);
	}
	put_amount(w, j, "samples", "samples_bytes", caller->samples);
	mprof_json_real(j, "share", memory_share(caller->samples, w->list[caller->caller].total));
	mprof_json_boolean(j, "telling", mprof_hotspots_explains(w->report, &w->totals, caller));
	mprof_json_close(j, '}');
}

/* Write the callers of SPOT that a page shows: more direct samples first, then more samples. */
static void put_page_callers(const struct written *w, struct mprof_json *j, const struct mprof_hotspot *spot)
{
	const struct mprof_hotspot_caller *best[MPROF_HOTSPOTS_CALLERS_PAGE];
	uint32_t n = 0, at;

	for (uint32_t i = 0; i < spot->n_callers; i++) {
		const struct mprof_hotspot_caller *caller = &w->callers[spot->first_caller + i];

		if (caller->caller >= w->listed)
			continue;
		/* The callers come by samples, so only more direct samples give an earlier place. */
		for (at = n; at && best[at - 1]->direct < caller->direct; at--)
			if (at < MPROF_HOTSPOTS_CALLERS_PAGE)
				best[at] = best[at - 1];
		if (at < MPROF_HOTSPOTS_CALLERS_PAGE)
			best[at] = caller;
		n += n < MPROF_HOTSPOTS_CALLERS_PAGE;
	}
	for (uint32_t i = 0; i < n; i++)
		put_caller(w, j, best[i]);
}

static void put_places(const struct written *w, struct mprof_json *j, const struct mprof_hotspot *spot)
{
	char text[40];

	mprof_json_open(j, "places", '[');
	for (size_t i = 0; i < 3 && spot->places[i] != MPROF_NONE; i++) {
		const struct mprof_mem_location *l = mprof_mem_location(w->report->mem, spot->places[i]);

		snprintf(text, sizeof(text), "%" PRIu32 ":%u-%u", l->line, l->first, l->last);
		mprof_json_word(j, NULL, text);
	}
	mprof_json_close(j, ']');
}

static void put_spot(const struct written *w, struct mprof_json *j, const struct mprof_hotspot *spot)
{
	mprof_json_open(j, NULL, '{');
	put_function(w, j, spot);
	put_amount(w, j, "self", "self_bytes", spot->self);
	put_amount(w, j, "total", "total_bytes", spot->total);
	mprof_json_real(j, "error", spot->self ? 1 / sqrt((double)spot->self) : 1.0);
	put_places(w, j, spot);
	mprof_json_number(j, "n_places", spot->n_places);
	mprof_json_open(j, "callers", '[');
	if (w->report->indexed)
		put_page_callers(w, j, spot);
	for (uint32_t i = 0; !w->report->indexed && i < spot->n_callers; i++)
		put_caller(w, j, &w->callers[spot->first_caller + i]);
	mprof_json_close(j, ']');
	mprof_json_close(j, '}');
}

void mprof_hotspots_write(const struct mprof_hotspots_report *r, struct mprof_json *j)
{
	struct written w = {.report = r, .totals = mprof_hotspots_totals(r), .scale = mprof_mem_scale(r->mem)};
	uint32_t n;

	w.callers = mprof_hotspots_callers(r->hotspots, &n);
	w.list = mprof_hotspots_list(r->hotspots, &n);
	w.listed = !r->indexed ? w.totals.functions : n < MPROF_HOTSPOTS_PAGE_MAX ? n : MPROF_HOTSPOTS_PAGE_MAX;
	put_amount(&w, j, "samples", "samples_bytes", w.totals.samples);
	mprof_json_number(j, "n_functions", w.totals.functions);
	answer_put_count(j, "objects", w.totals.objects);
	answer_put_count(j, "peak_us", w.totals.peak_us);
	mprof_json_open(j, "functions", '[');
	for (uint32_t i = 0; i < w.listed; i++)
		put_spot(&w, j, &w.list[i]);
	mprof_json_close(j, ']');
}
