/* Write several files into a directory that appears when it is complete. */
#ifndef CTL_OUTPUT_DIRECTORY_H
#define CTL_OUTPUT_DIRECTORY_H

#include <stddef.h>

/* A file of the directory, still without a name. */
struct output_part {
	char *name;
	int fd;
};

struct output_directory {
	char *path; /* the final path */
	int above;  /* the parent directory; -1 = closed */
	struct output_part *list;
	size_t n;
	size_t room;
};

/*
 * Prepare a new directory at PATH, but create nothing yet. Never replace anything except an empty
 * directory. VERB is for the message. Return an exit code. The caller closes D in any case.
 */
int output_directory_open(struct output_directory *d, const char *path, const char *verb);
/*
 * Create a file NAME without a slash. Return a descriptor that the caller closes; -EEXIST if the
 * name is taken, or another -errno.
 */
int output_directory_file(struct output_directory *d, const char *name);
/* Give the directory and its files their names. Return an exit code. */
int output_directory_commit(struct output_directory *d);
/*
 * Release D. Without output_directory_commit() the files never get names, so nothing of them
 * remains on the disk.
 */
void output_directory_close(struct output_directory *d);

#endif
