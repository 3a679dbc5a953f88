/* Verbs behind a verb, as in `mprofctl mem VERB` and `mprofctl token VERB`. */
#ifndef CTL_SUBVERBS_H
#define CTL_SUBVERBS_H

#include <stddef.h>

#include "ctl.h"

struct subverb {
	const char *name;
	int (*run)(const struct ctl *ctl, int argc, char **argv); /* ARGV[0] is the verb before it */
};

/*
 * Run the one of the N LIST that ARGV[1] names; ARGV[0] is the verb VERB. HINT completes the sentence
 * "VERB needs a verb", which is printed if there is none. Return an exit code.
 */
int subverbs_run(const struct ctl *ctl, const char *verb, const char *hint, const struct subverb *list, size_t n,
		 int argc, char **argv);

#endif
