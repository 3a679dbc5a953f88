/*
 * Fuzz the reader of logs of s-expressions with any bytes. The first byte says into which pieces
 * the other bytes are cut. The events must be the same for any pieces.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/trace.h>

#include "fuzz.h"

static uint64_t add(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x100000001b3;
}

static uint64_t add_event(uint64_t hash, const struct mprof_event *event, size_t size)
{
	const struct mprof_raw_event *e = &event->raw;
	size_t i;

	require(event->offset < size && e->id < MPROF_EVENT_IDS);
	require((e->text != NULL) == (mprof_event_text_key(e) != NULL) && (!e->text || !e->text[e->text_bytes]));
	hash = add(add(add(hash, event->offset), e->timestamp), e->id + 256u * e->type);
	hash = add(add(hash, (uint64_t)e->context), (uint64_t)e->number);
	for (i = 0; e->text && i < e->text_bytes; i++)
		hash = add(hash, (uint8_t)e->text[i]);
	return hash;
}

static uint64_t drain(struct mprof_sexp *s, uint64_t hash, size_t size, enum mprof_status stop)
{
	struct mprof_event event;
	enum mprof_status status;

	while ((status = mprof_sexp_next(s, &event)) != stop) {
		require(status == MPROF_OK || status == MPROF_CORRUPT);
		hash = status == MPROF_OK ? add_event(hash, &event, size) : add(hash, mprof_sexp_damage(s)->offset);
	}
	return hash;
}

static uint64_t decode(const uint8_t *data, size_t size, size_t step)
{
	struct mprof_sexp *s = mprof_sexp_new();
	uint64_t hash = 0;
	size_t at, n;

	require(s != NULL);
	for (at = 0; at < size; at += n) {
		uint8_t *piece;

		n = size - at < step ? size - at : step;
		piece = malloc(n);
		require(piece != NULL);
		memcpy(piece, data + at, n);
		mprof_sexp_feed(s, piece, n);
		hash = drain(s, hash, size, MPROF_MORE);
		free(piece);
	}
	mprof_sexp_finish(s);
	hash = drain(s, hash, size, MPROF_END);
	mprof_sexp_free(s);
	return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	require(decode(data + 1, size - 1, size) == decode(data + 1, size - 1, data[0] + 1u));
	return 0;
}
