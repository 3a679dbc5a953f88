/*
 * The keeper takes the notes of a process out of their queue and records what they say: threads,
 * locks and places with their names. The times are those of the notes, so that the order of the
 * trace is right.
 *
 * The notes are the process's memory: nothing in them is trusted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"
#include "sentences.h"
#include "symbols.h"

#define TEXT_BYTES 256u
#define FUTURE_NS  1000000000u
#define SECCOMP	   "seccomp" /* counter: 1 from the time on at which the process turned it on */

void process_label(struct process *p, int64_t id, const char *text)
{
	mprof_recorder_label(&p->objects, id, text, strlen(text));
}

static void create(struct process *p, int64_t parent, int64_t id, enum mprof_thread_type type)
{
	p->objects.current = parent ? parent : MPROF_THREAD_NONE;
	mprof_recorder_creates(&p->objects, id, type);
	p->objects.current = MPROF_THREAD_NONE;
}

void call_describe(uint32_t call, const char *code, char *text, size_t size)
{
	static const char *const calls[] = {
#define X(name) [RUN_CALL_##name] = #name,
		RUN_CALLS(X)
#undef X
	};

	snprintf(text, size, "%s in %s", call < RUN_CALL_COUNT ? calls[call] : "call", code);
}

static void describe_place(struct process *p, const struct run_note *n, char *text, size_t size)
{
	char code[TEXT_BYTES - 64];

	/* A return address belongs to the call before it. */
	symbols_code(p->symbols, (uint64_t)n->id - 1, code, sizeof(code));
	call_describe(n->detail, code, text, size);
}

void lock_describe(int64_t id, const char *code, char *text, size_t size)
{
	snprintf(text, size, "0x%" PRIx64 " of %s", (uint64_t)id, code);
}

/* Return false if the lock gets its name later. */
static bool describe_lock(struct process *p, const struct run_note *n, char *text, size_t size)
{
	const struct unnamed unnamed = {.id = n->id, .place = (uint64_t)n->parent, .time = n->time};
	char code[TEXT_BYTES - 64];

	if (symbols_data(p->symbols, (uint64_t)n->id, text, size))
		return true;
	if (!symbols_code(p->symbols, (uint64_t)n->parent - 1, code, sizeof(code)) && stacks_name_later(p, &unnamed))
		return false;
	lock_describe(n->id, code, text, size);
	return true;
}

static void describe_descriptor(const struct process *p, const struct run_note *n, char *text, size_t size)
{
	char link[64], target[TEXT_BYTES - 32];
	ssize_t got;

	snprintf(link, sizeof(link), "/proc/%d/fd/%" PRIu32, (int)p->pid, n->detail);
	got = readlink(link, target, sizeof(target) - 1);
	target[got > 0 ? got : 0] = '\0';
	snprintf(text, size, "fd %" PRIu32 "%s%s", n->detail, got > 0 ? " " : "", target);
}

/* Return the name that the thread ID has after the notes that are pending. */
static const char *name_of(const struct process *p, int64_t id, const char *first)
{
	const char *name = first;

	for (uint32_t i = 0; i < p->n_pending; i++)
		if (p->pending[i].kind == RUN_NOTE_NAME && p->pending[i].id == id)
			name = p->pending[i].text;
	return name;
}

/* Record N. FRESH is false if its event will be later than N: events of the object may be older. */
static void note_record(struct process *p, const struct run_note *n, bool fresh)
{
	char text[TEXT_BYTES] = "";

	switch (n->kind) {
	case RUN_NOTE_THREAD:
		if (fresh)
			create(p, n->parent, n->id, MPROF_THREAD_Task);
		process_label(p, n->id, "__should_resolve");
		/* Most threads get their name just after their creation. */
		process_label(p, n->id, name_of(p, n->id, n->text));
		return;
	case RUN_NOTE_NAME:
		process_label(p, n->id, n->text);
		return;
	case RUN_NOTE_LOCK:
		if (fresh)
			create(p, 0, n->id, (enum mprof_thread_type)(n->detail & 0xff));
		if (!describe_lock(p, n, text, sizeof(text)))
			return;
		break;
	case RUN_NOTE_PLACE:
		if (fresh)
			create(p, 0, n->id, MPROF_THREAD_Place);
		describe_place(p, n, text, sizeof(text));
		break;
	case RUN_NOTE_FD:
		if (fresh && n->parent)
			create(p, 0, n->id, MPROF_THREAD_Stream);
		describe_descriptor(p, n, text, sizeof(text));
		break;
	case RUN_NOTE_SECCOMP:
		mprof_recorder_counter(&p->objects, 1, SECCOMP, sizeof(SECCOMP) - 1);
		return;
	default:
		return;
	}
	process_label(p, n->id, text);
}

static int compare_times(const void *a, const void *b)
{
	const struct run_note *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Copy the next note out of the queue. Return false if there is none. */
static bool note_next(struct process *p, struct run_note *copy)
{
	struct run_note *n = &p->control->notes[p->notes % RUN_NOTES];

	if (__atomic_load_n(&n->turn, __ATOMIC_ACQUIRE) != p->notes + 1)
		return false;
	*copy = *n;
	copy->text[RUN_NAME - 1] = '\0';
	__atomic_store_n(&n->turn, p->notes + RUN_NOTES, __ATOMIC_RELEASE);
	p->notes++;
	return true;
}

/* Return the facts about the process that N has, as bits. */
static uint32_t facts_of(const struct run_note *n)
{
	switch (n->kind) {
	case RUN_NOTE_ROOT:
		return 1u << FACT_ROOT;
	case RUN_NOTE_NETWORK:
		return 1u << FACT_NETWORK;
	case RUN_NOTE_SECCOMP:
		return 1u << FACT_SECCOMP;
	default:
		return 0;
	}
}

/* Move all notes from the queue to the pending ones, as far as there is room, and sort these. */
static void notes_fetch(struct process *p)
{
	while (p->n_pending < RUN_NOTES && note_next(p, &p->pending[p->n_pending]))
		p->facts |= facts_of(&p->pending[p->n_pending++]); /* not held back */
	qsort(p->pending, p->n_pending, sizeof(*p->pending), compare_times);
}

void notes_take(struct process *p, uint64_t until)
{
	uint32_t n;

	if (!p->pending)
		p->pending = malloc(RUN_NOTES * sizeof(*p->pending));
	if (!p->pending || !p->symbols)
		return;
	notes_fetch(p);
	/* If there are too many, record those before their time. */
	for (n = 0; n < p->n_pending && (p->pending[n].time <= until || p->n_pending == RUN_NOTES); n++) {
		bool fresh = p->pending[n].time >= p->objects.last_ns;

		/* A time of the future would hold back all later events. */
		mprof_recorder_at(&p->objects, p->pending[n].time > until + FUTURE_NS ? until : p->pending[n].time);
		note_record(p, &p->pending[n], fresh);
	}
	p->n_pending -= n;
	memmove(p->pending, p->pending + n, p->n_pending * sizeof(*p->pending));
}
