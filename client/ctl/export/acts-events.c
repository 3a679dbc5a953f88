/*
 * What each event does, as in the model (client/trace/model/model-events.c).
 *
 * An instant has the event's own time.  Slices begin and end at the latest time that the stream has said, because they must hold each other;
 * where an event is older than one before it, the note `time_ns` says when it was.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acts-state.h"

/* What happens to a whole stream and to none of its threads, each on a track of its own: collections, losses, damage. */

/* The track of what happens to the whole stream. */
static int extra(struct acts *a, struct act_stream *s, const char *name, uint32_t *number)
{
	struct act_track track = {.kind = ACT_EXTRA, .name = name, .name_bytes = strlen(name)};

	if (*number)
		return 0;
	*number = track.track = acts_track_new(a);
	return acts_tell_track(a, s, &track);
}

int acts_collection(struct acts *a, struct act_stream *s, const struct mprof_raw_event *e, uint64_t time)
{
	uint64_t duration = (uint64_t)e->number, start = duration < time ? time - duration : 0;
	struct act act = {.kind = ACT_BEGIN, .category = mprof_event_name(e->id)}, end;
	int r = extra(a, s, "gc", &s->collector);

	/* One after the other, whatever they say. */
	start = start < s->collected ? s->collected : start;
	s->collected = time < start ? start : time;
	act.track = s->collector;
	act.time = start;
	act_set_name(&act, act.category);
	if (s->collected != e->timestamp)
		act_add_note(&act, "time_ns", (int64_t)e->timestamp);
	act_add_note(&act, "duration_ns", e->number);
	end = (struct act){.kind = ACT_END, .track = s->collector, .time = s->collected, .category = act.category};
	act_set_name(&end, act.name);
	r = r ? r : acts_put(a, s, &act);
	return r ? r : acts_put(a, s, &end);
}

int acts_lost(struct acts *a, struct act_stream *s, uint64_t to)
{
	struct act act = {.time = s->now, .category = "gap"};
	int r;

	if (!s->lost)
		return 0;
	r = extra(a, s, "gaps", &s->faults);
	act.track = s->faults;
	act_set_name(&act, "packets lost");
	act_add_note(&act, "packets", (int64_t)s->lost);
	s->lost = 0;
	r = r ? r : acts_put(a, s, &act);
	act.kind = ACT_END;
	act.n_notes = 0;
	act.time = to > s->now ? to : s->now;
	return r ? r : acts_put(a, s, &act);
}

int acts_damage(void *data, unsigned int stream, const struct mprof_damage *damage)
{
	struct acts *a = data;
	struct act act = {.kind = ACT_INSTANT, .category = "damage"};
	struct act_stream *s;
	char text[256];
	int r;

	if (!a->stream || !a->stream[stream].begun) /* there is no time yet that it could stand at */
		return 0;
	s = &a->stream[stream];
	act.time = s->now;
	act.name = text;
	act.name_bytes = mprof_damage_text(damage, text, sizeof(text));
	r = extra(a, s, "gaps", &s->faults);
	act.track = s->faults;
	return r ? r : acts_put(a, s, &act);
}

/* Counters: a track for each name of a stream, and what it is at.  Where only changes are told, it counts from 0. */

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

#define MARKER "__should_resolve"

/* One event. */
struct step {
	struct acts *a;
	struct act_stream *s;
	const struct mprof_raw_event *e;
	uint64_t time;
};

static struct cast_thread *thread_at(const struct step *x, uint32_t thread)
{
	return &x->s->cast.list[thread];
}

/* The event shows that the thread is there still. */
static void touch(const struct step *x, uint32_t thread)
{
	thread_at(x, thread)->last = x->s->now;
}

/* The act that stands for the event, on the track of THREAD. */
static struct act act_of(const struct step *x, enum act_kind kind, uint32_t thread)
{
	struct act act = {
		.kind = kind,
		.track = thread_at(x, thread)->track,
		.time = kind == ACT_BEGIN ? x->s->now : x->time,
		.category = mprof_event_name(x->e->id),
	};

	act_set_name(&act, act.category);
	if (act.time != x->e->timestamp)
		act_add_note(&act, "time_ns", (int64_t)x->e->timestamp);
	return act;
}

/* THREAD runs from now on.  OWN: the event says nothing but that, and so is the slice's beginning. */
static int run(const struct step *x, uint32_t thread, bool own)
{
	struct act_stream *s = x->s;
	bool open = s->running != thread && !(thread_at(x, thread)->flags & CAST_ENDED);
	struct act act = act_of(x, open ? ACT_BEGIN : ACT_INSTANT, thread);
	int r = 0;

	if (s->running != thread) {
		r = acts_stop(x->a, s, s->now);
		s->running = thread;
		s->run_open = open;
	}
	if (!own) {
		act.category = "run";
		act.n_notes = 0;
	} else {
		act_add_note(&act, "thread", x->e->context);
	}
	act_set_name(&act, thread == s->root ? "idle" : "running");
	if (open)
		s->run_category = act.category;
	return r || (!own && !open) ? r : acts_put(x->a, s, &act);
}

/* Two instants: what DOER did to OTHER, ids and all.  The flow goes from DOER, or to it where BACK is set. */
static int pair(const struct step *x, int64_t doer_id, int64_t other_id, bool back)
{
	struct act act[2];
	uint32_t doer, other;
	int r = acts_thread(x->a, x->s, doer_id, &doer);

	r = r ? r : acts_thread(x->a, x->s, other_id, &other);
	if (r)
		return r;
	touch(x, doer);
	act[back] = act_of(x, ACT_INSTANT, doer);
	act_add_note(&act[back], "thread", doer_id);
	act_add_note(&act[back], "other", other_id);
	if (x->e->id == MPROF_EVENT_fails)
		act[back].notes[act[back].n_notes++] =
			(struct act_note){.key = "failure", .text = x->a->text.text, .text_bytes = x->a->text.bytes};
	act[!back] = act_of(x, ACT_INSTANT, other);
	act[!back].n_notes = 0;
	act[!back].category = "target";
	act[0].flow_id = act[1].flow_id = ++x->a->flows;
	act[0].flow = ACT_FLOW_BEGINS;
	act[1].flow = ACT_FLOW_ENDS;
	r = acts_put(x->a, x->s, &act[0]);
	return r ? r : acts_put(x->a, x->s, &act[1]);
}

/* An event that does nothing but be there. */
static int alone(const struct step *x, int64_t id, int64_t other)
{
	struct act act;
	uint32_t thread;
	int r = acts_thread(x->a, x->s, id, &thread);

	if (r)
		return r;
	act = act_of(x, ACT_INSTANT, thread);
	act_add_note(&act, "thread", id);
	act_add_note(&act, "other", other);
	return acts_put(x->a, x->s, &act);
}

static int on_creates(const struct step *x)
{
	uint32_t creator, thread, old = cast_bearer(&x->s->cast, x->e->number);
	struct act act;
	int r = acts_thread(x->a, x->s, x->e->context, &creator);

	if (r || x->e->number == MPROF_THREAD_NONE)
		return r ? r : alone(x, x->e->context, x->e->number);
	touch(x, creator);
	/* From now on the id is another's, and nothing can be heard of the one that bore it. */
	if (old != CAST_NONE)
		r = acts_end_life(x->a, x->s, old, x->s->now, true);
	r = r ? r : acts_create(x->a, x->s, x->e->number, x->e->type, &thread);
	if (r)
		return r;
	touch(x, thread);
	act = act_of(x, thread_at(x, thread)->flags & CAST_SHARED ? ACT_INSTANT : ACT_BEGIN, thread);
	act.life = act.kind == ACT_BEGIN;
	if (act.life)
		thread_at(x, thread)->flags |= CAST_ALIVE | CAST_CREATED;
	act_set_name(&act, mprof_thread_type_name(x->e->type));
	act_add_note(&act, "thread", x->e->context);
	act_add_note(&act, "other", x->e->number);
	act_add_note(&act, "type", x->e->type);
	return acts_put(x->a, x->s, &act);
}

static int on_resolved(const struct step *x)
{
	uint32_t thread;
	int r = pair(x, x->e->context, x->e->number, false);

	if (r || x->e->number == MPROF_THREAD_NONE)
		return r;
	r = acts_thread(x->a, x->s, x->e->number, &thread);
	return r ? r : acts_end_life(x->a, x->s, thread, x->s->now, true);
}

static int on_becomes(const struct step *x)
{
	uint32_t from, to;
	bool runs;
	int r = pair(x, x->e->context, x->e->number, false);

	r = r ? r : acts_thread(x->a, x->s, x->e->context, &from);
	r = r ? r : acts_thread(x->a, x->s, x->e->number, &to);
	if (r || from == x->s->root || ((thread_at(x, from)->flags | thread_at(x, to)->flags) & CAST_SHARED) ||
	    !cast_become(&x->s->cast, from, to))
		return r;
	thread_at(x, to)->flags |= thread_at(x, from)->flags & CAST_EXPECTED;
	runs = x->s->running == from;
	r = acts_end_life(x->a, x->s, from, x->s->now, true);
	return r || !runs ? r : run(x, to, false);
}

static int on_looks(const struct step *x, bool runs)
{
	bool found = x->e->id != MPROF_EVENT_try_read;
	uint32_t reader, source;
	int r;

	if (x->e->number == MPROF_THREAD_NONE)
		return alone(x, x->e->context, x->e->number);
	r = acts_thread(x->a, x->s, x->e->context, &reader);
	r = r ? r : acts_thread(x->a, x->s, x->e->number, &source);
	if (!r && runs)
		r = run(x, reader, false);
	if (r)
		return r;
	/* What was read is over; what was not resolved yet is there still. */
	if (!found)
		touch(x, source);
	return pair(x, x->e->context, x->e->number, found);
}

static int on_signal(const struct step *x)
{
	uint32_t receiver;
	int r = acts_thread(x->a, x->s, x->e->context, &receiver);

	if (!r && x->e->id == MPROF_EVENT_signal)
		r = run(x, receiver, false);
	if (!r)
		touch(x, receiver);
	return r ? r : pair(x, x->e->number, x->e->context, false);
}

static bool is_marker(const struct mprof_raw_event *e)
{
	return e->text && e->text_bytes == sizeof(MARKER) - 1 && memcmp(e->text, MARKER, sizeof(MARKER) - 1) == 0;
}

static int on_label(const struct step *x)
{
	const struct utf8 *text = &x->a->text;
	struct cast_thread *t;
	struct act act;
	uint32_t thread;
	int r = acts_thread(x->a, x->s, x->e->context, &thread);

	if (r)
		return r;
	t = thread_at(x, thread);
	touch(x, thread);
	if (is_marker(x->e)) {
		t->flags |= CAST_EXPECTED;
	} else if (!(t->flags & (CAST_LABELLED | CAST_SHARED)) && thread != x->s->root && text->bytes) {
		t->flags |= CAST_LABELLED;
		r = acts_name(x->a, x->s, t, text->text, text->bytes);
	}
	act = act_of(x, ACT_INSTANT, thread);
	act.name = text->text;
	act.name_bytes = text->bytes;
	act_add_note(&act, "thread", x->e->context);
	return r ? r : acts_put(x->a, x->s, &act);
}

static int on_switch(const struct step *x)
{
	uint32_t thread;
	int r = acts_thread(x->a, x->s, x->e->context, &thread);

	return r ? r : run(x, thread, true);
}

static int handle(const struct step *x)
{
	switch ((enum mprof_event_id)x->e->id) {
	case MPROF_EVENT_creates:
		return on_creates(x);
	case MPROF_EVENT_fulfills:
	case MPROF_EVENT_fails:
		return on_resolved(x);
	case MPROF_EVENT_becomes:
		return on_becomes(x);
	case MPROF_EVENT_label:
		return on_label(x);
	case MPROF_EVENT_switch:
		return on_switch(x);
	case MPROF_EVENT_read:
	case MPROF_EVENT_try_read:
	case MPROF_EVENT_read_later:
		return on_looks(x, x->e->id == MPROF_EVENT_read);
	case MPROF_EVENT_signal:
	case MPROF_EVENT_signal_noswitch:
		return on_signal(x);
	case MPROF_EVENT_increase:
	case MPROF_EVENT_counter:
		return acts_counter(x->a, x->s, x->e, x->time);
	case MPROF_EVENT_gc:
		return acts_collection(x->a, x->s, x->e, x->time);
	case MPROF_EVENT_IDS:
		break;
	}
	return 0;
}

int acts_event(struct acts *a, struct act_stream *s, const struct mprof_raw_event *e)
{
	struct step x = {.a = a, .s = s, .e = e, .time = e->timestamp};
	int r = cast_reserve(&s->cast, &s->running);

	if (x.time > ACT_TIME_MAX)
		x.time = ACT_TIME_MAX;
	a->events++;
	r = r ? r : acts_lost(a, s, x.time);
	s->now = s->now > x.time ? s->now : x.time;
	if (!r && e->text)
		r = utf8_set(&a->text, e->text, e->text_bytes);
	return r ? r : handle(&x);
}
