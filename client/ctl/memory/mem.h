/*
 * The verbs of `mprofctl mem`. Each verb is `int mem_<verb>(const struct ctl *ctl, int argc, char
 * **argv)`, called as ctl.h says, with "mem" as argv[0].
 */
#ifndef CTL_MEM_H
#define CTL_MEM_H

#include <stdbool.h>

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

/* A verb that gives one answer. */
struct mem_answer {
	/* Print the answer about L, as JSON or as text. Return an exit code. */
	int (*print)(const struct mem_load *l, bool json, const struct mem_answer *a);
	/* Parameters of print(): the quantity that is counted, and its description in the text. */
	enum mprof_weight weight;
	const char *what;
};

/*
 * Run a verb with one operand and the filter options: load the profile, then print the
 * answer. Return an exit code.
 */
int mem_answer_run(const struct ctl *ctl, int argc, char **argv, const struct mem_answer *a);

#endif
