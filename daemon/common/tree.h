/* Directories that a process fills and removes again. */
#ifndef COMMON_TREE_H
#define COMMON_TREE_H

#include <stddef.h>

/* Remove PATH and all below it. Log what cannot be removed; a PATH that does not exist is no failure. */
void tree_remove(const char *path);

/*
 * Make a directory PREFIX-XXXXXX below DIRECTORY, and write its path to PATH (SIZE bytes). First remove those
 * that processes left that have ended. *LOCK, a descriptor, keeps the directory: close it when the directory
 * is removed. Return 0 or -errno.
 */
int tree_make(const char *directory, const char *prefix, char *path, size_t size, int *lock);

#endif
