/* Growth: how the counters of the streams of running guests have changed since the last scan. */
#ifndef SERVE_GROWTH_H
#define SERVE_GROWTH_H

#include <jansson.h>

#include "reader.h"

struct grown;

/* A zeroed struct is empty and ready. */
struct growth {
	int64_t *runs; /* runs whose streams to scan, ascending */
	size_t n_runs, runs_capacity, at;
	/* Counters of the last scan and of this one, ascending by run and number of the stream. */
	struct grown *last, *next;
	size_t n_last, at_last;
	size_t n_next, next_capacity;
	bool rates; /* a rate is not 0: scan again, because the rate falls to 0 without a commit */
};

#define GROWTH_DONE 100 /* all runs were scanned */

void growth_deinit(struct growth *g);
/* Empty the list of runs to scan. */
void growth_reset(struct growth *g);
/*
 * Add RUN to the runs to scan. RUN must be greater than the run that was added before. Return 0 or
 * -ENOMEM.
 */
int growth_add_run(struct growth *g, int64_t run);
/* Begin a scan of the streams of the runs. */
void growth_begin(struct growth *g);
/*
 * Called for STREAM, a Stream of the API of a guest with the name GUEST, whose counters have
 * changed. LOST: it has lost or skipped more packets. The reader is in the transaction that has
 * read both. Both are borrowed until the call returns.
 */
typedef int growth_call(void *context, const char *guest, json_t *stream, bool lost);
/*
 * Scan the streams of some runs, for at most NS nanoseconds. Return 0, GROWTH_DONE, what the reader
 * returns, or a value of CALL that is not 0.
 */
int growth_step(struct growth *g, struct reader *r, uint64_t ns, growth_call *call, void *context);

#endif
