/*
 * A selection: the part of a stream for which a request asks.
 *
 * A selection does not change: packets that the collector appends later are not in it. The
 * functions return what the reader returns.
 */
#ifndef BODY_SELECTION_H
#define BODY_SELECTION_H

#include "packet.h"
#include "position.h"
#include "span-gaps.h"

struct selection {
	int64_t run;
	uint32_t number; /* number of the stream in its run */
	int64_t stream;	 /* id of the stream */
	uint32_t ring_packets;
	bool empty;	       /* it has no chunks; it may have a tail */
	uint64_t first;	       /* sequence of the first packet */
	uint32_t first_offset; /* offset in that packet at which the selection begins; 30 = the whole packet */
	uint64_t last;	       /* sequence of the last packet that has chunks */
	uint32_t last_offset;  /* offset in that packet at which the selection ends, at the latest */
	int64_t capture;       /* capture whose tail belongs to the selection; 0 = none */
	bool raw;	       /* serve unproven bytes without verifying them */
	struct span span;      /* the part that was asked for, whatever of it is left: it chooses the gaps */
};

/*
 * Set S to all chunks of the stream S->stream that are archived now. The caller has set the fields
 * up to ring_packets.
 */
int selection_all(struct selection *s, struct reader *r);
/* Narrow S to the packets that have the guest times FROM to TO. */
int selection_times(struct selection *s, struct reader *r, uint64_t from, uint64_t to);
/* Narrow S to the newest packets, until they have at least BYTES. */
int selection_last_bytes(struct selection *s, struct reader *r, uint64_t bytes);
/* Set *TIMESTAMP to that of the newest event of S, or to 0 if S has no event. */
int selection_newest(const struct selection *s, struct reader *r, struct scratch *scratch, uint64_t *timestamp);
/* Set *OK to whether a body may begin or end at OFFSET of packet SEQUENCE. */
int selection_offset_ok(struct reader *r, int64_t stream, uint64_t sequence, uint32_t offset, bool *ok);

#endif
