/*
 * The packets of a selection, one after another, as they are served.
 *
 * A packet as served joins its chunks (up to its last chunk end) and, at the end of a capture, its
 * tail. Unproven bytes of either are walked event by event and cut before the first event that does
 * not hold.
 */
#ifndef SERVE_PACKET_WALK_H
#define SERVE_PACKET_WALK_H

#include "selection.h"

#define PACKET_WALK_PAGE 64u

/* A packet as it is served: content bytes BEGIN to END, those from CHUNKS_END on from the tail. */
struct packet_view {
	uint64_t sequence;
	uint64_t first_timestamp; /* 0 if it is empty */
	uint32_t room;		  /* the packet's size; 0 = nothing of it is served, the view only says what was cut */
	uint32_t begin;
	uint32_t chunks_end;
	uint32_t end;
	uint32_t cut;	  /* bytes that did not verify */
	uint32_t raw_end; /* end without the cut */
	bool complete, unproven, clock, tail;
	uint64_t stamp; /* changes if other rows hold the packet */
};

/* Return the bytes of a view in a CTF body, its header included. */
uint64_t packet_view_bytes(const struct packet_view *v);

struct packet_walk {
	struct reader *reader;
	struct scratch *scratch;
	const struct selection *selection; /* borrowed */
	uint64_t next;
	bool chunks_done;
	uint64_t newest;    /* timestamp of the last event before the tail ... */
	uint64_t not_after; /* ... and the latest that an event of the tail can have */
	bool checked;	    /* CHECK was read */
	struct reader_stream_check check;
	uint64_t expected;  /* the next packet, if none is missing */
	bool follows;	    /* the packet before EXPECTED was seen: the walk does not begin there */
	bool is_open;	    /* that packet is not complete */
	bool order_checked; /* the order of time was checked */
	struct reader_packet page[PACKET_WALK_PAGE];
	size_t n, at;
};

/* Begin a walk over SELECTION.  Borrow all three. */
void packet_walk_init(struct packet_walk *w, struct reader *reader, struct scratch *scratch,
		      const struct selection *selection);
/* Go on at packet SEQUENCE, or before it where what follows depends on earlier packets. */
void packet_walk_seek(struct packet_walk *w, uint64_t sequence);
/*
 * View the next packet that is served or cut. *HAVE is false behind the last. Return what the
 * reader returns.
 */
int packet_walk_next(struct packet_walk *w, struct packet_view *view, bool *have);

#endif
