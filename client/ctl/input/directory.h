/* The streams of a CTF directory, or of an archive of one. */
#ifndef CTL_DIRECTORY_H
#define CTL_DIRECTORY_H

#include <stdbool.h>

#include "lanes.h"

/* Add each stream in the directory at PATH, in the order of their names.  0 or -errno; none may be there. */
int directory_add(struct lanes *l, const char *path);

/* May a file at PATH of an archive be a stream?  Not one that is hidden, nor the metadata. */
bool directory_wants(const char *path);

/* Add the file at FD, read to its end, if it begins with a packet, else close it.  As lanes_add(). */
int directory_add_file(struct lanes *l, const char *name, int fd);

#endif
