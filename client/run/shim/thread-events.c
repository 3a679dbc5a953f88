/*
 * The rings of the process, whose memory is the keeper's.
 *
 * A recorder has one writer: the thread that owns the ring. The last rings are shared by the threads
 * that find no other. A thread takes a shared ring for each group of events; if another thread has it
 * for too long, because it was preempted, the events are dropped and counted.
 */
#include "thread-events.h"

#include "seccomp.h"

#define SPINS 20000u /* attempts to get a shared ring in a sandbox: some 100 us */

static struct slot rings[RUN_RINGS];

/* Map the ring of SLOT. Return false if the keeper refused. */
static bool ring_make(struct slot *slot, unsigned index)
{
	uint64_t bytes = 0;
	void *memory = keeper_ask(RUN_REQUEST_RING, index, &bytes);

	/*
	 * A file has a ring without events already, so that its readers never find it half made. Xen's memory has none; and a
	 * machine without atomic stores of 8 bytes begins it anew, since its recorder cannot go on with a ring.
	 */
	if (!memory || (mprof_recorder_continue(&slot->recorder, memory, bytes, 0, NULL, NULL) != MPROF_RECORDER_OK &&
			mprof_recorder_init(&slot->recorder, memory, bytes, 0, NULL, NULL) != MPROF_RECORDER_OK))
		return false;
	mprof_recorder_kinds(&slot->recorder, slot->shared ? RUN_WRITES : RUN_WRITES | MPROF_WRITES_STOPS);
	return true;
}

static unsigned rings_own(void)
{
	const struct run_control *c = control_get();

	return c->own < RUN_RINGS_OWN ? c->own : RUN_RINGS_OWN;
}

static unsigned rings_shared(void)
{
	const struct run_control *c = control_get();

	return c->shared && c->shared <= RUN_RINGS - RUN_RINGS_OWN ? c->shared : 1;
}

static bool is_made(const struct slot *s)
{
	return __atomic_load_n(&s->made, __ATOMIC_ACQUIRE);
}

/* Try to become the owner of S, which is a free ring. */
static bool ring_try(struct slot *s, uint32_t tid)
{
	uint32_t nobody = 0;

	return __atomic_load_n(&s->owner, __ATOMIC_RELAXED) == 0 &&
	       __atomic_compare_exchange_n(&s->owner, &nobody, tid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* In a sandbox: take one of the rings that exist. */
static struct slot *ring_take_made(uint32_t tid)
{
	unsigned own = rings_own(), shared = rings_shared();

	for (unsigned i = 0; i < own; i++)
		if (is_made(&rings[i]) && ring_try(&rings[i], tid))
			return &rings[i];
	for (unsigned i = 0; i < shared; i++) {
		struct slot *s = &rings[RUN_RINGS_OWN + (tid + i) % shared];

		if (is_made(s))
			return s;
	}
	return NULL;
}

struct slot *ring_take(int tid)
{
	const struct slots slots = {
		.slot = rings,
		.own = rings_own(),
		.first_shared = RUN_RINGS_OWN,
		.shared = rings_shared(),
		.skip_refused = true, /* a keeper that was late is not late for ever */
		.make = ring_make,
	};

	return seccomp_is_on() ? ring_take_made((uint32_t)tid) : recorder_slots_take(&slots, (uint32_t)tid);
}

void ring_prepare(void)
{
	struct slot *s = &rings[RUN_RINGS_OWN];

	if (!ring_try(s, (uint32_t)shim_self.tid))
		return;
	s->shared = true;
	if (!is_made(s) && ring_make(s, RUN_RINGS_OWN))
		__atomic_store_n(&s->made, true, __ATOMIC_RELEASE);
	recorder_slot_free(s);
}

void ring_return(struct slot *s)
{
	if (!s->shared)
		recorder_slot_free(s);
}

void rings_forget(void)
{
	memset(rings, 0, sizeof(rings));
}

/* Wait for the shared ring S, but not long. In a sandbox the processor cannot be given up. */
static bool ring_wait(struct slot *s, uint32_t tid)
{
	if (!seccomp_is_on())
		return recorder_slot_wait(s, tid);
	for (unsigned i = 0; i < SPINS; i++)
		if (ring_try(s, tid))
			return true;
	return false;
}

bool ring_turn(struct slot *s)
{
	struct run_control *c;

	if (ring_wait(s, (uint32_t)shim_self.tid))
		return true;
	c = control_get();
	if (c)
		__atomic_fetch_add(&c->lost, 1, __ATOMIC_RELAXED);
	return false;
}
