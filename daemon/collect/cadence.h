/*
 * How often a ring is looked at: as often as its own speed needs.
 *
 * The next look comes when about half a packet should have been written, at least after 1 ms; a ring that is idle is looked at less
 * and less often, but never more seldom than every quarter of a second or than its three quarters would fill at the assumed burst
 * rate.  A size is proven only by loads between which less than 8 KiB were written (its high half must be the same), so that what a look
 * has seen and not proven brings up to three more looks, 2 KiB apart.  All idle rings together stay within a budget of processor time: past it they are looked at more seldom.
 */
#ifndef COLLECT_CADENCE_H
#define COLLECT_CADENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#define CADENCE_MIN (1 * NS_PER_MS)
#define CADENCE_MAX (250 * NS_PER_MS)

/* Of one ring.  Zeroed is ready. */
struct cadence {
	double rate;	   /* bytes a second, as last seen */
	uint64_t interval; /* ns */
	uint64_t looked;   /* CLOCK_MONOTONIC ns of the last look */
	uint64_t written;  /* ring.written then */
	uint64_t grew;	   /* CLOCK_MONOTONIC ns of the last look that saw it grow */
	unsigned soon;	   /* looks left that come sooner, to prove what was seen */
};

/* Of all rings of a process.  Zeroed is ready. */
struct cadence_budget {
	double share;	     /* of one core, for looks at idle rings */
	double stretch;	     /* idle rings' intervals are multiplied by this, >= 1 */
	uint64_t began;	     /* of the present period */
	uint64_t spent;	     /* ns spent on idle looks in it */
	uint64_t burst_rate; /* bytes a second an idle ring is assumed to burst at */
};

/*
 * A look at a ring of RING_BYTES in packets of PACKET_BYTES began at NOW, took COST ns and saw it at WRITTEN bytes since
 * attach; PENDING says that not all of it is proven.  Returns when to look next (CLOCK_MONOTONIC ns).
 */
uint64_t cadence_next(struct cadence *cadence, struct cadence_budget *budget, uint64_t ring_bytes,
		      uint64_t packet_bytes, uint64_t written, bool pending, uint64_t now, uint64_t cost);

#endif
