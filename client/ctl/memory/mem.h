/*
 * The verbs of `mprofctl mem`. Each verb is `int mem_<verb>(const struct ctl *ctl, int argc, char
 * **argv)`, called as ctl.h says, with "mem" as argv[0].
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
 * A verb that gives one answer. make() builds the answer as JSON, and show() prints the same JSON
 * as text.
 */
struct mem_answer {
	/*
	 * Return the answer as a JSON object, which the caller decrefs, or NULL without memory. If
	 * BRIEF is true, only the members that show() prints are needed.
	 */
	json_t *(*make)(struct mem_load *l, bool brief, const struct mem_answer *a);
	/* Print the answer as text. Return an exit code. */
	int (*show)(const json_t *answer, const struct mem_answer *a);
	/*
	 * Parameters of make() and show(): the quantity that is counted, and its description in the
	 * text.
	 */
	enum mprof_weight weight;
	const char *what;
};

/*
 * Run a verb with one operand and the filter options: load the profile, then make and print the
 * answer. Return an exit code.
 */
int mem_answer_run(const struct ctl *ctl, int argc, char **argv, const struct mem_answer *a);

#endif
