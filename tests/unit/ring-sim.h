/*
 * A simulated guest that writes to its ring between any two loads of the reader.
 *
 * The simulated writer makes its stores one by one, in mirage-profile's order or in the recorder's.
 * A GC event may begin inside another event and may move the writer to the next packet. Before each
 * load of the ring, the writer makes some stores. The simulation keeps the bytes that the writer
 * recorded, and compares every copied byte, chunk end and gap with them.
 */
#ifndef UNIT_RING_SIM_H
#define UNIT_RING_SIM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/bytes.h>
#include <mprof/packet.h>

#include "memory.h"
#include "ring.h"

#define SIM_PACKETS    8u
#define SIM_PACKET_MAX 20000u
#define SIM_ARENA      (48u << 20) /* bytes for the HISTORY newest packets */
#define SIM_STORES     1024u

struct sim_packet {
	uint64_t sequence;
	uint32_t length;	       /* 30 or more: the header is included */
	uint8_t *bytes, *ends, *taken; /* in the arena; each array has the size of the largest packet */
};

struct sim_store {
	uint32_t at;
	uint8_t n;
	bool high; /* the store writes the high half of a size */
	uint8_t bytes[8];
};

/* A chunk or gap that the reader handed over and that sim_evict can take back. */
struct sim_handed {
	struct ring_cursor from;
	uint64_t sequence, lost;
	uint32_t offset, length;
};
#define SIM_HANDED 64u

struct sim {
	struct memory memory; /* first field: the ring casts this pointer to struct sim */
	struct ring_sink sink;
	uint64_t random;

	/* the writer */
	uint8_t *ring;
	uint32_t bytes, n, size[SIM_PACKETS], at[SIM_PACKETS];
	bool disciplined, frozen, dwell;
	uint64_t sequence;
	uint32_t slot, used;
	uint64_t time;
	struct sim_store stores[SIM_STORES];
	uint32_t n_stores, next_store;
	/*
	 * The stores of all packets below SAFE_SEQUENCE are complete as soon as the writer begins
	 * another event.
	 */
	uint64_t safe_sequence;
	uint32_t safe_used;
	uint32_t pace;		    /* average number of stores per 16 loads */
	struct sim_packet *packets; /* the HISTORY newest packets */
	uint8_t *arena;
	uint32_t history, largest;
	uint64_t first_kept;

	/* the reader's output */
	uint8_t buffer[RING_PIECE_MAX];
	bool reserved;
	uint64_t next_sequence;
	uint32_t next_offset;
	bool started, full;
	uint64_t taken, tail, lost, gaps;
	bool tail_checked, leaving;
	const char *fault;
	const struct ring *looked; /* the ring whose output is kept in HANDED; NULL: nothing is taken back */
	struct sim_handed handed[SIM_HANDED];
	uint32_t n_handed, pieces, evictions;
	uint32_t cost, pieces_before; /* this line and the next are for sim_newest */
	uint64_t room, before, newest_from;
};

static inline uint64_t sim_random(struct sim *sim, uint64_t below)
{
	sim->random ^= sim->random << 13;
	sim->random ^= sim->random >> 7;
	sim->random ^= sim->random << 17;
	return below ? sim->random % below : 0;
}

static inline struct sim_packet *sim_packet(struct sim *sim, uint64_t sequence)
{
	struct sim_packet *p = &sim->packets[sequence % sim->history];

	return p->sequence == sequence && p->length ? p : NULL;
}

static inline void sim_fail(struct sim *sim, const char *fault)
{
	if (!sim->fault)
		sim->fault = fault;
}

/* ---- the writer ---- */

static inline void sim_store(struct sim *sim, uint32_t at, const uint8_t *bytes, uint8_t n)
{
	struct sim_store *s = &sim->stores[sim->n_stores++];

	s->at = at;
	s->n = n;
	s->high = false;
	memcpy(s->bytes, bytes, n);
}

static inline void sim_store16(struct sim *sim, uint32_t at, uint16_t v)
{
	uint8_t raw[2];

	mprof_store16(raw, v);
	sim_store(sim, at, raw, 2);
}

static inline void sim_packet_new(struct sim *sim, uint64_t sequence)
{
	struct sim_packet *p = &sim->packets[sequence % sim->history];

	p->bytes = sim->arena + sequence % sim->history * 3 * sim->largest;
	p->ends = p->bytes + sim->largest;
	p->taken = p->ends + sim->largest;
	memset(p->bytes, 0, (size_t)3 * sim->largest);
	p->sequence = sequence;
	p->length = MPROF_PACKET_HEADER_BYTES;
	p->ends[MPROF_PACKET_HEADER_BYTES] = 1;
}

static inline void sim_turn(struct sim *sim)
{
	uint32_t at;

	sim->slot = (sim->slot + 1) % sim->n;
	sim->sequence++;
	sim->used = MPROF_PACKET_HEADER_BYTES;
	sim_packet_new(sim, sim->sequence);
	at = sim->at[sim->slot];
	if (!sim->disciplined)
		sim_store16(sim, at + 24, (uint16_t)sim->sequence);
	sim_store16(sim, at + 26, MPROF_PACKET_EMPTY_BITS);
	sim_store16(sim, at + 28, 0);
	if (sim->disciplined)
		sim_store16(sim, at + 24, (uint16_t)sim->sequence);
}

/*
 * Place an event: append its bytes to the simulation's record, and queue the stores of its size.
 * Return the event's offset in the ring.
 */
static inline uint32_t sim_place(struct sim *sim, const uint8_t *event, uint32_t len)
{
	struct sim_packet *p;
	uint32_t at;

	if (sim->used + len >= sim->size[sim->slot])
		sim_turn(sim);
	p = sim_packet(sim, sim->sequence);
	memcpy(p->bytes + sim->used, event, len);
	at = sim->at[sim->slot] + sim->used;
	sim->used += len;
	p->length = sim->used;
	p->ends[sim->used] = 1;
	return at;
}

static inline void sim_publish(struct sim *sim, uint32_t slot, uint32_t used)
{
	sim_store16(sim, sim->at[slot] + 26, (uint16_t)(used * 8));
	sim_store16(sim, sim->at[slot] + 28, (uint16_t)(used * 8 >> 16));
	sim->stores[sim->n_stores - 1].high = true;
}

/*
 * Queue the stores of the event's bytes: the timestamp in one store or in two, the rest byte by
 * byte.
 */
static inline void sim_payload(struct sim *sim, uint32_t at, const uint8_t *event, uint32_t len)
{
	if (sim_random(sim, 2)) {
		sim_store(sim, at, event, 8);
	} else {
		sim_store(sim, at, event, 4);
		sim_store(sim, at + 4, event + 4, 4);
	}
	for (uint32_t i = 8; i < len; i++)
		sim_store(sim, at + i, event + i, 1);
}

static inline uint32_t sim_event(struct sim *sim, uint8_t *event, bool gc)
{
	uint32_t len = gc ? 17 : 17 + (uint32_t)sim_random(sim, 24);

	/*
	 * Fill each event with other random bytes, so that an event from another place never
	 * matches.
	 */
	for (uint32_t i = 0; i < len; i++)
		event[i] = (uint8_t)sim_random(sim, 256);
	sim->time += 1 + sim_random(sim, 100);
	mprof_store64(event, sim->time);
	return len;
}

static inline void sim_next_event(struct sim *sim)
{
	uint8_t event[64], gc[64];
	uint32_t len = sim_event(sim, event, false), slot, at;

	sim->n_stores = sim->next_store = 0;
	sim->safe_sequence = sim->sequence;
	sim->safe_used = sim->used;
	at = sim_place(sim, event, len);
	slot = sim->slot;
	if (sim->disciplined) {
		sim_payload(sim, at, event, len);
		sim_publish(sim, slot, sim->used);
		return;
	}
	sim_publish(sim, slot, sim->used);
	if (sim_random(sim, 8) == 0) {
		uint32_t gc_len = sim_event(sim, gc, true), gc_at;
		bool late = sim_random(sim, 2);

		if (late)
			sim_store(sim, at, event, 8);
		gc_at = sim_place(sim, gc, gc_len);
		sim_publish(sim, sim->slot, sim->used);
		sim_payload(sim, gc_at, gc, gc_len);
	}
	sim_payload(sim, at, event, len);
}

static inline void sim_write(struct sim *sim, unsigned stores)
{
	while (stores--) {
		struct sim_store *s;

		if (sim->next_store == sim->n_stores)
			sim_next_event(sim);
		s = &sim->stores[sim->next_store];
		/*
		 * Pause between the two halves of a size whose high half changes. Without the
		 * pause, loads at this moment would be rare.
		 */
		if (sim->dwell && s->high && memcmp(sim->ring + s->at, s->bytes, 2) != 0 && sim_random(sim, 64))
			return;
		sim->next_store++;
		memcpy(sim->ring + s->at, s->bytes, s->n);
	}
}

/* Not inlined: a compiler that guesses which load a memory has would warn of another memory taken for a sim. */
__attribute__((noinline, unused)) static bool sim_load(const struct memory *memory, uint64_t offset, void *to, size_t n)
{
	struct sim *sim = (struct sim *)(uintptr_t)memory;

	if (!sim->frozen && sim_random(sim, 16) < (sim->pace < 16 ? sim->pace : 16)) {
		sim_write(sim, 1 + (unsigned)sim_random(sim, sim->pace < 16 ? 2 : 2 * sim->pace / 16));
		/* Sometimes pause the reader: the writer makes many stores at once. */
		if (sim->pace && sim_random(sim, 4000) == 0)
			sim_write(sim, (unsigned)sim_random(sim, 20000));
	}
	if (offset > sim->bytes || n > sim->bytes - offset)
		return false;
	if (n <= 8) {
		memcpy(to, sim->ring + offset, n);
	} else {
		/* A load of more than 8 bytes is not atomic. */
		for (size_t i = 0; i < n; i++) {
			((uint8_t *)to)[i] = sim->ring[offset + i];
			if (!sim->frozen && sim->pace && sim_random(sim, 16) == 0)
				sim_write(sim, 1);
		}
	}
	return true;
}

/* ---- the sink: checks everything ---- */

/*
 * Remember an output that may be taken back. If the table is full, forget the oldest output, which
 * counts as archived.
 */
static inline void sim_hand(struct sim *sim, struct sim_handed handed)
{
	if (!sim->looked)
		return;
	handed.from = sim->looked->cursor;
	if (sim->n_handed == SIM_HANDED)
		memmove(sim->handed, sim->handed + 1, --sim->n_handed * sizeof(handed));
	sim->handed[sim->n_handed++] = handed;
}

/*
 * Take some of the newest outputs back, as queue_evict does. The ring then hands their bytes over
 * again, or declares them lost.
 */
static inline bool sim_evict(struct sim *sim, struct ring *ring)
{
	uint32_t keep;
	struct ring_cursor to;

	if (!sim->n_handed)
		return false;
	keep = (uint32_t)sim_random(sim, sim->n_handed);
	to = sim->handed[keep].from;
	for (uint32_t i = keep; i < sim->n_handed; i++) {
		const struct sim_handed *h = &sim->handed[i];
		struct sim_packet *p = sim_packet(sim, h->sequence);

		sim->lost -= h->lost;
		sim->taken -= h->length;
		if (p)
			memset(p->taken + h->offset, 0, h->length);
	}
	sim->n_handed = keep;
	sim->next_sequence = to.sequence;
	sim->next_offset = to.offset;
	sim->evictions++;
	ring_rewind(ring, &to, false);
	return true;
}

static inline uint8_t *sim_reserve(struct ring_sink *sink, size_t n, bool tail)
{
	struct sim *sim = (struct sim *)((char *)sink - offsetof(struct sim, sink));

	(void)tail;
	if (sim->full && sim_random(sim, 3))
		return NULL;
	if (sim->reserved || n > sizeof(sim->buffer))
		sim_fail(sim, "reserve: twice, or too much");
	sim->reserved = true;
	return sim->buffer;
}

static inline void sim_drop(struct ring_sink *sink)
{
	struct sim *sim = (struct sim *)((char *)sink - offsetof(struct sim, sink));

	sim->reserved = false;
}

static inline void sim_chunk(struct ring_sink *sink, const struct ring_chunk *chunk)
{
	struct sim *sim = (struct sim *)((char *)sink - offsetof(struct sim, sink));
	struct sim_packet *p = sim_packet(sim, chunk->sequence);
	uint32_t to = chunk->offset + chunk->length;

	sim->reserved = false;
	sim->pieces++;
	if (!p) {
		sim_fail(sim, "a packet that was never written");
		return;
	}
	if (chunk->tail) {
		/* The bytes are unproven. Only their position is guaranteed. */
		sim->tail += chunk->length;
		if (to > sim->largest)
			sim_fail(sim, "a tail past its packet");
		/*
		 * The tail may reach up to 8 KiB past the content, because the size may be
		 * half-stored.
		 */
		if (sim->tail_checked && chunk->offset < p->length &&
		    memcmp(sim->buffer, p->bytes + chunk->offset, (to < p->length ? to : p->length) - chunk->offset) !=
			    0)
			sim_fail(sim, "the tail of a writer at rest differs");
		for (uint32_t i = chunk->offset; i < to && i < sim->largest; i++)
			p->taken[i] = 1;
		return;
	}
	if (!sim->started) {
		sim->started = true;
		sim->next_sequence = chunk->sequence;
		sim->next_offset = MPROF_PACKET_HEADER_BYTES;
	}
	if (chunk->sequence != sim->next_sequence || chunk->offset != sim->next_offset)
		sim_fail(sim, "not where the last one ended");
	if ((chunk->unproven && !RING_SETTLE) || chunk->clock)
		sim_fail(sim, "marked without a reason");
	if (to > p->length || memcmp(sim->buffer, p->bytes + chunk->offset, chunk->length) != 0)
		sim_fail(sim, "an accepted byte differs");
	else if (chunk->end && !p->ends[to])
		sim_fail(sim, "an accepted end is no event's end");
	if (chunk->last && (to != p->length || p->sequence >= sim->sequence))
		sim_fail(sim, "a packet called complete is not");
	if (chunk->length && chunk->first_timestamp != mprof_load64(p->bytes + MPROF_PACKET_HEADER_BYTES))
		sim_fail(sim, "the first timestamp is another's");
	sim_hand(sim,
		 (struct sim_handed){.sequence = chunk->sequence, .offset = chunk->offset, .length = chunk->length});
	sim->taken += chunk->length;
	for (uint32_t i = chunk->offset; i < to && i < sim->largest; i++)
		p->taken[i] = 1;
	sim->next_sequence = chunk->last ? chunk->sequence + 1 : chunk->sequence;
	sim->next_offset = chunk->last ? MPROF_PACKET_HEADER_BYTES : to;
}

static inline bool sim_gap(struct ring_sink *sink, const struct ring_gap *gap)
{
	struct sim *sim = (struct sim *)((char *)sink - offsetof(struct sim, sink));

	if (sim->full && sim_random(sim, 3))
		return false;
	if (!sim->started) {
		sim->started = true;
		sim->next_sequence = gap->after_sequence;
		sim->next_offset = gap->after_offset;
	}
	if (gap->after_sequence != sim->next_sequence || gap->after_offset != sim->next_offset)
		sim_fail(sim, "a gap that does not begin where the last chunk ended");
	if (gap->next_sequence <= gap->after_sequence || gap->packets != gap->next_sequence - gap->after_sequence)
		sim_fail(sim, "a gap that counts wrong");
	if (gap->next_sequence > sim->sequence + sim->leaving)
		sim_fail(sim, "a gap that reaches past the writer");
	if (gap->reason == RING_GAP_DAMAGED && !sim->disciplined)
		sim_fail(sim, "an honest writer's packet called damaged");
	sim_hand(sim, (struct sim_handed){.sequence = gap->after_sequence, .lost = gap->packets});
	sim->gaps++;
	sim->lost += gap->packets;
	sim->next_sequence = gap->next_sequence;
	sim->next_offset = MPROF_PACKET_HEADER_BYTES;
	return true;
}

/* ---- the life of one ---- */

static inline void sim_init(struct sim *sim, uint64_t seed, uint32_t n, uint32_t packet_bytes, bool disciplined,
			    uint64_t begin_at)
{
	uint32_t at = 0;

	memset(sim, 0, offsetof(struct sim, buffer));
	sim->reserved = sim->started = sim->full = sim->tail_checked = sim->leaving = false;
	sim->taken = sim->tail = sim->lost = sim->gaps = 0;
	sim->fault = NULL;
	sim->looked = NULL;
	sim->n_handed = sim->pieces = sim->evictions = sim->cost = 0;
	sim->random = seed * 0x9e3779b97f4a7c15u + 1;
	sim->memory.load = sim_load;
	sim->sink = (struct ring_sink){.reserve = sim_reserve, .chunk = sim_chunk, .drop = sim_drop, .gap = sim_gap};
	sim->n = n;
	sim->disciplined = disciplined;
	sim->time = 1000000;
	for (uint32_t i = 0; i < n; i++) {
		sim->at[i] = at;
		sim->size[i] = packet_bytes + (i == n - 1 ? 3 : 0);
		at += sim->size[i];
	}
	sim->bytes = at;
	sim->largest = packet_bytes + 4;
	sim->history = SIM_ARENA / (3 * sim->largest) < 8192 ? SIM_ARENA / (3 * sim->largest) : 8192;
	sim->ring = calloc(1, at);
	sim->packets = calloc(sim->history, sizeof(*sim->packets));
	sim->arena = malloc((size_t)sim->history * 3 * sim->largest);
	if (!sim->ring || !sim->packets || !sim->arena)
		abort();
	/*
	 * Begin three laps before a high number: the writer has written every packet, and
	 * everything earlier is overwritten.
	 */
	sim->sequence = begin_at / n > 3 ? (begin_at / n - 3) * n : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct mprof_packet_header h = {
			.packet_bytes = sim->size[i],
			.content_bytes = MPROF_PACKET_HEADER_BYTES,
			.count = (uint16_t)(i && sim->sequence ? sim->sequence - n + i : sim->sequence + i),
		};

		mprof_packet_store(&h, sim->ring + sim->at[i]);
	}
	sim->used = MPROF_PACKET_HEADER_BYTES;
	sim_packet_new(sim, sim->sequence);
	while (sim->sequence < begin_at)
		sim_write(sim, 1);
	sim->dwell = packet_bytes > 8192;
}

static inline void sim_deinit(struct sim *sim)
{
	free(sim->ring);
	free(sim->packets);
	free(sim->arena);
}

static inline uint64_t sim_handed_since(const struct sim *sim)
{
	return sim->taken + sim->tail - sim->before + (uint64_t)(sim->pieces - sim->pieces_before) * sim->cost;
}

/* Call ring_keep_newest as the collector does if the archive has no room for all of a dead ring. */
static inline void sim_newest(struct sim *sim, struct ring *ring)
{
	struct ring_mark at = {0};
	uint64_t left, again = 0;

	sim->cost = 7;
	ring_set_dead(ring, true);
	if (ring_remaining(ring, &sim->sink, sim->cost, &at, &left))
		sim_fail(sim, "what is left of a dead ring cannot be said");
	sim->room = sim_random(sim, left + 1);
	if (ring_keep_newest(ring, &sim->sink, sim->cost, &at, sim->room) ||
	    ring_remaining(ring, &sim->sink, sim->cost, &at, &again))
		sim_fail(sim, "a dead ring's newest packets cannot be chosen");
	if (again > sim->room && ring->cursor.sequence != ring->writer.active)
		sim_fail(sim, "more is kept than there is room for");
	if (ring->cursor.sequence > ring->writer.active)
		sim_fail(sim, "the newest packet is not kept");
	sim->newest_from = ring->cursor.sequence;
	sim->before = sim->taken + sim->tail;
	sim->pieces_before = sim->pieces;
}

/*
 * At the writer's end, check that every byte written since the reader began was handed over or lies
 * in a declared gap.
 */
static inline void sim_finish(struct sim *sim, struct ring *ring)
{
	struct ring_mark at = {0};

	sim->frozen = true;
	sim->full = false;
	/*
	 * A size is stored in two halves. If the writer has stored only the first half of a new size
	 * and the reader has not seen a larger size of this packet, the reader cannot know the true
	 * size. Store the second half then.
	 */
	if (ring->writer.active != sim->sequence ||
	    ring->writer.seen * 8 <= mprof_load32(sim->ring + sim->at[sim->slot] + 26))
		while (sim->next_store < sim->n_stores && sim->stores[sim->next_store].high) {
			struct sim_store *s = &sim->stores[sim->next_store++];

			memcpy(sim->ring + s->at, s->bytes, s->n);
		}
	/*
	 * The writer dies in the middle of an event, or after it completed the event. Only in the
	 * second case can every byte of the tail be compared.
	 */
	sim->tail_checked = sim_random(sim, 2);
	if (sim->tail_checked) {
		while (sim->next_store < sim->n_stores) {
			struct sim_store *s = &sim->stores[sim->next_store++];

			memcpy(sim->ring + s->at, s->bytes, s->n);
		}
		sim->safe_sequence = sim->sequence;
		sim->safe_used = sim->used;
	}
	if (sim->looked && sim_random(sim, 2))
		sim_evict(sim, ring);
	if (sim->looked && sim_random(sim, 2))
		sim_newest(sim, ring);
	for (int i = 0; i < 4; i++)
		if (ring_poll(ring, &sim->sink))
			sim_fail(sim, "a poll of a dead ring fails");
	if (ring_capture(ring, &sim->sink, true, &at))
		sim_fail(sim, "a capture of a dead ring fails");
	if (sim->cost && sim_handed_since(sim) > sim->room && sim->newest_from != ring->writer.active)
		sim_fail(sim, "more of the newest is handed over than there was room for");
	if (!sim->started) {
		sim->next_sequence = ring->cursor.sequence;
		sim->next_offset = ring->cursor.offset;
	}
	for (uint64_t q = sim->next_sequence; q <= sim->safe_sequence; q++) {
		struct sim_packet *p = sim_packet(sim, q);
		uint32_t to = q == sim->safe_sequence ? sim->safe_used : p->length;

		for (uint32_t i = q == sim->next_sequence ? sim->next_offset : MPROF_PACKET_HEADER_BYTES; i < to; i++)
			if (!p->taken[i])
				sim_fail(sim, "something at the end is neither taken nor declared");
	}
}

#endif
