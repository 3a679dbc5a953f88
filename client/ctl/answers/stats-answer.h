/* The answer of `mprofctl stats`: a tally as JSON and as text. */
#ifndef CTL_STATS_ANSWER_H
#define CTL_STATS_ANSWER_H

#include <stdint.h>

#include <jansson.h>
#include <mprof/trace.h>

#include "tally.h"

/*
 * Return the tally of a stream as an object. TOTALS and BYTES (its stored size) are the same
 * stream's. The caller decrefs the object. Return NULL without memory.
 */
json_t *tally_json(struct tally *t, const struct mprof_totals *totals, uint64_t bytes);

/* Return a name from outside as a JSON string, as text_json(). */
json_t *stats_name(const char *name);

/* Print the object of `stats --json` as tables. Return an exit code. */
int stats_show(const json_t *json);

#endif
