/* This file makes the report of the verb `stats` from tallies, and prints it as text. libmprof prints it as JSON. */
#include "stats-answer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/ids.h>

#include "array.h"
#include "cleanup.h"
#include "ctl.h"
#include "json.h"
#include "table.h"

/* Return text I of T, or NULL if it is THREAD_STAT_NO_LABEL, and its length in *N. */
static const char *text_of(const struct tally *t, uint32_t i, size_t *n)
{
	*n = 0;
	return i == THREAD_STAT_NO_LABEL ? NULL : texts_get(&t->texts, i, n);
}

static bool report_counters(struct mprof_statistics_report *report, const struct tally *t)
{
	struct mprof_statistics_report_counter *list = calloc((size_t)t->counter_count + 1, sizeof(*list));

	report->counters = list;
	for (uint32_t i = 0; list && i < t->counter_count; i++) {
		const struct tally_counter *c = &t->counters[i];
		struct mprof_statistics_report_counter *to = &list[report->n_counters];

		if (!c->range.samples)
			continue;
		report->n_counters++;
		*to = (struct mprof_statistics_report_counter){.range = c->range, .kind = c->kind};
		to->name = text_of(t, c->name, &to->name_bytes);
		to->range.rate_per_s =
			c->several ? (double)NAN
				   : mprof_statistics_rate(&c->range, (enum mprof_counter_kind)c->kind, c->grows);
	}
	return list != NULL;
}

static struct mprof_statistics_report_thread thread_of(const struct tally *t, const struct thread_stat *it)
{
	struct mprof_statistics_report_thread out = {.id = it->id, .running_ns = it->running_ns, .type = it->type};

	out.label = text_of(t, it->label, &out.label_bytes);
	return out;
}

static bool report_busiest(struct mprof_statistics_report *report, const struct tally *t)
{
	struct mprof_statistics_report_thread *list = calloc(THREAD_STATS_BUSIEST, sizeof(*list));
	struct thread_stat busiest[THREAD_STATS_BUSIEST];

	report->busiest = list;
	report->n_busiest = list ? (uint32_t)thread_stats_busiest(&t->thread_stats, busiest) : 0;
	for (uint32_t i = 0; i < report->n_busiest; i++)
		list[i] = thread_of(t, &busiest[i]);
	return list != NULL;
}

static bool report_should_resolve(struct mprof_statistics_report *report, struct tally *t)
{
	struct thread_stats *s = &t->thread_stats;
	struct mprof_statistics_report_thread *list;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += (s->list[i].flags & THREAD_STAT_EXPECTED) != 0;
	list = calloc((size_t)n + 1, sizeof(*list));
	report->should_resolve = list;
	for (uint32_t i = 0; list && i < s->n; i++) {
		const struct thread_stat *it = &s->list[i], *final;

		if (!(it->flags & THREAD_STAT_EXPECTED))
			continue;
		final = &s->list[thread_stats_alias(s, i)];
		list[report->n_should_resolve] = thread_of(t, it->label == THREAD_STAT_NO_LABEL ? final : it);
		list[report->n_should_resolve].id = it->id;
		list[report->n_should_resolve].resolved = final->flags & THREAD_STAT_ENDED;
		list[report->n_should_resolve].unsure =
			!(final->flags & THREAD_STAT_ENDED) && final - s->list < s->before_gap;
		report->n_should_resolve++;
	}
	return list != NULL;
}

bool report_tally(struct mprof_statistics_report *report, struct tally *t, const struct input_stream *source)
{
	const struct mprof_totals *totals = &source->totals;
	struct mprof_statistics_totals *all = &report->all;

	*report = (struct mprof_statistics_report){
		.bytes = source->bytes,
		.packets = totals->packets,
		.lost_packets = totals->lost_packets,
		.damages = totals->damages,
		.unknown_texts = totals->unknown_texts,
		.skipped_extras = totals->skipped_extras,
		.unproven_events = totals->unproven,
		.cut_bytes = source->cut_bytes,
		.clock_back_ns = totals->step_ns,
		.truncated = tally_truncated(t),
	};
	memcpy(all->events_by_type, t->events_by_type, sizeof(all->events_by_type));
	memcpy(all->threads_by_type, t->threads_by_type, sizeof(all->threads_by_type));
	all->created = t->events_by_type[MPROF_EVENT_creates];
	all->preexisting = t->thread_stats.preexisting;
	all->labels = t->labels;
	all->collections = t->gcs;
	all->collecting_ns = t->gc_ns;
	all->longest_ns = t->gc_longest_ns;
	all->sleeping_ns = t->thread_stats.sleeping_ns;
	all->first_ns = t->first_ns;
	all->last_ns = t->last_ns;
	all->tells_sleep = tally_tells_sleep(t);
	all->dropped_events = tally_counted(t, MPROF_COUNTER_DROPPED);
	all->lost_words = tally_counted(t, MPROF_COUNTER_LOST_WORDS);
	return report_counters(report, t) && report_busiest(report, t) && report_should_resolve(report, t);
}

void report_deinit(struct mprof_statistics_report *report)
{
	free((void *)report->counters);
	free((void *)report->busiest);
	free((void *)report->should_resolve);
}

/* Print the answer as text: a line for each number, and a table for each list that is not empty. */

static void show_time(const struct mprof_statistics_report *r, struct timing *timing)
{
	char span[32], from[TIMING_TEXT_MAX], to[TIMING_TEXT_MAX];

	if (!mprof_statistics_events(r))
		return;
	timing->dated = true;
	timing_text(timing, r->all.first_ns, from);
	timing_text(timing, r->all.last_ns, to);
	printf("time      %s to %s, %s\n", from, to,
	       r->clock_back_ns ? "how long is unknown: the times go back"
				: span_text(r->all.last_ns - r->all.first_ns, span, sizeof(span)));
}

static void show_sleeping(const struct mprof_statistics_report *r)
{
	double share = mprof_statistics_share(r);
	char text[32];

	if (r->summed)
		return;
	span_text(r->all.sleeping_ns, text, sizeof(text));
	if (!isnan(share))
		printf("sleeping  %s, %.1f %%\n", text, share * 100);
	else if (!r->all.tells_sleep && mprof_statistics_events(r))
		puts("sleeping  unknown: the trace does not tell when no thread runs");
	else if (r->clock_back_ns || r->all.sleeping_ns > r->all.last_ns - r->all.first_ns)
		puts("sleeping  unknown: the times go back, so that the same time comes several times");
	else if (mprof_statistics_lacks(r))
		printf("sleeping  at least %s: parts of the trace are missing\n", text);
}

static void show_notes(const struct mprof_statistics_report *r)
{
	if (r->unknown_texts)
		printf("note: %" PRIu64
		       " use%s of an interned text that the packet lacks: the text is # and its number\n",
		       r->unknown_texts, r->unknown_texts == 1 ? "" : "s");
	if (r->skipped_extras)
		printf("note: %" PRIu64 " event%s of an unknown kind skipped\n", r->skipped_extras,
		       r->skipped_extras == 1 ? "" : "s");
	if (r->truncated)
		puts("note: the trace exceeds the memory limits: threads, labels and counters are incomplete");
}

static void show_head(const struct mprof_statistics_report *r, struct timing *timing)
{
	const struct mprof_statistics_totals *all = &r->all;
	char bytes[24], total[32], longest[32];

	bytes_text(r->bytes, bytes, sizeof(bytes));
	printf("events    %" PRIu64 "\n", mprof_statistics_events(r));
	show_time(r, timing);
	printf("packets   %" PRIu64 ", %" PRIu64 " lost, %" PRIu64 " faults, %s\n", r->packets, r->lost_packets,
	       r->damages, bytes);
	if (all->dropped_events)
		printf("dropped   %" PRIu64 " events by the recorder\n", all->dropped_events);
	if (all->lost_words)
		printf("lost      %" PRIu64 " words of the runtime's ring, which it overwrote\n", all->lost_words);
	if (r->unproven_events)
		printf("unproven  %" PRIu64 " events behind damage, up to the ends of their packets\n",
		       r->unproven_events);
	if (r->cut_bytes)
		printf("cut       %" PRIu64 " bytes of the unproven end, in which no event can be read\n",
		       r->cut_bytes);
	printf("threads   %" PRIu64 ", %" PRIu64 " of them not created here\n", all->created + all->preexisting,
	       all->preexisting);
	printf("labels    %" PRIu64 "\n", all->labels);
	if (all->collections)
		printf("gc        %" PRIu64 ", %s in all, the longest %s\n", all->collections,
		       span_text(all->collecting_ns, total, sizeof(total)),
		       span_text(all->longest_ns, longest, sizeof(longest)));
	show_sleeping(r);
	show_notes(r);
}

/* Begin a table with HEADS below what was printed. Its cells are cut. */
static void begin_table(struct table *t, const char *const *heads, size_t n)
{
	table_init(t, heads, n);
	table_cut(t);
	putchar('\n');
}

/* Print the N counts at COUNTS as a table, but those of 0. NAME names them, HEAD is the heading of its first column. */
static int show_counts(const uint64_t *counts, size_t n, const char *(*name)(uint8_t), const char *head)
{
	const char *const heads[] = {head, ">COUNT"};
	CLEANUP(table_deinit) struct table t = {0};
	uint64_t any = 0;

	for (size_t i = 0; i < n; i++)
		any |= counts[i];
	if (!any)
		return CTL_OK;
	begin_table(&t, heads, ARRAY_SIZE(heads));
	for (size_t i = 0; i < n; i++) {
		if (!counts[i])
			continue;
		table_add(&t, name((uint8_t)i));
		table_add_number(&t, counts[i]);
	}
	return table_print(&t);
}

static void add_signed(struct table *t, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	table_add(t, text);
}

static void add_counter(struct table *t, const struct mprof_statistics_report *r,
			const struct mprof_statistics_report_counter *c)
{
	double rate = mprof_statistics_report_rate(r, c);
	char text[32];

	table_add_text(t, c->name, c->name_bytes);
	table_add(t, mprof_counter_kind_name(c->kind));
	table_add_number(t, c->range.samples);
	add_signed(t, c->range.first);
	add_signed(t, c->range.last);
	add_signed(t, c->range.min);
	add_signed(t, c->range.max);
	if (c->kind == MPROF_COUNTER_AMOUNT)
		add_signed(t, c->range.sum);
	else
		table_add(t, NULL);
	snprintf(text, sizeof(text), "%.1f", rate);
	table_add(t, isnan(rate) ? NULL : text);
}

static int show_counters(const struct mprof_statistics_report *r)
{
	static const char *const heads[] = {"COUNTER", "KIND", ">SAMPLES", ">FIRST",	 ">LAST",
					    ">MIN",    ">MAX", ">SUM",	   ">PER SECOND"};
	CLEANUP(table_deinit) struct table t = {0};

	if (!r->n_counters)
		return CTL_OK;
	begin_table(&t, heads, ARRAY_SIZE(heads));
	for (uint32_t i = 0; i < r->n_counters; i++)
		add_counter(&t, r, &r->counters[i]);
	return table_print(&t);
}

static int show_busiest(const struct mprof_statistics_report *r)
{
	static const char *const heads[] = {">BUSIEST", "TYPE", ">RAN FOR", "LABEL"};
	CLEANUP(table_deinit) struct table t = {0};
	char text[32];

	if (r->summed || !r->n_busiest)
		return CTL_OK;
	begin_table(&t, heads, ARRAY_SIZE(heads));
	for (uint32_t i = 0; i < r->n_busiest; i++) {
		const struct mprof_statistics_report_thread *it = &r->busiest[i];

		add_signed(&t, it->id);
		table_add(&t, mprof_statistics_type_name(it->type));
		table_add(&t, span_text(it->running_ns, text, sizeof(text)));
		table_add_text(&t, it->label, it->label_bytes);
	}
	return table_print(&t);
}

static int show_should_resolve(const struct mprof_statistics_report *r)
{
	static const char *const heads[] = {">SHOULD RESOLVE", "RESOLVED", "LABEL"};
	CLEANUP(table_deinit) struct table t = {0};

	if (!r->n_should_resolve)
		return CTL_OK;
	begin_table(&t, heads, ARRAY_SIZE(heads));
	for (uint32_t i = 0; i < r->n_should_resolve; i++) {
		const struct mprof_statistics_report_thread *it = &r->should_resolve[i];

		add_signed(&t, it->id);
		table_add(&t, it->resolved ? "yes" : it->unsure ? "unknown" : "no");
		table_add_text(&t, it->label, it->label_bytes);
	}
	return table_print(&t);
}

static int show_stream(const struct mprof_statistics_report *r, struct timing *timing)
{
	int status;

	if (r->stream) {
		fputs("stream    ", stdout);
		print_safe(r->stream);
		putchar('\n');
	}
	show_head(r, timing);
	status = show_counts(r->all.events_by_type, MPROF_EVENT_IDS, mprof_event_name, "EVENT");
	status = status ? status
			: show_counts(r->all.threads_by_type, MPROF_STATISTICS_TYPES, mprof_statistics_type_name,
				      "THREADS");
	status = status ? status : show_counters(r);
	status = status ? status : show_busiest(r);
	status = status ? status : show_should_resolve(r);
	return status ? status : stdout_verdict();
}

int stats_show(const struct mprof_statistics_report *report, struct timing *timing)
{
	int r;

	if (!report->n_streams)
		return show_stream(report, timing);
	for (uint32_t i = 0; i < report->n_streams; i++) {
		if (i)
			putchar('\n');
		r = show_stream(&report->streams[i], timing);
		if (r)
			return r;
	}
	return CTL_OK;
}
