/*
 * A trace, from the bytes of its streams to its model: the streams side by side, what is missing as gaps, what is damaged as sentences.
 *
 *   loader_stream() for each stream; then of each, in any order: loader_room(), loader_came(), … loader_end(); at last loader_finish().
 *
 * Events go to the model as their bytes come, except where streams share a guest: those are held and merged by time at the end.
 */
#ifndef TRACE_LOADER_H
#define TRACE_LOADER_H

#include <mprof/model.h>

#include "input.h"

#define LOADER_DAMAGES_MAX 100u

struct loader;

/* What was counted of a stream. */
struct loader_counts {
	uint64_t bytes;
	uint64_t packets;
	uint64_t lost_packets;
	uint64_t damages;
	uint64_t skipped; /* bytes passed over because of damage */
	uint64_t events_by_type[MPROF_EVENT_IDS];
};

/* NULL without memory.  OPTIONS are those of the model. */
struct loader *loader_new(const struct mprof_model_options *options);
/* Takes NULL too; returns NULL. */
struct loader *loader_free(struct loader *l);

/* One more stream, before the bytes of any: its index, which is the model's, or MPROF_NONE without memory. */
uint32_t loader_stream(struct loader *l, const struct mprof_model_source *source, enum input_kind kind);
/* So many bytes will come, as far as is known; to be called before any do. */
void loader_expect(struct loader *l, uint32_t stream, uint64_t bytes);
/* Room for N bytes more of STREAM, lent until the next call; NULL without memory. */
uint8_t *loader_room(struct loader *l, uint32_t stream, size_t n);
/*
 * N bytes were written there.  MPROF_OK; MPROF_NOMEM, or MPROF_CORRUPT where a stream of INPUT_TWICE is not in order and everything is to
 * begin anew with INPUT_HELD: behind both the loader can only be freed.
 */
enum mprof_status loader_came(struct loader *l, uint32_t stream, size_t n);
/* That was all of STREAM.  As above. */
enum mprof_status loader_end(struct loader *l, uint32_t stream);
/* All streams have ended: merge what was held, and finish the model.  As above. */
enum mprof_status loader_finish(struct loader *l);

/* The model, which is the loader's; finished behind loader_finish(). */
struct mprof_model *loader_model(const struct loader *l);
void loader_counts(const struct loader *l, uint32_t stream, struct loader_counts *counts);
/* Damage I, below LOADER_DAMAGES_MAX, of all that was met; NULL past the last one that is kept.  *STREAM is where. */
const struct mprof_damage *loader_damage(const struct loader *l, uint32_t i, uint32_t *stream);

#endif
