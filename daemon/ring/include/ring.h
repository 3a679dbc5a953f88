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

struct ring_mark {
	uint64_t sequence;
	uint32_t offset;
};
#define RING_MARKS 3u

/* The cursor: everything before it was handed over or declared lost. */
struct ring_cursor {
	uint64_t sequence;
	uint32_t offset;
	bool has_taken_first;
	uint64_t first;	      /* first timestamp of the packet at the cursor, where offset is past its start */
	uint64_t taken_first; /* of the packet taken before that one */
};

/* A load of a packet's count and size that showed one state of the header. */
struct ring_header {
	uint16_t count, low, high;
};

struct ring_slot {
	uint64_t at;	 /* of the packet in the ring, bytes */
	uint32_t bytes;	 /* the packet's room */
	uint32_t final;	 /* what the writer left in it; 0 while it is not known */
	uint64_t first;	 /* first timestamp of the incarnation seen last ... */
	uint64_t before; /* ... and of the one before that */
	uint16_t count;	 /* count seen last */
	bool has_first;
	bool has_before;
	bool clock;   /* accepted although its first timestamp is not newer than the packet's before */
	bool damaged; /* left with an impossible size */
	bool cut;     /* the file ends inside it ... */
	bool missing; /* ... or before it: nothing of it can be loaded */
};

/* Counters, for the metrics. */
struct ring_counters {
	uint64_t looks;
	uint64_t bytes;	    /* proven bytes copied */
	uint64_t unsteady;  /* header loads that never agreed */
	uint64_t bad_sizes; /* impossible sizes, refused */
	uint64_t dropped;   /* copies dropped because the packet changed under them */
	uint64_t lapped;
};

struct ring {
	const struct memory *memory;
	uint64_t bytes;
	struct ring_slot *slots;
	uint32_t n;
	bool several_writers; /* a confirmed size fell: nothing is proven any more */
	bool skipping;	      /* looks keep track but copy nothing */

	uint64_t active;    /* the packet the writer is believed to be in */
	uint32_t slot;	    /* where that is */
	uint64_t reference; /* an active packet's first timestamp must be newer than this */
	bool has_reference;
	bool guessed_reference; /* taken from other packets than the one before the active */
	unsigned behind;	/* looks in a row at which the newest packet seemed to be behind the active one */
	bool saw_empty;		/* the active packet was seen empty under its number */
	uint64_t
		stale_since; /* CLOCK_MONOTONIC ns since when the active packet's first timestamp has not been fresh; 0 = it is */
	struct ring_header candidate;
	bool has_candidate;
	bool confirmed; /* a candidate of the active packet was confirmed in this look */

	struct ring_mark marks[RING_MARKS]; /* confirmed positions, oldest first */
	uint32_t n_marks;

	struct ring_mark proven,
		settled;    /* where stores may be seen out of order: up to where it was proven, and a look before */
	uint64_t proven_at; /* LOOKED_AT of the look that set PROVEN */

	uint64_t sequence; /* the cursor: everything before it was handed over or declared lost */
	uint32_t offset;
	uint64_t first;	      /* first timestamp of the packet at the cursor, where offset is past its start */
	uint64_t taken_first; /* of the packet taken before that one */
	bool has_taken_first;
	bool restarted; /* what was lost before attach is still to be declared */
	bool restart_at_least;
	struct ring_mark
		owed; /* where the cursor was before it went back: up to here all is to be had again, or declared */
	bool rewound; /* it went back since the last look ... */
	bool rewound_at_least; /* ... past a gap that said "at least" */
	bool dead;	       /* nobody writes any more */
	bool held;	       /* looks follow the writer without copying */

	uint64_t looked_at; /* CLOCK_MONOTONIC ns of the last look */
	uint64_t written;   /* bytes the writer was seen to write since attach, for the cadence */
	uint32_t seen;	    /* size of the active packet at the last look */
	uint8_t hint[20];   /* the two headers' bytes at the last look: equal ones need no closer look */
	bool has_hint;
	uint64_t unsteady_seen; /* counters.unsteady at the last look */

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
int ring_look(struct ring *ring, struct ring_sink *sink);

/*
 * Hand over, as tails, what lies beyond the cursor; the cursor stays.  *AT says where to begin ({0} = the cursor) and afterwards where
 * it ended, so that a capture that found no room can go on.  DEAD: the writer will never move again, so that what is there is all
 * there will be.  Returns 0, RING_E_FULL or RING_E_GONE.
 */
int ring_capture(struct ring *ring, struct ring_sink *sink, bool dead, struct ring_mark *at);

/*
 * A ring of which only snapshots are wanted is followed without copying.  ring_seek then moves the cursor to the oldest packet that can
 * still be had (DEAD: that is there), declares what lies between as skipped, and ends the skipping.  Returns as ring_look.
 */
void ring_skip(struct ring *ring);
int ring_seek(struct ring *ring, struct ring_sink *sink, bool dead);

/* The cursor as it is now: inside a call of the sink, where it was before what is being handed over. */
struct ring_cursor ring_cursor(const struct ring *ring);
/*
 * What was handed over since TO was taken back: the next look copies it again, or what of it is still there, and declares the rest lost.
 * AT_LEAST: a gap was taken back with it that said so.
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
