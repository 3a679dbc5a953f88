/*
 * The ends of tails that earlier walks have verified, so that one walk over the events of a tail serves all
 * requests.
 *
 * The bytes of a tail do not change while its capture exists. A record says up to which packet a tail was
 * verified, and which of these packets are cut, and where. Such a packet ends there, or goes on behind the cut.
 * All other verified packets are valid to their ends. A record only shortens what rows offer: its caller
 * compares each end with the packet's rows.
 *
 * The memory is bounded: TAIL_RECORDS_MOST records with TAIL_CUTS_MOST cuts together. The record that was not
 * used for the longest time goes first.
 */
#ifndef BODY_TAIL_ENDS_H
#define BODY_TAIL_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAIL_RECORDS_MOST 1024u
#define TAIL_CUTS_MOST	  65536u

/*
 * The tail of CAPTURE behind the offset BEGIN_OFFSET of packet BEGIN_SEQUENCE, the end of the proven bytes; 0 =
 * none.
 */
struct tail_name {
	uint64_t archives; /* of struct reader_version */
	int64_t stream, capture;
	uint64_t begin_sequence;
	uint32_t begin_offset;
};

/*
 * How far a packet is valid: up to VALID, and again from RESUME to the end of its rows. If it is not, RESUME is
 * that end, in a record 0.
 */
struct tail_end {
	uint32_t valid;
	uint32_t resume;
};

struct tail_cut {
	uint64_t sequence;
	struct tail_end end;
};

struct tail_record {
	struct tail_name name;
	bool known;	       /* false = forgotten, so the record is free */
	uint64_t next;	       /* packets before this one are verified */
	uint64_t not_before;   /* earliest time of an event of NEXT: that of the packet before; 0 = unknown */
	uint64_t not_after;    /* latest timestamp that an event of the tail can have */
	struct tail_cut *cuts; /* ascending; owned */
	size_t n_cuts, room;
	bool full;     /* there was no room for a cut, so nothing behind NEXT is noted */
	uint64_t used; /* number of the last call that used the record */
};

/* A zeroed object is empty. */
struct tail_ends {
	struct tail_record *records; /* TAIL_RECORDS_MOST; owned; NULL = none yet */
	size_t n, cuts;		     /* records, and the room for cuts of all of them */
	size_t latest;		     /* record that was found last */
	uint64_t calls;
};

/* Free all memory. */
void tail_ends_deinit(struct tail_ends *t);
/* Return the record NAME, or NULL. It is valid until the next call for T. */
struct tail_record *tail_ends_find(struct tail_ends *t, const struct tail_name *name);
/*
 * Return the record NAME. If there is none, make one that has verified nothing before packet NAME->begin_sequence;
 * events have timestamps from NOT_BEFORE to NOT_AFTER. NULL: no memory, so nothing is remembered.
 */
struct tail_record *tail_ends_begin(struct tail_ends *t, const struct tail_name *name, uint64_t not_before,
				    uint64_t not_after);
/*
 * If R has verified packet SEQUENCE, of which rows offer the bytes from BEGIN to END, set *OUT and return
 * true.
 */
bool tail_record_end(const struct tail_record *r, uint64_t sequence, uint32_t begin, uint32_t end,
		     struct tail_end *out);
/*
 * Note in R that packet SEQUENCE, which is R->next or a later one, is cut at CUT; NULL = it is valid as far as
 * its rows. NOT_BEFORE is the earliest time of an event behind it. If there are too many cuts R stays as it is,
 * for ever.
 */
void tail_ends_note(struct tail_ends *t, struct tail_record *r, uint64_t sequence, const struct tail_end *cut,
		    uint64_t not_before);

#endif
