/*
 * This file makes the answer of the verb `stats`. The keys of its JSON are an interface:
 * docs/man/mprofctl.1 lists them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cleanup.h"
#include "ctl.h"
#include "json.h"
#include "stats-answer.h"
#include "table.h"

json_t *stats_name(const char *name)
{
	return text_json(name, strlen(name));
}

static json_t *label_json(const struct tally *t, uint32_t label)
{
	const char *text;
	size_t len;

	if (label == THREAD_STAT_NO_LABEL)
		return json_null();
	text = texts_get(&t->texts, label, &len);
	return text_json(text, len);
}

static json_t *number(uint64_t n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

static json_t *time_json(const struct tally *t, uint64_t ns)
{
	char text[24];

	if (!t->events)
		return json_null();
	snprintf(text, sizeof(text), "%" PRIu64, ns);
	return json_string(text);
}

static const char *type_name(size_t type)
{
	return mprof_thread_type_name(type < MPROF_THREAD_TYPES ? (uint8_t)type : MPROF_THREAD_UNKNOWN);
}

static json_t *events_json(const struct tally *t)
{
	json_t *object = json_object();

	for (size_t i = 0; i < MPROF_EVENT_IDS; i++)
		if (t->events_by_type[i])
			json_object_set_new(object, mprof_event_name((uint8_t)i), number(t->events_by_type[i]));
	return object;
}

static json_t *types_json(const struct tally *t)
{
	json_t *object = json_object();

	for (size_t i = 0; i < TALLY_TYPES; i++)
		if (t->threads_by_type[i])
			json_object_set_new(object, type_name(i), number(t->threads_by_type[i]));
	return object;
}

/* Return the rate of C, JSON null if it has none. BACK: the clock went back. */
static json_t *rate_json(const struct tally_counter *c, bool back)
{
	double rate = mprof_statistics_rate(&c->range, (enum mprof_counter_kind)c->kind, c->grows);

	return back || c->several || isnan(rate) ? json_null() : json_real(rate);
}

static json_t *counter_json(const struct tally_counter *c, bool back)
{
	const struct mprof_statistics_counter *r = &c->range;
	const char *kind = mprof_counter_kind_name(c->kind);
	json_t *object =
		json_pack("{sI sI sI sI sI so so}", "first", (json_int_t)r->first, "last", (json_int_t)r->last, "min",
			  (json_int_t)r->min, "max", (json_int_t)r->max, "samples", (json_int_t)r->samples, "kind",
			  kind ? json_string(kind) : json_null(), "rate_per_s", rate_json(c, back));

	if (c->kind == MPROF_COUNTER_AMOUNT)
		json_object_set_new(object, "sum", json_integer((json_int_t)r->sum));
	return object;
}

static json_t *counters_json(const struct tally *t, bool back)
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < t->counter_count; i++) {
		const struct tally_counter *c = &t->counters[i];
		json_t *name = c->range.samples ? label_json(t, c->name) : NULL;

		if (name)
			json_object_set_new(object, json_string_value(name), counter_json(c, back));
		json_decref(name);
	}
	return object;
}

static json_t *should_resolve_json(struct tally *t)
{
	json_t *array = json_array();
	struct thread_stats *r = &t->thread_stats;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct thread_stat *thread = &r->list[i], *final;

		if (!(thread->flags & THREAD_STAT_EXPECTED))
			continue;
		final = &r->list[thread_stats_alias(r, i)];
		json_array_append_new(
			array,
			json_pack("{sI so sb}", "thread", (json_int_t)thread->id, "label",
				  label_json(t, thread->label != THREAD_STAT_NO_LABEL ? thread->label : final->label),
				  "resolved", (final->flags & THREAD_STAT_ENDED) != 0));
	}
	return array;
}

static json_t *busiest_json(const struct tally *t)
{
	struct thread_stat busiest[THREAD_STATS_BUSIEST];
	size_t n = thread_stats_busiest(&t->thread_stats, busiest);
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array,
				      json_pack("{sI so ss so}", "thread", (json_int_t)busiest[i].id, "label",
						label_json(t, busiest[i].label), "type", type_name(busiest[i].type),
						"running_ns", number(busiest[i].running_ns)));
	return array;
}

/*
 * Return the share of the time in which no thread ran; JSON null without one. If the clock went back (BACK), or other
 * times do, the same time can come twice: then the time slept is no share of the time from the first to the last event.
 */
static json_t *share_json(const struct tally *t, bool back)
{
	if (back || !t->events || t->last_ns <= t->first_ns || t->thread_stats.sleeping_ns > t->last_ns - t->first_ns)
		return json_null();
	return json_real((double)t->thread_stats.sleeping_ns / (double)(t->last_ns - t->first_ns));
}

static uint64_t created(const struct tally *t)
{
	return t->events_by_type[MPROF_EVENT_creates];
}

json_t *tally_json(struct tally *t, const struct mprof_totals *totals, uint64_t bytes)
{
	json_t *object = json_object();

	json_object_set_new(object, "events", number(t->events));
	json_object_set_new(object, "events_by_type", events_json(t));
	json_object_set_new(object, "packets", number(totals->packets));
	json_object_set_new(object, "lost_packets", number(totals->lost_packets));
	json_object_set_new(object, "damages", number(totals->damages));
	json_object_set_new(object, "unknown_texts", number(totals->unknown_texts));
	json_object_set_new(object, "skipped_extras", number(totals->skipped_extras));
	json_object_set_new(object, "unproven_events", number(totals->unproven));
	json_object_set_new(object, "clock_back_ns", number(totals->step_ns));
	json_object_set_new(object, "bytes", number(bytes));
	json_object_set_new(object, "first_ns", time_json(t, t->first_ns));
	json_object_set_new(object, "last_ns", time_json(t, t->last_ns));
	json_object_set_new(object, "threads", number(created(t) + t->thread_stats.preexisting));
	json_object_set_new(object, "threads_by_type", types_json(t));
	json_object_set_new(object, "preexisting", number(t->thread_stats.preexisting));
	json_object_set_new(object, "labels", number(t->labels));
	json_object_set_new(object, "counters", counters_json(t, totals->steps > 0));
	json_object_set_new(object, "gcs", number(t->gcs));
	json_object_set_new(object, "gc_ns", number(t->gc_ns));
	json_object_set_new(object, "gc_longest_ns", number(t->gc_longest_ns));
	json_object_set_new(object, "should_resolve", should_resolve_json(t));
	json_object_set_new(object, "busiest", busiest_json(t));
	json_object_set_new(object, "sleeping_ns", number(t->thread_stats.sleeping_ns));
	json_object_set_new(object, "sleeping_share", share_json(t, totals->steps > 0));
	if (tally_truncated(t))
		json_object_set_new(object, "truncated", json_true());
	return object;
}

/* Print the answer as text: a line for each number, and a table for each list that is not empty. */

static uint64_t get(const json_t *json, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(json, key));
}

static uint64_t get_ns(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? strtoull(text, NULL, 10) : 0;
}

static void show_time(const json_t *json, struct timing *timing)
{
	uint64_t first = get_ns(json, "first_ns"), last = get_ns(json, "last_ns");
	char span[32], from[TIMING_TEXT_MAX], to[TIMING_TEXT_MAX];

	if (!get(json, "events"))
		return;
	timing->dated = true;
	timing_text(timing, first, from);
	timing_text(timing, last, to);
	printf("time      %s to %s, %s\n", from, to, span_text(last - first, span, sizeof(span)));
}

static void show_head(const json_t *json, struct timing *timing)
{
	char bytes[24], total[32], longest[32], sleeping[32];
	const json_t *share = json_object_get(json, "sleeping_share");

	bytes_text(get(json, "bytes"), bytes, sizeof(bytes));
	printf("events    %" PRIu64 "\n", get(json, "events"));
	show_time(json, timing);
	printf("packets   %" PRIu64 ", %" PRIu64 " lost, %" PRIu64 " faults, %s\n", get(json, "packets"),
	       get(json, "lost_packets"), get(json, "damages"), bytes);
	if (get(json, "unproven_events"))
		printf("unproven  %" PRIu64 " events behind damage, up to the ends of their packets\n",
		       get(json, "unproven_events"));
	if (get(json, "cut_bytes"))
		printf("cut       %" PRIu64 " bytes of the unproven end, which cannot be events\n",
		       get(json, "cut_bytes"));
	printf("threads   %" PRIu64 ", %" PRIu64 " of them from before\n", get(json, "threads"),
	       get(json, "preexisting"));
	printf("labels    %" PRIu64 "\n", get(json, "labels"));
	if (get(json, "gcs"))
		printf("gc        %" PRIu64 ", %s in all, the longest %s\n", get(json, "gcs"),
		       span_text(get(json, "gc_ns"), total, sizeof(total)),
		       span_text(get(json, "gc_longest_ns"), longest, sizeof(longest)));
	if (json_is_real(share))
		printf("sleeping  %s, %.1f %%\n", span_text(get(json, "sleeping_ns"), sleeping, sizeof(sleeping)),
		       json_real_value(share) * 100);
	else if (get(json, "clock_back_ns") ||
		 get(json, "sleeping_ns") > get_ns(json, "last_ns") - get_ns(json, "first_ns"))
		puts("sleeping  unknown: the times go back, so that the same time comes several times");
	if (get(json, "unknown_texts"))
		printf("note: %" PRIu64
		       " use%s of an interned text that the packet lacks: the text is # and its number\n",
		       get(json, "unknown_texts"), get(json, "unknown_texts") == 1 ? "" : "s");
	if (get(json, "skipped_extras"))
		printf("note: %" PRIu64 " event%s of an unknown kind skipped\n", get(json, "skipped_extras"),
		       get(json, "skipped_extras") == 1 ? "" : "s");
	if (json_is_true(json_object_get(json, "truncated")))
		puts("note: the trace exceeds the memory limits: threads, labels and counters are incomplete");
}

/* Print the counts under KEY as a table. HEAD is the heading of its first column. */
static int show_counts(const json_t *json, const char *key, const char *head)
{
	const char *const heads[] = {head, ">COUNT"};
	CLEANUP(table_deinit) struct table t = {0};
	const json_t *counts = json_object_get(json, key);
	const char *name;
	json_t *value;

	if (!json_object_size(counts))
		return CTL_OK;
	table_init(&t, heads, 2);
	table_cut(&t);
	json_object_foreach((json_t *)counts, name, value)
	{
		table_add(&t, name);
		table_add_json(&t, value);
	}
	putchar('\n');
	return table_print(&t);
}

static void add_signed(struct table *t, const json_t *value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	table_add(t, text);
}

static void add_counter(struct table *t, const char *name, const json_t *counter)
{
	const json_t *kind = json_object_get(counter, "kind"), *sum = json_object_get(counter, "sum");
	const json_t *rate = json_object_get(counter, "rate_per_s");
	char text[32];

	table_add(t, name);
	table_add(t, json_string_value(kind));
	add_signed(t, json_object_get(counter, "samples"));
	add_signed(t, json_object_get(counter, "first"));
	add_signed(t, json_object_get(counter, "last"));
	add_signed(t, json_object_get(counter, "min"));
	add_signed(t, json_object_get(counter, "max"));
	if (sum)
		add_signed(t, sum);
	else
		table_add(t, NULL);
	snprintf(text, sizeof(text), "%.1f", json_real_value(rate));
	table_add(t, json_is_real(rate) ? text : NULL);
}

static int show_counters(const json_t *json)
{
	static const char *const heads[] = {"COUNTER", "KIND", ">SAMPLES", ">FIRST",	 ">LAST",
					    ">MIN",    ">MAX", ">SUM",	   ">PER SECOND"};
	CLEANUP(table_deinit) struct table t = {0};
	const json_t *counters = json_object_get(json, "counters");
	const char *name;
	json_t *c;

	if (!json_object_size(counters))
		return CTL_OK;
	table_init(&t, heads, ARRAY_SIZE(heads));
	table_cut(&t);
	json_object_foreach((json_t *)counters, name, c)
	{
		add_counter(&t, name, c);
	}
	putchar('\n');
	return table_print(&t);
}

static int show_busiest(const json_t *json)
{
	static const char *const heads[] = {">BUSIEST", "TYPE", ">RAN FOR", "LABEL"};
	CLEANUP(table_deinit) struct table t = {0};
	const json_t *array = json_object_get(json, "busiest");
	char text[32];

	if (!json_array_size(array))
		return CTL_OK;
	table_init(&t, heads, 4);
	table_cut(&t);
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *thread = json_array_get(array, i);

		add_signed(&t, json_object_get(thread, "thread"));
		table_add_json(&t, json_object_get(thread, "type"));
		table_add(&t, span_text(get(thread, "running_ns"), text, sizeof(text)));
		table_add_json(&t, json_object_get(thread, "label"));
	}
	putchar('\n');
	return table_print(&t);
}

static int show_should_resolve(const json_t *json)
{
	static const char *const heads[] = {">SHOULD RESOLVE", "RESOLVED", "LABEL"};
	CLEANUP(table_deinit) struct table t = {0};
	const json_t *array = json_object_get(json, "should_resolve");

	if (!json_array_size(array))
		return CTL_OK;
	table_init(&t, heads, 3);
	table_cut(&t);
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *thread = json_array_get(array, i);

		add_signed(&t, json_object_get(thread, "thread"));
		table_add_json(&t, json_object_get(thread, "resolved"));
		table_add_json(&t, json_object_get(thread, "label"));
	}
	putchar('\n');
	return table_print(&t);
}

static int show_stream(const json_t *json, struct timing *timing)
{
	const char *name = json_string_value(json_object_get(json, "stream"));
	CLEANUP(freep) char *safe = name ? printable(name, strlen(name)) : NULL;
	int r;

	if (name)
		printf("stream    %s\n", safe ? safe : "?");
	show_head(json, timing);
	r = show_counts(json, "events_by_type", "EVENT");
	r = r ? r : show_counts(json, "threads_by_type", "THREADS");
	r = r ? r : show_counters(json);
	r = r ? r : show_busiest(json);
	r = r ? r : show_should_resolve(json);
	return r ? r : stdout_verdict();
}

int stats_show(const json_t *json, struct timing *timing)
{
	const json_t *streams = json_object_get(json, "streams");
	int r;

	if (!streams)
		return show_stream(json, timing);
	for (size_t i = 0; i < json_array_size(streams); i++) {
		if (i)
			putchar('\n');
		r = show_stream(json_array_get(streams, i), timing);
		if (r)
			return r;
	}
	return CTL_OK;
}
