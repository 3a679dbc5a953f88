/* The search for counterparts, shared by the two files that do it. */
#ifndef TRACE_DIFF_MATCH_H
#define TRACE_DIFF_MATCH_H

#include "diff-state.h"

struct matching {
	struct mprof_diff *d;
	uint32_t *queue; /* threads of the good run whose children are to be looked at */
	uint32_t queued, next;
	/* As many as there are threads: */
	uint32_t *list[2];
	uint64_t *keys[2];
	uint32_t *match;
};

/* They are counterparts; the good one's children are to be looked at. */
void diff_pair(struct matching *m, uint32_t good, uint32_t bad);
/* Those of A that have a place in B by MATCH, where their labels allow. */
void diff_pair_matches(struct matching *m, const uint32_t *a, uint32_t n_a, const uint32_t *b, const uint32_t *match);
bool diff_may_pair(const struct mprof_diff *d, uint32_t good, uint32_t bad);
/* Is it from before the trace, and without a label? */
bool diff_elder(const struct diff_side *s, uint32_t thread);
/* Look at the children of all in the queue, and at theirs; false without memory. */
bool diff_match_queue(struct matching *m);
/* Find counterparts for what has none, wherever it is; false without memory. */
bool diff_match_left(struct matching *m);

#endif
