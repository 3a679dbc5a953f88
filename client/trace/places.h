/* The order of the times at which threads begin and end, as 32-bit positions: twice a time's place among all of them. */
#ifndef TRACE_PLACES_H
#define TRACE_PLACES_H

#include "model-state.h"

struct places {
	uint32_t *of;	/* per thread: its start's, its end's */
	uint64_t bytes; /* the most memory that finding them took */
};

/* False without memory, which more than 2^31 - 2 different times are too; with nothing to free then. */
bool places_init(struct places *p, const struct mprof_model *m);
void places_deinit(struct places *p);

static inline uint32_t places_start(const struct places *p, uint32_t thread)
{
	return p->of[2 * (size_t)thread];
}

static inline uint32_t places_end(const struct places *p, uint32_t thread)
{
	return p->of[2 * (size_t)thread + 1];
}

#endif
