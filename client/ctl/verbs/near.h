/* What a person may have meant. */
#ifndef CTL_NEAR_H
#define CTL_NEAR_H

#include <stddef.h>

/* The best so far; begin with {.word = …}. */
struct near {
	const char *word; /* as it was written; borrowed */
	const char *best; /* NULL = nothing is near enough */
	size_t best_distance;
};

/* Is CANDIDATE nearer?  Near enough are two slips of the finger, or one in a short word. */
void near_offer(struct near *n, const char *candidate);

#endif
