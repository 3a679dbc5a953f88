/* Copy the part of a memory profile that a capture of the fleet's database has into a file. */
#ifndef HUB_MEMORY_COPY_H
#define HUB_MEMORY_COPY_H

#include "copy.h"

#define MEMORY_COPY_FILE "memory"

/*
 * Copy recording RECORDING of the capture KEY from P to the file MEMORY_COPY_FILE in DIRECTORY, decoded, at most
 * MOST bytes. Return as capture_copy().
 */
int memory_copy(struct postgres *p, const struct capture_key *key, int32_t recording, const char *directory,
		uint64_t most, char *sentence, size_t size);

#endif
