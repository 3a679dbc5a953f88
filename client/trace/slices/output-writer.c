/*
 * A buffered writer, used instead of stdio for two reasons: callers format numbers directly in its
 * buffer, and it keeps the errno of the first failed write.
 */
#include <stdlib.h>

#include <mprof/trace.h>

#include "output-writer.h"

#define LONG_PIECE 4096u

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

static void put_all(struct writer *w, const void *bytes, size_t n)
{
	if (!w->error)
		w->error = -write_all(w->fd, bytes, n);
}

int writer_flush(struct writer *w)
{
	put_all(w, w->buf, w->used);
	w->used = 0;
	return -w->error;
}

void writer_put_long(struct writer *w, const void *bytes, size_t n)
{
	writer_flush(w);
	put_all(w, bytes, n);
}

void write_json_text(struct writer *w, const char *text, size_t len)
{
	size_t left = len;

	while (left && !w->error) {
		/*
		 * Escape LONG_PIECE bytes at a time, because the writer's buffer does not hold a
		 * string of any length.
		 */
		size_t room = (left < LONG_PIECE ? left : LONG_PIECE) * MPROF_TEXT_FACTOR + 32;
		char *out = writer_room(w, room);

		writer_advance(w, mprof_text_json(out, room, &text, &left));
	}
}

/* Base64, as in RFC 4648, section 4. */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_three(struct writer *w, const uint8_t *p)
{
	char *out = writer_room(w, 4);

	out[0] = letters[p[0] >> 2];
	out[1] = letters[(p[0] & 3) << 4 | p[1] >> 4];
	out[2] = letters[(p[1] & 15) << 2 | p[2] >> 6];
	out[3] = letters[p[2] & 63];
	writer_advance(w, 4);
}

void base64_put(struct base64 *b, const void *bytes, size_t len)
{
	const uint8_t *p = bytes, *end = p + len;
	size_t used = b->used % sizeof(b->rest);

	while (p < end) {
		if (!used && end - p >= 3) {
			put_three(b->out, p);
			p += 3;
			continue;
		}
		b->rest[used++] = *p++;
		if (used == sizeof(b->rest)) {
			put_three(b->out, b->rest);
			used = 0;
		}
	}
	b->used = used;
}

void base64_end(struct base64 *b)
{
	size_t used = b->used;
	char *out;

	if (!used)
		return;
	for (size_t i = used; i < 3; i++)
		b->rest[i] = 0;
	put_three(b->out, b->rest);
	/*
	 * put_three() has just written four characters. For each missing byte replace one of them,
	 * from the end, by the padding.
	 */
	out = b->out->buf + b->out->used;
	for (size_t i = used; i < 3; i++)
		out[(ptrdiff_t)i - 3] = '=';
	b->used = 0;
}
