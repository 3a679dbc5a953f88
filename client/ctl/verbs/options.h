/* The command line behind a verb: options and operands. */
#ifndef CTL_OPTIONS_H
#define CTL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct option_def {
	const char *name;   /* "--last" */
	const char *letter; /* "-o", or NULL */
	const char **value;
	bool *flag; /* for an option without a value, which sets it; VALUE is NULL */
};

#define OPERANDS_MAX 64

struct operands {
	const char *at[OPERANDS_MAX];
	size_t n;
};

/*
 * Parse ARGV of a verb. An option is a flag or takes a value ("--name VALUE", "--name=VALUE", "-o
 * VALUE"). MIN to MAX operands (at most OPERANDS_MAX) must remain. "--" ends the options, and "-"
 * is an operand. Return an exit code.
 */
int options_parse(int argc, char **argv, const struct option_def *defs, size_t n_defs, struct operands *left,
		  size_t min, size_t max);

/*
 * Print the help of VERB, or of the program if VERB is NULL. Return false if there is no such verb.
 */
bool help_print(const char *verb);
/* Return the text of help_print() without lists made at run time; NULL if there is no such verb. */
const char *help_text(const char *verb);

/* Find the candidate most like a misspelt word. Begin with {.word = …}. */
struct suggestion {
	const char *word; /* as the user wrote it; borrowed */
	const char *best; /* NULL if no candidate is similar enough */
	size_t best_distance;
};

/*
 * Take CANDIDATE if it is more similar than the best so far. At most two edits count as similar,
 * one in a short word.
 */
void suggestion_consider(struct suggestion *n, const char *candidate);

#endif
