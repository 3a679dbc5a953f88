/* The input of a reader (reading.h): the bytes of a capture of the hub, in memory. */
#ifndef ANNOTATE_INPUT_H
#define ANNOTATE_INPUT_H

#include "copy.h"

/*
 * Copy the capture KEY from P, which is connected, into a file of memory. *FD is its descriptor, at its beginning,
 * which the caller closes. Unproven bytes at the end of a stream are in it as far as they are valid. DIRECTORY
 * exists; a directory is made below it and removed again. The bodies, decoded, may have at most MOST bytes.
 * Return as capture_copy(), with a sentence in SENTENCE (SIZE bytes) unless 0.
 */
int input_make(struct postgres *p, const struct capture_key *key, const char *directory, uint64_t most, int *fd,
	       char *sentence, size_t size);

#endif
