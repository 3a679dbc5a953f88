/*
 * The plan of a CTF body: its length, its entity tag, the bytes that are cut, its end, and the
 * places where a range of it begins and ends. Plans of long bodies are remembered (plan-cache.h).
 */
#ifndef BODY_PLAN_H
#define BODY_PLAN_H

#include "packet-walk.h"

struct plan {
	struct selection selection;
	struct packet_walk walk;
	uint64_t total;	  /* uncompressed bytes of the body */
	uint64_t packets; /* number of packets in the body */
	uint64_t cut_bytes, cut_packets;
	struct position first_cut;
	struct position end;	    /* position behind the last event; offset 0 = the body is empty */
	uint64_t hash;		    /* hash of all that determines the uncompressed bytes */
	uint64_t hash_rows;	    /* hash of the rows, which determine the bytes of a zstd body */
	uint64_t range_first;	    /* first byte of the range, counted in uncompressed bytes of the body */
	uint64_t range_last;	    /* last byte of the range, included */
	struct body_place from, to; /* places where the range begins and ends */
	struct body_place last;	    /* place where the body ends */
	bool done;
	bool fresh;	 /* set by the caller: walk, although the plan is remembered, so that WALK has met the tail */
	bool begun;	 /* the walk has begun, or the plan was remembered */
	bool remembered; /* a record has all but FROM and TO */
	struct plan_name name;
	struct plan_marks *marks;	  /* of a long body, if it will be remembered; owned */
	struct reader_version version;	  /* before the walk */
	struct reader_stream_state state; /* before the walk, if there are MARKS */
	struct plan_mark at, to_mark; /* with REMEMBERED: the place of the walk, and the mark before the range's end */
	bool from_found;
	struct body_place begin; /* the first packet */
};

/* Begin to plan the body of the whole SELECTION. READER and SCRATCH are borrowed. P is uninitialised. */
void plan_init(struct plan *p, struct reader *reader, struct scratch *scratch, const struct selection *selection);
/* Free the memory of P. A zeroed P is allowed. */
void plan_deinit(struct plan *p);
/*
 * Begin P again, to find the places of the range from byte FIRST to byte LAST. LAST may be behind
 * the body's end.
 */
void plan_range(struct plan *p, uint64_t first, uint64_t last);
/*
 * Continue the walk until P is done, or until UNTIL (CLOCK_MONOTONIC ns). Return what the reader
 * returns.
 */
int plan_step(struct plan *p, uint64_t until);
/* Set *NAME to that of the plan of SELECTION in the archive of READER. */
void plan_name_of(const struct selection *selection, const struct reader *reader, struct plan_name *name);

#endif
