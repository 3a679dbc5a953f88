/*
 * This file is no part of the freestanding recorder, because its two functions make system calls.
 * Recording into the ring makes no system call.
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
 * Create a file of SIZE bytes at PATH, mode 0640 less the umask, and map it into *F. An existing
 * file is unlinked first, not overwritten: a program that still writes to the old file keeps it.
 * Return 0, or -errno; on an error *F is closed. *F owns the mapping until
 * mprof_recorder_file_close().
 */
int mprof_recorder_file_open(struct mprof_recorder_file *f, const char *path, size_t size);

/* Unmap the ring; the file stays. Stop the recorder first. Do nothing if *F is closed or zeroed. */
void mprof_recorder_file_close(struct mprof_recorder_file *f);

#ifdef __cplusplus
}
#endif

#endif
