/*
 * libmprof: times of a stream that are out of order.
 *
 *   t = mprof_times_new();
 *   n = mprof_decoder_batch(d, events, BATCH, &status);    // EVENTS has room for one more
 *   n = mprof_times_check(t, events, n);
 *   n = mprof_times_end(t, events);                        // behind the last event
 *
 * schema/times.md has the rule:
 * - An event that is earlier than the one before it by at most MPROF_TIMES_ORDER_NS is in order: several writers, and
 *   interrupts.
 * - If one event stands out from both its neighbours, which agree with each other, its time is damaged. It gets the time
 *   of the event before it: its place in the stream is sound.
 * - Any other event that is earlier shows that the clock went back. Times behind it are not comparable with those before.
 */
#ifndef MPROF_TIMES_H
#define MPROF_TIMES_H

#include <mprof/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_TIMES_ORDER_NS 1000000u	    /* 1 ms */
#define MPROF_TIMES_AWAY_NS  60000000000ull /* an event that stands out is at least so far away from its neighbours */
#define MPROF_TIMES_LAST_NS \
	8640000000000000ull /* 100 days: the last event stands out if it is so far behind the others */

/* What a check has found. Times are in ns of the stream's clock. */
struct mprof_times_found {
	uint64_t faults;       /* events whose time was damaged */
	uint64_t fault_offset; /* offset of the last of these events in the input, bytes */
	uint64_t steps;	       /* times at which the clock went back */
	uint64_t step_ns;      /* time of the event before the first step */
	uint64_t back_ns;      /* how far the clock went back at the first step */
	uint64_t most_back_ns; /* the largest step */
};

struct mprof_times;

/* Return the check of one stream, or NULL without memory. */
MPROF_API struct mprof_times *mprof_times_new(void);
/* Free T, which may be NULL. Return NULL. */
MPROF_API struct mprof_times *mprof_times_free(struct mprof_times *t);
/*
 * Check the next N events, and correct times that are damaged. EVENTS has room for N + 1. T may keep the last event until
 * the next call, with a copy of its text, and gives out the one that it kept. Return the number of events in EVENTS. A
 * text that T gives out is valid until the next call.
 */
MPROF_API size_t mprof_times_check(struct mprof_times *t, struct mprof_event *events, size_t n);
/*
 * No further event comes, or none is there for now: store the event that T kept in *EVENT and return 1, or return 0.
 * LAST is true if none comes.
 */
MPROF_API size_t mprof_times_end(struct mprof_times *t, struct mprof_event *event, bool last);
/* Return what was found so far. T owns it and updates it in place. */
MPROF_API const struct mprof_times_found *mprof_times_found(const struct mprof_times *t);

#ifdef __cplusplus
}
#endif

#endif
