/* Unpack compressed traces and archives of CTF directories. */
#ifndef CTL_UNPACK_H
#define CTL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* This many first bytes show an input's kind. */
#define UNPACK_HEAD 512u

/* Return true if the first LEN bytes are of gzip, xz, zstd or tar. */
bool unpack_wanted(const uint8_t *bytes, size_t len);
/* Return true if more bytes could still make unpack_wanted() true. */
bool unpack_undecided(const uint8_t *bytes, size_t len);

/* Take the unpacked bytes. */
struct unpack_ops {
	/* Take the next bytes of the file. Return 0, or -errno to stop. */
	int (*bytes)(void *context, const void *bytes, size_t len);
	/*
	 * Begin the regular file PATH of an archive; its bytes follow by bytes(). Return as
	 * bytes(), or 1 to skip the file.
	 */
	int (*member)(void *context, const char *path);
	void *context;
};

/*
 * Unpack the LEN bytes at HEAD and all that FD has behind them. NAME is for messages. Return 0,
 * -errno of OPS or of reading, or 1 if the packed data is damaged or cut; then the damage was
 * reported and the bytes before it were given out.
 */
int unpack_run(int fd, const uint8_t *head, size_t len, const char *name, const struct unpack_ops *ops);

#endif
