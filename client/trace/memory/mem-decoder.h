/*
 * State of the memtrace decoder, shared by memtrace.c (bytes to packets), mem-info.c (first packet)
 * and mem-events.c (events of a packet).
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

/* Bytes that mem_packet_head() needs. */
#define MEM_PACKET_HEAD 30u
#define MEM_NO_CHECK	0xffffu

enum mem_event_id { MEM_ID_INFO, MEM_ID_LOCATION, MEM_ID_ALLOC, MEM_ID_PROMOTE, MEM_ID_COLLECT, MEM_ID_SHORT = 100 };

/* Largest number of words of an alloc in the short form. */
#define MEM_SHORT_MAX 16u

/* Low bits of a time, which an event holds. */
#define MEM_CLOCK_BITS 25u
#define MEM_CLOCK_MASK ((1u << MEM_CLOCK_BITS) - 1)
/* Largest time span of a packet, microseconds. */
#define MEM_CLOCK_RANGE (30u * 1000 * 1000)

/* Header of a memtrace packet. */
struct mem_packet {
	uint32_t bytes;	 /* size, header included */
	uint32_t header; /* size of the header, bytes */
	uint16_t version;
	uint16_t domain;
	int64_t pid;
	uint64_t begin_us, end_us;
	uint16_t check_bucket, check_next; /* CHECK_BUCKET is MEM_NO_CHECK without a check */
	uint64_t check_code;
	uint64_t first_id, end_id; /* ids of the packet's allocs, END_ID excluded */
};

/*
 * Return true when a packet can begin with the MEM_PACKET_HEAD bytes at HEAD. Store its size, its
 * header's size and its version in *PACKET.
 */
bool mem_packet_head(struct mem_packet *packet, const uint8_t *head);
/* Read the other fields of the header into *PACKET. BYTES holds the whole header. */
void mem_packet_read(struct mem_packet *packet, const uint8_t *bytes);

/* Return the latest time that an event of the packet can have. */
static inline uint64_t mem_packet_latest(const struct mem_packet *p)
{
	return p->end_us >= p->begin_us ? p->end_us : p->begin_us + MEM_CLOCK_RANGE;
}

/* ---- the decoder ---- */

struct mem_domain {
	uint64_t last_us; /* time of its latest event */
	struct mem_stack stack;
	struct mem_names names;
	/*
	 * Two ids with which the domain's next packet may begin. END_ID is the end of the ids that
	 * the header of the last packet announced. NEXT_ID is the id after the last alloc that was
	 * decoded. A packet of version 1 or 2 that begins with another id shows that packets are
	 * missing.
	 */
	uint64_t end_id, next_id;
	bool has_stack;	 /* STACK is initialised */
	bool no_names;	 /* NAMES is out of step with the writer */
	uint16_t number; /* number in the stream */
};

struct mprof_mem {
	struct mprof_mem_options options;
	/* Bytes fed and not yet read, and before them the bytes of a packet that came in pieces. */
	struct mem_bytes fed;
	uint8_t *held; /* buffer of MPROF_MEM_PACKET_BYTES_MAX bytes */
	size_t n_held;
	bool finished;
	bool over;	    /* the chosen recording has ended */
	uint64_t offset;    /* position in the input of the first byte not read */
	uint64_t searching; /* bytes skipped in search of a packet */
	/* The packet whose events come next, when OPEN. */
	bool open;
	struct mem_packet packet;
	const uint8_t *bytes; /* first byte of the packet */
	struct mem_bytes rest;
	struct mem_domain *domain; /* NULL for a packet to skip */
	uint64_t next_id;
	bool misses_ids; /* some of its events were skipped */
	/* The current trace. */
	bool has_info;
	/* Another trace began and is unreadable: packets that follow are not of this one. */
	bool unreadable;
	struct mprof_mem_info info;
	char *texts; /* texts of INFO */
	struct mem_codes codes;
	bool has_codes;
	struct mem_domain *domains[MPROF_MEM_DOMAINS_MAX];
	uint32_t n_domains;
	struct mem_domain other; /* stands for all domains past the limit */
	struct mprof_mem_damage damage;
	struct mprof_mem_totals totals;
};

/*
 * Store and count damage in the open packet at AT, with SKIPPED bytes skipped. Return
 * MPROF_CORRUPT.
 */
enum mprof_status mem_damaged(struct mprof_mem *d, enum mprof_mem_damage_reason reason, const uint8_t *at,
			      uint64_t skipped);

/* ---- mem-info.c ---- */

/* Return true when the open packet begins a trace. */
bool mem_info_is(const struct mprof_mem *d);
/*
 * Begin a trace. Return MPROF_OK; MPROF_CORRUPT, with the previous trace still there; or
 * MPROF_NOMEM, with no trace.
 */
enum mprof_status mem_info_read(struct mprof_mem *d);
/* Release the current trace. */
void mem_info_forget(struct mprof_mem *d);

/* ---- mem-events.c ---- */

/*
 * Find the domain of the open packet and check the domain's caches. Return MPROF_OK or
 * MPROF_CORRUPT.
 */
enum mprof_status mem_events_begin(struct mprof_mem *d);
/* Store the next event of the open packet; return MPROF_END after the last. */
enum mprof_status mem_events_next(struct mprof_mem *d, struct mprof_mem_event *event);

#endif
