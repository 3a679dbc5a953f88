/*
 * Places of the archive at which a deletion failed, because the file is damaged there. Limits pass over such a place and delete what is
 * elsewhere. After BAD_PLACES_NS they try it again, and after twice as long
 * each time that it fails again, up to 64 times as long: the check of rows may have mended it. The places are in memory alone.
 */
#ifndef ARCHIVE_BAD_PLACES_H
#define ARCHIVE_BAD_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"

#define BAD_PLACES_MOST 1024u
#define BAD_PLACES_NS	600000000000ull

enum bad_place_kind {
	BAD_PLACE_NONE,	   /* the failure is at no place that can be passed over */
	BAD_PLACE_PACKET,  /* packet SEQUENCE of stream ID */
	BAD_PLACE_STREAM,  /* the index entries of stream ID's packets, or its row */
	BAD_PLACE_GAPS,	   /* the gaps of stream ID */
	BAD_PLACE_CAPTURE, /* capture ID */
	BAD_PLACE_RANGES,  /* the ranges of the pinned capture ID, which is told alone: pinned.h has them */
	BAD_PLACE_RUN,	   /* run ID */
	BAD_PLACE_CAPTURES, /* the search for captures; ID is 0, or a stream of the guest whose captures are looked for */
	BAD_PLACE_UNREAD,   /* the same for captures of the kind `unread` */
	BAD_PLACE_RUNS,	    /* the same for runs without content */
	BAD_PLACE_PINNED,   /* the search for pinned captures */
	BAD_PLACE_STREAMS, /* the list of streams; ID is 0, or a number made of the name of the guest whose streams are listed */
};

struct bad_place {
	enum bad_place_kind kind;
	int64_t id;
	uint64_t sequence; /* 0 unless KIND is BAD_PLACE_PACKET */
};

/* Zeroed places are none. */
struct bad_places {
	struct {
		struct bad_place place;
		uint64_t failed_at; /* CLOCK_MONOTONIC, in ns */
		unsigned tries;	    /* how often it failed again, up to 6 */
	} entries[BAD_PLACES_MOST];
	size_t n;
	struct log_limit lines; /* of lines that name a place */
};

/* Return whether PLACE is to be passed over. */
bool bad_places_has(const struct bad_places *b, const struct bad_place *place);
/* Return the number of places of KIND that were noted: of the packets of stream ID, or, if ID is 0, of all. */
unsigned bad_places_count(const struct bad_places *b, enum bad_place_kind kind, int64_t id);
/*
 * Pass over PLACE from now on, and log it. GUEST: the guest whose limit is kept; NULL = all. *IS_NEW: PLACE was never noted, or was forgotten
 * for other places. Return false if PLACE cannot be passed over: it is none, is passed over already, or there are too many.
 */
bool bad_places_note(struct bad_places *b, const struct bad_place *place, const char *guest, bool *is_new);
/* Log PLACE, unless too many were logged just now. GUEST as above. */
void bad_places_tell(struct bad_places *b, const struct bad_place *place, const char *guest);

#endif
