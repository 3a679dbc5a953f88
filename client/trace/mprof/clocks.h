/*
 * libmprof: the offset from a guest's clock to dom0's clocks, from the stamps of archived packets.
 *
 * The collector stamps each copy of a chunk of a packet with the time of the copy. An event happened
 * before it was copied, so each copy bounds the offset from above. An event that was copied at one
 * poll was not in the ring four polls earlier, as long as the collector kept up: that bounds the
 * offset from below. Without five polls there is no lower bound. The more stamps of a packet are
 * given, the narrower the bounds: a large packet is filled for many polls.
 */
#ifndef MPROF_CLOCKS_H
#define MPROF_CLOCKS_H

#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_CLOCKS_POLLS 5u /* the poll of a copy, and the four polls before it */

/* Dom0's two clocks at one moment. */
struct mprof_stamp {
	uint64_t mono, real; /* ns */
	uint64_t offset;     /* bytes of the packet's content that had been copied by then */
};

/*
 * One archived packet whose content is proven. The daemon's route …/packets gives these numbers.
 */
struct mprof_copied_packet {
	uint64_t guest_ns; /* guest clock at the packet's first event, ns */
	struct mprof_stamp first, last;
	/*
	 * The newest stamps of the packet, oldest first; the last of them is LAST. N_NEWEST is at most
	 * MPROF_CLOCKS_POLLS; 0 = FIRST and LAST are all that is known.
	 */
	struct mprof_stamp newest[MPROF_CLOCKS_POLLS];
	uint32_t n_newest;
	bool has_last_chunk;	/* LAST_CHUNK_NS is known; the packet has several chunks */
	uint64_t last_chunk_ns; /* guest clock at the first event of the chunk that was copied at LAST, ns */
	bool stepped;		/* the guest's clock went back before this packet */
};

/* Bounds collected so far. Zero the structure first: then there is no bound. It owns no memory. */
struct mprof_clocks {
	struct mprof_clock mono, real;		      /* offsets to each clock of dom0 */
	struct mprof_stamp polls[MPROF_CLOCKS_POLLS]; /* newest distinct polls, oldest first */
	struct mprof_stamp latest;		      /* newest stamp by the monotonic clock */
	uint64_t stamps;			      /* number of stamps seen */
	uint32_t n_polls;
	bool stepped; /* the guest's clock went back; only stamps after that step count */
};

/*
 * mprof_clocks_packet() adds the stamps of one more PACKET, which is used during the call only. Add
 * the packets of one stream in order. A subset of the packets, in order, gives valid bounds too,
 * only wider ones. Call mprof_clocks_stream() before the next stream of the same guest, and
 * whenever the next packet is not later than the last one. Neither call fails.
 */
MPROF_API void mprof_clocks_packet(struct mprof_clocks *c, const struct mprof_copied_packet *packet);
MPROF_API void mprof_clocks_stream(struct mprof_clocks *c);

/*
 * Store in *OFFSET the nanoseconds to add to a guest time to get a time of dom0's monotonic clock,
 * or with REALTIME of dom0's real-time clock. The true offset is at most *UNCERTAINTY nanoseconds
 * smaller; UINT64_MAX: no lower bound. Return true; or false, with offset 0 and uncertainty
 * UINT64_MAX, when there is no upper bound.
 */
MPROF_API bool mprof_clocks_offset(const struct mprof_clocks *c, bool realtime, int64_t *offset, uint64_t *uncertainty);

/*
 * For a program of this host, whose clock can only be dom0's monotonic clock: check the stamps for
 * that, and then set the offset to exactly 0. They agree when the bounds allow an offset of 0 and
 * some event was copied soon after it happened. Return whether they agree. Call it after all
 * packets.
 */
MPROF_API bool mprof_clocks_host(struct mprof_clocks *c);

/*
 * Return true when dom0 booted between the last stamps of A and of B: then A and B do not share a
 * monotonic clock. Return false when one of them has no stamp.
 */
MPROF_API bool mprof_clocks_rebooted(const struct mprof_clocks *a, const struct mprof_clocks *b);

#ifdef __cplusplus
}
#endif

#endif
