/*
 * Write to a file or to a stream such as a pipe. A file appears at its path only when it is
 * complete.
 */
#ifndef CTL_OUTPUT_H
#define CTL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output {
	/*
	 * -1 = closed. A file that is not written in place can also be read.
	 */
	int fd;
	char *path;  /* as on the command line; NULL for standard output */
	char *place; /* path that the file will have; symbolic links are resolved */
	/*
	 * Temporary path until the file is complete. NULL if the file has no name or is written in
	 * place.
	 */
	char *temp;
	bool nameless;	     /* the file is unnamed (O_TMPFILE) until it is complete */
	bool replace;	     /* output_commit() may replace an existing file */
	bool close_it;	     /* output_close() must close FD */
	bool can_start_over; /* output_start_over() is possible: the output is a regular file */
};

enum output_mode {
	/* Write a temporary file. output_commit() fails if the final path exists. */
	OUTPUT_NEW,
	/* Write a temporary file. output_commit() replaces an existing file. */
	OUTPUT_REPLACE,
	OUTPUT_DIRECT, /* write to the path itself from the start, for output without an end */
};

/*
 * Open PATH, or standard output for "-". If PATH is a symbolic link, the link stays and its target
 * is written. Fail if the output is a terminal. VERB is for messages. Return an exit code.
 */
int output_open(struct output *o, const char *path, enum output_mode mode, const char *verb);
/* Write LEN bytes. Return 0 or -errno. */
int output_write(struct output *o, const void *bytes, size_t len);
/*
 * Drop all bytes that were written. Call this function only if CAN_START_OVER is set. Return 0 or
 * -errno.
 */
int output_start_over(struct output *o);
/* Give the complete file its final path. Return an exit code. */
int output_commit(struct output *o);
/* Release O. Without output_commit() no temporary file remains. */
void output_close(struct output *o);

/*
 * Return the path ".NAME.END" in the folder of PATH, where NAME is the last part of PATH. The
 * caller frees it. Return NULL without memory.
 */
char *output_aside(const char *path, const char *end);

/*
 * Report that writing failed with ERROR, an errno. Return an exit code. If the reader of a pipe has
 * closed it, report nothing and return CTL_OK.
 */
int output_complain(const struct output *o, int error);

/*
 * Create an unnamed temporary file for data that is written first and read later. It is in $TMPDIR,
 * by default in /var/tmp. Return a descriptor that the caller closes, or -errno.
 */
int spool_file(void);

#endif
