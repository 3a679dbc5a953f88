/*
 * State of a diff, shared by the diff-*.c files.
 *
 * diff-sides.c numbers texts and hashes threads. diff-match.c finds counterparts, with
 * diff-align.c. diff-tracks.c lists each thread's steps, and diff-divergences.c compares them.
 * diff-outcomes.c, diff-slower.c, diff-unmatched.c and diff-counters.c make the results, diff-coverage.c what
 * they can lack. diff.c owns the state.
 */
#ifndef TRACE_DIFF_STATE_H
#define TRACE_DIFF_STATE_H

#include <mprof/diff.h>

#include "grow.h"
#include "why-index.h"

/* One step of a thread (struct mprof_diff_step), in the form in which steps are compared. */
struct diff_track {
	/*
	 * Index in the view of what the step is about: a label, a created thread, an interaction;
	 * or for MPROF_STEP_BECOMES the thread of the step.
	 */
	uint32_t item;
	/*
	 * Number of a text (struct diff_side): the label's text, or the latest label of the other
	 * thread; or MPROF_NONE.
	 */
	uint32_t text;
	uint8_t kind; /* enum mprof_diff_step_kind */
	uint8_t type; /* type of the other thread */
	/* The other thread existed before the trace, so its labels may be unknown. */
	bool unseen;
};

/* One of the two runs. */
struct diff_side {
	const struct mprof_model_view *view;
	struct mprof_why *why;
	uint32_t *texts; /* for each string the number of its text; equal texts of both runs have the same number */
	/*
	 * Likewise for each string its *shape*, the text with `#` for each number: "request #" for
	 * "request 7".
	 */
	uint32_t *shapes;
	/*
	 * For each thread its *kin*: a hash of its type, its first label, and whether it continues
	 * in place of its creator.
	 */
	uint64_t *kin;
	uint64_t *exact; /* for each thread a hash of its kin, behaviour and subtree */
	uint32_t *match; /* for each thread its counterpart, or MPROF_NONE */
	/* For each thread the index of its first step in TRACKS; one more item is the end. */
	uint32_t *first_track;
	struct diff_track *tracks; /* NULL until diff_tracks() */
	uint64_t from;		   /* report only threads created at this time or later */
	uint64_t start, end;
};

struct mprof_diff {
	struct mprof_diff_options options;
	struct diff_side side[2];
	struct grow divergences; /* struct mprof_diff_divergence */
	struct grow steps;
	struct grow outcomes;
	struct grow slower;
	struct grow unmatched;
	struct grow counters;
	uint32_t n_texts; /* number of different texts of both runs together */
	struct mprof_diff_view view;
};

enum { GOOD, BAD };

static inline const struct mprof_thread *diff_thread(const struct diff_side *s, uint32_t i)
{
	return &s->view->threads[i];
}

/* Return the number of the text of the thread's first label, or MPROF_NONE. */
static inline uint32_t diff_label(const struct diff_side *s, uint32_t thread)
{
	uint32_t n;
	const uint32_t *labels = buckets_of(&s->why->labels, thread, &n);

	return n ? s->texts[s->view->labels[labels[0]].text] : MPROF_NONE;
}

/* Return the shape of the thread's first label as a number, or MPROF_NONE. */
static inline uint32_t diff_shape(const struct diff_side *s, uint32_t thread)
{
	uint32_t n;
	const uint32_t *labels = buckets_of(&s->why->labels, thread, &n);

	return n ? s->shapes[s->view->labels[labels[0]].text] : MPROF_NONE;
}

static inline bool diff_root(const struct diff_side *s, uint32_t thread)
{
	return diff_thread(s, thread)->flags & MPROF_THREAD_ROOT;
}

static inline bool diff_is_reported(const struct diff_side *s, uint32_t thread)
{
	return diff_thread(s, thread)->created >= s->from && !diff_root(s, thread);
}

/* Steps of mprof_diff_new(). Each returns false without memory. */
bool diff_sides(struct mprof_diff *d);
bool diff_match(struct mprof_diff *d);
bool diff_tracks(struct mprof_diff *d);
bool diff_divergences(struct mprof_diff *d);
bool diff_outcomes(struct mprof_diff *d);
bool diff_slower(struct mprof_diff *d);
bool diff_unmatched(struct mprof_diff *d);
bool diff_counters(struct mprof_diff *d);

/* Find what the traces can lack, for the view. Call it once streams are matched. Return false without memory. */
bool diff_coverage(struct mprof_diff *d);
/* Return whether the run SIDE can have done a step of THREAD behind the step COMMON, an index of the steps or MPROF_NONE. */
bool diff_hides_step(const struct mprof_diff *d, int side, uint32_t thread, uint32_t common);
/* Find whether a thread or a counter is in one run alone, for the view, whatever holes the runs have. Return false without memory. */
bool diff_proof(struct mprof_diff *d);
/* Find the hole in which the end, or the failure, could be that a run lacks by the outcome O. */
void diff_outcome_coverage(struct mprof_diff *d, struct mprof_diff_outcome *o);

/*
 * A *fork*: the first difference between the steps of the counterparts GOOD and BAD, after SAME
 * equal steps.
 */
struct diff_fork {
	uint64_t ns; /* as in struct mprof_diff_divergence */
	uint32_t good, bad;
	uint32_t same;
	bool unseen; /* the traces do not have the creation of GOOD and BAD */
};

/*
 * Return true, and fill *FORK, when the steps of GOOD, a thread of the good run, differ from its
 * counterpart's.
 */
bool diff_fork_find(const struct mprof_diff *d, uint32_t good, struct diff_fork *fork);
/*
 * Add FORK to the reported divergences, unless it is there already. Store its index there in *I.
 * Return false without memory.
 */
bool diff_fork_report(struct mprof_diff *d, const struct diff_fork *fork, uint32_t *i);
/* Return the time of TRACKS[I] of S, ns. */
uint64_t diff_track_time(const struct diff_side *s, uint32_t i);

/*
 * Match equal keys of the list A of N_A items and the list B of N_B items, in order if possible.
 * Store in MATCH for each item of A the position of its match in B, or MPROF_NONE. Set *ORDERED
 * when matches of later items are later, too. Add the number of comparisons to *WORK. Return false
 * without memory.
 */
bool diff_align(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b, uint32_t *match, bool *ordered,
		uint64_t *work);
/*
 * As diff_align(), but in any order: the first item of A with a key matches the first item of B
 * with that key, the second the second, and so on. With EQUAL, only match keys that both lists have
 * equally often.
 */
bool diff_count_off(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b, bool equal, uint32_t *match,
		    uint64_t *work);

#endif
