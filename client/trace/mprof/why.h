/*
 * libmprof: why a thread of a finished model waits.
 *
 *   w = mprof_why_new(mprof_model_view(m));
 *   mprof_why_ask(w, thread, &answer);
 *   for (t = answer.thread; t != answer.root; t = mprof_why_final(w, link->other))
 *           link = &view->interactions[mprof_why_link(w, t)];      // T waits since link->time
 *
 * A thread waits on the thread that it last tried to read and did not find resolved. The chain of
 * these waits ends at a root, which waits on nothing: another thread had to resolve it, or to
 * signal the condition that created it.
 *
 * Traces are untrusted: the chain of threads that wait on each other in a cycle ends at one of
 * them. Nothing recurses. The index takes linear time, about 60 bytes per thread and 20 per
 * interaction.
 */
#ifndef MPROF_WHY_H
#define MPROF_WHY_H

#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mprof_why_verdict {
	MPROF_WHY_RESOLVED, /* the thread is resolved */
	/* Its condition was signalled just before, when no thread waited, and not since. */
	MPROF_WHY_MISSED_SIGNAL,
	/* The root was resolved before it was tried, and is still not read. */
	MPROF_WHY_MISSED_RESOLVE,
	/* The root was resolved later, and the waiting thread did not read it. */
	MPROF_WHY_NOT_WOKEN,
	/* Its condition was signalled since, and the root was not resolved. */
	MPROF_WHY_SIGNALLED_SINCE,
	/* No signal of its condition just before was lost, and none came since. */
	MPROF_WHY_NEVER_SIGNALLED,
	MPROF_WHY_NEVER_RESOLVED, /* it has no condition, and no thread resolved it */
	MPROF_WHY_CYCLE,	  /* deadlock: threads that wait on each other in a cycle */
};

/*
 * Answer about one thread. Threads, interactions (signals) and times are those of the view;
 * MPROF_NONE when there is none.
 */
struct mprof_why_answer {
	enum mprof_why_verdict verdict;
	uint32_t thread; /* thread that the given thread became, or itself */
	/* End of the chain, or THREAD; for a cycle, the thread at which the chain enters it. */
	uint32_t root;
	uint32_t links; /* number of waits from THREAD to ROOT */
	/* Number of waits around the cycle, from ROOT to itself; 0 without a cycle. */
	uint32_t cycle;
	uint32_t condition; /* condition that must be signalled to resolve ROOT */
	/* Start of the wait for ROOT, ns: its creation, or the last try_read of the chain. */
	uint64_t since;
	uint32_t lost_signal;	     /* last signal before SINCE, when no thread waited for it */
	uint32_t lost_signals;	     /* number of such signals in a row, up to LOST_SIGNAL */
	uint32_t first_signal_since; /* first signal after SINCE */
	uint32_t signals_since;	     /* number of signals after SINCE */
	uint32_t last_signal;	     /* last signal of all */
	uint32_t signals;	     /* number of all signals, without those that begin a wait */
	/*
	 * Last resolved thread with ROOT's first label; without a label, of ROOT's type and
	 * creator.
	 */
	uint32_t similar;
};

struct mprof_why;

/*
 * Build the index over VIEW, of a finished model, which must outlive it. Return NULL without
 * memory.
 */
MPROF_API struct mprof_why *mprof_why_new(const struct mprof_model_view *view);
/* Free W, which may be NULL. Return NULL. */
MPROF_API struct mprof_why *mprof_why_free(struct mprof_why *w);

/*
 * In the calls below, THREAD and STREAM are indices of the view, below its N_THREADS or N_STREAMS;
 * the library does not check them. None of the calls fails or allocates.
 */

/* Return the thread that THREAD became in the end, or itself. */
MPROF_API uint32_t mprof_why_final(const struct mprof_why *w, uint32_t thread);
/*
 * Return the interaction by which THREAD waits, or MPROF_NONE. THREAD is a result of
 * mprof_why_final().
 */
MPROF_API uint32_t mprof_why_link(const struct mprof_why *w, uint32_t thread);
/*
 * Return THREAD's latest label at or before TIME (ns) that is no counter's, else its first one;
 * MPROF_NONE without labels.
 */
MPROF_API uint32_t mprof_why_label(const struct mprof_why *w, uint32_t thread, uint64_t time);

/*
 * Explain THREAD in *ANSWER. Takes time by the links of its chain, the signals of its condition and
 * the threads of its creator.
 */
MPROF_API void mprof_why_ask(const struct mprof_why *w, uint32_t thread, struct mprof_why_answer *answer);

/*
 * Return the last activation of STREAM, or MPROF_NONE. A root's activation is the program's sleep;
 * with AWAKE, roots are left out. If several have the same end, return the last one.
 */
MPROF_API uint32_t mprof_why_last(const struct mprof_why *w, uint32_t stream, bool awake);

#ifdef __cplusplus
}
#endif

#endif
