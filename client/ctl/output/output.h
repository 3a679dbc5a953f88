/* Write a file that appears when it is complete, or a stream. */
#ifndef CTL_OUTPUT_H
#define CTL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output {
	int fd;	     /* -1 = closed */
	char *path;  /* as given; NULL for standard output */
	char *place; /* the final path, behind symbolic links */
	/* Name until the file is complete; NULL if it has none or is written in place. */
	char *temp;
	bool nameless;	     /* the file has no name until it is complete */
	bool replace;	     /* an existing file may be replaced */
	bool close_it;	     /* the descriptor is owned */
	bool can_start_over; /* the output is a regular file */
};

enum output_mode {
	OUTPUT_NEW,	/* written aside; fails if the file exists when the output is complete */
	OUTPUT_REPLACE, /* written aside; replaces an existing file when the output is complete */
	OUTPUT_DIRECT,	/* written in place from the start, for output without an end */
};

/*
 * Open PATH, or standard output for "-". Write to the file behind a symbolic link and keep the
 * link. Refuse a terminal. VERB is for the message. Return an exit code.
 */
int output_open(struct output *o, const char *path, enum output_mode mode, const char *verb);
/* Return 0 or -errno. */
int output_write(struct output *o, const void *bytes, size_t len);
/* Drop all that was written. Only if can_start_over. Return 0 or -errno. */
int output_start_over(struct output *o);
/* Give the complete file its name. Return an exit code. */
int output_commit(struct output *o);
/* Release O. Without a commit nothing remains of a file written aside. */
void output_close(struct output *o);

/* Return ".NAME.END" beside PATH. The caller frees it. Return NULL without memory. */
char *output_aside(const char *path, const char *end);

/*
 * Report that writing failed with ERROR (an errno). Return an exit code: CTL_OK if the reader of a
 * pipe left.
 */
int output_complain(const struct output *o, int error);

/*
 * Create an unnamed temporary file for data that must be read again. It is in $TMPDIR, by default
 * in /var/tmp. Return a descriptor that the caller closes, or -errno.
 */
int spool_file(void);

#endif
