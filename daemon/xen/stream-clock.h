/*
 * An estimate of how far the clock of a guest is from dom0's monotonic clock, from the polls of one of
 * its rings. The clocks of host and guest may run at different speeds, so old bounds are replaced.
 */
#ifndef XEN_STREAM_CLOCK_H
#define XEN_STREAM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/model.h>

struct stream;

/* Zero it first: then nothing is known. It owns no memory. */
struct stream_clock {
	struct mprof_clock now, next; /* bounds in use, and those that replace them */
	uint64_t since;		      /* when NEXT began, CLOCK_MONOTONIC ns; 0 = not yet */
	uint64_t stamps;	      /* number of the newest stamp that was taken in */
	unsigned steps;		      /* how often the guest's clock went back */
};

/* Take in the stamp of the poll of STREAM that was made at NOW, if it made one. */
void stream_clock_poll(struct stream_clock *clock, const struct stream *stream, uint64_t now);
/*
 * Store in *OFFSET what to subtract from CLOCK_MONOTONIC to get the guest's time, ns; the true offset
 * is at most *UNCERTAINTY smaller. Return false if no offset is known.
 */
bool stream_clock_offset(const struct stream_clock *clock, int64_t *offset, uint64_t *uncertainty);

#endif
