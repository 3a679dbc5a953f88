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
 * A thread of one run and the matching thread of the other are *counterparts*. Threads are matched
 * by type, first label and position below their creators, never by id, time or numbers in labels:
 * ids are reused, and no two runs have the same times. Two counterparts are compared step by step
 * (struct mprof_diff_step), without regard to other threads, because the order in which unrelated
 * threads take their steps is chance.
 *
 * The results are bounded: arrays hold the first results of each kind, and the view counts all of
 * them. Traces are untrusted: an alignment that would take too long is replaced by counting. Time
 * is n log n in threads and steps; memory is about 150 bytes per thread and 20 per label, creation
 * and end of an interaction.
 */
#ifndef MPROF_DIFF_H
#define MPROF_DIFF_H

#include <mprof/coverage.h>
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
	 * Report only threads of the good run created at GOOD_FROM or later, and of the bad run at
	 * BAD_FROM or later, ns on each model's time line; 0: all.
	 */
	uint64_t good_from;
	uint64_t bad_from;
	/*
	 * Report a thread of the bad run as slower when it took at least SLOWER_PERCENT of its
	 * counterpart's time, and at least SLOWER_NS nanoseconds more. Both 0: 200 % and 1 ms.
	 */
	uint64_t slower_percent;
	uint64_t slower_ns;
	/*
	 * For each stream of the bad run the stream of the good run to compare it with, or
	 * MPROF_NONE; no stream of the good run twice. NULL: the first with the first, and so on.
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
	MPROF_STEP_FAILS,     /* THREAD resolved OTHER, or itself, with a failure */
	MPROF_STEP_FAILED,    /* OTHER resolved THREAD with a failure */
	MPROF_STEP_READS,     /* THREAD read OTHER, which was resolved */
	MPROF_STEP_READ,      /* OTHER read THREAD */
	MPROF_STEP_BECOMES,   /* OTHER continues in place of THREAD */
	MPROF_STEP_KINDS,
};

/*
 * One step: an action of a thread, or on a thread. A try_read of an unresolved thread is no step,
 * because it is chance whether a thread comes just before or just after the thread that it waits on
 * is resolved. A wait that never ends is an outcome (struct mprof_diff_outcome).
 */
struct mprof_diff_step {
	uint64_t time; /* ns on its model's time line */
	uint32_t kind; /* enum mprof_diff_step_kind */
	uint32_t thread;
	uint32_t other; /* MPROF_NONE for a label */
	/*
	 * For MPROF_STEP_LABEL the label; for other kinds the latest label that OTHER had at TIME,
	 * or MPROF_NONE.
	 */
	uint32_t label;
};

/*
 * The first difference between the steps of two counterparts. The fields *_COMMON, *_NEXT and
 * *_LATER are indices in the view's STEPS. *_N is the number of steps there from *_NEXT on; 0 when
 * the trace has no further step of the thread.
 */
struct mprof_diff_divergence {
	/*
	 * Time of the earlier one of the two next steps, ns since the first event of that step's
	 * trace.
	 */
	uint64_t ns;
	uint32_t good; /* threads */
	uint32_t bad;
	uint32_t good_common; /* last step that both took, or MPROF_NONE */
	uint32_t bad_common;
	uint32_t good_next;
	uint32_t bad_next;
	uint32_t good_n;
	uint32_t bad_n;
	/*
	 * GOOD_LATER: the step at which the good run takes the bad run's next step later, or
	 * MPROF_NONE. BAD_LATER likewise, with the runs exchanged.
	 */
	uint32_t good_later;
	uint32_t bad_later;
	/* 1: the number of steps is 0, but a hole of the run can hide a step behind the common one; else 0. */
	uint32_t good_unknown;
	uint32_t bad_unknown;
};

enum mprof_diff_kind {
	MPROF_DIFF_BAD_WAITS,  /* resolved in the good run only */
	MPROF_DIFF_BAD_FAILS,  /* failed in the bad run only */
	MPROF_DIFF_GOOD_WAITS, /* resolved in the bad run only */
	MPROF_DIFF_GOOD_FAILS,
};

/*
 * Threads with different outcomes in the two runs, for one reason: they wait on the same root
 * (<mprof/why.h>), or fail with the same text. GOOD and BAD are one of these threads and its
 * counterpart. If the thread has no counterpart, one of them is MPROF_NONE; only failures and
 * threads that should resolve are then reported. A thread whose resolution was not due before its
 * trace ended is counted in NOT_DUE (struct mprof_diff_view) instead.
 */
struct mprof_diff_outcome {
	uint64_t good_ns; /* ns from the creation of GOOD to its end, or to the end of its trace; BAD_NS likewise */
	uint64_t bad_ns;
	uint32_t kind; /* enum mprof_diff_kind */
	uint32_t good;
	uint32_t bad;
	uint32_t threads;	 /* number of threads with this outcome and reason, GOOD or BAD included */
	uint32_t should_resolve; /* number of these threads that should resolve */
	uint32_t root;		 /* for waits: end of the chain, a thread of the run in which the thread waits */
	uint32_t root_match;	 /* counterpart of ROOT, or MPROF_NONE */
	uint32_t verdict;	 /* enum mprof_why_verdict of the waiting thread */
	uint32_t condition;	 /* condition that must be signalled, a thread of the same run, or MPROF_NONE */
	uint32_t lost_signal;	 /* interaction, for MPROF_WHY_MISSED_SIGNAL; else MPROF_NONE */
	/*
	 * Divergence of CONDITION and its counterpart, else of ROOT, else of GOOD and BAD;
	 * MPROF_NONE if none of these diverges.
	 */
	uint32_t divergence;
	uint32_t reserved;
	/*
	 * The hole in which the resolution could be of a thread that waits, or the failure of the other run's thread. Without a
	 * hole the outcomes do differ.
	 */
	struct mprof_coverage coverage;
};

/*
 * A thread that took much longer in the bad run: BAD_NS instead of GOOD_NS. FOLLOWERS is the number
 * of other threads that were slow because they read this one.
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
 * Threads without a counterpart that have one type and first label. GOOD and BAD are the first such
 * thread of each run, or MPROF_NONE; GOOD_N and BAD_N are the numbers of such threads.
 */
struct mprof_diff_unmatched {
	uint32_t good;
	uint32_t bad;
	uint32_t good_n;
	uint32_t bad_n;
};

/*
 * A counter whose last or largest value differs: its index in each run's view. MPROF_NONE: the run
 * has no such counter.
 */
struct mprof_diff_counter {
	uint32_t good;
	uint32_t bad;
};

/*
 * All results. GOOD and BAD in a field's name say of which run's view a thread, counter or
 * interaction is an index. The diff owns all arrays until it is freed.
 */
struct mprof_diff_view {
	/*
	 * For each thread of the good run its counterpart in the bad run, or MPROF_NONE. Length:
	 * N_THREADS of the good run's view.
	 */
	const uint32_t *good_match;
	const uint32_t *bad_match; /* for each thread of the bad run its counterpart in the good run, or MPROF_NONE */
	/* Outcomes of threads that should resolve first, then by number of threads. */
	const struct mprof_diff_outcome *outcomes;
	const struct mprof_diff_slower *slower; /* by BAD_NS - GOOD_NS, the largest first */
	/* Threads with a label first, then by the difference between GOOD_N and BAD_N. */
	const struct mprof_diff_unmatched *unmatched;
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
	 * The earliest divergence, or MPROF_NONE. Divergences of threads whose creation is in the
	 * traces come before all others.
	 */
	uint32_t first;
	/*
	 * ALL_OUTCOMES counts all outcomes, also those that the limit RESULTS_MAX left out;
	 * likewise the next four fields.
	 */
	uint32_t all_outcomes;
	uint32_t all_slower; /* without followers */
	uint32_t all_unmatched;
	uint32_t all_counters;
	uint32_t all_divergences;
	uint32_t matched;      /* number of pairs of counterparts, without the streams' root threads */
	uint32_t good_threads; /* number of threads of each run, without the streams' root threads */
	uint32_t bad_threads;
	/*
	 * Number of threads that were resolved in one run only, while the other run's trace ended
	 * before the resolution was due.
	 */
	uint32_t not_due;
	/*
	 * 1 when all threads have counterparts and there are no outcomes, divergences and differing
	 * counters, whatever the times are; else 0
	 */
	uint32_t alike;
	/*
	 * 1: the runs differ, whatever is in their holes: by an outcome, or by a thread or a counter that is in one of them
	 * only; else 0
	 */
	uint32_t differs;
	/* Times of the earliest and of the latest event of each run, ns; 0 without an event. */
	uint64_t good_start;
	uint64_t good_end;
	uint64_t bad_start;
	uint64_t bad_end;
	uint64_t slower_percent; /* SLOWER_PERCENT and SLOWER_NS of the options, or their defaults */
	uint64_t slower_ns;
	uint64_t work; /* number of comparisons; grows no faster than threads and steps */
	/*
	 * A hole in which each run could have threads, steps and counters that its trace lacks: a part of a ring is missing, or its
	 * recorder does not write a kind of events that that of the other run writes. ALIKE and each "none" are then only of the traces.
	 */
	struct mprof_coverage good_coverage;
	struct mprof_coverage bad_coverage;
};

struct mprof_diff;

/*
 * Compare two finished models, GOOD and BAD, which must outlive the diff. OPTIONS are copied,
 * except their STREAMS, which are used during the call only; NULL: all defaults. Return the diff,
 * which the caller frees, or NULL without memory.
 */
MPROF_API struct mprof_diff *mprof_diff_new(const struct mprof_model_view *good, const struct mprof_model_view *bad,
					    const struct mprof_diff_options *options);
/* Free D, which may be NULL. Return NULL. */
MPROF_API struct mprof_diff *mprof_diff_free(struct mprof_diff *d);
/* Return the results, never NULL. D owns them until it is freed. */
MPROF_API const struct mprof_diff_view *mprof_diff_view(const struct mprof_diff *d);
/*
 * Return the index that explains why threads of the good run, or with BAD of the bad run, wait. The
 * diff owns it until it is freed.
 */
MPROF_API const struct mprof_why *mprof_diff_why(const struct mprof_diff *d, bool bad);

#ifdef __cplusplus
}
#endif

#endif
