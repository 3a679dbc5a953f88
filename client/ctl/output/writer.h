/* A buffered writer over a file descriptor: the text of events, and bodies on their way to a file or a pipe. */
#ifndef CTL_WRITER_H
#define CTL_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WRITER_BYTES (256u << 10)

struct writer {
	int fd;
	size_t used;
	int error; /* the first errno of a write, or 0; nothing is written behind it */
	char *buf; /* WRITER_BYTES */
};

/* On descriptor FD, which stays the caller's; false without memory. */
bool writer_init(struct writer *w, int fd);
/* Does not flush. */
void writer_deinit(struct writer *w);

/* Returns 0 or the -errno of any write so far. */
int writer_flush(struct writer *w);

/* At least N (up to WRITER_BYTES) free bytes to write into; follow with writer_advance(). */
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

/* The same for so many bytes that they pass the buffer by. */
void writer_put_long(struct writer *w, const void *bytes, size_t n);

/* Mostly a few bytes, of which the compiler knows how many. */
static inline void writer_put(struct writer *w, const void *bytes, size_t n)
{
	if (n > WRITER_BYTES / 2) {
		writer_put_long(w, bytes, n);
		return;
	}
	memcpy(writer_room(w, n), bytes, n);
	writer_advance(w, n);
}

/* Bytes as base64, into a writer, in pieces of any length. */

struct base64 {
	struct writer *out; /* borrowed */
	uint8_t rest[3];    /* what waits for more, up to two */
	size_t used;
};

void base64_put(struct base64 *b, const void *bytes, size_t len);
/* What waits, and what fills the last four characters up. */
void base64_end(struct base64 *b);

#endif
