/*
 * `mprofctl stats`: what is in a trace, in numbers.
 *
 * One way to the numbers: they are made as JSON, and what people see is made of that.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "options.h"
#include "period.h"
#include "scope.h"
#include "stats-show.h"
#include "table.h"
#include "tally-json.h"

struct stats {
	struct period period;
	struct tally *tallies;
	char **names; /* of the streams, owned; NULL = there is one */
	unsigned int n;
};

static void stats_deinit(struct stats *s)
{
	unsigned int i;

	for (i = 0; i < s->n; i++) {
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

static int stats_streams(void *data, char *const *names, unsigned int count)
{
	struct stats *s = data;
	unsigned int i;

	if (stats_reserve(s, count))
		return -ENOMEM;
	s->names = calloc(count, sizeof(*s->names));
	for (i = 0; s->names && i < count; i++) {
		s->names[i] = strdup(names[i]);
		if (!s->names[i])
			return -ENOMEM;
	}
	return s->names ? 0 : -ENOMEM;
}

static int stats_events(void *data, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct stats *s = data;
	struct tally *t;
	size_t i;

	if (!s->n && stats_reserve(s, 1))
		return -ENOMEM;
	t = &s->tallies[stream];
	period_holds(&s->period, events[0].raw.timestamp);
	t->from = period_from(&s->period);
	t->to = period_to(&s->period);
	for (i = 0; i < n; i++)
		tally_event(t, &events[i].raw);
	return t->failed ? -ENOMEM : 0;
}

/* What there is to say of stream I. */
static json_t *stream_json(struct stats *s, const struct input *in, unsigned int i)
{
	json_t *object;

	tally_end(&s->tallies[i]);
	object = tally_json(&s->tallies[i], &in->stream[i].totals, in->stream[i].bytes);
	if (s->names)
		json_object_set_new(object, "stream", stats_name(s->names[i]));
	return object;
}

/* Of one stream its numbers, of several an object with an array of them. */
static json_t *stats_json(struct stats *s, const struct input *in)
{
	json_t *array;
	unsigned int i;

	if (!s->names)
		return stream_json(s, in, 0);
	array = json_array();
	for (i = 0; i < s->n; i++)
		json_array_append_new(array, stream_json(s, in, i));
	return json_pack("{so}", "streams", array);
}

static int stats_print(const struct ctl *ctl, struct stats *s, const struct input *in)
{
	json_t *json;
	int r;

	if (!s->n && stats_reserve(s, 1)) /* no event came */
		return say_memory();
	json = stats_json(s, in);
	if (!json)
		return say_memory();
	r = ctl->json ? json_print(json) : stats_show(json);
	json_decref(json);
	return r;
}

int cmd_stats(const struct ctl *ctl, int argc, char **argv)
{
	SCOPED(input_deinit) struct input in = {0};
	SCOPED(stats_deinit) struct stats stats = {0};
	const struct sink sink = {.streams = stats_streams, .events = stats_events, .data = &stats};
	struct selection s = {0};
	const char *from = NULL, *to = NULL;
	const struct option_def defs[] = {
		SELECTION_OPTIONS(s),
		PERIOD_OPTIONS(from, to),
	};
	struct operands left;
	int r = options_parse(argc, argv, defs, sizeof(defs) / sizeof(defs[0]), &left, 1, 1), printed;

	r = r ? r : period_parse(&stats.period, from, to, argv[0]);
	if (r)
		return r;
	r = input_run(&in, ctl, &sink, left.at[0], &s, false, argv[0]);
	if (r == INPUT_REFUSED)
		return say_memory();
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	printed = stats_print(ctl, &stats, &in);
	return printed ? printed : r;
}
