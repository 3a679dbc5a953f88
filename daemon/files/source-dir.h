/* The source `dir:`: every ring file in a directory is a guest. */
#ifndef FILES_SOURCE_DIR_H
#define FILES_SOURCE_DIR_H

#include <stddef.h>

struct collector;
struct source;

/*
 * Watch the directory PATH. The first scan is done on return. On failure return -errno and write a
 * SENTENCE of SIZE bytes.
 */
int source_dir_open(struct source **sp, struct collector *collector, const char *path, char *sentence, size_t size);

#endif
