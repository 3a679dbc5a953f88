/*
 * The plan of a CTF body: its length, entity tag, cuts and end, and the places where a range of it
 * begins and ends.
 */
#ifndef SERVE_PLAN_H
#define SERVE_PLAN_H

#include "packet-walk.h"

/* A place in a body: BYTES into packet SEQUENCE, whose header counts. */
struct body_place {
	uint64_t sequence;
	uint64_t bytes;
};

struct plan {
	struct selection selection;
	struct packet_walk walk;
	uint64_t total;	  /* bytes of the body, uncompressed */
	uint64_t packets; /* packets in the body */
	uint64_t cut_bytes, cut_packets;
	struct position first_cut;
	struct position end;	    /* behind the last event; offset 0 = the body is empty */
	uint64_t hash;		    /* of all that determines the uncompressed bytes ... */
	uint64_t hash_rows;	    /* ... and of the rows that hold them */
	uint64_t range_first;	    /* the range, in uncompressed bytes of the body ... */
	uint64_t range_last;	    /* ... to this one, included */
	struct body_place from, to; /* the places where the range begins and ends */
	struct body_place last;	    /* the end of the body */
	bool done;
};

/* Begin the plan of SELECTION, whole.  Borrow READER and SCRATCH. */
void plan_init(struct plan *p, struct reader *reader, struct scratch *scratch, const struct selection *selection);
/* Begin P again, for the range from byte FIRST to byte LAST, which may lie behind the end. */
void plan_range(struct plan *p, uint64_t first, uint64_t last);
/* Walk on until P is done, or until UNTIL (CLOCK_MONOTONIC ns).  Return what the reader returns. */
int plan_step(struct plan *p, uint64_t until);

#endif
