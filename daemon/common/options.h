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

#endif
