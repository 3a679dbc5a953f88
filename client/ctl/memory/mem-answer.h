/* What verbs of a memory profile have in common that answer once: the answer is made as JSON, and the words are made of that. */
#ifndef CTL_MEM_ANSWER_H
#define CTL_MEM_ANSWER_H

#include <jansson.h>
#include <stdbool.h>

#include "ctl.h"
#include "mem-load.h"

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
