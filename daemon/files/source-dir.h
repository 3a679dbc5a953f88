/* The source `dir:`: every ring file in a directory is a guest. */
#ifndef FILES_SOURCE_DIR_H
#define FILES_SOURCE_DIR_H

#include <stddef.h>

struct collector;
struct source;

/*
 * Open the source `dir:` for the directory PATH, and watch that directory. The first scan is
 * complete on return. Return 0, with the source in *SP; or -errno, with a sentence in SENTENCE
 * (SIZE bytes).
 */
int source_dir_open(struct source **sp, struct collector *collector, const char *path, char *sentence, size_t size);

#endif
