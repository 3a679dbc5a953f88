/* The JSON of the API: each kind of value and row is written by one function. */
#ifndef BODY_JSON_H
#define BODY_JSON_H

#include <jansson.h>

#include "cleanup.h"
#include "memtraces.h"
#include "position.h"
#include "reader.h"

static inline json_t *json_unref(json_t *json)
{
	json_decref(json);
	return NULL;
}
CLEANUP_DEFINE(json_t, json_unref)

/* These functions return a new reference, or NULL without memory; json_pack() then fails, too. */
json_t *json_text(const char *text); /* null if TEXT is NULL; bytes that are not UTF-8 become \xNN */
json_t *json_ns(uint64_t ns);	     /* a decimal string, because it may exceed what JSON numbers hold */
json_t *json_time(uint64_t real);    /* RFC 3339 with nanoseconds, UTC; 0 is null */
json_t *json_count(uint64_t n);	     /* a number */
json_t *json_domid(int64_t domid);   /* a number; -1 is null */
json_t *json_position(const struct position *p);

/*
 * Append the streams of RUN to ARRAY. Their counters include the packet that is not complete.
 * Return what the reader returns.
 */
int json_streams(struct reader *r, int64_t run, json_t *array);
/* Return the time REAL with its CORRECTION; or null if nothing is to be corrected. */
json_t *json_corrected(uint64_t real, int64_t correction);
json_t *json_run(const struct archive_run *run);
json_t *json_gap(struct reader *r, const struct archive_gap *gap);
json_t *json_memtrace(const struct memtrace *m);

/*
 * Set *CAPTURE to the capture ID with its streams; the caller owns it. Return what the reader
 * returns.
 */
int json_capture(struct reader *r, int64_t id, json_t **capture);
/*
 * Append at most LIMIT captures with an id below BEFORE to ARRAY, which is empty, as json_capture() makes them, newest first: of all guests
 * if RUN is 0, else of the guest of RUN. Set *LAST to the id of the last one if LIMIT were found, else to 0. Return what the reader returns.
 */
int json_captures(struct reader *r, int64_t run, int64_t before, unsigned limit, json_t *array, int64_t *last);

/* Return G as a Domain of the API, without its streams; NULL without memory. The caller owns it. */
json_t *json_guest(const struct reader_guest *g);
/*
 * Add to GUEST the streams of its latest run, and when the newest of them was last seen. Return
 * what the reader returns.
 */
int json_guest_fill(struct reader *r, json_t *guest);
/*
 * Set *GUEST to the guest whose latest run is RUN, with its streams; the caller owns it. Return
 * what the reader returns.
 */
int json_guest_of_run(struct reader *r, int64_t run, json_t **guest);

#endif
