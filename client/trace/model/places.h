/* The order of the times at which threads begin and end: a time's place among all of them, from 0. */
#ifndef TRACE_PLACES_H
#define TRACE_PLACES_H

#include "model-state.h"
#include "rows.h"

struct places {
	struct grow of;		/* struct life, per thread */
	struct grow entries[2]; /* for finding; when all are found they can be passed on */
	uint32_t n;		/* different times */
};

/* For the threads of M, in the memory of SPARE where it has some.  False without memory.  Deinit in any case. */
bool places_init(struct places *p, const struct mprof_model *m, struct grow *spare);
void places_deinit(struct places *p);
/* Find the places of N threads among each other. */
void places_find(struct places *p, const struct mprof_model *m, const uint32_t *threads, uint32_t n);
uint64_t places_memory(const struct places *p);

static inline const struct life *places_life(const struct places *p, uint32_t thread)
{
	return (const struct life *)p->of.items + thread;
}

#endif
