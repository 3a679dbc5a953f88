/*
 * Trace files: those whose headers show that the packets are in order, and those that must be read
 * into memory to be sorted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mprof/packet.h>
#include <mprof/ring.h>

#include "check.h"
#include "file-order.h"

#define PACKET (1u << 20)

static int file(void)
{
	char path[] = "/tmp/file-order.XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0 && unlink(path) == 0);
	return fd;
}

/* Write the header of packet I, with the count COUNT. FROM bytes precede the first packet. */
static void put(int fd, uint64_t from, unsigned int i, uint16_t count)
{
	struct mprof_packet_header h = {.count = count, .packet_bytes = PACKET, .content_bytes = 100};
	uint8_t bytes[MPROF_PACKET_HEADER_BYTES];

	mprof_packet_store(&h, bytes);
	CHECK_EQ_INT(pwrite(fd, bytes, sizeof(bytes), (off_t)(from + (uint64_t)i * PACKET)), (ssize_t)sizeof(bytes));
}

/*
 * Make a sparse file of N packets with the counts FIRST, FIRST + 1 and so on. FROM bytes precede
 * the first packet.
 */
static int make(uint64_t from, unsigned int n, uint16_t first)
{
	int fd = file();

	for (unsigned int i = 0; i < n; i++)
		put(fd, from, i, (uint16_t)(first + i));
	CHECK_EQ_INT(ftruncate(fd, (off_t)(from + (uint64_t)n * PACKET)), 0);
	return fd;
}

static void test_ascending(void)
{
	int fd = make(0, 20, 65530);

	CHECK(file_order_kept(fd, 0));
	CHECK(file_order_kept(fd, PACKET));
	CHECK(!file_order_kept(fd, 10)); /* at this offset there is no header */
	CHECK(!file_order_kept(fd, 20ull * PACKET));
	CHECK_EQ_INT(ftruncate(fd, 20 * (off_t)PACKET - 200), 0); /* the last packet is incomplete */
	CHECK(file_order_kept(fd, 0));
	put(fd, 0, 10, 65539 & 0xffff); /* two packets with one count: the second continues the first */
	CHECK(file_order_kept(fd, 0));
	close(fd);
	fd = make(4096, 20, 0);
	CHECK(file_order_kept(fd, 4096));
	close(fd);
}

static void test_held(void)
{
	int fd = make(0, 20, 100), ends[2];

	put(fd, 0, 12, 50); /* the count falls, as in a ring that has wrapped */
	CHECK(!file_order_kept(fd, 0));
	put(fd, 0, 12, 112);
	CHECK(file_order_kept(fd, 0));
	CHECK_EQ_INT(pwrite(fd, "damage", 6, 7 * (off_t)PACKET), 6);
	CHECK(!file_order_kept(fd, 0));
	/* Three bytes behind the last packet, too few for a header. */
	CHECK_EQ_INT(ftruncate(fd, 20 * (off_t)PACKET + 3), 0);
	put(fd, 0, 7, 107);
	CHECK(!file_order_kept(fd, 0));
	close(fd);
	fd = make(0, 16, 0); /* small enough to be held in memory */
	CHECK(!file_order_kept(fd, 0));
	close(fd);
	CHECK_EQ_INT(pipe(ends), 0);
	CHECK(!file_order_kept(ends[0], 0));
	close(ends[0]);
	close(ends[1]);
}

/*
 * The file is larger than any ring, so it cannot be the image of one. Only its first header is
 * read. A log of 2014 has no header.
 */
static void test_large(void)
{
	int fd = make(0, 20, 100);

	put(fd, 0, 12, 50);
	CHECK_EQ_INT(ftruncate(fd, (off_t)MPROF_RING_BYTES_MAX), 0);
	CHECK(!file_order_kept(fd, 0));
	CHECK_EQ_INT(ftruncate(fd, (off_t)MPROF_RING_BYTES_MAX + 1), 0);
	CHECK(file_order_kept(fd, 0));
	CHECK_EQ_INT(pwrite(fd, "((time 1)", 9, 0), 9);
	CHECK(!file_order_kept(fd, 0));
	close(fd);
}

int main(void)
{
	CHECK_RUN(test_ascending);
	CHECK_RUN(test_held);
	CHECK_RUN(test_large);
	return check_done();
}
