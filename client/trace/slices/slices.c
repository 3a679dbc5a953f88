/*
 * This file makes the tracks of streams and threads, the slices of the threads' lives, and the
 * slices of the running thread. slices-events.c handles each event.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"
#include "slices-state.h"

#define THREADS_MAX	  (4u << 20) /* in all streams */
#define COUNTERS_MAX	  65536u
#define COUNTER_TEXTS_MAX (16u << 20)
#define LABEL_MAX	  200u /* bytes of a label in a track's name */
#define BEHIND_NS	  1000u

void slices_init(struct slices *s, const struct slice_ops *ops, const char *name, uint64_t seed, int (*spool)(void))
{
	*s = (struct slices){
		.ops = ops,
		.name = name,
		.threads_most = THREADS_MAX,
		.seed = seed,
		.whole = {.spool = -1, .open = spool},
	};
	for (unsigned int id = 0; id < MPROF_EVENT_IDS; id++)
		s->event_name_bytes[id] = (uint8_t)strlen(mprof_event_name((uint8_t)id));
}

void slices_deinit(struct slices *s)
{
	for (unsigned int i = 0; i < s->streams; i++) {
		thread_table_deinit(&s->stream[i].threads);
		texts_deinit(&s->stream[i].counter_names);
		free(s->stream[i].counters);
	}
	free(s->stream);
	whole_slices_deinit(&s->whole);
	utf8_deinit(&s->text);
	utf8_deinit(&s->title);
	s->stream = NULL;
	s->streams = 0;
}

uint32_t slices_new_track(struct slices *s)
{
	return ++s->tracks;
}

int slices_put_track(struct slices *slices, const struct slice_stream *s, struct slice_track *track)
{
	track->stream = s->number;
	track->process = s->process;
	return slices->ops->track(slices->ops->context, track);
}

int slices_put(struct slices *slices, const struct slice_stream *s, struct slice_event *event)
{
	event->stream = s->number;
	event->process = s->process;
	return slices->ops->event(slices->ops->context, event);
}

static int put_process(struct slices *slices, struct slice_stream *s, const char *name)
{
	struct slice_track track = {.kind = TRACK_PROCESS, .track = slices_new_track(slices)};
	int r = utf8_set(&slices->title, name, strlen(name));

	s->process = track.track;
	track.name = slices->title.text;
	track.name_bytes = slices->title.bytes;
	return r ? r : slices_put_track(slices, s, &track);
}

/*
 * Make COUNT streams with the names NAMES. If NAMES is NULL, name the stream after the trace.
 * Return 0 or -errno.
 */
static int set_up(struct slices *slices, char *const *names, unsigned int count)
{
	int r = 0;

	slices->stream = calloc(count, sizeof(*slices->stream));
	if (!slices->stream)
		return -ENOMEM;
	slices->streams = count;
	for (unsigned int i = 0; i < count && !r; i++) {
		struct slice_stream *s = &slices->stream[i];

		*s = (struct slice_stream){.number = i, .root = THREAD_NONE, .running = THREAD_NONE};
		thread_table_init(&s->threads, slices->threads_most / count, slices->seed);
		texts_init(&s->counter_names, COUNTERS_MAX / count, COUNTER_TEXTS_MAX / count, slices->seed);
		r = put_process(slices, s, names ? names[i] : slices->name);
	}
	return r;
}

/* Append LEN bytes of TEXT to NAME, and add LEN to *N, the length of NAME. */
static void append(char *name, size_t *n, const char *text, size_t len)
{
	memcpy(name + *n, text, len);
	*n += len;
}

/* Append the thread's type and id. */
static void append_type(char *name, size_t *n, const struct table_thread *t)
{
	const char *type = mprof_thread_type_name(t->type);

	append(name, n, type, strlen(type));
	append(name, n, " ", 1);
	*n += digits_put_signed(name + *n, t->id);
}

int slices_name_thread(struct slices *slices, const struct slice_stream *s, const struct table_thread *t,
		       const char *label, size_t len)
{
	char name[LABEL_MAX + 64];
	size_t cut = utf8_cut(label, len, LABEL_MAX);
	struct slice_track track = {
		.kind = TRACK_THREAD, .track = t->track, .name = name, .renamed = len != 0, .thread = t};
	size_t n = 0;

	if (t->flags & THREAD_SHARED) {
		append(name, &n, "further threads", strlen("further threads"));
	} else if (t->id == MPROF_THREAD_NONE) {
		append(name, &n, "idle", strlen("idle"));
	} else if (label && cut) {
		append(name, &n, label, cut);
		append(name, &n, " (", 2);
		append_type(name, &n, t);
		append(name, &n, ")", 1);
	} else {
		append_type(name, &n, t);
	}
	track.name_bytes = n;
	return slices_put_track(slices, s, &track);
}

/*
 * Set *THREAD to the entry that all threads beyond the limit share. Make this entry and its track
 * when it is first needed. Return 0 or -errno.
 */
static int share(struct slices *slices, struct slice_stream *s, uint32_t *thread)
{
	slices->refused++;
	*thread = s->threads.shared;
	if (*thread != THREAD_NONE)
		return 0;
	*thread = thread_table_share(&s->threads, slices_new_track(slices));
	return slices_name_thread(slices, s, &s->threads.list[*thread], NULL, 0);
}

int slices_create(struct slices *slices, struct slice_stream *s, int64_t id, uint8_t type, uint32_t *thread)
{
	*thread = thread_table_add(&s->threads, id, type, slices->tracks + 1);
	if (*thread == THREAD_NONE)
		return share(slices, s, thread);
	s->threads.list[*thread].last = s->first;
	slices_new_track(slices);
	return slices_name_thread(slices, s, &s->threads.list[*thread], NULL, 0);
}

/*
 * Make a thread with ID and begin its life at the stream's first event, because the trace does not
 * contain its creation. Set *THREAD to the thread. Return 0 or -errno.
 */
static int preexisting(struct slices *slices, struct slice_stream *s, int64_t id, uint32_t *thread)
{
	const char *name = mprof_thread_type_name(MPROF_THREAD_UNKNOWN);
	struct slice_event event = {
		.kind = SLICE_BEGIN,
		.life = true,
		.time = s->first,
		.category = "life",
		.name = name,
		.name_bytes = strlen(name),
	};
	int r = slices_create(slices, s, id, MPROF_THREAD_UNKNOWN, thread);

	slice_add_note(&event, "thread", id);
	slice_add_note(&event, "preexisting", 1);
	if (r || (s->threads.list[*thread].flags & THREAD_SHARED))
		return r;
	s->threads.list[*thread].flags |= THREAD_ALIVE;
	event.track = s->threads.list[*thread].track;
	return slices_put(slices, s, &event);
}

int slices_thread(struct slices *slices, struct slice_stream *s, int64_t id, uint32_t *thread)
{
	int r = 0;

	*thread = id == MPROF_THREAD_NONE ? s->root : thread_table_find(&s->threads, id);
	if (*thread == THREAD_NONE)
		r = preexisting(slices, s, id, thread);
	return r;
}

/* End the slice on the track of T that began with CATEGORY and NAME. */
static int put_end(struct slices *slices, struct slice_stream *s, const struct table_thread *t, uint64_t time,
		   bool life, const char *category, const char *name)
{
	struct slice_event event;

	memset(&event, 0, offsetof(struct slice_event, notes));
	event.kind = SLICE_END;
	event.track = t->track;
	event.time = time;
	event.life = life;
	event.expected = life && (t->flags & THREAD_EXPECTED);
	event.category = category;
	slice_set_name(&event, name);
	return slices_put(slices, s, &event);
}

/* End the open slice of the running thread, if there is one. */
static int close_run(struct slices *slices, struct slice_stream *s, uint64_t time)
{
	if (!s->run_open)
		return 0;
	s->run_open = false;
	if (s->threads.list[s->running].last < time)
		s->threads.list[s->running].last = time;
	return put_end(slices, s, &s->threads.list[s->running], time, false, s->run_category,
		       s->running == s->root ? "idle" : "running");
}

int slices_stop(struct slices *slices, struct slice_stream *s, uint64_t time)
{
	int r = close_run(slices, s, time);

	s->running = THREAD_NONE;
	return r;
}

int slices_end_life(struct slices *slices, struct slice_stream *s, uint32_t thread, uint64_t time, bool resolved)
{
	struct table_thread *t = &s->threads.list[thread];
	int r = 0;

	if (thread == s->root)
		return 0;
	if (resolved && !(t->flags & THREAD_SHARED))
		t->flags |= THREAD_ENDED;
	if (!(t->flags & THREAD_ALIVE))
		return 0;
	if (s->running == thread)
		r = close_run(slices, s, time);
	t->flags &= (uint8_t)~THREAD_ALIVE;
	return r ? r
		 : put_end(slices, s, t, time, true, t->flags & THREAD_CREATED ? "creates" : "life",
			   mprof_thread_type_name(t->type));
}

static int on_streams(void *context, char *const *names, unsigned int count)
{
	return set_up(context, names, count);
}

/*
 * Begin the stream at TIME, the time of its first event, and make its root thread, which is always
 * thread 0.
 */
static int begin(struct slices *slices, struct slice_stream *s, uint64_t time)
{
	int r = thread_table_reserve(&s->threads, &s->running);

	s->begun = true;
	s->first = s->now = time > SLICE_TIME_MAX ? SLICE_TIME_MAX : time;
	return r ? r : slices_create(slices, s, MPROF_THREAD_NONE, MPROF_THREAD_UNKNOWN, &s->root);
}

static int on_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct slices *slices = context;
	int r = slices->stream ? 0 : set_up(slices, NULL, 1);
	struct slice_stream *s = r ? NULL : &slices->stream[stream];

	if (!r && !s->begun)
		r = begin(slices, s, events[0].raw.timestamp);
	for (size_t i = 0; i < n && !r; i++)
		r = slices_event(slices, s, &events[i].raw);
	return r;
}

/*
 * Count PACKETS lost packets, and end the slice of the running thread: the lost packets may contain
 * a switch.
 */
static int on_gap(void *context, unsigned int stream, uint64_t packets)
{
	struct slices *slices = context;
	struct slice_stream *s;

	if (!slices->stream || !slices->stream[stream].begun) /* no event of the stream came yet */
		return 0;
	s = &slices->stream[stream];
	s->lost += packets;
	return slices_stop(slices, s, s->now);
}

struct consumer slices_consumer(struct slices *s)
{
	return (struct consumer){
		.streams = on_streams,
		.events = on_events,
		.gap = on_gap,
		.damage = slices_damage,
		.context = s,
	};
}

/*
 * Return the assumed end of the life of a thread whose end the trace does not show: BEHIND_NS after
 * the last event that names the thread, or the stream's latest time if the thread has the flag
 * THREAD_EXPECTED.
 */
static uint64_t end_of(const struct slice_stream *s, const struct table_thread *t)
{
	uint64_t end = t->last > SLICE_TIME_MAX - BEHIND_NS ? SLICE_TIME_MAX : t->last + BEHIND_NS;

	return t->flags & THREAD_EXPECTED ? s->now : end;
}

int slices_finish(struct slices *slices)
{
	int r = slices->stream ? 0 : set_up(slices, NULL, 1);

	for (unsigned int i = 0; i < slices->streams && !r; i++) {
		struct slice_stream *s = &slices->stream[i];

		r = slices_lost(slices, s, s->now);
		r = r ? r : slices_stop(slices, s, s->now);
		for (uint32_t t = 0; t < s->threads.n && !r; t++)
			r = slices_end_life(slices, s, t, end_of(s, &s->threads.list[t]), false);
	}
	return r ? r : slices_lay(slices);
}
