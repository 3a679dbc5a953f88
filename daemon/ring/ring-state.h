/* Shared by the files of the sequence-checked copy, and private to daemon/ring. */
#ifndef RING_RING_STATE_H
#define RING_RING_STATE_H

#include "ring.h"

/* Conditions that these files return to each other, besides enum ring_condition. */
enum step {
	STEP_STILL = 0x100, /* there is nothing more to see now */
	STEP_MOVED,	    /* the writer has left the active packet: continue with the next */
	STEP_AGAIN,	    /* the packet must be followed from its beginning again */
	/* A slot does not hold the packet that was followed: find the writer with ring_resync(). */
	STEP_LAPPED,
	/* The writer has written over bytes before the cursor: what it wrote there is lost. */
	STEP_OVERWRITTEN,
};

struct sweep {
	uint32_t newest;  /* slot of the newest packet */
	uint32_t history; /* number of packets before NEWEST whose numbers precede it without a gap */
	bool new_ring;	  /* numbered 0, 1, 2, ... as after creation, with empty packets at the end */
	bool all_empty;
	bool replaced;	/* a packet that was followed has its number, and is another one (ring_is_replaced()) */
	bool first_lap; /* numbered 0, 1, 2, ... to the end, and packet 0 has events: its slot is not being reused */
	uint64_t first_of_0; /* first timestamp of the packet in slot 0 */
	uint64_t counts;     /* hash of the counts and sizes of all headers */
};

static inline struct ring_mark ring_cursor_mark(const struct ring *ring)
{
	return (struct ring_mark){.sequence = ring->cursor.sequence, .offset = ring->cursor.offset};
}

static inline bool ring_mark_before(struct ring_mark a, struct ring_mark b)
{
	return a.sequence < b.sequence || (a.sequence == b.sequence && a.offset < b.offset);
}

/* Return whether the slot of the packet at the cursor holds a newer packet by now. The cursor may be behind the active packet. */
static inline bool ring_is_lapped(const struct ring *ring)
{
	return ring->writer.active >= ring->cursor.sequence + ring->n;
}

/* ring-header.c */
uint32_t ring_slot_after(const struct ring *ring, uint32_t slot);
/* Return the slot of packet SEQUENCE, whose distance from the active packet is less than N. */
uint32_t ring_slot_of(const struct ring *ring, uint64_t sequence);
uint32_t ring_header_bits(const struct ring_header *h);
/*
 * Return the content size in bytes that H states for the packet in SLOT, or 0 if that size is
 * impossible.
 */
uint32_t ring_header_bytes(const struct ring_header *h, const struct ring_slot *slot);
/* If only the low half of a size is stored, the size that a header states is too small by so many bytes, or by a multiple of it. */
#define RING_HALF (65536u / 8)
/*
 * Return whether the size in H, less than a size of the active packet that was seen before, may be half of a greater one: the
 * writer has stored the low half and not yet the high half. If not, the writer has set the size back, or reuses the slot.
 */
bool ring_size_is_half(const struct ring *ring, const struct ring_header *h);
bool ring_load16(const struct ring *ring, uint64_t at, uint16_t *value);
/*
 * Load the header of SLOT into *H (rule 1). Return 0, RING_E_GONE, or STEP_STILL if the header
 * changed during each attempt.
 */
int ring_header_load(struct ring *ring, const struct ring_slot *slot, struct ring_header *h);
/*
 * Load the first timestamp of the packet in SLOT. Return false if its bytes cannot be loaded any
 * more.
 */
bool ring_first_load(const struct ring *ring, const struct ring_slot *slot, uint64_t *first);
/*
 * Load the first timestamp, and after it the header. In this order the header cannot be that of an
 * earlier incarnation than the timestamp (rule 2). Return as ring_header_load().
 */
int ring_incarnation_load(struct ring *ring, const struct ring_slot *slot, uint64_t *first, struct ring_header *h);

/* ring-follow.c */
/* Forget the marks in packet SEQUENCE and behind it, and what they proved. */
void ring_marks_forget(struct ring *ring, uint64_t sequence);
void ring_active_set(struct ring *ring, uint64_t sequence, uint32_t slot);
/*
 * The first timestamp of packet SEQUENCE has changed, of which no byte was taken. Forget all that was seen of the packets from
 * SEQUENCE on, but no size that was set back, nor to which size packet SEQUENCE grew, and follow the writer from there again.
 */
void ring_return_to(struct ring *ring, uint64_t sequence);
/* Follow the writer by one step. Return STEP_* or RING_E_GONE. */
int ring_step(struct ring *ring, uint64_t now);

/* ring-copy.c */
/*
 * Copy bytes of packet SEQUENCE and pass them to SINK. The caller sets the offset, the length and
 * the flags of CHUNK; this function sets its other fields. Return 0, RING_E_FULL, RING_E_GONE,
 * STEP_LAPPED (the packet changed during the copy, so the copy was dropped) or STEP_OVERWRITTEN (the
 * copy begins at the cursor, and the bytes before the cursor are not those that were copied; the
 * copy was dropped).
 */
int ring_copy_piece(struct ring *ring, struct ring_sink *sink, uint64_t sequence, struct ring_chunk *chunk);
/*
 * Return a sum of the N bytes at BYTES. A writer can find two contents with the same sum; it then loses events of its
 * own ring only.
 */
uint64_t ring_sum(const uint8_t *bytes, uint32_t n);
/*
 * Check that the bytes before the cursor, which is in the packet in SLOT, are still those that were copied. Return 0,
 * STEP_OVERWRITTEN or RING_E_GONE.
 */
int ring_copied_check(const struct ring *ring, const struct ring_slot *slot);
/*
 * Check, after bytes of packet SEQUENCE in SLOT were loaded, that the packet still has this count and the first
 * timestamp FIRST. Return 0, STEP_LAPPED (the slot holds another packet, or is being reused) or RING_E_GONE.
 */
int ring_still_there(const struct ring *ring, uint64_t sequence, const struct ring_slot *slot, uint64_t first);
/*
 * Declare all bytes from the cursor to the beginning of packet NEXT lost, as a gap of PACKETS, and
 * move the cursor there. Return 0 or RING_E_FULL.
 */
int ring_declare(struct ring *ring, struct ring_sink *sink, uint64_t next, uint64_t packets, bool at_least,
		 enum ring_gap_reason reason);
/*
 * Copy all proven bytes behind the cursor. Return 0, RING_E_FULL, RING_E_GONE, STEP_AGAIN or
 * STEP_LAPPED.
 */
int ring_take(struct ring *ring, struct ring_sink *sink);

/* ring.c */
/*
 * Do what must happen before the next poll: declare the bytes that were lost before the attach, and
 * find the writer again after a rewind. Return 0, RING_E_FULL, RING_E_GONE or RING_E_RENEWED.
 */
int ring_settle(struct ring *ring, struct ring_sink *sink);
/*
 * Follow the writer to its present position. Copy the bytes that are proven meanwhile, unless
 * RING->held. Return as ring_poll().
 */
int ring_follow(struct ring *ring, struct ring_sink *sink, uint64_t now);

/*
 * Set *DECLARED to whether the packet in SLOT says that its writer orders its stores, which is asked only
 * where that matters. The packet's size was loaded before. Return 0 or RING_E_GONE.
 */
int ring_order_load(const struct ring *ring, const struct ring_slot *slot, bool *declared);
/*
 * If stores may be seen out of order, load again the last size of packet SEQUENCE, which the writer has left: the
 * last part of that size may not have been visible before. Return 0 or RING_E_GONE.
 */
int ring_final_again(struct ring *ring, uint64_t sequence);

/* ring-tail.c */
/*
 * Set *END to the offset in packet SEQUENCE up to which a capture takes bytes, or to 0 if the
 * packet has none yet: its slot still has those of its earlier incarnation. DEAD: the writer will never store again. Return 0,
 * RING_E_GONE, or STEP_LAPPED if the slot does not hold the packet that was followed.
 */
int ring_tail_end(struct ring *ring, uint64_t sequence, bool dead, uint32_t *end);

/* ring-sweep.c */
/*
 * Return whether slot I, whose first timestamp FIRST and header H were loaded as by ring_incarnation_load(), has the number of a packet
 * that the writer left and is another packet: the count wrapped around, or the ring was initialised again.
 */
bool ring_is_replaced(const struct ring *ring, uint32_t i, uint64_t first, const struct ring_header *h);
/* Load every header once and conclude where the writer is. Return 0, RING_E_GONE or STEP_STILL. */
int ring_sweep_load(struct ring *ring, struct sweep *sweep);
/*
 * Sweep again into *SWEEP, which found a new ring. Return RING_E_RENEWED if both sweeps found the same headers, and a new ring; else
 * STEP_STILL or RING_E_GONE.
 */
int ring_confirm_renewed(struct ring *ring, struct sweep *sweep);
/*
 * Begin to follow the writer at packet START. NEWEST, which is at least START, is the number of the
 * packet in slot SWEEP->newest. Return 0 or RING_E_GONE.
 */
int ring_follow_from(struct ring *ring, uint64_t start, uint64_t newest, const struct sweep *sweep);
/* Return whether bytes of the ring were copied, or declared lost. */
bool ring_is_taken(const struct ring *ring);
/*
 * Return whether the writer could have written so many packets in NS (nanoseconds) that their
 * number is known modulo 65,536 only.
 */
bool ring_count_may_wrap(const struct ring *ring, uint64_t ns);
/*
 * Find the writer again after a slot did not hold the packet that was followed. Declare a gap for
 * the lost packets, with REASON, and continue. OLDEST: continue at the oldest packet, even though
 * the writer may overwrite it next. Return 0, RING_E_FULL, RING_E_GONE, RING_E_RENEWED or
 * STEP_STILL.
 */
int ring_resync(struct ring *ring, struct ring_sink *sink, enum ring_gap_reason reason, bool oldest);

#endif
