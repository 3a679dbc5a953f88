/* The command line behind a verb: long options, and what is left. */
#ifndef CTL_OPTIONS_H
#define CTL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct option_def {
	const char *name;   /* "--last" */
	const char *letter; /* "-o", or NULL */
	const char **value;
	bool *flag; /* for one without a value: set where it is given, and VALUE is NULL */
};

#define OPERANDS_MAX 64

struct operands {
	const char *at[OPERANDS_MAX];
	size_t n;
};

/*
 * Take ARGV of a verb apart: an option takes a value ("--name VALUE", "--name=VALUE", "-o VALUE") or is a flag.  Between MIN and MAX operands (at most
 * OPERANDS_MAX) must be left; "--" ends the options, and "-" is an operand.  Returns an exit code, having said why.
 */
int options_parse(int argc, char **argv, const struct option_def *defs, size_t n_defs, struct operands *left,
		  size_t min, size_t max);

/* The help of VERB (NULL = of the program) on standard output; false where there is no such verb. */
bool help_print(const char *verb);
/* Its text, without what is listed behind it; NULL where there is no such verb. */
const char *help_text(const char *verb);

/* What a person may have meant. */

/* The best so far; begin with {.word = …}. */
struct suggestion {
	const char *word; /* as it was written; borrowed */
	const char *best; /* NULL = nothing is near enough */
	size_t best_distance;
};

/* Is CANDIDATE nearer?  Near enough are two slips of the finger, or one in a short word. */
void suggestion_consider(struct suggestion *n, const char *candidate);

#endif
