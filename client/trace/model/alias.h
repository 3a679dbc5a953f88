/*
 * Threads that became another thread: union-find over indices of threads. ALIASES has an item for
 * each thread: the thread that it became, or the thread itself.
 *
 * All later events of a thread that became another belong to the other. Chains grow as long as a
 * program's loops, and a trace can describe cycles. With path halving a search takes log n on
 * average, whatever is joined. Joining by size is not possible, because the trace says which thread
 * continues.
 *
 * Invariant: following the aliases from any thread leads to a thread that is its own alias. Joining
 * two different such threads cannot close a cycle.
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
 * Make FROM continue as TO; both must be results of alias_find(). Return false, with nothing
 * changed, when they are the same thread.
 */
static inline bool alias_join(uint32_t *aliases, uint32_t from, uint32_t to)
{
	if (from == to)
		return false;
	aliases[from] = to;
	return true;
}

#endif
