/*
 * Ranks of the times at which threads begin and end. The *place* of a time is its position among
 * all different times of one stream, from 0.
 */
#ifndef TRACE_PLACES_H
#define TRACE_PLACES_H

#include "model-state.h"
#include "rows.h"

struct places {
	struct grow of;		/* struct life, for each thread */
	struct grow entries[2]; /* buffers for sorting; after places_find() layout.c uses their memory */
	uint32_t n;		/* number of different times */
};

/*
 * Make room for the threads of M. Take the memory of SPARE if it has any. Return false without
 * memory. Call places_deinit() in any case.
 */
bool places_init(struct places *p, const struct mprof_model *m, struct grow *spare);
void places_deinit(struct places *p);
/* Compute the places of the times of the N THREADS, and their number P->n. */
void places_find(struct places *p, const struct mprof_model *m, const uint32_t *threads, uint32_t n);
uint64_t places_memory(const struct places *p);

static inline const struct life *places_life(const struct places *p, uint32_t thread)
{
	return (const struct life *)p->of.items + thread;
}

#endif
