/*
 * A file that is mapped read-only while another program writes it, and may cut it. Bytes that are cut off
 * read as missing; they end no process.
 */
#ifndef RUN_MAPPING_H
#define RUN_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/runtime.h>

/* Zeroed: closed. */
struct mapping {
	struct mprof_runtime_map map;
	bool volatile cut; /* a part of the file was missing once: nothing is loaded any more */
};

/*
 * Map the SIZE bytes of FD, which stays the caller's. Return 0 or -errno. The first call takes
 * SIGBUS for the process.
 */
int mapping_open(struct mapping *m, int fd, size_t size);
void mapping_close(struct mapping *m);
/* load() for a struct mapping as context, as struct mprof_runtime_memory asks for. */
bool mapping_load(void *mapping, uint64_t offset, void *to, size_t words);

#endif
