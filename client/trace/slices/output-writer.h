/* A buffered writer over a file descriptor. */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "write-all.h"

#define WRITER_BYTES (256u << 10)

struct writer {
	int fd;
	size_t used;
	int error; /* the errno of the first failed write, or 0; after an error nothing is written */
	char *buf; /* WRITER_BYTES bytes; owned */
};

/* Begin writing to FD. The caller keeps the ownership of FD. Return false without memory. */
bool writer_init(struct writer *w, int fd);
/* Free the buffer. Bytes that were not flushed are lost. */
void writer_deinit(struct writer *w);

/* Write the buffered bytes. Return 0, or -errno of the first write that ever failed. */
int writer_flush(struct writer *w);

/* Return a buffer for N bytes (at most WRITER_BYTES). When it is filled, call writer_advance(). */
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

/* Write N bytes directly, after the bytes in the buffer. */
void writer_put_long(struct writer *w, const void *bytes, size_t n);

/* Write N bytes. This function is inline because N is mostly a small constant. */
static inline void writer_put(struct writer *w, const void *bytes, size_t n)
{
	if (n > WRITER_BYTES / 2) {
		writer_put_long(w, bytes, n);
		return;
	}
	memcpy(writer_room(w, n), bytes, n);
	writer_advance(w, n);
}

/*
 * Write LEN bytes at TEXT as the inside of a JSON string, without the quotes. Bytes that are not
 * UTF-8 become the replacement character.
 */
void write_json_text(struct writer *w, const char *text, size_t len);

/* Encode bytes as base64 into a writer. The bytes come in pieces of any length. */
struct base64 {
	struct writer *out; /* borrowed */
	uint8_t rest[3];    /* up to two bytes that do not make four characters yet */
	size_t used;
};

void base64_put(struct base64 *b, const void *bytes, size_t len);
/* Write the bytes in REST and the padding. */
void base64_end(struct base64 *b);

#endif
