/*
 * A file that is held open, and the path that it was opened by.
 *
 * Somebody may delete a file that a daemon writes, or put another in its place: the daemon would go on writing what nobody can read.
 */
#ifndef COMMON_OPENED_H
#define COMMON_OPENED_H

#include <stdbool.h>
#include <sys/types.h>

struct opened_file {
	char *path; /* owned; NULL = none is watched */
	dev_t dev;
	ino_t ino;
};

/* Remember which file DIRECTORY/NAME is now.  0 or -errno; then nothing is watched. */
int opened_file_init(struct opened_file *file, const char *directory, const char *name);
void opened_file_deinit(struct opened_file *file); /* zeroed too */
/*
 * Return whether its path names another file now, or none.  A path that cannot be looked at for another reason counts as unchanged;
 * so does a zeroed FILE.
 */
bool opened_file_replaced(const struct opened_file *file);

#endif
