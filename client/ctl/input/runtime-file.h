/* Read the ring files of OCaml 5's runtime events as streams of a trace. */
#ifndef CTL_RUNTIME_FILE_H
#define CTL_RUNTIME_FILE_H

#include <stdbool.h>

#include "merge.h"

/*
 * Add each ring of the file FD that holds an event to M, if FD is a ring file of OCaml; else do nothing
 * and set *IS_RUNTIME to false. NAME is the file's name; a stream is called after it and its ring. The
 * events of each ring are written to a temporary file first. Words that the program had overwritten
 * are reported on stderr, and become a gap; damage is reported and counted in M. FD stays the caller's.
 * Return 0, -errno, or -E2BIG if there are too many rings.
 */
int runtime_file_add(struct merge *m, const char *name, int fd, bool *is_runtime);

#endif
