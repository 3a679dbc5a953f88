/*
 * libmprof: compare two finished models, a good run and a bad one: match their threads and find
 * where they differ.
 *
 *   d = mprof_diff_new(mprof_model_view(good), mprof_model_view(bad),
 *                      &(struct mprof_diff_options){.seed = random});
 *   v = mprof_diff_view(d);
 *   for (i = 0; i < v->n_outcomes; i++)
 *           report(&v->outcomes[i]);                // the most important first
 *
 * Threads are matched by type, first label and position below their creators, never by id, time or
 * numbers in labels: ids are reused, and no two runs have the same times. Two matched threads are
 * compared step by step, each thread by itself: the order in which unrelated threads take their
 * steps is chance.
 *
 * The results are bounded: arrays hold the first of each kind, and the view counts all of them.
 * Traces are untrusted: an alignment that would take too long is replaced by counting. Time is n
 * log n in threads and steps; memory is about 150 bytes per thread and 20 per label, creation and
 * end of an interaction.
 */
#ifndef MPROF_DIFF_H
#define MPROF_DIFF_H

#include <mprof/why.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Default, and upper limit, of mprof_diff_options.results_max. */
#define MPROF_DIFF_RESULTS_MAX 100u
/* Largest number of steps that a divergence lists for each run. */
#define MPROF_DIFF_STEPS_MAX 4u

struct mprof_diff_options {
	/* Any number that the writer of a trace cannot know. */
	uint64_t seed;
	/*
	 * Report only threads created at this time or later, ns on each model's time line; 0: all.
	 */
	uint64_t good_from;
	uint64_t bad_from;
	/*
	 * Report a thread as slower when it took this percentage of its counterpart's time, and
	 * this much longer in ns. Both 0: 200 % and 1 ms.
	 */
	uint64_t slower_percent;
	uint64_t slower_ns;
	/*
	 * Stream of GOOD for each stream of BAD, or MPROF_NONE; no stream of GOOD twice. NULL: the
	 * first matches the first, and so on.
	 */
	const uint32_t *streams;
	/* Largest number of results of each kind; 0 or a larger number: MPROF_DIFF_RESULTS_MAX. */
	uint32_t results_max;
};

enum mprof_diff_step_kind {
	MPROF_STEP_LABEL,     /* THREAD got LABEL */
	MPROF_STEP_CREATES,   /* THREAD created OTHER */
	MPROF_STEP_SIGNALS,   /* THREAD signalled OTHER */
	MPROF_STEP_SIGNALLED, /* OTHER signalled THREAD */
	MPROF_STEP_RESOLVES,  /* THREAD resolved OTHER, or itself */
	MPROF_STEP_RESOLVED,  /* OTHER resolved THREAD */
	MPROF_STEP_FAILS,     /* THREAD made OTHER, or itself, fail */
	MPROF_STEP_FAILED,    /* OTHER made THREAD fail */
	MPROF_STEP_READS,     /* THREAD read OTHER, which was resolved */
	MPROF_STEP_READ,      /* OTHER read THREAD */
	MPROF_STEP_BECOMES,   /* OTHER continues in place of THREAD */
	MPROF_STEP_KINDS,
};

/*
 * One action of a thread, or on a thread. A try_read of an unresolved thread is no step: whether a
 * thread comes just before or just after the one that it waits on is chance, and a wait that never
 * ends is an outcome.
 */
struct mprof_diff_step {
	uint64_t time; /* ns on its model's time line */
	uint32_t kind; /* enum mprof_diff_step_kind */
	uint32_t thread;
	uint32_t other; /* MPROF_NONE for a label */
	/* The label; for other kinds the latest label of OTHER at TIME, or MPROF_NONE. */
	uint32_t label;
};

/*
 * The first difference between the steps of two counterparts. COMMON, NEXT and LATER are indices of
 * the view's steps; N is the number of steps from NEXT on, 0 when the thread did nothing more.
 */
struct mprof_diff_divergence {
	/* Time of the earlier of the two next steps, ns since its trace's first event. */
	uint64_t ns;
	uint32_t good; /* threads */
	uint32_t bad;
	uint32_t good_common; /* last step that both took, or MPROF_NONE */
	uint32_t bad_common;
	uint32_t good_next;
	uint32_t bad_next;
	uint32_t good_n;
	uint32_t bad_n;
	/* The good run's later occurrence of the bad run's next step, or MPROF_NONE. */
	uint32_t good_later;
	uint32_t bad_later;
};

enum mprof_diff_kind {
	MPROF_DIFF_BAD_WAITS,  /* resolved in the good run only */
	MPROF_DIFF_BAD_FAILS,  /* failed in the bad run only */
	MPROF_DIFF_GOOD_WAITS, /* resolved in the bad run only */
	MPROF_DIFF_GOOD_FAILS,
};

/*
 * Threads with different outcomes in the two runs, for one reason: they wait on the same root, or
 * fail with the same text. GOOD and BAD name one of them; one of the two is MPROF_NONE when it has
 * no counterpart (then only threads that should resolve, and failures, are reported). A thread
 * whose resolution was not due before its trace ended is counted in NOT_DUE instead.
 */
struct mprof_diff_outcome {
	uint64_t good_ns; /* ns from its creation to its end, or to the end of the trace */
	uint64_t bad_ns;
	uint32_t kind; /* enum mprof_diff_kind */
	uint32_t good;
	uint32_t bad;
	uint32_t threads;	 /* number of threads, the named one included */
	uint32_t should_resolve; /* number of them that should resolve */
	uint32_t root;		 /* for waits: end of the chain, in that run (see <mprof/why.h>) */
	uint32_t root_match;	 /* counterpart of ROOT, or MPROF_NONE */
	uint32_t verdict;	 /* enum mprof_why_verdict of the waiting thread */
	uint32_t condition;	 /* condition to be signalled, in that run, or MPROF_NONE */
	uint32_t lost_signal;	 /* interaction, for MPROF_WHY_MISSED_SIGNAL; else MPROF_NONE */
	/* Divergence of the condition, else of the root, else of the thread; or MPROF_NONE. */
	uint32_t divergence;
	uint32_t reserved;
};

/*
 * A thread that took much longer in the bad run. FOLLOWERS other threads were slow because they
 * read it.
 */
struct mprof_diff_slower {
	uint64_t good_ns;
	uint64_t bad_ns;
	uint32_t good;
	uint32_t bad;
	uint32_t followers;
	uint32_t reserved;
};

/*
 * Threads without a counterpart, of one type and first label. GOOD and BAD are the first of each
 * run, or MPROF_NONE.
 */
struct mprof_diff_unmatched {
	uint32_t good;
	uint32_t bad;
	uint32_t good_n;
	uint32_t bad_n;
};

/* A counter whose last or largest value differs. MPROF_NONE: the run has no such counter. */
struct mprof_diff_counter {
	uint32_t good;
	uint32_t bad;
};

/*
 * All results. Threads, counters and interactions are indices of the view of the run that a field
 * names. The diff owns all arrays until it is freed.
 */
struct mprof_diff_view {
	/* Counterpart of each thread of the good run, or MPROF_NONE; length: its view's N_THREADS. */
	const uint32_t *good_match;
	const uint32_t *bad_match; /* likewise of the bad run */
	/* Those that should resolve first, then by number of threads. */
	const struct mprof_diff_outcome *outcomes;
	const struct mprof_diff_slower *slower;		 /* by additional time, the largest first */
	const struct mprof_diff_unmatched *unmatched;	 /* labelled first, then by difference in number */
	const struct mprof_diff_counter *counters;	 /* by relative difference, the largest first */
	const struct mprof_diff_divergence *divergences; /* unordered */
	const struct mprof_diff_step *steps;
	uint32_t n_outcomes;
	uint32_t n_slower;
	uint32_t n_unmatched;
	uint32_t n_counters;
	uint32_t n_divergences;
	uint32_t n_steps;
	/*
	 * Earliest divergence, preferably of threads whose creation is in the traces; or MPROF_NONE.
	 */
	uint32_t first;
	/* Number of all outcomes, also those past the limit; likewise below. */
	uint32_t all_outcomes;
	uint32_t all_slower; /* without followers */
	uint32_t all_unmatched;
	uint32_t all_counters;
	uint32_t all_divergences;
	uint32_t matched;      /* number of threads with a counterpart, without roots */
	uint32_t good_threads; /* number of threads, without roots */
	uint32_t bad_threads;
	/* Number of threads resolved in one run, when the other trace ended before that was due. */
	uint32_t not_due;
	/* 1 when all threads match and no outcome, divergence or counter differs; times may differ */
	uint32_t alike;
	uint32_t reserved;
	/* Time of the earliest event, and of the latest; 0 without an event. */
	uint64_t good_start;
	uint64_t good_end;
	uint64_t bad_start;
	uint64_t bad_end;
	uint64_t slower_percent; /* limits as applied */
	uint64_t slower_ns;
	uint64_t work; /* number of comparisons; grows no faster than threads and steps */
};

struct mprof_diff;

/*
 * Compare two finished models, GOOD and BAD, which must outlive the diff. Copy OPTIONS except its
 * STREAMS, which are used during the call only; NULL: all defaults. Return the diff, which the
 * caller frees, or NULL without memory.
 */
MPROF_API struct mprof_diff *mprof_diff_new(const struct mprof_model_view *good, const struct mprof_model_view *bad,
					    const struct mprof_diff_options *options);
/* Free D, which may be NULL. Return NULL. */
MPROF_API struct mprof_diff *mprof_diff_free(struct mprof_diff *d);
/* Return the results, never NULL. D owns them until it is freed. */
MPROF_API const struct mprof_diff_view *mprof_diff_view(const struct mprof_diff *d);
/*
 * Return the index that explains why threads of the good or bad run wait. The diff owns it until it
 * is freed.
 */
MPROF_API const struct mprof_why *mprof_diff_why(const struct mprof_diff *d, bool bad);

#ifdef __cplusplus
}
#endif

#endif
