/*
 * libmprof: a good run beside a bad one, of two finished models: who is whose counterpart, and where they part.
 *
 *   d = mprof_diff_new(mprof_model_view(good), mprof_model_view(bad), &(struct mprof_diff_options){.seed = random});
 *   v = mprof_diff_view(d);
 *   for (i = 0; i < v->n_outcomes; i++)
 *           tell(&v->outcomes[i]);                  // the most telling first
 *
 * Threads are counterparts by type, first label and place below their creators, never by id or time, nor by numbers in labels: ids are used again, and
 * no two runs have the same times.  Of threads that have a counterpart their steps are compared, each thread's own: in what order threads that have
 * nothing to do with each other took theirs is chance.
 *
 * All that is told is bounded: the first of each kind stand in arrays, and how many there are in all beside them.  Everything that a
 * trace says is hostile: an alignment that would take too long is made by counting instead.  Time is n log n in the threads and their steps;
 * memory is about 150 bytes for each thread, and 20 for each label, creation and end of an interaction.
 */
#ifndef MPROF_DIFF_H
#define MPROF_DIFF_H

#include <mprof/why.h>

#ifdef __cplusplus
extern "C" {
#endif

/* At most so many of each kind are told. */
#define MPROF_DIFF_TOLD_MAX 100u
/* A parting tells at most so many steps of each run. */
#define MPROF_DIFF_STEPS_MAX 4u

struct mprof_diff_options {
	/* Any number that the writer of a trace cannot know. */
	uint64_t seed;
	/* Only threads created at this time or later, on each model's time line, are told of; 0 for all. */
	uint64_t good_from;
	uint64_t bad_from;
	/* A thread is slower that took so many percent of its counterpart's time, and so much more; 0 for 200 % and 1 ms. */
	uint64_t slower_percent;
	uint64_t slower_ns;
	/* Of each stream of BAD its counterpart in GOOD, or MPROF_NONE; no two the same.  NULL: the first is the first's, and so on. */
	const uint32_t *streams;
	/* Tell so many of each kind; 0, and more than MPROF_DIFF_TOLD_MAX, for that. */
	uint32_t told;
};

enum mprof_diff_step_kind {
	MPROF_STEP_LABEL,     /* THREAD got LABEL */
	MPROF_STEP_CREATES,   /* it created OTHER */
	MPROF_STEP_SIGNALS,   /* it signalled OTHER */
	MPROF_STEP_SIGNALLED, /* it was signalled by OTHER */
	MPROF_STEP_RESOLVES,  /* it resolved OTHER; itself too */
	MPROF_STEP_RESOLVED,  /* it was resolved by OTHER */
	MPROF_STEP_FAILS,     /* it let OTHER, or itself, fail */
	MPROF_STEP_FAILED,    /* OTHER let it fail */
	MPROF_STEP_READS,     /* it read OTHER, which was resolved */
	MPROF_STEP_READ,      /* it was read by OTHER */
	MPROF_STEP_BECOMES,   /* OTHER goes on in its place */
	MPROF_STEP_KINDS,
};

/*
 * What a thread did, or what was done to it.  A look at what was not resolved yet is no step: whether a thread comes just before or just behind
 * what it waits on is chance, and a wait that never ends is an outcome.
 */
struct mprof_diff_step {
	uint64_t time; /* on its model's time line */
	uint32_t kind; /* enum mprof_diff_step_kind */
	uint32_t thread;
	uint32_t other; /* MPROF_NONE for a label */
	uint32_t label; /* the label got; for all else OTHER's latest one at that time, or MPROF_NONE */
};

/*
 * Two counterparts that did the same up to a point and then not.  Steps are indices of the view's: the last common one of each, and N_… from
 * NEXT_… on; 0 of them where it did nothing more.
 */
struct mprof_diff_parting {
	uint64_t ns;   /* the earlier of the two next steps, since its trace's first event */
	uint32_t good; /* threads */
	uint32_t bad;
	uint32_t good_common; /* MPROF_NONE: there is none */
	uint32_t bad_common;
	uint32_t good_next;
	uint32_t bad_next;
	uint32_t good_n;
	uint32_t bad_n;
	uint32_t good_later; /* where the good run does later what the bad one does next, or MPROF_NONE */
	uint32_t bad_later;
};

enum mprof_diff_kind {
	MPROF_DIFF_BAD_WAITS,  /* resolved in the good run alone */
	MPROF_DIFF_BAD_FAILS,  /* failed in the bad one alone */
	MPROF_DIFF_GOOD_WAITS, /* resolved in the bad run alone */
	MPROF_DIFF_GOOD_FAILS,
};

/*
 * Threads of which one run made something else than the other, and for one reason: they wait on the same root, or fail with the same text.
 * GOOD and BAD are the one to be told, and one of the two is MPROF_NONE where it has no counterpart (told of those that should
 * resolve, and that fail).  What is not resolved in a trace that ended before it was due is none; that is counted in UNDUE.
 */
struct mprof_diff_outcome {
	uint64_t good_ns; /* from its creation to its end, or to the end of the trace */
	uint64_t bad_ns;
	uint32_t kind; /* enum mprof_diff_kind */
	uint32_t good;
	uint32_t bad;
	uint32_t threads;   /* so many there are, this one too */
	uint32_t should;    /* so many of them should resolve */
	uint32_t root;	    /* of those that wait: the end of the chain, in that run (see <mprof/why.h>) */
	uint32_t root_of;   /* its counterpart, or MPROF_NONE */
	uint32_t verdict;   /* enum mprof_why_verdict of the thread that waits */
	uint32_t condition; /* what must be signalled, in that run, or MPROF_NONE */
	uint32_t lost;	    /* MPROF_WHY_MISSED_SIGNAL: the interaction that was lost */
	uint32_t
		parting; /* that of the condition, of the root, or of the thread, whichever there is first; or MPROF_NONE */
	uint32_t reserved;
};

/* A thread that took much longer, and so did FOLLOWERS others, because they read it. */
struct mprof_diff_slower {
	uint64_t good_ns;
	uint64_t bad_ns;
	uint32_t good;
	uint32_t bad;
	uint32_t followers;
	uint32_t reserved;
};

/* Threads without a counterpart, of one type and first label; GOOD and BAD are the first of each run, or MPROF_NONE. */
struct mprof_diff_lone {
	uint32_t good;
	uint32_t bad;
	uint32_t good_n;
	uint32_t bad_n;
};

/* A counter whose last value, or its largest, is another; MPROF_NONE where it is not there. */
struct mprof_diff_counter {
	uint32_t good;
	uint32_t bad;
};

/* Everything is lent until the diff is freed. */
struct mprof_diff_view {
	const uint32_t *good_match; /* of each thread of the good run its counterpart, or MPROF_NONE */
	const uint32_t *bad_match;
	const struct mprof_diff_outcome
		*outcomes;			/* those that should resolve first, then those with the most threads */
	const struct mprof_diff_slower *slower; /* those that took the most time more first */
	const struct mprof_diff_lone *lone;	/* those with a label first, then by how much their numbers differ */
	const struct mprof_diff_counter *counters; /* those that differ the most, in proportion, first */
	const struct mprof_diff_parting *partings; /* any order */
	const struct mprof_diff_step *steps;
	uint32_t n_outcomes;
	uint32_t n_slower;
	uint32_t n_lone;
	uint32_t n_counters;
	uint32_t n_partings;
	uint32_t n_steps;
	uint32_t
		first; /* the parting that came first, of threads of which the traces have seen the creation if there are; or MPROF_NONE */
	uint32_t all_outcomes; /* so many there are in all */
	uint32_t all_slower;   /* without followers */
	uint32_t all_lone;
	uint32_t all_counters;
	uint32_t all_partings;
	uint32_t matched;      /* threads with a counterpart, roots left out */
	uint32_t good_threads; /* in all, roots left out */
	uint32_t bad_threads;
	uint32_t undue; /* threads that are resolved in one run, and in the other the trace ended before that was due */
	uint32_t
		alike; /* 1: no thread without counterpart, outcome, parting or counter that differs: times alone may */
	uint32_t reserved;
	uint64_t good_start; /* the earliest event, and the latest; 0 without one */
	uint64_t good_end;
	uint64_t bad_start;
	uint64_t bad_end;
	uint64_t slower_percent; /* as they were applied */
	uint64_t slower_ns;
	uint64_t work; /* comparisons made in aligning: what grows no faster than the threads and their steps */
};

struct mprof_diff;

/*
 * Compare two finished models, which must live as long; OPTIONS are copied, but not needed afterwards either, and may be NULL.  NULL
 * without memory.
 */
MPROF_API struct mprof_diff *mprof_diff_new(const struct mprof_model_view *good, const struct mprof_model_view *bad,
					    const struct mprof_diff_options *options);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_diff *mprof_diff_free(struct mprof_diff *d);
MPROF_API const struct mprof_diff_view *mprof_diff_view(const struct mprof_diff *d);
/* The index over a run that answers why its threads wait; lent as the view is. */
MPROF_API const struct mprof_why *mprof_diff_why(const struct mprof_diff *d, bool bad);

#ifdef __cplusplus
}
#endif

#endif
