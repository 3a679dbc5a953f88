/*
 * `mprofctl stats`: summarize a trace in numbers.
 *
 * The numbers are always collected as JSON. The text for people is printed from that JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cleanup.h"
#include "input.h"
#include "stats-answer.h"
#include "table.h"
#include "verbs.h"

struct stats {
	struct period *period; /* borrowed */
	struct tally *tallies;
	char **names; /* stream names, owned; NULL for a single stream */
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

static int stats_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct stats *s = context;
	struct tally *t;

	if (!s->n && stats_reserve(s, 1))
		return -ENOMEM;
	t = &s->tallies[stream];
	period_holds(s->period, events[0].raw.timestamp);
	t->from = period_from(s->period);
	t->to = period_to(s->period);
	tally_events(t, events, n);
	return t->failed ? -ENOMEM : 0;
}

/*
 * Return the numbers of stream I as a JSON object, which the caller decrefs. IN has the totals of
 * the reading.
 */
static json_t *stream_json(struct stats *s, const struct input *in, unsigned int i)
{
	json_t *object;

	tally_end(&s->tallies[i]);
	object = tally_json(&s->tallies[i], &in->stream[i].totals, in->stream[i].bytes);
	json_object_set_new(object, "cut_bytes", json_integer((json_int_t)in->stream[i].cut_bytes));
	if (s->names)
		json_object_set_new(object, "stream", stats_name(s->names[i]));
	return object;
}

/*
 * Return a JSON array of the marked threads that never resolved, of all streams ("should_resolve"
 * of each object in STREAMS). Each thread has the name of its stream added.
 */
static json_t *all_expected(const json_t *streams)
{
	json_t *all = json_array(), *stream, *thread;
	size_t i, k;

	json_array_foreach(streams, i, stream)
	{
		json_array_foreach(json_object_get(stream, "should_resolve"), k, thread)
		{
			thread = json_copy(thread);
			json_object_set(thread, "stream", json_object_get(stream, "stream"));
			json_array_append_new(all, thread);
		}
	}
	return all;
}

/*
 * Return a JSON object with the sums over all streams, under the keys that a single stream has.
 * Keys whose values cannot be added are left out. STREAMS is the array of the streams' objects.
 */
static json_t *total_json(const struct stats *s, const struct input *in, const json_t *streams)
{
	static const char *const single[] = {"busiest", "sleeping_ns", "sleeping_share"};
	CLEANUP(tally_deinit) struct tally total;
	struct mprof_totals totals = {0};
	uint64_t bytes = 0;
	json_t *object;

	tally_init(&total, 1);
	for (unsigned int i = 0; i < s->n; i++) {
		tally_join(&total, &s->tallies[i]);
		totals.packets += in->stream[i].totals.packets;
		totals.lost_packets += in->stream[i].totals.lost_packets;
		totals.damages += in->stream[i].totals.damages;
		totals.unproven += in->stream[i].totals.unproven;
		totals.steps += in->stream[i].totals.steps;
		if (in->stream[i].totals.step_ns > totals.step_ns)
			totals.step_ns = in->stream[i].totals.step_ns;
		bytes += in->stream[i].bytes;
	}
	object = total.failed ? NULL : tally_json(&total, &totals, bytes);
	json_object_set_new(object, "cut_bytes", json_integer((json_int_t)in->cut_bytes));
	for (unsigned int i = 0; i < ARRAY_SIZE(single); i++)
		json_object_del(object, single[i]);
	json_object_set_new(object, "should_resolve", all_expected(streams));
	return object;
}

/*
 * Return the answer as JSON, which the caller decrefs: the numbers of a single stream; or, for
 * several streams, the sums and an array with the numbers of each. Return NULL without memory.
 */
static json_t *stats_json(struct stats *s, const struct input *in)
{
	json_t *array, *object;

	if (!s->names)
		return stream_json(s, in, 0);
	array = json_array();
	for (unsigned int i = 0; i < s->n; i++)
		json_array_append_new(array, stream_json(s, in, i));
	object = total_json(s, in, array);
	json_object_set_new(object, "streams", array);
	return object;
}

static int stats_print(struct stats *s, struct trace_args *from)
{
	json_t *json;
	int r;

	/* Without an event no stream was added; show one with zeros. */
	if (!s->n && stats_reserve(s, 1))
		return say_memory();
	json = stats_json(s, &from->in);
	if (!json)
		return say_memory();
	from->timing.first = from->timing.period.first;
	timing_json_walls(&from->timing, json);
	timing_json_uncertainty(&from->timing, json);
	r = from->ctl->json ? json_print(json) : stats_show(json, &from->timing);
	json_decref(json);
	return r;
}

int cmd_stats(const struct ctl *ctl, int argc, char **argv)
{
	CLEANUP(trace_args_deinit) struct trace_args args = {0};
	CLEANUP(stats_deinit) struct stats stats = {.period = &args.timing.period};
	const struct consumer consumer = {.streams = stats_streams, .events = stats_events, .context = &stats};
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
