/* How two runs differ, as JSON. */
#ifndef CTL_DIFF_JSON_H
#define CTL_DIFF_JSON_H

#include <jansson.h>

#include <mprof/diff.h>

#include "modeller.h"

/* One of the two traces. */
struct diff_run {
	const struct modeller *m;
	const char *name; /* as the person named it */
	uint64_t lost_packets;
};

/* All that D tells of RUNS, the good and the bad one.  To be decref'd; NULL without memory. */
json_t *diff_json(const struct mprof_diff *d, const struct diff_run runs[2]);

#endif
