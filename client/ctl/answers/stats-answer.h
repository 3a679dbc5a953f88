/* A tally as JSON. */
#ifndef CTL_STATS_ANSWER_H
#define CTL_STATS_ANSWER_H

#include <stdint.h>

#include <jansson.h>
#include <mprof/trace.h>

#include "tally.h"

/* An object, to be decref'd; NULL without memory.  TOTALS are of the same stream, BYTES how many it has, as they are stored. */
json_t *tally_json(struct tally *t, const struct mprof_totals *totals, uint64_t bytes);

/* A name that comes from outside as a JSON string, as above. */
json_t *stats_name(const char *name);

/* The numbers of a trace, for people. */

/* What `stats --json` would print, as tables on standard output; returns an exit code, having said why. */
int stats_show(const json_t *json);

#endif
