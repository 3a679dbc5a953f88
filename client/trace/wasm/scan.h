/* The bytes of a recording, kept in pieces: what has come never moves, and nothing is held twice while it grows. */
#ifndef TRACE_SCAN_H
#define TRACE_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include <mprof/profile.h>

/* Of a piece. */
#define RECORDING_PIECE_BYTES (256u << 10)

struct recording;

/* NULL without memory. */
struct recording *recording_new(void);
/* Takes NULL too; returns NULL. */
struct recording *recording_free(struct recording *k);

/* Where the next bytes are to be written, recording_room_bytes() of them, at least one; NULL without memory.  Lent until recording_came(). */
uint8_t *recording_room(struct recording *k);
size_t recording_room_bytes(const struct recording *k);
/* N bytes were written there. */
void recording_came(struct recording *k, size_t n);

uint64_t recording_bytes(const struct recording *k);
/* The bytes from AT on, which is less than recording_bytes(), up to the end of a piece: their number into *N.  Lent. */
const uint8_t *recording_at(const struct recording *k, uint64_t at, size_t *n);

/* ---- passes ---- */

/*
 * Once through a recording that is kept, or twice where a filter says which of its objects are meant: a profile, and how much lived when.
 *
 *   p = scan_new(kept, &options);
 *   while ((status = scan_step(p, bytes)) == MPROF_MORE)
 *           ...                            // something else may be done, and more may come
 *
 * The decoder and the profile are those of <mprof/flame.h>.  Of several recordings that are joined it is of the last one, or the one that was asked
 * for.
 */

/* So much of the damage is kept; the decoder's totals count all of it. */
#define SCAN_DAMAGES_MAX 100u
#define SCAN_POINTS_MAX	 65536u

struct scan_options {
	uint64_t seed;			       /* as in struct mprof_mem_options */
	uint64_t recording;		       /* likewise */
	const struct mprof_mem_filter *filter; /* NULL: all objects; lent with its names until the pass is freed */
	uint64_t last_us;		       /* of the last event, as a pass of all said before; with FILTER */
	/*
	 * Go on with what comes, until scan_end(): nothing is said of an end inside of a packet.  Else what came up to scan_new() is all.  Not with a filter, and
	 * not with SORT.
	 */
	bool grows;
	/* Several domains: in the order of time.  Its time line is known before, or not at all: POINTS times behind FROM, as scan_line(). */
	bool sort;
	uint64_t from, length;
	uint32_t points; /* up to SCAN_POINTS_MAX; then there is no tree */
};

struct scan;

/* NULL without memory.  K is lent until the pass is freed. */
struct scan *scan_new(const struct recording *k, const struct scan_options *options);
/* Takes NULL too; returns NULL. */
struct scan *scan_free(struct scan *p);

/* Go on for about BYTES bytes.  MPROF_MORE: there is more to go through; MPROF_END: that was all, so far; MPROF_NOMEM: it is of no use. */
enum mprof_status scan_step(struct scan *p, uint64_t bytes);

/* Of one that grows: what is there now is all. */
void scan_end(struct scan *p);

/* Lent.  All of it is true behind MPROF_END. */
struct mprof_profile *scan_profile(const struct scan *p);
const struct mprof_mem *scan_decoder(const struct scan *p);
/* Up to where it went. */
uint64_t scan_bytes(const struct scan *p);
/* When the recording began, since the Unix epoch; 0 before it does. */
uint64_t scan_start(const struct scan *p);
/*
 * What lived, in bytes, at N times, FROM + LENGTH * i / N behind the start for i from 1 to N, by the last event at or before each, into OUT.  Of a
 * sorted one it is the line that it was made with, whatever is asked for.
 */
void scan_line(const struct scan *p, uint64_t from, uint64_t length, double *out, uint32_t n);
/* Damage I, NULL past the last one that is kept. */
const struct mprof_mem_damage *scan_damage(const struct scan *p, uint32_t i);

#endif
