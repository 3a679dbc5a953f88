/*
 * Divide the time between two samples of a vCPU by its states (schema/vcpu.md): pure arithmetic.
 *
 * Xen tells how long a vCPU has run, so the time that it ran in an interval is exact. The part of the interval
 * in which it ran is not known, and whether it waited or was blocked is known at the samples only.
 */
#ifndef XEN_VCPU_INTERVAL_H
#define XEN_VCPU_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

enum vcpu_state {
	VCPU_OFFLINE,
	VCPU_RUNNING,
	VCPU_WAITING,	  /* can run, and waits for a processor */
	VCPU_BLOCKED,	  /* waits for an event */
	VCPU_PAUSED,	  /* the host has paused the domain, or the domain has ended */
	VCPU_NOT_RUNNING, /* waited or was blocked: never the state of a sample */
	VCPU_STATES,
};

struct vcpu_sample {
	uint64_t at;	   /* when it was taken, CLOCK_MONOTONIC ns */
	uint64_t cpu_time; /* how long the vCPU had run by then, ns */
	enum vcpu_state state;
};

/* A part of an interval, CLOCK_MONOTONIC ns, in which the vCPU counts as being in STATE. */
struct vcpu_part {
	enum vcpu_state state;
	uint64_t from, until;
};

#define VCPU_PARTS 2u

/*
 * Return how long the vCPU ran from BEFORE to AFTER, ns: at most the time between them, and 0 if
 * its time went back.
 */
uint64_t vcpu_ran(const struct vcpu_sample *before, const struct vcpu_sample *after);
/*
 * Divide the interval from BEFORE to AFTER, which is later, into 1 or 2 parts. PARTS has room for
 * VCPU_PARTS. The parts follow each other without a gap. Return their number, 0 if AFTER is not later.
 */
size_t vcpu_parts(const struct vcpu_sample *before, const struct vcpu_sample *after, struct vcpu_part *parts);

#endif
