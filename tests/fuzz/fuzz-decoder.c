/*
 * Fuzz the decoder and the order of packets with any bytes. The first byte says into which pieces
 * the other bytes are cut. The output must be the same as for one piece, and refer only to bytes of
 * the input.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/trace.h>

#include "fuzz.h"

struct sum {
	uint64_t hash;
	uint64_t n;
};

static void add(struct sum *sum, uint64_t value)
{
	sum->hash = (sum->hash ^ value) * 0x100000001b3;
	sum->n++;
}

static void add_text(struct sum *sum, const char *text, size_t left)
{
	char out[64];
	size_t i, n;

	while (left) {
		n = left % 2 ? mprof_text_escape(out, sizeof(out), &text, &left)
			     : mprof_text_json(out, sizeof(out), &text, &left);
		require(n && n <= sizeof(out));
		for (i = 0; i < n; i++) {
			require((uint8_t)out[i] >= 0x20 && out[i] != 0x7f);
			add(sum, (uint8_t)out[i]);
		}
	}
}

static void add_event(struct sum *sum, const struct mprof_event *event, size_t size)
{
	char line[MPROF_TEXT_FIXED_MAX];
	size_t n = mprof_event_text(&event->raw, line);

	require(n < sizeof(line));
	require(event->offset < size && event->raw.bytes <= size - event->offset);
	add(sum, event->raw.timestamp);
	add(sum, (uint64_t)event->raw.context);
	add(sum, (uint64_t)event->raw.number);
	add(sum, event->raw.id + 256u * event->raw.type);
	add(sum, event->raw.bytes);
	require((event->raw.text != NULL) == (mprof_event_text_key(&event->raw) != NULL));
	add(sum, event->offset);
	add(sum, n);
	require(mprof_event_json(&event->raw, line) < sizeof(line));
	if (event->raw.text)
		add_text(sum, event->raw.text, event->raw.text_bytes);
}

static void add_damage(struct sum *sum, const struct mprof_damage *damage, size_t size)
{
	char sentence[256];

	require(damage->offset <= size && damage->packet_offset <= size && damage->skipped <= UINT32_MAX);
	require(mprof_damage_text(damage, sentence, sizeof(sentence)) < sizeof(sentence) - 1);
	add(sum, damage->reason);
	add(sum, damage->offset);
	add(sum, damage->packet);
	add(sum, damage->skipped);
	add(sum, damage->unproven);
}

static void drain(struct mprof_decoder *d, struct sum *sum, size_t size, enum mprof_status stop)
{
	struct mprof_event event;
	enum mprof_status status;

	while ((status = mprof_decoder_next(d, &event)) != stop) {
		require(status == MPROF_OK || status == MPROF_CORRUPT);
		if (status == MPROF_OK)
			add_event(sum, &event, size);
		else
			add_damage(sum, mprof_decoder_damage(d), size);
		/*
		 * Each call consumes at least one byte, except at the end of an input that ends
		 * inside a packet.
		 */
		require(sum->n < 100 * (uint64_t)size + 100);
	}
}

/*
 * Do the same as drain, in batches of BATCH events. The fast path must give the same events as the
 * slow one.
 */
static void drain_batches(struct mprof_decoder *d, struct sum *sum, size_t size, enum mprof_status stop, size_t batch)
{
	struct mprof_event events[64];
	enum mprof_status status = MPROF_OK;
	size_t i, n;

	while (status != stop) {
		n = mprof_decoder_batch(d, events, batch, &status);
		require(n <= batch && status != MPROF_NOMEM && (n || status != MPROF_OK));
		for (i = 0; i < n; i++)
			add_event(sum, &events[i], size);
		if (status == MPROF_CORRUPT)
			add_damage(sum, mprof_decoder_damage(d), size);
		require(sum->n < 100 * (uint64_t)size + 100);
	}
}

static void drain_either(struct mprof_decoder *d, struct sum *sum, size_t size, enum mprof_status stop, size_t batch)
{
	if (batch)
		drain_batches(d, sum, size, stop, batch);
	else
		drain(d, sum, size, stop);
}

/*
 * Decode DATA in pieces of STEP bytes, each of them in memory of its own. BATCH is the most events
 * of a call, 0 for the function that returns single events.
 */
static struct sum decode(const uint8_t *data, size_t size, size_t step, size_t batch)
{
	struct mprof_decoder *d = mprof_decoder_new();
	struct sum sum = {0};
	size_t at, n;

	require(d != NULL);
	for (at = 0; at < size; at += n) {
		uint8_t *piece;

		n = size - at < step ? size - at : step;
		piece = malloc(n);
		require(piece != NULL);
		memcpy(piece, data + at, n);
		mprof_decoder_feed(d, piece, n);
		drain_either(d, &sum, size, MPROF_MORE, batch);
		free(piece);
	}
	mprof_decoder_finish(d);
	drain_either(d, &sum, size, MPROF_END, batch);
	add(&sum, mprof_decoder_totals(d)->steps);
	add(&sum, mprof_decoder_totals(d)->step_at);
	add(&sum, mprof_decoder_totals(d)->step_ns);
	mprof_decoder_free(d);
	return sum;
}

/* Check that the spans of an order have each byte of the input exactly once. */
static void check_order(const uint8_t *data, size_t size)
{
	struct mprof_order *order = mprof_order_new();
	size_t i, total = 0;

	require(order != NULL);
	mprof_order_scan(order, data, size);
	for (i = 0; i < mprof_order_spans(order); i++) {
		const struct mprof_span *span = mprof_order_span(order, i);

		require(span->offset <= size && span->bytes <= size - span->offset);
		total += span->bytes;
	}
	require(total == size || mprof_order_spans(order) == 0);
	mprof_order_free(order);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sum whole, cut, fast;
	size_t step;

	if (!size)
		return 0;
	step = data[0] + 1u;
	data++;
	size--;
	whole = decode(data, size, size ? size : 1, 0);
	cut = decode(data, size, step, 0);
	require(whole.hash == cut.hash && whole.n == cut.n);
	fast = decode(data, size, size ? size : 1, 64);
	require(whole.hash == fast.hash && whole.n == fast.n);
	fast = decode(data, size, step, step % 64 + 1);
	require(whole.hash == fast.hash && whole.n == fast.n);
	check_order(data, size);
	return 0;
}
