/*
 * The inside of a diff, shared by the files that make one.
 *
 * Order of use: diff-sides.c says what is alike in both runs, diff-match.c finds counterparts with the help of
 * diff-align.c, diff-tracks.c writes down each thread's steps, diff-partings.c compares them, diff-outcomes.c, diff-slower.c,
 * diff-lone.c and diff-counters.c say what follows; diff.c owns it all.
 */
#ifndef TRACE_DIFF_STATE_H
#define TRACE_DIFF_STATE_H

#include <mprof/diff.h>

#include "grow.h"
#include "why-index.h"

/* One step of a thread, as it is compared. */
struct diff_track {
	uint32_t
		item; /* of the view: a label, a thread that was created, an interaction, or for BECOMES the thread itself */
	uint32_t text; /* common text: the label, or the latest of the other thread; MPROF_NONE */
	uint8_t kind;  /* enum mprof_diff_step_kind */
	uint8_t type;  /* of the other thread */
	bool unseen;   /* the other one is from before the trace: what it was labelled there is not known */
};

/* One of the two runs. */
struct diff_side {
	const struct mprof_model_view *view;
	struct mprof_why *why;
	uint32_t *texts;  /* of each string: a number that both runs share */
	uint32_t *shapes; /* the same of what it is without its numbers: "request 7" is "request #" */
	uint64_t *kin;	  /* of each thread: hash of its type, first label, and whether it goes on for its creator */
	uint64_t *exact;  /* the same, of how it behaves, and of all below it */
	uint32_t *match;  /* its counterpart, or MPROF_NONE */
	uint32_t *first_track;	   /* its steps; and behind the last thread the end */
	struct diff_track *tracks; /* NULL until diff_tracks() */
	uint64_t from;		   /* told are threads that were created at this time or later */
	uint64_t start, end;
};

struct mprof_diff {
	struct mprof_diff_options options;
	struct diff_side side[2];
	struct grow partings; /* struct mprof_diff_parting */
	struct grow steps;
	struct grow outcomes;
	struct grow slower;
	struct grow lone;
	struct grow counters;
	uint32_t n_texts; /* that both runs share */
	struct mprof_diff_view view;
};

enum { GOOD, BAD };

static inline const struct mprof_thread *diff_thread(const struct diff_side *s, uint32_t i)
{
	return &s->view->threads[i];
}

/* Its first label, as the text that both runs share, or MPROF_NONE. */
static inline uint32_t diff_label(const struct diff_side *s, uint32_t thread)
{
	uint32_t n;
	const uint32_t *labels = buckets_of(&s->why->labels, thread, &n);

	return n ? s->texts[s->view->labels[labels[0]].text] : MPROF_NONE;
}

/* The same without its numbers. */
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

static inline bool diff_told(const struct diff_side *s, uint32_t thread)
{
	return diff_thread(s, thread)->created >= s->from && !diff_root(s, thread);
}

/* Each returns false without memory. */
bool diff_sides(struct mprof_diff *d);
bool diff_match(struct mprof_diff *d);
bool diff_tracks(struct mprof_diff *d);
bool diff_partings(struct mprof_diff *d);
bool diff_outcomes(struct mprof_diff *d);
bool diff_slower(struct mprof_diff *d);
bool diff_lone(struct mprof_diff *d);
bool diff_counters(struct mprof_diff *d);

/* Where two counterparts part: behind so many steps that are the same. */
struct diff_fork {
	uint64_t ns; /* as in struct mprof_diff_parting */
	uint32_t good, bad;
	uint32_t same;
	bool unseen; /* their creation is not in the traces */
};

/* Does GOOD part from its counterpart?  Then *FORK says where. */
bool diff_fork_find(const struct mprof_diff *d, uint32_t good, struct diff_fork *fork);
/* Tell it, as *I of the partings that are told; once, however often it is asked for.  False without memory. */
bool diff_fork_tell(struct mprof_diff *d, const struct diff_fork *fork, uint32_t *i);
/* The time of step I of all of a run. */
uint64_t diff_track_time(const struct diff_side *s, uint32_t i);

/*
 * Counterparts among the keys of two lists, in order where that can be had: for each of A its place in B, or MPROF_NONE, into MATCH.
 * *ORDERED: later ones of A have later ones of B.  Adds to *WORK how much was compared.  False without memory.
 */
bool diff_align(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b, uint32_t *match, bool *ordered,
		uint64_t *work);
/* The same without any order: the first of a key for the first of it; with EQUAL only where both lists have it as often. */
bool diff_count_off(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b, bool equal, uint32_t *match,
		    uint64_t *work);

#endif
