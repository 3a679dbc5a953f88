/* Lines of events.  Errors of writing stay in the writer: the verb looks there for what to say. */
#include <errno.h>
#include <string.h>

#include <mprof/trace.h>

#include "dumper.h"
#include "filter.h"

#define TEXT_SHORT 256u /* bytes of a string */

static int dumper_events(void *data, unsigned int stream, const struct mprof_event *events, size_t n);

static int dumper_pause(void *data)
{
	struct dumper *d = data;

	return writer_flush(&d->out);
}

static int dumper_streams(void *data, char *const *names, unsigned int count)
{
	struct dumper *d = data;

	(void)count;
	d->streams = names;
	return 0;
}

bool dumper_init(struct dumper *d, int out_fd, bool json)
{
	*d = (struct dumper){.json = json};
	d->sink = (struct sink){.streams = dumper_streams, .events = dumper_events, .pause = dumper_pause, .data = d};
	return writer_init(&d->out, out_fd);
}

void dumper_deinit(struct dumper *d)
{
	writer_deinit(&d->out);
}

static void put_text(struct dumper *d, const char *text, size_t left)
{
	while (left) {
		/* In pieces, so that a string of any length needs no more than the buffer. */
		size_t piece = left < 4096 ? left * MPROF_TEXT_FACTOR + 32 : 4096 * MPROF_TEXT_FACTOR;
		char *out = writer_room(&d->out, piece);

		writer_advance(&d->out, d->json ? mprof_text_json(out, piece, &text, &left)
						: mprof_text_escape(out, piece, &text, &left));
		if (d->out.error)
			return;
	}
}

/* A string that is not UTF-8 would lose bytes in JSON: give them in hexadecimal besides. */
static void put_hex(struct dumper *d, const char *key, const char *text, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	writer_put(&d->out, ",\"", 2);
	writer_put(&d->out, key, strlen(key));
	writer_put(&d->out, "_hex\":\"", 7);
	for (i = 0; i < len; i++) {
		char *out = writer_room(&d->out, 2);

		out[0] = digits[(uint8_t)text[i] >> 4];
		out[1] = digits[(uint8_t)text[i] & 15];
		writer_advance(&d->out, 2);
	}
	writer_put(&d->out, "\"", 1);
}

/* Nearly all events: one without a string, or with one so short that the whole line surely has room. */
static void put_short_line(struct dumper *d, const struct mprof_raw_event *e)
{
	char *line = writer_room(&d->out, MPROF_TEXT_FIXED_MAX + TEXT_SHORT * MPROF_TEXT_FACTOR + 64);
	const char *text = e->text;
	size_t left = e->text_bytes, n = mprof_event_text(e, line);

	if (text) {
		n += mprof_text_escape(line + n, TEXT_SHORT * MPROF_TEXT_FACTOR + 32, &text, &left);
		line[n++] = '"';
	}
	line[n++] = '\n';
	writer_advance(&d->out, n);
}

static void put_line(struct dumper *d, const struct mprof_raw_event *e, const char *stream)
{
	char *line = writer_room(&d->out, MPROF_TEXT_FIXED_MAX);
	size_t n = d->json ? mprof_event_json(e, line) : mprof_event_text(e, line);

	/* Without a string the object is closed already. */
	writer_advance(&d->out, n - (d->json && !e->text));
	if (e->text) {
		put_text(d, e->text, e->text_bytes);
		writer_put(&d->out, "\"", 1);
		if (d->json && !mprof_text_is_utf8(e->text, e->text_bytes))
			put_hex(d, mprof_event_text_key(e), e->text, e->text_bytes);
	}
	if (stream) {
		const char *key = d->json ? ",\"stream\":\"" : " stream=\"";

		writer_put(&d->out, key, strlen(key));
		put_text(d, stream, strlen(stream));
		writer_put(&d->out, "\"", 1);
	}
	writer_put(&d->out, d->json ? "}\n" : "\n", d->json ? 2 : 1);
}

static int dumper_events(void *data, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct dumper *d = data;
	const char *name = d->streams ? d->streams[stream] : NULL;
	size_t i;

	for (i = 0; i < n && !d->out.error; i++) {
		const struct mprof_raw_event *e = &events[i].raw;

		if (d->filter && !filter_takes(d->filter, stream, e))
			continue;
		if (d->json || name || e->text_bytes > TEXT_SHORT)
			put_line(d, e, name);
		else
			put_short_line(d, e);
	}
	return d->filter && d->filter->failed ? -ENOMEM : -d->out.error;
}
