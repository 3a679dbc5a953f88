/*
 * Print the answer of `why` as text. libmprof makes the sentences on threads; this code adds sentences
 * on the whole trace.
 */
#include "why-answer.h"

#include <inttypes.h>
#include <stdio.h>

#include "cleanup.h"
#include "ctl.h"
#include "json.h"
#include "table.h"

CLEANUP_DEFINE(struct mprof_explanation, mprof_explanation_free)

static void put_explanation(const struct mprof_explanation *explanation, struct timing *timing)
{
	const char *text = mprof_explanation_text(explanation);
	const struct mprof_explanation_piece *pieces;
	uint32_t n, line = 0;

	pieces = mprof_explanation_pieces(explanation, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (pieces[i].line != line)
			putchar('\n');
		line = pieces[i].line;
		if (pieces[i].time != MPROF_EXPLANATION_UNTIMED)
			timing_print(timing, pieces[i].time);
		else
			fwrite(text + pieces[i].offset, 1, pieces[i].bytes, stdout);
	}
	putchar('\n');
}

/* Print what the answers leave open. Return an exit code. */
static int show_rest(const struct mprof_why_report *r, struct mprof_explanation *explanation, struct timing *timing)
{
	uint32_t pieces;

	if (r->left_out)
		printf("note: %" PRIu32 " more answers are left out\n", r->left_out);
	if (!r->waits)
		return 0;
	if (r->should_resolve) {
		if (!r->n)
			printf("all threads that should resolve did, %" PRIu64 " of them\n", r->should_resolve);
		return 0;
	}
	if (mprof_explanation_rest(explanation, r->waits) != MPROF_OK)
		return say_memory();
	mprof_explanation_pieces(explanation, &pieces);
	if (pieces)
		put_explanation(explanation, timing);
	return 0;
}

/* Print what the reader of the trace found missing or damaged. */
static void show_notes(const struct mprof_why_report *r)
{
	if (r->lost_packets) {
		fputs("note: ", stdout);
		print_missing((json_int_t)r->lost_packets);
		puts("; signals and resolutions there are unknown");
	}
	if (r->damages) {
		fputs("note: the trace is damaged in ", stdout);
		print_count((json_int_t)r->damages, "place");
		if (r->unproven_events) {
			fputs("; ", stdout);
			print_count((json_int_t)r->unproven_events, "event");
			fputs(" behind, to the ends of their packets, are unproven", stdout);
		}
		putchar('\n');
	}
	if (r->cut_bytes)
		printf("note: %" PRIu64 " bytes of the unproven end were cut: no event can be read in them\n",
		       r->cut_bytes);
}

int why_show(const struct mprof_why_report *report, struct timing *timing, const struct modeller *last)
{
	CLEANUP(mprof_explanation_freep)
	struct mprof_explanation *explanation = mprof_explanation_new(report->view, report->why, report->streams);
	int r;

	if (!explanation)
		return say_memory();
	for (uint32_t i = 0; i < report->n; i++) {
		if (mprof_explanation_group(explanation, &report->asked[i]) != MPROF_OK)
			return say_memory();
		put_explanation(explanation, timing);
		putchar('\n');
	}
	r = show_rest(report, explanation, timing);
	if (r)
		return r;
	for (uint32_t i = 0; last && i < last->view->n_streams; i++) {
		if (!modeller_leads(last, i) || modeller_ended(last, i))
			continue;
		if (mprof_explanation_last(explanation, i) != MPROF_OK)
			return say_memory();
		put_explanation(explanation, timing);
	}
	show_notes(report);
	return stdout_verdict();
}
