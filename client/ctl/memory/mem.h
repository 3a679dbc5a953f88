/*
 * The verbs of `mprofctl mem`: each is `int mem_<verb>(const struct ctl *ctl, int argc, char **argv)` as in ctl.h, argv[0] being "mem".
 */
#ifndef CTL_MEM_H
#define CTL_MEM_H

#include <stdbool.h>

#include <jansson.h>

#include "ctl.h"
#include "mem-load.h"

int mem_dump(const struct ctl *ctl, int argc, char **argv);
int mem_identify(const struct ctl *ctl, int argc, char **argv);
int mem_hotspots(const struct ctl *ctl, int argc, char **argv);
int mem_peak(const struct ctl *ctl, int argc, char **argv);
int mem_timeline(const struct ctl *ctl, int argc, char **argv);
int mem_flame(const struct ctl *ctl, int argc, char **argv);
int mem_leaks(const struct ctl *ctl, int argc, char **argv);
int mem_diff(const struct ctl *ctl, int argc, char **argv);
int mem_subsample(const struct ctl *ctl, int argc, char **argv);
int mem_export(const struct ctl *ctl, int argc, char **argv);
int mem_list(const struct ctl *ctl, int argc, char **argv);
int mem_start(const struct ctl *ctl, int argc, char **argv);
int mem_stop(const struct ctl *ctl, int argc, char **argv);

/* What verbs of a memory profile have in common that answer once: the answer is made as JSON, and the words are made of that. */

struct mem_answer {
	/* The answer, to be decref'd, or NULL without memory; BRIEF: only what show() tells of. */
	json_t *(*make)(struct mem_load *l, bool brief, const struct mem_answer *a);
	/* Returns an exit code. */
	int (*show)(const json_t *answer, const struct mem_answer *a);
	enum mprof_weight weight; /* the verb's own: what is counted, and what was done with it, in words */
	const char *what;
};

/* Run a verb with one operand and the filters as options.  Returns an exit code, having said why. */
int mem_answer_run(const struct ctl *ctl, int argc, char **argv, const struct mem_answer *a);

#endif
