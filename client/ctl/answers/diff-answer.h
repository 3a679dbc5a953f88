/* How two runs differ, as JSON. */
#ifndef CTL_DIFF_ANSWER_H
#define CTL_DIFF_ANSWER_H

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

/* How two runs differ, in words. */

/* Print what diff-json.c made.  Returns an exit code, having said why. */
int diff_show(const json_t *json);

/* What two runs have and do, on standard output, made of what diff-json.c made. */

/* The span under KEY of OBJECT. */
void put_ns(const json_t *object, const char *key);
/* When something happened, since the trace's first event. */
void put_since(const json_t *object);
/* How many there are, with an s where it is not one. */
void put_count(json_int_t n, const char *noun);
/* A thread and its counterpart, of which one may be null; once where they look the same. */
void put_both(const json_t *good, const json_t *bad);
/* Where two counterparts part: who, on the line that was begun, and a line for each step. */
void show_parting(const json_t *parting);

#endif
