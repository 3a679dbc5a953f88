/*
 * The rings of the process, whose memory is the keeper's.
 *
 * A recorder has one writer: the thread that owns the ring. The last rings are shared by the threads
 * that find no other. A thread takes a shared ring for each group of events; if another thread has it
 * for too long, because it was preempted, the events are dropped and counted.
 */
#include "thread-events.h"

static struct slot rings[RUN_RINGS];

/* Map the ring of SLOT. Return false if the keeper refused. */
static bool ring_make(struct slot *slot, unsigned index)
{
	uint64_t bytes = 0;
	void *memory = keeper_ask(RUN_REQUEST_RING, index, &bytes);

	return memory && mprof_recorder_init(&slot->recorder, memory, bytes, 0, NULL, NULL) == MPROF_RECORDER_OK;
}

struct slot *ring_take(int tid)
{
	const struct run_control *c = control_get();
	const struct slots slots = {
		.slot = rings,
		.own = c->own < RUN_RINGS_OWN ? c->own : RUN_RINGS_OWN,
		.first_shared = RUN_RINGS_OWN,
		.shared = c->shared && c->shared <= RUN_RINGS - RUN_RINGS_OWN ? c->shared : 1,
		.skip_refused = true, /* a keeper that was late is not late for ever */
		.make = ring_make,
	};

	return recorder_slots_take(&slots, (uint32_t)tid);
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

bool ring_turn(struct slot *s)
{
	struct run_control *c;

	if (recorder_slot_wait(s, (uint32_t)shim_self.tid))
		return true;
	c = control_get();
	if (c)
		__atomic_fetch_add(&c->lost, 1, __ATOMIC_RELAXED);
	return false;
}
