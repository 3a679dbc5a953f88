/*
 * libmprof: what the threads of a finished model wait for, each distinct cause once.
 *
 *   w = mprof_waits_new(view, why);
 *   groups = mprof_waits_groups(w, &n);
 *   for (i = 0; i < mprof_waits_shown(w); i++)
 *           mprof_explanation_group(e, &groups[i]);
 *   mprof_explanation_rest(e, w);
 *
 * Threads that wait for one thing, directly or behind each other, are one group. The groups that the trace
 * proves to be the cause of a hang come first, the worst one of all at the beginning.
 */
#ifndef MPROF_WAITS_H
#define MPROF_WAITS_H

#include <mprof/why.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The things that a group can wait for. The kinds up to MPROF_WAITS_ENDED are causes. */
enum mprof_waits_kind {
	MPROF_WAITS_CYCLE,  /* threads that wait on each other in a cycle */
	MPROF_WAITS_MISSED, /* a signal that came too early */
	MPROF_WAITS_ENDED,  /* a lock whose holder ended */
	/*
	 * A lock whose holder is no thread of the program, which sleeps. Another process may share the lock, and release it
	 * yet: this is no cause.
	 */
	MPROF_WAITS_OUTSIDE,
	MPROF_WAITS_OPEN,      /* a signal, a release or a resolution that may still come */
	MPROF_WAITS_ELSEWHERE, /* something whose other end is not in the trace */
	MPROF_WAITS_KINDS,
};

struct mprof_waits_group {
	uint64_t since;	  /* since when THREAD's chain waits for it (struct mprof_why_answer), ns */
	uint32_t thread;  /* the thread to explain */
	uint32_t threads; /* number of threads that wait, THREAD among them; no locks, conditions and places */
	uint32_t marked;  /* number of these that should resolve */
	uint32_t kind;	  /* enum mprof_waits_kind */
	uint32_t named;	  /* 1 if THREAD, or what it waits for, has a label, else 0 */
	uint32_t reserved;
};

struct mprof_waits;

/*
 * Group the threads of VIEW, of a finished model, that wait at its end; WHY is its index. Both must outlive
 * the result. Return NULL without memory. It takes n log n time for n threads.
 */
MPROF_API struct mprof_waits *mprof_waits_new(const struct mprof_model_view *view, const struct mprof_why *why);
/* Free W, which may be NULL. Return NULL. */
MPROF_API struct mprof_waits *mprof_waits_free(struct mprof_waits *w);

/*
 * Return the groups, and their number in *N. W owns them. First come the causes, by kind and then by time; then locks whose holder is outside; then
 * groups with threads that should resolve; then those with a named thread; of these, those that wait longest.
 */
MPROF_API const struct mprof_waits_group *mprof_waits_groups(const struct mprof_waits *w, uint32_t *n);
/*
 * Return the number of first groups that are an answer to "what is wrong": the causes, locks whose holder is outside, and the groups with
 * threads that should resolve; if the trace marks no thread, the former and the five longest waits of named threads.
 */
MPROF_API uint32_t mprof_waits_shown(const struct mprof_waits *w);
/*
 * Store in *COVERAGE whether the trace would have a wait of the guest of STREAM that it does not have: a
 * hole if a thread can wait unseen. STREAM is below the view's N_STREAMS.
 */
MPROF_API void mprof_waits_coverage(const struct mprof_waits *w, uint32_t stream, struct mprof_coverage *coverage);

/* Return the name of the cause KIND, a constant: "deadlock", "missed-wakeup" or "holder-ended"; else NULL. */
MPROF_API const char *mprof_waits_name(uint32_t kind);

#ifdef __cplusplus
}
#endif

#endif
