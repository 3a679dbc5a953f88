/* Compressed traces, and archives of a trace's directory. */
#ifndef CTL_UNPACK_H
#define CTL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many first bytes settle what an input is. */
#define UNPACK_HEAD 512u

/* Do the first LEN bytes say gzip, xz, zstd or tar? */
bool unpack_wanted(const uint8_t *bytes, size_t len);
/* May they come to say so with more bytes? */
bool unpack_undecided(const uint8_t *bytes, size_t len);

/* Where it goes. */
struct unpack_ops {
	/* The next bytes of the one file that a compressed input is.  0, or a -errno that ends it. */
	int (*bytes)(void *data, const void *bytes, size_t len);
	/* A member of an archive, an ordinary file with its path: its bytes follow by bytes().  As there; 1 = not wanted. */
	int (*member)(void *data, const char *path);
	void *data;
};

/*
 * Unpack what comes from FD behind the LEN bytes at HEAD, NAME for complaints.  Returns 0, -errno of the ops or of reading, or 1 where
 * the packed data is damaged or cut, having said so: what came before it was given out.
 */
int unpack_run(int fd, const uint8_t *head, size_t len, const char *name, const struct unpack_ops *ops);

#endif
