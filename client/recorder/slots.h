/*
 * Slots: places for the rings of a process, which its threads take.
 *
 * A thread takes a slot when it first records, by changing the slot's owner from 0, and keeps it until it
 * ends; then the next thread takes it, with its recorder as it is: it continues the ring behind the last
 * event. The slots are tried from the first one on, so few rings are made. Only the owner makes the slot's
 * ring. Behind the slots of one thread each are those that threads share: for these, the owner is the
 * thread that records now.
 *
 * The library of mprof/tracer.h uses this, and the shim of mprof-run, in signal handlers as well: no malloc,
 * no lock besides that of a shared slot, which no thread waits long for, no cancellation point; errno is kept.
 */
#ifndef RECORDER_SLOTS_H
#define RECORDER_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/recorder.h>

struct slot {
	struct mprof_recorder recorder;
	uint32_t owner;	   /* atomic; number of a thread, 0 = free */
	bool made;	   /* atomic; the ring exists */
	bool shared;	   /* the slot is one of those that threads share */
	uint64_t retry_ns; /* if the ring could not be made: when to try again, CLOCK_MONOTONIC_COARSE */
	int64_t last;	   /* for the user: of a shared slot, the thread that recorded last */
	uint64_t sequence; /* for the user: a packet of the ring */
} __attribute__((aligned(64)));

/* The slots of a process. All zero, they have no rings. */
struct slots {
	struct slot *slot;
	unsigned own;	 /* slots 0 to OWN - 1: of one thread each */
	unsigned shared; /* slots FIRST_SHARED to FIRST_SHARED + SHARED - 1: of any number of threads; at least 1 */
	unsigned first_shared;
	/*
	 * A slot whose ring was refused a moment ago is left out, and the next one is tried. Else nothing
	 * is tried until its pause is over.
	 */
	bool skip_refused;
	/* Make the ring of SLOT, number INDEX, and initialise its recorder. Return whether that was possible. */
	bool (*make)(struct slot *slot, unsigned index);
};

/*
 * Find a slot with a ring for the thread with the number THREAD, which is not 0: one of its own, or
 * a shared one. The thread owns its own slot until recorder_slot_free(). It has a shared one for a turn, between
 * recorder_slot_wait() and recorder_slot_free(). Return NULL if no ring can be had; attempts to make that
 * of one slot are a second apart.
 */
struct slot *recorder_slots_take(const struct slots *s, uint32_t thread);

/* Wait for a shared slot, but not long. Return whether THREAD has it. */
bool recorder_slot_wait(struct slot *slot, uint32_t thread);

static inline void recorder_slot_free(struct slot *slot)
{
	__atomic_store_n(&slot->owner, 0, __ATOMIC_RELEASE);
}

#endif
