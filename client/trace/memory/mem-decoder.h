/*
 * What the files of the memtrace decoder share: memtrace.c (bytes to packets), mem-info.c (what a trace says of itself), mem-events.c (a
 * packet's events).
 */
#ifndef TRACE_MEM_DECODER_H
#define TRACE_MEM_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/memtrace.h>

#include "mem-codes.h"
#include "mem-stack.h"

/* ---- packets ---- */

/* The header of a memtrace packet: pure reading and judging. */
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

/* ---- the decoder ---- */

struct mem_domain {
	uint64_t last_us; /* of its latest event */
	struct mem_stack stack;
	struct mem_names names;
	/* Where the ids of its next packet begin, by its last one's header and by what was in it. */
	uint64_t end_id, next_id;
	bool has_stack;	 /* STACK is made */
	bool no_names;	 /* NAMES is not the writer's any more */
	uint16_t number; /* the stream's */
};

struct mprof_mem {
	struct mprof_mem_options options;
	/* Bytes that were fed and not yet taken, and before them those of a packet that came in pieces. */
	struct mem_bytes fed;
	uint8_t *held; /* MPROF_MEM_PACKET_BYTES_MAX */
	size_t n_held;
	bool finished;
	bool over;	    /* the recording that was asked for has ended */
	uint64_t offset;    /* in the input, of the first byte not taken */
	uint64_t searching; /* bytes passed over in search of a packet */
	/* The packet whose events come next, while OPEN. */
	bool open;
	struct mem_packet packet;
	const uint8_t *bytes; /* its first */
	struct mem_bytes rest;
	struct mem_domain *domain; /* NULL of one that is passed over */
	uint64_t next_id;
	bool misses_ids; /* events of it were passed over */
	/* The trace. */
	bool has_info;
	bool astray; /* another one began of which nothing is known: what comes is not of this one */
	struct mprof_mem_info info;
	char *texts; /* of INFO */
	struct mem_codes codes;
	bool has_codes;
	struct mem_domain *domains[MPROF_MEM_DOMAINS_MAX];
	uint32_t n_domains;
	struct mem_domain other; /* all that there is no room for */
	struct mprof_mem_damage damage;
	struct mprof_mem_totals totals;
};

/* Describe damage in the open packet at AT, SKIPPED bytes passed over, and count it.  Returns MPROF_CORRUPT. */
enum mprof_status mem_damaged(struct mprof_mem *d, enum mprof_mem_damage_reason reason, const uint8_t *at,
			      uint64_t skipped);

/* ---- mem-info.c ---- */

/* Does the open packet begin a trace? */
bool mem_info_is(const struct mprof_mem *d);
/* Begin one: MPROF_OK; MPROF_CORRUPT with the one before still known; or MPROF_NOMEM with nothing changed but that no trace is known. */
enum mprof_status mem_info_read(struct mprof_mem *d);
/* Forget the trace. */
void mem_info_forget(struct mprof_mem *d);

/* ---- mem-events.c ---- */

/* The open packet is the next of its domain: find that, and check its caches.  MPROF_OK or MPROF_CORRUPT. */
enum mprof_status mem_events_begin(struct mprof_mem *d);
/* The next event of the open packet; MPROF_END where there is none. */
enum mprof_status mem_events_next(struct mprof_mem *d, struct mprof_mem_event *event);

#endif
