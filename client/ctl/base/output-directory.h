/*
 * Write several files into a new directory. The directory appears at its path only when all files
 * are complete.
 */
#ifndef CTL_OUTPUT_DIRECTORY_H
#define CTL_OUTPUT_DIRECTORY_H

#include <stddef.h>

/* A file of the directory that has no name on the disk yet. */
struct output_part {
	char *name;
	int fd;
};

struct output_directory {
	char *path; /* path that the directory will have */
	int above;  /* descriptor of the parent directory; -1 = closed */
	struct output_part *list;
	size_t n;
	size_t room;
};

/*
 * Prepare a new directory at PATH without creating anything on the disk. Fail if PATH exists and is
 * no empty directory. VERB is for messages. Return an exit code. The caller closes D in any case.
 */
int output_directory_open(struct output_directory *d, const char *path, const char *verb);
/*
 * Create a file that will be called NAME (without a slash). Return a descriptor that the caller
 * closes; -EEXIST if D has a file of that name, or another -errno.
 */
int output_directory_file(struct output_directory *d, const char *name);
/* Create the directory at its path with all its files. Return an exit code. */
int output_directory_commit(struct output_directory *d);
/*
 * Release D. Without output_directory_commit() the files never get names, so nothing of them
 * remains on the disk.
 */
void output_directory_close(struct output_directory *d);

#endif
