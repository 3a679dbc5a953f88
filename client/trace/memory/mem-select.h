/* What a profile asks of a selection. */
#ifndef TRACE_MEM_SELECT_H
#define TRACE_MEM_SELECT_H

#include <mprof/profile.h>

/* Is the object of alloc NUMBER, counted from 0, selected? */
bool selection_has(const struct mprof_selection *s, uint64_t number);
/* Does an object of the minor heap begin with its promotion, or end with it? */
bool selection_from_promotion(const struct mprof_selection *s);
bool selection_to_promotion(const struct mprof_selection *s);

/* Is the function's name, of BYTES bytes, what the clause says?  OUTSIDE is not looked at. */
bool mem_clause_met(const struct mprof_mem_clause *clause, const char *name, size_t bytes);

#endif
