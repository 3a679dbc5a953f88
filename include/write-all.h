/* Writing to a file descriptor. */
#ifndef INCLUDE_WRITE_ALL_H
#define INCLUDE_WRITE_ALL_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* Write all LEN bytes to FD, which blocks. Return 0 or -errno; then a part of them may have been written. */
static inline int write_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

#endif
