/*
 * Open regular files by their names. Opening a FIFO waits for its writer, for ever if there is none, and a
 * device may never end. A daemon that waits serves nobody.
 */
#ifndef COMMON_REGULAR_H
#define COMMON_REGULAR_H

#include <stdbool.h>
#include <stdio.h>

/* Why a path cannot be opened: a positive result of regular_open(). */
#define REGULAR_E_KIND 1
#define REGULAR_KIND   "it is a FIFO, a socket, a device or a directory, and no regular file: move it away"

/*
 * Open the regular file PATH for reading, without waiting. Return 0, with the stream in *FILE, which the
 * caller closes; REGULAR_E_KIND if PATH is no regular file; or -errno. *FILE is NULL unless the call returns 0.
 */
int regular_open(const char *path, FILE **file);
/* Return the words for R, a result of regular_open() other than 0. Borrowed, as of strerror(). */
const char *regular_words(int r);
/* Return whether PATH followed by SUFFIX names something that is no regular file. False: it names nothing. */
bool regular_is_other(const char *path, const char *suffix);

#endif
