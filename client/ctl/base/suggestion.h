/* The candidate that is most similar to a misspelt word. */
#ifndef CTL_SUGGESTION_H
#define CTL_SUGGESTION_H

#include <stddef.h>

/* Find the candidate that is most similar to a misspelt word. Initialise it with {.word = …}. */
struct suggestion {
	const char *word; /* the word as on the command line; borrowed */
	const char *best; /* the most similar candidate so far; NULL if none is similar enough */
	size_t best_distance;
};

/*
 * Store CANDIDATE as BEST if it is more similar to WORD than BEST. Similar means at most two edits,
 * or one edit in a short word.
 */
void suggestion_consider(struct suggestion *s, const char *candidate);

#endif
