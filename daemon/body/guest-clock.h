/*
 * The offset of a guest's clock to dom0's real-time clock, from the stamps of archived packets, for
 * the metadata of a CTF directory.
 */
#ifndef BODY_GUEST_CLOCK_H
#define BODY_GUEST_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/clocks.h>

#include "packet-walk.h"

/* The stamps of all streams so far. Zero the structure first. */
struct guest_clock {
	struct mprof_clocks clocks;
	uint64_t newest; /* when mprofd last copied bytes of a packet, ns of CLOCK_REALTIME; 0 = never */
	/* The walk over a stream. */
	struct packet_walk walk;
	struct selection selection; /* without its tail, which has no stamps */
	unsigned int block;	    /* index of the block of packets that is read */
	unsigned int taken;	    /* number of packets read of it */
	bool done;
};

/*
 * Begin to read the stamps of SELECTION, a stream or a part of one. READER and SCRATCH are borrowed until C->done; C
 * must not move until then.
 */
void guest_clock_stream(struct guest_clock *c, struct reader *reader, struct scratch *scratch,
			const struct selection *selection);
/*
 * Continue until C->done, or until UNTIL (CLOCK_MONOTONIC ns). Only some blocks of packets of a
 * long stream are read, from its begin to its end. Return 0 or what the reader returns.
 */
int guest_clock_step(struct guest_clock *c, uint64_t until);

/*
 * Return the CTF metadata TEXT of *BYTES bytes with the offset of C in its clock, and set *BYTES to
 * the new size. LOCAL: the guest is a program of this host. Without an offset the text is unchanged.
 * The caller frees it. Return NULL without memory.
 */
char *guest_clock_metadata(struct guest_clock *c, bool local, const char *text, size_t *bytes);

#endif
