/*
 * The bytes of a recording of memory, in pieces that never move: nothing is copied while it grows.
 */
#ifndef TRACE_SCAN_H
#define TRACE_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include <mprof/profile.h>

/* Size of a piece, bytes. */
#define RECORDING_PIECE_BYTES (256u << 10)

struct recording;

/* Return an empty recording, or NULL without memory. */
struct recording *recording_new(void);
/* Free RECORDING, which may be NULL. Return NULL. */
struct recording *recording_free(struct recording *recording);

/*
 * recording_room() returns room for the next bytes, valid until recording_came(), or NULL without
 * memory. recording_room_bytes() returns the size of that room, at least 1.
 */
uint8_t *recording_room(struct recording *recording);
size_t recording_room_bytes(const struct recording *recording);
/* Take the N bytes that the caller has written into that room. */
void recording_came(struct recording *recording, size_t n);

uint64_t recording_bytes(const struct recording *recording);
/*
 * Return the bytes from position AT (below recording_bytes()) to the end of their piece, and store
 * their number in *N.
 */
const uint8_t *recording_at(const struct recording *recording, uint64_t at, size_t *n);

/* ---- scans ---- */

/*
 * Scan a recording: get its profile, and its live samples by time. With a filter the bytes are
 * scanned twice, the first time to select objects.
 *
 *   p = scan_new(recording, &options);
 *   while ((status = scan_step(p, bytes)) == MPROF_MORE)
 *           ...                            // do other work; more bytes may arrive
 *
 * Decoder and profile are those of <mprof/flame.h>. When several recordings are joined, the result
 * is that of the chosen one (options.recording), else of the last one.
 */

/* Largest number of damages that are kept; the decoder's totals count all damages. */
#define SCAN_DAMAGES_MAX 100u
#define SCAN_POINTS_MAX	 65536u

struct scan_options {
	uint64_t seed;			       /* as in struct mprof_mem_options */
	uint64_t recording;		       /* as in struct mprof_mem_options */
	const struct mprof_mem_filter *filter; /* objects to count; NULL: all; must outlive the scan */
	/*
	 * For FILTER: time of the last event, which a scan of all objects reported, microseconds
	 * since the Unix epoch.
	 */
	uint64_t last_us;
	/*
	 * true: follow a growing recording until scan_end(); an incomplete packet at its end is no
	 * damage. false: scan the bytes that are there at scan_new(). Must be false with FILTER or
	 * SORT.
	 */
	bool grows;
	/*
	 * Sort the events of several domains by time. The time line must then be chosen here:
	 * POINTS times in the LENGTH microseconds after FROM, as in scan_line().
	 */
	bool sort;
	uint64_t from, length;
	uint32_t points; /* 0 to SCAN_POINTS_MAX; if it is not 0, the profile has no tree */
};

struct scan;

/* Return a scan of RECORDING, or NULL without memory. RECORDING must outlive the scan. Copy OPTIONS. */
struct scan *scan_new(const struct recording *recording, const struct scan_options *options);
/* Free S, which may be NULL. Return NULL. */
struct scan *scan_free(struct scan *s);

/*
 * Scan about BYTES more bytes. Return MPROF_MORE when bytes are left; MPROF_END after the last byte
 * that there is so far; or MPROF_NOMEM, after which S can only be freed.
 */
enum mprof_status scan_step(struct scan *s, uint64_t bytes);

/* Say that the recording grows no more: the bytes that are there now are all. */
void scan_end(struct scan *s);

/* Return the profile and the decoder, which S owns. Both are complete after MPROF_END. */
struct mprof_profile *scan_profile(const struct scan *s);
const struct mprof_mem *scan_decoder(const struct scan *s);
/* Return the number of bytes scanned. */
uint64_t scan_bytes(const struct scan *s);
/* Return the start of the recording, microseconds since the Unix epoch; 0 before it is known. */
uint64_t scan_start(const struct scan *s);
/*
 * Store in OUT the live bytes at N times. The times are FROM + LENGTH * i / N microseconds after
 * the recording's start, for i from 1 to N; each item has the value after the last event at or
 * before its time. With the option SORT it is always the line chosen in the options.
 */
void scan_line(const struct scan *s, uint64_t from, uint64_t length, double *out, uint32_t n);
/* Return damage I, from 0, or NULL after the last one kept. */
const struct mprof_mem_damage *scan_damage(const struct scan *s, uint32_t i);

#endif
