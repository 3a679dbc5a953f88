/*
 * Write a trace as Chrome's trace events, as `mprofctl export --to chrome` does: bytes of its streams in, JSON out.
 *
 * First call chrome_export_stream() for each stream. Then call chrome_export_step() until it returns MPROF_END; whenever it
 * returns MPROF_MORE, give bytes of the stream that it wants. The document is written to a descriptor in pieces of at most
 * WRITER_BYTES; in a page the descriptor is the caller's.
 */
#ifndef TRACE_CHROME_EXPORT_H
#define TRACE_CHROME_EXPORT_H

#include "wasm-input.h"

struct chrome_export;

/*
 * Return an export of the trace NAME to the descriptor FD, or NULL without memory. NAME was allocated by malloc() and belongs to the
 * export, also if there is no memory. SEED is secret.
 */
struct chrome_export *chrome_export_new(char *name, int fd, uint64_t seed);
/* Free X, which may be NULL. Return NULL. */
struct chrome_export *chrome_export_free(struct chrome_export *x);
/*
 * Add a stream. OFFSET_NS is added to its times. NAME was allocated by malloc() and belongs to the export. Return the
 * stream's index, or MPROF_NONE without memory or with more than CONSUMER_STREAMS_MAX streams.
 */
uint32_t chrome_export_stream(struct chrome_export *x, char *name, int64_t offset_ns, enum input_kind kind);

/*
 * Export on. Return MPROF_MORE if bytes of the stream chrome_export_wants() are needed, MPROF_END when the document is complete, or
 * MPROF_NOMEM (no memory, more than WHOLE_HELD_MAX bytes of durations and collections, or a write that failed); then X can only be freed.
 */
enum mprof_status chrome_export_step(struct chrome_export *x);
uint32_t chrome_export_wants(const struct chrome_export *x);
/*
 * Return how many events have their threads on one shared track, or their counters left out, since those are beyond the limits of slices.h; at
 * most UINT32_MAX.
 */
uint32_t chrome_export_refused(const struct chrome_export *x);
/* Return room for N bytes of the wanted stream, valid until the next call on X; NULL without memory. */
uint8_t *chrome_export_room(struct chrome_export *x, size_t n);
/* Take the N bytes that the caller has written into that room. No bytes: the stream has ended. */
void chrome_export_came(struct chrome_export *x, size_t n);

#endif
