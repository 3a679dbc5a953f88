/*
 * A ring for each thread.
 *
 * A thread has what it knows in thread-local memory (struct mine). GENERATION ties it to one start of the
 * tracer, in one process: the page MARK has the generation, and the kernel gives a child of fork() an
 * empty page instead. So the child finds out by one load, in whatever way it was forked.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef MPROF_RECORDER_OFF
#include <mprof/cycles.h>
#include <mprof/tracer.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "slots.h"

#define SLOTS (MPROF_TRACER_OWN_MAX + MPROF_TRACER_SHARED_MAX)
#define LOCAL static __thread __attribute__((tls_model("initial-exec")))

_Static_assert(SLOTS == MPROF_PUBLISHER_RINGS_MAX, "a publisher has a place for each ring");

static struct tracer {
	struct mprof_tracer_options options;
	struct mprof_publisher publisher;
	struct mprof_cycles cycles; /* the default clock */
	struct slot slots[SLOTS];
	uint32_t *mark;	     /* a page that a child of fork() finds empty; the generation */
	uint32_t generation; /* grows with each start and each fork */
	uint32_t changing;   /* process in which a thread changes the tracer after a fork; 0 = none */
	uint32_t threads;    /* identifiers that were given out */
	uint64_t dropped;
	uint64_t reported; /* of DROPPED: counted by a recorder */
	pthread_key_t key;
	bool has_key;
} tracer;

bool mprof_tracer_running;

/* A thread's knowledge of its ring. A zeroed one knows nothing. */
struct mine {
	uint32_t generation;
	uint32_t id;	   /* the owner in its slot; 0 = none yet */
	struct slot *slot; /* NULL = none */
	bool busy;	   /* the thread changes these fields, or takes the lock of a shared ring */
	unsigned depth;	   /* calls of begin without their end */
	int64_t current;   /* shared: the running thread, by this thread's events */
};

LOCAL struct mine mine;

static int64_t thread_number(void)
{
	return syscall(SYS_gettid);
}

static uint32_t mark_load(void)
{
	return __atomic_load_n(tracer.mark, __ATOMIC_ACQUIRE);
}

static void count_drop(void)
{
	__atomic_fetch_add(&tracer.dropped, 1, __ATOMIC_RELAXED);
}

/* Give R the drops that no ring has counted yet: it records their number with its next event. */
static void report_drops(struct mprof_recorder *r)
{
	uint64_t dropped = __atomic_load_n(&tracer.dropped, __ATOMIC_RELAXED);
	uint64_t before = __atomic_load_n(&tracer.reported, __ATOMIC_RELAXED);

	if (before >= dropped ||
	    !__atomic_compare_exchange_n(&tracer.reported, &before, dropped, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	r->dropped[MPROF_DROP_NO_RING] += dropped - before;
	r->drops += dropped - before;
}

/* ---- rings ------------------------------------------------------------------------------------ */

/* Make the ring of SLOT, number INDEX, and let readers find it. Return whether that was possible. */
static bool ring_make(struct slot *slot, unsigned index)
{
	const struct mprof_publisher *p = &tracer.publisher;
	char name[MPROF_PUBLISHER_NAME_SIZE];
	void *memory;

	mprof_publisher_name(name, index);
	if (p->share(p->context, index, tracer.options.ring_bytes, &memory))
		return false;
	mprof_recorder_init(&slot->recorder, memory, tracer.options.ring_bytes, tracer.options.packets,
			    tracer.options.clock, tracer.options.clock_context);
	mprof_recorder_compatible(&slot->recorder, tracer.options.compatible);
	if (p->say(p->context, index, name)) {
		mprof_recorder_stop(&slot->recorder);
		p->withdraw(p->context, index);
		return false;
	}
	slot->sequence = 0;
	slot->last = MPROF_THREAD_NONE;
	return true;
}

static const struct slots slots = {
	.slot = tracer.slots,
	.own = MPROF_TRACER_OWN_MAX,
	.first_shared = MPROF_TRACER_OWN_MAX,
	.shared = MPROF_TRACER_SHARED_MAX,
	.make = ring_make,
};

/* ---- processes ---------------------------------------------------------------------------------*/

/*
 * The process is a child of fork(): no thread but the calling one exists. Forget the parent's rings
 * without touching their memory, which is not there.
 */
static bool process_begin(void)
{
	const struct mprof_publisher *p = &tracer.publisher;
	uint32_t pid = (uint32_t)getpid(), other = __atomic_load_n(&tracer.changing, __ATOMIC_RELAXED);
	bool good;

	if (mark_load())
		return true;
	/*
	 * Threads that the child has made may be here at the same time: one of them begins. If the
	 * number is of another process, that one was forked by a thread that did not see it.
	 */
	if (other == pid ||
	    !__atomic_compare_exchange_n(&tracer.changing, &other, pid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	if (mark_load()) {
		__atomic_store_n(&tracer.changing, 0, __ATOMIC_RELEASE);
		return true;
	}
	memset(tracer.slots, 0, sizeof(tracer.slots));
	tracer.dropped = tracer.reported = 0;
	/* A thread of the parent may have been changing the clock. */
	if (tracer.options.clock_context == &tracer.cycles)
		mprof_cycles_begin(&tracer.cycles, tracer.cycles.counter);
	good = p->forked(p->context) == 0;
	if (good)
		__atomic_store_n(tracer.mark, ++tracer.generation, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&mprof_tracer_running, false, __ATOMIC_RELAXED);
	__atomic_store_n(&tracer.changing, 0, __ATOMIC_RELEASE);
	return good;
}

static void on_thread_end(void *value)
{
	(void)value;
	mprof_tracer_thread_end();
}

/*
 * The calling thread records for the first time since the tracer was started or the process forked.
 * Return whether it has a slot.
 */
static bool thread_join(struct mine *m)
{
	uint32_t generation;

	m->slot = NULL;
	m->depth = 0;
	if (!process_begin())
		return false;
	generation = mark_load();
	do
		m->id = __atomic_add_fetch(&tracer.threads, 1, __ATOMIC_RELAXED);
	while (!m->id);
	m->slot = recorder_slots_take(&slots, m->id);
	if (!m->slot)
		return false;
	m->current = thread_number();
	if (tracer.has_key && !m->slot->shared)
		pthread_setspecific(tracer.key, m);
	m->generation = generation;
	return true;
}

/* ---- begin and end ---------------------------------------------------------------------------- */

/* The ring of SLOT belongs to the calling thread now, alone or for this turn: let it speak for the thread. */
static void turn(struct mine *m, struct slot *slot, bool first)
{
	struct mprof_recorder *r = &slot->recorder;

	if (first || slot->last != (int64_t)m->id)
		mprof_recorder_switch(r, m->current);
	slot->last = m->id;
	if (first && tracer.options.thread_began)
		tracer.options.thread_began(tracer.options.thread_context, r);
}

/* The calling thread has no ring yet, or has a shared one. Return its recorder, or NULL. */
static struct mprof_recorder *begin_slow(struct mine *m)
{
	int error = errno;
	struct slot *slot;
	bool first = m->generation == 0 || m->generation != mark_load(), good;

	if (m->busy) {
		count_drop();
		return NULL;
	}
	m->busy = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	good = !first || thread_join(m);
	slot = m->slot;
	if (good && slot->shared && m->depth == 0)
		good = recorder_slot_wait(slot, m->id);
	if (good) {
		m->depth++;
		report_drops(&slot->recorder);
		if (m->depth == 1)
			turn(m, slot, first);
	} else {
		count_drop();
		if (first)
			m->generation = 0;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	m->busy = false;
	errno = error;
	return good ? &slot->recorder : NULL;
}

struct mprof_recorder *mprof_tracer_begin(void)
{
	struct mine *m = &mine;

	if (!mprof_tracer_on())
		return NULL;
	if (m->generation == 0 || m->generation != mark_load() || m->slot->shared)
		return begin_slow(m);
	m->depth++;
	report_drops(&m->slot->recorder);
	return &m->slot->recorder;
}

/* The recorder may have finished packets: tell the readers. */
static void kick(struct slot *slot)
{
	const struct mprof_publisher *p = &tracer.publisher;
	uint64_t sequence = mprof_recorder_sequence(&slot->recorder);

	if (sequence == slot->sequence)
		return;
	slot->sequence = sequence;
	p->kick(p->context, (unsigned)(slot - tracer.slots));
}

void mprof_tracer_end(struct mprof_recorder *r)
{
	struct mine *m = &mine;
	struct slot *slot = (struct slot *)(void *)((char *)r - offsetof(struct slot, recorder));

	if (tracer.publisher.kick && !r->busy)
		kick(slot);
	/* Between begin and end the process was forked, or the thread has ended its ring. */
	if (!m->depth)
		return;
	if (!m->slot->shared) {
		m->depth--;
		return;
	}
	/* A signal handler that comes here finds DEPTH at 1, and so does not take the lock. */
	m->busy = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (m->depth == 1) {
		m->current = mprof_recorder_current(r);
		recorder_slot_free(slot);
	}
	m->depth--;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	m->busy = false;
}

void mprof_tracer_thread_end(void)
{
	struct mine *m = &mine;

	if (!m->generation || !mprof_tracer_on() || m->generation != mark_load() || m->depth)
		return;
	m->busy = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	m->generation = 0;
	if (!m->slot->shared)
		recorder_slot_free(m->slot);
	m->slot = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	m->busy = false;
}

/* ---- start and stop --------------------------------------------------------------------------- */

/* Map the page that a child of fork() finds empty. It stays mapped, so that late calls can read it. */
static int mark_map(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	if (tracer.mark)
		return 0;
	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	if (madvise(p, page, MADV_WIPEONFORK) < 0) {
		int r = -errno;

		munmap(p, page);
		return r;
	}
	tracer.mark = p;
	return 0;
}

int mprof_tracer_start(const struct mprof_tracer_options *options)
{
	int r;

	if (mprof_tracer_on())
		return -EBUSY;
	if (options->ring_bytes < MPROF_RING_BYTES_MIN || options->ring_bytes > MPROF_RING_BYTES_MAX ||
	    (options->packets &&
	     (options->packets < MPROF_RING_PACKETS_MIN || options->packets > MPROF_RING_PACKETS_MAX ||
	      options->ring_bytes / options->packets < MPROF_RECORDER_PACKET_MIN)))
		return -EINVAL;
	r = mark_map();
	if (r)
		return r;
	if (!tracer.has_key)
		tracer.has_key = pthread_key_create(&tracer.key, on_thread_end) == 0;
	tracer.options = *options;
	tracer.publisher = *options->publisher;
	if (!tracer.options.clock)
		tracer.options.clock = mprof_cycles_now;
	if (!options->clock) {
		mprof_cycles_init(&tracer.cycles);
		tracer.options.clock_context = &tracer.cycles;
	}
	memset(tracer.slots, 0, sizeof(tracer.slots));
	tracer.dropped = tracer.reported = 0;
	__atomic_store_n(tracer.mark, ++tracer.generation, __ATOMIC_RELEASE);
	__atomic_store_n(&mprof_tracer_running, true, __ATOMIC_RELEASE);
	return 0;
}

void mprof_tracer_stop(void)
{
	const struct mprof_publisher *p = &tracer.publisher;

	if (!mprof_tracer_on())
		return;
	__atomic_store_n(&mprof_tracer_running, false, __ATOMIC_RELEASE);
	/* In a child of fork() that has recorded nothing, the rings are the parent's. */
	for (unsigned i = 0; i < SLOTS && mark_load(); i++) {
		if (!tracer.slots[i].made)
			continue;
		mprof_recorder_stop(&tracer.slots[i].recorder);
		p->withdraw(p->context, i);
	}
}

uint64_t mprof_tracer_dropped(void)
{
	uint64_t sum = __atomic_load_n(&tracer.dropped, __ATOMIC_RELAXED) -
		       __atomic_load_n(&tracer.reported, __ATOMIC_RELAXED);

	for (unsigned i = 0; i < SLOTS; i++)
		if (__atomic_load_n(&tracer.slots[i].made, __ATOMIC_ACQUIRE))
			sum += __atomic_load_n(&tracer.slots[i].recorder.drops, __ATOMIC_RELAXED);
	return sum;
}

unsigned mprof_tracer_rings(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		n += __atomic_load_n(&tracer.slots[i].made, __ATOMIC_ACQUIRE);
	return n;
}
