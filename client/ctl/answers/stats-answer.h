/* The answer of `mprofctl stats`: a tally (tally.h) as JSON and as text. */
#ifndef CTL_STATS_ANSWER_H
#define CTL_STATS_ANSWER_H

#include <stdint.h>

#include <jansson.h>
#include <mprof/trace.h>

#include "tally.h"
#include "timing.h"

/*
 * Return the tally T of a stream as a JSON object. TOTALS are the decoder's totals of this stream,
 * and BYTES is its stored size. The caller decrefs the object. Return NULL without memory.
 */
json_t *tally_json(struct tally *t, const struct mprof_totals *totals, uint64_t bytes);

/*
 * Return NAME, which can be any bytes, as a JSON string, escaped as by text_json(). The caller
 * decrefs the string. Return NULL without memory.
 */
json_t *stats_name(const char *name);

/*
 * Print the object of `stats --json` as tables on standard output, with times as TIMING shows them.
 * Return an exit code.
 */
int stats_show(const json_t *json, struct timing *timing);

#endif
