/*
 * Xen's system time, for guests that have no other clock: freestanding, and without state.
 *
 * Xen writes a record for each virtual processor into the page shared_info, or where the guest has
 * registered it: struct vcpu_time_info of Xen's public/xen.h. The version is odd while Xen changes the
 * record, and grows with each change, so a reader repeats until the same even version stands before and
 * behind.
 */
#ifndef MPROF_PVCLOCK_H
#define MPROF_PVCLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The layout of Xen's struct vcpu_time_info. */
struct mprof_pvclock {
	uint32_t version;
	uint32_t pad;
	uint64_t tsc_timestamp; /* the processor's counter when SYSTEM_TIME was right */
	uint64_t system_time;	/* nanoseconds since the host has booted */
	uint32_t tsc_to_system_mul;
	int8_t tsc_shift;
	uint8_t flags; /* bit 0: all virtual processors have the same time */
	uint8_t pad2[2];
};

#define MPROF_PVCLOCK_STABLE 1u /* bit of FLAGS */

/* Return the system time, ns, of the counter's value TSC by the private copy P of a record. */
static inline uint64_t mprof_pvclock_ns(const struct mprof_pvclock *p, uint64_t tsc)
{
	uint64_t delta = tsc > p->tsc_timestamp ? tsc - p->tsc_timestamp : 0, low, high;

	/* A record that is not Xen's may have any shift. */
	if (p->tsc_shift >= 0)
		delta = p->tsc_shift < 64 ? delta << p->tsc_shift : 0;
	else
		delta = p->tsc_shift > -64 ? delta >> -p->tsc_shift : 0;
	/* The product of 64 and 32 bits without its low 32 bits. */
	low = (delta & UINT32_MAX) * p->tsc_to_system_mul;
	high = (delta >> 32) * p->tsc_to_system_mul;
	return p->system_time + high + (low >> 32);
}

/*
 * Read the record at SHARED, which Xen may change at any time, and return the system time, ns. TSC
 * returns the processor's counter. The virtual processor that runs must be the record's: call this with
 * its preemption disabled, or use the result as that of either processor if MPROF_PVCLOCK_STABLE is set.
 */
static inline uint64_t mprof_pvclock_read(const volatile struct mprof_pvclock *shared, uint64_t (*tsc)(void))
{
	struct mprof_pvclock copy;
	uint64_t now;

	do {
		copy.version = __atomic_load_n(&shared->version, __ATOMIC_ACQUIRE);
		copy.tsc_timestamp = shared->tsc_timestamp;
		copy.system_time = shared->system_time;
		copy.tsc_to_system_mul = shared->tsc_to_system_mul;
		copy.tsc_shift = shared->tsc_shift;
		now = tsc();
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while ((copy.version & 1) || copy.version != __atomic_load_n(&shared->version, __ATOMIC_RELAXED));
	return mprof_pvclock_ns(&copy, now);
}

#ifdef __cplusplus
}
#endif

#endif
