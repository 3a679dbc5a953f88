#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "slots.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPINS	 200u /* attempts to get a shared slot before the processor is given up */
#define YIELDS	 50u  /* times that it is given up before the thread goes without */
#define PAUSES	 1000u
#define PAUSE_NS 1000000 /* making a ring takes longer than a turn: wait at most PAUSES times for that */
#define RETRY_NS 1000000000u

/* Return the time in nanoseconds, to some milliseconds. Unlike the exact clock it never reads the counter. */
static uint64_t monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool is_made(const struct slot *slot)
{
	return __atomic_load_n(&slot->made, __ATOMIC_ACQUIRE);
}

static bool lock(struct slot *slot, uint32_t thread)
{
	uint32_t nobody = 0;

	return __atomic_load_n(&slot->owner, __ATOMIC_RELAXED) == 0 &&
	       __atomic_compare_exchange_n(&slot->owner, &nobody, thread, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

bool recorder_slot_wait(struct slot *slot, uint32_t thread)
{
	for (unsigned yields = 0;; yields++) {
		for (unsigned i = 0; i < SPINS; i++)
			if (lock(slot, thread))
				return true;
		if (yields == YIELDS)
			return false;
		sched_yield();
	}
}

/* Return whether the ring of SLOT, which the calling thread owns, could not be made a moment ago. */
static bool pauses(const struct slot *slot)
{
	return slot->retry_ns && monotonic() < slot->retry_ns;
}

/* Make the ring of slot I, which the calling thread owns. Return whether the slot has a ring. */
static bool make(const struct slots *s, unsigned i)
{
	struct slot *slot = &s->slot[i];

	if (is_made(slot))
		return true;
	if (pauses(slot))
		return false;
	slot->shared = i >= s->first_shared;
	if (!s->make(slot, i)) {
		slot->retry_ns = monotonic() + RETRY_NS;
		return false;
	}
	__atomic_store_n(&slot->made, true, __ATOMIC_RELEASE);
	return true;
}

/* Make the ring of the shared slot I, or wait while another thread makes it, but not long. */
static void make_shared(const struct slots *s, unsigned i, uint32_t thread)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct slot *slot = &s->slot[i];

	for (unsigned n = 0; n < PAUSES && !is_made(slot); n++) {
		if (lock(slot, thread)) {
			make(s, i);
			recorder_slot_free(slot);
			return;
		}
		syscall(SYS_nanosleep, &pause, NULL); /* nanosleep() is a cancellation point */
	}
}

static struct slot *take(const struct slots *s, uint32_t thread)
{
	unsigned first = thread % s->shared, i;
	struct slot *slot;
	bool paused;

	for (i = 0; i < s->own; i++) {
		if (!lock(&s->slot[i], thread))
			continue;
		paused = s->skip_refused && !is_made(&s->slot[i]) && pauses(&s->slot[i]);
		if (!paused && make(s, i))
			return &s->slot[i];
		recorder_slot_free(&s->slot[i]);
		if (!paused)
			break;
	}
	/* A refusal holds for the next ring, too: then take any that exists. */
	if (i == s->own)
		make_shared(s, s->first_shared + first, thread);
	for (i = 0; i < s->shared; i++) {
		slot = &s->slot[s->first_shared + (first + i) % s->shared];
		if (is_made(slot))
			return slot;
	}
	return NULL;
}

struct slot *recorder_slots_take(const struct slots *s, uint32_t thread)
{
	int error = errno;
	struct slot *slot = take(s, thread);

	errno = error;
	return slot;
}
