/* Counters: a track for each name of a stream, and what it is at.  Where only changes are told, it counts from 0. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acts-state.h"

/* Room for counter I. */
static int reach(struct act_stream *s, uint32_t i)
{
	uint32_t room = s->counter_room ? s->counter_room : 16;
	struct act_counter *counters;

	if (i < s->counter_room)
		return 0;
	while (room <= i)
		room *= 2;
	counters = realloc(s->counters, room * sizeof(*counters));
	if (!counters)
		return -ENOMEM;
	memset(counters + s->counter_room, 0, (room - s->counter_room) * sizeof(*counters));
	s->counters = counters;
	s->counter_room = room;
	return 0;
}

/* What stands before the last `#` is the name of the scale. */
static size_t scale_of(const char *name, size_t len)
{
	const char *mark = len ? memrchr(name, '#', len) : NULL;

	return mark ? (size_t)(mark - name) : len;
}

static int counter_of(struct acts *a, struct act_stream *s, struct act_counter **counter)
{
	uint32_t i = texts_add(&s->counter_names, a->text.text, a->text.bytes);
	struct act_track track = {.kind = ACT_COUNTER, .name = a->text.text, .name_bytes = a->text.bytes};
	int r;

	*counter = NULL;
	if (i == TEXT_NONE) {
		a->refused++;
		return 0;
	}
	r = reach(s, i);
	if (r)
		return r;
	*counter = &s->counters[i];
	if ((*counter)->track)
		return 0;
	(*counter)->track = track.track = acts_track_new(a);
	track.scale_bytes = scale_of(track.name, track.name_bytes);
	return acts_tell_track(a, s, &track);
}

int acts_counter(struct acts *a, struct act_stream *s, const struct mprof_raw_event *e, uint64_t time)
{
	struct act_counter *c;
	struct act act = {
		.kind = ACT_VALUE,
		.time = time,
		.category = mprof_event_name(e->id),
		.name = a->text.text,
		.name_bytes = a->text.bytes,
		.notes = {{.key = "thread", .number = e->context}, {.key = "amount", .number = e->number}},
		.n_notes = e->id == MPROF_EVENT_increase ? 2 : 1,
	};
	uint32_t thread;
	int r = acts_thread(a, s, e->context, &thread);

	r = r ? r : counter_of(a, s, &c);
	if (r || !c)
		return r;
	s->cast.list[thread].last = s->now;
	/* A guest may say any amount: a sum that is too large goes around. */
	c->value = e->id == MPROF_EVENT_counter ? e->number : (int64_t)((uint64_t)c->value + (uint64_t)e->number);
	act.track = c->track;
	act.value = c->value;
	act.doer = s->cast.list[thread].track;
	if (time != e->timestamp)
		act.notes[act.n_notes++] = (struct act_note){.key = "time_ns", .number = (int64_t)e->timestamp};
	return acts_put(a, s, &act);
}
