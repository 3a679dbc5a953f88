/*
 * Events, and gaps where they touch the period: one counts with the event behind it, and at the end of a stream where the period has no end.
 * Damage has no time and is always passed on.
 */
#include <errno.h>
#include <stdlib.h>

#include "gate.h"

static int on_streams(void *data, char *const *names, unsigned int count)
{
	struct gate *g = data;

	free(g->gaps);
	g->gaps = calloc(count, sizeof(*g->gaps));
	g->streams = count;
	if (!g->gaps)
		return -ENOMEM;
	return g->to.streams ? g->to.streams(g->to.data, names, count) : 0;
}

/* Where there is one stream nobody says so. */
static int reserve(struct gate *g)
{
	if (g->streams)
		return 0;
	g->gaps = calloc(1, sizeof(*g->gaps));
	g->streams = 1;
	return g->gaps ? 0 : -ENOMEM;
}

static int pass_gap(struct gate *g, unsigned int stream)
{
	uint64_t gap = g->gaps[stream];

	g->gaps[stream] = 0;
	return gap && g->to.gap ? g->to.gap(g->to.data, stream, gap) : 0;
}

static int pass(struct gate *g, unsigned int stream, const struct mprof_event *events, size_t n)
{
	int r = pass_gap(g, stream);

	g->events += n;
	return r ? r : g->to.events(g->to.data, stream, events, n);
}

static int on_events(void *data, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct gate *g = data;
	size_t from, i = 0;
	int r = reserve(g);

	while (!r && i < n) {
		for (from = i; i < n && period_holds(g->period, events[i].raw.timestamp); i++)
			;
		if (i > from)
			r = pass(g, stream, events + from, i - from);
		if (i < n) {
			g->gaps[stream] = 0;
			i++;
		}
	}
	return r;
}

static int on_gap(void *data, unsigned int stream, uint64_t packets)
{
	struct gate *g = data;
	int r = reserve(g);

	if (!r)
		g->gaps[stream] += packets;
	return r;
}

static int on_damage(void *data, unsigned int stream, const struct mprof_damage *damage)
{
	struct gate *g = data;

	return g->to.damage ? g->to.damage(g->to.data, stream, damage) : 0;
}

/* What is not let through needs no mark. */
static int on_tail(void *data, unsigned int stream, uint64_t from_ns)
{
	struct gate *g = data;

	if (g->period->to.given && from_ns > period_to(g->period))
		return 0;
	return g->to.tail(g->to.data, stream, from_ns);
}

static int on_pause(void *data)
{
	struct gate *g = data;

	return g->to.pause ? g->to.pause(g->to.data) : 0;
}

void gate_init(struct gate *g, const struct sink *to, struct period *period)
{
	*g = (struct gate){.to = *to, .period = period};
	g->sink = (struct sink){
		.streams = on_streams,
		.events = on_events,
		.gap = on_gap,
		.damage = on_damage,
		.tail = to->tail ? on_tail : NULL,
		.pause = on_pause,
		.data = g,
	};
}

void gate_deinit(struct gate *g)
{
	free(g->gaps);
	g->gaps = NULL;
}

int gate_end(struct gate *g)
{
	unsigned int i;
	int r = 0;

	for (i = 0; i < g->streams && !r && !g->period->to.given; i++)
		r = pass_gap(g, i);
	return r;
}
