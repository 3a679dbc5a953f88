/* Counters of a model. */
#ifndef TRACE_MODEL_COUNTERS_H
#define TRACE_MODEL_COUNTERS_H

#include "model-state.h"

/* Room for a counter more in the tables; false without memory. */
bool counters_reserve(struct mprof_model *m);

/*
 * Add a sample of the counter NAME (a string) of STREAM: NUMBER is its value, or with RELATIVE what it changed by.  Returns the sample.
 * Room was reserved.
 */
uint32_t counters_add(struct mprof_model *m, uint32_t stream, uint32_t name, const struct mprof_sample *sample,
		      int64_t number, bool relative);

#endif
