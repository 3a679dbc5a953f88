/* The header of a memtrace packet: pure reading and judging. */
#ifndef TRACE_MEM_PACKET_H
#define TRACE_MEM_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many bytes tell how long the packet and its header are. */
#define MEM_PACKET_HEAD 30u
#define MEM_NO_CHECK	0xffffu

enum mem_event_id { MEM_ID_INFO, MEM_ID_LOCATION, MEM_ID_ALLOC, MEM_ID_PROMOTE, MEM_ID_COLLECT, MEM_ID_SHORT = 100 };

struct mem_packet {
	uint32_t bytes;	 /* header included */
	uint32_t header; /* bytes of it */
	uint16_t version;
	uint16_t domain;
	int64_t pid;
	uint64_t begin_us, end_us;
	uint16_t check_bucket, check_next; /* CHECK_BUCKET is MEM_NO_CHECK where nothing is to be checked */
	uint64_t check_code;
	uint64_t first_id, end_id; /* of its allocs, exclusive */
};

/* May a packet begin with the MEM_PACKET_HEAD bytes at HEAD?  Its length and its header's into *PACKET. */
bool mem_packet_head(struct mem_packet *packet, const uint8_t *head);
/* The rest of the header, of which all bytes are there. */
void mem_packet_read(struct mem_packet *packet, const uint8_t *bytes);

#endif
