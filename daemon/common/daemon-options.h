/* Command-line options that the daemons share. */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>

/*
 * Check that VALUE, the directory given to OPTION ("--state"), is not empty: with an empty
 * directory the daemon would create its files in the root directory. If VALUE is empty, print one
 * sentence for PROGRAM to stderr and return false.
 */
bool option_directory(const char *program, const char *option, const char *value);

#define OPTION_VALUES_MAX 8u

/* An option with a value. */
struct option_value {
	const char *name;   /* without "--" */
	const char **value; /* at first the default; afterwards a word of the command line or the default */
	bool is_directory;  /* must not be empty */
};

/*
 * Take the arguments of PROGRAM, which has the options VALUES (N, at most OPTION_VALUES_MAX), --help and
 * --version, and no other arguments. Return -1 if it goes on, or its exit code: HELP or VERSION were
 * printed (0), or a sentence about a mistake (2).
 */
int options_take(const char *program, const char *version, const char *help, const struct option_value *values,
		 unsigned n, int argc, char **argv);

#endif
