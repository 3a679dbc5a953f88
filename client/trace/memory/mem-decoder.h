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

/* Header of a memtrace packet. */
/* Number of a packet's first bytes that contain the sizes of packet and header. */
#define MEM_PACKET_HEAD 30u
#define MEM_NO_CHECK	0xffffu

enum mem_event_id { MEM_ID_INFO, MEM_ID_LOCATION, MEM_ID_ALLOC, MEM_ID_PROMOTE, MEM_ID_COLLECT, MEM_ID_SHORT = 100 };

/* Largest number of words of an alloc in the short form. */
#define MEM_SHORT_MAX 16u

/* An event holds this many low bits of its time. */
#define MEM_CLOCK_BITS 25u
#define MEM_CLOCK_MASK ((1u << MEM_CLOCK_BITS) - 1)
/* Largest time from a packet's first to its last event, microseconds. */
#define MEM_CLOCK_RANGE (30u * 1000 * 1000)

/* Header of a memtrace packet. */
struct mem_packet {
	uint32_t bytes;	 /* size, header included */
	uint32_t header; /* size of the header, bytes */
	uint16_t version;
	uint16_t domain;
	int64_t pid;
	uint64_t begin_us, end_us;
	/* Bucket to check (mem_stack_check()); CHECK_BUCKET is MEM_NO_CHECK if there is none. */
	uint16_t check_bucket, check_next;
	uint64_t check_code;
	uint64_t first_id, end_id; /* ids of the packet's allocs: from FIRST_ID up to, but not including, END_ID */
};

/*
 * Return true when the MEM_PACKET_HEAD bytes at HEAD can begin a packet. Then store the packet's
 * size, its header's size and its version in *PACKET.
 */
bool mem_packet_head(struct mem_packet *packet, const uint8_t *head);
/*
 * Read the other fields of the packet's header at BYTES into *PACKET; all bytes of the header are
 * there.
 */
void mem_packet_read(struct mem_packet *packet, const uint8_t *bytes);

/* Return the latest time that an event of the packet can have, microseconds. */
static inline uint64_t mem_packet_latest(const struct mem_packet *p)
{
	return p->end_us >= p->begin_us ? p->end_us : p->begin_us + MEM_CLOCK_RANGE;
}

/* ---- the decoder ---- */

struct mem_domain {
	uint64_t last_us; /* time of the domain's latest event, microseconds */
	struct mem_stack stack;
	struct mem_names names;
	/*
	 * Id that the domain's next packet is expected to begin with: END_ID by the header of the
	 * domain's last packet, NEXT_ID by the events that were read from that packet.
	 */
	uint64_t end_id, next_id;
	bool has_stack;	 /* STACK is initialised */
	bool no_names;	 /* NAMES differs from the writer's tables: names of later codes are unknown */
	uint16_t number; /* number of the domain in the stream */
};

struct mprof_mem {
	struct mprof_mem_options options;
	/*
	 * FED are the bytes fed and not yet read. Before them come N_HELD bytes in HELD, if a
	 * packet came in pieces.
	 */
	struct mem_bytes fed;
	uint8_t *held; /* buffer of MPROF_MEM_PACKET_BYTES_MAX bytes */
	size_t n_held;
	bool finished;
	bool over;	    /* the chosen recording has ended */
	uint64_t offset;    /* position in the input of the first byte not read */
	uint64_t searching; /* number of bytes skipped so far in search of a packet */
	/* If OPEN, the packet whose events come next. */
	bool open;
	struct mem_packet packet;
	const uint8_t *bytes; /* first byte of the packet */
	struct mem_bytes rest;
	struct mem_domain *domain; /* domain of the packet; NULL for a packet that is skipped */
	uint64_t next_id;
	bool misses_ids; /* some events of the packet were skipped */
	/* The current recording. */
	bool has_info;
	/*
	 * Another recording began and its description is invalid: the packets that follow do not
	 * belong to this recording.
	 */
	bool unreadable;
	struct mprof_mem_info info;
	char *texts; /* texts of INFO */
	struct mem_codes codes;
	bool has_codes;
	struct mem_domain *domains[MPROF_MEM_DOMAINS_MAX];
	uint32_t n_domains;
	struct mem_domain other; /* stands for all domains past MPROF_MEM_DOMAINS_MAX */
	struct mprof_mem_damage damage;
	struct mprof_mem_totals totals;
};

/*
 * Store and count damage in the open packet at the byte AT points to, after which SKIPPED bytes are
 * skipped. Return MPROF_CORRUPT.
 */
enum mprof_status mem_damaged(struct mprof_mem *m, enum mprof_mem_damage_reason reason, const uint8_t *at,
			      uint64_t skipped);

/* ---- mem-info.c ---- */

/* Return true when the open packet begins a recording. */
bool mem_info_is(const struct mprof_mem *m);
/*
 * Begin the recording that the open packet describes. Return MPROF_OK; MPROF_CORRUPT, with the
 * previous recording still there; or MPROF_NOMEM, with no recording.
 */
enum mprof_status mem_info_read(struct mprof_mem *m);
/* Release the current recording. */
void mem_info_forget(struct mprof_mem *m);

/* ---- mem-events.c ---- */

/*
 * Find the domain of the open packet and check the domain's caches. Return MPROF_OK or
 * MPROF_CORRUPT.
 */
enum mprof_status mem_events_begin(struct mprof_mem *m);
/*
 * Store the next event of the open packet in *EVENT and return MPROF_OK. Return MPROF_END after the
 * last one, or MPROF_CORRUPT, or MPROF_NOMEM.
 */
enum mprof_status mem_events_next(struct mprof_mem *m, struct mprof_mem_event *event);

#endif
