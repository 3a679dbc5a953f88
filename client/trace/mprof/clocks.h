/*
 * libmprof: how a guest's clock stands to dom0's, as far as the stamps of its archived packets say.
 *
 * Nothing is copied before it happened, so each copy bounds the offset from above.  From below it is bounded by what had not been there: an event
 * that was copied at one look was not there four looks before, as long as the collector kept up.  Where that is not known there is no
 * bound from below.
 */
#ifndef MPROF_CLOCKS_H
#define MPROF_CLOCKS_H

#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_CLOCKS_POLLS 5u /* one, and four before it */

/* Dom0's two clocks at one moment. */
struct mprof_stamp {
	uint64_t mono, real; /* ns */
	uint64_t offset;     /* in bytes of content: a chunk's end, up to which the packet was copied then */
};

/* What is known of one archived packet that is proven. */
struct mprof_copied {
	uint64_t guest_ns; /* of its first event */
	uint64_t room;	   /* bytes that the packet can hold */
	struct mprof_stamp first, last;
	bool stepped; /* the guest's clock went back before it */
};

/* Zeroed: nothing is known. */
struct mprof_clocks {
	struct mprof_clock mono, real;		      /* from the guest's clock to either of dom0's */
	struct mprof_stamp polls[MPROF_CLOCKS_POLLS]; /* the newest that are surely different, the oldest first */
	struct mprof_stamp latest;		      /* the newest stamp */
	uint64_t stamps;			      /* that were seen */
	uint32_t n_polls;
	bool stepped; /* the guest's clock went back; what is known is known since then */
};

/*
 * Take one more packet.  To be called in the order of one stream; mprof_clocks_stream() before another stream of the same guest, and wherever
 * the order begins anew.  Some of the packets, in their order, bound the offset too, only less tightly.
 */
MPROF_API void mprof_clocks_packet(struct mprof_clocks *c, const struct mprof_copied *packet);
MPROF_API void mprof_clocks_stream(struct mprof_clocks *c);

/*
 * The offset to dom0's monotonic clock, or with REALTIME to its other one: *OFFSET is to be added, and the true one is at most *UNCERTAINTY
 * below it, UINT64_MAX where that is not known.  False, with offset 0, where nothing is known.
 */
MPROF_API bool mprof_clocks_offset(const struct mprof_clocks *c, bool realtime, int64_t *offset, uint64_t *uncertainty);

/* Has dom0 booted between the two, so that its monotonic clock is not one for both?  False where either knows nothing. */
MPROF_API bool mprof_clocks_apart(const struct mprof_clocks *a, const struct mprof_clocks *b);

#ifdef __cplusplus
}
#endif

#endif
