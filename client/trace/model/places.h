/*
 * Ranks of the times at which threads begin and end: a time's place among all different times, from
 * 0.
 */
#ifndef TRACE_PLACES_H
#define TRACE_PLACES_H

#include "model-state.h"
#include "rows.h"

struct places {
	struct grow of;		/* struct life, for each thread */
	struct grow entries[2]; /* buffers for sorting; free for other use afterwards */
	uint32_t n;		/* number of different times */
};

/*
 * Make room for the threads of M, in the memory of SPARE if it has any. Return false without
 * memory. Call places_deinit() in any case.
 */
bool places_init(struct places *p, const struct mprof_model *m, struct grow *spare);
void places_deinit(struct places *p);
/* Rank the times of N threads. */
void places_find(struct places *p, const struct mprof_model *m, const uint32_t *threads, uint32_t n);
uint64_t places_memory(const struct places *p);

static inline const struct life *places_life(const struct places *p, uint32_t thread)
{
	return (const struct life *)p->of.items + thread;
}

#endif
