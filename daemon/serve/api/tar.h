/* Headers of POSIX ustar, for regular files. */
#ifndef SERVE_TAR_H
#define SERVE_TAR_H

#include <stddef.h>
#include <stdint.h>

#define TAR_BLOCK 512u

/*
 * Write the header of file NAME (below 100 bytes) of BYTES, modified at SECONDS, to OUT, which has
 * TAR_BLOCK bytes.
 */
void tar_header(char *out, const char *name, uint64_t bytes, uint64_t seconds);
/* Return the number of zero bytes behind a file of BYTES. */
size_t tar_padding(uint64_t bytes);

#endif
