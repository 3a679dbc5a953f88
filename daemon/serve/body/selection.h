/*
 * What of a stream is asked for, and its packets as they are served.
 *
 * A selection is fixed when it is made: what the collector appends later is not in it.  A packet as served joins its chunks (up to its last
 * chunk end) and, at the end of a capture, its tail; what is unproven of either is walked event by event and cut before the first that
 * does not hold.  Functions return what the reader returns.
 */
#ifndef SERVE_SELECTION_H
#define SERVE_SELECTION_H

#include "position.h"
#include "reader.h"

#define SELECTION_PAGE 64u

/* Buffers for walking, shared by all requests of a server: nothing in them outlives a call. */
struct scratch {
	uint8_t *window; /* 2 * ARCHIVE_PIECE_MAX */
	uint8_t *before; /* 2 * ARCHIVE_PIECE_MAX */
	uint8_t *piece;	 /* ARCHIVE_PIECE_MAX */
	struct ZSTD_CCtx_s *zstd;
};
int scratch_init(struct scratch *s);
void scratch_deinit(struct scratch *s);

struct selection {
	int64_t run;
	uint32_t number; /* of the stream */
	int64_t stream;	 /* its id */
	uint32_t ring_packets;
	bool empty;	       /* no chunks; there may be a tail */
	uint64_t first;	       /* sequence of the first packet ... */
	uint32_t first_offset; /* ... from which on; 30 = all of it */
	uint64_t last;	       /* the last packet of the chunks ... */
	uint32_t last_offset;  /* ... up to which at most */
	int64_t capture;       /* whose tail belongs to it; 0 = none */
	bool raw;	       /* do not cut */
};

/* A packet as it is served: content bytes BEGIN to END, those from CHUNKS_END on from the tail. */
struct packet_view {
	uint64_t sequence;
	uint64_t first_timestamp; /* 0 where it is empty */
	uint32_t room;		  /* 0: nothing of it is served, it only says what was cut */
	uint32_t begin;
	uint32_t chunks_end;
	uint32_t end;
	uint32_t cut;	  /* bytes that did not hold */
	uint32_t raw_end; /* where it would end uncut */
	bool complete, unproven, clock, tail;
	uint64_t stamp; /* differs when other rows hold it */
};

/* Bytes of a view in a CTF body. */
uint64_t packet_view_bytes(const struct packet_view *v);

/* The packets of a selection, one after another. */
struct packet_walk {
	struct reader *reader;
	struct scratch *scratch;
	const struct selection *selection; /* borrowed */
	uint64_t next;
	bool chunks_done;
	uint64_t newest;    /* timestamp of the last event of the packet before, where a tail is walked ... */
	uint64_t not_after; /* ... and the latest that there can be in it */
	bool checked;	    /* that the stream has what it must have: */
	struct reader_stream_check check;
	uint64_t expected; /* the next packet, where none is missing */
	bool follows;	   /* the packet before EXPECTED was seen: the walk does not begin there */
	bool is_open;	   /* that packet is not complete */
	struct reader_packet page[SELECTION_PAGE];
	size_t n, at;
};

void packet_walk_init(struct packet_walk *w, struct reader *reader, struct scratch *scratch,
		      const struct selection *selection);
/* Begin at packet SEQUENCE or before it. */
void packet_walk_seek(struct packet_walk *w, uint64_t sequence);
/* The next packet of which something is served, or something was cut; *HAVE false behind the last. */
int packet_walk_next(struct packet_walk *w, struct packet_view *view, bool *have);

/* The oldest and the newest packet of a stream; ARCHIVE_E_ABSENT. */
int stream_oldest(struct reader *r, int64_t stream, struct reader_packet *p);
int stream_newest(struct reader *r, int64_t stream, struct reader_packet *p);
/* Where the served chunks of a packet end: its last chunk end, 30 where it is empty; 0 where there is none yet. */
int packet_chunks_end(struct reader *r, int64_t stream, const struct reader_packet *p, uint32_t *end);

/* Everything of a stream that is archived now. */
int selection_all(struct selection *s, struct reader *r);
/* Narrow it to the packets that cover guest times FROM to TO. */
int selection_times(struct selection *s, struct reader *r, uint64_t from, uint64_t to);
/* Narrow it to the newest packets that cover BYTES. */
int selection_last_bytes(struct selection *s, struct reader *r, uint64_t bytes);
/* The timestamp of its newest event, 0 where there is none. */
int selection_newest(const struct selection *s, struct reader *r, struct scratch *scratch, uint64_t *timestamp);
/* Is OFFSET a place where a body of this packet may begin or end? */
int selection_offset_ok(struct reader *r, int64_t stream, uint64_t sequence, uint32_t offset, bool *ok);

/*
 * How far the unproven bytes FROM to TO of a packet hold; NOT_BEFORE is the timestamp of the event before them, and becomes
 * that of the last that holds; NOT_AFTER is the latest that there can be, UINT64_MAX where that is not known.
 */
int tail_hold(struct reader *r, struct scratch *scratch, struct reader_source source, uint32_t ring_packets,
	      uint64_t sequence, uint32_t from, uint32_t to, uint64_t not_after, uint64_t *not_before, uint32_t *held);

#endif
