/*
 * The ring of a program that was looked at. Its times are those of the looks: a thread and its wait began before
 * (MPROF_DECLARES_LOOKED in mprof/ids.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "keeper-ring.h"
#include "process.h"
#include "symbols.h"

#define RING_BYTES   262144u
#define THREAD_BYTES 4096u /* of the ring for each thread: all its events with their texts, twice */
#define TEXT_BYTES   256u

static const struct mprof_text counted = MPROF_COUNTER_TEXT("threads", MPROF_COUNTER_GAUGE);

const struct seen *attach_find(const struct attached *a, pid_t inner)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->threads[i].inner == inner && !a->threads[i].gone)
			return &a->threads[i];
	return NULL;
}

static void label(struct mprof_recorder *r, int64_t id, const char *text)
{
	mprof_recorder_label(r, id, text, strlen(text));
}

static void create(struct mprof_recorder *r, int64_t parent, int64_t id, enum mprof_thread_type type)
{
	r->current = parent;
	mprof_recorder_creates(r, id, type);
	r->current = MPROF_THREAD_NONE;
}

static void thread_record(struct mprof_recorder *r, const struct seen *s)
{
	create(r, MPROF_THREAD_NONE, s->tid, MPROF_THREAD_Task);
	label(r, s->tid, "__should_resolve");
	if (*s->name)
		label(r, s->tid, s->name);
}

/* Return whether a thread of A before S waits at the same place. */
static bool has_place(const struct attached *a, const struct seen *s)
{
	for (const struct seen *t = a->threads; t < s; t++)
		if (t->stays && t->place == s->place && t->call == s->call)
			return true;
	return false;
}

/* Return whether a thread of A before S waits for the same, or is that. */
static bool has_object(const struct attached *a, const struct seen *s)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct seen *t = &a->threads[i];

		if (t->tid == s->on || (t < s && t->stays && t->on == s->on))
			return true;
	}
	return false;
}

static void object_record(struct mprof_recorder *r, const struct attached *a, const struct seen *s)
{
	char text[TEXT_BYTES], link[64], target[TEXT_BYTES - 32];
	ssize_t n;

	if (s->on > 0) {
		create(r, MPROF_THREAD_NONE, s->on, s->lock.type);
		if (!symbols_data(a->symbols, (uint64_t)s->on, text, sizeof(text)))
			lock_describe(s->on, s->code, text, sizeof(text));
	} else {
		create(r, MPROF_THREAD_NONE, s->on, MPROF_THREAD_Stream);
		snprintf(link, sizeof(link), "/proc/%d/fd/%" PRId64, (int)a->pid, RUN_ID_FD(0) - s->on);
		n = readlink(link, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		snprintf(text, sizeof(text), "fd %" PRId64 "%s%s", RUN_ID_FD(0) - s->on, n > 0 ? " " : "", target);
	}
	label(r, s->on, text);
}

/*
 * Return whether the thread OWNER has ended: no process shares the lock, and no thread of the system has this number. Where the process
 * has a PID namespace of its own, that is unknown.
 */
static bool has_ended(const struct attached *a, const struct seen *s)
{
	return !s->lock.shared && a->threads[0].inner == a->threads[0].tid && kill(s->lock.owner, 0) < 0 &&
	       errno == ESRCH;
}

/* Record the state S of a thread, which is at WHERE, with the text SAID. */
static void state_record(struct mprof_recorder *r, int64_t thread, const struct outside_state *s, const char *where,
			 struct said *said)
{
	int n = snprintf(said->bytes, sizeof(said->bytes), "%s%s%s", mprof_state_name(s->kind), *where ? " " : "",
			 where);

	said->text = (struct mprof_text){.text = said->bytes, .bytes = n > 0 ? strlen(said->bytes) : 0};
	mprof_recorder_state_text(r, thread, s->processor_ns, &said->text);
}

/* Record the STATE of the thread S in the look number LOOK. */
static void look_record(struct mprof_recorder *r, struct seen *s, const struct outside_state *state, unsigned int look)
{
	const char *code = look ? s->last_code : s->code;

	if (state->kind != MPROF_STATE_KINDS)
		state_record(r, s->tid, state, state->kind == MPROF_STATE_runs ? code : state->channel, &s->said[look]);
}

/* Record who has the lock for which S waits. An owner that has ended is recorded with its end, as often as it was looked for. */
static void owner_record(struct mprof_recorder *r, const struct attached *a, const struct seen *s)
{
	static const struct mprof_text ended = MPROF_TEXT("ended");
	const struct seen *owner = attach_find(a, s->lock.owner);
	int64_t id = owner ? owner->tid : s->lock.owner;

	if (!owner && has_ended(a, s)) {
		create(r, MPROF_THREAD_NONE, id, MPROF_THREAD_Task);
		mprof_recorder_state_text(r, id, 0, &ended);
	}
	mprof_recorder_try_read(r, s->on, id);
}

/* Record the wait of S, the one with the id WAIT. */
static void wait_record(struct mprof_recorder *r, const struct attached *a, const struct seen *s, int64_t wait)
{
	int64_t place = s->place ? (int64_t)s->place : MPROF_THREAD_NONE;
	bool known = s->on && has_object(a, s);
	char text[TEXT_BYTES];

	call_describe(s->call, s->code, text, sizeof(text));
	if (s->place && !has_place(a, s)) {
		create(r, MPROF_THREAD_NONE, place, MPROF_THREAD_Place);
		label(r, place, text);
	}
	create(r, place, wait, MPROF_THREAD_Wait);
	label(r, wait, text);
	if (s->on && !known)
		object_record(r, a, s);
	if (s->on)
		mprof_recorder_try_read(r, wait, s->on);
	if (s->lock.owner && !known && s->lock.type == MPROF_THREAD_Mutex)
		owner_record(r, a, s);
	mprof_recorder_try_read(r, s->tid, wait);
}

static void first_look_record(struct mprof_recorder *r, const struct attached *a)
{
	int64_t wait = RUN_ID_WAIT_FIRST;

	mprof_recorder_at(r, a->began);
	mprof_recorder_counter_text(r, a->n, &counted);
	for (uint32_t i = 0; i < a->n; i++)
		thread_record(r, &a->threads[i]);
	for (uint32_t i = 0; i < a->n; i++) {
		struct seen *s = &a->threads[i];

		mprof_recorder_at(r, s->time);
		if (s->stays)
			wait_record(r, a, s, wait--);
		/* A wait hides all states but those of a thread that is stopped. */
		if (!s->stays || mprof_state_is_stop(s->first.kind))
			look_record(r, s, &s->first, 0);
	}
}

static void second_look_record(struct mprof_recorder *r, const struct attached *a)
{
	static const struct outside_state ended = {.kind = MPROF_STATE_ended};
	uint32_t left = 0;

	mprof_recorder_at(r, a->ended);
	for (uint32_t i = 0; i < a->n; i++) {
		struct seen *s = &a->threads[i];

		left += !s->gone;
		if (s->gone)
			look_record(r, s, &ended, 1);
		else if (!s->stays || mprof_state_is_stop(s->last.kind))
			look_record(r, s, &s->last, 1);
	}
	mprof_recorder_counter_text(r, left, &counted);
}

int attach_record(struct attached *a, int directory)
{
	struct mprof_recorder_file file = {0};
	struct mprof_recorder r = {0};
	uint64_t bytes = RING_BYTES + (uint64_t)a->n * THREAD_BYTES;
	int failed = file_ring_make(directory, ATTACH_RING, bytes < MPROF_RING_BYTES_MAX ? bytes : MPROF_RING_BYTES_MAX,
				    &file, &r);

	if (failed)
		return failed;
	mprof_recorder_kinds(&r, MPROF_DECLARES_LOOKED);
	r.current = MPROF_THREAD_NONE;
	first_look_record(&r, a);
	second_look_record(&r, a);
	mprof_recorder_stop(&r);
	mprof_recorder_file_close(&file);
	return 0;
}
