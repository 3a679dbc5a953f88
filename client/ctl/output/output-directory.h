/* Where several files go: a directory that appears when it is complete. */
#ifndef CTL_OUTPUT_DIRECTORY_H
#define CTL_OUTPUT_DIRECTORY_H

struct output_directory {
	int fd;	    /* -1 = closed; make files here */
	char *path; /* what it will be */
	char *temp; /* what it is until then; NULL = it is complete */
};

/*
 * A new directory aside of PATH.  What is there already is never replaced, except for an empty directory.  Returns an exit code, having said
 * why; VERB is for the hint.  Close it in any case.
 */
int output_directory_open(struct output_directory *d, const char *path, const char *verb);
/* It is complete: give it its name.  Returns an exit code, having said why. */
int output_directory_commit(struct output_directory *d);
/* Without a commit the directory and the files in it go. */
void output_directory_close(struct output_directory *d);

#endif
