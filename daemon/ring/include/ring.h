/*
 * An attached ring, and the sequence-checked copy of its bytes.
 *
 * The guest that writes a ring may be faulty, dead or hostile while mprofd reads it. A poll hands
 * whole events of one packet to a *sink*, or marks the bytes as unproven, and declares every loss
 * as a gap. ring.c begins with the rules that ensure this, and defines fresh, mark and proven.
 *
 * A *sequence* is the 64-bit number of a packet. An *offset* counts bytes in a packet, header
 * included, so the first event is at offset 30. The *cursor* is the position up to which bytes were
 * handed over. The *active* packet is the one that the writer is in. A *tail* is the bytes between
 * the proven ones and the writer, which only a capture takes. A *piece* is one copy of at most
 * RING_PIECE_MAX bytes.
 */
#ifndef RING_RING_H
#define RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "memory.h"

/*
 * X86 makes stores visible in their order. On other machines an event's bytes may become visible after the
 * size that was stored later, unless the writer orders its stores. A packet can declare that its writer does
 * (MPROF_DECLARES_ORDER). The bytes of other packets of a living ring are copied one poll after the poll
 * that would prove them on x86, and are called unproven (RING_SETTLE). docs/ring-memory.md says why.
 */
#ifndef RING_SETTLE
#if defined(__x86_64__) || defined(__i386__)
#define RING_SETTLE 0
#else
#define RING_SETTLE 1
#endif
#endif

/* Return values that the caller must act on. They are positive, errors are -errno. */
enum ring_condition {
	RING_E_NOT_YET = 1, /* attach: the memory does not hold a whole ring yet; try again later */
	RING_E_REFUSED,	    /* attach: the memory holds no ring; *FAULT says why */
	RING_E_GONE,	    /* bytes that existed at attach cannot be loaded any more */
	RING_E_RENEWED,	    /* the ring was initialised again: detach it, and attach it again in a new run */
	RING_E_FULL,	    /* the sink has no room: the bytes stay in the ring; poll again soon */
};

/* Bytes of one packet that were copied into the memory that the sink reserved. */
struct ring_chunk {
	uint64_t sequence;
	uint32_t offset;
	uint32_t length; /* number of bytes; 0 = only LAST is new */
	uint32_t packet_bytes;
	uint64_t first_timestamp; /* timestamp of the packet's first event, ns of the guest's clock */
	struct moment copied;
	bool end;  /* the bytes end at the end of an event; false if the next piece of the packet continues */
	bool last; /* the packet is complete with this piece */
	/*
	 * The bytes may be false: they are a tail, several writers wrote at once, or stores may be seen out
	 * of order and the packet does not declare ordered ones.
	 */
	bool unproven;
	bool tail;  /* the bytes are a tail; the cursor stays before them */
	bool clock; /* this packet's first timestamp is not newer than that of the packet before */
};

enum ring_gap_reason { RING_GAP_LAPPED, RING_GAP_DAMAGED, RING_GAP_POLICY, RING_GAP_RESTART };

/*
 * A loss: the bytes from offset AFTER_OFFSET in packet AFTER_SEQUENCE up to the first event of
 * packet NEXT_SEQUENCE.
 */
struct ring_gap {
	uint64_t after_sequence;
	uint32_t after_offset; /* 0 = no byte of the ring was copied before the gap (struct ring_resume, UNSEEN) */
	uint64_t next_sequence;
	uint64_t packets; /* number of packets of which bytes are lost */
	bool at_least;	  /* more may be lost: PACKETS plus a multiple of 65,536, or any number if AFTER_OFFSET is 0 */
	enum ring_gap_reason reason;
	struct moment found;
};

/* The receiver of the copied bytes. Only functions that take a sink call these functions. */
struct ring_sink {
	/*
	 * Return a buffer of N bytes (at most RING_PIECE_MAX), or NULL if there is no room. TAIL:
	 * the bytes are a tail. A call of chunk() or drop() follows.
	 */
	uint8_t *(*reserve)(struct ring_sink *sink, size_t n, bool tail);
	void (*chunk)(struct ring_sink *sink, const struct ring_chunk *chunk);
	void (*drop)(struct ring_sink *sink);
	/* Take GAP. Return false if there is no room; a later poll then declares it again. */
	bool (*gap)(struct ring_sink *sink, const struct ring_gap *gap);
};
#define RING_PIECE_MAX (1u << 20)

/* The end of the archive of a ring that was attached before. */
struct ring_resume {
	uint64_t sequence; /* packet of the next byte to archive */
	uint32_t offset;   /* offset of that byte */
	uint64_t last_sequence;
	uint64_t first_timestamp; /* first timestamp of packet LAST_SEQUENCE */
	int64_t last_mono;	  /* when that packet was copied, CLOCK_MONOTONIC ns; negative = before this boot */
	const uint8_t *last;	  /* the N_LAST bytes before OFFSET, at most RING_SUMMED_MAX; 0 = not known */
	uint32_t n_last;
	/*
	 * The ring was attached before, and the archive has no packet of it from packet SEQUENCE on; only SEQUENCE counts then. If
	 * the oldest packet is a later one, the first poll declares a loss. KNOWN: the ring had packet SEQUENCE, or an earlier one,
	 * when it was attached for the first time. If not, nobody knows how many of the lost packets passed before that, so the
	 * gap says at least one. PASSED: the ring was past its first lap then, so one that is in its first lap was initialised
	 * again.
	 */
	bool unseen, known, passed;
};
#define RING_SUMMED_MAX 128u

/* A position: OFFSET in packet SEQUENCE. */
struct ring_mark {
	uint64_t sequence;
	uint32_t offset;
};
#define RING_MARKS 3u

/* The fields of a packet header that change: count and content size in bits, as halves. */
struct ring_header {
	uint16_t count, low, high;
};

/*
 * A slot: the memory of one packet. AT, BYTES, CUT and MISSING are set at attach and never change.
 */
struct ring_slot {
	uint64_t at;	       /* offset in the ring in bytes */
	uint32_t bytes;	       /* size of the slot in bytes */
	uint32_t final;	       /* content size in bytes when the writer left the packet; 0 = unknown */
	uint64_t first;	       /* first timestamp of the incarnation that was seen last, if HAS_FIRST */
	uint32_t grown;	       /* writer.grown when the writer left the packet, if FINAL is set */
	uint32_t back_to;      /* content size in bytes, set back, up to which bytes of packet BACK - 1 are copied */
	uint64_t back;	       /* number of the newest packet whose size the writer set back, plus 1; 0 = none */
	uint64_t before;       /* first timestamp of the incarnation before that, if HAS_BEFORE */
	uint32_t before_final; /* content size in bytes of that incarnation, if HAS_BEFORE */
	uint16_t count;	       /* count that was seen last */
	bool has_first;
	bool has_before;
	/*
	 * The packet was accepted although its first timestamp is not newer than that of the packet
	 * before.
	 */
	bool clock;
	bool damaged; /* the packet had an impossible size when the writer left it */
	bool cut;     /* the file ends inside the slot */
	bool missing; /* the file ends before the slot: none of its bytes can be loaded */
};

/* Counters for the metrics. */
struct ring_counters {
	uint64_t polls;
	uint64_t bytes;	    /* number of proven bytes that were copied */
	uint64_t unsteady;  /* headers that changed during each attempt to load them */
	uint64_t bad_sizes; /* impossible sizes */
	uint64_t dropped;   /* copies that were dropped because the packet changed during the copy */
	uint64_t lapped;    /* times that the writer was lost and searched for */
};

/*
 * The cursor. All bytes before it were handed over or declared lost. Only ring_rewind() moves it
 * back. FIRST is valid if OFFSET is behind the packet header, TAKEN_FIRST and TAKEN if HAS_TAKEN_FIRST.
 * SUM is the sum (ring_sum()) of the SUMMED bytes before the cursor, as they were copied; SUMMED is 0 if they are not
 * known, and at most RING_SUMMED_MAX.
 */
struct ring_cursor {
	uint64_t sequence;
	uint32_t offset;
	bool has_taken_first;
	uint16_t summed;
	uint64_t sum;
	uint64_t first;	      /* first timestamp of the packet at the cursor */
	uint64_t taken_first; /* first timestamp of the packet that was taken before that packet */
	uint64_t taken;	      /* number of the packet with TAKEN_FIRST */
};

/*
 * The writer, as far as it was followed. ACTIVE is the packet in which the writer was seen last; it
 * lies in slot SLOT. The writer has left all earlier packets that were followed, so FINAL is set in
 * their slots. SEEN is at least the size of a packet header.
 */
struct ring_writer {
	uint64_t active;
	uint32_t slot;
	uint32_t seen; /* largest content size of the active packet that was seen, in bytes */
	/*
	 * Largest content size in bytes that the active packet was seen to grow to, or that was copied. A size counts if one
	 * was confirmed before it: an earlier one may be left from the slot's earlier incarnation. Where stores may be seen out of
	 * order, it counts if it is confirmed itself. If a size may be half of a greater one, this is the least that the greater
	 * one can be.
	 */
	uint32_t grown;
	/* If the size turns out to have fallen, it fell to so many bytes at most; 0 = nothing suggests that it fell below GROWN. */
	uint32_t least;
	/*
	 * Number of bytes that the writer was seen to write since attach; collect/cadence.c uses it.
	 */
	uint64_t written;
	bool saw_empty; /* the active packet was seen without events */
	bool fell; /* ..., or with an impossible size, after it was seen to grow: the writer has set the size back */
	/* Number of successive polls at which the newest packet was before the active one. */
	unsigned behind;
	/* POLLED_AT when the writer was lost (ring_resync()) and not found since; 0 = it is followed. */
	uint64_t lost_at;
	/* Size of the active packet that is not confirmed yet (rule 3), if HAS_CANDIDATE. */
	struct ring_header candidate;
	bool has_candidate;
	bool confirmed; /* a size was confirmed in this poll */
};

/*
 * The reference: the active packet's first timestamp is fresh (rule 2) if it is newer than FIRST.
 * If KNOWN is false, every first timestamp but 0 is fresh. STALE_SINCE is 0 if no first timestamp
 * was seen that is not fresh.
 */
struct ring_reference {
	uint64_t first;
	bool known;
	bool guessed;	      /* FIRST is not of the packet before the active one, but of other packets */
	uint64_t stale_since; /* first poll that saw a first timestamp that is not fresh, CLOCK_MONOTONIC ns */
};

/*
 * The marks: confirmed positions of the writer. The N_MARKS marks ascend strictly, and none is past
 * the writer. Everything up to a mark is complete, except for the newest mark (rule 4), if stores are
 * seen in their order. If they may not be, bytes are copied up to SETTLED only, one poll later.
 */
struct ring_proof {
	struct ring_mark marks[RING_MARKS]; /* oldest first */
	uint32_t n_marks;
	struct ring_mark proven;  /* end of the proven bytes (rule 4) in the poll PROVEN_AT */
	struct ring_mark settled; /* end of the proven bytes in the poll before that */
	uint64_t proven_at;	  /* POLLED_AT of the poll that set PROVEN */
	/* A size fell (rule 6): no byte is proven any more. */
	bool several_writers;
};

/*
 * A loss before the attach. While PENDING, it must still be declared, as a gap from the cursor to
 * packet ACTIVE.
 */
struct ring_restart {
	bool pending;
	bool at_least; /* the number of lost packets is known modulo 65,536 only */
	/* No byte of the ring was copied before a gap from packet UNSEEN_FROM on (struct ring_resume), also after a rewind. */
	bool unseen, known;
	uint64_t unseen_from;
};

/*
 * Bytes that are owed after a rewind: bytes from the cursor up to OWED were handed over and taken
 * back, and have not been copied again or declared lost yet. No bytes are owed if the cursor is at
 * or behind OWED.
 */
struct ring_debt {
	struct ring_mark owed;
	bool rewound;  /* the cursor was moved back since the last poll: find the writer again */
	bool at_least; /* it was moved back over a gap with AT_LEAST */
};

/*
 * The bytes in the headers of the active packet and of the next one that show any change of the
 * ring, as of the last poll. If KNOWN and the bytes are equal, nothing has changed.
 */
struct ring_glance {
	uint8_t bytes[20];
	bool known;
	uint64_t unsteady; /* value of counters.unsteady after the last poll */
};

/* An attached ring. Only the files of daemon/ring set its fields. */
struct ring {
	const struct memory *memory; /* borrowed */
	uint64_t bytes;
	struct ring_slot *slots; /* N slots, owned */
	uint32_t n;

	struct ring_cursor cursor;
	struct ring_writer writer;
	struct ring_reference reference;
	struct ring_proof proof;
	struct ring_restart restart;
	struct ring_debt debt;
	struct ring_glance glance;

	bool skipping; /* polls follow the writer and copy nothing, until ring_seek() */
	bool held;     /* the same, during a call of ring_remaining(), ring_keep_newest() or ring_declare_rest() */
	bool dead;     /* the ring is dead: nobody writes to it any more */

	uint64_t polled_at; /* CLOCK_MONOTONIC ns of the last poll */
	struct ring_counters counters;
};

/*
 * Attach the ring of BYTES bytes in MEMORY (borrowed until detach). Begin at the oldest packet; or,
 * with RESUME, where the archive ends. In the second case the first poll declares the bytes in
 * between that are lost. DEAD: nobody writes to the ring any more, and if the file ends inside the
 * last packet, the packet's bytes up to there are taken. Return 0, -ENOMEM, RING_E_NOT_YET,
 * RING_E_REFUSED, or with RESUME also RING_E_RENEWED. After a failure *RING needs no detach.
 */
int ring_attach(struct ring *ring, const struct memory *memory, uint64_t bytes, const struct ring_resume *resume,
		bool dead, const char **fault);
void ring_detach(struct ring *ring); /* accepts a zeroed ring */

/*
 * Copy the new proven bytes to SINK. If nothing has changed, a poll costs one glance at two
 * headers; otherwise the cost is proportional to the new bytes. Return 0, RING_E_FULL, RING_E_GONE
 * or RING_E_RENEWED.
 */
int ring_poll(struct ring *ring, struct ring_sink *sink);

/*
 * Copy the tail to SINK: the bytes behind the cursor. The cursor stays, unless the writer wrote over
 * bytes before it: the rest of that packet is then a gap. If the writer lives and has set a size back, the
 * tail ends there. Begin at *AT ({0} = at the cursor). *AT
 * becomes the position where the copy ended, so a capture for which there was no room can continue
 * there. DEAD: the writer will never store again. Return 0, RING_E_FULL or RING_E_GONE.
 */
int ring_capture(struct ring *ring, struct ring_sink *sink, bool dead, struct ring_mark *at);

/*
 * ring_skip() makes polls follow the writer without copying, for a ring of which only snapshots are
 * wanted. ring_seek() ends that: it moves the cursor to the oldest packet that the writer does not
 * overwrite next (DEAD: to the oldest packet), and declares the packets before it as a gap with
 * RING_GAP_POLICY. Return as ring_poll().
 */
void ring_skip(struct ring *ring);
int ring_seek(struct ring *ring, struct ring_sink *sink, bool dead);

/*
 * Move the cursor back to TO, because the queue has dropped the bytes that were handed over since
 * then. TO is an earlier copy of ring->cursor; during a call of the sink, the cursor is still
 * before the bytes that are being handed over. The next poll copies the bytes that are still in the
 * ring again, and declares the others lost. AT_LEAST: the queue has also dropped a gap with
 * AT_LEAST.
 */
void ring_rewind(struct ring *ring, const struct ring_cursor *to, bool at_least);
/* Return whether bytes are owed (see struct ring_debt). */
bool ring_owes(const struct ring *ring);
/*
 * Declare the bytes lost that were taken back by ring_rewind() and have not been copied again. To
 * be called before a detach. Return 0 or RING_E_FULL.
 */
int ring_declare_owed(struct ring *ring, struct ring_sink *sink);

/* Set whether the ring is dead: whether nobody writes to it any more. */
void ring_set_dead(struct ring *ring, bool dead);
/*
 * Set *BYTES to the number of bytes of a dead ring that remain to be handed over, proven bytes and
 * tail, plus COST bytes for each piece. AT is where an unfinished tail continues, as ring_capture()
 * left it ({0} = none). The writer is followed to its end first. Return 0, RING_E_FULL (no room for
 * a gap), RING_E_GONE or RING_E_RENEWED.
 */
int ring_remaining(struct ring *ring, struct ring_sink *sink, uint32_t cost, const struct ring_mark *at,
		   uint64_t *bytes);
/*
 * Declare the oldest remaining packets of a dead ring lost, until the bytes that ring_remaining()
 * counts are at most BYTES. The newest packet is always kept. Move the cursor, or *AT if a tail was
 * begun, behind the lost packets. COST as in ring_remaining(). Return as ring_remaining().
 */
int ring_keep_newest(struct ring *ring, struct ring_sink *sink, uint32_t cost, struct ring_mark *at, uint64_t bytes);
/*
 * Declare all remaining bytes of a dead ring lost, because there was no room for them. Return 0 or
 * RING_E_FULL.
 */
int ring_declare_rest(struct ring *ring, struct ring_sink *sink, struct ring_mark *at);

/*
 * Return whether the writer was seen past the cursor: another poll soon may then prove more bytes.
 */
bool ring_pending(const struct ring *ring);

/* Return the sequence of the oldest packet that the ring can hold now. */
uint64_t ring_oldest(const struct ring *ring);

#endif
