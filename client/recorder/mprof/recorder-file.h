/*
 * A ring in a file: for programs that run on a system with files, and are read by `mprofd --source dir:PATH`.
 *
 * Not part of the freestanding recorder: this one calls the system, before and after recording.
 */
#ifndef MPROF_RECORDER_FILE_H
#define MPROF_RECORDER_FILE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mprof_recorder_file {
	void *memory; /* page aligned; NULL = closed */
	size_t size;
};

/*
 * Make a new file of SIZE bytes at PATH, mode 0640 less the umask, and map it.  A file that is there already is replaced, not
 * overwritten: a program that still writes to it keeps its own.  Returns 0, or -errno and *F closed.
 */
int mprof_recorder_file_open(struct mprof_recorder_file *f, const char *path, size_t size);

/* Unmap it; the file stays.  Stop the recorder first.  Does nothing to a closed or zeroed one. */
void mprof_recorder_file_close(struct mprof_recorder_file *f);

#ifdef __cplusplus
}
#endif

#endif
