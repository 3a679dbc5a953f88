/*
 * Shared by the files of the sequence-checked copy. Private: no other room has it in its include
 * path.
 */
#ifndef RING_RING_STATE_H
#define RING_RING_STATE_H

#include "ring.h"

/* Conditions among these files, beside the public ones. */
enum step {
	STEP_STILL = 0x100, /* nothing more to see now */
	STEP_MOVED,	    /* the writer has left the active packet: continue with the next */
	STEP_AGAIN,	    /* the packet was started afresh */
	STEP_LAPPED,	    /* a packet is no longer the one that was followed: find the writer */
};

struct sweep {
	uint32_t newest;  /* slot of the newest packet */
	uint32_t history; /* packets before it with consecutive numbers */
	bool new_ring;	  /* numbered 0, 1, 2 … as at creation, with empty packets at the end */
	bool all_empty;
	uint64_t first_of_0; /* first timestamp in slot 0 */
	uint64_t counts;     /* hash of all headers */
};

static inline struct ring_mark ring_cursor_mark(const struct ring *ring)
{
	return (struct ring_mark){.sequence = ring->cursor.sequence, .offset = ring->cursor.offset};
}

static inline bool ring_mark_before(struct ring_mark a, struct ring_mark b)
{
	return a.sequence < b.sequence || (a.sequence == b.sequence && a.offset < b.offset);
}

/* ring-header.c */
uint32_t ring_slot_after(const struct ring *ring, uint32_t slot);
/* Return the slot of packet SEQUENCE, which is less than N away from the active one. */
uint32_t ring_slot_of(const struct ring *ring, uint64_t sequence);
uint32_t ring_header_bits(const struct ring_header *h);
/* Return the content size that H states for SLOT, or 0 if it is impossible. */
uint32_t ring_header_bytes(const struct ring_header *h, const struct ring_slot *slot);
bool ring_load16(const struct ring *ring, uint64_t at, uint16_t *value);
/*
 * Load the header of SLOT (rule 1). Return 0, RING_E_GONE, or STEP_STILL if the header kept
 * changing.
 */
int ring_header_load(struct ring *ring, const struct ring_slot *slot, struct ring_header *h);
/* Load the first timestamp of SLOT. Return false if the bytes are gone. */
bool ring_first_load(const struct ring *ring, const struct ring_slot *slot, uint64_t *first);
/*
 * Load first timestamp and header, in this order: a header that was there after the timestamp was
 * loaded does not belong to an earlier incarnation (rule 2 of ring.c). Return values as
 * ring_header_load.
 */
int ring_incarnation_load(struct ring *ring, const struct ring_slot *slot, uint64_t *first, struct ring_header *h);

/* ring-follow.c */
void ring_active_set(struct ring *ring, uint64_t sequence, uint32_t slot);
/* Read packet SEQUENCE again as if for the first time. */
void ring_return_to(struct ring *ring, uint64_t sequence);
/* Follow the writer by one step. Return STEP_*, or RING_E_GONE. */
int ring_step(struct ring *ring, uint64_t now);

/* ring-copy.c */
/*
 * Hand CHUNK (offset and length given) of packet SEQUENCE to SINK. Return 0, RING_E_FULL,
 * RING_E_GONE or STEP_LAPPED.
 */
int ring_copy_piece(struct ring *ring, struct ring_sink *sink, uint64_t sequence, struct ring_chunk *chunk);
/*
 * Declare everything from the cursor to packet NEXT lost, and put the cursor there. Return 0 or
 * RING_E_FULL.
 */
int ring_declare(struct ring *ring, struct ring_sink *sink, uint64_t next, uint64_t packets, bool at_least,
		 enum ring_gap_reason reason);
/* Copy everything that is proven. Return 0, RING_E_FULL, RING_E_GONE, STEP_AGAIN or STEP_LAPPED. */
int ring_take(struct ring *ring, struct ring_sink *sink);

/* ring.c */
/*
 * Declare the loss before an attach, and place a cursor that went back. Return 0, RING_E_FULL,
 * RING_E_GONE or RING_E_RENEWED.
 */
int ring_settle(struct ring *ring, struct ring_sink *sink);
/*
 * Follow the writer to where it is. Copy what becomes proven on the way, unless the ring is held.
 * Return values as ring_poll.
 */
int ring_follow(struct ring *ring, struct ring_sink *sink, uint64_t now);

/* ring-tail.c */
/*
 * Set END to how far the tail of packet SEQUENCE reaches; 0 if it must not be served under that
 * number. Return 0 or RING_E_GONE.
 */
int ring_tail_end(struct ring *ring, uint64_t sequence, bool dead, uint32_t *end);

/* ring-sweep.c */
/* Read every header once and work out where the writer is. Return 0, RING_E_GONE or STEP_STILL. */
int ring_sweep_load(struct ring *ring, struct sweep *sweep);
/*
 * Begin to follow the writer at packet START, which is not newer than NEWEST, the packet in slot
 * SWEEP->newest. Return 0 or RING_E_GONE.
 */
int ring_follow_from(struct ring *ring, uint64_t start, uint64_t newest, const struct sweep *sweep);
/*
 * Return true if so many packets can have passed in NS that their number is known modulo 65,536
 * only.
 */
bool ring_count_may_wrap(const struct ring *ring, uint64_t ns);
/*
 * Find the writer in a ring that is not the one that was followed, declare what was lost for
 * REASON, and continue. OLDEST: begin at the oldest packet. Return 0, RING_E_FULL, RING_E_GONE,
 * RING_E_RENEWED or STEP_STILL.
 */
int ring_resync(struct ring *ring, struct ring_sink *sink, enum ring_gap_reason reason, bool oldest);

#endif
