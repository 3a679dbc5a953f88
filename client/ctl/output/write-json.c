/* JSON into a writer.  Errors of writing stay there. */
#include <string.h>

#include "write-json.h"

#define PIECE 4096u

void write_json_text(struct writer *w, const char *text, size_t len)
{
	size_t left = len;

	while (left && !w->error) {
		/* In pieces, so that a string of any length needs no more than the buffer. */
		size_t room = (left < PIECE ? left : PIECE) * MPROF_TEXT_FACTOR + 32;
		char *out = writer_room(w, room);

		writer_advance(w, mprof_text_json(out, room, &text, &left));
	}
}

/* A string that is not UTF-8 would lose bytes in JSON: give them in hexadecimal besides. */
static void put_hex(struct writer *w, const char *key, const char *text, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	writer_put(w, ",\"", 2);
	writer_put(w, key, strlen(key));
	writer_put(w, "_hex\":\"", 7);
	for (i = 0; i < len && !w->error; i++) {
		char *out = writer_room(w, 2);

		out[0] = digits[(uint8_t)text[i] >> 4];
		out[1] = digits[(uint8_t)text[i] & 15];
		writer_advance(w, 2);
	}
	writer_put(w, "\"", 1);
}

void write_json_event(struct writer *w, const struct mprof_raw_event *e, const char *stream)
{
	size_t n = mprof_event_json(e, writer_room(w, MPROF_TEXT_FIXED_MAX));

	/* Without a string the object is closed already. */
	writer_advance(w, n - !e->text);
	if (e->text) {
		write_json_text(w, e->text, e->text_bytes);
		writer_put(w, "\"", 1);
		if (!mprof_text_is_utf8(e->text, e->text_bytes))
			put_hex(w, mprof_event_text_key(e), e->text, e->text_bytes);
	}
	if (stream) {
		writer_put(w, ",\"stream\":\"", 11);
		write_json_text(w, stream, strlen(stream));
		writer_put(w, "\"", 1);
	}
	writer_put(w, "}", 1);
}
