/* The answer of `mprofctl diff`: the differences of two runs, as JSON and as text. */
#ifndef CTL_DIFF_ANSWER_H
#define CTL_DIFF_ANSWER_H

#include <jansson.h>
#include <mprof/diff.h>

#include "modeller.h"
#include "timing.h"

/* One of the two compared traces. */
struct diff_run {
	const struct modeller *m;
	const char *name;      /* name of the trace as on the command line; borrowed */
	const char *side;      /* "good" or "bad" */
	struct timing *timing; /* shows the times of this run; borrowed */
	uint64_t lost_packets;
};

/*
 * Return the differences D of the two RUNS, the good run first, as a JSON object. The caller
 * decrefs the object. Return NULL without memory.
 */
json_t *diff_json(const struct mprof_diff *d, const struct diff_run runs[2]);

/* Print the object of diff_json() of RUNS as text on standard output. Return an exit code. */
int diff_show(const json_t *json, const struct diff_run runs[2]);

#endif
