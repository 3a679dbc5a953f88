/* What a header must be to be believed: everything else in a packet is found through it. */
#include "mem-packet.h"

#include <mprof/bytes.h>
#include <mprof/memtrace.h>

#define MAGIC 0xc1fc1fc1u

bool mem_packet_head(struct mem_packet *packet, const uint8_t *head)
{
	uint32_t bits = mprof_load32(head + 4);

	packet->version = mprof_load16(head + 28);
	packet->header = packet->version < 3 ? 66 : 68;
	packet->bytes = bits / 8;
	return mprof_load32(head) == MAGIC && bits % 8 == 0 && packet->version >= 1 && packet->version <= 3 &&
	       packet->bytes >= packet->header && packet->bytes <= MPROF_MEM_PACKET_BYTES_MAX;
}

void mem_packet_read(struct mem_packet *packet, const uint8_t *bytes)
{
	const uint8_t *rest = bytes + packet->header - 28;

	packet->begin_us = mprof_load64(bytes + 8);
	packet->end_us = mprof_load64(bytes + 16);
	packet->pid = (int64_t)mprof_load64(bytes + 30);
	packet->domain = packet->version < 3 ? 0 : mprof_load16(bytes + 38);
	packet->check_bucket = mprof_load16(rest);
	packet->check_next = mprof_load16(rest + 2);
	packet->check_code = mprof_load64(rest + 4);
	packet->first_id = mprof_load64(rest + 12);
	packet->end_id = mprof_load64(rest + 20);
}

bool mprof_mem_begins(const void *bytes, size_t len)
{
	struct mem_packet packet;

	return len >= MEM_PACKET_HEAD && mem_packet_head(&packet, bytes);
}
