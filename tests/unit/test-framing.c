/*
 * The bounds of memtrace packets when the bytes come in any pieces, and the contents of the first
 * packet.
 */
#include <string.h>

#include "check.h"
#include "framing.h"

#include <mprof/bytes.h>

/* Write a packet of BYTES bytes to P. BYTES includes the header. */
static size_t put_packet(uint8_t *p, size_t bytes, uint32_t version)
{
	memset(p, 0, bytes);
	memcpy(p, "\xc1\x1f\xfc\xc1", 4);
	mprof_store32(p + 4, (uint32_t)bytes * 8);
	mprof_store16(p + 28, (uint16_t)version);
	return bytes;
}

static size_t put_info(uint8_t *p, uint32_t version, double rate, const char *texts, size_t n)
{
	size_t head = version < 3 ? 66 : 68, bytes = head + 13 + n;
	uint64_t bits;

	put_packet(p, bytes, version);
	memcpy(&bits, &rate, 8);
	mprof_store64(p + head + 4, bits);
	p[head + 12] = 64;
	memcpy(p + head + 13, texts, n);
	return bytes;
}

#define TEXTS "mirage\0host\0v=0\0\x07\0\0\0\0\0\0\0context"

static void test_cuts(void)
{
	uint8_t data[700];
	size_t ends[3], n, whole;

	ends[0] = put_info(data, 2, 0.5, TEXTS, sizeof(TEXTS));
	ends[1] = ends[0] + put_packet(data + ends[0], 66, 2);
	ends[2] = n = ends[1] + put_packet(data + ends[1], 300, 2);
	for (size_t cut = 0; cut <= n; cut++) {
		struct framing f = {0};
		int packets = (cut >= ends[0]) + (cut >= ends[1]) + (cut >= ends[2]);

		CHECK(framing_whole(&f, data, cut, &whole));
		CHECK_EQ_INT((int64_t)f.packets, packets);
		CHECK_EQ_INT((int64_t)whole, packets ? (int64_t)ends[packets - 1] : 0);
		CHECK(framing_whole(&f, data + whole, n - whole, &whole));
		CHECK_EQ_INT((int64_t)f.packets, 3);
	}
}

static bool refused(const uint8_t *data, size_t len)
{
	struct framing f = {0};
	size_t whole;

	return !framing_whole(&f, data, len, &whole) && whole == 0;
}

static void test_refused(void)
{
	uint8_t data[128];

	put_packet(data, 100, 2);
	CHECK(refused((const uint8_t *)"G", 1));
	CHECK(refused((const uint8_t *)"\xc1\x1f\xfc\xc0", 4));
	mprof_store32(data + 4, 65 * 8);
	CHECK(refused(data, 8));
	mprof_store32(data + 4, 100 * 8 + 1);
	CHECK(refused(data, 8));
	mprof_store32(data + 4, (FRAMING_PACKET_MAX + 1) * 8);
	CHECK(refused(data, 8));
	put_packet(data, 100, 4);
	CHECK(!refused(data, 29) && refused(data, 30));
	put_packet(data, 66, 3); /* shorter than a header */
	CHECK(refused(data, 66));
}

static void test_info(void)
{
	static struct framing_info info;
	uint8_t data[400];
	size_t n = put_info(data, 2, 0.5, TEXTS, sizeof(TEXTS));

	CHECK(framing_info(data, n, &info));
	CHECK(strcmp(info.program, "mirage") == 0 && strcmp(info.host, "host") == 0);
	CHECK(strcmp(info.context, "context") == 0 && info.has_pid && info.pid == 7 && info.rate == 0.5);
	for (size_t cut = 0; cut < n; cut++)
		CHECK(!framing_info(data, cut, &info));
	put_info(data, 2, 1.5, TEXTS, sizeof(TEXTS));
	CHECK(!framing_info(data, n, &info));
	/* A text must end inside its packet. */
	n = put_info(data, 2, 0.5, TEXTS, sizeof(TEXTS) - 1);
	put_packet(data + n, 66, 2);
	CHECK(data[n + 7] == 0 && !framing_info(data, n + 66, &info));
	n = put_info(data, 1, 1, TEXTS, 24);
	CHECK(framing_info(data, n, &info) && info.context[0] == '\0');
	n = put_info(data, 3, 1, TEXTS, sizeof(TEXTS));
	CHECK(framing_info(data, n, &info) && info.version == 3);
}

int main(void)
{
	CHECK_RUN(test_cuts);
	CHECK_RUN(test_refused);
	CHECK_RUN(test_info);
	return check_done();
}
