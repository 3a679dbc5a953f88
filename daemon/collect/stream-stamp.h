/*
 * When events of a ring were written, by dom0's clock. A guest's clock is estimated from that. There are
 * stamps only for guests whose policy has `vcpu`, because nothing else needs the estimate.
 */
#ifndef COLLECT_STREAM_STAMP_H
#define COLLECT_STREAM_STAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "ring.h"

struct stream;

/*
 * An event, and dom0's time of two polls of the ring: it was written after the first and before the
 * second one. Only bounds of the guest's clock are made from it.
 */
struct stream_stamp {
	uint64_t number;	/* number of stamps so far; 0 = none yet */
	uint64_t guest_ns;	/* time of the event, ns of the guest's clock, as the guest wrote it */
	uint64_t after, before; /* CLOCK_MONOTONIC ns */
	bool stepped;		/* the guest's clock went back since the last stamp */
};

/*
 * An event that begins at the confirmed position MARK, and will be a stamp when its bytes are copied.
 */
struct stream_watch {
	bool on;
	struct ring_mark mark;
	uint64_t after, before; /* as in struct stream_stamp; BEFORE 0 = the event was not seen yet */
};

/* ---- for stream.c ---- */

/*
 * Watch for the event that will begin at the newest confirmed position, or find out whether it was
 * written. To be called after a poll that began at NOW, CLOCK_MONOTONIC ns.
 */
void stream_stamp_poll(struct stream *stream, uint64_t now);
/* If CHUNK, whose bytes are DATA, has the watched event, make it the stream's stamp. */
void stream_stamp_chunk(struct stream *stream, const struct ring_chunk *chunk, const uint8_t *data);

#endif
