/*
 * The rings of the process.
 *
 * A recorder has one writer: the thread that owns the ring. The last rings are shared by the threads
 * that find no other. A thread takes a shared ring for each group of events; if another thread has it
 * for too long, because it was preempted, the events are dropped and counted.
 */
#include "ring.h"

#include <string.h>
#include <time.h>

#include "kernel.h"

enum ring_state { RING_NONE, RING_CLAIMED, RING_READY, RING_REFUSED };

#define TRIES	 64u /* to take a shared ring, before and after each time that the thread yields */
#define YIELDS	 32u
#define PAUSES	 1000u /* for a ring that another thread makes */
#define PAUSE_NS 1000000

static struct ring rings[RUN_RINGS];

static bool ring_own(struct ring *r, int tid)
{
	uint32_t none = 0;

	return __atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == RING_READY &&
	       __atomic_compare_exchange_n(&r->owner, &none, (uint32_t)tid, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Map the ring R, which the calling thread has claimed. Return false if the keeper refused. */
static bool ring_make(struct ring *r, uint32_t slot, int tid)
{
	uint64_t bytes = 0;
	void *memory = keeper_ask(RUN_REQUEST_RING, slot, &bytes);

	if (!memory || mprof_recorder_init(&r->recorder, memory, bytes, 0, NULL, NULL) != MPROF_RECORDER_OK) {
		__atomic_store_n(&r->state, RING_REFUSED, __ATOMIC_RELEASE);
		return false;
	}
	r->shared = slot >= RUN_RINGS_OWN;
	r->owner = r->shared ? 0 : (uint32_t)tid;
	__atomic_store_n(&r->state, RING_READY, __ATOMIC_RELEASE);
	return true;
}

static bool ring_claim(struct ring *r)
{
	uint32_t none = RING_NONE;

	return __atomic_compare_exchange_n(&r->state, &none, RING_CLAIMED, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Wait while another thread makes the shared ring R, but not long. */
static void ring_await(const struct ring *r)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (uint32_t i = 0; i < PAUSES && __atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == RING_CLAIMED; i++)
		KERNEL2(SYS_nanosleep, &pause, NULL);
}

struct ring *ring_take(int tid)
{
	const struct run_control *c = control_get();
	uint32_t own = c->own < RUN_RINGS_OWN ? c->own : RUN_RINGS_OWN;
	uint32_t shared = c->shared && c->shared <= RUN_RINGS - RUN_RINGS_OWN ? c->shared : 1;
	uint32_t slot = RUN_RINGS_OWN + (uint32_t)tid % shared;
	struct ring *common = &rings[slot];
	uint32_t i;

	for (i = 0; i < own && __atomic_load_n(&rings[i].state, __ATOMIC_RELAXED) != RING_NONE; i++)
		if (ring_own(&rings[i], tid))
			return &rings[i];
	for (; i < own; i++) {
		if (!ring_claim(&rings[i]))
			continue;
		if (ring_make(&rings[i], i, tid))
			return &rings[i];
		break; /* what refuses one ring refuses the next */
	}
	if (ring_claim(common))
		ring_make(common, slot, tid);
	ring_await(common);
	/* If it was refused, or another thread waits for it, take any other. */
	for (i = 0; i < shared; i++) {
		common = &rings[RUN_RINGS_OWN + (slot - RUN_RINGS_OWN + i) % shared];
		if (__atomic_load_n(&common->state, __ATOMIC_ACQUIRE) == RING_READY)
			return common;
	}
	return NULL;
}

void ring_return(struct ring *r)
{
	if (!r->shared)
		__atomic_store_n(&r->owner, 0, __ATOMIC_RELEASE);
}

void rings_forget(void)
{
	memset(rings, 0, sizeof(rings));
}

bool ring_lock(struct ring *r)
{
	struct run_control *c;

	for (uint32_t i = 0; i < TRIES * YIELDS; i++) {
		if (!__atomic_load_n(&r->busy, __ATOMIC_RELAXED) && !__atomic_exchange_n(&r->busy, 1, __ATOMIC_ACQUIRE))
			return true;
		if (i % TRIES == TRIES - 1)
			KERNEL0(SYS_sched_yield);
	}
	c = control_get();
	if (c)
		__atomic_fetch_add(&c->lost, 1, __ATOMIC_RELAXED);
	return false;
}
