/*
 * Decide when to poll a ring next, by the speed at which its guest writes.
 *
 * - A ring that its guest writes to is polled when about half a packet should have been written, but
 *   not sooner than 1 ms after the last poll. A ring that its guest fills within 16 ms is polled 16
 *   times meanwhile, but not sooner than 0.25 ms after the last poll.
 * - After a poll that found new bytes the next begins at least three times its cost later, after a
 *   poll that found none eight times.
 * - An idle ring is polled less and less often, but at least every quarter of a second: the interval
 *   is the time since it grew, or a quarter of that if its guest fills it within 16 ms. The interval
 *   is also at most the time in which a burst at the configured rate would fill three
 *   quarters of the ring.
 * - daemon/ring confirms a position of the writer only by two loads between which less than 8 KiB
 *   were written. So after a poll that saw bytes which are not proven yet, up to three more polls
 *   come early, each when about 2 KiB more should have been written.
 * - The polls of all idle rings together may use a limited share of the processor. Beyond it, idle
 *   rings are polled less often.
 */
#ifndef COLLECT_CADENCE_H
#define COLLECT_CADENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#define CADENCE_MIN (1 * NS_PER_MS)
#define CADENCE_MAX (250 * NS_PER_MS)
/* The least interval of a ring that its guest fills within milliseconds. */
#define CADENCE_FAST (250 * NS_PER_US)

/* The cadence of one ring. A zeroed struct is ready. */
struct cadence {
	double rate;	   /* bytes per second that the guest writes, by the last polls */
	uint64_t interval; /* time between polls, ns */
	uint64_t polled;   /* last poll, CLOCK_MONOTONIC ns */
	uint64_t written;  /* ring.writer.written at the last poll */
	uint64_t grew;	   /* last poll that saw the ring grow, CLOCK_MONOTONIC ns */
	unsigned soon;	   /* number of early polls left */
};

/*
 * The processor time for polls of idle rings, over all rings of the process. A zeroed struct is
 * ready.
 */
struct cadence_budget {
	double share;	     /* limit, as a share of one core */
	double stretch;	     /* factor by which idle rings' intervals are longer, >= 1 */
	uint64_t began;	     /* begin of the current period, CLOCK_MONOTONIC ns */
	uint64_t spent;	     /* ns spent on polls of idle rings in this period */
	uint64_t burst_rate; /* bytes per second at which an idle ring may suddenly be filled */
};

/*
 * Return when to poll the ring next, CLOCK_MONOTONIC ns. The last poll began at NOW and cost COST ns
 * of processor time. WRITTEN is the number of bytes written since attach, PENDING says whether some of them are
 * not proven. The ring has RING_BYTES in packets of PACKET_BYTES.
 */
uint64_t cadence_next(struct cadence *cadence, struct cadence_budget *budget, uint64_t ring_bytes,
		      uint64_t packet_bytes, uint64_t written, bool pending, uint64_t now, uint64_t cost);

#endif
