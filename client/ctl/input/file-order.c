/*
 * This file applies rule 1 of client/trace/decode/order.c to a file: the packets of an input are in
 * order if the input has more packets than a ring, or if the packets' counts never go back. A guest
 * may write to the image of its ring while this code reads the file. So a small file, as most rings
 * are, is held in memory instead, and its order is decided from the same bytes that are decoded.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/packet.h>
#include <mprof/ring.h>

#include "file-order.h"

#define SMALL (16u << 20)

static bool load_header(int fd, uint64_t offset, struct mprof_packet_header *h)
{
	uint8_t bytes[MPROF_PACKET_HEADER_BYTES];
	ssize_t n;

	do
		n = pread(fd, bytes, sizeof(bytes), (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(bytes) && mprof_packet_load(h, bytes, sizeof(bytes)) == MPROF_PACKET_OK;
}

/*
 * Return true if the headers from FROM to END are valid and their counts never go back. Check at
 * most MPROF_RING_BYTES_MAX bytes.
 */
static bool counts_ascend(int fd, uint64_t from, uint64_t end)
{
	uint64_t most = from + MPROF_RING_BYTES_MAX;
	struct mprof_packet_header h;
	uint16_t last = 0;

	for (unsigned int n = 0; from < end; n++) {
		if (!load_header(fd, from, &h))
			return false;
		if (n == MPROF_RING_PACKETS_MAX || end > most)
			return true;
		if (n && (uint16_t)(h.count - last) > 0x8000)
			return false;
		last = h.count;
		from += h.packet_bytes;
	}
	return true;
}

bool file_order_kept(int fd, uint64_t from)
{
	struct stat st;
	uint64_t end;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < 0)
		return false;
	end = (uint64_t)st.st_size;
	if (end <= from || end - from <= SMALL)
		return false;
	return counts_ascend(fd, from, end);
}
