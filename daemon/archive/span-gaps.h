/* The gaps of a span: a part of a stream whose beginning and end are known apart from the packets that are left. */
#ifndef ARCHIVE_SPAN_GAPS_H
#define ARCHIVE_SPAN_GAPS_H

#include "reader.h"

/* A part of a stream, with the tail of a capture behind it. */
struct span {
	int64_t stream;
	uint64_t first;	      /* first packet */
	bool begins_missing;  /* packet FIRST itself may be missing: a gap before it may reach into the span */
	uint64_t last;	      /* packet in which it ends; UINT64_MAX = it has all later packets */
	uint32_t last_offset; /* end in packet LAST */
	/* The tail: its last packet that is left, and the end of its bytes there; 0 = no tail. */
	uint64_t tail_last;
	uint32_t tail_end;
	bool tail_lost; /* the capture had more bytes of tail than are left */
	bool is_end; /* the capture is of the stream's end: a gap directly behind it declares what could not be copied */
};

/* Return the span of a whole stream. */
struct span span_all(int64_t stream);
/* Return the span of RANGE, with its tail. */
struct span span_of_range(const struct reader_capture_range *range);
/* Return whether GAP begins in S. A gap behind the end of a capture of a guest that went on is none of the capture's. */
bool span_has(const struct span *s, const struct archive_gap *gap);
/* Narrow S to the packets from FIRST on, which is archived. */
void span_begin(struct span *s, uint64_t first);
/* Narrow S to what is before OFFSET in packet LAST, without a tail. */
void span_end(struct span *s, uint64_t last, uint32_t offset);

/*
 * Pass to CALL the gaps of S, ordered by the packets where they begin: the newest one that begins before S and
 * reaches into it, if its first packet may be missing; and at most LIMIT that begin in it. Return what the reader returns.
 */
int span_gaps(struct reader *r, const struct span *s, unsigned limit, reader_gap_call *call, void *context);

/* The packets that gaps declare missing in a span, wholly or in part. */
struct span_losses {
	uint64_t packets; /* lost */
	uint64_t skipped;
	bool at_least;	       /* there may be more lost packets */
	uint64_t seen;	       /* packets before this one were counted */
	uint64_t seen_damaged; /* packets before this one were counted for a gap of damage */
};
/*
 * Add a gap of S to its losses, without its packets outside of S. Gaps come in the order of span_gaps(). A packet that
 * was damaged counts once, also if its chunks and its tail were damaged, or if it lacked its rest before.
 */
void span_losses_add(struct span_losses *losses, const struct span *s, const struct archive_gap *gap);
/* Sum up the losses of S. Return what the reader returns. */
int span_lost(struct reader *r, const struct span *s, struct span_losses *losses);

#endif
