/* Headers of a tar (POSIX ustar), for regular files. */
#ifndef SERVE_TAR_H
#define SERVE_TAR_H

#include <stddef.h>
#include <stdint.h>

#define TAR_BLOCK 512u

/* NAME (below 100 bytes) of BYTES, last changed at SECONDS, as a header at OUT, which has TAR_BLOCK bytes. */
void tar_header(char *out, const char *name, uint64_t bytes, uint64_t seconds);
/* How many zero bytes follow a file of BYTES. */
size_t tar_padding(uint64_t bytes);

#endif
