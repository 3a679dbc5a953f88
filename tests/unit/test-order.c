/*
 * The logical order of packets: images of rings, damaged images, and streams whose order must not
 * change.
 */
#include <mprof/trace.h>

#include "check.h"
#include "trace-make.h"

#define PAD 9

static struct make m;

/*
 * Decode the input in the order that mprof_order finds. Return the numbers in the packets' events,
 * and the damage.
 */
static const char *decoded(void)
{
	static char text[4096];
	struct mprof_order *order = mprof_order_new();
	struct mprof_decoder *d = mprof_decoder_new();
	struct mprof_event event;
	enum mprof_status status;
	size_t i, used = 0, covered = 0;

	text[0] = 0;
	mprof_order_scan(order, m.bytes, m.used);
	for (i = 0; i < mprof_order_spans(order); i++) {
		const struct mprof_span *span = mprof_order_span(order, i);

		covered += (size_t)span->bytes;
		mprof_decoder_begin(d, span->offset, span->packet);
		mprof_decoder_feed(d, m.bytes + span->offset, (size_t)span->bytes);
		mprof_decoder_finish(d);
		while ((status = mprof_decoder_next(d, &event)) != MPROF_END && used + 32 < sizeof(text)) {
			if (status == MPROF_OK)
				used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld", used ? " " : "",
							 (long long)event.raw.context);
			else
				used += (size_t)snprintf(text + used, sizeof(text) - used, " !%zu",
							 (size_t)mprof_decoder_damage(d)->packet);
		}
	}
	CHECK_EQ_UINT(covered, m.used);
	mprof_order_free(order);
	mprof_decoder_free(d);
	return text;
}

/*
 * Make N packets with COUNTS. The number of a packet's event is its time in TIMES, or its count if
 * TIMES is NULL. PAD bytes follow each content.
 */
static void make_counts(const uint16_t *counts, const uint64_t *times, size_t n, size_t pad)
{
	size_t i;

	m.used = 0;
	for (i = 0; i < n; i++)
		make_numbered(&m, counts[i], times ? times[i] : counts[i], pad);
}

/* Return whether mprof_order leaves the input in its order. */
static bool in_place(void)
{
	struct mprof_order *order = mprof_order_new();
	bool one;

	mprof_order_scan(order, m.bytes, m.used);
	one = mprof_order_spans(order) == 1;
	mprof_order_free(order);
	return one;
}

static void test_rings(void)
{
	make_counts((uint16_t[]){0, 1, 2, 3}, NULL, 4, PAD);
	CHECK_EQ_STR(decoded(), "0 1 2 3");
	make_counts((uint16_t[]){8, 9, 6, 7}, NULL, 4, PAD);
	CHECK_EQ_STR(decoded(), "6 7 8 9");
	make_counts((uint16_t[]){4, 1, 2, 3}, NULL, 4, PAD);
	CHECK_EQ_STR(decoded(), "1 2 3 4");
	make_counts((uint16_t[]){0, 1, 2, 65535}, (uint64_t[]){11, 12, 13, 10}, 4, PAD);
	CHECK_EQ_STR(decoded(), "10 11 12 13");
	make_counts((uint16_t[]){65534, 65535, 0, 1}, (uint64_t[]){1, 2, 3, 4}, 4, PAD);
	CHECK_EQ_STR(decoded(), "1 2 3 4");
	make_counts((uint16_t[]){7, 6}, NULL, 2, PAD);
	CHECK_EQ_STR(decoded(), "6 7");
}

static void test_empty_packets(void)
{
	size_t i;

	/*
	 * A ring that has not wrapped: the packets with the counts 2 and 3 are last, and are empty.
	 */
	m.used = 0;
	make_numbered(&m, 0, 1, PAD + 17);
	make_numbered(&m, 1, 2, PAD + 17);
	for (i = 2; i < 4; i++) {
		make_packet(&m);
		make_close(&m, (uint16_t)i, PAD + 34);
	}
	CHECK_EQ_STR(decoded(), "1 2");
	/* The newest packet has just been reused and is empty. */
	m.used = 0;
	make_numbered(&m, 8, 8, PAD);
	make_packet(&m);
	make_close(&m, 9, PAD + 17);
	make_numbered(&m, 6, 6, PAD);
	make_numbered(&m, 7, 7, PAD);
	CHECK_EQ_STR(decoded(), "6 7 8");
}

/*
 * The image of a ring that was lapped while it was copied has packets of several laps. Older
 * packets still come first.
 */
static void test_damaged_ring(void)
{
	make_counts((uint16_t[]){12, 9, 6, 7}, NULL, 4, PAD);
	CHECK_EQ_STR(decoded(), "6 7 9 12");
	make_counts((uint16_t[]){2, 65531, 0, 65535}, (uint64_t[]){4, 1, 3, 2}, 4, PAD);
	CHECK_EQ_STR(decoded(), "1 2 3 4");
	/* The image ends behind the third of four packets. */
	make_counts((uint16_t[]){92, 93, 90}, NULL, 3, PAD);
	CHECK_EQ_STR(decoded(), "90 92 93");
	/*
	 * A packet in the middle has a bad header. The packet is reported, and the others are put
	 * in order.
	 */
	make_counts((uint16_t[]){8, 9, 6, 7}, NULL, 4, PAD);
	m.bytes[m.used / 4] ^= 1;
	CHECK_EQ_STR(decoded(), "6 7 8 !1");
	/* Two packets have bad headers. Each is reported at its place in the input. */
	make_counts((uint16_t[]){10, 11, 6, 7, 8, 9}, NULL, 6, PAD);
	m.bytes[m.used / 6] ^= 1;
	m.bytes[m.used / 6 * 3] ^= 1;
	CHECK_EQ_STR(decoded(), "6 !3 8 9 10 !1");
}

/*
 * The output of the daemon is in order: packets are cut to their contents and continued, and gaps
 * have any length.
 */
static void test_streams(void)
{
	make_counts((uint16_t[]){3, 3, 3, 4}, (uint64_t[]){1, 2, 3, 4}, 4, 0);
	CHECK_EQ_STR(decoded(), "1 2 3 4");
	/* 50,000 packets are lost, so the 16-bit count seems to go back. */
	make_counts((uint16_t[]){10, 11, 50011, 50012}, (uint64_t[]){1, 2, 3, 4}, 4, 0);
	CHECK_EQ_STR(decoded(), "1 2 3 4");
	make_counts((uint16_t[]){10, 11, 50011, 50011, 50012}, (uint64_t[]){5, 4, 3, 2, 1}, 5, PAD);
	CHECK_EQ_STR(decoded(), "5 4 3 2 1");
	make_counts((uint16_t[]){10, 11, 50011, 50012}, (uint64_t[]){1, 2, 3, 4}, 4, PAD);
	CHECK_EQ_STR(decoded(), "1 2 3 4");
}

/*
 * A step of half of all counts is no step back. Packets that all have the same time show no order
 * by time.
 */
static void test_borders(void)
{
	make_counts((uint16_t[]){0, 0x8000}, (uint64_t[]){2, 1}, 2, PAD);
	CHECK_EQ_STR(decoded(), "2 1");
	make_counts((uint16_t[]){0, 0x8001}, (uint64_t[]){2, 1}, 2, PAD);
	CHECK_EQ_STR(decoded(), "1 2");
	make_counts((uint16_t[]){12, 9, 6, 7}, (uint64_t[]){5, 5, 5, 5}, 4, PAD);
	CHECK_EQ_STR(decoded(), "5 5 5 5");
	CHECK(!in_place());
	make_counts((uint16_t[]){12, 9, 6, 7}, (uint64_t[]){5, 6, 7, 8}, 4, PAD);
	CHECK(in_place());
}

/* A stream with more packets than counts: the count wraps, and there is a long gap. */
static void test_long_stream(void)
{
	struct mprof_order *order = mprof_order_new();
	uint64_t i;

	m.used = 0;
	for (i = 0; i < 3000; i++)
		make_numbered(&m, (uint16_t)(64000 + i + (i > 2000 ? 40000 : 0)), i, 3);
	mprof_order_scan(order, m.bytes, m.used);
	CHECK_EQ_UINT(mprof_order_spans(order), 1);
	CHECK_EQ_UINT(mprof_order_span(order, 0)->bytes, m.used);
	mprof_order_free(order);
}

/* A ring with as many packets as allowed. */
static void test_large_ring(void)
{
	struct mprof_order *order = mprof_order_new();
	uint64_t i, n = MPROF_RING_PACKETS_MAX;

	m.used = 0;
	for (i = 0; i < n; i++)
		make_numbered(&m, (uint16_t)(i < 100 ? n + i : i), i, 3);
	mprof_order_scan(order, m.bytes, m.used);
	CHECK_EQ_UINT(mprof_order_spans(order), 2);
	CHECK_EQ_UINT(mprof_order_span(order, 0)->offset, m.used / n * 100);
	CHECK_EQ_UINT(mprof_order_span(order, 0)->packet, 100);
	mprof_order_free(order);
}

static void test_served(void)
{
	m.used = 0;
	make_numbered(&m, 1, 1, 0);
	CHECK(mprof_order_served(m.bytes, m.used));
	CHECK(mprof_order_served(m.bytes, 30));
	CHECK(!mprof_order_served(m.bytes, 29));
	m.used = 0;
	make_numbered(&m, 1, 1, 1);
	CHECK(!mprof_order_served(m.bytes, m.used));
}

static void test_no_packets(void)
{
	m.used = 0;
	CHECK_EQ_STR(decoded(), "");
	make_bytes(&m, "no trace", 8);
	CHECK_EQ_STR(decoded(), " !0");
}

int main(void)
{
	CHECK_RUN(test_rings);
	CHECK_RUN(test_empty_packets);
	CHECK_RUN(test_damaged_ring);
	CHECK_RUN(test_streams);
	CHECK_RUN(test_borders);
	CHECK_RUN(test_long_stream);
	CHECK_RUN(test_large_ring);
	CHECK_RUN(test_served);
	CHECK_RUN(test_no_packets);
	return check_done();
}
