/*
 * A faulty writer that sets a packet's size back: which loads show it, and where the gap begins.
 *
 * Each row is one history of one packet, whose events stand in the ring before their sizes: first the reader sees the size
 * grow event by event, then the writer stores the sizes of the row, and the reader polls after each. A row without a gap is a
 * healthy writer. test-ring-set-back.c has random histories.
 */
#include "ring-guest.h"

#define SMALL 300u   /* bytes of a packet of 15 events */
#define LARGE 20000u /* bytes of a packet whose size has a high half */
#define HUGE  60000u /* bytes of a packet whose high half has many values */

#define BYTES(events) (MPROF_PACKET_HEADER_BYTES + (events) * GUEST_EVENT)
#define SIZES	      4u

/* A size that the writer stores, in events, or an exact number of bits. ANEW: it has written other events from the first one on. */
struct size {
	uint32_t events, bits;
	bool anew;
};

/* The size of so many events, with other events than before. */
#define AT(number)   {.events = (number)}
#define ANEW(number) {.events = (number), .anew = true}

/* The size of an empty packet; and that of EVENTS events, of which the low half is stored, and the high half is one less. */
#define EMPTY	     {.bits = 240}
#define HALF(events) {.bits = BYTES(events) * 8 - 65536}

struct fall {
	const char *what;
	uint64_t sequence; /* the packet, in a ring of four */
	uint32_t room;	   /* its bytes */
	uint32_t grown;	   /* events to which the reader sees it grow; all but the last two are copied ... */
	bool full;	   /* ... or none, because the sink has no room before the last size */
	struct size sizes[SIZES];
	enum { LIVES, LEAVES, DIES } then; /* what the writer does with the last size */
	uint32_t gap;			   /* events before the gap; 0 = none is declared, unless ... */
	bool whole;			   /* ... the gap has the whole packet */
};

static struct guest g;
static uint64_t base; /* time of the first event in the packet */

/* Write all events for which packet SEQUENCE has room, but not their size. */
static void fill(uint64_t sequence)
{
	uint8_t *at = guest_packet(&g, sequence) + MPROF_PACKET_HEADER_BYTES;

	for (uint32_t i = 0; BYTES(i + 1) < g.room; i++, at += GUEST_EVENT) {
		mprof_store64(at, base + i);
		at[8] = 8;
		mprof_store64(at + 9, (base + i) * 3);
	}
}

/* Let the reader copy all packets before packet SEQUENCE. */
static void begin(uint64_t sequence, uint32_t room)
{
	guest_new(&g, 4, room);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	for (uint64_t q = 0; q < sequence; q++) {
		guest_write_to(&g, q, (room - 31) / GUEST_EVENT);
		CHECK_EQ_INT(guest_poll(&g), 0);
	}
	if (sequence)
		guest_turn(&g);
	CHECK_EQ_UINT(g.sequence, sequence);
	base = g.time;
	fill(sequence);
}

static bool is_size(const struct size *size)
{
	return size->events || size->bits;
}

/* Store the sizes of row F. The reader polls after each, but not after one with which the writer leaves the packet. */
static void sizes_store(const struct fall *f)
{
	for (uint32_t i = 0; i < SIZES && is_size(&f->sizes[i]); i++) {
		const struct size *size = &f->sizes[i];
		const bool is_last = i + 1 == SIZES || !is_size(size + 1);

		if (size->anew) {
			base += 5000;
			fill(f->sequence);
		}
		g.used = size->bits ? size->bits / 8 : BYTES(size->events);
		mprof_store32(guest_packet(&g, f->sequence) + 26, size->bits ? size->bits : g.used * 8);
		if (is_last)
			g.room_for = UINT32_MAX;
		if (!is_last || f->then != LEAVES) {
			int r = guest_poll(&g);

			CHECK(r == 0 || (f->full && r == RING_E_FULL));
		}
	}
	g.time = base + (g.used - MPROF_PACKET_HEADER_BYTES) / GUEST_EVENT;
}

/* Play row F. */
static void play(const struct fall *f)
{
	struct ring_mark at = {0};

	begin(f->sequence, f->room);
	if (f->full)
		g.room_for = 0;
	for (uint32_t events = f->grown - 2; events <= f->grown; events++) {
		guest_size(&g, f->sequence, BYTES(events));
		guest_poll(&g);
	}
	guest_forget(&g);
	sizes_store(f);
	if (f->then == LIVES)
		CHECK_EQ_INT(guest_poll(&g), 0);
	if (f->then != DIES) {
		guest_turn(&g);
		guest_watch(&g, 4);
		guest_write_to(&g, f->sequence + 2, 3);
	}
	ring_set_dead(&g.ring, true);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
}

static void check_gap(const struct fall *f)
{
	const struct ring_gap *gap = &g.gaps[0];
	bool right = CHECK_EQ_UINT(g.n_gaps, f->gap || f->whole);

	if (right && g.n_gaps) {
		right = CHECK_EQ_UINT(gap->after_sequence, f->sequence);
		right = CHECK_EQ_UINT(gap->after_offset, BYTES(f->gap)) && right;
		right = CHECK_EQ_UINT(gap->next_sequence, f->sequence + 1) && right;
		right = CHECK_EQ_UINT(gap->packets, 1) && CHECK(!gap->at_least) && right;
		right = CHECK_EQ_INT(gap->reason, RING_GAP_DAMAGED) && right;
	}
	if (f->then == LIVES)
		right = CHECK_EQ_INT(g.ring.proof.several_writers, f->gap || f->whole) && right;
	if (!right)
		fprintf(stderr, "in the row \"%s\"\n", f->what);
}

static void test_falls(void)
{
	static const struct fall rows[] = {
		{"healthy", 5, SMALL, 10, false, {AT(11), AT(12)}, LIVES, 0, false},
		{"healthy, first lap", 1, SMALL, 10, false, {AT(11), AT(12)}, LEAVES, 0, false},
		{"falls ahead of the copy", 5, SMALL, 10, false, {AT(9), AT(12)}, LIVES, 9, false},
		{"falls behind the copy", 5, SMALL, 10, false, {AT(5), AT(12)}, LIVES, 8, false},
		{"falls, and the sink is full", 5, SMALL, 10, true, {AT(6), AT(9), AT(12)}, LIVES, 6, false},
		{"falls deeper while the sink is full", 5, SMALL, 10, true, {AT(6), AT(4), AT(12)}, LIVES, 4, false},
		{"falls less deep the second time", 5, SMALL, 10, true, {AT(4), AT(8), AT(6), AT(12)}, LIVES, 4, false},
		{"grows beyond, and falls deeper", 5, SMALL, 10, true, {AT(7), AT(12), AT(3), AT(13)}, LIVES, 3, false},
		{"is left deeper while the sink is full", 5, SMALL, 10, true, {AT(6), AT(4)}, LEAVES, 4, false},
		/* 482 events have a high half that 478 do not have. */
		{"half is stored", 5, LARGE, 478, false, {HALF(482), AT(482), AT(483)}, LIVES, 0, false},
		{"half is stored, seen twice", 5, LARGE, 478, false, {HALF(482), HALF(482), AT(482)}, LIVES, 0, false},
		{"half is stored, then much more", 5, LARGE, 478, false, {HALF(482), AT(999)}, LIVES, 0, false},
		{"half is stored, and half of the next",
		 5,
		 LARGE,
		 478,
		 false,
		 {HALF(482), HALF(963), AT(963)},
		 LIVES,
		 0,
		 false},
		{"half is stored, and it dies", 5, LARGE, 478, false, {HALF(482)}, DIES, 0, false},
		{"falls, next high half is another", 5, LARGE, 528, false, {AT(498), AT(968)}, LIVES, 526, false},
		{"falls, next high half is another, full", 5, LARGE, 528, true, {AT(498), AT(968)}, LIVES, 498, false},
		{"falls to another high half", 5, LARGE, 488, true, {AT(470), AT(489)}, LIVES, 470, false},
		/* Sizes that no later size with the same high half confirms. */
		{"falls over a high half that was seen",
		 5,
		 LARGE,
		 440,
		 false,
		 {AT(481), AT(457), AT(530)},
		 LIVES,
		 457,
		 false},
		{"falls over a high half, full", 5, LARGE, 440, true, {AT(481), AT(457), AT(530)}, LIVES, 457, false},
		{"falls over two high halves",
		 5,
		 HUGE,
		 440,
		 false,
		 {AT(1400), AT(500), AT(970), AT(1401)},
		 LIVES,
		 500,
		 false},
		{"falls over a high half, and it dies", 5, LARGE, 440, false, {AT(481), AT(457)}, DIES, 457, false},
		{"falls over a high half, and is left", 5, LARGE, 440, false, {AT(481), AT(457)}, LEAVES, 457, false},
		{"grows over each high half",
		 5,
		 HUGE,
		 440,
		 false,
		 {AT(481), AT(970), AT(1450), AT(1930)},
		 LIVES,
		 0,
		 false},
		{"half is stored behind another high half",
		 5,
		 LARGE,
		 440,
		 false,
		 {AT(482), HALF(963), AT(963), AT(964)},
		 LIVES,
		 0,
		 false},
		{"half is stored twice behind another",
		 5,
		 HUGE,
		 440,
		 false,
		 {AT(482), HALF(963), HALF(1445), AT(1445)},
		 LIVES,
		 0,
		 false},
		{"falls twice below one high half",
		 5,
		 LARGE,
		 528,
		 true,
		 {AT(498), AT(497), AT(968)},
		 LIVES,
		 497,
		 false},
		{"falls, left before the next half", 5, LARGE, 528, true, {AT(498), AT(900)}, LEAVES, 498, false},
		{"falls to the half of an empty size",
		 5,
		 16000,
		 600,
		 false,
		 {{.bits = 65536 + 240}, AT(700)},
		 LIVES,
		 598,
		 false},
		/* The size of an empty packet, under the same count and first timestamp. */
		{"falls to empty", 5, SMALL, 10, false, {EMPTY, AT(12)}, LIVES, 8, false},
		{"falls to empty, full", 5, SMALL, 10, true, {EMPTY, AT(12)}, LIVES, 0, true},
		{"falls to empty and is left", 5, SMALL, 10, false, {EMPTY, AT(12)}, LEAVES, 8, false},
		{"is left empty", 5, SMALL, 10, false, {EMPTY}, LEAVES, 8, false},
		{"falls to empty, and it dies", 5, SMALL, 10, false, {EMPTY}, DIES, 9, false},
		{"falls to empty, grows, and it dies", 5, SMALL, 10, false, {EMPTY, AT(12)}, DIES, 8, false},
		{"falls to empty in the first lap", 1, SMALL, 10, false, {EMPTY, AT(12)}, LIVES, 8, false},
		{"falls to empty in the first packet", 0, SMALL, 10, false, {EMPTY, AT(12)}, LIVES, 8, false},
		{"falls to empty behind another fall", 5, SMALL, 10, true, {AT(6), EMPTY, AT(12)}, LIVES, 0, true},
		{"falls to empty, large", 5, LARGE, 600, false, {EMPTY, AT(700)}, LIVES, 598, false},
		{"falls to an impossible size", 5, SMALL, 10, false, {{.bits = 80}, AT(12)}, LIVES, 8, false},
		{"falls to bits that are no bytes", 5, SMALL, 10, true, {{.bits = 484}, AT(12)}, LIVES, 0, true},
		{"grows to an impossible size", 5, SMALL, 10, false, {{.bits = 9999}, AT(11), AT(12)}, LIVES, 0, false},
		{"half is impossible", 5, LARGE, 478, false, {HALF(481), AT(481), AT(482)}, LIVES, 0, false},
		{"half is impossible, and falls", 5, LARGE, 478, true, {HALF(481), AT(480), AT(490)}, LIVES, 0, true},
		{"may be half, and is not", 5, LARGE, 480, true, {EMPTY, AT(481)}, LIVES, 0, true},
		{"may be half", 5, LARGE, 480, false, {EMPTY, AT(483)}, LIVES, 0, false},
		/* The first timestamp changes after bytes were copied. */
		{"begun anew, copied", 5, SMALL, 10, false, {ANEW(12)}, LIVES, 8, false},
		{"begun anew, copied, less", 5, SMALL, 10, false, {ANEW(5)}, LIVES, 8, false},
		{"begun anew, copied, empty", 5, SMALL, 10, false, {EMPTY, ANEW(12)}, LIVES, 8, false},
		{"begun anew, copied, in the first lap", 1, SMALL, 10, false, {ANEW(12)}, LIVES, 8, false},
		{"begun anew, copied, and left", 5, SMALL, 10, false, {ANEW(12)}, LEAVES, 8, false},
		{"begun anew, copied, and it dies", 5, SMALL, 10, false, {ANEW(12)}, DIES, 8, false},
		{"begun anew, copied, large", 5, LARGE, 900, false, {ANEW(500)}, LIVES, 898, false},
		/* The first timestamp changes, too, before any byte is copied. */
		{"begun anew with less", 5, SMALL, 10, true, {ANEW(5)}, LIVES, 0, true},
		{"begun anew when it was empty", 5, SMALL, 10, true, {EMPTY, ANEW(12)}, LIVES, 0, true},
		{"begun anew, half", 5, LARGE, 528, true, {ANEW(498), AT(968)}, LIVES, 0, true},
		{"begun anew, may be half, and it dies", 5, LARGE, 10, true, {ANEW(2)}, DIES, 2, false},
		{"begun anew with less, and left", 5, SMALL, 10, true, {ANEW(5)}, LEAVES, 0, true},
		{"begun anew behind a fall", 5, SMALL, 10, true, {AT(6), ANEW(12)}, LIVES, 0, true},
		{"begun anew behind a fall, and it dies", 5, SMALL, 10, true, {AT(6), ANEW(12)}, DIES, 0, true},
		{"falls deeper, large", 5, LARGE, 600, true, {AT(80), AT(81), AT(60), AT(700)}, LIVES, 60, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		play(&rows[i]);
		check_gap(&rows[i]);
	}
}

/* When the header of packet 5 is loaded, let the writer go a lap ahead, and store the size that it stores before it reuses the slot. */
static void lap(struct guest *guest, uint64_t offset, size_t n)
{
	uint32_t bits = guest->armed;

	if (!bits || n != 2 || offset != 5 % guest->n * guest->room + 24)
		return;
	guest->armed = 0;
	guest_write_to(guest, 5 + guest->n - 1, 3);
	mprof_store32(guest_packet(guest, 5) + 26, bits);
}

/* A recorder reuses the slot of the packet in which the reader saw it last. The size 240 is no fall. */
static void test_reused(uint32_t n, uint32_t room, uint32_t bits)
{
	guest_new(&g, n, room);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	for (uint64_t q = 0; q < 5; q++) {
		guest_write_to(&g, q, (room - 31) / GUEST_EVENT);
		CHECK_EQ_INT(guest_poll(&g), 0);
	}
	guest_write_to(&g, 5, (room - 31) / GUEST_EVENT - 4);
	CHECK_EQ_INT(guest_poll(&g), 0);
	guest_watch(&g, 3);
	guest_forget(&g);
	g.hook = lap;
	g.armed = bits;
	guest_event(&g);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.armed, 0);
	CHECK(!g.ring.proof.several_writers);
	/* The writer stores the new count, and goes on. */
	guest_write_to(&g, 5 + n, 4);
	guest_watch(&g, 4);
	CHECK(!g.ring.proof.several_writers);
	CHECK(g.n_gaps > 0);
}

static void test_reuse(void)
{
	for (uint32_t n = 2; n < 5; n++) {
		test_reused(n, 600, 240);
		test_reused(n, 16000, 240);
		test_reused(n, 16000, 65536 + 240);
	}
}

/*
 * A ring of which only snapshots are taken is followed, and not copied: the fall was seen long before the capture. If the writer
 * lives, a capture's tail ends there; if not, a gap follows.
 */
static void skipped(bool dead)
{
	static const uint32_t sizes[] = {8, 9, 10, 7, 12};
	struct ring_mark at = {0};

	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	ring_skip(&g.ring);
	guest_write_to(&g, 0, 15);
	CHECK_EQ_INT(guest_poll(&g), 0);
	guest_turn(&g);
	base = g.time;
	fill(1);
	for (uint32_t i = 0; i < 5; i++) {
		guest_size(&g, 1, BYTES(sizes[i]));
		CHECK_EQ_INT(guest_poll(&g), 0);
	}
	if (dead)
		ring_set_dead(&g.ring, true);
	CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, dead), 0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, dead, &at), 0);
	CHECK_EQ_UINT(g.handed + g.tail, (15 + 7) * GUEST_EVENT);
	if (CHECK_EQ_UINT(g.n_gaps, dead) && dead) {
		CHECK_EQ_UINT(g.gaps[0].after_sequence, 1);
		CHECK_EQ_UINT(g.gaps[0].after_offset, BYTES(7));
		CHECK_EQ_INT(g.gaps[0].reason, RING_GAP_DAMAGED);
	}
	CHECK_EQ_UINT(at.sequence, dead ? 2 : 1);
}

static void test_skipped(void)
{
	skipped(true);
	skipped(false);
}

/* When events of packet ARMED - 1 are copied, let the writer begin the packet anew. */
static void anew(struct guest *guest, uint64_t offset, size_t n)
{
	const uint64_t sequence = guest->armed - 1;

	if (!guest->armed || n < GUEST_EVENT || offset != sequence * guest->room + MPROF_PACKET_HEADER_BYTES)
		return;
	guest->armed = 0;
	base += 5000;
	fill(sequence);
	guest_size(guest, sequence, BYTES(3));
}

/* The first timestamp changes during the copy of the first bytes of packet SEQUENCE, and the size is less then. Return the poll's result. */
static int anew_in_copy(uint64_t sequence)
{
	int r;

	begin(sequence, SMALL);
	g.room_for = 0;
	for (uint32_t events = 8; events <= 10; events++) {
		guest_size(&g, sequence, BYTES(events));
		guest_poll(&g);
	}
	guest_forget(&g);
	g.room_for = UINT32_MAX;
	g.hook = anew;
	g.armed = (unsigned)sequence + 1;
	r = guest_poll(&g);
	CHECK_EQ_UINT(g.armed, 0);
	return r;
}

static void test_anew_in_copy(void)
{
	static const struct fall f = {"", 1, SMALL, 10, true, {AT(11)}, LIVES, 0, true};

	CHECK_EQ_INT(anew_in_copy(1), 0);
	check_gap(&f);
	CHECK_EQ_INT(anew_in_copy(0), RING_E_RENEWED);
	CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);
}

/* A ring of LARGE or SMALL packets in its first lap, and what the reader sees of it. */
struct life {
	uint32_t room, events; /* bytes of a packet; the reader sees so many events, and copies none */
	bool skip;	       /* only snapshots are taken; else the sink has no room, or there are too few events */
	enum {
		UNSEEN,
		EMPTIED,
		BEGUN
	} seen; /* the reader sees the size 240, with the old first timestamp; and with the new one */
};

/* Let the reader see the events of LIFE. Then another program initialises the ring again. Return as the last poll. */
static int life_again(const struct life *life)
{
	int r = 0;

	begin(0, life->room);
	if (life->skip)
		ring_skip(&g.ring);
	else if (life->events > 2)
		g.room_for = 0;
	for (uint32_t events = 1; events <= life->events; events++) {
		guest_size(&g, 0, BYTES(events));
		guest_poll(&g);
	}
	guest_size(&g, 0, MPROF_PACKET_HEADER_BYTES);
	if (life->seen != UNSEEN)
		r = guest_poll(&g);
	CHECK(r != RING_E_RENEWED);
	base += 5000;
	fill(0);
	if (life->seen == BEGUN)
		r = guest_poll(&g);
	g.room_for = UINT32_MAX;
	return r;
}

/*
 * Before any byte is copied, the ring is initialised again. It is another ring, whose events are not lost. In a large packet the
 * first new size may be half of an old ring's size, and the second one is not.
 */
static void renewed(const struct life *life)
{
	uint32_t events = 0;
	int r = life_again(life);

	while (r != RING_E_RENEWED && events < 2) {
		guest_size(&g, 0, BYTES(++events));
		r = guest_poll(&g);
	}
	if (!CHECK_EQ_INT(r, RING_E_RENEWED) || !CHECK(events < 2 || life->room == LARGE) ||
	    !CHECK(!g.ring.proof.several_writers))
		fprintf(stderr, "with %u bytes, %u events, skip %d, seen %d\n", life->room, life->events, life->skip,
			(int)life->seen);
	CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);
}

/* The same, and the program dies after its first event. The tail has that event, and no bytes of the earlier program. */
static void renewed_dead(const struct life *life, bool polled)
{
	struct ring_mark at = {0};
	int r = life_again(life);

	if (r == RING_E_RENEWED || life->skip)
		return;
	guest_size(&g, 0, BYTES(1));
	if (polled)
		guest_poll(&g);
	ring_set_dead(&g.ring, true);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK_EQ_UINT(g.tail, GUEST_EVENT);
	guest_forget(&g);
	if (!polled) {
		life_again(life);
		guest_size(&g, 0, BYTES(1));
		ring_set_dead(&g.ring, true);
		CHECK_EQ_INT(guest_poll(&g), RING_E_RENEWED);
	}
	CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);
}

static void test_renewed(void)
{
	static const uint32_t rooms[] = {SMALL, LARGE};
	static const uint32_t events[] = {2, 12};
	struct life life;

	for (uint32_t i = 0; i < 2 * 2 * 2 * 3; i++) {
		life = (struct life){
			.room = rooms[i % 2],
			.events = events[i / 2 % 2],
			.skip = i / 4 % 2,
			.seen = i / 8,
		};
		renewed(&life);
		renewed_dead(&life, false);
		renewed_dead(&life, true);
	}
}

/*
 * A healthy writer's first timestamp is loaded when one byte of it is stored, and the sizes grow. When the whole timestamp is
 * loaded, the size may be half of one. It is no other ring, and no fall.
 */
static void test_first_late(void)
{
	static const struct size sizes[] = {HALF(482), AT(482), AT(3), AT(4)};

	for (uint32_t i = 0; i < 4; i += 2) {
		begin(0, LARGE);
		mprof_store64(guest_packet(&g, 0) + MPROF_PACKET_HEADER_BYTES, base & 0xff);
		for (uint32_t events = 1; events <= 2; events++) {
			guest_size(&g, 0, BYTES(events));
			CHECK_EQ_INT(guest_poll(&g), 0);
		}
		fill(0);
		for (uint32_t j = i; j < i + 2; j++) {
			mprof_store32(guest_packet(&g, 0) + 26,
				      sizes[j].bits ? sizes[j].bits : BYTES(sizes[j].events) * 8);
			CHECK_EQ_INT(guest_poll(&g), 0);
		}
		for (uint32_t events = 500; events < 504; events++) {
			guest_size(&g, 0, BYTES(events));
			CHECK_EQ_INT(guest_poll(&g), 0);
		}
		CHECK_EQ_UINT(g.n_gaps, 0);
		CHECK(!g.ring.proof.several_writers);
		CHECK_EQ_UINT(g.handed, (501 - RING_SETTLE) * GUEST_EVENT);
	}
}

int main(void)
{
	if (!RING_SETTLE) /* the guest's packets declare nothing */
		CHECK_RUN(test_falls);
	if (!RING_SETTLE)
		CHECK_RUN(test_anew_in_copy);
	if (!RING_SETTLE)
		CHECK_RUN(test_renewed);
	CHECK_RUN(test_first_late);
	if (!RING_SETTLE)
		CHECK_RUN(test_skipped);
	CHECK_RUN(test_reuse);
	ring_detach(&g.ring);
	return check_done();
}
