/*
 * Decode one stream.
 *
 * A file or a pipe may hold a wrapped ring's image. So it is held until its end comes, and then
 * decoded in logical order. No ring is larger than MPROF_RING_BYTES_MAX; a larger input is a stream
 * and is decoded as it comes. An input that begins with a packet as the daemon serves them is
 * decoded as it comes too, so that `follow | dump -` prints at once, and so is an s-expression log,
 * which has no packets.
 *
 * Each damage is reported on stderr in one sentence, up to a limit: a hostile trace must not flood
 * a terminal or a log. The consumer flushes first, so that the sentence stands in order with the
 * output.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "ctl.h"
#include "stream-decoder.h"

#define PIECE		 (256u << 10)
#define DAMAGES_REPORTED 100
#define BATCH		 256u /* events; with their fields they fit a processor's first-level cache */

CLEANUP_DEFINE(struct mprof_order, mprof_order_free)

bool stream_decoder_init(struct stream_decoder *f, const struct consumer *consumer, const char *name,
			 enum stream_decoder_kind kind)
{
	*f = (struct stream_decoder){.consumer = consumer, .name = name, .kind = kind, .decoder = mprof_decoder_new()};
	return f->decoder != NULL;
}

void stream_decoder_deinit(struct stream_decoder *f)
{
	f->decoder = mprof_decoder_free(f->decoder);
	f->sexp = mprof_sexp_free(f->sexp);
	free(f->held);
	f->held = NULL;
}

const struct mprof_totals *stream_decoder_totals(const struct stream_decoder *f)
{
	return mprof_decoder_totals(f->decoder);
}

void report_damage(const char *name, const struct mprof_damage *damage, uint64_t n)
{
	char sentence[256];

	if (n > DAMAGES_REPORTED)
		return;
	mprof_damage_text(damage, sentence, sizeof(sentence));
	say("%s: %s", name, sentence);
	if (n == DAMAGES_REPORTED)
		say("%s: further damage is not listed", name);
}

static int pause_consumer(const struct consumer *consumer)
{
	return consumer->pause ? consumer->pause(consumer->context) : 0;
}

/*
 * Decode the next events into EVENTS. Return their number. A log gives one event at a time,
 * because its decoder keeps one string at a time.
 */
static size_t next_events(struct stream_decoder *f, struct mprof_event *events, enum mprof_status *status)
{
	if (!f->sexp)
		return mprof_decoder_batch(f->decoder, events, BATCH, status);
	*status = mprof_sexp_next(f->sexp, events);
	return *status == MPROF_OK;
}

/* Report missing packets to the consumer, before the events behind the gap. */
static int pass_gap(struct stream_decoder *f)
{
	uint64_t lost = stream_decoder_totals(f)->lost_packets, n = lost - f->lost;

	f->lost = lost;
	return n && f->consumer->gap ? f->consumer->gap(f->consumer->context, f->stream, n) : 0;
}

static int pass_damage(struct stream_decoder *f)
{
	const struct mprof_damage *damage = f->sexp ? mprof_sexp_damage(f->sexp) : mprof_decoder_damage(f->decoder);
	int r = f->consumer->damage ? f->consumer->damage(f->consumer->context, f->stream, damage) : 0;

	r = r ? r : pause_consumer(f->consumer);
	report_damage(f->name, damage, ++f->damages);
	return r;
}

/* Give out events until the decoder returns STOP (MPROF_MORE or MPROF_END). */
static int drain(struct stream_decoder *f, enum mprof_status stop)
{
	struct mprof_event events[BATCH];
	enum mprof_status status = MPROF_OK;
	size_t n;
	int r = 0;

	while (!r && status != stop) {
		n = next_events(f, events, &status);
		if (status == MPROF_NOMEM)
			return -ENOMEM;
		r = pass_gap(f);
		if (n && !r)
			r = f->consumer->events(f->consumer->context, f->stream, events, n);
		if (status == MPROF_CORRUPT && !r)
			r = pass_damage(f);
	}
	return r;
}

/* Decode all held bytes, give out their events, and drop the bytes. */
static int pass_on(struct stream_decoder *f)
{
	int r;

	if (f->sexp)
		mprof_sexp_feed(f->sexp, f->held, f->used);
	else
		mprof_decoder_feed(f->decoder, f->held, f->used);
	r = drain(f, MPROF_MORE);
	f->used = 0;
	return r;
}

uint8_t *stream_decoder_room(struct stream_decoder *f, size_t *room)
{
	size_t most = (size_t)MPROF_RING_BYTES_MAX + PIECE;
	uint8_t *grown;

	/* The buffer grows with the bytes that came, not with sizes that the input claims. */
	if (f->used == f->room) {
		size_t larger = f->room ? f->room * 2 : PIECE;

		larger = larger < most ? larger : most;
		grown = realloc(f->held, larger);
		if (!grown)
			return NULL;
		f->held = grown;
		f->room = larger;
	}
	*room = f->room - f->used;
	return f->held + f->used;
}

/* Judge the kind of the stream by its first bytes. */
static int judge_beginning(struct stream_decoder *f)
{
	if (mprof_sexp_begins(f->held, f->used)) {
		f->sexp = mprof_sexp_new();
		if (!f->sexp)
			return -ENOMEM;
		f->kind = STREAM_DECODER_STREAM;
	} else if (f->kind == STREAM_DECODER_PIPE && mprof_order_served(f->held, f->used)) {
		f->kind = STREAM_DECODER_STREAM;
	}
	return 0;
}

int stream_decoder_advance(struct stream_decoder *f, size_t n)
{
	int r = 0;

	f->bytes += n;
	f->used += n;
	if (f->kind != STREAM_DECODER_STREAM && n) {
		r = judge_beginning(f);
		if (f->used > MPROF_RING_BYTES_MAX)
			f->kind = STREAM_DECODER_STREAM;
	}
	if (r || f->kind != STREAM_DECODER_STREAM)
		return r;
	r = pass_on(f);
	/* Someone may be watching: flush when the input has no more for now. */
	return !r && n < f->room / 4 ? pause_consumer(f->consumer) : r;
}

/* Decode all held bytes in logical order. */
static int pass_whole(struct stream_decoder *f)
{
	CLEANUP(mprof_order_freep) struct mprof_order *order = mprof_order_new();
	int r = 0;

	if (!order)
		return -ENOMEM;
	mprof_order_scan(order, f->held, f->used);
	for (size_t i = 0; i < mprof_order_spans(order) && !r; i++) {
		const struct mprof_span *span = mprof_order_span(order, i);

		mprof_decoder_begin(f->decoder, span->offset, span->packet);
		mprof_decoder_feed(f->decoder, f->held + span->offset, span->bytes);
		mprof_decoder_finish(f->decoder);
		r = drain(f, MPROF_END);
	}
	return r;
}

int stream_decoder_end(struct stream_decoder *f)
{
	int r;

	if (f->kind != STREAM_DECODER_STREAM) {
		r = pass_whole(f);
	} else if (f->sexp) {
		mprof_sexp_feed(f->sexp, NULL, 0);
		mprof_sexp_finish(f->sexp);
		r = drain(f, MPROF_END);
	} else {
		mprof_decoder_feed(f->decoder, NULL, 0);
		mprof_decoder_finish(f->decoder);
		r = drain(f, MPROF_END);
	}
	f->used = 0;
	return r ? r : pause_consumer(f->consumer);
}

int stream_decoder_put(struct stream_decoder *f, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint8_t *at;
	size_t n;
	int r = 0;

	while (len && !r) {
		at = stream_decoder_room(f, &n);
		if (!at)
			return -ENOMEM;
		n = n < len ? n : len;
		memcpy(at, p, n);
		p += n;
		len -= n;
		r = stream_decoder_advance(f, n);
	}
	return r;
}
