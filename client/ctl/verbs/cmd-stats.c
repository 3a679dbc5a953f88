/*
 * `mprofctl stats`: summarize a trace in numbers.
 *
 * The numbers are a report of libmprof (<mprof/statistics-report.h>). The library prints it as JSON, stats-answer.c as text.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer-output.h"
#include "cleanup.h"
#include "input.h"
#include "shared-threads.h"
#include "stats-answer.h"
#include "table.h"
#include "verbs.h"

struct stats {
	struct period *period; /* borrowed */
	struct tally *tallies;
	char **names;	  /* stream names, owned; NULL for a single stream */
	uint32_t *guests; /* for each stream its program, owned; NULL: each stream is one */
	unsigned int n;
};

static void stats_deinit(struct stats *s)
{
	for (unsigned int i = 0; i < s->n; i++) {
		tally_deinit(&s->tallies[i]);
		if (s->names)
			free(s->names[i]);
	}
	free(s->names);
	free(s->guests);
	free(s->tallies);
}

static int stats_reserve(struct stats *s, unsigned int n)
{
	s->tallies = calloc(n, sizeof(*s->tallies));
	if (!s->tallies)
		return -ENOMEM;
	for (s->n = 0; s->n < n; s->n++)
		tally_init(&s->tallies[s->n], n);
	return 0;
}

static int stats_guests(void *context, const uint32_t *guests, unsigned int count)
{
	struct stats *s = context;

	s->guests = calloc(count, sizeof(*guests));
	if (!s->guests)
		return -ENOMEM;
	memcpy(s->guests, guests, count * sizeof(*guests));
	return 0;
}

static int stats_streams(void *context, char *const *names, unsigned int count)
{
	struct stats *s = context;

	if (stats_reserve(s, count))
		return -ENOMEM;
	s->names = calloc(count, sizeof(*s->names));
	for (unsigned int i = 0; s->names && i < count; i++) {
		s->names[i] = strdup(names[i]);
		if (!s->names[i])
			return -ENOMEM;
	}
	return s->names ? 0 : -ENOMEM;
}

/* Return the tally of STREAM, or NULL without memory. */
static struct tally *stats_tally(struct stats *s, unsigned int stream)
{
	if (!s->n && stats_reserve(s, 1))
		return NULL;
	return &s->tallies[stream];
}

static int stats_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct stats *s = context;
	struct tally *t = stats_tally(s, stream);

	if (!t)
		return -ENOMEM;
	period_holds(s->period, events[0].raw.timestamp);
	t->from = period_from(s->period);
	t->to = period_to(s->period);
	tally_events(t, events, n);
	return t->failed ? -ENOMEM : 0;
}

static int stats_gap(void *context, unsigned int stream, uint64_t packets)
{
	struct tally *t = stats_tally(context, stream);

	(void)packets;
	if (!t)
		return -ENOMEM;
	tally_gap(t);
	return 0;
}

/* A bad line of a log is no gap. */
static int stats_damage(void *context, unsigned int stream, const struct mprof_damage *damage)
{
	return damage->reason == MPROF_DAMAGE_LINE ? 0 : stats_gap(context, stream, 0);
}

/* The report of several streams: of each, and of all together. */
struct summary {
	struct tally tally; /* of all streams */
	struct mprof_statistics_report all;
	struct mprof_statistics_report *streams; /* owned */
	uint32_t n;
};

static void summary_deinit(struct summary *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		report_deinit(&s->streams[i]);
	free(s->streams);
	report_deinit(&s->all);
	tally_deinit(&s->tally);
}

/* Give S->all the marked threads of all streams, each with the name of its stream. */
static bool collect_should_resolve(struct summary *s)
{
	struct mprof_statistics_report_thread *list;
	size_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += s->streams[i].n_should_resolve;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return false;
	free((void *)s->all.should_resolve);
	s->all.should_resolve = list;
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t k = 0; k < s->streams[i].n_should_resolve; k++) {
			list[s->all.n_should_resolve] = s->streams[i].should_resolve[k];
			list[s->all.n_should_resolve++].of = s->streams[i].stream;
		}
	return true;
}

/* Return the sums of what the reader counted in all streams of IN. */
static struct input_stream sums_of(const struct input *in)
{
	struct input_stream sum = {.cut_bytes = in->cut_bytes};

	for (unsigned int i = 0; i < in->streams; i++) {
		const struct mprof_totals *totals = &in->stream[i].totals;

		sum.totals.packets += totals->packets;
		sum.totals.lost_packets += totals->lost_packets;
		sum.totals.damages += totals->damages;
		sum.totals.unknown_texts += totals->unknown_texts;
		sum.totals.skipped_extras += totals->skipped_extras;
		sum.totals.unproven += totals->unproven;
		if (totals->step_ns > sum.totals.step_ns)
			sum.totals.step_ns = totals->step_ns;
		sum.bytes += in->stream[i].bytes;
	}
	return sum;
}

/* Fill SUMMARY, which the caller deinits, from S and what IN counted. Return false without memory. */
static bool summarize(struct summary *summary, struct stats *s, const struct input *in)
{
	const struct input_stream sum = sums_of(in);
	struct shared_rings rings;

	tally_init(&summary->tally, 1);
	summary->streams = calloc(s->n, sizeof(*summary->streams));
	if (!summary->streams)
		return false;
	for (unsigned int i = 0; i < s->n; i++) {
		tally_end(&s->tallies[i], in->stream[i].totals.step_ns > 0);
		tally_join(&summary->tally, &s->tallies[i]);
		summary->n++;
		if (!report_tally(&summary->streams[i], &s->tallies[i], &in->stream[i]))
			return false;
		summary->streams[i].stream = s->names[i];
	}
	rings = (struct shared_rings){s->tallies, s->guests, summary->streams, s->n};
	if (!shared_threads_judge(&rings, &summary->tally.thread_stats.preexisting))
		return false;
	if (summary->tally.failed || !report_tally(&summary->all, &summary->tally, &sum))
		return false;
	summary->all.several = summary->all.summed = true;
	summary->all.streams = summary->streams;
	summary->all.n_streams = summary->n;
	for (uint32_t i = 0; i < summary->n; i++) {
		summary->all.all.dropped_events += summary->streams[i].all.dropped_events;
		summary->all.all.lost_words += summary->streams[i].all.lost_words;
	}
	return collect_should_resolve(summary);
}

/* Print REPORT as JSON. Return an exit code. */
static int print_json(const struct mprof_statistics_report *report, struct timing *timing)
{
	struct mprof_json j = answer_output(timing);

	mprof_json_open(&j, NULL, '{');
	mprof_statistics_write(report, &j);
	answer_output_uncertainty(timing, &j);
	return answer_output_end(&j);
}

static int print_report(const struct mprof_statistics_report *report, struct trace_args *from)
{
	from->timing.first = from->timing.period.first;
	return from->ctl->json ? print_json(report, &from->timing) : stats_show(report, &from->timing);
}

static int stats_print(struct stats *s, struct trace_args *from)
{
	CLEANUP(summary_deinit) struct summary several = {0};
	CLEANUP(report_deinit) struct mprof_statistics_report one = {0};

	/* Without an event no stream was added; show one with zeros. */
	if (!s->n && stats_reserve(s, 1))
		return say_memory();
	if (s->names)
		return summarize(&several, s, &from->in) ? print_report(&several.all, from) : say_memory();
	tally_end(&s->tallies[0], from->in.stream[0].totals.step_ns > 0);
	return report_tally(&one, &s->tallies[0], &from->in.stream[0]) ? print_report(&one, from) : say_memory();
}

int cmd_stats(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(trace_args_deinit) struct trace_args args = {0};
	CLEANUP(stats_deinit) struct stats stats = {.period = &args.timing.period};
	const struct consumer consumer = {.guests = stats_guests,
					  .streams = stats_streams,
					  .events = stats_events,
					  .gap = stats_gap,
					  .damage = stats_damage,
					  .recorders = true,
					  .context = &stats};
	struct options o;
	int r = trace_args_parse(&args, ctl, argc, argv, &o), printed;

	if (r)
		return r;
	r = trace_args_read(&args, &consumer);
	if (!trace_was_read(r))
		return r;
	printed = stats_print(&stats, &args);
	return printed ? printed : r;
}
