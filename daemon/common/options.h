/* Command-line options that the daemons share. */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>

/*
 * Check the VALUE of OPTION (as it is written, "--state"), which names a directory.  If it is empty, files would be made in the root
 * directory: print one sentence for PROGRAM to stderr and return false.
 */
bool option_directory(const char *program, const char *option, const char *value);

#endif
