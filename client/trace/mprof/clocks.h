/*
 * libmprof: the offset from a guest's clock to dom0's clocks, from the stamps of archived packets.
 *
 * The collector stamps each copy that it makes of a packet. An event happened before its copy, so
 * that each copy bounds the offset from above. An event that was copied at one poll was not in the
 * ring four polls earlier, as long as the collector kept up: that bounds the offset from below.
 * Without five polls there is no lower bound.
 */
#ifndef MPROF_CLOCKS_H
#define MPROF_CLOCKS_H

#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_CLOCKS_POLLS 5u /* one, and the four before it */

/* Dom0's two clocks at one moment. */
struct mprof_stamp {
	uint64_t mono, real; /* ns */
	uint64_t offset;     /* content bytes up to which the packet had been copied */
};

/*
 * One archived packet whose content is proven. The daemon's route …/packets gives these numbers.
 */
struct mprof_copied_packet {
	uint64_t guest_ns;     /* guest clock at the packet's first event, ns */
	uint64_t packet_bytes; /* size of the packet */
	struct mprof_stamp first, last;
	bool stepped; /* the guest's clock went back before this packet */
};

/* Bounds collected so far. Zero it first: it then has no bound. It owns no memory. */
struct mprof_clocks {
	struct mprof_clock mono, real;		      /* offsets to each clock of dom0 */
	struct mprof_stamp polls[MPROF_CLOCKS_POLLS]; /* newest distinct polls, oldest first */
	struct mprof_stamp latest;		      /* newest stamp by the monotonic clock */
	uint64_t stamps;			      /* number of stamps seen */
	uint32_t n_polls;
	bool stepped; /* the guest's clock went back; all bounds are from after that */
};

/*
 * Add the stamps of one more packet to C. Call it in the order of one stream; call
 * mprof_clocks_stream() before the next stream of the same guest, and wherever the order begins
 * anew. A subset of the packets, in order, gives valid bounds too, only wider ones. PACKET is used
 * during the call only. Neither call fails.
 */
MPROF_API void mprof_clocks_packet(struct mprof_clocks *c, const struct mprof_copied_packet *packet);
MPROF_API void mprof_clocks_stream(struct mprof_clocks *c);

/*
 * Store the offset to dom0's monotonic clock, or with REALTIME to its real-time clock, in *OFFSET:
 * nanoseconds to add to a guest time. The true offset is at most *UNCERTAINTY nanoseconds below;
 * UINT64_MAX: no lower bound. Return false, with offset 0 and uncertainty UINT64_MAX, when there is
 * no upper bound.
 */
MPROF_API bool mprof_clocks_offset(const struct mprof_clocks *c, bool realtime, int64_t *offset, uint64_t *uncertainty);

/*
 * Take dom0's monotonic clock for the clock of a program of this host, which may use no other, when
 * the stamps agree: the bounds allow an offset of 0, and the closest event was copied soon. The
 * offset is then exact. Return whether they agree. Call it after all packets.
 */
MPROF_API bool mprof_clocks_host(struct mprof_clocks *c);

/*
 * Return true when dom0 booted between A and B, so that they do not share a monotonic clock. Return
 * false when either has no stamp.
 */
MPROF_API bool mprof_clocks_rebooted(const struct mprof_clocks *a, const struct mprof_clocks *b);

#ifdef __cplusplus
}
#endif

#endif
