/* The answer of `mprofctl diff`: the differences of two runs, as JSON and as text. */
#ifndef CTL_DIFF_ANSWER_H
#define CTL_DIFF_ANSWER_H

#include <jansson.h>
#include <mprof/diff.h>

#include "modeller.h"

/* One of the two traces. */
struct diff_run {
	const struct modeller *m;
	const char *name; /* as the user gave it */
	uint64_t lost_packets;
};

/*
 * Return the differences D of RUNS, the good run first. The caller decrefs the object. Return NULL
 * without memory.
 */
json_t *diff_json(const struct mprof_diff *d, const struct diff_run runs[2]);

/* Print the object of diff_json() as text. Return an exit code. */
int diff_show(const json_t *json);

/* Print the span under KEY of OBJECT. */
void put_ns(const json_t *object, const char *key);
/* Print the time of OBJECT since its trace's first event. */
void put_since(const json_t *object);
/* Print N and NOUN, with an s unless N is 1. */
void put_count(json_int_t n, const char *noun);
/* Print a thread and its counterpart, once if they look the same. One may be null. */
void put_both(const json_t *good, const json_t *bad);
/*
 * Print where two counterparts part: both threads on the present line, then a line for each step.
 */
void show_parting(const json_t *parting);

#endif
