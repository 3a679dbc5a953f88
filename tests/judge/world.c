/*
 * The machine.
 *
 * Invariant: a thread with a wait whose END is WORLD_NEVER is blocked, or was woken and tries again at
 * its time AT. A fact is noted when it happens, so the facts are in the order of time.
 */
#include "world.h"

#include <string.h>

#define BIT(i) (UINT64_C(1) << (i))

static struct fact *note(struct world *w, enum fact_kind kind, int thread)
{
	struct fact *f = &w->facts[w->n_facts++];

	*f = (struct fact){.time = w->now,
			   .kind = kind,
			   .thread = thread,
			   .process = w->threads[thread].process,
			   .object = WORLD_NONE,
			   .wait = WORLD_NONE,
			   .other = WORLD_NONE,
			   .pc = w->threads[thread].pc};
	return f;
}

/* Pipes are the kernel's: all processes share them. */
static struct object *object_of(struct world *w, int process, int index)
{
	return &w->objects[w->objects[0][index].kind == OBJECT_PIPE ? 0 : process][index];
}

static uint64_t soon(struct world *w, unsigned us)
{
	return w->now + 200 + random_below(&w->random, us * 1000 + 1);
}

static unsigned count_bits(uint64_t bits)
{
	return (unsigned)__builtin_popcountll(bits);
}

/* Return one of the threads of the set BITS, which is not empty. */
static int any_of(struct world *w, uint64_t bits)
{
	unsigned skip = random_below(&w->random, count_bits(bits));

	while (skip--)
		bits &= bits - 1;
	return __builtin_ctzll(bits);
}

/* ---- waits ---- */

static void block(struct world *w, int thread, int object, int joined, int holder)
{
	struct thread *t = &w->threads[thread];
	struct fact *f;

	t->wait = (int)w->n_waits++;
	w->waits[t->wait] = (struct wait){.thread = thread,
					  .process = t->process,
					  .object = object,
					  .joined = joined,
					  .program = (unsigned)t->program,
					  .pc = t->pc,
					  .begin = w->now,
					  .end = WORLD_NEVER,
					  .woken = WORLD_NEVER,
					  .holder = holder};
	f = note(w, FACT_BLOCK, thread);
	f->object = object;
	f->wait = t->wait;
	f->other = joined == WORLD_NONE ? holder : joined;
	t->state = THREAD_BLOCKED;
	t->at = WORLD_NEVER;
	if (object != WORLD_NONE) {
		object_of(w, t->process, object)->waiting |= BIT(thread);
		object_of(w, t->process, object)->asleep |= BIT(thread);
	}
}

/* THREAD goes on behind its wait, which OTHER ended. */
static void resume(struct world *w, int thread, int other, bool timed_out)
{
	struct thread *t = &w->threads[thread];
	struct wait *wait = &w->waits[t->wait];
	struct fact *f = note(w, timed_out ? FACT_TIMEOUT : FACT_RESUME, thread);

	f->object = wait->object;
	f->wait = t->wait;
	f->other = other;
	wait->end = w->now;
	if (wait->object != WORLD_NONE) {
		object_of(w, t->process, wait->object)->waiting &= ~BIT(thread);
		object_of(w, t->process, wait->object)->asleep &= ~BIT(thread);
		object_of(w, t->process, wait->object)->writers &= ~BIT(thread);
	}
	t->wait = WORLD_NONE;
	t->state = THREAD_READY;
}

/* THREAD was woken from condition OBJECT by BY. */
static void note_woken(struct world *w, int thread, int object, int by)
{
	struct fact *f = note(w, FACT_WOKEN, by);

	f->object = object;
	f->other = thread;
	f->wait = w->threads[thread].wait;
	w->waits[f->wait].woken = w->now;
}

/* Let one sleeper of O, or all, try again. Return their number. */
static unsigned wake(struct world *w, struct object *o, bool all)
{
	unsigned n = 0;

	while (o->asleep && (all || !n)) {
		int thread = any_of(w, o->asleep);

		o->asleep &= ~BIT(thread);
		w->threads[thread].at = soon(w, 4);
		w->threads[thread].woken = true;
		n++;
	}
	return n;
}

/* ---- locks ---- */

static bool may_take(const struct object *o, enum op_kind kind)
{
	if (o->holder != WORLD_NONE)
		return false;
	if (kind == OP_RDLOCK)
		return !o->writers; /* a waiting writer goes first */
	return !o->readers;
}

static void take(struct world *w, int thread, int object, enum op_kind kind)
{
	struct object *o = object_of(w, w->threads[thread].process, object);
	struct fact *f;

	if (kind == OP_RDLOCK) {
		o->readers |= BIT(thread);
	} else {
		o->holder = thread;
		o->since = w->now;
	}
	f = note(w, FACT_TAKE, thread);
	f->object = object;
	f->n = kind == OP_RDLOCK;
}

/* Lock, or wait. A thread that was woken tries again in the same wait. */
static void lock(struct world *w, int thread, int object, enum op_kind kind)
{
	struct thread *t = &w->threads[thread];
	struct object *o = object_of(w, t->process, object);

	if (kind == OP_WRLOCK && t->wait != WORLD_NONE)
		o->writers &= ~BIT(thread);
	if (may_take(o, kind)) {
		take(w, thread, object, kind);
		if (t->wait != WORLD_NONE)
			resume(w, thread, WORLD_NONE, false);
		t->pc++;
		t->at = soon(w, 2);
		return;
	}
	if (t->wait == WORLD_NONE)
		block(w, thread, object, WORLD_NONE, o->holder);
	o->asleep |= BIT(thread);
	if (kind == OP_WRLOCK)
		o->writers |= BIT(thread);
	t->at = WORLD_NEVER;
}

static void release(struct world *w, int thread, int object)
{
	struct object *o = object_of(w, w->threads[thread].process, object);
	struct fact *f = note(w, FACT_FREE, thread);

	f->object = object;
	f->n = count_bits(o->waiting);
	if (o->readers & BIT(thread))
		o->readers &= ~BIT(thread);
	else
		o->holder = WORLD_NONE;
	if (!o->readers && o->holder == WORLD_NONE)
		wake(w, o, o->kind == OBJECT_RWLOCK);
}

/* ---- conditions ---- */

/* A thread comes back from a condition: it wants its mutex. */
static void reacquire(struct world *w, int thread, const struct op *op)
{
	struct thread *t = &w->threads[thread];
	struct object *m = object_of(w, t->process, op->b), *c = object_of(w, t->process, op->a);

	c->asleep &= ~BIT(thread);
	if (m->holder != WORLD_NONE) {
		if (!(m->waiting & BIT(thread)))
			note(w, FACT_RELOCK, thread)->object = op->b;
		m->asleep |= BIT(thread);
		m->waiting |= BIT(thread);
		t->at = WORLD_NEVER;
		return;
	}
	m->asleep &= ~BIT(thread);
	m->waiting &= ~BIT(thread);
	take(w, thread, op->b, OP_LOCK);
	resume(w, thread, WORLD_NONE, t->timed_out);
	t->timed_out = false;
	t->pc++;
	t->at = soon(w, 2);
}

static void wait_for(struct world *w, int thread, const struct op *op)
{
	struct thread *t = &w->threads[thread];

	if (t->wait != WORLD_NONE) {
		t->timed_out |= op->kind == OP_TIMED && !t->woken;
		t->woken = true;
		reacquire(w, thread, op);
		return;
	}
	release(w, thread, op->b);
	t->woken = false;
	block(w, thread, op->a, WORLD_NONE, WORLD_NONE);
	if (op->kind == OP_TIMED)
		t->at = soon(w, 50);
}

static void signal_condition(struct world *w, int thread, int object, bool all)
{
	struct object *o = object_of(w, w->threads[thread].process, object);
	struct fact *f = note(w, FACT_SIGNAL, thread);
	uint64_t asleep = o->asleep;

	f->object = object;
	f->n = wake(w, o, all);
	asleep &= ~o->asleep;
	for (int i = 0; i < WORLD_THREADS; i++)
		if (asleep >> i & 1)
			note_woken(w, i, object, thread);
}

/* ---- semaphores and pipes ---- */

#define PIPE_ROOM 3

static void acquire(struct world *w, int thread, const struct op *op)
{
	struct thread *t = &w->threads[thread];
	struct object *o = object_of(w, t->process, op->a);
	bool ready = op->kind == OP_WRITE ? o->count < PIPE_ROOM : o->count > 0;

	if (!ready) {
		if (t->wait == WORLD_NONE)
			block(w, thread, op->a, WORLD_NONE, WORLD_NONE);
		o->asleep |= BIT(thread);
		t->at = WORLD_NEVER;
		return;
	}
	o->count += op->kind == OP_WRITE ? 1 : -1;
	if (t->wait != WORLD_NONE)
		resume(w, thread, WORLD_NONE, false);
	if (op->kind != OP_ACQUIRE) {
		note(w, FACT_MOVE, thread)->object = op->a;
		wake(w, o, true);
	}
	t->pc++;
	t->at = soon(w, 3);
}

static void post(struct world *w, int thread, int object)
{
	struct object *o = object_of(w, w->threads[thread].process, object);
	struct fact *f = note(w, FACT_POST, thread);

	f->object = object;
	f->n = count_bits(o->waiting);
	o->count++;
	wake(w, o, false);
}

/* ---- threads and processes ---- */

static int spawn(struct world *w, int creator, int process, int program)
{
	int i = (int)w->n_threads++;
	struct thread *t = &w->threads[i];

	*t = (struct thread){.process = process,
			     .program = program,
			     .creator = creator,
			     .created = w->now,
			     .at = soon(w, 5),
			     .begin = WORLD_NEVER,
			     .end = WORLD_NEVER,
			     .wait = WORLD_NONE};
	memset(t->children, 0xff, sizeof(t->children));
	return i;
}

static void end_thread(struct world *w, int thread)
{
	struct thread *t = &w->threads[thread];

	note(w, FACT_END, thread);
	t->state = THREAD_ENDED;
	t->end = w->now;
	t->at = WORLD_NEVER;
	for (unsigned i = 0; i < w->n_threads; i++)
		if (w->threads[i].wait != WORLD_NONE && w->waits[w->threads[i].wait].joined == thread)
			w->threads[i].at = soon(w, 3);
}

/* The first thread of a process returns: the process ends, with all its threads. */
static void end_process(struct world *w, int thread)
{
	int process = w->threads[thread].process;

	end_thread(w, thread);
	note(w, FACT_EXIT, thread);
	w->exited[process] = w->now;
	for (unsigned i = 0; i < w->n_threads; i++) {
		struct thread *t = &w->threads[i];

		if (t->process != process || t->state == THREAD_ENDED)
			continue;
		if (t->wait != WORLD_NONE) {
			w->waits[t->wait].end = w->now;
			t->wait = WORLD_NONE;
		}
		for (unsigned k = 0; k < w->n_objects; k++) {
			object_of(w, process, (int)k)->asleep &= ~BIT(i);
			object_of(w, process, (int)k)->waiting &= ~BIT(i);
		}
		t->state = THREAD_ENDED;
		t->end = w->now;
		t->at = WORLD_NEVER;
	}
}

static void join(struct world *w, int thread, const struct op *op)
{
	struct thread *t = &w->threads[thread];
	int child = t->children[op->b];

	if (child != WORLD_NONE && w->threads[child].state != THREAD_ENDED) {
		if (t->wait == WORLD_NONE)
			block(w, thread, WORLD_NONE, child, WORLD_NONE);
		t->at = WORLD_NEVER;
		return;
	}
	if (t->wait != WORLD_NONE)
		resume(w, thread, child, false);
	t->pc++;
	t->at = soon(w, 2);
}

/* The child has a copy of the memory: locks that another thread has stay locked in it for ever. */
static void fork_process(struct world *w, int thread, const struct op *op)
{
	struct thread *t = &w->threads[thread];
	int child = (int)w->n_processes++;

	memcpy(w->variables[child], w->variables[t->process], sizeof(w->variables[0]));
	for (unsigned i = 0; i < w->n_objects; i++) {
		struct object *o = &w->objects[child][i];

		*o = w->objects[t->process][i];
		o->waiting = o->asleep = o->writers = 0;
		w->inherited[child][i] = o->holder;
	}
	w->exited[child] = WORLD_NEVER;
	t->children[op->b] = spawn(w, thread, child, op->a);
}

/* ---- operations ---- */

static void compute(struct world *w, int thread, const struct op *op)
{
	struct thread *t = &w->threads[thread];
	uint64_t until = soon(w, (unsigned)op->value);

	if (op->kind == OP_WORK) {
		note(w, FACT_RUN, thread)->n = until - w->now;
		t->pc++;
		t->at = until;
		return;
	}
	if (t->wait == WORLD_NONE) {
		block(w, thread, WORLD_NONE, WORLD_NONE, WORLD_NONE);
		t->at = until;
		return;
	}
	resume(w, thread, WORLD_NONE, false);
	t->pc++;
	t->at = soon(w, 1);
}

/* Operations that need no time and never wait. */
static void calculate(struct world *w, int thread, const struct op *op)
{
	struct thread *t = &w->threads[thread];
	int *v = &w->variables[t->process][op->a];
	unsigned next = t->pc + 1;

	switch (op->kind) {
	case OP_SET:
		*v = op->value;
		break;
	case OP_ADD:
		*v += op->value;
		break;
	case OP_IFZERO:
		next = *v ? next : op->b;
		break;
	case OP_IFSET:
		next = *v ? op->b : next;
		break;
	case OP_LOOP:
		if (t->loops[t->pc]++ < (unsigned)op->value)
			next = op->b;
		else
			t->loops[t->pc] = 0;
		break;
	default:
		next = op->b;
		break;
	}
	t->pc = next;
	t->at = soon(w, 0);
}

/* Operations that act on others and never wait. */
static void act(struct world *w, int thread, const struct op *op)
{
	struct thread *t = &w->threads[thread];

	switch (op->kind) {
	case OP_UNLOCK:
	case OP_RWFREE:
		release(w, thread, op->a);
		break;
	case OP_SIGNAL:
	case OP_WAKEALL:
		signal_condition(w, thread, op->a, op->kind == OP_WAKEALL);
		break;
	case OP_POST:
		post(w, thread, op->a);
		break;
	case OP_SPAWN:
		t->children[op->b] = spawn(w, thread, t->process, op->a);
		break;
	default:
		fork_process(w, thread, op);
		break;
	}
	t->pc++;
	t->at = soon(w, 1);
}

static void step(struct world *w, int thread)
{
	struct thread *t = &w->threads[thread];
	const struct op *op = &w->programs[t->program].op[t->pc];

	if (t->begin == WORLD_NEVER) {
		t->begin = w->now;
		note(w, FACT_BEGIN, thread);
	}
	switch ((enum op_kind)op->kind) {
	case OP_END:
		if (t->creator == WORLD_NONE || w->threads[t->creator].process != t->process)
			end_process(w, thread);
		else
			end_thread(w, thread);
		break;
	case OP_WORK:
	case OP_SLEEP:
		compute(w, thread, op);
		break;
	case OP_LOCK:
	case OP_RDLOCK:
	case OP_WRLOCK:
		lock(w, thread, op->a, op->kind);
		break;
	case OP_WAIT:
	case OP_TIMED:
		wait_for(w, thread, op);
		break;
	case OP_ACQUIRE:
	case OP_READ:
	case OP_WRITE:
		acquire(w, thread, op);
		break;
	case OP_JOIN:
		join(w, thread, op);
		break;
	case OP_SET:
	case OP_ADD:
	case OP_IFZERO:
	case OP_IFSET:
	case OP_LOOP:
	case OP_GO:
		calculate(w, thread, op);
		break;
	default:
		act(w, thread, op);
		break;
	}
}

/* Return the thread whose time is the earliest, or WORLD_NONE. */
static int next_thread(const struct world *w)
{
	int next = WORLD_NONE;

	for (unsigned i = 0; i < w->n_threads; i++)
		if (w->threads[i].at != WORLD_NEVER && (next == WORLD_NONE || w->threads[i].at < w->threads[next].at))
			next = (int)i;
	return next;
}

void world_run(struct world *w)
{
	w->now = 1000000000000u + random_below(&w->random, 1000000);
	w->n_processes = 1;
	w->exited[0] = WORLD_NEVER;
	spawn(w, WORLD_NONE, 0, 0);
	for (unsigned steps = 0;; steps++) {
		int thread = next_thread(w);
		uint64_t at = thread == WORLD_NONE ? 0 : w->threads[thread].at;

		w->quiet = w->now;
		w->endless = thread != WORLD_NONE && (steps == WORLD_STEPS - 64 || w->n_threads > WORLD_THREADS - 2);
		if (thread == WORLD_NONE || w->endless)
			return;
		w->now = at > w->now ? at : w->now + 1;
		step(w, thread);
	}
}

/* ---- questions about the truth ---- */

int world_wait_at(const struct world *w, int thread, uint64_t time)
{
	for (unsigned i = 0; i < w->n_waits; i++)
		if (w->waits[i].thread == thread && w->waits[i].begin <= time && w->waits[i].end > time)
			return (int)i;
	return WORLD_NONE;
}

int world_holder_at(const struct world *w, int process, int object, uint64_t time)
{
	int holder = process ? w->inherited[process][object] : WORLD_NONE;

	for (unsigned i = 0; i < w->n_facts && w->facts[i].time <= time; i++) {
		const struct fact *f = &w->facts[i];

		if (f->process != process || f->object != object)
			continue;
		if (f->kind == FACT_TAKE && !f->n)
			holder = f->thread;
		else if (f->kind == FACT_FREE && f->thread == holder)
			holder = WORLD_NONE;
	}
	return holder;
}

bool world_satisfied(const struct world *w, const struct wait *wait)
{
	const struct op *op = &w->programs[wait->program].op[wait->pc];

	return (op->kind == OP_WAIT || op->kind == OP_TIMED) && w->variables[wait->process][op->value] > 0;
}

bool world_stuck(const struct world *w, int thread, uint64_t time)
{
	int wait = world_wait_at(w, thread, time);

	return wait != WORLD_NONE && w->waits[wait].end == WORLD_NEVER && !w->endless;
}
