/*
 * The buffered writer.  stdio is not used, because the formatting writes into the buffer itself and an error must keep its
 * errno.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "writer.h"

bool writer_init(struct writer *w, int fd)
{
	*w = (struct writer){.fd = fd, .buf = malloc(WRITER_BYTES)};
	return w->buf != NULL;
}

void writer_deinit(struct writer *w)
{
	free(w->buf);
	w->buf = NULL;
}

static void write_all(struct writer *w, const char *p, size_t n)
{
	while (n && !w->error) {
		ssize_t done = write(w->fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			w->error = errno;
			return;
		}
		p += done;
		n -= (size_t)done;
	}
}

int writer_flush(struct writer *w)
{
	write_all(w, w->buf, w->used);
	w->used = 0;
	return -w->error;
}

void writer_put_long(struct writer *w, const void *bytes, size_t n)
{
	writer_flush(w);
	write_all(w, bytes, n);
}
