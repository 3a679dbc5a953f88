/*
 * What is looked at of each thread again and again while the index of a scene is made.
 *
 * Why: threads are large and named in any order, so that each look at one is a wait for memory.  Three to a cache line they mostly are there.
 */
#ifndef TRACE_SCENE_LIVES_H
#define TRACE_SCENE_LIVES_H

#include <mprof/model.h>

struct scene_life {
	uint64_t start;
	uint64_t end;
	uint32_t row;
	uint8_t failed;
	uint8_t created; /* its creation is drawn */
	uint8_t becomes; /* and so is what it becomes: these two scene_lives_new() alone says */
};

static inline struct scene_life scene_life_of(const struct mprof_thread *t)
{
	return (struct scene_life){.start = t->start, .end = t->end, .row = t->row, .failed = t->failure != MPROF_NONE};
}

/* Of all threads, owned by the caller, to be freed; NULL without memory. */
struct scene_life *scene_lives_new(const struct mprof_model_view *view);

#endif
