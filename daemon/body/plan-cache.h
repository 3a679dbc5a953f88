/*
 * The plans of long bodies, so that one walk over the packets of a selection serves all requests, and a range
 * of it begins near its place.
 *
 * A record has the plan's summary, marks (the places of some packets in the body), and the state of the stream
 * before and behind the walk (reader_stream_state()). Its user compares that state. So a plan of a stream that
 * grows is forgotten soon, and one of a stream that has ended lasts. A body is compared with its plan anyway
 * (body.c), so a record that is wrong costs a client its body, and is forgotten with it.
 *
 * The memory is bounded: PLAN_RECORDS_MOST records of PLAN_MARKS_MOST marks, 1 MiB together. The record that
 * was not used for the longest time goes first.
 */
#ifndef BODY_PLAN_CACHE_H
#define BODY_PLAN_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "position.h"
#include "reader.h"

#define PLAN_LONG	  512u /* packets of the shortest body whose plan is remembered */
#define PLAN_RECORDS_MOST 64u
#define PLAN_MARKS_MOST	  1024u

/* A place in a body: BYTES behind the beginning of packet SEQUENCE, header included. */
struct body_place {
	uint64_t sequence;
	uint64_t bytes;
};

/* Packet SEQUENCE begins BYTES behind the body's beginning. */
struct plan_mark {
	uint64_t sequence, bytes;
};

/* All but the list's end are ascending. The first mark of a finished plan is the body's first packet. */
struct plan_marks {
	uint64_t every; /* packets from one mark to the next */
	uint32_t n;
	struct plan_mark list[PLAN_MARKS_MOST];
};

/* The selection of a plan, in an archive. All that the plan depends on but the rows. */
struct plan_name {
	uint64_t archives; /* of struct reader_version; 0 = none */
	int64_t run, stream, capture;
	uint64_t first, last;
	uint32_t number, ring_packets, first_offset, last_offset;
	bool empty, raw;
};

/* A finished plan; the fields of struct plan. */
struct plan_summary {
	uint64_t total, packets, cut_bytes, cut_packets, hash, hash_rows;
	struct position first_cut, end;
	struct body_place last;
};

struct plan_record {
	struct plan_name name;
	struct reader_stream_state state;
	struct plan_summary summary;
	struct plan_marks *marks; /* owned */
	uint64_t used;		  /* number of the last call that used the record */
};

/* A zeroed object is empty. */
struct plan_cache {
	struct plan_record *records; /* PLAN_RECORDS_MOST; owned; NULL = none yet */
	uint64_t calls;
};

/* Free all memory. */
void plan_cache_deinit(struct plan_cache *c);
/* Return the record NAME, or NULL. It is valid until the next call for C. */
struct plan_record *plan_cache_find(struct plan_cache *c, const struct plan_name *name);
/* Remember RECORD, whose marks C owns from now on, also without memory, in place of an older one of its name. */
void plan_cache_put(struct plan_cache *c, struct plan_record *record);
/* Forget the record NAME, if there is one. */
void plan_cache_forget(struct plan_cache *c, const struct plan_name *name);

/*
 * Note in M that packet number INDEX of a body is SEQUENCE and begins at BYTES. Call it for each packet from
 * the first on.
 */
void plan_marks_note(struct plan_marks *m, uint64_t index, uint64_t sequence, uint64_t bytes);
/* Return the last mark of M, which has one, that is not behind the byte AT. */
struct plan_mark plan_marks_before(const struct plan_marks *m, uint64_t at);

#endif
