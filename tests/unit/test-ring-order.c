/*
 * The reader of a ring on a machine that may show a writer's stores out of order: which bytes it
 * proves, and when. tests/unit/meson.build compiles the reader with RING_SETTLE=1 for this test.
 */
#include "clock.h"
#include "ring-guest.h"

#define ROOM	 300u /* bytes of a packet of 15 events */
#define EVENTS	 15u
#define POLL_GAP 1000u

static struct guest g;

static int poll_later(void)
{
	int r = ring_poll(&g.ring, &g.sink);

	g.ring.polled_at -= POLL_GAP; /* two polls never have the same time */
	return r;
}

/* The bytes of a living ring are handed over one poll after the poll that proved them. */
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
	CHECK_RUN(test_settling);
	CHECK_RUN(test_dead);
	CHECK_RUN(test_dead_marks);
	ring_detach(&g.ring);
	return check_done();
}
