/* A buffered writer over a file descriptor. */
#ifndef CTL_WRITER_H
#define CTL_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WRITER_BYTES (256u << 10)

/* Write all LEN bytes to FD. Return 0 or -errno. */
int write_all(int fd, const void *bytes, size_t len);

struct writer {
	int fd;
	size_t used;
	int error; /* the first errno of a write, or 0; nothing is written after an error */
	char *buf; /* WRITER_BYTES bytes; owned */
};

/* Begin writing to FD, which the caller keeps. Return false without memory. */
bool writer_init(struct writer *w, int fd);
/* Release W without flushing. */
void writer_deinit(struct writer *w);

/* Return 0, or -errno of the first failed write. */
int writer_flush(struct writer *w);

/* Return room for N bytes (at most WRITER_BYTES). Call writer_advance() next. */
static inline char *writer_room(struct writer *w, size_t n)
{
	if (WRITER_BYTES - w->used < n)
		writer_flush(w);
	return w->buf + w->used;
}

static inline void writer_advance(struct writer *w, size_t n)
{
	w->used += n;
}

/* Write N bytes past the buffer. */
void writer_put_long(struct writer *w, const void *bytes, size_t n);

/* Write N bytes. N is mostly small and known to the compiler. */
static inline void writer_put(struct writer *w, const void *bytes, size_t n)
{
	if (n > WRITER_BYTES / 2) {
		writer_put_long(w, bytes, n);
		return;
	}
	memcpy(writer_room(w, n), bytes, n);
	writer_advance(w, n);
}

/* Base64 into a writer, from pieces of any length. */
struct base64 {
	struct writer *out; /* borrowed */
	uint8_t rest[3];    /* up to two bytes that wait for more */
	size_t used;
};

void base64_put(struct base64 *b, const void *bytes, size_t len);
/* Write the waiting bytes and the padding. */
void base64_end(struct base64 *b);

#endif
