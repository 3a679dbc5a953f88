/* Where several files go: a directory that appears when it is complete. */
#ifndef CTL_OUTPUT_DIRECTORY_H
#define CTL_OUTPUT_DIRECTORY_H

#include <stddef.h>

/* One of its files, which has no name yet. */
struct output_part {
	char *name;
	int fd;
};

struct output_directory {
	char *path; /* what it will be */
	int above;  /* the directory that it will be in; -1 = closed */
	struct output_part *list;
	size_t n;
	size_t room;
};

/*
 * For a new directory at PATH; nothing is made of it yet.  What is there already is never replaced, except for an empty directory.  Returns an exit code,
 * having said why; VERB is for the hint.  Close it in any case.
 */
int output_directory_open(struct output_directory *d, const char *path, const char *verb);
/* A new file NAME of it, which has no slash.  A descriptor to write, the caller's own; -EEXIST where one has that name, or another -errno. */
int output_directory_file(struct output_directory *d, const char *name);
/* It is complete: give it and all that is in it their names.  Returns an exit code, having said why. */
int output_directory_commit(struct output_directory *d);
/* Without a commit nothing is left. */
void output_directory_close(struct output_directory *d);

#endif
