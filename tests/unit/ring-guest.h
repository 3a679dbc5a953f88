/*
 * A guest whose ring the test writes step by step, and a sink that records and checks the reader's
 * output.
 *
 * Each event is 17 bytes long. Its time is the previous event's time plus one, and its last eight
 * bytes are computed from its time. The sink checks that chunks and gaps are adjacent, and that the
 * events between two gaps have consecutive times. A hook can change the ring before any load.
 */
#ifndef UNIT_RING_GUEST_H
#define UNIT_RING_GUEST_H

#include <string.h>

#include <mprof/bytes.h>
#include <mprof/packet.h>

#include "check.h"
#include "memory.h"
#include "ring.h"

#define GUEST_BYTES  (3u << 20)
#define GUEST_EVENT  17u
#define GUEST_CHUNKS 256u
#define GUEST_GAPS   16u

struct guest {
	struct memory memory; /* first field: the ring's callbacks cast this pointer to struct guest */
	struct ring_sink sink;
	struct ring ring;

	/* the writer */
	uint32_t n, room; /* number of packets, and bytes of each */
	uint32_t bytes;	  /* bytes of the ring that can be loaded */
	uint64_t sequence, time;
	uint32_t used;
	void (*hook)(struct guest *guest, uint64_t offset, size_t n); /* called before each load */
	unsigned loads, armed;

	/* the reader's output, as the sink received it */
	struct ring_chunk chunks[GUEST_CHUNKS];
	struct ring_gap gaps[GUEST_GAPS];
	unsigned n_chunks, n_gaps, n_tails, n_drops;
	unsigned room_for; /* successful reservations before the sink is full */
	bool takes_no_gap, started, after_gap;
	uint64_t next_sequence, next_time;
	uint32_t next_offset;
	uint64_t handed, tail; /* bytes in chunks, and bytes in tails */
	uint64_t tail_last;    /* time of the last event of the last tail */

	uint8_t data[GUEST_BYTES], buffer[RING_PIECE_MAX];
};

static inline struct guest *guest_of(struct ring_sink *sink)
{
	return (struct guest *)((char *)sink - offsetof(struct guest, sink));
}

static inline bool guest_load(const struct memory *memory, uint64_t offset, void *to, size_t n)
{
	struct guest *g = (struct guest *)(uintptr_t)memory;

	g->loads++;
	if (g->hook)
		g->hook(g, offset, n);
	if (offset > g->bytes || n > g->bytes - offset)
		return false;
	memcpy(to, g->data + offset, n);
	return true;
}

/* ---- the sink ---- */

static inline uint8_t *guest_reserve(struct ring_sink *sink, size_t n, bool tail)
{
	struct guest *g = guest_of(sink);

	(void)tail;
	CHECK(n <= RING_PIECE_MAX);
	if (!g->room_for)
		return NULL;
	g->room_for--;
	return g->buffer;
}

static inline void guest_drop(struct ring_sink *sink)
{
	guest_of(sink)->n_drops++;
}

/* Check the events of the chunk in the buffer. Return the time of the last one. */
static inline uint64_t guest_check_events(struct guest *g, const struct ring_chunk *chunk)
{
	uint64_t time = 0;

	for (uint32_t at = 0; at + GUEST_EVENT <= chunk->length; at += GUEST_EVENT) {
		time = mprof_load64(g->buffer + at);
		CHECK_EQ_UINT(mprof_load64(g->buffer + at + 9), time * 3);
		if (!chunk->tail && !g->after_gap && !(chunk->clock && at == 0))
			CHECK_EQ_UINT(time, g->next_time);
		if (!chunk->tail)
			g->next_time = time + 1;
		g->after_gap = g->after_gap && chunk->tail;
	}
	return time;
}

static inline void guest_chunk(struct ring_sink *sink, const struct ring_chunk *chunk)
{
	struct guest *g = guest_of(sink);

	if (CHECK(g->n_chunks < GUEST_CHUNKS))
		g->chunks[g->n_chunks++] = *chunk;
	if (chunk->length && (chunk->offset - MPROF_PACKET_HEADER_BYTES) % GUEST_EVENT) {
		g->after_gap = true; /* the chunk begins in the middle of an event */
	} else if (chunk->length) {
		uint64_t last = guest_check_events(g, chunk);

		if (chunk->tail)
			g->tail_last = last;
	}
	if (chunk->length % GUEST_EVENT)
		g->after_gap = true; /* or the chunk ends in the middle of an event */
	if (chunk->tail) {
		g->n_tails++;
		g->tail += chunk->length;
		return;
	}
	g->handed += chunk->length;
	if (g->started) {
		CHECK_EQ_UINT(chunk->sequence, g->next_sequence);
		CHECK_EQ_UINT(chunk->offset, g->next_offset);
	}
	g->started = true;
	g->next_sequence = chunk->sequence + chunk->last;
	g->next_offset = chunk->last ? MPROF_PACKET_HEADER_BYTES : chunk->offset + chunk->length;
}

static inline bool guest_gap(struct ring_sink *sink, const struct ring_gap *gap)
{
	struct guest *g = guest_of(sink);

	if (g->takes_no_gap)
		return false;
	if (CHECK(g->n_gaps < GUEST_GAPS))
		g->gaps[g->n_gaps++] = *gap;
	if (g->started && !g->n_tails) {
		CHECK_EQ_UINT(gap->after_sequence, g->next_sequence);
		CHECK_EQ_UINT(gap->after_offset, g->next_offset);
	}
	g->started = g->after_gap = true;
	g->next_sequence = gap->next_sequence;
	g->next_offset = MPROF_PACKET_HEADER_BYTES;
	return true;
}

/* Clear the sink's records of chunks, gaps and tails. */
static inline void guest_forget(struct guest *g)
{
	g->n_chunks = g->n_gaps = g->n_tails = g->n_drops = 0;
	g->handed = g->tail = 0;
}

/* ---- the writer ---- */

static inline uint8_t *guest_packet(struct guest *g, uint64_t sequence)
{
	return g->data + sequence % g->n * g->room;
}

static inline void guest_size(struct guest *g, uint64_t sequence, uint32_t used)
{
	mprof_store32(guest_packet(g, sequence) + 26, used * 8);
}

/* Write a new ring: empty packets with the counts 0, 1, 2 and so on. The guest's time goes on. */
static inline void guest_format(struct guest *g)
{
	memset(g->data, 0, (size_t)g->n * g->room);
	for (uint32_t i = 0; i < g->n; i++) {
		struct mprof_packet_header h = {.packet_bytes = g->room, .content_bytes = 30, .count = (uint16_t)i};

		mprof_packet_store(&h, g->data + (size_t)i * g->room);
	}
	g->sequence = 0;
	g->used = MPROF_PACKET_HEADER_BYTES;
}

static inline void guest_new(struct guest *g, uint32_t n, uint32_t room)
{
	ring_detach(&g->ring);
	memset(g, 0, offsetof(struct guest, data));
	g->memory.load = guest_load;
	g->sink = (struct ring_sink){guest_reserve, guest_chunk, guest_drop, guest_gap};
	g->n = n;
	g->room = room;
	g->bytes = n * room;
	g->time = 1000;
	g->room_for = UINT32_MAX;
	g->after_gap = true;
	CHECK(g->bytes <= GUEST_BYTES);
	guest_format(g);
}

static inline void guest_turn(struct guest *g)
{
	g->sequence++;
	g->used = MPROF_PACKET_HEADER_BYTES;
	mprof_store16(guest_packet(g, g->sequence) + 24, (uint16_t)g->sequence);
	guest_size(g, g->sequence, g->used);
}

static inline void guest_event(struct guest *g)
{
	uint8_t *at;

	if (g->used + GUEST_EVENT >= g->room)
		guest_turn(g);
	at = guest_packet(g, g->sequence) + g->used;
	mprof_store64(at, g->time);
	at[8] = 8;
	mprof_store64(at + 9, g->time * 3);
	g->time++;
	g->used += GUEST_EVENT;
	guest_size(g, g->sequence, g->used);
}

/* Write events until packet SEQUENCE has EVENTS events. */
static inline void guest_write_to(struct guest *g, uint64_t sequence, uint32_t events)
{
	while (g->sequence < sequence || g->used < MPROF_PACKET_HEADER_BYTES + events * GUEST_EVENT)
		guest_event(g);
}

/*
 * Write the ring's contents as they are when packet SEQUENCE has EVENTS events. Write only the
 * packets that are still in the ring then.
 */
static inline void guest_jump(struct guest *g, uint64_t sequence, uint32_t events)
{
	g->time += 1000000;
	g->sequence = sequence > g->n ? sequence - g->n : 0;
	guest_turn(g);
	guest_write_to(g, sequence, events);
}

static inline uint32_t guest_full(const struct guest *g)
{
	return MPROF_PACKET_HEADER_BYTES + (g->room - 1 - MPROF_PACKET_HEADER_BYTES) / GUEST_EVENT * GUEST_EVENT;
}

/* ---- the reader ---- */

static inline int guest_attach(struct guest *g, const struct ring_resume *resume, bool dead)
{
	const char *fault;

	ring_detach(&g->ring);
	return ring_attach(&g->ring, &g->memory, g->bytes, resume, dead, &fault);
}

static inline int guest_poll(struct guest *g)
{
	return ring_poll(&g->ring, &g->sink);
}

/* Write EVENTS events and poll after each. */
static inline void guest_watch(struct guest *g, unsigned events)
{
	while (events--) {
		guest_event(g);
		CHECK_EQ_INT(guest_poll(g), 0);
	}
}

#endif
