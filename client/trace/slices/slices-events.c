/*
 * This file turns each trace event into slice events. It interprets the events as the model does
 * (client/trace/model/model-events.c).
 *
 * An instant has the time of its event. A slice of a thread begins and ends at the latest time seen
 * in its stream, because slices must nest. If the time written differs from the time of the trace
 * event, the note `time_ns` has the event's time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slices-state.h"

/*
 * Durations and garbage collections were recorded when they ended, an inner one before the one that encloses
 * it. They are kept until the trace has ended (whole-slices.h). A track of each stream shows lost packets and
 * damage.
 */

/*
 * Make a track called NAME for the stream S and set *NUMBER to the track's number, unless *NUMBER
 * is already set. Return 0 or -errno.
 */
static int extra(struct slices *slices, struct slice_stream *s, const char *name, uint32_t *number)
{
	struct slice_track track = {.kind = TRACK_EXTRA, .name = name, .name_bytes = strlen(name)};

	if (*number)
		return 0;
	*number = track.track = slices_new_track(slices);
	return slices_put_track(slices, s, &track);
}

enum whole_kind { WHOLE_COLLECTION, WHOLE_DURATION };

static const uint8_t whole_events[] = {[WHOLE_COLLECTION] = MPROF_EVENT_gc, [WHOLE_DURATION] = MPROF_EVENT_extra};

/* Pass the begin of W, a slice of S, to the format: on TRACK, with NAME, until END. */
static int put_whole(struct slices *slices, struct slice_stream *s, const struct whole_slice *w, const char *name,
		     uint32_t track, uint64_t end)
{
	enum whole_kind kind = w->group % 2;
	struct slice_event event = {
		.kind = SLICE_BEGIN,
		.whole = true,
		.until = end,
		.category = mprof_event_name(whole_events[kind]),
		.track = track,
		.actor = w->actor,
		.time = w->start,
	};

	if (kind == WHOLE_COLLECTION)
		slice_set_name(&event, event.category);
	else
		slice_set_text(&event, name, w->name_bytes);
	if (kind == WHOLE_DURATION)
		slice_add_note(&event, "thread", w->thread);
	if (end != w->stamp)
		slice_add_note(&event, "time_ns", (int64_t)w->stamp);
	slice_add_note(&event, "duration_ns", w->duration);
	return slices_put(slices, s, &event);
}

static int put_whole_end(struct slices *slices, struct slice_stream *s, enum whole_kind kind, uint32_t track,
			 uint64_t time)
{
	struct slice_event event = {
		.kind = SLICE_END,
		.whole = true,
		.category = mprof_event_name(whole_events[kind]),
		.track = track,
		.time = time,
	};

	slice_set_name(&event, event.category);
	return slices_put(slices, s, &event);
}

/* Make the next lane of KIND. The first one is called like the kind, and the others have numbers. */
static int new_lane(struct slices *slices, struct slice_stream *s, enum whole_kind kind)
{
	char name[32];
	struct slice_track track = {.kind = TRACK_LANE, .track = slices_new_track(slices), .name = name};

	if (!s->lanes[kind]++)
		s->lane_track[kind] = track.track;
	track.name_bytes = (size_t)snprintf(name, sizeof(name), s->lanes[kind] > 1 ? "%s %u" : "%s",
					    kind == WHOLE_COLLECTION ? "gc" : "durations", s->lanes[kind]);
	return slices_put_track(slices, s, &track);
}

static int on_whole(void *context, const struct whole_place *place)
{
	struct slices *slices = context;
	struct slice_stream *s = &slices->stream[place->slice->group / 2];
	enum whole_kind kind = place->slice->group % 2;
	int r = place->lane == s->lanes[kind] ? new_lane(slices, s, kind) : 0;

	return r ? r : put_whole(slices, s, place->slice, place->name, s->lane_track[kind] + place->lane, place->end);
}

static int on_whole_end(void *context, uint32_t group, unsigned int lane, uint64_t time)
{
	struct slices *slices = context;
	struct slice_stream *s = &slices->stream[group / 2];

	return put_whole_end(slices, s, group % 2, s->lane_track[group % 2] + lane, time);
}

int slices_lay(struct slices *s)
{
	return whole_slices_lay(&s->whole, &(struct whole_ops){.begin = on_whole, .end = on_whole_end, .context = s});
}

/* Keep W, a slice of S, whose event E ended at TIME; or pass it to the format at once. */
static int add_whole(struct slices *slices, struct slice_stream *s, enum whole_kind kind, struct whole_slice *w,
		     const struct mprof_raw_event *e, uint64_t time)
{
	uint64_t duration = (uint64_t)e->number;
	const char *name = e->text ? slices->text.text : "";
	int r;

	w->group = 2 * s->number + kind;
	w->start = duration < time ? time - duration : 0;
	w->end = time;
	w->stamp = e->timestamp;
	w->duration = e->number;
	w->name_bytes = e->text ? (uint32_t)slices->text.bytes : 0;
	if (!slices->at_once)
		return whole_slices_add(&slices->whole, w, name);
	r = put_whole(slices, s, w, name, 0, time);
	return r ? r : put_whole_end(slices, s, kind, 0, time);
}

int slices_collection(struct slices *slices, struct slice_stream *s, const struct mprof_raw_event *e, uint64_t time)
{
	struct whole_slice w = {0};

	return add_whole(slices, s, WHOLE_COLLECTION, &w, e, time);
}

int slices_duration(struct slices *slices, struct slice_stream *s, const struct mprof_raw_event *e, uint64_t time)
{
	struct whole_slice w = {.thread = e->context};
	uint32_t thread;
	int r = slices_thread(slices, s, e->context, &thread);

	if (r)
		return r;
	s->threads.list[thread].last = s->now;
	w.actor = s->threads.list[thread].track;
	return add_whole(slices, s, WHOLE_DURATION, &w, e, time);
}

int slices_lost(struct slices *slices, struct slice_stream *s, uint64_t to)
{
	struct slice_event event = {.time = s->now, .category = "gap"};
	int r;

	if (!s->lost)
		return 0;
	r = extra(slices, s, "gaps", &s->faults);
	event.track = s->faults;
	slice_set_name(&event, "packets lost");
	slice_add_note(&event, "packets", (int64_t)s->lost);
	s->lost = 0;
	r = r ? r : slices_put(slices, s, &event);
	event.kind = SLICE_END;
	event.n_notes = 0;
	event.time = to > s->now ? to : s->now;
	return r ? r : slices_put(slices, s, &event);
}

int slices_damage(void *context, unsigned int stream, const struct mprof_damage *damage)
{
	struct slices *slices = context;
	struct slice_event event = {.kind = SLICE_INSTANT, .category = "damage"};
	struct slice_stream *s;
	char text[256];
	int r;

	if (!slices->stream || !slices->stream[stream].begun) /* the damage has no time before the first event */
		return 0;
	s = &slices->stream[stream];
	event.time = s->now;
	event.name = text;
	event.name_bytes = mprof_damage_text(damage, text, sizeof(text));
	r = extra(slices, s, "gaps", &s->faults);
	event.track = s->faults;
	return r ? r : slices_put(slices, s, &event);
}

/*
 * Each counter name of a stream has a track that shows the counter's value. The value is 0 before
 * the first event that names the counter.
 */

/* Make room for the counter with index I in S's array COUNTERS. Return 0 or -ENOMEM. */
static int reach(struct slice_stream *s, uint32_t i)
{
	uint32_t room = s->counter_room ? s->counter_room : 16;
	struct slice_counter *counters;

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

/*
 * Return the length of the name of the counter's scale: the part of NAME in front of its last `#`,
 * or all of NAME if it has no `#`.
 */
static size_t scale_of(const char *name, size_t len)
{
	const char *mark = len ? memrchr(name, '#', len) : NULL;

	return mark ? (size_t)(mark - name) : len;
}

static int counter_of(struct slices *slices, struct slice_stream *s, struct slice_counter **counter)
{
	uint32_t i = texts_add(&s->counter_names, slices->text.text, slices->text.bytes);
	struct slice_track track = {.kind = TRACK_COUNTER, .name = slices->text.text, .name_bytes = slices->text.bytes};
	int r;

	*counter = NULL;
	if (i == TEXT_NONE) {
		slices->refused++;
		return 0;
	}
	r = reach(s, i);
	if (r)
		return r;
	*counter = &s->counters[i];
	if ((*counter)->track)
		return 0;
	(*counter)->track = track.track = slices_new_track(slices);
	track.scale_bytes = scale_of(track.name, track.name_bytes);
	return slices_put_track(slices, s, &track);
}

/* Set the value of C as E says. The value of an amount is that of its last event, and no sum of them. */
static void change_counter(struct slice_counter *c, const struct mprof_raw_event *e)
{
	if (!c->kind && e->type < MPROF_COUNTER_KINDS)
		c->kind = e->type;
	/* Add without sign, because the amounts come from the guest and the sum may overflow. */
	if (e->id == MPROF_EVENT_counter || c->kind == MPROF_COUNTER_AMOUNT)
		c->value = e->number;
	else
		c->value = (int64_t)((uint64_t)c->value + (uint64_t)e->number);
}

int slices_counter(struct slices *slices, struct slice_stream *s, const struct mprof_raw_event *e, uint64_t time)
{
	struct slice_counter *c;
	struct slice_event event = {
		.kind = SLICE_VALUE,
		.time = time,
		.category = mprof_event_name(e->id),
		.name = slices->text.text,
		.name_bytes = slices->text.bytes,
	};
	uint32_t thread;
	int r = slices_thread(slices, s, e->context, &thread);

	r = r ? r : counter_of(slices, s, &c);
	if (r || !c)
		return r;
	slice_add_note(&event, "thread", e->context);
	if (e->id == MPROF_EVENT_increase)
		slice_add_note(&event, "amount", e->number);
	s->threads.list[thread].last = s->now;
	change_counter(c, e);
	event.track = c->track;
	event.value = c->value;
	event.actor = s->threads.list[thread].track;
	if (time != e->timestamp)
		slice_add_note(&event, "time_ns", (int64_t)e->timestamp);
	return slices_put(slices, s, &event);
}

/* The trace event that is being handled. */
struct step {
	struct slices *a;
	struct slice_stream *s;
	const struct mprof_raw_event *e;
	uint64_t time;
};

static struct table_thread *thread_at(const struct step *s, uint32_t thread)
{
	return &s->s->threads.list[thread];
}

/* Record that THREAD still existed at the stream's latest time. */
static void touch(const struct step *s, uint32_t thread)
{
	thread_at(s, thread)->last = s->s->now;
}

/*
 * Set EVENT to a slice event of kind KIND on the track of THREAD, with the time and category of the
 * trace event that S handles.
 */
static void event_of(const struct step *s, enum slice_kind kind, uint32_t thread, struct slice_event *event)
{
	memset(event, 0, offsetof(struct slice_event, notes));
	event->kind = kind;
	event->track = thread_at(s, thread)->track;
	event->time = kind == SLICE_BEGIN ? s->s->now : s->time;
	event->category = event->name = mprof_event_name(s->e->id);
	event->name_bytes = s->a->event_name_bytes[s->e->id];
	event->constant_name = true;
	if (event->time != s->e->timestamp)
		slice_add_note(event, "time_ns", (int64_t)s->e->timestamp);
}

/*
 * Make THREAD the running thread from the stream's latest time on. OWN: the trace event is a
 * switch, so the slice (or an instant, if no slice can begin) stands for that event. Return 0 or
 * -errno.
 */
static int run(const struct step *step, uint32_t thread, bool own)
{
	struct slice_stream *s = step->s;
	bool open = s->running != thread && !(thread_at(step, thread)->flags & THREAD_ENDED);
	struct slice_event event;
	int r = 0;

	event_of(step, open ? SLICE_BEGIN : SLICE_INSTANT, thread, &event);
	if (s->running != thread) {
		r = slices_stop(step->a, s, s->now);
		s->running = thread;
		s->run_open = open;
	}
	if (!own) {
		event.category = "run";
		event.n_notes = 0;
	} else {
		slice_add_note(&event, "thread", step->e->context);
	}
	slice_set_name(&event, thread == s->root ? "idle" : "running");
	if (open)
		s->run_category = event.category;
	return r || (!own && !open) ? r : slices_put(step->a, s, &event);
}

/*
 * Write two instants: one for the thread ACTOR_ID, which acted, and one for the thread OTHER_ID.
 * The flow goes from ACTOR_ID to OTHER_ID, or from OTHER_ID to ACTOR_ID if BACK is set. Return 0 or
 * -errno.
 */
static int pair(const struct step *s, int64_t actor_id, int64_t other_id, bool back)
{
	struct slice_event event[2];
	uint32_t actor, other;
	int r = slices_thread(s->a, s->s, actor_id, &actor);

	r = r ? r : slices_thread(s->a, s->s, other_id, &other);
	if (r)
		return r;
	touch(s, actor);
	event_of(s, SLICE_INSTANT, actor, &event[back]);
	slice_add_note(&event[back], "thread", actor_id);
	slice_add_note(&event[back], "other", other_id);
	if (s->e->id == MPROF_EVENT_fails)
		event[back].notes[event[back].n_notes++] = (struct slice_note){.key = "failure",
									       .key_bytes = strlen("failure"),
									       .text = s->a->text.text,
									       .text_bytes = s->a->text.bytes};
	event_of(s, SLICE_INSTANT, other, &event[!back]);
	event[!back].n_notes = 0;
	event[!back].category = "target";
	event[!back].target = true;
	event[0].flow_id = event[1].flow_id = ++s->a->flows;
	event[0].flow = SLICE_FLOW_BEGINS;
	event[1].flow = SLICE_FLOW_ENDS;
	r = slices_put(s->a, s->s, &event[0]);
	return r ? r : slices_put(s->a, s->s, &event[1]);
}

/*
 * Write an instant without a flow at the thread ID. OTHER is the value of the note `other`. Return
 * 0 or -errno.
 */
static int alone(const struct step *s, int64_t id, int64_t other)
{
	struct slice_event event;
	uint32_t thread;
	int r = slices_thread(s->a, s->s, id, &thread);

	if (r)
		return r;
	event_of(s, SLICE_INSTANT, thread, &event);
	slice_add_note(&event, "thread", id);
	slice_add_note(&event, "other", other);
	return slices_put(s->a, s->s, &event);
}

static int on_creates(const struct step *s)
{
	uint32_t creator, thread, old = thread_table_newest(&s->s->threads, s->e->number);
	struct slice_event event;
	int r = slices_thread(s->a, s->s, s->e->context, &creator);

	if (r || s->e->number == MPROF_THREAD_NONE)
		return r ? r : alone(s, s->e->context, s->e->number);
	touch(s, creator);
	/* From now on the id names the new thread, so no later event can name the old thread. */
	if (old != THREAD_NONE)
		r = slices_end_life(s->a, s->s, old, s->s->now, true);
	r = r ? r : slices_create(s->a, s->s, s->e->number, s->e->type, &thread);
	if (r)
		return r;
	touch(s, thread);
	event_of(s, thread_at(s, thread)->flags & THREAD_SHARED ? SLICE_INSTANT : SLICE_BEGIN, thread, &event);
	event.life = event.kind == SLICE_BEGIN;
	event.actor = thread_at(s, creator)->track;
	if (event.life)
		thread_at(s, thread)->flags |= THREAD_ALIVE | THREAD_CREATED;
	slice_set_name(&event, mprof_thread_type_name(s->e->type));
	slice_add_note(&event, "thread", s->e->context);
	slice_add_note(&event, "other", s->e->number);
	slice_add_note(&event, "type", s->e->type);
	return slices_put(s->a, s->s, &event);
}

static int on_resolved(const struct step *s)
{
	uint32_t thread;
	int r = pair(s, s->e->context, s->e->number, false);

	if (r || s->e->number == MPROF_THREAD_NONE)
		return r;
	r = slices_thread(s->a, s->s, s->e->number, &thread);
	return r ? r : slices_end_life(s->a, s->s, thread, s->s->now, true);
}

static int on_becomes(const struct step *s)
{
	uint32_t from, to;
	bool runs;
	int r = pair(s, s->e->context, s->e->number, false);

	r = r ? r : slices_thread(s->a, s->s, s->e->context, &from);
	r = r ? r : slices_thread(s->a, s->s, s->e->number, &to);
	if (r || from == s->s->root || ((thread_at(s, from)->flags | thread_at(s, to)->flags) & THREAD_SHARED) ||
	    !thread_table_alias(&s->s->threads, from, to))
		return r;
	thread_at(s, to)->flags |= thread_at(s, from)->flags & THREAD_EXPECTED;
	runs = s->s->running == from;
	r = slices_end_life(s->a, s->s, from, s->s->now, true);
	return r || !runs ? r : run(s, to, false);
}

static int on_looks(const struct step *s, bool runs)
{
	bool found = s->e->id != MPROF_EVENT_try_read;
	uint32_t reader, source;
	int r;

	if (s->e->number == MPROF_THREAD_NONE)
		return alone(s, s->e->context, s->e->number);
	r = slices_thread(s->a, s->s, s->e->context, &reader);
	r = r ? r : slices_thread(s->a, s->s, s->e->number, &source);
	if (!r && runs)
		r = run(s, reader, false);
	if (r)
		return r;
	/* A resolved thread has ended. A thread that is not resolved yet still exists. */
	if (!found)
		touch(s, source);
	return pair(s, s->e->context, s->e->number, found);
}

static int on_signal(const struct step *s)
{
	uint32_t receiver;
	int r = slices_thread(s->a, s->s, s->e->context, &receiver);

	if (!r && s->e->id == MPROF_EVENT_signal)
		r = run(s, receiver, false);
	if (!r)
		touch(s, receiver);
	return r ? r : pair(s, s->e->number, s->e->context, false);
}

static int on_label(const struct step *s)
{
	const struct utf8 *text = &s->a->text;
	struct table_thread *t;
	struct slice_event event;
	uint32_t thread;
	int r = slices_thread(s->a, s->s, s->e->context, &thread);

	if (r)
		return r;
	t = thread_at(s, thread);
	touch(s, thread);
	if (slice_is_marker(s->e)) {
		t->flags |= THREAD_EXPECTED;
	} else if (!(t->flags & (THREAD_LABELLED | THREAD_SHARED)) && thread != s->s->root && text->bytes) {
		t->flags |= THREAD_LABELLED;
		r = slices_name_thread(s->a, s->s, t, text->text, text->bytes);
	}
	event_of(s, SLICE_INSTANT, thread, &event);
	slice_set_text(&event, text->text, text->bytes);
	slice_add_note(&event, "thread", s->e->context);
	return r ? r : slices_put(s->a, s->s, &event);
}

static int on_switch(const struct step *s)
{
	uint32_t thread;
	int r = slices_thread(s->a, s->s, s->e->context, &thread);

	return r ? r : run(s, thread, true);
}

static int handle(const struct step *s)
{
	switch ((enum mprof_event_id)s->e->id) {
	case MPROF_EVENT_creates:
		return on_creates(s);
	case MPROF_EVENT_fulfills:
	case MPROF_EVENT_fails:
		return on_resolved(s);
	case MPROF_EVENT_becomes:
		return on_becomes(s);
	case MPROF_EVENT_label:
		return on_label(s);
	case MPROF_EVENT_switch:
		return on_switch(s);
	case MPROF_EVENT_read:
	case MPROF_EVENT_try_read:
	case MPROF_EVENT_read_later:
		return on_looks(s, s->e->id == MPROF_EVENT_read);
	case MPROF_EVENT_signal:
	case MPROF_EVENT_signal_noswitch:
		return on_signal(s);
	case MPROF_EVENT_increase:
	case MPROF_EVENT_counter:
		return slices_counter(s->a, s->s, s->e, s->time);
	case MPROF_EVENT_gc:
		return slices_collection(s->a, s->s, s->e, s->time);
	case MPROF_EVENT_extra:
		return slices_duration(s->a, s->s, s->e, s->time);
	case MPROF_EVENT_IDS:
		break;
	}
	return 0;
}

int slices_event(struct slices *slices, struct slice_stream *s, const struct mprof_raw_event *e)
{
	struct step x = {.a = slices, .s = s, .e = e, .time = e->timestamp};
	int r = thread_table_reserve(&s->threads, &s->running);

	if (x.time > SLICE_TIME_MAX)
		x.time = SLICE_TIME_MAX;
	slices->events++;
	if (!r && s->lost)
		r = slices_lost(slices, s, x.time);
	s->now = s->now > x.time ? s->now : x.time;
	if (!r && e->text)
		r = (slices->exact ? utf8_copy : utf8_set)(&slices->text, e->text, e->text_bytes);
	return r ? r : handle(&x);
}
