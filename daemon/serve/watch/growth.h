/* Growth of the streams of running guests since the last scan. */
#ifndef SERVE_GROWTH_H
#define SERVE_GROWTH_H

#include <jansson.h>

#include "reader.h"

struct grown;

/* Zeroed: empty and ready. */
struct growth {
	int64_t *runs; /* runs to scan, ascending */
	size_t n_runs, runs_capacity, at;
	struct grown *last, *next; /* ascending by run and number */
	size_t n_last, at_last;
	size_t n_next, next_capacity;
	bool rates; /* a rate is not 0: scan again, to see it fall to 0 */
};

#define GROWTH_DONE 100 /* all runs were scanned */

void growth_deinit(struct growth *g);
/* Forget the runs to scan. */
void growth_reset(struct growth *g);
/* Add RUN to the runs to scan; it is greater than the one before. Return 0 or -ENOMEM. */
int growth_add_run(struct growth *g, int64_t run);
/* Begin to scan the streams of the runs. */
void growth_begin(struct growth *g);
/*
 * Scan the streams of some runs, for NS at most. Append the streams whose counters changed to
 * GROWN, and those with more lost or skipped packets to LOST (the schema Stream). Return 0,
 * GROWTH_DONE, or what the reader returns.
 */
int growth_step(struct growth *g, struct reader *r, uint64_t ns, json_t *grown, json_t *lost);

#endif
