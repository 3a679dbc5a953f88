/* The bytes of a recording, in pieces that never move, so that nothing is copied while it grows. */
#ifndef TRACE_SCAN_H
#define TRACE_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include <mprof/profile.h>

/* Size of a piece. */
#define RECORDING_PIECE_BYTES (256u << 10)

struct recording;

/* Return an empty recording, or NULL without memory. */
struct recording *recording_new(void);
/* Free K, which may be NULL. Return NULL. */
struct recording *recording_free(struct recording *k);

/*
 * Return room for the next bytes, recording_room_bytes() of them, at least one; NULL without
 * memory. Valid until recording_came().
 */
uint8_t *recording_room(struct recording *k);
size_t recording_room_bytes(const struct recording *k);
/* Take the N bytes written there. */
void recording_came(struct recording *k, size_t n);

uint64_t recording_bytes(const struct recording *k);
/*
 * Return the bytes from AT (below recording_bytes()) to the end of a piece, and their number in *N.
 */
const uint8_t *recording_at(const struct recording *k, uint64_t at, size_t *n);

/* ---- passes ---- */

/*
 * Scan a recording, once, or twice with a filter (first to select objects): a profile, and the live
 * samples by time.
 *
 *   p = scan_new(recording, &options);
 *   while ((status = scan_step(p, bytes)) == MPROF_MORE)
 *           ...                            // do other work; more bytes may arrive
 *
 * Decoder and profile are those of <mprof/flame.h>. When several recordings are joined, the result
 * is that of the chosen one, else of the last one.
 */

/* Largest number of damages kept; the decoder's totals count all of them. */
#define SCAN_DAMAGES_MAX 100u
#define SCAN_POINTS_MAX	 65536u

struct scan_options {
	uint64_t seed;			       /* as in struct mprof_mem_options */
	uint64_t recording;		       /* likewise */
	const struct mprof_mem_filter *filter; /* NULL: all; outlives the scan */
	/* Time of the last event, as a scan of all objects reported; for FILTER. */
	uint64_t last_us;
	/*
	 * Follow a growing recording until scan_end(): an incomplete packet at its end is no
	 * damage. Otherwise scan the bytes there at scan_new(). Not with a filter, and not with
	 * SORT.
	 */
	bool grows;
	/*
	 * Sort the events of several domains by time. Then the time line must be chosen here:
	 * POINTS times after FROM, as scan_line().
	 */
	bool sort;
	uint64_t from, length;
	uint32_t points; /* up to SCAN_POINTS_MAX; above 0 there is no tree */
};

struct scan;

/* Return a scan, or NULL without memory. K must outlive it. */
struct scan *scan_new(const struct recording *k, const struct scan_options *options);
/* Free P, which may be NULL. Return NULL. */
struct scan *scan_free(struct scan *p);

/*
 * Scan about BYTES more bytes. Return MPROF_MORE when bytes are left; MPROF_END after the last so
 * far; MPROF_NOMEM: P can only be freed.
 */
enum mprof_status scan_step(struct scan *p, uint64_t bytes);

/* End a growing recording: the bytes there now are all. */
void scan_end(struct scan *p);

/* Return the profile and the decoder, which P owns. Both are complete after MPROF_END. */
struct mprof_profile *scan_profile(const struct scan *p);
const struct mprof_mem *scan_decoder(const struct scan *p);
/* Return the number of bytes scanned. */
uint64_t scan_bytes(const struct scan *p);
/* Return the start of the recording, microseconds since the Unix epoch; 0 before it is known. */
uint64_t scan_start(const struct scan *p);
/*
 * Store the live bytes at N times in OUT: FROM + LENGTH * i / N after the start for i from 1 to N,
 * by the last event at or before each. With SORT it is always the line chosen in the options.
 */
void scan_line(const struct scan *p, uint64_t from, uint64_t length, double *out, uint32_t n);
/* Return damage I, or NULL after the last one kept. */
const struct mprof_mem_damage *scan_damage(const struct scan *p, uint32_t i);

#endif
