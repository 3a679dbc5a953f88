/*
 * `mprofctl mem hotspots`: list the functions that allocate, the places in them, and their callers.
 * `mprofctl mem peak` lists the same for the objects that lived at the peak.
 *
 * The answer is libmprof's (<mprof/hotspots-report.h>), which prints it as JSON; this file prints it as text.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <mprof/hotspots-report.h>

#include "answer-output.h"
#include "cleanup.h"
#include "json.h"
#include "mem.h"
#include "table.h"

#define SHOWN_MAX   20u
#define CALLERS_MAX 5u /* most callers of a function; only those that explain what it allocates are shown */

CLEANUP_DEFINE(struct mprof_hotspots, mprof_hotspots_free)

/* Write the bytes of SAMPLES to TEXT, which has 32 bytes. */
static const char *amount(const struct mprof_hotspots_report *r, uint64_t samples, char *text)
{
	bytes_text(mem_load_whole((double)samples * mprof_mem_scale(r->mem)), text, 32);
	return text;
}

static void put_place(const struct mprof_hotspots_report *r, const struct mprof_hotspot *spot)
{
	struct mprof_frame frame;

	mprof_hotspot_frame(r->mem, spot, &frame);
	print_text(frame.function, frame.function_bytes);
	if (!frame.file_bytes)
		return;
	printf(" (");
	print_text(frame.file, frame.file_bytes);
	for (size_t i = 0; i < 3 && spot->places[i] != MPROF_NONE; i++) {
		const struct mprof_mem_location *l = mprof_mem_location(r->mem, spot->places[i]);

		printf("%s%" PRIu32 ":%u-%u", i ? ", " : ":", l->line, l->first, l->last);
	}
	printf("%s)", spot->n_places > 3 ? ", ..." : "");
}

static void put_callers(const struct mprof_hotspots_report *r, const struct mprof_hotspots_totals *totals,
			const struct mprof_hotspot *spot)
{
	uint32_t n, shown = 0;
	const struct mprof_hotspot_caller *callers = mprof_hotspots_callers(r->hotspots, &n);
	const struct mprof_hotspot *list = mprof_hotspots_list(r->hotspots, &n);
	struct mprof_frame frame;
	char bytes[32];

	for (uint32_t i = spot->first_caller; i < spot->first_caller + spot->n_callers && shown < CALLERS_MAX; i++) {
		if (!mprof_hotspots_explains(r, totals, &callers[i]))
			continue;
		mprof_hotspot_frame(r->mem, &list[callers[i].caller], &frame);
		printf("%10s               via ", amount(r, callers[i].samples, bytes));
		print_text(frame.function, frame.function_bytes);
		printf(" (%.0f%% of what it is above)\n",
		       100 * ((double)callers[i].samples / (double)list[callers[i].caller].total));
		shown++;
	}
}

static int show(const struct mprof_hotspots_report *r, const char *what)
{
	const struct mprof_hotspots_totals totals = mprof_hotspots_totals(r);
	uint32_t n;
	const struct mprof_hotspot *list = mprof_hotspots_list(r->hotspots, &n);
	double self, all = (double)totals.samples * mprof_mem_scale(r->mem);
	char bytes[32];

	printf("%s %s, estimated from %" PRIu64 " samples\n", amount(r, totals.samples, bytes), what, totals.samples);
	for (uint32_t i = 0; i < totals.functions && i < SHOWN_MAX; i++) {
		self = (double)list[i].self * mprof_mem_scale(r->mem);
		printf("%10s +-%2.0f%% %5.1f%%  ", amount(r, list[i].self, bytes),
		       100 * (1 / sqrt((double)list[i].self)), all > 0 ? 100 * self / all : 0);
		put_place(r, &list[i]);
		printf("\n");
		put_callers(r, &totals, &list[i]);
	}
	if (totals.functions > SHOWN_MAX)
		printf("and %" PRIu32 " functions more; --json has them all\n", totals.functions - SHOWN_MAX);
	return stdout_verdict();
}

static int answer(const struct mem_load *l, bool json, const struct mem_answer *a)
{
	CLEANUP(mprof_hotspots_freep)
	struct mprof_hotspots *hotspots = mprof_hotspots_new(l->profile, l->in.decoder, a->weight);
	const struct mprof_hotspots_report r = {
		.profile = l->profile, .mem = l->in.decoder, .hotspots = hotspots, .weight = a->weight};
	struct mprof_json j = answer_output(NULL);

	if (!hotspots)
		return say_memory();
	if (!json)
		return show(&r, a->what);
	mprof_json_open(&j, NULL, '{');
	mprof_hotspots_write(&r, &j);
	return answer_output_end(&j);
}

int mem_hotspots(const struct ctl *ctl, int argc, char **argv)
{
	return mem_answer_run(ctl, argc, argv, &(struct mem_answer){answer, MPROF_WEIGHT_ALL, "allocated"});
}

int mem_peak(const struct ctl *ctl, int argc, char **argv)
{
	return mem_answer_run(ctl, argc, argv, &(struct mem_answer){answer, MPROF_WEIGHT_PEAK, "lived at the peak"});
}
