/* What the verbs share that read a trace to its end and then tell of it: their command line, and the reading. */
#ifndef CTL_READING_H
#define CTL_READING_H

#include "input.h"
#include "options.h"
#include "period.h"

struct reading {
	const struct ctl *ctl;
	const char *verb;
	struct operands left; /* the first one names the trace */
	struct selection selection;
	struct period period;
	struct input in;
};

#define READING_OWN_MAX 8

/*
 * Take apart ARGV, whose options are --last, --run, --stream, --from, --to and the N_OWN of OWN, up to READING_OWN_MAX; up to MAX operands are left.
 * Returns an exit code, having said why.  Deinit in any case.
 */
int reading_parse(struct reading *x, const struct ctl *ctl, int argc, char **argv, const struct option_def *own,
		  size_t n_own, size_t max);
/* Read all of the trace into SINK, which refuses for lack of memory alone.  Returns an exit code, having said why. */
int reading_run(struct reading *x, const struct sink *sink);
/* After an exit code of reading_run(): is there a trace to tell of, damaged or not? */
bool reading_came(int code);
void reading_deinit(struct reading *x);

#endif
