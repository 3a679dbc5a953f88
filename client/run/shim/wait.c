/*
 * Waits and wake-ups as events.
 *
 * A wait is a thread of the trace, of type Wait: the place in the code creates it, it tries to read
 * the object, and the waiting thread tries to read it. When the thread runs again, the thread that
 * woke it resolves the wait, and the thread reads it. An object that a thread has locked tries to
 * read that thread.
 */
#include "hold.h"
#include "thread-events.h"

#define WAIT_BLOCK 256u /* ids that a thread takes at once */

static int64_t wait_blocks;

static int64_t wait_id(struct self *s)
{
	if (!s->wait_left) {
		s->wait_next =
			RUN_ID_WAIT_FIRST - __atomic_fetch_add(&wait_blocks, 1, __ATOMIC_RELAXED) * (int64_t)WAIT_BLOCK;
		s->wait_left = WAIT_BLOCK;
	}
	s->wait_left--;
	return s->wait_next--;
}

/* Return whether several threads may have the lock after CALL. */
static bool is_shared(enum run_call call)
{
	return call == RUN_CALL_pthread_rwlock_rdlock || call == RUN_CALL_pthread_rwlock_timedrdlock ||
	       call == RUN_CALL_pthread_rwlock_clockrdlock;
}

static struct object *named(const void *place, int64_t on, enum mprof_thread_type type)
{
	if (on < 0)
		return object_get(RUN_NOTE_FD, on, object_id(place), (uint32_t)(RUN_ID_FD(0) - on));
	return object_get(RUN_NOTE_LOCK, on, object_id(place), type);
}

/* The wait ID of the thread is over. */
static void record_end(struct slot *slot, struct self *s, int64_t id, int64_t resolver, const char *failure)
{
	ring_resolves(slot, resolver, id, failure);
	mprof_recorder_read(&slot->recorder, s->tid, id);
	s->unread = 0;
}

static void record_begin(struct wait *w, const struct self *s, const void *place, int owner)
{
	ring_creates(w->ring, object_id(place), w->id, MPROF_THREAD_Wait);
	if (w->on)
		mprof_recorder_try_read(&w->ring->recorder, w->id, w->on);
	if (owner)
		mprof_recorder_try_read(&w->ring->recorder, w->on, owner);
	mprof_recorder_try_read(&w->ring->recorder, s->tid, w->id);
	mprof_recorder_suspend(&w->ring->recorder);
}

/*
 * The thread begins the wait W for the condition O at TIME, ns, with the mutex WITH, which it has had since SINCE, ns (0 =
 * unknown). If the condition's last signal came later than that, from a thread that had not had the mutex, the
 * thread has missed it: record how long before the wait the signal came.
 */
static void record_missed(const struct wait *w, struct object *o, int64_t with, uint64_t since, uint64_t time)
{
	uint64_t bare = __atomic_load_n(&o->bare, __ATOMIC_RELAXED);

	__atomic_store_n(&o->mutex, with, __ATOMIC_RELAXED);
	if (since && since < bare && bare < time)
		mprof_recorder_duration(&w->ring->recorder, w->id, time - bare, RUN_MISSED, sizeof(RUN_MISSED) - 1);
}

/* Return the entry of the calling thread in the table of threads that wait, or NULL if that is full. */
static struct run_waiter *waiter_get(struct self *s)
{
	struct run_control *c = control_get();
	uint32_t first = (uint32_t)s->tid;

	if (s->waiter || s->waiter_refused || !c)
		return s->waiter;
	for (uint32_t i = 0; i < RUN_WAITERS && !s->waiter; i++) {
		struct run_waiter *w = &c->waiters[(first + i) % RUN_WAITERS];
		int32_t nobody = 0;

		if (__atomic_load_n(&w->owner, __ATOMIC_RELAXED) == 0 &&
		    __atomic_compare_exchange_n(&w->owner, &nobody, s->tid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			s->waiter = w;
	}
	s->waiter_refused = !s->waiter;
	if (s->waiter_refused)
		__atomic_fetch_or(&c->refused[first % RUN_REFUSED / 64], UINT64_C(1) << first % 64, __ATOMIC_RELEASE);
	return s->waiter;
}

/* Let the keeper read the stack of W, which began at TIME, ns. */
static void waiter_enter(struct wait *w, struct self *s, enum run_call call, const void *place,
			 const uint64_t *registers, uint64_t time)
{
	struct run_waiter *waiter = waiter_get(s);

	if (!waiter)
		return;
	/* A signal handler may wait while the code that it interrupted does: its wait is seen, and then neither. */
	__atomic_store_n(&waiter->wait, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	waiter->since = time;
	waiter->on = w->on;
	waiter->place = (uint64_t)(uintptr_t)place;
	waiter->call = call;
	memcpy(waiter->registers, registers, sizeof(waiter->registers));
	__atomic_store_n(&waiter->wait, w->id, __ATOMIC_RELEASE);
	w->waiter = waiter;
	w->generation = s->generation;
}

/* The wait is over: the thread's stack is its own again. */
static void waiter_leave(struct wait *w)
{
	struct run_waiter *waiter = w->waiter;

	w->waiter = NULL;
	/* A forked child does not have the memory. */
	if (!waiter || w->generation != __atomic_load_n(&process->generation, __ATOMIC_ACQUIRE) ||
	    __atomic_load_n(&waiter->wait, __ATOMIC_RELAXED) != w->id)
		return;
	__atomic_store_n(&waiter->wait, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

void waiter_free(struct self *s)
{
	if (s->waiter)
		__atomic_store_n(&s->waiter->owner, 0, __ATOMIC_RELEASE);
	s->waiter = NULL;
}

void wait_begin(struct wait *w, enum run_call call, const void *place, int64_t on, enum mprof_thread_type type,
		int owner, const uint64_t *registers)
{
	int64_t with = shim_self.waits_with;
	struct self *s = self_enter();
	struct object *o = NULL;
	uint64_t time;

	shim_self.waits_with = 0;
	*w = (struct wait){0};
	if (!s)
		return;
	object_get(RUN_NOTE_PLACE, object_id(place), 0, call);
	/* A thread has a note of its own. */
	if (on && type != MPROF_THREAD_Task)
		o = named(place, on, type);
	/* Others learn of a write, and nobody of what it waits for. */
	if (!run_call_writes(call))
		w->object = o;
	/* A descriptor may become ready without a thread of this process: its last waker has woken earlier waits alone. */
	if (w->object && __atomic_fetch_add(&o->waiters, 1, __ATOMIC_RELAXED) == 0 && on < 0)
		__atomic_store_n(&o->waker, 0, __ATOMIC_RELAXED);
	w->id = wait_id(s);
	w->on = on;
	w->exclusive = w->object && type == MPROF_THREAD_Mutex && !is_shared(call);
	time = now();
	if (ring_begin(s->ring, time)) {
		w->ring = s->ring;
		if (s->unread)
			record_end(w->ring, s, s->unread, s->tid, NULL);
		record_begin(w, s, place, owner);
		if (o && with)
			record_missed(w, o, with, s->waits_since, time);
		ring_end(w->ring);
		waiter_enter(w, s, call, place, registers, time);
	}
	self_leave(s);
}

/* Return the thread that has woken a waiter of O, or 0. */
static int64_t waker_of(struct object *o)
{
	int64_t waker = __atomic_load_n(&o->waker, __ATOMIC_RELAXED);

	return waker && o->id < 0 ? __atomic_exchange_n(&o->waker, 0, __ATOMIC_RELAXED) : waker;
}

void wait_end(struct wait *w, const char *failure)
{
	struct object *o = w->object;
	struct slot *r = w->ring;
	struct self *s;
	int64_t waker = 0;

	w->object = NULL;
	w->ring = NULL;
	waiter_leave(w);
	if (o) {
		__atomic_fetch_sub(&o->waiters, 1, __ATOMIC_RELAXED);
		waker = failure ? 0 : waker_of(o);
	}
	s = r ? self_enter() : NULL;
	if (!s)
		return;
	/* After a fork in a signal handler the ring is another one. */
	if (s->ring == r && ring_begin(r, now())) {
		record_end(r, s, w->id, waker ? waker : w->on ? w->on : s->tid, failure);
		if (w->exclusive && !failure && __atomic_load_n(&o->waiters, __ATOMIC_RELAXED))
			mprof_recorder_try_read(&r->recorder, w->on, s->tid);
		ring_end(r);
	} else if (s->ring == r) {
		s->unread = w->id;
	}
	self_leave(s);
}

/* The thread signals the condition O, or one that has no object, at TIME, ns: note whether a waiter can miss that. */
static void note_signal(struct object *o, int64_t on, uint64_t time)
{
	bool bare = hold_signals(on, o ? __atomic_load_n(&o->mutex, __ATOMIC_RELAXED) : 0);

	if (o)
		__atomic_store_n(&o->bare, bare && !__atomic_load_n(&o->waiters, __ATOMIC_RELAXED) ? time : 0,
				 __ATOMIC_RELAXED);
}

void wake(const void *place, int64_t on, enum mprof_thread_type type)
{
	struct self *s = self_enter();
	struct object *o;
	uint64_t time;

	if (!s)
		return;
	o = named(place, on, type);
	time = now();
	if (type == MPROF_THREAD_Condition)
		note_signal(o, on, time);
	if (o)
		__atomic_store_n(&o->waker, s->tid, __ATOMIC_RELAXED);
	if (ring_begin(s->ring, time)) {
		mprof_recorder_signal_noswitch(&s->ring->recorder, on, s->tid);
		/* The lock waits for this thread no longer. */
		if (type == MPROF_THREAD_Mutex)
			mprof_recorder_read_later(&s->ring->recorder, on, s->tid);
		ring_end(s->ring);
	}
	self_leave(s);
}
