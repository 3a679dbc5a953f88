/*
 * Notice that a file which the daemon holds open was deleted or replaced. The daemon would go on
 * writing to a file that has no name any more, and all of its data would be lost.
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

/* Record which file DIRECTORY/NAME is now. Return 0; or -errno, and no file is watched. */
int opened_file_init(struct opened_file *file, const char *directory, const char *name);
void opened_file_deinit(struct opened_file *file); /* accepts a zeroed FILE */
/*
 * Return whether the path now names another file, or none. Return false if FILE is zeroed, or if
 * stat() fails for another reason than a missing file.
 */
bool opened_file_replaced(const struct opened_file *file);

#endif
