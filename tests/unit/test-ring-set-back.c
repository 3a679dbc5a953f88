/*
 * A faulty writer that sets a packet's size back, and writes over events that were copied.
 *
 * Random histories: a guest writes events and sets a size back, and the reader polls now and then. Each event has a
 * time of its own. An event that the guest takes back before it was copied is written again with the same time, so
 * it does not count as lost. All others are handed over, or a gap tells that some are lost; the sink of ring-guest.h
 * checks that events without a gap between them have consecutive times.
 */
#include <stdlib.h>

#include "ring-guest.h"

#define HISTORIES 4000u
#define SMALL	  300u	 /* bytes of a packet of 15 events */
#define LARGE	  20000u /* bytes of a packet whose size has a high half */

static struct guest g;
static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* Set the active packet's size back by up to MOST events. */
static void set_back(uint32_t most)
{
	const struct ring_cursor *cursor = &g.ring.cursor;
	uint32_t events = (g.used - MPROF_PACKET_HEADER_BYTES) / GUEST_EVENT, back;

	if (events < 2) /* a ring whose size becomes 240 is taken for a new one */
		return;
	back = 1 + draw(events <= most ? events - 1 : most);
	g.used -= back * GUEST_EVENT;
	guest_size(&g, g.sequence, g.used);
	/* The guest writes the events again that it took back before they were copied. */
	if (g.sequence > cursor->sequence)
		g.time -= back;
	else if (g.sequence == cursor->sequence && g.used >= cursor->offset)
		g.time -= back;
	else if (g.sequence == cursor->sequence && cursor->offset < g.used + back * GUEST_EVENT)
		g.time -= (g.used + back * GUEST_EVENT - cursor->offset) / GUEST_EVENT;
}

/* Write EVENTS events. POLLS: the reader polls after one of so many events; 0 = never. */
static void write_events(uint32_t events, uint32_t polls)
{
	while (events--) {
		guest_event(&g);
		if (polls && draw(polls) == 0)
			CHECK_EQ_INT(guest_poll(&g), 0);
	}
}

/* Check that each event was handed over, or that a gap tells of a loss. Return whether one does. */
static bool check_all_declared(uint64_t history)
{
	const uint64_t written = g.time - 1000, handed = (g.handed + g.tail) / GUEST_EVENT;

	if (!CHECK(written <= handed || g.n_gaps > 0))
		fprintf(stderr, "history %llu: %llu events of %llu are lost without a gap\n",
			(unsigned long long)history, (unsigned long long)(written - handed),
			(unsigned long long)written);
	return g.n_gaps > 0;
}

/* Let the guest set sizes back in history HISTORY, if FAULTY. Return whether a gap tells of a loss. */
static bool play(uint64_t history, bool faulty)
{
	const bool large = history % 4 == 0;
	struct ring_mark at = {0};

	state = history;
	guest_new(&g, 4 + draw(3), large ? LARGE : SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	if (large)
		guest_write_to(&g, 0, 100 + draw(900));
	write_events(1 + draw(30), 1);
	if (faulty)
		set_back(20);
	if (draw(3) == 0)
		CHECK_EQ_INT(guest_poll(&g), 0);
	/*
	 * A large packet whose size fell by few events looks as if the guest died between the stores of the two
	 * halves. Nothing tells the two apart before the guest has written as many events again.
	 */
	write_events((large ? 22 : 0) + draw(20), draw(2) ? 1 : 0);
	write_events(draw(8), 3);
	ring_set_dead(&g.ring, true);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	return check_all_declared(history);
}

static void test_set_back(void)
{
	unsigned declared = 0;

	for (uint64_t history = 0; history < HISTORIES && !check_count()->failed; history++)
		declared += play(history, true);
	CHECK(declared > HISTORIES / 10);
}

static void test_healthy(void)
{
	for (uint64_t history = 0; history < HISTORIES; history++)
		CHECK(!play(history, false));
}

/*
 * The size of packet 2 falls to the cursor, and the writer leaves the packet. It dies after it changed the size and the
 * first timestamp of the slot for packet 4: one gap, and all other events come.
 */
static void test_reused(void)
{
	struct ring_mark at = {0};

	guest_new(&g, 2, 512);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 56);
	guest_write_to(&g, 2, 5); /* the sum of a copy of five events begins at the first timestamp */
	CHECK_EQ_INT(guest_poll(&g), 0);
	guest_watch(&g, 2);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 2);
	CHECK_EQ_UINT(g.ring.cursor.offset, MPROF_PACKET_HEADER_BYTES + 5 * GUEST_EVENT);
	guest_size(&g, 2, g.ring.cursor.offset);
	g.time -= 2;
	guest_turn(&g);
	CHECK_EQ_INT(guest_poll(&g), 0);
	guest_write_to(&g, 3, 28);
	guest_size(&g, 4, MPROF_PACKET_HEADER_BYTES);
	mprof_store64(guest_packet(&g, 4) + MPROF_PACKET_HEADER_BYTES, g.time);
	ring_set_dead(&g.ring, true);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK_EQ_UINT(g.n_gaps, 1); /* of the two events that were taken back */
	CHECK_EQ_UINT(g.handed + g.tail, (56 + 5 + 28) * GUEST_EVENT);
}

/*
 * Let the guest set the size of a packet with room for ROOM bytes back by BACK events, fewer than are not copied yet, and go on with
 * new ones. The next poll shows it, or the one after that, where the size may have been stored by half.
 */
static void set_back_ahead(uint32_t room, uint32_t back)
{
	struct ring_mark at = {0};
	uint32_t copied, back_to;

	guest_new(&g, 4, room);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_write_to(&g, 1, 4);
	guest_watch(&g, 4);
	write_events(back, 0); /* the reader sees the last of them, and copies none */
	CHECK_EQ_INT(guest_poll(&g), 0);
	copied = g.ring.cursor.offset;
	g.used -= back * GUEST_EVENT;
	CHECK(g.used >= copied);
	guest_size(&g, g.sequence, g.used);
	back_to = g.used;
	CHECK_EQ_INT(guest_poll(&g), 0);
	guest_watch(&g, 1);
	CHECK(g.ring.proof.several_writers);
	if (CHECK_EQ_UINT(g.n_gaps, 1)) {
		CHECK_EQ_UINT(g.gaps[0].after_sequence, 1);
		CHECK_EQ_UINT(g.gaps[0].after_offset, back_to);
		CHECK_EQ_UINT(g.gaps[0].next_sequence, 2);
		CHECK_EQ_INT(g.gaps[0].reason, RING_GAP_DAMAGED);
	}
	/* The next packet is whole. */
	guest_write_to(&g, 3, 2);
	guest_watch(&g, 3);
	ring_set_dead(&g.ring, true);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
}

static void test_ahead(void)
{
	for (uint32_t back = 1; back < 3; back++) {
		set_back_ahead(SMALL, back);
		set_back_ahead(LARGE, back);
	}
}

/* The size falls, and the guest is lost before it writes again, or leaves the packet at once. */
static void test_ahead_dead(void)
{
	for (uint32_t turns = 0; turns < 2; turns++) {
		struct ring_mark at = {0};

		guest_new(&g, 4, SMALL);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		guest_watch(&g, 10);
		g.used -= GUEST_EVENT;
		guest_size(&g, g.sequence, g.used);
		if (turns) {
			guest_turn(&g);
			write_events(3, 0);
		}
		ring_set_dead(&g.ring, true);
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
		CHECK_EQ_UINT(g.n_gaps, 1);
	}
}

/*
 * Histories in which the events that the guest takes back are lost, also if they were not copied yet. The reader polls
 * while the size is less, and once more when it has grown.
 */
static void test_lost(void)
{
	for (uint64_t history = 0; history < HISTORIES && !check_count()->failed; history++) {
		const bool large = history % 4 == 0;
		struct ring_mark at = {0};
		uint64_t time;

		state = history;
		guest_new(&g, 4 + draw(3), large ? LARGE : SMALL);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		write_events(2 + draw(30), 1);
		time = g.time;
		set_back(4);
		if (g.used <= MPROF_PACKET_HEADER_BYTES + GUEST_EVENT || g.used + 2 * GUEST_EVENT >= g.room)
			continue;
		g.time = time;
		CHECK_EQ_INT(guest_poll(&g), 0);
		guest_watch(&g, 1);
		write_events(draw(30), 1 + draw(4));
		ring_set_dead(&g.ring, true);
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
		if (!CHECK(g.n_gaps > 0))
			fprintf(stderr, "history %llu: no gap\n", (unsigned long long)history);
	}
}

/*
 * While mprofd is down, the guest sets the size back by 5 of 10 events, and writes EVENTS others. The archive knows the last
 * bytes that were copied.
 */
static void set_back_down(uint32_t room, uint32_t events, bool faulty, bool dead)
{
	struct ring_resume resume = {0};
	uint8_t last[3 * GUEST_EVENT];
	struct ring_mark at = {0};

	guest_new(&g, 4, room);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 10);
	resume.offset = g.ring.cursor.offset;
	resume.first_timestamp = g.ring.cursor.first;
	resume.last_mono = (int64_t)clock_mono();
	resume.last = memcpy(last, guest_packet(&g, 0) + resume.offset - sizeof(last), sizeof(last));
	resume.n_last = sizeof(last);
	if (faulty) {
		g.used -= 5 * GUEST_EVENT;
		guest_size(&g, 0, g.used);
	}
	write_events(events, 0);
	CHECK_EQ_INT(guest_attach(&g, &resume, dead), 0);
	if (dead)
		ring_set_dead(&g.ring, true);
	else
		guest_watch(&g, 4);
	g.started = false;
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, dead, &at), 0);
	CHECK_EQ_UINT(g.n_gaps, faulty);
}

static void test_down(void)
{
	for (uint32_t events = 0; events < 8; events++) {
		for (uint32_t dead = 0; dead < 2; dead++) {
			set_back_down(SMALL, events, true, dead);
			set_back_down(SMALL, events, false, dead);
			set_back_down(LARGE, events, false, dead);
		}
		set_back_down(LARGE, events, true, false);
		if (events >= 3) /* at the cursor again: no half of a size */
			set_back_down(LARGE, events, true, true);
	}
}

int main(void)
{
	CHECK_RUN(test_healthy);
	CHECK_RUN(test_set_back);
	if (!RING_SETTLE) { /* the guest's packets declare nothing */
		CHECK_RUN(test_ahead);
		CHECK_RUN(test_ahead_dead);
		CHECK_RUN(test_lost);
		CHECK_RUN(test_down);
	}
	if (!RING_SETTLE) /* where bytes settle first, the cursor is not so far when the writer dies */
		CHECK_RUN(test_reused);
	ring_detach(&g.ring);
	return check_done();
}
