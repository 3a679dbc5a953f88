/*
 * `mprofctl diff`: compare a good run with a bad one.
 *
 * The answer is libmprof's (<mprof/diff-report.h>), which prints it as JSON; diff-show.c prints it as text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer-output.h"
#include "array.h"
#include "cleanup.h"
#include "diff-answer.h"
#include "input.h"
#include "modeller.h"
#include "options.h"
#include "seed.h"
#include "table.h"
#include "verbs.h"

/* One of the two runs. */
struct run {
	const char *operand;
	struct selection s;
	struct timing timing;
	struct modeller modeller;
	struct input in;
};

struct pair {
	struct run runs[2];
	/*
	 * By the stream's number in the second run: number of the matching stream of the first run.
	 */
	uint32_t *streams;
	struct mprof_diff *diff;
};

static void pair_deinit(struct pair *p)
{
	p->diff = mprof_diff_free(p->diff);
	free(p->streams);
	for (int i = 0; i < 2; i++) {
		modeller_deinit(&p->runs[i].modeller);
		input_deinit(&p->runs[i].in);
	}
}

/* Read one run into its model. Return an exit code. */
static int run_read(const struct ctl *ctl, struct run *run, const char *verb)
{
	int r;

	if (!modeller_init(&run->modeller, &run->timing.period, true))
		return say_memory();
	run->in.timing = &run->timing;
	r = input_run(&run->in, ctl, &run->modeller.consumer, run->operand, &run->s, false, verb);
	if (r == INPUT_REFUSED)
		return say_memory();
	if (!trace_was_read(r))
		return r;
	if (!modeller_finish(&run->modeller))
		return say_memory();
	modeller_range(&run->modeller, &run->timing);
	return r;
}

/*
 * Set P->streams: match the streams of the two runs by name. If one run has a single stream, match
 * by number. Return false without memory.
 */
static bool pair_streams(struct pair *p)
{
	const struct modeller *good = &p->runs[0].modeller, *bad = &p->runs[1].modeller;
	unsigned int k;

	p->streams = malloc((bad->streams + 1) * sizeof(*p->streams));
	if (!p->streams)
		return false;
	for (unsigned int i = 0; i < bad->streams; i++) {
		p->streams[i] = i;
		if (!good->names || !bad->names)
			continue;
		for (k = 0; k < good->streams && strcmp(good->names[k], bad->names[i]) != 0; k++)
			;
		p->streams[i] = k < good->streams ? k : MPROF_NONE;
	}
	return true;
}

static uint64_t lost_packets(const struct input *in)
{
	uint64_t lost = 0;

	for (unsigned int i = 0; i < in->streams; i++)
		lost += in->stream[i].totals.lost_packets;
	return lost;
}

static int print_json(const struct mprof_diff_report *report, struct timing *timing)
{
	struct mprof_json j = answer_output(timing);

	mprof_json_open(&j, NULL, '{');
	if (mprof_diff_write(report, &j) != MPROF_OK)
		return say_memory();
	return answer_output_end(&j);
}

static int pair_print(const struct ctl *ctl, struct pair *p)
{
	struct mprof_diff_options options = {
		.good_from = period_from(&p->runs[0].timing.period),
		.bad_from = period_from(&p->runs[1].timing.period),
		.seed = seed_new(p),
	};
	struct mprof_diff_report report = {0};

	for (int i = 0; i < 2; i++)
		report.runs[i] =
			(struct mprof_diff_report_run){.view = p->runs[i].modeller.view,
						       .streams = p->runs[i].modeller.names,
						       .name = p->runs[i].operand,
						       .clock = &p->runs[i].timing,
						       .wall_uncertainty_ns = timing_uncertainty(&p->runs[i].timing),
						       .lost_packets = lost_packets(&p->runs[i].in)};
	if (!pair_streams(p))
		return say_memory();
	options.streams = p->streams;
	p->diff = mprof_diff_new(report.runs[0].view, report.runs[1].view, &options);
	if (!p->diff)
		return say_memory();
	report.diff = p->diff;
	return ctl->json ? print_json(&report, &p->runs[0].timing) : diff_show(&report);
}

/*
 * Return true if OPERAND is a file or standard input. The selection options (--last, --run,
 * --stream) do not apply to files.
 */
static bool is_file(const char *operand)
{
	struct trace_source t;

	return trace_source_parse(&t, NULL, operand, true) && (t.kind == SOURCE_FILE || t.kind == SOURCE_STDIN);
}

/*
 * Set the selection of O for each run that is not a file. If both runs are files, set it for both;
 * reading the first file then reports that a file takes no selection.
 */
static void share_selection(struct pair *p, const struct options *o)
{
	const struct selection s = selection_of(o);
	bool files[2] = {is_file(p->runs[0].operand), is_file(p->runs[1].operand)};

	for (int i = 0; i < 2; i++) {
		if (!files[i] || files[!i])
			p->runs[i].s = s;
		p->runs[i].s.runtime = s.runtime;
	}
	p->runs[0].s.run = o->good_run;
	p->runs[1].s.run = o->bad_run;
}

int cmd_diff(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(pair_deinit) struct pair p = {0};
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left), bad, printed;

	r = r ? r : timing_parse(&p.runs[0].timing, &o, TIME_RELATIVE, argv[0]);
	if (r)
		return r;
	if (strcmp(left.at[0], "-") == 0 && strcmp(left.at[1], "-") == 0)
		return say_usage(argv[0], "%s: only one of the two can be standard input", argv[0]);
	p.runs[1].timing = p.runs[0].timing;
	p.runs[0].operand = left.at[0];
	p.runs[1].operand = left.at[1];
	share_selection(&p, &o);
	r = run_read(ctl, &p.runs[0], argv[0]);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	bad = run_read(ctl, &p.runs[1], argv[0]);
	if (bad != CTL_OK && bad != CTL_DAMAGED)
		return bad;
	printed = pair_print(ctl, &p);
	return printed ? printed : r ? r : bad;
}
