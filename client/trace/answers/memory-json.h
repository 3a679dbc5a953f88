/* The JSON that the answers about memory profiles have in common. */
#ifndef TRACE_MEMORY_JSON_H
#define TRACE_MEMORY_JSON_H

#include <mprof/flame.h>
#include <mprof/json-writer.h>

/* Write the members `function` and `file` of FRAME. */
void memory_put_function(struct mprof_json *j, const struct mprof_frame *frame);
/* Return which part of ALL samples PART is; 0 of no sample. The sums of a crafted profile may be anything. */
double memory_share(uint64_t part, uint64_t all);
/* Return the sum over the three heaps. */
uint64_t memory_all(const uint64_t of[3]);

#endif
