/* Unpack compressed traces, and the files of tar archives. */
#ifndef CTL_UNPACK_H
#define CTL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of first bytes that show the kind of an input. */
#define UNPACK_HEAD 512u

/* Return true if the first LEN bytes of an input are those of gzip, xz, zstd or tar. */
bool unpack_wanted(const uint8_t *bytes, size_t len);
/* Return true if LEN is too small to know what unpack_wanted() will return. */
bool unpack_undecided(const uint8_t *bytes, size_t len);

/* Functions that take the unpacked bytes. */
struct unpack_ops {
	/* Take the next LEN bytes of the present file. Return 0, or -errno to stop. */
	int (*bytes)(void *context, const void *bytes, size_t len);
	/*
	 * Begin the regular file PATH of an archive; bytes() gets its contents next. Return 0,
	 * -errno to stop, or 1 to skip the file. Not called for a compressed file that is no
	 * archive.
	 */
	int (*member)(void *context, const char *path);
	void *context;
};

/*
 * Unpack an input: the LEN bytes at HEAD, then all bytes that can be read from FD. NAME is for
 * messages. Return 0, or -errno of OPS or of reading. Return 1 if the packed data is damaged or
 * cut; then the damage was reported, and OPS got all bytes before it.
 */
int unpack_run(int fd, const uint8_t *head, size_t len, const char *name, const struct unpack_ops *ops);

#endif
