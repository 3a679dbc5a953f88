/*
 * Load a trace: bytes of its streams in, a model out, with missing packets as gaps and damage as
 * sentences.
 *
 * First call loader_stream() for each stream. Then call for each stream loader_room() and
 * loader_came() for its bytes and loader_end() at its end; calls for different streams may come in
 * any order. At last call loader_finish().
 *
 * Events enter the model as their bytes arrive. But streams that share a guest are held (wasm-input.h),
 * and merged by time at the end.
 */
#ifndef TRACE_LOADER_H
#define TRACE_LOADER_H

#include <mprof/model.h>

#include "wasm-input.h"

#define LOADER_DAMAGES_MAX 100u

struct loader;

/* Counts of one stream. */
struct loader_counts {
	uint64_t bytes;
	uint64_t packets;
	uint64_t lost_packets;
	uint64_t damages;
	uint64_t skipped;			/* bytes skipped because of damage */
	uint64_t unknown_texts, skipped_extras; /* as in struct mprof_totals */
	uint64_t unproven;			/* the same */
	uint64_t steps, step_at, step_ns;	/* the same */
	uint64_t events_by_type[MPROF_EVENT_IDS];
};

/* Return a loader for a model with OPTIONS, or NULL without memory. */
struct loader *loader_new(const struct mprof_model_options *options);
/* Free L, which may be NULL. Return NULL. */
struct loader *loader_free(struct loader *l);

/*
 * Add a stream. Call it before the first byte of any stream. Return the stream's index, which it
 * also has in the model, or MPROF_NONE without memory.
 */
uint32_t loader_stream(struct loader *l, const struct mprof_model_source *source, enum input_kind kind);
/* Hint the number of bytes to expect of STREAM. Call it before the first byte. */
void loader_expect(struct loader *l, uint32_t stream, uint64_t bytes);
/* Return room for N more bytes of STREAM, valid until the next call on L; NULL without memory. */
uint8_t *loader_room(struct loader *l, uint32_t stream, size_t n);
/*
 * Take the N bytes that the caller has written into that room. Return MPROF_OK; MPROF_NOMEM; or
 * MPROF_CORRUPT when a stream of INPUT_TWICE is not in order and must be loaded again, by a new
 * loader with INPUT_HELD. After an error the loader can only be freed.
 */
enum mprof_status loader_came(struct loader *l, uint32_t stream, size_t n);
/* End STREAM. Return as loader_came(). */
enum mprof_status loader_end(struct loader *l, uint32_t stream);
/*
 * After all streams have ended, merge the held ones and finish the model. Return as loader_came().
 */
enum mprof_status loader_finish(struct loader *l);

/* Return the model, which the loader owns. It is finished after loader_finish(). */
struct mprof_model *loader_model(const struct loader *l);
void loader_counts(const struct loader *l, uint32_t stream, struct loader_counts *counts);
/*
 * Return damage I, from 0, and store its stream in *STREAM; NULL after the last one kept. At most
 * LOADER_DAMAGES_MAX are kept.
 */
const struct mprof_damage *loader_damage(const struct loader *l, uint32_t i, uint32_t *stream);

#endif
