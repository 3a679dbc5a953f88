/* A consumer that builds the model of a trace, with all its streams. */
#ifndef CTL_MODELLER_H
#define CTL_MODELLER_H

#include <stdbool.h>

#include <mprof/model.h>

#include "consumer.h"
#include "time-filter.h"
#include "timing.h"

struct modeller {
	struct period *
		period; /* the period of --from and --to; borrowed; the modeller tells it the time of the first event */
	/*
	 * Leave out all events after PERIOD. The model then shows the program at the end of PERIOD.
	 */
	bool cut;
	struct consumer consumer; /* builds the model; give it to the code that reads the trace */
	struct mprof_model *model;
	char **names;	       /* stream names, owned; NULL for a single stream */
	unsigned int streams;  /* number of streams in the model */
	uint32_t *guests;      /* the guest of each stream, owned; NULL = each stream is a guest of its own */
	unsigned int n_guests; /* number of elements of GUESTS */
	/* For each stream: number of packets that are missing before its next event; owned. */
	uint64_t *lost;
	bool *broken; /* for each stream: bytes were skipped before its next event; owned */
	/*
	 * For each stream: time at which its unproven tail begins, UINT64_MAX = no tail. Owned;
	 * NULL if no stream has one.
	 */
	uint64_t *tails;
	const struct mprof_model_view *view;
};

/*
 * Begin an empty model. PERIOD and CUT are the fields of struct modeller. Return false without
 * memory. The caller deinits M in any case.
 */
bool modeller_init(struct modeller *m, struct period *period, bool cut);
void modeller_deinit(struct modeller *m);
/*
 * tail() of struct consumer: fill TAILS. A caller that draws unproven tails sets it in the
 * consumer.
 */
int modeller_tail(void *context, unsigned int stream, uint64_t from_ns);
/* Finish the model after the last event and set VIEW. Return false without memory. */
bool modeller_finish(struct modeller *m);

/* Return true if the streams of VIEW are those of one guest. */
bool modeller_one_guest(const struct modeller *m);
/*
 * Return whether the program of STREAM, one of several, has ended: threads of it should resolve, and each of them did. The model
 * is finished.
 */
bool modeller_ended(const struct modeller *m, unsigned int stream);
/* Return true if STREAM of VIEW is the first one of its guest. */
bool modeller_leads(const struct modeller *m, unsigned int stream);

/*
 * All times of VIEW may be shown: tell TIMING their range and the time of the trace's first event.
 * PERIOD must be TIMING's.
 */
void modeller_range(const struct modeller *m, struct timing *timing);

/*
 * Return an array with one byte for each thread of VIEW: 1 if a label of the thread matches the
 * pattern GLOB (see glob_match()). The caller frees the array. Return NULL without memory.
 */
uint8_t *modeller_labelled(const struct modeller *m, const char *glob);
#endif
