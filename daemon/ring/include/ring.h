/*
 * One attached ring, and the sequence-checked copy: the only code that looks at a ring.
 *
 * A ring is written by a guest that may be undisciplined, dead or hostile while we read it.  What a look hands to its sink is
 * whole events of one incarnation of one packet, or it is marked as unproven; what was lost is declared as a gap.  How that is
 * made sure of stands at the head of ring.c.
 *
 * Sequences are 64-bit packet numbers; offsets are bytes in a packet, header included, so that the first event is at 30.
 */
#ifndef COLLECT_RING_H
#define COLLECT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "memory.h"

/* Conditions: positive, for the direct caller. */
enum ring_condition {
	RING_E_NOT_YET = 1, /* attach: no ring there yet, or not a whole one; ask again later */
	RING_E_REFUSED,	    /* attach: there is something, and it is no ring; see ring_fault_text */
	RING_E_GONE,	    /* bytes that were there at attach are not any more */
	RING_E_RENEWED,	    /* the ring was initialised again: detach, and attach it as a new run */
	RING_E_FULL,	    /* the sink has no room: what was not taken is still in the ring; look again soon */
};

/* Copied bytes of one packet.  DATA is what reserve gave. */
struct ring_chunk {
	uint64_t sequence;
	uint32_t offset;
	uint32_t length; /* 0 only where it merely says that the packet is complete */
	uint32_t packet_bytes;
	uint64_t first_timestamp; /* of the packet's first event, the guest's nanoseconds */
	struct moment copied;
	bool end;      /* ends at the end of an event; false where a long chunk goes on in the next piece */
	bool last;     /* the packet is complete with this */
	bool unproven; /* written by several writers at once, or a tail */
	bool tail;     /* beyond the proven bytes: of a capture, the cursor does not pass it */
	bool clock;    /* the guest's clock stepped back or stood still before this packet */
};

enum ring_gap_reason { RING_GAP_LAPPED, RING_GAP_DAMAGED, RING_GAP_POLICY, RING_GAP_RESTART };

/* Bytes that will never be had: from AFTER on up to the first event of packet NEXT_SEQUENCE. */
struct ring_gap {
	uint64_t after_sequence;
	uint32_t after_offset;
	uint64_t next_sequence;
	uint64_t packets; /* lost wholly or in part */
	bool at_least;	  /* that many, or that many and a multiple of 65,536 */
	enum ring_gap_reason reason;
	struct moment found;
};

/* Where a look puts what it copied.  Called only during the calls below that take a sink. */
struct ring_sink {
	/* Room for N bytes (at most RING_PIECE_MAX), or NULL.  Followed by chunk or drop. */
	uint8_t *(*reserve)(struct ring_sink *sink, size_t n, bool tail);
	void (*chunk)(struct ring_sink *sink, const struct ring_chunk *chunk);
	void (*drop)(struct ring_sink *sink);
	/* False: no room; the gap will be declared again at a later look. */
	bool (*gap)(struct ring_sink *sink, const struct ring_gap *gap);
};
#define RING_PIECE_MAX (1u << 20)

/* Where the archive ends, for a ring that was attached before. */
struct ring_resume {
	uint64_t sequence; /* the next byte wanted is in this packet ... */
	uint32_t offset;   /* ... here */
	uint64_t last_sequence;
	uint64_t first_timestamp; /* of the packet LAST_SEQUENCE */
	uint64_t last_real;	  /* dom0's wall time, ns, when that was copied */
};

/* A position: OFFSET in packet SEQUENCE. */
struct ring_mark {
	uint64_t sequence;
	uint32_t offset;
};
#define RING_MARKS 3u

/* A load of a packet's count and size that showed one state of the header. */
struct ring_header {
	uint16_t count, low, high;
};

/* The place of a packet in the ring. AT, BYTES, CUT and MISSING are read at attach and never change. */
struct ring_slot {
	uint64_t at;	 /* offset in the ring, bytes */
	uint32_t bytes;	 /* size of the place */
	uint32_t final;	 /* content size when the writer left the packet; 0 = not known */
	uint64_t first;	 /* first timestamp of the last incarnation seen */
	uint64_t before; /* first timestamp of the incarnation before that one */
	uint16_t count;	 /* last count seen */
	bool has_first;
	bool has_before;
	bool clock;   /* accepted although its first timestamp is not newer than that of the packet before */
	bool damaged; /* the writer left it with an impossible size */
	bool cut;     /* the file ends inside it */
	bool missing; /* the file ends before it: none of its bytes can be loaded */
};

/* Counters for the metrics. */
struct ring_counters {
	uint64_t polls;
	uint64_t bytes;	    /* proven bytes copied */
	uint64_t unsteady;  /* header loads that never agreed */
	uint64_t bad_sizes; /* impossible sizes, refused */
	uint64_t dropped;   /* copies dropped because the packet changed under them */
	uint64_t lapped;    /* times that the writer was lost */
};

/*
 * The cursor. Everything before it was handed over or declared lost. Only a rewind moves it back. FIRST is valid where OFFSET is past
 * the packet header, TAKEN_FIRST where HAS_TAKEN_FIRST.
 */
struct ring_cursor {
	uint64_t sequence;
	uint32_t offset;
	bool has_taken_first;
	uint64_t first;	      /* first timestamp of the packet at the cursor */
	uint64_t taken_first; /* first timestamp of the packet taken before that one */
};

/*
 * The writer, as far as it was followed. Packet ACTIVE is the one that the writer is believed to be in, and lies in slot SLOT; the
 * writer left every packet that was followed before it, so their slots have FINAL. SEEN is at least the size of a packet header.
 */
struct ring_writer {
	uint64_t active;
	uint32_t slot;
	uint32_t seen;		      /* content size of the active packet when last seen */
	uint64_t written;	      /* bytes the writer was seen to write since attach, for the cadence */
	bool saw_empty;		      /* the active packet was seen empty under its number */
	unsigned behind;	      /* looks in a row at which the newest packet seemed to be behind the active one */
	struct ring_header candidate; /* a size of the active packet that waits for its confirmation (rule 3) */
	bool has_candidate;
	bool confirmed; /* a candidate was confirmed in this look */
};

/*
 * What decides whether the active packet's first timestamp is fresh (rule 2): it must be newer than FIRST. Where KNOWN is false, any
 * first timestamp but 0 is fresh. STALE_SINCE is 0 exactly while no stale one was seen.
 */
struct ring_reference {
	uint64_t first;
	bool known;
	bool guessed;	      /* taken from other packets than the one before the active one */
	uint64_t stale_since; /* CLOCK_MONOTONIC ns of the first look that saw a stale first timestamp */
};

/*
 * Confirmed positions of the writer. The N_MARKS marks rise strictly, none is past the writer, and everything up to a mark but the
 * newest is complete (rule 4). Where stores may be seen out of order, bytes count as proven one look later: up to SETTLED.
 */
struct ring_proof {
	struct ring_mark marks[RING_MARKS]; /* oldest first */
	uint32_t n_marks;
	struct ring_mark proven;  /* limit of the look that set it */
	struct ring_mark settled; /* limit of the look before that one */
	uint64_t proven_at;	  /* LOOKED_AT of the look that set PROVEN */
	bool several_writers;	  /* a confirmed size fell: no byte is proven any more */
};

/* Loss before the attach, to be declared at the first look. While PENDING, ACTIVE is where the declared gap ends. */
struct ring_restart {
	bool pending;
	bool at_least; /* the number of packets is known modulo 65,536 only */
};

/*
 * Debt after a rewind: bytes from the cursor up to OWED were handed over, taken back, and neither copied again nor declared lost since.
 * There is no debt where the cursor is at OWED or past it.
 */
struct ring_debt {
	struct ring_mark owed;
	bool rewound;  /* the cursor went back since the last look: the writer is to be found anew */
	bool at_least; /* it went back past a gap that said "at least" */
};

/* The bytes of the two headers that show any change, as of the last look. While KNOWN, equal bytes mean that nothing changed. */
struct ring_glance {
	uint8_t bytes[20];
	bool known;
	uint64_t unsteady; /* counters.unsteady after the last look */
};

/* An attached ring. Only the files of daemon/ring write its fields. */
struct ring {
	const struct memory *memory; /* borrowed */
	uint64_t bytes;
	struct ring_slot *slots; /* N of them, owned */
	uint32_t n;

	struct ring_cursor cursor;
	struct ring_writer writer;
	struct ring_reference reference;
	struct ring_proof proof;
	struct ring_restart restart;
	struct ring_debt debt;
	struct ring_glance glance;

	bool skipping; /* looks follow the writer and copy nothing, until ring_seek */
	bool held;     /* the same, during a call of ring_left, ring_newest or ring_abandon */
	bool dead;     /* nobody writes any more */

	uint64_t polled_at; /* CLOCK_MONOTONIC ns of the last look */
	struct ring_counters counters;
};

/*
 * Attach the ring of BYTES bytes in MEMORY (borrowed until detach).  RESUME NULL: from the oldest packet that is there.  DEAD: nobody
 * writes it any more, and a last packet cut short by the end of the file is taken as far as it goes.  Returns 0, -ENOMEM,
 * RING_E_NOT_YET, RING_E_REFUSED, or with RESUME RING_E_RENEWED; on anything but 0 *RING needs no detach.
 * With RESUME the bytes lost since are declared at the first look.
 */
int ring_attach(struct ring *ring, const struct memory *memory, uint64_t bytes, const struct ring_resume *resume,
		bool dead, const char **fault);
void ring_detach(struct ring *ring); /* a zeroed ring too */

/*
 * Copy what is new and proven.  Costs one glance where nothing changed, else in proportion to what is new.
 * Returns 0 (look again when the cadence says), RING_E_FULL, RING_E_GONE or RING_E_RENEWED.
 */
int ring_poll(struct ring *ring, struct ring_sink *sink);

/*
 * Hand over, as tails, what lies beyond the cursor; the cursor stays.  *AT says where to begin ({0} = the cursor) and afterwards where
 * it ended, so that a capture that found no room can go on.  DEAD: the writer will never move again, so that what is there is all
 * there will be.  Returns 0, RING_E_FULL or RING_E_GONE.
 */
int ring_capture(struct ring *ring, struct ring_sink *sink, bool dead, struct ring_mark *at);

/*
 * A ring of which only snapshots are wanted is followed without copying.  ring_seek then moves the cursor to the oldest packet that can
 * still be had (DEAD: that is there), declares what lies between as skipped, and ends the skipping.  Returns as ring_poll.
 */
void ring_skip(struct ring *ring);
int ring_seek(struct ring *ring, struct ring_sink *sink, bool dead);

/*
 * Move the cursor back to TO, a copy of ring->cursor (inside a call of the sink: the cursor before what is being handed over), because what
 * was handed over since was taken back. The next look copies what is still there again and declares the rest lost. AT_LEAST: a gap that
 * said "at least" was taken back with it.
 */
void ring_rewind(struct ring *ring, const struct ring_cursor *to, bool at_least);
/* Is something that was taken back not had again yet? */
bool ring_owes(const struct ring *ring);
/* Declare that lost, before a detach.  0 or RING_E_FULL. */
int ring_forfeit(struct ring *ring, struct ring_sink *sink);

/* Nobody writes it any more, or (not DEAD) somebody does again. */
void ring_died(struct ring *ring, bool dead);
/*
 * How many bytes of a dead ring are still to be handed over, proven and tail, with COST bytes more for each piece; a tail that was begun
 * goes on at AT, as ring_capture left it ({0} = none was).  Follows the writer to its end first.  0, RING_E_FULL (the sink takes no gap),
 * RING_E_GONE or RING_E_RENEWED.
 */
int ring_left(struct ring *ring, struct ring_sink *sink, uint32_t cost, const struct ring_mark *at, uint64_t *bytes);
/*
 * Declare the oldest packets of what is left of a dead ring lost, so that the rest (counted as ring_left does) fits into BYTES.  The newest
 * packet stays in any case.  Moves the cursor, or *AT where a tail was begun.  As ring_left.
 */
int ring_newest(struct ring *ring, struct ring_sink *sink, uint32_t cost, struct ring_mark *at, uint64_t bytes);
/* Declare all lost that is left of a dead ring: there was no room for it.  0 or RING_E_FULL. */
int ring_abandon(struct ring *ring, struct ring_sink *sink, struct ring_mark *at);

/* Has the writer been seen beyond the cursor?  Then a look soon after this one may prove more. */
bool ring_pending(const struct ring *ring);

/* The oldest packet that the ring can hold now. */
uint64_t ring_oldest(const struct ring *ring);

#endif
