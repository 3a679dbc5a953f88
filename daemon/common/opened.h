/*
 * A file that is held open, and its path. If somebody deletes or replaces a file that a daemon
 * writes, the daemon would go on writing a file that nobody can read.
 */
#ifndef COMMON_OPENED_H
#define COMMON_OPENED_H

#include <stdbool.h>
#include <sys/types.h>

struct opened_file {
	char *path; /* owned; NULL = no file is watched */
	dev_t dev;
	ino_t ino;
};

/* Remember the file that DIRECTORY/NAME is now. Return 0; or -errno, and no file is watched. */
int opened_file_init(struct opened_file *file, const char *directory, const char *name);
void opened_file_deinit(struct opened_file *file); /* accepts a zeroed FILE */
/*
 * Return whether the path now names another file or none. If the path cannot be checked for another
 * reason, or FILE is zeroed, return false.
 */
bool opened_file_replaced(const struct opened_file *file);

#endif
