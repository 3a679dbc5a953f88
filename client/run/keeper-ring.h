/*
 * The rings of a process: files in its directory, or memory that is published to Xen. A file has a hidden name until the headers of its
 * ring are complete.
 */
#ifndef RUN_KEEPER_RING_H
#define RUN_KEEPER_RING_H

#include <mprof/recorder-file.h>
#include <mprof/recorder.h>
#include <stdint.h>

struct guest_process;

/* The rings of a process. */
struct ring_place {
	const char *path;	   /* their directory; NULL = they are published to Xen */
	struct guest_process *xen; /* they belong to it; NULL = they are files */
};

/*
 * Make the ring NAME of BYTES bytes in PLACE, and let RECORDER write it. FILE is the mapped file, which
 * the caller closes, or stays as it is. Memory that is published to Xen stays mapped until
 * guest_process_end() returns true. Return 0 or -errno.
 */
int keeper_ring_make(const struct ring_place *place, const char *name, uint64_t bytes, struct mprof_recorder_file *file,
		     struct mprof_recorder *recorder);

/* Make the ring NAME of BYTES bytes in the directory with the descriptor DIRECTORY, as keeper_ring_make() does. */
int file_ring_make(int directory, const char *name, uint64_t bytes, struct mprof_recorder_file *file,
		   struct mprof_recorder *recorder);

/* Make the file NAME of BYTES bytes in the directory DIR, with a ring without events for a thread. Return a descriptor of it, or -errno. */
int thread_ring_make(const char *dir, const char *name, uint64_t bytes);

#endif
