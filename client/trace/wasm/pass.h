/* The bytes of a recording, kept in pieces: what has come never moves, and nothing is held twice while it grows. */
#ifndef TRACE_PASS_H
#define TRACE_PASS_H

#include <stddef.h>
#include <stdint.h>

#include <mprof/profile.h>

/* Of a piece. */
#define KEPT_PIECE_BYTES (256u << 10)

struct kept;

/* NULL without memory. */
struct kept *kept_new(void);
/* Takes NULL too; returns NULL. */
struct kept *kept_free(struct kept *k);

/* Where the next bytes are to be written, kept_room_bytes() of them, at least one; NULL without memory.  Lent until kept_came(). */
uint8_t *kept_room(struct kept *k);
size_t kept_room_bytes(const struct kept *k);
/* N bytes were written there. */
void kept_came(struct kept *k, size_t n);

uint64_t kept_bytes(const struct kept *k);
/* The bytes from AT on, which is less than kept_bytes(), up to the end of a piece: their number into *N.  Lent. */
const uint8_t *kept_at(const struct kept *k, uint64_t at, size_t *n);

/* ---- passes ---- */

/*
 * Once through a recording that is kept, or twice where a filter says which of its objects are meant: a profile, and how much lived when.
 *
 *   p = pass_new(kept, &options);
 *   while ((status = pass_step(p, bytes)) == MPROF_MORE)
 *           ...                            // something else may be done, and more may come
 *
 * The decoder and the profile are those of <mprof/flame.h>.  Of several recordings that are joined it is of the last one, or the one that was asked
 * for.
 */

/* So much of the damage is kept; the decoder's totals count all of it. */
#define PASS_DAMAGES_MAX 100u
#define PASS_POINTS_MAX	 65536u

struct pass_options {
	uint64_t seed;			       /* as in struct mprof_mem_options */
	uint64_t recording;		       /* likewise */
	const struct mprof_mem_filter *filter; /* NULL: all objects; lent with its names until the pass is freed */
	uint64_t last_us;		       /* of the last event, as a pass of all said before; with FILTER */
	/*
	 * Go on with what comes, until pass_end(): nothing is said of an end inside of a packet.  Else what came up to pass_new() is all.  Not with a filter, and
	 * not with SORT.
	 */
	bool grows;
	/* Several domains: in the order of time.  Its time line is known before, or not at all: POINTS times behind FROM, as pass_line(). */
	bool sort;
	uint64_t from, length;
	uint32_t points; /* up to PASS_POINTS_MAX; then there is no tree */
};

struct pass;

/* NULL without memory.  K is lent until the pass is freed. */
struct pass *pass_new(const struct kept *k, const struct pass_options *options);
/* Takes NULL too; returns NULL. */
struct pass *pass_free(struct pass *p);

/* Go on for about BYTES bytes.  MPROF_MORE: there is more to go through; MPROF_END: that was all, so far; MPROF_NOMEM: it is of no use. */
enum mprof_status pass_step(struct pass *p, uint64_t bytes);

/* Of one that grows: what is there now is all. */
void pass_end(struct pass *p);

/* Lent.  All of it is true behind MPROF_END. */
struct mprof_profile *pass_profile(const struct pass *p);
const struct mprof_mem *pass_decoder(const struct pass *p);
/* Up to where it went. */
uint64_t pass_bytes(const struct pass *p);
/* When the recording began, since the Unix epoch; 0 before it does. */
uint64_t pass_start(const struct pass *p);
/*
 * What lived, in bytes, at N times, FROM + LENGTH * i / N behind the start for i from 1 to N, by the last event at or before each, into OUT.  Of a
 * sorted one it is the line that it was made with, whatever is asked for.
 */
void pass_line(const struct pass *p, uint64_t from, uint64_t length, double *out, uint32_t n);
/* Damage I, NULL past the last one that is kept. */
const struct mprof_mem_damage *pass_damage(const struct pass *p, uint32_t i);

#endif
