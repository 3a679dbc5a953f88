/*
 * Fuzz the reader of rings (the sequence-checked copy), with a writer that makes any stores between
 * any two loads. The first bytes of the input say how large the ring is. The other bytes are a
 * program: before each load the writer takes some stores from it, and between the reader's calls it
 * chooses the next call. No load may lie outside the ring, each call must end after a limited
 * number of loads, and the output must be contiguous except for declared gaps.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/packet.h>

#include "fuzz.h"
#include "ring.h"

#define PACKETS_MAX 8u
#define BYTES_MAX   8192u
#define LOADS_MAX   100000u /* most loads of one call */
#define CALLS_MAX   200u

struct fuzz {
	struct memory memory; /* first field: the ring casts this pointer to struct fuzz */
	struct ring_sink sink;
	const uint8_t *program;
	size_t left;

	uint8_t ring[BYTES_MAX];
	uint32_t n, bytes, room;
	unsigned loads;
	bool dead; /* the writer makes no more stores */

	uint8_t buffer[RING_PIECE_MAX];
	size_t reserved;
	bool is_reserved, is_tail, capturing;
	bool started;
	uint64_t sequence; /* the position at which the next output must begin */
	uint32_t offset;
	unsigned full; /* number of reservations, from the next one on, that find no room */
};

static uint8_t next_byte(struct fuzz *f)
{
	if (!f->left)
		return 0;
	f->left--;
	return *f->program++;
}

/* ---- the writer ------------------------------------------------------------------------------ */

/*
 * Make one store: of a count, of half of a size, of a first timestamp, of the end of an event, or
 * of any byte.
 */
static void store(struct fuzz *f)
{
	uint8_t what = next_byte(f), value = next_byte(f);
	uint8_t *p = f->ring + (size_t)(what / 8 % f->n) * f->room;
	uint16_t count = mprof_load16(p + 24), low = mprof_load16(p + 26);

	switch (what % 8) {
	case 0:
		mprof_store16(p + 24, (uint16_t)(count + (value < 128 ? f->n : value)));
		break;
	case 1:
		mprof_store16(p + 26, (uint16_t)(low + 8 * value));
		break;
	case 2:
		mprof_store16(p + 26, MPROF_PACKET_EMPTY_BITS);
		break;
	case 3:
		mprof_store16(p + 28, value % 4);
		break;
	case 4:
		mprof_store64(p + MPROF_PACKET_HEADER_BYTES, mprof_load64(p + MPROF_PACKET_HEADER_BYTES) + value);
		break;
	case 5:
		p[value % f->room] ^= what;
		break;
	case 6:
		mprof_store16(p + 24, value);
		break;
	default:
		f->ring[(size_t)value * 37 % f->bytes] = what;
		break;
	}
}

static bool load(const struct memory *memory, uint64_t offset, void *to, size_t n)
{
	struct fuzz *f = (struct fuzz *)memory;

	require(++f->loads < LOADS_MAX);
	require(n <= f->bytes && offset <= f->bytes - n);
	if (!f->dead && f->left && *f->program < 192) {
		for (unsigned i = next_byte(f) % 4; i; i--)
			store(f);
	} else if (f->left) {
		next_byte(f);
	}
	memcpy(to, f->ring + offset, n);
	return true;
}

/* ---- the sink -------------------------------------------------------------------------------- */

static struct fuzz *fuzz_of(struct ring_sink *sink)
{
	return (struct fuzz *)((char *)sink - offsetof(struct fuzz, sink));
}

static uint8_t *sink_reserve(struct ring_sink *sink, size_t n, bool tail)
{
	struct fuzz *f = fuzz_of(sink);

	require(!f->is_reserved && n <= RING_PIECE_MAX);
	if (f->full) {
		f->full--;
		return NULL;
	}
	f->is_reserved = true;
	f->is_tail = tail;
	f->reserved = n;
	return f->buffer;
}

static void sink_drop(struct ring_sink *sink)
{
	struct fuzz *f = fuzz_of(sink);

	require(f->is_reserved);
	f->is_reserved = false;
}

static void sink_chunk(struct ring_sink *sink, const struct ring_chunk *c)
{
	struct fuzz *f = fuzz_of(sink);

	require(f->is_reserved && c->length <= f->reserved && c->tail == f->is_tail);
	f->is_reserved = false;
	/*
	 * The sizes are those of the headers when the ring was attached. The writer may have
	 * changed them before.
	 */
	require(c->packet_bytes <= f->bytes && c->offset >= MPROF_PACKET_HEADER_BYTES);
	require(c->offset <= c->packet_bytes && c->length <= c->packet_bytes - c->offset);
	if (c->tail)
		return;
	require(c->length || c->last);
	require(!f->started || (c->sequence == f->sequence && c->offset == f->offset));
	f->started = true;
	f->sequence = c->last ? c->sequence + 1 : c->sequence;
	f->offset = c->last ? MPROF_PACKET_HEADER_BYTES : c->offset + c->length;
}

static bool sink_gap(struct ring_sink *sink, const struct ring_gap *gap)
{
	struct fuzz *f = fuzz_of(sink);

	require(!f->is_reserved && gap->next_sequence > gap->after_sequence && gap->packets > 0);
	require(f->capturing || !f->started || (gap->after_sequence == f->sequence && gap->after_offset == f->offset));
	if (f->full) {
		f->full--;
		return false;
	}
	if (f->capturing)
		return true; /* this gap is inside a tail, and does not move the cursor */
	f->started = true;
	f->sequence = gap->next_sequence;
	f->offset = MPROF_PACKET_HEADER_BYTES;
	return true;
}

/* ---- the reader ------------------------------------------------------------------------------ */

static void ring_fill(struct fuzz *f, uint8_t counts, uint8_t fill)
{
	struct mprof_packet_header h = {.packet_bytes = f->room};

	for (uint32_t i = 0; i < f->n; i++) {
		uint8_t *p = f->ring + (size_t)i * f->room;

		h.count = (uint16_t)(counts < 128 ? i : counts * 257u + i);
		h.content_bytes = MPROF_PACKET_HEADER_BYTES + (fill >> i & 1 ? 17u * (fill / 16u + 1) : 0);
		if (h.content_bytes > f->room)
			h.content_bytes = f->room;
		mprof_packet_store(&h, p);
		mprof_store64(p + MPROF_PACKET_HEADER_BYTES, 1000 + 100 * i);
	}
}

static int attach(struct fuzz *f, struct ring *ring, bool resume)
{
	const struct ring_resume at = {
		.sequence = f->sequence,
		.offset = f->offset,
		.last_sequence = f->offset > MPROF_PACKET_HEADER_BYTES || !f->sequence ? f->sequence : f->sequence - 1,
		.first_timestamp = 1000,
	};
	const char *fault = NULL;
	int r;

	f->loads = 0;
	r = ring_attach(ring, &f->memory, f->bytes, resume ? &at : NULL, f->dead, &fault);
	require(r == 0 || r == RING_E_NOT_YET || r == RING_E_REFUSED || (resume && r == RING_E_RENEWED));
	require(fault != NULL);
	if (!resume)
		f->started = false;
	return r;
}

/* Make the call that the program chooses. Return whether the ring is still attached. */
static bool call(struct fuzz *f, struct ring *ring)
{
	struct ring_mark at = {0};
	uint8_t what = next_byte(f);
	int r = 0;

	f->loads = 0;
	f->full = what >= 240 ? 3 : 0;
	f->dead = f->dead || what == 239;
	switch (what % 8) {
	case 0:
		f->capturing = true;
		r = ring_capture(ring, &f->sink, f->dead, &at);
		f->capturing = false;
		break;
	case 1:
		ring_skip(ring);
		break;
	case 2:
		r = ring_seek(ring, &f->sink, f->dead);
		break;
	case 3:
		if (what < 64) {
			ring_detach(ring);
			return attach(f, ring, true) == 0;
		}
		break;
	default:
		r = ring_poll(ring, &f->sink);
		break;
	}
	require(!f->is_reserved);
	require(r == 0 || r == RING_E_FULL || r == RING_E_GONE || r == RING_E_RENEWED);
	require(r != RING_E_FULL || f->full < 3 || what % 8 == 2 || what % 8 == 0);
	if (r == RING_E_RENEWED || r == RING_E_GONE) {
		ring_detach(ring);
		return attach(f, ring, false) == 0;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz f;
	struct ring ring;
	bool attached;

	if (size < 4)
		return 0;
	memset(&f, 0, offsetof(struct fuzz, buffer));
	f.started = f.is_reserved = f.capturing = false;
	f.memory.load = load;
	f.sink = (struct ring_sink){.reserve = sink_reserve, .chunk = sink_chunk, .drop = sink_drop, .gap = sink_gap};
	f.n = 2 + data[0] % (PACKETS_MAX - 1);
	f.room = MPROF_RING_BYTES_MIN / f.n + 1 + 2u * data[1];
	f.bytes = f.n * f.room;
	f.program = data + 4;
	f.left = size - 4;
	f.full = 0;
	f.offset = MPROF_PACKET_HEADER_BYTES;
	f.sequence = 0;
	ring_fill(&f, data[2], data[3]);
	attached = attach(&f, &ring, false) == 0;
	for (unsigned i = 0; i < CALLS_MAX && (f.left || i < 4); i++)
		attached = attached ? call(&f, &ring) : attach(&f, &ring, false) == 0;
	if (attached)
		ring_detach(&ring);
	return 0;
}
