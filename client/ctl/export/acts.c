/* Streams, tracks, lives, and who runs.  acts-events.c says what an event does to them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acts-state.h"
#include "ctl.h"
#include "seed.h"

#define THREADS_MAX	  (4u << 20) /* of all streams together */
#define COUNTERS_MAX	  65536u
#define COUNTER_TEXTS_MAX (16u << 20)
#define LABEL_MAX	  200u /* bytes of a label in a name */
#define BEHIND_NS	  1000u

void acts_init(struct acts *a, const struct act_ops *ops, const char *name)
{
	*a = (struct acts){.ops = ops, .name = name, .threads_most = THREADS_MAX, .seed = seed_new(a)};
}

void acts_deinit(struct acts *a)
{
	unsigned int i;

	for (i = 0; i < a->streams; i++) {
		cast_deinit(&a->stream[i].cast);
		texts_deinit(&a->stream[i].counter_names);
		free(a->stream[i].counters);
	}
	free(a->stream);
	utf8_deinit(&a->text);
	utf8_deinit(&a->title);
	a->stream = NULL;
	a->streams = 0;
}

uint32_t acts_track_new(struct acts *a)
{
	return ++a->tracks;
}

int acts_tell_track(struct acts *a, const struct act_stream *s, struct act_track *track)
{
	track->stream = s->number;
	track->process = s->process;
	return a->ops->track(a->ops->data, track);
}

int acts_put(struct acts *a, const struct act_stream *s, struct act *act)
{
	act->stream = s->number;
	act->process = s->process;
	return a->ops->act(a->ops->data, act);
}

static int tell_process(struct acts *a, struct act_stream *s, const char *name)
{
	struct act_track track = {.kind = ACT_PROCESS, .track = acts_track_new(a)};
	int r = utf8_set(&a->title, name, strlen(name));

	s->process = track.track;
	track.name = a->title.text;
	track.name_bytes = a->title.bytes;
	return r ? r : acts_tell_track(a, s, &track);
}

/* COUNT streams, named by NAMES, or one that is named like the trace. */
static int set_up(struct acts *a, char *const *names, unsigned int count)
{
	unsigned int i;
	int r = 0;

	a->stream = calloc(count, sizeof(*a->stream));
	if (!a->stream)
		return -ENOMEM;
	a->streams = count;
	for (i = 0; i < count && !r; i++) {
		struct act_stream *s = &a->stream[i];

		*s = (struct act_stream){.number = i, .root = CAST_NONE, .running = CAST_NONE};
		cast_init(&s->cast, a->threads_most / count, a->seed);
		texts_init(&s->counter_names, COUNTERS_MAX / count, COUNTER_TEXTS_MAX / count);
		r = tell_process(a, s, names ? names[i] : a->name);
	}
	return r;
}

int acts_name(struct acts *a, const struct act_stream *s, const struct cast_thread *t, const char *label, size_t len)
{
	char name[LABEL_MAX + 64];
	size_t cut = utf8_cut(label, len, LABEL_MAX);
	const char *type = mprof_thread_type_name(t->type);
	struct act_track track = {.kind = ACT_THREAD, .track = t->track, .name = name, .renamed = cut != 0};
	int n;

	if (t->flags & CAST_SHARED)
		n = snprintf(name, sizeof(name), "further threads");
	else if (t->id == MPROF_THREAD_NONE)
		n = snprintf(name, sizeof(name), "idle");
	else if (cut)
		n = snprintf(name, sizeof(name), "%.*s (%s %" PRId64 ")", (int)cut, label, type, t->id);
	else
		n = snprintf(name, sizeof(name), "%s %" PRId64, type, t->id);
	track.name_bytes = (size_t)n;
	return acts_tell_track(a, s, &track);
}

/* No room: one track for all such threads. */
static int share(struct acts *a, struct act_stream *s, uint32_t *thread)
{
	a->refused++;
	*thread = s->cast.shared;
	if (*thread != CAST_NONE)
		return 0;
	*thread = cast_share(&s->cast, acts_track_new(a));
	return acts_name(a, s, &s->cast.list[*thread], NULL, 0);
}

int acts_create(struct acts *a, struct act_stream *s, int64_t id, uint8_t type, uint32_t *thread)
{
	*thread = cast_add(&s->cast, id, type, a->tracks + 1);
	if (*thread == CAST_NONE)
		return share(a, s, thread);
	s->cast.list[*thread].last = s->first;
	acts_track_new(a);
	return acts_name(a, s, &s->cast.list[*thread], NULL, 0);
}

/* One that was there before the trace, as far as is known. */
static int preexisting(struct acts *a, struct act_stream *s, int64_t id, uint32_t *thread)
{
	const char *name = mprof_thread_type_name(MPROF_THREAD_UNKNOWN);
	struct act act = {
		.kind = ACT_BEGIN,
		.life = true,
		.time = s->first,
		.category = "life",
		.name = name,
		.name_bytes = strlen(name),
		.notes = {{.key = "thread", .number = id}, {.key = "preexisting", .number = 1}},
		.n_notes = 2,
	};
	int r = acts_create(a, s, id, MPROF_THREAD_UNKNOWN, thread);

	if (r || (s->cast.list[*thread].flags & CAST_SHARED))
		return r;
	s->cast.list[*thread].flags |= CAST_ALIVE;
	act.track = s->cast.list[*thread].track;
	return acts_put(a, s, &act);
}

int acts_thread(struct acts *a, struct act_stream *s, int64_t id, uint32_t *thread)
{
	int r = 0;

	*thread = id == MPROF_THREAD_NONE ? s->root : cast_find(&s->cast, id);
	if (*thread == CAST_NONE)
		r = preexisting(a, s, id, thread);
	return r;
}

static int put_end(struct acts *a, struct act_stream *s, uint32_t track, bool life, struct act act)
{
	act.kind = ACT_END;
	act.track = track;
	act.life = life;
	act.name_bytes = strlen(act.name);
	return acts_put(a, s, &act);
}

/* The slice of what runs, if one is open. */
static int close_run(struct acts *a, struct act_stream *s, uint64_t time)
{
	if (!s->run_open)
		return 0;
	s->run_open = false;
	if (s->cast.list[s->running].last < time)
		s->cast.list[s->running].last = time;
	return put_end(a, s, s->cast.list[s->running].track, false,
		       (struct act){.time = time,
				    .category = s->run_category,
				    .name = s->running == s->root ? "idle" : "running"});
}

int acts_stop(struct acts *a, struct act_stream *s, uint64_t time)
{
	int r = close_run(a, s, time);

	s->running = CAST_NONE;
	return r;
}

int acts_end_life(struct acts *a, struct act_stream *s, uint32_t thread, uint64_t time, bool resolved)
{
	struct cast_thread *t = &s->cast.list[thread];
	int r = 0;

	if (thread == s->root)
		return 0;
	if (resolved && !(t->flags & CAST_SHARED))
		t->flags |= CAST_ENDED;
	if (!(t->flags & CAST_ALIVE))
		return 0;
	if (s->running == thread)
		r = close_run(a, s, time);
	t->flags &= (uint8_t)~CAST_ALIVE;
	return r ? r
		 : put_end(a, s, t->track, true,
			   (struct act){.time = time,
					.category = t->flags & CAST_CREATED ? "creates" : "life",
					.name = mprof_thread_type_name(t->type)});
}

static int on_streams(void *data, char *const *names, unsigned int count)
{
	return set_up(data, names, count);
}

/* The first event: from now on there is a root, which is always number 0. */
static int begin(struct acts *a, struct act_stream *s, uint64_t time)
{
	int r = cast_reserve(&s->cast, &s->running);

	s->begun = true;
	s->first = s->now = time > ACT_TIME_MAX ? ACT_TIME_MAX : time;
	return r ? r : acts_create(a, s, MPROF_THREAD_NONE, MPROF_THREAD_UNKNOWN, &s->root);
}

static int on_events(void *data, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct acts *a = data;
	int r = a->stream ? 0 : set_up(a, NULL, 1);
	struct act_stream *s = r ? NULL : &a->stream[stream];
	size_t i;

	if (!r && !s->begun)
		r = begin(a, s, events[0].raw.timestamp);
	for (i = 0; i < n && !r; i++)
		r = acts_event(a, s, &events[i].raw);
	return r;
}

/* Packets are missing: what ran is taken to have stopped. */
static int on_gap(void *data, unsigned int stream, uint64_t packets)
{
	struct acts *a = data;
	struct act_stream *s;

	if (!a->stream || !a->stream[stream].begun) /* before the trace */
		return 0;
	s = &a->stream[stream];
	s->lost += packets;
	return acts_stop(a, s, s->now);
}

struct sink acts_sink(struct acts *a)
{
	return (struct sink){
		.streams = on_streams,
		.events = on_events,
		.gap = on_gap,
		.damage = acts_damage,
		.data = a,
	};
}

/* Where no end is known: shortly behind the last event that named it, or where it should have resolved at the stream's end. */
static uint64_t end_of(const struct act_stream *s, const struct cast_thread *t)
{
	uint64_t end = t->last > ACT_TIME_MAX - BEHIND_NS ? ACT_TIME_MAX : t->last + BEHIND_NS;

	return t->flags & CAST_EXPECTED ? s->now : end;
}

int acts_finish(struct acts *a)
{
	int r = a->stream ? 0 : set_up(a, NULL, 1);
	unsigned int i;
	uint32_t t;

	for (i = 0; i < a->streams && !r; i++) {
		struct act_stream *s = &a->stream[i];

		r = acts_lost(a, s, s->now);
		r = r ? r : acts_stop(a, s, s->now);
		for (t = 0; t < s->cast.n && !r; t++)
			r = acts_end_life(a, s, t, end_of(s, &s->cast.list[t]), false);
	}
	return r;
}

void acts_tell_refused(const struct acts *a)
{
	if (a->refused)
		say("%" PRIu64 " events are of more threads or counters at once than there is room for: those of "
		    "threads stand on one "
		    "track, those of counters are left out",
		    a->refused);
}
