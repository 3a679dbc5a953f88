/* How the streams of the runs that live grow: what is new of them since they were looked at last. */
#ifndef SERVE_GROWTH_H
#define SERVE_GROWTH_H

#include <jansson.h>

#include "reader.h"

struct grown;

/* A zeroed growth is empty and ready. */
struct growth {
	int64_t *runs; /* to be looked at, ascending */
	size_t n_runs, runs_capacity, at;
	struct grown *last, *next; /* ascending by run and number */
	size_t n_last, at_last;
	size_t n_next, next_capacity;
	bool rates; /* something grew in the last seconds: it will be seen to have stopped */
};

#define GROWTH_DONE 100 /* all were looked at */

void growth_deinit(struct growth *g);
/* Forget which runs are to be looked at. */
void growth_reset(struct growth *g);
/* RUN is to be looked at; it is greater than the one before.  0 or -ENOMEM. */
int growth_add_run(struct growth *g, int64_t run);
/* Look at them anew. */
void growth_begin(struct growth *g);
/*
 * Look at the streams of some runs, until NS have passed.  To GROWN go those that grew or slowed down, to LOST those that have more gaps (the schema
 * Stream).  Returns 0, GROWTH_DONE, or what the reader returns.
 */
int growth_step(struct growth *g, struct reader *r, uint64_t ns, json_t *grown, json_t *lost);

#endif
