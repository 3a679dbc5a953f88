/* Items grouped by key, both 32-bit numbers: a counting sort. */
#ifndef TRACE_WHY_INDEX_H
#define TRACE_WHY_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/why.h>

#include "coverage-index.h"
#include "pair-index.h"
#include "signal-index.h"

struct buckets {
	uint32_t *start; /* for each key the position of its first item in ITEMS; one more item is the end */
	uint32_t *items; /* the items sorted by key; items of one key stay in their order */
};

/*
 * Sort the items with the numbers below ITEMS by key. KEY gets CONTEXT and returns the key of item
 * I: a number below KEYS, or MPROF_NONE to leave the item out. Return false without memory. Call
 * buckets_deinit() in any case.
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
	uint32_t *final; /* the thread that it became in the end, or itself */
	uint32_t *link;	 /* its link (<mprof/why.h>), or MPROF_NONE */
	uint32_t *root;	 /* end of its chain of links */
	uint32_t *depth; /* number of links to ROOT; for a root 0, or the length of the cycle that it is in */
	uint32_t *user;	 /* the last thread of the program that waits on it at a place, or MPROF_NONE */
	/*
	 * Time of the first try_read or read of the thread, without those by a wait that a place
	 * has created; UINT64_MAX if there is none.
	 */
	uint64_t *looked;
	/* By thread: */
	struct buckets signals; /* interactions that are signals, by receiver */
	/* Created threads, by creator; waits of a place by what they wait for; of one thread in the order of time. */
	struct buckets made;
	struct buckets wakes;  /* signals that begin no wait, by receiver, in the order of time */
	struct buckets labels; /* labels that are no counter's */
	/*
	 * For each creator the ends of its threads in MADE, sorted; UINT64_MAX for unresolved
	 * threads.
	 */
	uint64_t *ends;
	/* For each item of WAKES the number of signals in a row up to it for which nobody waited (signal-index.h). */
	uint32_t *unheard;
	/* For each item of MADE, and the end, the number of items before that took a wake-up which was kept. */
	uint32_t *taken;
	struct pair_index missed;   /* wait -> times of the signals that its recorder says it missed */
	struct pair_index mains;    /* number of a process -> its main thread, if the view has several programs */
	struct pair_index siblings; /* creator -> types of its threads that another thread resolved; the last one */
	struct coverage_index coverage;
	/* For each string the last resolved thread whose first label it is, or MPROF_NONE. */
	uint32_t *similar;
	/*
	 * For each stream its last activation; behind these, for each stream the last activation of
	 * a thread that is no root.
	 */
	uint32_t *last;
	uint32_t *sampled; /* for each thread its last state, or MPROF_NONE; NULL if no thread has one */
};

/* Fill SAMPLED of W. Return false without memory. */
bool why_states_init(struct mprof_why *w);
/*
 * Store in *STATE what the last samples say of THREAD, a result of mprof_why_final(). If it waits by its ring, that is only a stop
 * since the wait began. Return false if they say nothing.
 */
bool why_state_of_thread(const struct mprof_why *w, uint32_t thread, struct mprof_why_state *state);
/*
 * Store in *STATE what explains the answer A: what the thread at the end of its chain does, which waits for nothing; or else that
 * the asked thread was stopped while it waited. Return that thread, or MPROF_NONE.
 */
uint32_t why_state_of_answer(const struct mprof_why *w, const struct mprof_why_answer *a,
			     struct mprof_why_state *state);

/* Return whether T is a lock: the thread that it waits on holds it. */
static inline bool why_is_lock(const struct mprof_thread *t)
{
	return t->type == MPROF_THREAD_Mutex || t->type == MPROF_THREAD_Semaphore;
}

static inline bool why_resolved(const struct mprof_why *w, uint32_t thread)
{
	return w->view->threads[thread].flags & MPROF_THREAD_RESOLVED;
}

/* Return whether a place in the code created THREAD: THREAD is one wait that began there. */
static inline bool why_at_place(const struct mprof_why *w, uint32_t thread)
{
	uint32_t creator = w->view->threads[thread].creator;

	return creator != MPROF_NONE && w->view->threads[creator].type == MPROF_THREAD_Place;
}

/* Return whether THREAD is one of the program: no lock, condition or place, and no wait of a place. */
static inline bool why_is_thread(const struct mprof_why *w, uint32_t thread)
{
	switch (w->view->threads[thread].type) {
	case MPROF_THREAD_Condition:
	case MPROF_THREAD_Semaphore:
	case MPROF_THREAD_Stream:
	case MPROF_THREAD_Mutex:
	case MPROF_THREAD_Place:
	case MPROF_THREAD_Process:
		return false;
	default:
		return !why_at_place(w, thread);
	}
}

/* Return whether the writer of THREAD looked at the program from outside (MPROF_DECLARES_LOOKED). */
static inline bool why_is_looked(const struct mprof_why *w, uint32_t thread)
{
	return w->view->streams[w->view->threads[thread].stream].declares & MPROF_DECLARES_LOOKED;
}

/* Return whether OTHER, which THREAD tried to read, is what schema/mprof/events.def calls its other end, or a process. */
bool why_is_far_end(const struct mprof_why *w, uint32_t thread, uint32_t other);

/*
 * Return the main thread of the process for which PROCESS, of the type Process, stands in another program's rings; MPROF_NONE
 * if that is not in the view.
 */
uint32_t why_main_thread(const struct mprof_why *w, uint32_t process);

/* Return the thread that THREAD waits on, or MPROF_NONE. */
static inline uint32_t why_next(const struct mprof_why *w, uint32_t thread)
{
	uint32_t link = mprof_why_link(w, thread);

	return link == MPROF_NONE ? MPROF_NONE : w->final[w->view->interactions[link].other];
}

/*
 * Return whether the time at which thread I ended is unknown: where the clock of its program went back, the thread may
 * have ended before it began by that clock, and the model then lets it end where it began.
 */
bool why_end_is_unknown(const struct mprof_model_view *v, uint32_t i);
/*
 * Return whether the trace may lack a wait for CONDITION that began before TO, ns: the condition is older than the trace, or a part of a
 * ring is missing since its creation.
 */
bool why_lacks_wait(const struct mprof_why *w, uint32_t condition, uint64_t to);

#endif
