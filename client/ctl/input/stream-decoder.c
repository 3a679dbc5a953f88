/*
 * This file decodes one stream.
 *
 * A file or a pipe may contain the image of a ring, whose packets are out of order. So the bytes
 * are held in memory until the input ends, and then decoded in the order of the packets. The bytes
 * are decoded at once, without waiting for the end, in three cases: the input is larger than
 * MPROF_RING_BYTES_MAX, so it is no image of a ring; a pipe begins with a packet in the form that
 * only the daemon serves, so that `follow | dump -` prints events when they come; or the input is
 * an s-expression log, which has no packets.
 *
 * Each damage is reported on stderr in one sentence, at most DAMAGES_REPORTED times, so that a
 * hostile trace cannot flood a terminal or a log. The consumer flushes its output before each
 * sentence, so that the sentence appears at its place among the events.
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

bool stream_decoder_init(struct stream_decoder *s, const struct consumer *consumer, const char *name,
			 enum stream_decoder_kind kind)
{
	*s = (struct stream_decoder){.consumer = consumer, .name = name, .kind = kind, .decoder = mprof_decoder_new()};
	if (s->decoder)
		mprof_decoder_recorders(s->decoder, consumer->recorders);
	return s->decoder != NULL;
}

void stream_decoder_deinit(struct stream_decoder *s)
{
	s->decoder = mprof_decoder_free(s->decoder);
	s->sexp = mprof_sexp_free(s->sexp);
	free(s->held);
	s->held = NULL;
}

const struct mprof_totals *stream_decoder_totals(const struct stream_decoder *s)
{
	return mprof_decoder_totals(s->decoder);
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
static size_t next_events(struct stream_decoder *s, struct mprof_event *events, enum mprof_status *status)
{
	if (!s->sexp)
		return mprof_decoder_batch(s->decoder, events, BATCH, status);
	*status = mprof_sexp_next(s->sexp, events);
	return *status == MPROF_OK;
}

/* Tell the consumer how many packets are missing, before it gets the events after the gap. */
static int pass_gap(struct stream_decoder *s)
{
	uint64_t lost = stream_decoder_totals(s)->lost_packets, n = lost - s->lost;

	s->lost = lost;
	return n && s->consumer->gap ? s->consumer->gap(s->consumer->context, s->stream, n) : 0;
}

/* Report the packet of the events that follow, unless the consumer knows it. */
static int pass_packet(struct stream_decoder *s)
{
	const struct mprof_packet *packet;

	if (!s->consumer->packet || s->sexp)
		return 0;
	packet = mprof_decoder_packet(s->decoder);
	if (s->in_packet && packet->index == s->packet)
		return 0;
	s->in_packet = true;
	s->packet = packet->index;
	return s->consumer->packet(s->consumer->context, s->stream, packet);
}

static int pass_damage(struct stream_decoder *s)
{
	const struct mprof_damage *damage = s->sexp ? mprof_sexp_damage(s->sexp) : mprof_decoder_damage(s->decoder);
	int r = s->consumer->damage ? s->consumer->damage(s->consumer->context, s->stream, damage) : 0;

	r = r ? r : pause_consumer(s->consumer);
	report_damage(s->name, damage, ++s->damages);
	return r;
}

/*
 * Pass events to the consumer until the decoder returns STOP, which is MPROF_MORE or MPROF_END.
 * Return 0, -ENOMEM, or the consumer's error.
 */
static int drain(struct stream_decoder *s, enum mprof_status stop)
{
	struct mprof_event events[BATCH];
	enum mprof_status status = MPROF_OK;
	size_t n;
	int r = 0;

	while (!r && status != stop) {
		n = next_events(s, events, &status);
		if (status == MPROF_NOMEM)
			return -ENOMEM;
		r = pass_gap(s);
		if (n && !r)
			r = pass_packet(s);
		if (n && !r)
			r = s->consumer->events(s->consumer->context, s->stream, events, n);
		if (status == MPROF_CORRUPT && !r)
			r = pass_damage(s);
	}
	return r;
}

/* Decode LEN bytes, and pass their events to the consumer. Return as drain(). */
static int pass_on(struct stream_decoder *s, const void *bytes, size_t len)
{
	if (s->sexp)
		mprof_sexp_feed(s->sexp, bytes, len);
	else
		mprof_decoder_feed(s->decoder, bytes, len);
	return drain(s, MPROF_MORE);
}

uint8_t *stream_decoder_room(struct stream_decoder *s, size_t *room)
{
	size_t most = (size_t)MPROF_RING_BYTES_MAX + PIECE;
	uint8_t *grown;

	/* Grow the buffer by the bytes received, not by the sizes that the input claims. */
	if (s->used == s->room) {
		size_t larger = s->room ? s->room * 2 : PIECE;

		larger = larger < most ? larger : most;
		grown = realloc(s->held, larger);
		if (!grown)
			return NULL;
		s->held = grown;
		s->room = larger;
	}
	*room = s->room - s->used;
	return s->held + s->used;
}

/*
 * Look at the first bytes of the input. Set KIND to STREAM_DECODER_STREAM, so that the input is
 * decoded at once, if these bytes are an s-expression log, or if the input is a pipe and they are a
 * packet in the form that only the daemon serves. Return 0 or -ENOMEM.
 */
static int judge_beginning(struct stream_decoder *s)
{
	if (mprof_sexp_begins(s->held, s->used)) {
		s->sexp = mprof_sexp_new();
		if (!s->sexp)
			return -ENOMEM;
		s->kind = STREAM_DECODER_STREAM;
	} else if (s->kind == STREAM_DECODER_PIPE && mprof_order_served(s->held, s->used)) {
		s->kind = STREAM_DECODER_STREAM;
	}
	return 0;
}

int stream_decoder_advance(struct stream_decoder *s, size_t n)
{
	int r = 0;

	s->bytes += n;
	s->used += n;
	if (s->kind != STREAM_DECODER_STREAM && n) {
		r = judge_beginning(s);
		if (s->used > MPROF_RING_BYTES_MAX)
			s->kind = STREAM_DECODER_STREAM;
	}
	if (r || s->kind != STREAM_DECODER_STREAM)
		return r;
	r = pass_on(s, s->held, s->used);
	s->used = 0;
	/* If the input has few bytes for now, flush the output for a user who watches it. */
	return !r && n < s->room / 4 ? pause_consumer(s->consumer) : r;
}

/* Decode all bytes in the buffer in the order of the packets. Return as drain(). */
static int pass_whole(struct stream_decoder *s)
{
	CLEANUP(mprof_order_freep) struct mprof_order *order = mprof_order_new();
	int r = 0;

	if (!order)
		return -ENOMEM;
	mprof_order_scan(order, s->held, s->used);
	for (size_t i = 0; i < mprof_order_spans(order) && !r; i++) {
		const struct mprof_span *span = mprof_order_span(order, i);

		mprof_decoder_begin(s->decoder, span->offset, span->packet);
		mprof_decoder_feed(s->decoder, s->held + span->offset, (size_t)span->bytes);
		mprof_decoder_finish(s->decoder);
		r = drain(s, MPROF_END);
	}
	return r;
}

int stream_decoder_end(struct stream_decoder *s)
{
	int r;

	if (s->kind != STREAM_DECODER_STREAM) {
		r = pass_whole(s);
	} else if (s->sexp) {
		mprof_sexp_feed(s->sexp, NULL, 0);
		mprof_sexp_finish(s->sexp);
		r = drain(s, MPROF_END);
	} else {
		mprof_decoder_feed(s->decoder, NULL, 0);
		mprof_decoder_finish(s->decoder);
		r = drain(s, MPROF_END);
	}
	s->used = 0;
	return r ? r : pause_consumer(s->consumer);
}

/* Copy LEN bytes to the buffer, and decode them. Return as stream_decoder_put(). */
static int put_copy(struct stream_decoder *s, const uint8_t *bytes, size_t len)
{
	uint8_t *at;
	size_t n;
	int r = 0;

	while (len && !r) {
		at = stream_decoder_room(s, &n);
		if (!at)
			return -ENOMEM;
		n = n < len ? n : len;
		memcpy(at, bytes, n);
		bytes += n;
		len -= n;
		r = stream_decoder_advance(s, n);
	}
	return r;
}

int stream_decoder_put(struct stream_decoder *s, const void *bytes, size_t len)
{
	int r;

	if (s->kind != STREAM_DECODER_STREAM || s->used)
		return put_copy(s, bytes, len);
	s->bytes += len;
	r = pass_on(s, bytes, len);
	return !r && len < PIECE / 4 ? pause_consumer(s->consumer) : r;
}
