/* Items grouped by key, both 32-bit numbers: a counting sort. */
#ifndef TRACE_WHY_INDEX_H
#define TRACE_WHY_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/why.h>

struct buckets {
	uint32_t *start; /* start of each key's items; the last item is the end */
	uint32_t *items; /* by key; items of one key in their own order */
};

/*
 * Sort ITEMS items of CONTEXT by KEY, which returns a number below KEYS, or MPROF_NONE to leave the
 * item out. Return false without memory. Call buckets_deinit() in any case.
 */
bool buckets_init(struct buckets *b, const void *context, uint32_t items, uint32_t keys,
		  uint32_t (*key)(const void *context, uint32_t i));
void buckets_deinit(struct buckets *b);

/* Return the items of KEY, and their number in *N. B owns them. */
static inline const uint32_t *buckets_of(const struct buckets *b, uint32_t key, uint32_t *n)
{
	*n = b->start[key + 1] - b->start[key];
	return b->items + b->start[key];
}

/* ---- the index ---- */

/* Index over a model, to answer why a thread waits. */

struct mprof_why {
	const struct mprof_model_view *view; /* the caller's */
	/* For each thread: */
	uint32_t *final;  /* thread that it became */
	uint32_t *link;	  /* interaction by which it waits, or MPROF_NONE */
	uint32_t *root;	  /* end of its chain */
	uint32_t *depth;  /* links to ROOT; for a root 0, or the length of its cycle */
	uint64_t *looked; /* time of the first try_read or read of it; UINT64_MAX without one */
	/* By thread: */
	struct buckets signals; /* signals, by receiver; interactions */
	struct buckets made;	/* created threads, by creator */
	struct buckets labels;	/* labels that are no counter's */
	/* Ends of the threads in MADE, sorted for each creator; UINT64_MAX for unresolved ones. */
	uint64_t *ends;
	/* For each string: the last resolved thread with this first label, or MPROF_NONE. */
	uint32_t *similar;
	/*
	 * For each stream its last activation; behind those, for each stream the last one of a
	 * thread that is no root.
	 */
	uint32_t *last;
};

static inline bool why_resolved(const struct mprof_why *w, uint32_t thread)
{
	return w->view->threads[thread].flags & MPROF_THREAD_RESOLVED;
}

/* Return the thread that THREAD waits on, or MPROF_NONE. */
static inline uint32_t why_next(const struct mprof_why *w, uint32_t thread)
{
	uint32_t link = mprof_why_link(w, thread);

	return link == MPROF_NONE ? MPROF_NONE : w->final[w->view->interactions[link].other];
}

#endif
