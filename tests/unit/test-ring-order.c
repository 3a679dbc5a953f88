/*
 * The reader of a ring on a machine that may show a writer's stores out of order: which bytes it
 * proves, and when. tests/unit/meson.build compiles the reader with RING_SETTLE=1 for this test.
 */
#include <mprof/extra.h>

#include "clock.h"
#include "ring-guest.h"

#define ROOM   300u /* bytes of a packet of 15 events */
#define EVENTS 15u

static struct guest g;
static uint64_t past;

/* As the sink's own, but without a check of the events, of which one is a declaration. */
static void note_chunk(struct ring_sink *sink, const struct ring_chunk *chunk)
{
	struct guest *guest = guest_of(sink);

	if (CHECK(guest->n_chunks < GUEST_CHUNKS))
		guest->chunks[guest->n_chunks++] = *chunk;
	*(chunk->tail ? &guest->tail : &guest->handed) += chunk->length;
}

static int poll_later(void)
{
	int r = ring_poll(&g.ring, &g.sink);

	g.ring.polled_at -= ++past; /* two polls never have the same time */
	return r;
}

/* Write an event that declares the recorder, as the first of its packet. FLAGS: what it says of stores. */
static void declare(struct guest *guest, uint16_t flags)
{
	uint8_t *at = guest_packet(guest, guest->sequence) + MPROF_PACKET_HEADER_BYTES;

	mprof_store64(at, guest->time);
	at[8] = MPROF_EVENT_extra;
	mprof_store16(at + 9, MPROF_DECLARATION_BYTES + 1); /* and a byte of a later version */
	at[11] = MPROF_EXTRA_RECORDER;
	at[12] = MPROF_DIALECT_MPROF;
	at[13] = MPROF_DIALECT_VERSION;
	mprof_store16(at + 14, flags);
	guest->used += GUEST_EVENT;
}

/* Write events up to event EVENTS of packet SEQUENCE, in packets that begin with a declaration. */
static void write_declared(struct guest *guest, uint64_t sequence, uint32_t events, uint16_t flags)
{
	while (guest->sequence < sequence || guest->used < MPROF_PACKET_HEADER_BYTES + events * GUEST_EVENT) {
		if (guest->used + GUEST_EVENT >= guest->room)
			guest_turn(guest);
		if (guest->used == MPROF_PACKET_HEADER_BYTES)
			declare(guest, flags);
		guest_event(guest);
	}
}

/* The bytes of a packet that declares ordered stores are proven by the poll that proves them on x86. */
static void test_declared(void)
{
	guest_new(&g, 4, ROOM);
	g.sink.chunk = note_chunk;
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	write_declared(&g, 0, 3, MPROF_DECLARES_ORDER);
	CHECK_EQ_INT(poll_later(), 0);
	write_declared(&g, 1, 2, MPROF_DECLARES_ORDER | 0x8000);
	CHECK_EQ_INT(poll_later(), 0);
	CHECK_EQ_UINT(g.handed, 0);
	write_declared(&g, 1, 4, MPROF_DECLARES_ORDER);
	CHECK_EQ_INT(poll_later(), 0);
	CHECK_EQ_UINT(g.handed, EVENTS * GUEST_EVENT);
	CHECK(!g.chunks[0].unproven);
	/* A packet that declares nothing of its stores is settled first, also behind one that does. */
	write_declared(&g, 2, 2, 0);
	CHECK_EQ_INT(poll_later(), 0);
	write_declared(&g, 2, 4, 0);
	CHECK_EQ_INT(poll_later(), 0);
	write_declared(&g, 2, 6, 0);
	CHECK_EQ_INT(poll_later(), 0);
	CHECK_EQ_UINT(g.handed, 2 * EVENTS * GUEST_EVENT);
	write_declared(&g, 2, 7, 0);
	CHECK_EQ_INT(poll_later(), 0);
	CHECK_EQ_UINT(g.handed, (2 * EVENTS + 2) * GUEST_EVENT);
	for (unsigned i = 0; i < g.n_chunks; i++)
		CHECK_EQ_INT(g.chunks[i].unproven, g.chunks[i].sequence == 2);
}

/* The bytes of another living ring are handed over one poll later, and stay unproven. */
static void test_settling(void)
{
	guest_new(&g, 4, ROOM);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_write_to(&g, 0, 3);
	CHECK_EQ_INT(poll_later(), 0);
	guest_write_to(&g, 1, 2);
	CHECK_EQ_INT(poll_later(), 0);
	guest_write_to(&g, 1, 4);
	CHECK_EQ_INT(poll_later(), 0);
	CHECK_EQ_UINT(g.handed, 0);
	guest_write_to(&g, 1, 5);
	CHECK_EQ_INT(poll_later(), 0);
	CHECK_EQ_UINT(g.handed, EVENTS * GUEST_EVENT);
	for (unsigned i = 0; i < g.n_chunks; i++)
		CHECK(g.chunks[i].unproven);
}

/*
 * The last size of a packet may become visible after the next packet's count. Then it is loaded again before
 * the packet is handed over as complete.
 */
static void late_size(bool dead)
{
	struct ring_mark at = {0};
	uint32_t used;

	guest_new(&g, 4, ROOM);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_write_to(&g, 1, 13);
	used = g.used;
	guest_write_to(&g, 2, 2);
	guest_size(&g, 1, used); /* the stores of packet 1's last two sizes are not visible yet */
	CHECK_EQ_INT(poll_later(), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 2);
	guest_size(&g, 1, guest_full(&g));
	if (dead) {
		ring_set_dead(&g.ring, true);
		CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
		CHECK_EQ_UINT(g.tail, (2 * EVENTS + 2) * GUEST_EVENT);
		return;
	}
	guest_write_to(&g, 2, 4);
	CHECK_EQ_INT(poll_later(), 0);
	guest_write_to(&g, 2, 6);
	CHECK_EQ_INT(poll_later(), 0);
	guest_write_to(&g, 2, 7);
	CHECK_EQ_INT(poll_later(), 0);
	CHECK_EQ_UINT(g.handed, (2 * EVENTS + 2) * GUEST_EVENT);
}

static void test_late_size(void)
{
	late_size(false);
	late_size(true);
}

/*
 * The writer leaves a packet with a size whose high half is not visible yet: the position is 8 KiB too low, and less than one
 * that was seen before. If the half becomes visible before the packet is handed over, nothing is lost; else the rest of
 * the packet is a gap.
 */
static void torn_size(bool heals)
{
	guest_new(&g, 4, 20000);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_write_to(&g, 0, 470);
	for (uint32_t events = 471; events < 478; events++) {
		guest_write_to(&g, 0, events);
		CHECK_EQ_INT(poll_later(), 0);
	}
	guest_write_to(&g, 0, 500);
	guest_turn(&g);
	guest_write_to(&g, 1, 2);
	mprof_store16(guest_packet(&g, 0) + 28, 0);
	CHECK_EQ_INT(poll_later(), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 1);
	CHECK(g.ring.proof.several_writers);
	CHECK_EQ_UINT(g.n_gaps, 0);
	if (heals)
		mprof_store16(guest_packet(&g, 0) + 28, 1);
	for (uint32_t events = 3; events < 8; events++) {
		guest_write_to(&g, 1, events);
		CHECK_EQ_INT(poll_later(), 0);
	}
	CHECK_EQ_UINT(g.ring.cursor.sequence, 1);
	for (unsigned i = 0; i < g.n_chunks; i++)
		CHECK(g.chunks[i].unproven);
	if (CHECK_EQ_UINT(g.n_gaps, !heals) && !heals) {
		CHECK_EQ_UINT(g.gaps[0].after_sequence, 0);
		CHECK_EQ_UINT(g.gaps[0].next_sequence, 1);
		CHECK_EQ_INT(g.gaps[0].reason, RING_GAP_DAMAGED);
	}
}

static void test_torn_size(void)
{
	torn_size(true);
	torn_size(false);
}

/* ---- lies ---- */

/* Check that no load leaves the ring, and that a declaration is looked for inside its packet only. */
static void check_load(struct guest *guest, uint64_t offset, size_t n)
{
	CHECK(offset + n <= guest->bytes);
	if (offset % guest->room == MPROF_PACKET_HEADER_BYTES && n == MPROF_DECLARATION_EVENT)
		CHECK(MPROF_PACKET_HEADER_BYTES + n < guest->room);
}

/* A sink that takes any bytes, which lie inside one packet. */
static void any_chunk(struct ring_sink *sink, const struct ring_chunk *chunk)
{
	struct guest *guest = guest_of(sink);

	CHECK(chunk->offset >= 30 && chunk->offset + chunk->length <= guest->room);
	CHECK_EQ_UINT(chunk->packet_bytes, guest->room);
	guest->handed += chunk->length;
}

static bool any_gap(struct ring_sink *sink, const struct ring_gap *gap)
{
	(void)sink;
	(void)gap;
	return true;
}

/*
 * A guest that lies writes anything behind a declaration. It gets no more than its own ring's bytes, at most as
 * many as it has changed, however long the declaration says that it is, and in however small packets.
 */
static void test_lies(void)
{
	static const uint32_t rooms[] = {256, 300, 1000};
	uint64_t random = 88172645463325252u;

	for (unsigned round = 0; round < 300; round++) {
		guest_new(&g, 4 + round % 5, rooms[round % 3]);
		g.hook = check_load;
		g.sink.chunk = any_chunk;
		g.sink.gap = any_gap;
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		for (unsigned i = 0; i < 60; i++) {
			uint8_t *packet = guest_packet(&g, g.sequence);

			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			packet[38] = random % 8 ? MPROF_EVENT_extra : (uint8_t)random;
			mprof_store16(packet + 39, random % 4 ? 0xffff : (uint16_t)random);
			packet[41] = MPROF_EXTRA_RECORDER;
			mprof_store16(packet + 44, MPROF_DECLARES_ORDER);
			packet[random % g.room] = (uint8_t)(random >> 8);
			mprof_store32(packet + 26, (uint32_t)(random >> 16) % g.room * 8);
			if (random >> 60 == 0)
				guest_turn(&g);
			if (poll_later() == RING_E_RENEWED)
				break;
		}
		CHECK(g.handed <= 60u * g.room);
	}
}

/* Packets that are too small for a declaration are never asked for one. */
static void test_too_small(void)
{
	guest_new(&g, 30, 46);
	g.hook = check_load;
	g.sink.chunk = any_chunk;
	g.sink.gap = any_gap;
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	for (unsigned i = 0; i < 200; i++) {
		guest_turn(&g);
		mprof_store64(guest_packet(&g, g.sequence) + 30, ++g.time);
		guest_size(&g, g.sequence, 45);
		CHECK_EQ_INT(poll_later(), 0);
	}
}

/* Write 23 packets and 5 events, which nobody copies, and let the guest die. */
static void die_uncopied(void)
{
	guest_new(&g, 4, ROOM);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	ring_skip(&g.ring);
	for (uint64_t q = 0; q < 23; q++) {
		guest_write_to(&g, q, 7);
		CHECK_EQ_INT(poll_later(), 0);
	}
	guest_write_to(&g, 23, 5);
	ring_set_dead(&g.ring, true);
}

/* ---- dead rings ---- */

/* A dead ring needs no settling: one poll hands over as much as on a machine that keeps the order. */
static void test_dead(void)
{
	struct ring_mark at = {0};

	die_uncopied();
	CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, true), 0);
	CHECK_EQ_INT(poll_later(), 0);
	CHECK_EQ_UINT(g.handed, 2 * EVENTS * GUEST_EVENT);
	for (unsigned i = 0; i < g.n_chunks; i++)
		CHECK(!g.chunks[i].unproven);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK_EQ_UINT(g.tail, (EVENTS + 5) * GUEST_EVENT);
	CHECK_EQ_UINT(g.tail_last, g.time - 1);
}

/* Marks of the time before the death prove nothing: the bytes up to them are a tail. */
static void test_dead_marks(void)
{
	struct ring_mark at = {0};

	guest_new(&g, 4, ROOM);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	for (uint32_t events = 2; events < 6; events++) {
		guest_write_to(&g, 1, events);
		CHECK_EQ_INT(poll_later(), 0);
	}
	guest_forget(&g);
	ring_set_dead(&g.ring, true);
	CHECK_EQ_INT(poll_later(), 0);
	CHECK_EQ_UINT(g.handed, 0);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK(g.tail > 0);
	CHECK_EQ_UINT(g.tail_last, g.time - 1);
	/* Those of a packet that declares ordered stores do. */
	guest_new(&g, 4, ROOM);
	g.sink.chunk = note_chunk;
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	write_declared(&g, 1, 2, MPROF_DECLARES_ORDER);
	CHECK_EQ_INT(poll_later(), 0);
	ring_skip(&g.ring);
	write_declared(&g, 1, 4, MPROF_DECLARES_ORDER);
	CHECK_EQ_INT(poll_later(), 0);
	g.ring.skipping = false;
	CHECK(g.ring.proof.n_marks > 1);
	ring_set_dead(&g.ring, true);
	CHECK_EQ_INT(poll_later(), 0);
	CHECK(g.handed > 0);
	/* A second call for the same death forgets nothing. */
	g.ring.proof.n_marks = 1;
	ring_set_dead(&g.ring, true);
	CHECK_EQ_UINT(g.ring.proof.n_marks, 1);
	/* A ring that lives again is copied as before. */
	ring_set_dead(&g.ring, false);
	guest_write_to(&g, 2, 5);
	CHECK_EQ_INT(poll_later(), 0);
	guest_write_to(&g, 2, 7);
	CHECK_EQ_INT(poll_later(), 0);
	CHECK(g.handed > 0);
}

int main(void)
{
	CHECK_RUN(test_declared);
	CHECK_RUN(test_settling);
	CHECK_RUN(test_late_size);
	CHECK_RUN(test_torn_size);
	CHECK_RUN(test_lies);
	CHECK_RUN(test_too_small);
	CHECK_RUN(test_dead);
	CHECK_RUN(test_dead_marks);
	ring_detach(&g.ring);
	return check_done();
}
