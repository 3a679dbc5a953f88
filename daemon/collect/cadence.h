/*
 * When to poll a ring: as often as its own speed needs.
 *
 * The next poll comes when about half a packet should have been written, at least 1 ms later. An
 * idle ring is polled less and less often, but at least every quarter of a second, and at least as
 * often as the assumed burst rate would fill three quarters of it. A size is proven only by loads
 * between which less than 8 KiB were written (its high half must be the same), so a poll that saw
 * unproven bytes brings up to three more polls, 2 KiB apart. All idle rings together stay within a
 * budget of processor time: past it they are polled less often.
 */
#ifndef COLLECT_CADENCE_H
#define COLLECT_CADENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#define CADENCE_MIN (1 * NS_PER_MS)
#define CADENCE_MAX (250 * NS_PER_MS)

/* Cadence of one ring. Zeroed is ready. */
struct cadence {
	double rate;	   /* bytes a second, as last seen */
	uint64_t interval; /* ns */
	uint64_t polled;   /* CLOCK_MONOTONIC ns of the last poll */
	uint64_t written;  /* bytes that the writer had written then */
	uint64_t grew;	   /* CLOCK_MONOTONIC ns of the last poll that saw the ring grow */
	unsigned soon;	   /* early polls left, to prove what was seen */
};

/* Budget of all rings of a process. Zeroed is ready. */
struct cadence_budget {
	double share;	     /* of one core, for polls of idle rings */
	double stretch;	     /* factor of the idle rings' intervals, >= 1 */
	uint64_t began;	     /* begin of the present period, CLOCK_MONOTONIC ns */
	uint64_t spent;	     /* ns spent on idle polls in this period */
	uint64_t burst_rate; /* bytes a second at which an idle ring is assumed to burst */
};

/*
 * Return when to poll next (CLOCK_MONOTONIC ns). The last poll of a ring of RING_BYTES in packets
 * of PACKET_BYTES began at NOW, took COST ns and saw WRITTEN bytes since attach. PENDING: some of
 * them are not proven.
 */
uint64_t cadence_next(struct cadence *cadence, struct cadence_budget *budget, uint64_t ring_bytes,
		      uint64_t packet_bytes, uint64_t written, bool pending, uint64_t now, uint64_t cost);

#endif
