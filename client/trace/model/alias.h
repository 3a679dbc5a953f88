/*
 * Threads that became another thread: union-find over thread numbers.
 *
 * All later events of a thread that became another are the other's. Chains grow as long as a
 * program's loops, and a trace can describe cycles. Path halving makes a search log n on average
 * for any joins. Joining by size is not possible, because the trace says which end survives.
 *
 * Invariant: following the aliases from any thread leads to one that is its own alias. Joining two
 * different such threads cannot close a cycle.
 */
#ifndef TRACE_ALIAS_H
#define TRACE_ALIAS_H

#include <stdbool.h>
#include <stdint.h>

/* Return the thread at the end of THREAD's chain. */
static inline uint32_t alias_find(uint32_t *aliases, uint32_t thread)
{
	while (aliases[thread] != thread) {
		aliases[thread] = aliases[aliases[thread]];
		thread = aliases[thread];
	}
	return thread;
}

/*
 * Make FROM, an end of a chain, continue as TO, another end. Return false, with nothing changed,
 * when they are the same.
 */
static inline bool alias_join(uint32_t *aliases, uint32_t from, uint32_t to)
{
	if (from == to)
		return false;
	aliases[from] = to;
	return true;
}

#endif
