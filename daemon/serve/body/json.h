/* JSON of the API: one spelling for each kind of value and row. */
#ifndef SERVE_JSON_H
#define SERVE_JSON_H

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

/* Each returns a new reference, or NULL without memory; json_pack then fails too. */
json_t *json_text(const char *text); /* NULL is null; bytes that are not UTF-8 become \xNN */
json_t *json_ns(uint64_t ns);	     /* a decimal string */
json_t *json_time(uint64_t real);    /* RFC 3339 with nanoseconds, UTC; 0 is null */
json_t *json_count(uint64_t n);	     /* a number */
json_t *json_domid(int64_t domid);   /* a number; -1 is null */
json_t *json_position(const struct position *p);

/*
 * Append the streams of RUN to ARRAY; their counters include the packet that is being filled.
 * Return what the reader returns.
 */
int json_streams(struct reader *r, int64_t run, json_t *array);
json_t *json_run(const struct archive_run *run);
json_t *json_gap(const struct archive_gap *gap);
json_t *json_memtrace(const struct memtrace *t);

/* Return in *CAPTURE the capture ID with its streams. Return what the reader returns. */
int json_capture(struct reader *r, int64_t id, json_t **capture);

/* Return the schema Domain of G, without its streams.  NULL: no memory. */
json_t *json_guest(const struct reader_guest *g);
/*
 * Add the streams of the latest run of GUEST, and when the newest of them was last seen. Return
 * what the reader returns.
 */
int json_guest_fill(struct reader *r, json_t *guest);
/*
 * Return in *GUEST the guest whose latest run is RUN, with its streams. Return what the reader
 * returns.
 */
int json_guest_of_run(struct reader *r, int64_t run, json_t **guest);

#endif
