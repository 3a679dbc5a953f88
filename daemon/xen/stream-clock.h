/*
 * An estimate of how far the clock of a guest is from dom0's monotonic clock, from the polls of one of
 * its rings.
 *
 * An event has its time before it is written, and is written before the poll that sees it. So each
 * stamp of a stream bounds the offset from above, and the least of these bounds is used. The stamp
 * that gives it says how exact it is: its event was written after the poll before. (A guest that is
 * interrupted between both makes that wrong, but then its bound is not the least.) The clocks may run
 * at different speeds, so old bounds are replaced.
 */
#ifndef XEN_STREAM_CLOCK_H
#define XEN_STREAM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct stream;

/* The least upper bound of some time. */
struct clock_bound {
	bool known;
	int64_t offset;	      /* ns of CLOCK_MONOTONIC minus ns of the guest's clock */
	uint64_t uncertainty; /* the true offset is smaller by at most this, ns */
	uint64_t at;	      /* when it was found, CLOCK_MONOTONIC ns */
};

/* Zero it first: then nothing is known. It owns no memory. */
struct stream_clock {
	struct clock_bound now, next; /* the bound in use, and the one that will replace it */
	uint64_t since;		      /* when NEXT began, CLOCK_MONOTONIC ns; 0 = not yet */
	uint64_t stamps;	      /* number of the newest stamp that was taken in */
	unsigned steps;		      /* how often the guest's clock went back */
};

/* Take in the stamp of the poll of STREAM that was made at NOW, if it made one. */
void stream_clock_poll(struct stream_clock *clock, const struct stream *stream, uint64_t now);
/* Return the bound in use, or NULL if none is known. Borrowed until the next poll. */
const struct clock_bound *stream_clock_bound(const struct stream_clock *clock);

#endif
