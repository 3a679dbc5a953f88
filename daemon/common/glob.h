/* Globs of guest names, in the configuration and in scopes. They match as fnmatch() without flags. */
#ifndef COMMON_GLOB_H
#define COMMON_GLOB_H

#include <stdbool.h>

/*
 * Return whether each [ of GLOB has its closing ], by the rules of fnmatch: \\[ is a literal
 * bracket, and so is a ] directly behind the [.
 */
bool glob_closed(const char *glob);

#endif
