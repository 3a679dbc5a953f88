/* Headers of POSIX ustar, for regular files. */
#ifndef SERVE_TAR_H
#define SERVE_TAR_H

#include <stddef.h>
#include <stdint.h>

#define TAR_BLOCK 512u

/*
 * Write the header of a file to OUT (TAR_BLOCK bytes). The file has the NAME, shorter than 100
 * bytes, BYTES of content, and was modified at SECONDS since 1970.
 */
void tar_header(char *out, const char *name, uint64_t bytes, uint64_t seconds);
/* Return the number of zero bytes that follow a file of BYTES. */
size_t tar_padding(uint64_t bytes);

#endif
