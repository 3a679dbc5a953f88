/*
 * Union-find for `becomes`.
 *
 * Why: every later event of a thread that became another is the other's, chains grow to the length of a program's loops, and
 * a recorder can describe circles.  Halving the path at each step makes a search cost log n on average whatever the joins were; which
 * end of a join survives is for the trace to say, so that joining by size is not open to us.
 *
 * Invariant: following the aliases from any thread comes to one that is its own; a join of two such can close no circle.
 */
#ifndef TRACE_ALIAS_H
#define TRACE_ALIAS_H

#include <stdbool.h>
#include <stdint.h>

/* The thread at the end of the chain that THREAD is in. */
static inline uint32_t alias_find(uint32_t *aliases, uint32_t thread)
{
	while (aliases[thread] != thread) {
		aliases[thread] = aliases[aliases[thread]];
		thread = aliases[thread];
	}
	return thread;
}

/* Let FROM, an end of a chain, go on as TO, another one; false, with nothing changed, where they are the same. */
static inline bool alias_join(uint32_t *aliases, uint32_t from, uint32_t to)
{
	if (from == to)
		return false;
	aliases[from] = to;
	return true;
}

#endif
