/*
 * Write a process as mprof-run does (client/run/shim/wait.c, client/run/notes.c): a ring for each thread that
 * runs, which the next thread takes over, and a ring with the names of threads, objects and places.
 */
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"

#define EARLY_NS 1000u /* a note is older than the first event that needs it */
#define NOTES	 256u

enum note_kind { NOTE_THREAD, NOTE_OBJECT, NOTE_PLACE };

struct noted {
	uint64_t time;
	enum note_kind kind;
	int64_t id, creator;
	unsigned type;
	char text[48];
};

struct writer {
	struct recording *r;
	const struct world *w;
	int ring[WORLD_THREADS]; /* of each thread, WORLD_NONE */
	bool known[WORLD_THREADS];
	int waker[WORLD_OBJECTS]; /* the last one that the recorder saw, WORLD_NONE */
	int64_t wait[WORLD_THREADS];
	uint64_t taken[WORLD_OBJECTS]; /* when it was locked */
	int64_t next_wait;
	struct noted notes[NOTES];
	unsigned n_notes;
	bool failed;
};

static const char *const calls[] = {
	[OP_SLEEP] = "nanosleep",
	[OP_LOCK] = "pthread_mutex_lock",
	[OP_WAIT] = "pthread_cond_wait",
	[OP_ACQUIRE] = "sem_wait",
	[OP_READ] = "read",
	[OP_WRITE] = "write",
	[OP_RDLOCK] = "pthread_rwlock_rdlock",
	[OP_WRLOCK] = "pthread_rwlock_wrlock",
	[OP_JOIN] = "pthread_join",
	[OP_TIMED] = "pthread_cond_timedwait",
};

static const struct op *op_of(const struct world *w, const struct fact *f)
{
	return &w->programs[w->threads[f->thread].program].op[f->pc];
}

static int64_t place_id(const struct world *w, const struct fact *f)
{
	return 0x400000 + (int64_t)w->threads[f->thread].program * 0x400 + (int64_t)f->pc * 8;
}

static struct noted *note_of(struct writer *wr, int64_t id)
{
	for (unsigned i = 0; i < wr->n_notes; i++)
		if (wr->notes[i].id == id)
			return &wr->notes[i];
	return NULL;
}

static struct noted *note_new(struct writer *wr, enum note_kind kind, int64_t id, uint64_t time)
{
	struct noted *n = &wr->notes[wr->n_notes];

	if (note_of(wr, id) || wr->n_notes == NOTES)
		return NULL;
	wr->n_notes++;
	*n = (struct noted){.time = time, .kind = kind, .id = id};
	return n;
}

static void note_place(struct writer *wr, const struct fact *f)
{
	struct noted *n = note_new(wr, NOTE_PLACE, place_id(wr->w, f), f->time - EARLY_NS);
	const char *call = calls[op_of(wr->w, f)->kind];

	if (n)
		snprintf(n->text, sizeof(n->text), "%s in program%d+%u", call ? call : "call",
			 wr->w->threads[f->thread].program, f->pc);
}

static unsigned type_of(const struct world *w, int object)
{
	static const uint8_t types[] = {
		[OBJECT_MUTEX] = MPROF_THREAD_Mutex,	     [OBJECT_RWLOCK] = MPROF_THREAD_Mutex,
		[OBJECT_CONDITION] = MPROF_THREAD_Condition, [OBJECT_SEMAPHORE] = MPROF_THREAD_Semaphore,
		[OBJECT_PIPE] = MPROF_THREAD_Stream,
	};

	return types[w->objects[0][object].kind];
}

static void note_object(struct writer *wr, const struct fact *f, int object)
{
	struct noted *n = note_new(wr, NOTE_OBJECT, recording_object(wr->w, object), f->time - EARLY_NS);

	if (!n)
		return;
	n->type = type_of(wr->w, object);
	if (n->type == MPROF_THREAD_Stream)
		snprintf(n->text, sizeof(n->text), "fd %d pipe:[%d]", 3 + object, 900 + object);
	else
		snprintf(n->text, sizeof(n->text), "object%d", object);
}

/* ---- rings ---- */

/* Return the ring of THREAD; its first event takes one. */
static struct ring *ring_of(struct writer *wr, int thread, uint64_t time)
{
	struct recording *r = wr->r;
	const struct thread *t = &wr->w->threads[thread];
	char name[24];
	unsigned i;

	if (wr->ring[thread] == WORLD_NONE) {
		for (i = 1; i < r->n_rings && r->rings[i].owner != WORLD_NONE; i++) {
		}
		snprintf(name, sizeof(name), "thread-%02u", i);
		if (i == r->n_rings && !ring_new(r, name, r->hiding->ring_bytes)) {
			wr->failed = true;
			return NULL;
		}
		r->rings[i].owner = thread;
		wr->ring[thread] = (int)i;
	}
	if (!wr->known[thread]) {
		bool made = t->creator != WORLD_NONE && wr->w->threads[t->creator].process == t->process;
		struct noted *n =
			note_new(wr, NOTE_THREAD, recording_thread(t->process, thread), made ? t->created : time - 1);

		wr->known[thread] = true;
		if (n && made)
			n->creator = recording_thread(t->process, t->creator);
		if (n)
			snprintf(n->text, sizeof(n->text), t->creator == WORLD_NONE ? "main" : "program%d", t->program);
	}
	return &r->rings[wr->ring[thread]];
}

static void resolves(struct ring *ring, int64_t resolver, int64_t id, const char *failure)
{
	int64_t current = ring->recorder.current;

	ring->recorder.current = resolver;
	if (failure)
		mprof_recorder_fails(&ring->recorder, id, failure, strlen(failure));
	else
		mprof_recorder_fulfills(&ring->recorder, id);
	ring->recorder.current = current;
}

static void creates(struct ring *ring, int64_t parent, int64_t id, unsigned type)
{
	int64_t current = ring->recorder.current;

	ring->recorder.current = parent;
	mprof_recorder_creates(&ring->recorder, id, (enum mprof_thread_type)type);
	ring->recorder.current = current;
}

/* ---- facts ---- */

static bool is_lock(const struct world *w, int object)
{
	return w->objects[0][object].kind == OBJECT_MUTEX || w->objects[0][object].kind == OBJECT_RWLOCK;
}

/* Return the last fact of KIND before F, of THREAD (WORLD_NONE: any) and OBJECT in the process of F, or NULL. */
static const struct fact *last_fact(const struct world *w, const struct fact *f, enum fact_kind kind, int thread,
				    int object)
{
	for (const struct fact *it = f; it-- > w->facts;)
		if (it->kind == kind && it->process == f->process && it->object == object &&
		    (thread == WORLD_NONE || it->thread == thread))
			return it;
	return NULL;
}

/* Return whether the thread of SIGNAL has not had MUTEX since it signalled the condition before, by its own table. */
static bool is_bare(const struct world *w, const struct fact *signal, int mutex)
{
	const struct fact *before = last_fact(w, signal, FACT_SIGNAL, signal->thread, signal->object);
	const struct fact *freed = last_fact(w, signal, FACT_FREE, signal->thread, mutex);
	const struct fact *taken = last_fact(w, signal, FACT_TAKE, signal->thread, mutex);

	return (!taken || (freed && freed > taken)) && (!freed || (before && freed < before));
}

/*
 * The wait ID for a condition, which F begins, missed the condition's last signal if the thread has had the mutex
 * since before it, and the thread that signalled had not (client/run/shim/hold.c).
 */
static void write_missed(struct writer *wr, struct ring *ring, const struct fact *f, int64_t id)
{
	const struct op *op = op_of(wr->w, f);
	const struct fact *signal = last_fact(wr->w, f, FACT_SIGNAL, WORLD_NONE, op->a);
	const struct fact *taken = last_fact(wr->w, f, FACT_TAKE, f->thread, op->b);

	if (!signal || signal->n || !taken || taken > signal || !is_bare(wr->w, signal, op->b) ||
	    wr->r->hiding->kinds & HIDDEN_SIGNALS)
		return;
	mprof_recorder_duration(&ring->recorder, id,
				recording_clock(wr->r, f->time) - recording_clock(wr->r, signal->time), RUN_MISSED,
				sizeof(RUN_MISSED) - 1);
}

static void write_block(struct writer *wr, struct ring *ring, const struct fact *f)
{
	struct mprof_recorder *rec = &ring->recorder;
	const struct wait *wait = &wr->w->waits[f->wait];
	int process = f->process;
	int64_t on = 0, id = wr->next_wait--, tid = recording_thread(process, f->thread);
	bool same = wait->joined != WORLD_NONE && wr->w->threads[wait->joined].process == process;

	wr->wait[f->thread] = id;
	wr->r->waits[wr->r->n_waits++] = f->wait;
	note_place(wr, f);
	if (wait->object != WORLD_NONE) {
		on = recording_object(wr->w, wait->object);
		note_object(wr, f, wait->object);
	} else if (same) {
		on = recording_thread(process, wait->joined);
	}
	creates(ring, place_id(wr->w, f), id, MPROF_THREAD_Wait);
	if (on)
		mprof_recorder_try_read(rec, id, on);
	if (wait->object != WORLD_NONE && is_lock(wr->w, wait->object) && wait->holder != WORLD_NONE &&
	    !(wr->r->hiding->kinds & HIDDEN_OWNERS))
		mprof_recorder_try_read(rec, on, recording_thread(wr->w->threads[wait->holder].process, wait->holder));
	mprof_recorder_try_read(rec, tid, id);
	mprof_recorder_suspend(rec);
	if (op_of(wr->w, f)->kind == OP_WAIT || op_of(wr->w, f)->kind == OP_TIMED)
		write_missed(wr, ring, f, id);
}

/* Return whether other threads wait for OBJECT at TIME. */
static bool others_wait(const struct world *w, const struct fact *f)
{
	for (unsigned i = 0; i < w->n_waits; i++)
		if (w->waits[i].process == f->process && w->waits[i].object == f->object &&
		    w->waits[i].begin < f->time && w->waits[i].end > f->time)
			return true;
	return false;
}

static void write_resume(struct writer *wr, struct ring *ring, const struct fact *f)
{
	const struct wait *wait = &wr->w->waits[f->wait];
	int64_t id = wr->wait[f->thread], tid = recording_thread(f->process, f->thread), resolver = tid;
	bool shared = op_of(wr->w, f)->kind == OP_RDLOCK;

	if (wait->object != WORLD_NONE) {
		resolver = recording_object(wr->w, wait->object);
		if (f->kind == FACT_RESUME && wr->waker[wait->object] != WORLD_NONE &&
		    wr->w->objects[0][wait->object].kind != OBJECT_PIPE)
			resolver = recording_thread(f->process, wr->waker[wait->object]);
	} else if (wait->joined != WORLD_NONE && wr->w->threads[wait->joined].process == f->process) {
		resolver = recording_thread(f->process, wait->joined);
	}
	resolves(ring, resolver, id, f->kind == FACT_TIMEOUT ? "timed out" : NULL);
	mprof_recorder_read(&ring->recorder, tid, id);
	if (wait->object != WORLD_NONE && is_lock(wr->w, wait->object) && !shared && others_wait(wr->w, f) &&
	    !(wr->r->hiding->kinds & HIDDEN_OWNERS))
		mprof_recorder_try_read(&ring->recorder, recording_object(wr->w, wait->object), tid);
}

/* A program can write durations: here of each exclusive lock. They nest and overlap as the locks do. */
static void write_held(struct writer *wr, const struct fact *f)
{
	struct ring *ring;
	char name[24];

	if (f->kind == FACT_TAKE) {
		wr->taken[f->object] = f->n ? 0 : f->time;
		return;
	}
	if (!wr->taken[f->object])
		return;
	ring = ring_of(wr, f->thread, f->time);
	if (!ring)
		return;
	snprintf(name, sizeof(name), "held object%d", f->object);
	mprof_recorder_at(&ring->recorder, recording_clock(wr->r, f->time));
	mprof_recorder_duration(&ring->recorder, recording_thread(f->process, f->thread),
				f->time - wr->taken[f->object], name, strlen(name));
	wr->r->held[f->object] += f->time - wr->taken[f->object];
	wr->taken[f->object] = 0;
}

/* A signal is always recorded; a post and an unlock only if threads wait. */
static void write_wake(struct writer *wr, struct ring *ring, const struct fact *f)
{
	int64_t on = recording_object(wr->w, f->object), tid = recording_thread(f->process, f->thread);

	wr->waker[f->object] = f->thread;
	note_object(wr, f, f->object);
	mprof_recorder_signal_noswitch(&ring->recorder, on, tid);
	if (is_lock(wr->w, f->object))
		mprof_recorder_read_later(&ring->recorder, on, tid);
}

static void write_end(struct writer *wr, struct ring *ring, const struct fact *f)
{
	int64_t tid = recording_thread(f->process, f->thread);

	resolves(ring, tid, tid, NULL);
	mprof_recorder_suspend(&ring->recorder);
	ring->owner = WORLD_NONE;
	wr->ring[f->thread] = WORLD_NONE;
}

static bool is_written(const struct writer *wr, const struct fact *f)
{
	unsigned kinds = wr->r->hiding->kinds;
	bool lock = f->object != WORLD_NONE && is_lock(wr->w, f->object);

	switch (f->kind) {
	case FACT_BEGIN:
	case FACT_END:
		return true;
	case FACT_BLOCK:
	case FACT_RESUME:
	case FACT_TIMEOUT:
		return !(lock && kinds & HIDDEN_LOCKS);
	case FACT_SIGNAL:
		return !(kinds & HIDDEN_SIGNALS);
	case FACT_POST:
	case FACT_FREE:
		return f->n && !(kinds & (lock ? HIDDEN_LOCKS : HIDDEN_SIGNALS));
	default:
		return false;
	}
}

static void write_fact(struct writer *wr, unsigned i)
{
	const struct fact *f = &wr->w->facts[i];
	struct ring *ring = ring_of(wr, f->thread, f->time);

	if (!ring)
		return;
	wr->r->facts[i] = (struct place_of_fact){wr->ring[f->thread], mprof_recorder_sequence(&ring->recorder)};
	mprof_recorder_at(&ring->recorder, recording_clock(wr->r, f->time));
	mprof_recorder_switch(&ring->recorder, recording_thread(f->process, f->thread));
	if (f->kind == FACT_BLOCK)
		write_block(wr, ring, f);
	else if (f->kind == FACT_RESUME || f->kind == FACT_TIMEOUT)
		write_resume(wr, ring, f);
	else if (f->kind == FACT_END)
		write_end(wr, ring, f);
	else if (f->kind != FACT_BEGIN)
		write_wake(wr, ring, f);
}

/* ---- names ---- */

static int compare_notes(const void *a, const void *b)
{
	const struct noted *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static void write_notes(struct writer *wr)
{
	static const uint8_t types[] = {[NOTE_THREAD] = MPROF_THREAD_Task, [NOTE_PLACE] = MPROF_THREAD_Place};
	struct ring *ring = &wr->r->rings[0];

	qsort(wr->notes, wr->n_notes, sizeof(wr->notes[0]), compare_notes);
	for (unsigned i = 0; i < wr->n_notes; i++) {
		const struct noted *n = &wr->notes[i];
		unsigned type = n->kind == NOTE_OBJECT ? n->type : types[n->kind];

		mprof_recorder_at(&ring->recorder, recording_clock(wr->r, n->time));
		creates(ring, n->creator ? n->creator : MPROF_THREAD_NONE, n->id, type);
		if (n->kind == NOTE_THREAD)
			mprof_recorder_label(&ring->recorder, n->id, "__should_resolve", 16);
		mprof_recorder_label(&ring->recorder, n->id, n->text, strlen(n->text));
	}
}

/* The recorder samples counters as long as the process is there, whatever its threads do. */
static bool write_samples(struct writer *wr)
{
	const struct recording *r = wr->r;
	uint64_t exited = wr->w->exited[r->process], end = exited < r->until ? exited : r->until, from = WORLD_NEVER;
	struct ring *ring = ring_new(wr->r, "counters", RECORDING_BYTES);

	for (unsigned i = 0; i < wr->n_notes; i++)
		from = wr->notes[i].time < from ? wr->notes[i].time : from;
	for (uint64_t t = from; ring && t <= end; t += r->hiding->sampled_ns) {
		mprof_recorder_at(&ring->recorder, recording_clock(r, t));
		mprof_recorder_counter(&ring->recorder, (int64_t)(t % 1000), "resident", 8);
	}
	return ring;
}

bool recording_run(struct recording *r, const struct world *w, int process, uint64_t until, const struct hiding *h)
{
	struct writer wr = {.r = r, .w = w, .next_wait = RUN_ID_WAIT_FIRST};

	*r = (struct recording){.world = w, .hiding = h, .process = process, .until = until, .first = 1};
	memset(wr.ring, 0xff, sizeof(wr.ring));
	memset(wr.waker, 0xff, sizeof(wr.waker));
	if (!ring_new(r, "objects", RECORDING_BYTES))
		return false;
	for (unsigned i = 0; i < w->n_facts && w->facts[i].time <= until; i++) {
		r->facts[i].ring = WORLD_NONE;
		if (w->facts[i].process != process)
			continue;
		if (h->durations && (w->facts[i].kind == FACT_TAKE || w->facts[i].kind == FACT_FREE))
			write_held(&wr, &w->facts[i]);
		if (is_written(&wr, &w->facts[i]))
			write_fact(&wr, i);
	}
	write_notes(&wr);
	return !wr.failed && (!h->sampled_ns || write_samples(&wr));
}
