/*
 * Bytes in, lines out.
 *
 * Damage is told on stderr, one sentence each, up to a limit: a hostile trace must not flood a terminal or a log.  The lines
 * written before are flushed first, so that sentence and lines stand in order where both go to one place.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <mprof/trace.h>

#include "ctl.h"
#include "dumper.h"
#include "scope.h"

#define DAMAGES_TOLD 100
#define TEXT_SHORT   256u /* bytes of a string */
#define BATCH	     256u /* events: with their fields they fit a processor's nearest cache */

SCOPED_DEFINE(struct mprof_order, mprof_order_free)

bool dumper_init(struct dumper *d, const char *name, int out_fd, bool json)
{
	*d = (struct dumper){.name = name, .json = json};
	d->decoder = mprof_decoder_new();
	return d->decoder && writer_init(&d->out, out_fd);
}

void dumper_deinit(struct dumper *d)
{
	d->decoder = mprof_decoder_free(d->decoder);
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

static void put_event(struct dumper *d, const struct mprof_raw_event *e)
{
	char *line;

	if (!d->json && e->text_bytes <= TEXT_SHORT) {
		put_short_line(d, e);
		return;
	}
	line = writer_room(&d->out, MPROF_TEXT_FIXED_MAX);
	if (d->json)
		writer_advance(&d->out, mprof_event_json(e, line));
	else
		writer_advance(&d->out, mprof_event_text(e, line));
	if (e->text) {
		put_text(d, e->text, e->text_bytes);
		writer_put(&d->out, "\"", 1);
		if (d->json && !mprof_text_is_utf8(e->text, e->text_bytes))
			put_hex(d, mprof_event_text_key(e), e->text, e->text_bytes);
		if (d->json)
			writer_put(&d->out, "}", 1);
	}
	writer_put(&d->out, "\n", 1);
}

static void tell_damage(struct dumper *d)
{
	char sentence[256];

	d->damages++;
	if (d->damages > DAMAGES_TOLD)
		return;
	writer_flush(&d->out);
	mprof_damage_text(mprof_decoder_damage(d->decoder), sentence, sizeof(sentence));
	say("%s: %s", d->name, sentence);
	if (d->damages == DAMAGES_TOLD)
		say("%s: further damage is not listed", d->name);
}

/* Take events until the decoder says STOP (MPROF_MORE or MPROF_END). */
static int drain(struct dumper *d, enum mprof_status stop)
{
	struct mprof_event events[BATCH];
	enum mprof_status status = MPROF_OK;
	size_t i, n;

	while (status != stop) {
		n = mprof_decoder_batch(d->decoder, events, BATCH, &status);
		for (i = 0; i < n; i++)
			put_event(d, &events[i].raw);
		if (status == MPROF_NOMEM)
			return -ENOMEM;
		if (status == MPROF_CORRUPT)
			tell_damage(d);
		if (d->out.error)
			return -d->out.error;
	}
	return 0;
}

int dumper_feed(struct dumper *d, const void *bytes, size_t len)
{
	mprof_decoder_feed(d->decoder, bytes, len);
	return drain(d, MPROF_MORE);
}

int dumper_finish(struct dumper *d)
{
	int r;

	mprof_decoder_feed(d->decoder, NULL, 0);
	mprof_decoder_finish(d->decoder);
	r = drain(d, MPROF_END);
	return r ? r : writer_flush(&d->out);
}

int dumper_whole(struct dumper *d, const void *bytes, size_t len)
{
	SCOPED(mprof_order_freep) struct mprof_order *order = mprof_order_new();
	size_t i;
	int r;

	if (!order)
		return -ENOMEM;
	mprof_order_scan(order, bytes, len);
	for (i = 0; i < mprof_order_spans(order); i++) {
		const struct mprof_span *span = mprof_order_span(order, i);

		mprof_decoder_begin(d->decoder, span->offset, span->packet);
		mprof_decoder_feed(d->decoder, (const uint8_t *)bytes + span->offset, span->bytes);
		mprof_decoder_finish(d->decoder);
		r = drain(d, MPROF_END);
		if (r)
			return r;
	}
	return writer_flush(&d->out);
}
