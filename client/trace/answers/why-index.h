/* Items in the order of their keys, 32-bit numbers both: who belongs to whom, without a chain in the item. */
#ifndef TRACE_WHY_INDEX_H
#define TRACE_WHY_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/why.h>

struct buckets {
	uint32_t *start; /* of each key, and the end of the last */
	uint32_t *items; /* of one key in their own order */
};

/*
 * Sort ITEMS items of DATA by what KEY says of each: a number below KEYS, or MPROF_NONE for one that is left out.  False without memory.
 * Deinit in any case.
 */
bool buckets_init(struct buckets *b, const void *data, uint32_t items, uint32_t keys,
		  uint32_t (*key)(const void *data, uint32_t i));
void buckets_deinit(struct buckets *b);

/* Those of KEY: *N of them, lent. */
static inline const uint32_t *buckets_of(const struct buckets *b, uint32_t key, uint32_t *n)
{
	*n = b->start[key + 1] - b->start[key];
	return b->items + b->start[key];
}

/* ---- the index ---- */

/* The index over a model that questions are answered from. */

struct mprof_why {
	const struct mprof_model_view *view; /* borrowed */
	/* Of each thread: */
	uint32_t *final;  /* what it has become */
	uint32_t *link;	  /* the interaction by which it waits, or MPROF_NONE */
	uint32_t *root;	  /* the end of its chain */
	uint32_t *depth;  /* links to there; of a root 0, or the way around the circle that it is in */
	uint64_t *looked; /* when somebody first looked at it, UINT64_MAX for never */
	/* What belongs to each thread: */
	struct buckets signals; /* interactions, by receiver */
	struct buckets made;	/* threads, by creator */
	struct buckets labels;	/* those that are no counter's */
	uint64_t *ends;		/* of those in MADE, sorted for each creator; UINT64_MAX of what is not resolved */
	/* Of each string: the thread resolved last of those with that first label, or MPROF_NONE. */
	uint32_t *like;
	/* Of each stream: the last activation; and behind all those the last one of a thread. */
	uint32_t *last;
};

static inline bool why_resolved(const struct mprof_why *w, uint32_t thread)
{
	return w->view->threads[thread].flags & MPROF_THREAD_RESOLVED;
}

/* The thread that THREAD waits on, or MPROF_NONE. */
static inline uint32_t why_next(const struct mprof_why *w, uint32_t thread)
{
	uint32_t link = mprof_why_link(w, thread);

	return link == MPROF_NONE ? MPROF_NONE : w->final[w->view->interactions[link].other];
}

#endif
