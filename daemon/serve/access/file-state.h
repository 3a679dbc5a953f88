/* The state of a file by which a reader notices that the file was changed or replaced. */
#ifndef SERVE_FILE_STATE_H
#define SERVE_FILE_STATE_H

#include <stdbool.h>
#include <sys/stat.h>

/* Return whether A and B are the same state of the same file. */
static inline bool file_state_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

#endif
