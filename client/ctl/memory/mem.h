/*
 * The verbs of `mprofctl mem`. Each is `int mem_<verb>(const struct ctl *ctl, int argc, char
 * **argv)` as in ctl.h, with "mem" as argv[0].
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

/*
 * Verbs that give one answer. The answer is always made as JSON; the text for people is made of
 * that.
 */
struct mem_answer {
	/*
	 * Return the answer, which the caller decrefs, or NULL without memory. BRIEF: only the
	 * parts that show() prints.
	 */
	json_t *(*make)(struct mem_load *l, bool brief, const struct mem_answer *a);
	/* Print the answer as text. Return an exit code. */
	int (*show)(const json_t *answer, const struct mem_answer *a);
	/* For the verb: what is counted, and its description in the text. */
	enum mprof_weight weight;
	const char *what;
};

/* Run a verb with one operand and the filter options. Return an exit code. */
int mem_answer_run(const struct ctl *ctl, int argc, char **argv, const struct mem_answer *a);

#endif
