/*
 * Input of one stream.
 *
 * Invariants:
 * - Held bytes begin at the start of the input. If the input is not held, only the bytes that
 *   arrived last are kept.
 * - The header walk goes from packet header to packet header, however the bytes are cut, and
 *   decodes nothing. It stops at an invalid header and sets ODD.
 */
#include "wasm-input.h"

#include <stdlib.h>
#include <string.h>

#include <mprof/packet.h>

#define ROOM_FIRST (1u << 20)

/* Packet headers seen so far. */
struct header_walk {
	uint64_t skip; /* number of bytes up to the next header */
	uint8_t header[MPROF_PACKET_HEADER_BYTES];
	size_t have; /* number of bytes in HEADER */
	uint32_t packets;
	uint16_t count; /* count of the last packet */
	bool back;	/* a packet's count was older than that of the packet before */
	bool odd;	/* a header was invalid */
};

struct input {
	struct mprof_decoder *decoder;
	struct mprof_sexp *sexp; /* decoder of a log of s-expressions; NULL: the input has packets */
	struct mprof_order *order;
	uint8_t *bytes;
	size_t used;
	size_t room;
	size_t fed; /* number of the USED bytes that the decoder got */
	uint64_t came;
	struct header_walk headers;
	size_t span; /* index of the next span of ORDER */
	enum input_kind kind;
	bool held;
	bool ended;
	bool finished; /* the decoder was told the end of the span, or of the input */
};

struct input *input_new(enum input_kind kind)
{
	struct input *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->held = true;
	i->kind = kind;
	i->decoder = mprof_decoder_new();
	if (!i->decoder)
		return input_free(i);
	mprof_decoder_recorders(i->decoder, true);
	return i;
}

struct input *input_free(struct input *i)
{
	if (!i)
		return NULL;
	mprof_decoder_free(i->decoder);
	mprof_sexp_free(i->sexp);
	mprof_order_free(i->order);
	free(i->bytes);
	free(i);
	return NULL;
}

static bool resize(struct input *i, size_t room)
{
	uint8_t *bytes = realloc(i->bytes, room);

	if (!bytes)
		return false;
	i->bytes = bytes;
	i->room = room;
	return true;
}

void input_expect(struct input *i, uint64_t bytes)
{
	/* This may fail: without this room the buffer grows with the bytes. */
	if (i->held && i->kind != INPUT_TWICE && bytes > i->room && bytes <= MPROF_RING_BYTES_MAX)
		resize(i, (size_t)bytes);
}

void input_hold(struct input *i)
{
	i->kind = INPUT_HELD;
}

/*
 * Return room for N bytes of an input that is not held: the new bytes overwrite the last ones.
 * Return NULL without memory.
 */
static uint8_t *room_passing(struct input *i, size_t n)
{
	size_t room = n > ROOM_FIRST ? n : ROOM_FIRST;

	i->used = 0;
	i->fed = 0;
	if (i->room < n || i->room > 4 * room) {
		free(i->bytes);
		i->bytes = NULL;
		i->room = 0;
		if (!resize(i, room))
			return NULL;
	}
	return i->bytes;
}

uint8_t *input_room(struct input *i, size_t n)
{
	size_t room = i->room;

	if (!i->held)
		return room_passing(i, n);
	if (n > SIZE_MAX / 2 - i->used)
		return NULL;
	if (i->used + n > room) {
		room = room + room / 2 > i->used + n ? room + room / 2 : i->used + n;
		if (!resize(i, room < ROOM_FIRST ? ROOM_FIRST : room))
			return NULL;
	}
	return i->bytes + i->used;
}

static void header_walk_packet(struct header_walk *w)
{
	struct mprof_packet_header h;

	w->have = 0;
	if (mprof_packet_load(&h, w->header, sizeof(w->header)) != MPROF_PACKET_OK) {
		w->odd = true;
		return;
	}
	w->back = w->back || (w->packets && (uint16_t)(h.count - w->count) > 0x8000);
	w->packets += w->packets <= MPROF_RING_PACKETS_MAX;
	w->count = h.count;
	w->skip = h.packet_bytes - MPROF_PACKET_HEADER_BYTES;
}

/* Let the header walk go over the next N bytes of the input, at P. */
static void header_walk_bytes(struct header_walk *w, const uint8_t *p, size_t n)
{
	size_t take;

	while (n && !w->odd) {
		take = sizeof(w->header) - w->have;
		if (w->skip)
			take = w->skip < n ? (size_t)w->skip : n;
		else if (take > n)
			take = n;
		if (w->skip) {
			w->skip -= take;
		} else {
			memcpy(w->header + w->have, p, take);
			w->have += take;
		}
		p += take;
		n -= take;
		if (w->have == sizeof(w->header))
			header_walk_packet(w);
	}
}

bool input_wrapped(const struct input *i)
{
	/* An input with more packets than a ring has is never reordered. */
	return i->kind == INPUT_TWICE && !i->sexp && i->came <= MPROF_RING_BYTES_MAX &&
	       i->headers.packets <= MPROF_RING_PACKETS_MAX && (i->headers.back || i->headers.odd);
}

/*
 * Return true when the beginning of the input shows that it can be decoded as it arrives. BEFORE is
 * the number of bytes that came before the last ones: only the beginning is tested, because
 * otherwise a file of blanks would be tested again and again.
 */
static bool begins_as_stream(const struct input *i, uint64_t before)
{
	if (before < MPROF_PACKET_HEADER_BYTES && i->kind == INPUT_SERVED && mprof_order_served(i->bytes, i->used))
		return true;
	return !before && mprof_sexp_begins(i->bytes, i->used);
}

void input_came(struct input *i, size_t n)
{
	header_walk_bytes(&i->headers, i->bytes + i->used, n);
	i->came += n;
	i->used += n;
	if (!i->held || i->kind == INPUT_HELD)
		return;
	if (i->came > MPROF_RING_BYTES_MAX || i->headers.packets > MPROF_RING_PACKETS_MAX || i->kind == INPUT_TWICE ||
	    begins_as_stream(i, i->came - n))
		i->held = false;
}

void input_end(struct input *i)
{
	i->ended = true;
}

static bool begin_sexp(struct input *i)
{
	if (i->sexp || i->came != i->used || !mprof_sexp_begins(i->bytes, i->used))
		return true;
	i->sexp = mprof_sexp_new();
	return i->sexp;
}

/*
 * Feed the decoder the bytes that have arrived; the input is not held. Return MPROF_OK; MPROF_MORE
 * when there are no bytes; MPROF_END at the end; or MPROF_NOMEM.
 */
static enum mprof_status feed_passing(struct input *i)
{
	if (i->finished)
		return MPROF_END;
	if (!begin_sexp(i))
		return MPROF_NOMEM;
	if (i->fed == i->used && !i->ended)
		return MPROF_MORE;
	if (i->sexp)
		mprof_sexp_feed(i->sexp, i->bytes + i->fed, i->used - i->fed);
	else
		mprof_decoder_feed(i->decoder, i->bytes + i->fed, i->used - i->fed);
	i->fed = i->used;
	if (!i->ended)
		return MPROF_OK;
	if (i->sexp)
		mprof_sexp_finish(i->sexp);
	else
		mprof_decoder_finish(i->decoder);
	i->finished = true;
	return MPROF_OK;
}

/* Feed the decoder the next span of the held bytes. Return as feed_passing(). */
static enum mprof_status feed_span(struct input *i)
{
	const struct mprof_span *span;

	if (!i->order) {
		i->order = mprof_order_new();
		if (!i->order)
			return MPROF_NOMEM;
		mprof_order_scan(i->order, i->bytes, i->used);
	}
	if (i->span == mprof_order_spans(i->order))
		return MPROF_END;
	span = mprof_order_span(i->order, i->span++);
	mprof_decoder_begin(i->decoder, span->offset, span->packet);
	mprof_decoder_feed(i->decoder, i->bytes + span->offset, (size_t)span->bytes);
	mprof_decoder_finish(i->decoder);
	return MPROF_OK;
}

/*
 * Feed the decoder more bytes, after it has returned MPROF_MORE or MPROF_END. Return as
 * feed_passing().
 */
static enum mprof_status feed(struct input *i)
{
	if (!i->held)
		return feed_passing(i);
	if (!i->ended)
		return MPROF_MORE;
	if (i->order || !mprof_sexp_begins(i->bytes, i->used))
		return feed_span(i);
	i->held = false;
	return feed_passing(i);
}

static size_t decode(struct input *i, struct mprof_event *events, size_t n, enum mprof_status *status)
{
	if (!i->sexp)
		return mprof_decoder_batch(i->decoder, events, n, status);
	*status = mprof_sexp_next(i->sexp, events);
	return *status == MPROF_OK;
}

size_t input_next(struct input *i, struct mprof_event *events, size_t n, enum mprof_status *status)
{
	size_t got = 0;

	do {
		got = decode(i, events, n, status);
		if (got || (*status != MPROF_MORE && *status != MPROF_END))
			break;
		*status = feed(i);
	} while (*status == MPROF_OK);
	return got;
}

const struct mprof_damage *input_damage(const struct input *i)
{
	return i->sexp ? mprof_sexp_damage(i->sexp) : mprof_decoder_damage(i->decoder);
}

const struct mprof_totals *input_totals(const struct input *i)
{
	return mprof_decoder_totals(i->decoder);
}

bool input_packet(const struct input *i, uint16_t *count)
{
	*count = mprof_decoder_packet(i->decoder)->count;
	return !i->sexp;
}

uint64_t input_bytes(const struct input *i)
{
	return i->came;
}
