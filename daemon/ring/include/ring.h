/*
 * One attached ring, and the sequence-checked copy.
 *
 * The guest that writes a ring may be undisciplined, dead or hostile while mprofd reads it. A poll
 * hands whole events of one incarnation of one packet to its sink, or marks the bytes as unproven,
 * and declares every loss as a gap. ring.c begins with the rules that ensure this.
 *
 * Sequences are 64-bit packet numbers. Offsets are bytes in a packet, header included, so the first
 * event is at 30.
 */
#ifndef RING_RING_H
#define RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "memory.h"

/* Conditions: positive, for the direct caller. */
enum ring_condition {
	RING_E_NOT_YET = 1, /* attach: there is no whole ring yet; try again later */
	RING_E_REFUSED,	    /* attach: the bytes are no ring; FAULT says why */
	RING_E_GONE,	    /* bytes that were there at attach are gone */
	RING_E_RENEWED,	    /* the ring was initialised again: detach it, and attach it as a new run */
	RING_E_FULL,	    /* the sink has no room: what it did not take is still in the ring; poll again soon */
};

/* Copied bytes of one packet. They are in the memory that the sink reserved. */
struct ring_chunk {
	uint64_t sequence;
	uint32_t offset;
	uint32_t length; /* 0 only to say that the packet is complete */
	uint32_t packet_bytes;
	uint64_t first_timestamp; /* of the packet's first event, in the guest's nanoseconds */
	struct moment copied;
	bool end;      /* the bytes end at the end of an event; false if the next piece continues */
	bool last;     /* the packet is complete with these bytes */
	bool unproven; /* several writers wrote at once, or the bytes are a tail */
	bool tail;     /* the bytes are past the proven ones: part of a capture; the cursor stays before them */
	bool clock;    /* the guest's clock stepped back or stood still before this packet */
};

enum ring_gap_reason { RING_GAP_LAPPED, RING_GAP_DAMAGED, RING_GAP_POLICY, RING_GAP_RESTART };

/* A loss: the bytes from AFTER up to the first event of packet NEXT_SEQUENCE. */
struct ring_gap {
	uint64_t after_sequence;
	uint32_t after_offset;
	uint64_t next_sequence;
	uint64_t packets; /* lost wholly or in part */
	bool at_least;	  /* PACKETS are lost, or PACKETS and a multiple of 65,536 */
	enum ring_gap_reason reason;
	struct moment found;
};

/* The receiver of the copied bytes. Only the functions below that take a sink call it. */
struct ring_sink {
	/*
	 * Return room for N bytes (at most RING_PIECE_MAX), or NULL. A call of chunk or drop
	 * follows.
	 */
	uint8_t *(*reserve)(struct ring_sink *sink, size_t n, bool tail);
	void (*chunk)(struct ring_sink *sink, const struct ring_chunk *chunk);
	void (*drop)(struct ring_sink *sink);
	/* Take GAP. Return false if there is no room; a later poll declares the gap again. */
	bool (*gap)(struct ring_sink *sink, const struct ring_gap *gap);
};
#define RING_PIECE_MAX (1u << 20)

/* The end of the archive, for a ring that was attached before. */
struct ring_resume {
	uint64_t sequence; /* packet of the next byte that is wanted */
	uint32_t offset;   /* offset of that byte */
	uint64_t last_sequence;
	uint64_t first_timestamp; /* of packet LAST_SEQUENCE */
	uint64_t last_real;	  /* dom0's wall time of its copy, ns */
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

/*
 * The place of a packet in the ring. AT, BYTES, CUT and MISSING are read at attach and never
 * change.
 */
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
 * The cursor. Everything before it was handed over or declared lost. Only a rewind moves it back.
 * FIRST is valid where OFFSET is past the packet header, TAKEN_FIRST where HAS_TAKEN_FIRST.
 */
struct ring_cursor {
	uint64_t sequence;
	uint32_t offset;
	bool has_taken_first;
	uint64_t first;	      /* first timestamp of the packet at the cursor */
	uint64_t taken_first; /* first timestamp of the packet taken before that one */
};

/*
 * The writer, as far as it was followed. Packet ACTIVE is the one that the writer is believed to be
 * in, and lies in slot SLOT; the writer left every packet that was followed before it, so their
 * slots have FINAL. SEEN is at least the size of a packet header.
 */
struct ring_writer {
	uint64_t active;
	uint32_t slot;
	uint32_t seen;		      /* content size of the active packet when last seen */
	uint64_t written;	      /* bytes the writer was seen to write since attach, for the cadence */
	bool saw_empty;		      /* the active packet was seen empty under its number */
	unsigned behind;	      /* polls in a row at which the newest packet seemed to be behind the active one */
	struct ring_header candidate; /* a size of the active packet that waits for its confirmation (rule 3) */
	bool has_candidate;
	bool confirmed; /* a candidate was confirmed in this poll */
};

/*
 * The reference that decides whether the active packet's first timestamp is fresh (rule 2): the
 * timestamp must be newer than FIRST. If KNOWN is false, any first timestamp but 0 is fresh.
 * STALE_SINCE is 0 exactly while no stale one was seen.
 */
struct ring_reference {
	uint64_t first;
	bool known;
	bool guessed;	      /* taken from other packets than the one before the active one */
	uint64_t stale_since; /* CLOCK_MONOTONIC ns of the first poll that saw a stale first timestamp */
};

/*
 * Confirmed positions of the writer. The N_MARKS marks rise strictly, none is past the writer, and
 * everything up to a mark but the newest is complete (rule 4). On machines that show stores out of
 * order, bytes count as proven one poll later: up to SETTLED.
 */
struct ring_proof {
	struct ring_mark marks[RING_MARKS]; /* oldest first */
	uint32_t n_marks;
	struct ring_mark proven;  /* limit of the poll that set it */
	struct ring_mark settled; /* limit of the poll before that one */
	uint64_t proven_at;	  /* POLLED_AT of the poll that set PROVEN */
	bool several_writers;	  /* a confirmed size fell: no byte is proven any more */
};

/*
 * Loss before the attach, to be declared at the first poll. While PENDING, the packet ACTIVE is
 * where the gap ends.
 */
struct ring_restart {
	bool pending;
	bool at_least; /* the number of packets is known modulo 65,536 only */
};

/*
 * Debt after a rewind: bytes from the cursor up to OWED were handed over and taken back, and were
 * neither copied again nor declared lost since. There is no debt if the cursor is at OWED or past
 * it.
 */
struct ring_debt {
	struct ring_mark owed;
	bool rewound;  /* the cursor went back since the last poll: find the writer again */
	bool at_least; /* it went back past a gap that said "at least" */
};

/*
 * The bytes of the two headers that show any change, as of the last poll. While KNOWN, equal bytes
 * mean that nothing changed.
 */
struct ring_glance {
	uint8_t bytes[20];
	bool known;
	uint64_t unsteady; /* counters.unsteady after the last poll */
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

	bool skipping; /* polls follow the writer and copy nothing, until ring_seek */
	bool held;     /* the same, during a call of ring_remaining, ring_keep_newest or ring_declare_rest */
	bool dead;     /* nobody writes any more */

	uint64_t polled_at; /* CLOCK_MONOTONIC ns of the last poll */
	struct ring_counters counters;
};

/*
 * Attach the ring of BYTES bytes in MEMORY (borrowed until detach). Start at the oldest packet, or
 * with RESUME where the archive ends; the first poll then declares the loss in between. DEAD:
 * nobody writes the ring any more, and a last packet that the end of the file cuts is taken up to
 * there. Return 0, -ENOMEM, RING_E_NOT_YET, RING_E_REFUSED, or with RESUME RING_E_RENEWED. After a
 * failure *RING needs no detach.
 */
int ring_attach(struct ring *ring, const struct memory *memory, uint64_t bytes, const struct ring_resume *resume,
		bool dead, const char **fault);
void ring_detach(struct ring *ring); /* accepts a zeroed ring */

/*
 * Copy what is new and proven. An unchanged ring costs one glance, any other costs in proportion to
 * the new bytes. Return 0 (the cadence says when to poll again), RING_E_FULL, RING_E_GONE or
 * RING_E_RENEWED.
 */
int ring_poll(struct ring *ring, struct ring_sink *sink);

/*
 * Hand over the bytes past the cursor as tails. The cursor stays. *AT is where to begin ({0} = the
 * cursor), and on return where it ended, so that a capture that found no room can continue. DEAD:
 * the writer will never move again. Return 0, RING_E_FULL or RING_E_GONE.
 */
int ring_capture(struct ring *ring, struct ring_sink *sink, bool dead, struct ring_mark *at);

/*
 * ring_skip makes polls follow the writer without copying, for a ring of which only snapshots are
 * wanted. ring_seek ends that: it moves the cursor to the oldest packet that can be copied (DEAD:
 * that is there) and declares the packets in between as skipped. Return values as ring_poll.
 */
void ring_skip(struct ring *ring);
int ring_seek(struct ring *ring, struct ring_sink *sink, bool dead);

/*
 * Move the cursor back to TO, because the bytes handed over since TO were taken back. TO is a copy
 * of ring->cursor; inside a call of the sink, that is the cursor before the bytes being handed
 * over. The next poll copies again what is still there and declares the rest lost. AT_LEAST: a gap
 * that said "at least" was taken back too.
 */
void ring_rewind(struct ring *ring, const struct ring_cursor *to, bool at_least);
/* Return true if bytes that were taken back were neither copied again nor declared lost. */
bool ring_owes(const struct ring *ring);
/* Declare them lost, before a detach. Return 0 or RING_E_FULL. */
int ring_declare_owed(struct ring *ring, struct ring_sink *sink);

/* Set whether nobody writes the ring any more. */
void ring_set_dead(struct ring *ring, bool dead);
/*
 * Compute how many BYTES of a dead ring are still to be handed over, proven and tail, plus COST
 * bytes for each piece. AT is where an unfinished tail continues, as ring_capture left it ({0} =
 * none). Follow the writer to its end first. Return 0, RING_E_FULL (the sink takes no gap),
 * RING_E_GONE or RING_E_RENEWED.
 */
int ring_remaining(struct ring *ring, struct ring_sink *sink, uint32_t cost, const struct ring_mark *at,
		   uint64_t *bytes);
/*
 * Declare the oldest remaining packets of a dead ring lost, so that the rest, counted as ring_remaining
 * does, fits into BYTES. The newest packet always stays. Move the cursor, or *AT if a tail was
 * begun. Return values as ring_remaining.
 */
int ring_keep_newest(struct ring *ring, struct ring_sink *sink, uint32_t cost, struct ring_mark *at, uint64_t bytes);
/*
 * Declare everything lost that is left of a dead ring, because there was no room for it. Return 0
 * or RING_E_FULL.
 */
int ring_declare_rest(struct ring *ring, struct ring_sink *sink, struct ring_mark *at);

/* Return true if the writer was seen past the cursor. Another poll soon may then prove more. */
bool ring_pending(const struct ring *ring);

/* Return the sequence of the oldest packet that the ring can hold now. */
uint64_t ring_oldest(const struct ring *ring);

#endif
