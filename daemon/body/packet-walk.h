/*
 * The packets of a selection, one after the other, as they are served.
 *
 * A served packet has the bytes of its chunks, up to its last chunk end, and at the end of a capture the bytes
 * of its tail behind them. Unproven bytes of either are verified event by event, and cut from the first invalid
 * event on. Behind it valid events may go on up to the packet's end; a packet has at most one such hole.
 */
#ifndef BODY_PACKET_WALK_H
#define BODY_PACKET_WALK_H

#include <mprof/event.h>

#include "selection.h"

#define PACKET_WALK_PAGE 64u

/*
 * A view: a packet as it is served. Its content is the bytes from BEGIN to END; those from
 * CHUNKS_END on come from the tail.
 */
struct packet_view {
	uint64_t sequence;
	uint64_t first_timestamp; /* 0 if the packet has no events */
	/*
	 * Size of the whole packet; 0 = nothing of it is served, and the view only says how much
	 * was cut.
	 */
	uint32_t room;
	uint32_t begin;
	uint32_t chunks_end;
	uint32_t end;
	uint32_t cut; /* number of bytes that were cut because they are invalid */
	/*
	 * The cut bytes lie between valid ones: from HOLE to RESUME, which is not before BEGIN and not behind
	 * END. Both are 0 if there are none, or if they lie at the end.
	 */
	uint32_t hole, resume;
	uint32_t raw_end; /* END without the cut */
	bool complete, unproven, clock, tail;
	uint64_t stamp; /* changes when compaction rewrites the packet's rows */
};

/* Return the number of bytes of view V in a CTF body, its header included. The bytes of its hole are left out. */
uint64_t packet_view_bytes(const struct packet_view *v);

struct packet_walk {
	struct reader *reader;
	struct scratch *scratch;
	const struct selection *selection; /* borrowed */
	uint64_t next;
	bool chunks_done;
	/*
	 * Limits of the times of the tail: its packet's first event, or that of the packet before; the
	 * capture's time.
	 */
	struct mprof_tail limits;
	bool left;	/* the tail's packet is not its last: the writer has left it */
	bool remembers; /* packets of the tail before TAIL_NEXT were walked, or are in the record TAIL */
	struct tail_name tail;
	uint64_t tail_next;
	bool checked; /* CHECK is set */
	struct reader_stream_check check;
	uint64_t expected;  /* sequence of the next packet, if none is missing */
	bool follows;	    /* the packet before EXPECTED was read */
	bool is_open;	    /* the packet before EXPECTED is not complete */
	bool order_checked; /* reader_check_order() was called */
	struct reader_packet page[PACKET_WALK_PAGE];
	size_t n, at;
};

/*
 * Return whether the first event of the last chunk of V is worth a look for the guest's clock: its bytes
 * are proven, and no packet follows whose first event would tell as much.
 */
static inline bool packet_view_ends(const struct packet_view *v)
{
	return !v->complete && !v->unproven;
}

/* Begin a walk over SELECTION. READER, SCRATCH and SELECTION are borrowed. */
void packet_walk_init(struct packet_walk *w, struct reader *reader, struct scratch *scratch,
		      const struct selection *selection);
/*
 * Continue at packet SEQUENCE; or at an earlier packet, if the tail must be verified from there, because no
 * earlier walk did.
 */
void packet_walk_seek(struct packet_walk *w, uint64_t sequence);
/*
 * Move to the next packet that is served or cut, and fill *VIEW. *HAVE is false if there is none.
 * Return what the reader returns.
 */
int packet_walk_next(struct packet_walk *w, struct packet_view *view, bool *have);

#endif
