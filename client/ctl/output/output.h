/* Where a body goes: a file that appears when it is complete, or a stream. */
#ifndef CTL_OUTPUT_H
#define CTL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output {
	int fd;	       /* -1 = closed */
	char *path;    /* as it was named; NULL = standard output */
	char *place;   /* that, or where a symbolic link leads to from there */
	char *temp;    /* the file's name until it is complete, or NULL where it has none or is written in place */
	bool nameless; /* has it no name until it is complete? */
	bool replace;  /* may a file of that name be replaced? */
	bool close_it; /* is the descriptor ours? */
	bool can_start_over; /* is it an ordinary file? */
};

enum output_mode {
	OUTPUT_NEW,	/* written aside, and only if there is no file of that name when it is complete */
	OUTPUT_REPLACE, /* written aside, replaces a file of that name when it is complete */
	OUTPUT_DIRECT,	/* written in place from the start: for what has no end */
};

/*
 * PATH, or standard output for "-".  What a symbolic link leads to is written, and the link stays.  A terminal is refused.  Returns an exit code,
 * having said why; VERB is for the hint.
 */
int output_open(struct output *o, const char *path, enum output_mode mode, const char *verb);
/* 0 or -errno. */
int output_write(struct output *o, const void *bytes, size_t len);
/* Forget what was written.  Only if can_start_over; 0 or -errno. */
int output_start_over(struct output *o);
/* It is complete: give the file its name.  Returns an exit code, having said why. */
int output_commit(struct output *o);
/* Without a commit nothing stays of a file written aside. */
void output_close(struct output *o);

/* ".NAME.END" beside PATH, to be freed; NULL without memory. */
char *output_aside(const char *path, const char *end);

/* Say that writing failed with ERROR (an errno); returns the exit code, CTL_OK where the reader of a pipe just left. */
int output_complain(const struct output *o, int error);

/* Files without a name, for what must be read again and cannot be. */

/* A new one, to be closed, or -errno.  In $TMPDIR, else where large files may be. */
int spool_file(void);

#endif
