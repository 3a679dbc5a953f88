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

/* A short event is an alloc of at most so many words. */
#define MEM_SHORT_MAX 16u

/* The low bits of a time, which an event holds. */
#define MEM_CLOCK_BITS 25u
#define MEM_CLOCK_MASK ((1u << MEM_CLOCK_BITS) - 1)
/* What a packet spans at most, in microseconds. */
#define MEM_CLOCK_RANGE (30u * 1000 * 1000)

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

/* The latest time that an event of it can have. */
static inline uint64_t mem_packet_latest(const struct mem_packet *p)
{
	return p->end_us >= p->begin_us ? p->end_us : p->begin_us + MEM_CLOCK_RANGE;
}

#endif
