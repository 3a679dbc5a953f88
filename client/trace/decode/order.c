/*
 * The logical order of an input's packets.
 *
 * A ring is overwritten packet by packet, so the image of a wrapped ring begins in the middle. Data
 * from the daemon is in order, can be long, can lack packets, and has the same 16-bit counts. These
 * rules serve both:
 *
 * 1. An input keeps its order when it has more than MPROF_RING_PACKETS_MAX packets, or when its
 *    counts never go back. Counts go back at a step of more than 0x8000 modulo 65,536. All long
 *    streams keep their order by this rule, however often the count wraps, and so do continuations
 *    with equal counts.
 * 2. When the counts go back exactly once, and the packets from there on, followed by the packets
 *    before, have consecutive counts, the input is the image of a ring: begin there.
 * 3. Anything else is either the damaged image of a ring, which is sorted by count, or a stream
 *    with a gap of more than 32,768 packets, which keeps its order. It is a stream when packets are
 *    cut to their content as served ones are, when the sizes of packets differ (the last one may be
 *    larger), when two have the same count, or when their first timestamps ascend in the order of
 *    the input.
 *
 * An invalid header is skipped up to the next valid one. The skipped bytes belong to the span of
 * the packet before them, so the decoder sees and reports them.
 */
#include <stdlib.h>
#include <string.h>

#include <mprof/trace.h>

struct entry {
	struct mprof_span span;
	uint32_t packet_bytes;
	uint32_t content_bytes;
	uint16_t count;
	int16_t distance; /* COUNT minus the first packet's count, modulo 65,536 */
	bool timed;
	uint64_t first_timestamp;
};

struct mprof_order {
	size_t n;
	struct entry entries[MPROF_RING_PACKETS_MAX];
};

struct mprof_order *mprof_order_new(void)
{
	return calloc(1, sizeof(struct mprof_order));
}

struct mprof_order *mprof_order_free(struct mprof_order *o)
{
	free(o);
	return NULL;
}

size_t mprof_order_spans(const struct mprof_order *o)
{
	return o->n;
}

const struct mprof_span *mprof_order_span(const struct mprof_order *o, size_t i)
{
	return &o->entries[i].span;
}

bool mprof_order_served(const void *bytes, size_t len)
{
	struct mprof_packet_header h;

	return mprof_packet_load(&h, bytes, len) == MPROF_PACKET_OK && h.packet_bytes == h.content_bytes;
}

/*
 * Return the position of the first valid header in LEN bytes at P, from position AT on; LEN if
 * there is none.
 */
static size_t next_header(const uint8_t *p, size_t at, size_t len)
{
	static const uint8_t magic[4] = {0xc1, 0x1f, 0xfc, 0xc1};
	struct mprof_packet_header h;
	const uint8_t *found;

	while (at < len && mprof_packet_load(&h, p + at, len - at) != MPROF_PACKET_OK) {
		found = memmem(p + at + 1, len - at - 1, magic, sizeof(magic));
		at = found ? (size_t)(found - p) : len;
	}
	return at;
}

static void entry_fill(struct entry *e, const uint8_t *p, size_t len, const struct mprof_packet_header *h)
{
	e->packet_bytes = h->packet_bytes;
	e->content_bytes = h->content_bytes;
	e->count = h->count;
	e->timed = len >= MPROF_PACKET_HEADER_BYTES + 8 && h->content_bytes >= MPROF_PACKET_HEADER_BYTES + 8;
	e->first_timestamp = e->timed ? mprof_load64(p + MPROF_PACKET_HEADER_BYTES) : 0;
}

/*
 * Fill the entries from the packets of the LEN bytes at P. Return false when there are more packets
 * than a ring can have.
 */
static bool list_packets(struct mprof_order *o, const uint8_t *p, size_t len)
{
	struct mprof_packet_header h;
	size_t expected = 0, index = 0, at = next_header(p, 0, len);

	while (at < len) {
		struct entry *e = &o->entries[o->n];

		if (o->n == MPROF_RING_PACKETS_MAX)
			return false;
		index += at != expected; /* the decoder counts skipped bytes as one packet */
		mprof_packet_load(&h, p + at, len - at);
		entry_fill(e, p + at, len - at, &h);
		e->span = (struct mprof_span){.offset = o->n ? at : 0, .packet = o->n ? index : 0};
		e->distance = (int16_t)(uint16_t)(e->count - o->entries[0].count);
		if (o->n)
			e[-1].span.bytes = at - e[-1].span.offset;
		o->n++;
		index++;
		expected = h.packet_bytes < len - at ? at + h.packet_bytes : len;
		at = next_header(p, expected, len);
	}
	if (o->n)
		o->entries[o->n - 1].span.bytes = len - o->entries[o->n - 1].span.offset;
	return true;
}

static bool steps_back(uint16_t from, uint16_t to)
{
	return (uint16_t)(to - from) > 0x8000;
}

/*
 * Rule 2. Return the index of the packet with which the logical order begins, or 0 if the input is
 * no rotated ring.
 */
static size_t rotation(const struct mprof_order *o)
{
	size_t start = 0;

	for (size_t i = 1; i < o->n; i++) {
		uint16_t step = (uint16_t)(o->entries[i].count - o->entries[i - 1].count);

		if (step <= 1)
			continue;
		if (start || step <= 0x8000)
			return 0;
		start = i;
	}
	if (start && (uint16_t)(o->entries[0].count - o->entries[o->n - 1].count) == 1)
		return start;
	return 0;
}

/* Rule 1. Return true when the counts go back. */
static bool goes_back(const struct mprof_order *o)
{
	for (size_t i = 1; i < o->n; i++)
		if (steps_back(o->entries[i - 1].count, o->entries[i].count))
			return true;
	return false;
}

static int by_distance(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return x->span.offset < y->span.offset ? -1 : x->span.offset > y->span.offset;
}

static int by_offset(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->span.offset < y->span.offset ? -1 : x->span.offset > y->span.offset;
}

/* Rule 3. Return true when sizes or times of the packets show a stream. */
static bool looks_like_stream(const struct mprof_order *o)
{
	bool ascends = true, timed = false, cut = true;
	uint64_t last = 0;

	for (size_t i = 0; i < o->n; i++) {
		const struct entry *e = &o->entries[i];

		cut = cut && e->packet_bytes == e->content_bytes;
		if (e->packet_bytes < o->entries[0].packet_bytes ||
		    (i + 1 < o->n && e->packet_bytes != o->entries[0].packet_bytes))
			return true;
		if (!e->timed)
			continue;
		ascends = ascends && (!timed || e->first_timestamp > last);
		timed = true;
		last = e->first_timestamp;
	}
	return cut || (timed && ascends);
}

/*
 * Rule 3. Sort the packets by count. If two counts are equal, restore the order of the input
 * instead.
 */
static void sort_ring(struct mprof_order *o)
{
	qsort(o->entries, o->n, sizeof(o->entries[0]), by_distance);
	for (size_t i = 1; i < o->n; i++) {
		if (o->entries[i].distance == o->entries[i - 1].distance) {
			qsort(o->entries, o->n, sizeof(o->entries[0]), by_offset);
			return;
		}
	}
}

/* Make one piece of the whole input. */
static void keep_order(struct mprof_order *o, size_t len)
{
	o->n = len > 0;
	o->entries[0].span = (struct mprof_span){.bytes = len};
}

static void rotate(struct mprof_order *o, size_t start)
{
	struct mprof_span first = {
		.offset = o->entries[start].span.offset,
		.packet = o->entries[start].span.packet,
	};
	const struct mprof_span *last = &o->entries[o->n - 1].span;

	first.bytes = last->offset + last->bytes - first.offset;
	o->entries[1].span = (struct mprof_span){.bytes = first.offset};
	o->entries[0].span = first;
	o->n = 2;
}

void mprof_order_scan(struct mprof_order *o, const void *bytes, size_t len)
{
	size_t start;

	o->n = 0;
	if (!list_packets(o, bytes, len) || !goes_back(o)) {
		keep_order(o, len);
		return;
	}
	start = rotation(o);
	if (start)
		rotate(o, start);
	else if (looks_like_stream(o))
		keep_order(o, len);
	else
		sort_ring(o);
}
