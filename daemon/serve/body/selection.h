/*
 * The part of a stream that a request asks for.
 *
 * A selection is fixed when it is made: packets that the collector appends later are not in it.
 * Functions return what the reader returns.
 */
#ifndef SERVE_SELECTION_H
#define SERVE_SELECTION_H

#include "packet.h"
#include "position.h"

struct selection {
	int64_t run;
	uint32_t number; /* of the stream */
	int64_t stream;	 /* its id */
	uint32_t ring_packets;
	bool empty;	       /* no chunks; there may be a tail */
	uint64_t first;	       /* sequence of the first packet ... */
	uint32_t first_offset; /* ... from this offset on; 30 = all of it */
	uint64_t last;	       /* sequence of the last packet of the chunks ... */
	uint32_t last_offset;  /* ... up to this offset at most */
	int64_t capture;       /* the capture whose tail belongs to it; 0 = none */
	bool raw;	       /* do not cut */
};

/* Select all of a stream that is archived now. */
int selection_all(struct selection *s, struct reader *r);
/* Narrow S to the packets that cover guest times FROM to TO. */
int selection_times(struct selection *s, struct reader *r, uint64_t from, uint64_t to);
/* Narrow S to the newest packets that cover BYTES. */
int selection_last_bytes(struct selection *s, struct reader *r, uint64_t bytes);
/* Find the timestamp of the newest event of S; 0 if it has none. */
int selection_newest(const struct selection *s, struct reader *r, struct scratch *scratch, uint64_t *timestamp);
/* Check whether a body may begin or end at OFFSET of packet SEQUENCE: *OK. */
int selection_offset_ok(struct reader *r, int64_t stream, uint64_t sequence, uint32_t offset, bool *ok);

#endif
