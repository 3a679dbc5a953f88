/*
 * libmprof: why a thread waits, asked of a finished model.
 *
 *   w = mprof_why_new(mprof_model_view(m));
 *   mprof_why_ask(w, thread, &answer);
 *   for (t = answer.thread; t != answer.root; t = mprof_why_final(w, link->other))
 *           link = &view->interactions[mprof_why_link(w, t)];      // T waits since link->time
 *
 * A thread waits on what it last looked at and did not find resolved.  Following that from thread to thread ends at a root, which waits
 * on nothing: somebody had to resolve it, or to signal the condition that made it.
 *
 * Everything that a trace says is hostile: threads that wait on each other in a circle end it at one of them.  Nothing recurses; the
 * index is made in time that grows with the model, and has about 60 bytes for each thread and 20 for each interaction.
 */
#ifndef MPROF_WHY_H
#define MPROF_WHY_H

#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mprof_why_verdict {
	MPROF_WHY_RESOLVED,	   /* nothing to explain: it was */
	MPROF_WHY_MISSED_SIGNAL,   /* its condition was signalled while nobody waited, just before, and not since */
	MPROF_WHY_MISSED_RESOLVE,  /* the root was resolved already when it was looked at, and still not read */
	MPROF_WHY_NOT_WOKEN,	   /* the root was resolved later, and whoever waits did not read it */
	MPROF_WHY_SIGNALLED_SINCE, /* its condition was signalled since, which did not resolve it */
	MPROF_WHY_NEVER_SIGNALLED, /* no signal of its condition was lost just before, and none came since */
	MPROF_WHY_NEVER_RESOLVED,  /* it has no condition, and nothing resolved it */
	MPROF_WHY_CIRCLE,	   /* threads that wait on each other */
};

/* Threads, interactions (of signals) and times are those of the view; without one, threads and interactions are MPROF_NONE. */
struct mprof_why_answer {
	enum mprof_why_verdict verdict;
	uint32_t thread;    /* what the thread asked for has become */
	uint32_t root;	    /* the end of the chain, or THREAD itself; of a circle where the chain enters it */
	uint32_t links;	    /* waits from THREAD to ROOT */
	uint32_t circle;    /* of a circle: waits from ROOT around to itself; else 0 */
	uint32_t condition; /* what must be signalled for ROOT to be resolved */
	uint64_t since; /* the wait for ROOT began: when it was created, or first looked at by the last of the chain */
	uint32_t lost;	/* the last signal before SINCE, where nobody waited for it */
	uint32_t lost_signals;	/* so many in a row, up to that one, nobody waited for */
	uint32_t first_since;	/* the first signal after SINCE */
	uint32_t signals_since; /* so many came */
	uint32_t last_signal;	/* the last one at all */
	uint32_t signals;	/* in all, without those by which threads begin to wait */
	/* The thread resolved last of those that bear ROOT's label, or where it has none of its creator's of that type. */
	uint32_t like;
};

struct mprof_why;

/* VIEW, of a finished model, must live as long.  NULL without memory. */
MPROF_API struct mprof_why *mprof_why_new(const struct mprof_model_view *view);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_why *mprof_why_free(struct mprof_why *w);

/* What THREAD has become in the end, or itself. */
MPROF_API uint32_t mprof_why_final(const struct mprof_why *w, uint32_t thread);
/* The interaction by which THREAD, an end of what it became, waits, or MPROF_NONE. */
MPROF_API uint32_t mprof_why_link(const struct mprof_why *w, uint32_t thread);
/* The latest label of THREAD at TIME, else its first one, and no counter's; MPROF_NONE where it has none. */
MPROF_API uint32_t mprof_why_label(const struct mprof_why *w, uint32_t thread, uint64_t time);

/* Explain THREAD.  Takes as long as its chain has links, its condition signals, and its creator threads. */
MPROF_API void mprof_why_ask(const struct mprof_why *w, uint32_t thread, struct mprof_why_answer *answer);

/*
 * What ran last in STREAM, as an activation, or MPROF_NONE: a root's is the program's sleep.  With AWAKE the last one of a thread; of
 * several that end at the same time the one that came last.
 */
MPROF_API uint32_t mprof_why_last(const struct mprof_why *w, uint32_t stream, bool awake);

#ifdef __cplusplus
}
#endif

#endif
