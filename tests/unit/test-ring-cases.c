/*
 * The sequence-checked copy, case by case: its output and its gaps for a ring that is written by
 * hand.
 *
 * test-ring.c tries many schedules of a correct writer. This file has the cases that those
 * schedules reach seldom or never: counts that wrap, rings that are initialised again, sizes that
 * no writer leaves, dead rings that are cut, and the exact number of proven bytes.
 */
#include <errno.h>

#include "clock.h"
#include "ring-guest.h"

#define SMALL 300u   /* packets of 15 events */
#define LARGE 20000u /* packets of 1,174 events; writing 65,536 of them takes longer than any poll is late */

static struct guest g;

static void gap_is(unsigned i, uint64_t after, uint64_t next, bool at_least, enum ring_gap_reason reason)
{
	if (!CHECK(i < g.n_gaps))
		return;
	CHECK_EQ_UINT(g.gaps[i].after_sequence, after);
	CHECK_EQ_UINT(g.gaps[i].next_sequence, next);
	CHECK_EQ_UINT(g.gaps[i].packets, next - after);
	CHECK_EQ_INT(g.gaps[i].at_least, at_least);
	CHECK_EQ_INT(g.gaps[i].reason, reason);
}

/* ---- attach ---------------------------------------------------------------------------------- */

static int attach_fault(uint64_t bytes, bool dead, const char *want)
{
	const char *fault;
	int r;

	ring_detach(&g.ring);
	r = ring_attach(&g.ring, &g.memory, bytes, NULL, dead, &fault);
	CHECK_EQ_STR(fault, want);
	ring_detach(&g.ring);
	return r;
}

static void test_attach_sizes(void)
{
	guest_new(&g, 4, 256);
	CHECK_EQ_INT(attach_fault(0, false, "it is empty"), RING_E_NOT_YET);
	CHECK_EQ_INT(attach_fault(1023, false, "it is not between 1 KiB and 256 MiB"), RING_E_NOT_YET);
	CHECK_EQ_INT(attach_fault(1024, false, ""), 0);
	CHECK_EQ_INT(attach_fault((256u << 20) + 1, false, "it is not between 1 KiB and 256 MiB"), RING_E_REFUSED);
	CHECK_EQ_INT(attach_fault(256u << 20, false, "its packets do not fill it"), RING_E_NOT_YET);
	CHECK_EQ_INT(attach_fault(1025, false, "its packets do not fill it"), RING_E_NOT_YET);
	/*
	 * Bytes behind the last packet that are no header are no packet; in a dead file that was
	 * cut they are one.
	 */
	CHECK_EQ_INT(attach_fault(1024 + 29, false, "its packets do not fill it"), RING_E_NOT_YET);
	g.bytes = 1024 + 30;
	CHECK_EQ_INT(attach_fault(1024 + 29, true, ""), 0);
	CHECK_EQ_INT(attach_fault(1024 + 30, true, "bad magic"), RING_E_NOT_YET);
	CHECK_EQ_INT(attach_fault(1024 + 30, false, "bad magic"), RING_E_NOT_YET);
	g.bytes = 1024;
	mprof_store32(g.data + 20, 8 * 1024);
	CHECK_EQ_INT(attach_fault(1024, false, "it has fewer than two packets"), RING_E_NOT_YET);
	mprof_store32(g.data + 20, 8 * 1025);
	CHECK_EQ_INT(attach_fault(1024, false, "a packet runs past its end"), RING_E_NOT_YET);
	CHECK_EQ_INT(attach_fault(1024, true, "it has fewer than two packets"), RING_E_NOT_YET);
}

static void test_attach_packets(void)
{
	guest_new(&g, 1024, 40);
	CHECK_EQ_INT(attach_fault(g.bytes, false, ""), 0);
	guest_new(&g, 1025, 40);
	CHECK_EQ_INT(attach_fault(g.bytes, false, "it has more than 1,024 packets"), RING_E_REFUSED);
	guest_new(&g, 2, 512);
	CHECK_EQ_INT(attach_fault(1024, false, ""), 0);
	/* A content size can be wrong for a moment; a magic cannot. */
	guest_size(&g, 1, 513);
	CHECK_EQ_INT(attach_fault(1024, false, ""), 0);
	g.data[512] ^= 1;
	CHECK_EQ_INT(attach_fault(1024, false, "bad magic"), RING_E_NOT_YET);
	g.data[512] ^= 1;
	/* The bytes disappear while the ring is attached. */
	g.bytes = 512;
	CHECK_EQ_INT(attach_fault(1024, false, "its packets do not fill it"), RING_E_NOT_YET);
}

/* Packets of any size, also one that differs, and one too small for an event. */
static void test_attach_uneven(void)
{
	static const uint32_t sizes[] = {30, 500, 37, 38, 419};
	uint32_t at = 0;

	guest_new(&g, 4, 256);
	for (uint32_t i = 0; i < 5; i++) {
		struct mprof_packet_header h = {.packet_bytes = sizes[i], .content_bytes = 30, .count = (uint16_t)i};

		mprof_packet_store(&h, g.data + at);
		at += sizes[i];
	}
	CHECK_EQ_UINT(at, g.bytes);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK_EQ_UINT(g.ring.n, 5);
	at = 0;
	for (uint32_t i = 0; i < 5; i++) {
		CHECK_EQ_UINT(g.ring.slots[i].at, at);
		CHECK_EQ_UINT(g.ring.slots[i].bytes, sizes[i]);
		at += sizes[i];
	}
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.n_chunks, 0);
}

/* The numbers that a ring begins with if its counts are near their wrap. */
static void test_attach_counts(void)
{
	static const struct {
		uint64_t newest, oldest; /* the number as written, and as the reader assigns it */
	} cases[] = {
		{7, 4},		{65533, 65530}, {65535, 65532}, {65536, 65533},
		{65537, 65534}, {65538, 65535}, {65539, 0},	{65540, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		guest_new(&g, 4, SMALL);
		guest_jump(&g, cases[i].newest, 3);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		CHECK_EQ_UINT(g.ring.cursor.sequence, cases[i].oldest);
		CHECK_EQ_UINT(g.ring.cursor.offset, 30);
		CHECK_EQ_INT(guest_look(&g), 0);
		/* All packets that the writer has left but the last are proven at once. */
		CHECK_EQ_UINT(g.n_chunks, 2);
		CHECK_EQ_UINT(g.chunks[0].sequence, cases[i].oldest);
		CHECK_EQ_UINT(g.ring.cursor.sequence, cases[i].oldest + 2);
		CHECK_EQ_UINT(g.ring.writer.active, cases[i].oldest + 3);
		CHECK_EQ_UINT(ring_oldest(&g.ring), cases[i].oldest);
		CHECK(ring_pending(&g.ring));
		CHECK_EQ_UINT(g.handed, 2 * (guest_full(&g) - 30));
	}
}

/*
 * A ring whose older packets do not belong to the newest: only packets that follow without a hole
 * are accepted.
 */
static void test_attach_history(void)
{
	guest_new(&g, 5, SMALL);
	guest_jump(&g, 12, 3);
	mprof_store16(guest_packet(&g, 9) + 24, 4);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 10);
	/*
	 * Its counts say that packets are missing: a dead file that was cut may miss packets, a
	 * ring that is written may not.
	 */
	mprof_store16(guest_packet(&g, 8) + 24, 2);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK_EQ_UINT(g.ring.n, 5);
	CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
	CHECK_EQ_UINT(g.ring.n, 11);
	CHECK_EQ_INT(guest_look(&g), 0);

	/* A new ring: the packets behind the active one are empty and older than nothing. */
	guest_new(&g, 5, SMALL);
	guest_write_to(&g, 2, 1);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 0);
	CHECK_EQ_UINT(g.ring.writer.active, 0);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 2);
	CHECK_EQ_UINT(ring_oldest(&g.ring), 0);
	CHECK_EQ_UINT(g.n_chunks, 1);
	guest_write_to(&g, 4, 1);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 4);
	CHECK_EQ_UINT(ring_oldest(&g.ring), 0);
	guest_write_to(&g, 5, 1);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(ring_oldest(&g.ring), 1);
	CHECK_EQ_UINT(g.n_gaps, 0);
}

/* ---- the proven bytes, exactly --------------------------------------------------------------- */

static void test_proof(void)
{
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK(!ring_pending(&g.ring));
	/*
	 * The next size confirms a size, and two confirmed sizes prove the bytes before the first
	 * of them.
	 */
	for (unsigned i = 1; i <= 10; i++) {
		guest_watch(&g, 1);
		CHECK_EQ_UINT(g.n_chunks, i < 3 ? 0 : i - 2);
		CHECK_EQ_UINT(g.handed, i < 3 ? 0 : (i - 2) * GUEST_EVENT);
		CHECK_EQ_UINT(g.ring.writer.written, i * GUEST_EVENT);
		CHECK(ring_pending(&g.ring));
	}
	for (unsigned i = 0; i < g.n_chunks; i++) {
		CHECK(g.chunks[i].end && !g.chunks[i].last && !g.chunks[i].tail && !g.chunks[i].unproven);
		CHECK_EQ_UINT(g.chunks[i].packet_bytes, SMALL);
		CHECK_EQ_UINT(g.chunks[i].first_timestamp, 1000);
	}
	CHECK_EQ_UINT(g.ring.counters.bytes, g.handed);
	CHECK_EQ_UINT(g.ring.counters.polls, 11);
	/* A poll without any change costs two loads. */
	g.loads = 0;
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.loads, 2);
}

/* The end of a packet: the packet is complete, and its end is known from then on. */
static void test_proof_over_packets(void)
{
	guest_new(&g, 3, 500);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_write_to(&g, 0, 27);
	CHECK_EQ_INT(guest_look(&g), 0);
	guest_watch(&g, 1);
	/*
	 * The writer has left the packet: its last size is final. The size before was never
	 * confirmed.
	 */
	CHECK_EQ_UINT(g.sequence, 1);
	CHECK_EQ_UINT(g.handed, 0);
	guest_watch(&g, 1);
	CHECK_EQ_UINT(g.handed, 27 * GUEST_EVENT);
	CHECK_EQ_UINT(g.n_chunks, 1);
	CHECK(g.chunks[0].last && g.chunks[0].end);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 1);
	CHECK_EQ_UINT(g.ring.cursor.offset, 30);
	guest_watch(&g, 200);
	CHECK_EQ_UINT(g.handed, (27 + 1 + 1 + 200 - 2) * GUEST_EVENT);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK_EQ_UINT(g.ring.counters.lapped, 0);
	CHECK_EQ_UINT(g.ring.counters.bad_sizes, 0);
	CHECK_EQ_UINT(g.ring.counters.dropped, 0);
}

/*
 * Sizes on either side of 8 KiB do not confirm each other: the high half of the first could be
 * missing.
 */
static void test_proof_over_halves(void)
{
	guest_new(&g, 2, LARGE);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	while (g.used + GUEST_EVENT <= 8192)
		guest_event(&g);
	CHECK_EQ_INT(guest_look(&g), 0); /* a candidate below */
	guest_watch(&g, 1);		 /* a candidate above */
	CHECK_EQ_UINT(g.ring.proof.n_marks, 0);
	guest_watch(&g, 1);
	CHECK_EQ_UINT(g.ring.proof.n_marks, 1);
	CHECK_EQ_UINT(g.handed, 0);
	guest_watch(&g, 1);
	CHECK_EQ_UINT(g.ring.cursor.offset, g.used - 2 * GUEST_EVENT);
}

/*
 * A chunk is at most 1 MiB long; a longer one continues in the next, and only the last piece has an
 * end.
 */
static void test_pieces(void)
{
	guest_new(&g, 2, (3u << 19) - 100);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_write_to(&g, 0, 80000);
	guest_write_to(&g, 1, 1);
	CHECK_EQ_INT(guest_look(&g), 0);
	guest_watch(&g, 2);
	if (!CHECK(g.n_chunks >= 2))
		return;
	CHECK_EQ_UINT(g.chunks[0].length, RING_PIECE_MAX);
	CHECK(!g.chunks[0].end && !g.chunks[0].last);
	CHECK_EQ_UINT(g.chunks[1].offset, 30 + RING_PIECE_MAX);
	CHECK_EQ_UINT(g.chunks[1].length, guest_full(&g) - 30 - RING_PIECE_MAX);
	CHECK(g.chunks[1].end && g.chunks[1].last);
}

/* A sink without room: the refused bytes come later, and nothing comes twice. */
static void test_sink_full(void)
{
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 4);
	CHECK_EQ_UINT(g.n_chunks, 2);
	g.room_for = 0;
	guest_event(&g);
	CHECK_EQ_INT(guest_look(&g), RING_E_FULL);
	CHECK_EQ_INT(guest_look(&g), RING_E_FULL);
	g.room_for = UINT32_MAX;
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.handed, 3 * GUEST_EVENT);
	/* The writer laps the refused bytes. */
	g.room_for = 0;
	guest_event(&g);
	CHECK_EQ_INT(guest_look(&g), RING_E_FULL);
	guest_write_to(&g, 6, 2);
	g.room_for = UINT32_MAX;
	g.takes_no_gap = true;
	CHECK_EQ_INT(guest_look(&g), RING_E_FULL);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 0);
	g.takes_no_gap = false;
	guest_watch(&g, 3);
	CHECK_EQ_UINT(g.n_gaps, 1);
	CHECK_EQ_UINT(g.gaps[0].after_offset, 30 + 3 * GUEST_EVENT);
	gap_is(0, 0, 4, g.gaps[0].at_least, RING_GAP_LAPPED);
}

/* ---- laps ------------------------------------------------------------------------------------ */

/* Make a reader in the middle of packet 5 that has copied part of it. */
static void read_to_five(uint32_t n, uint32_t room)
{
	guest_new(&g, n, room);
	guest_jump(&g, 5, 1);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 5);
	CHECK_EQ_UINT(g.ring.cursor.offset, g.used - 2 * GUEST_EVENT);
	guest_forget(&g);
}

/*
 * Exactly 65,536 packets pass between two polls, so the counts are the same as before. The first
 * timestamp shows it, and the gap says that its number is a guess. The same holds if a few more
 * packets have passed and the packet at the cursor has its old count.
 */
static void test_count_goes_round(void)
{
	static const uint32_t packets[] = {2, 4, 8};

	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		uint32_t n = packets[i];

		for (uint32_t more = 0; more + 1 < n; more++) {
			uint64_t newest = 5 + 65536 + more;

			read_to_five(n, LARGE);
			guest_jump(&g, newest, 9);
			g.ring.polled_at = clock_mono();
			CHECK_EQ_INT(guest_look(&g), 0);
			CHECK_EQ_UINT(g.n_gaps, 1);
			gap_is(0, 5, newest - (n - 1) + 1, true, RING_GAP_LAPPED);
			CHECK_EQ_UINT(g.ring.counters.lapped, 1);
			guest_watch(&g, 3);
			CHECK_EQ_UINT(g.ring.cursor.sequence, newest);
			CHECK_EQ_UINT(g.n_gaps, 1);
		}
	}
}

/*
 * A round later the ring has more packets than the newest packet's number: the packets before
 * packet 0 are from the round before, and no packet has a negative number.
 */
static void test_numbers_below_zero(void)
{
	struct ring_resume resume;

	for (uint64_t newest = 65541; newest < 65545; newest++) {
		guest_new(&g, 16, SMALL);
		guest_write_to(&g, 5, 1);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		CHECK_EQ_INT(guest_look(&g), 0);
		guest_watch(&g, 6);
		CHECK_EQ_UINT(g.ring.cursor.sequence, 5);
		guest_forget(&g);
		guest_jump(&g, newest, 9);
		CHECK_EQ_INT(guest_look(&g), 0);
		gap_is(0, 5, newest - 15 + 1, true, RING_GAP_LAPPED);
		guest_watch(&g, 3);
		CHECK_EQ_UINT(g.ring.cursor.sequence, newest);
	}
	/* A hostile guest keeps the archive's last packet and such packets before it. */
	guest_new(&g, 16, SMALL);
	guest_jump(&g, 65541, 12);
	resume = (struct ring_resume){5, 30 + 10 * GUEST_EVENT, 5, mprof_load64(guest_packet(&g, 65541) + 30),
				      clock_real()};
	CHECK_EQ_INT(guest_attach(&g, &resume, false), 0);
	CHECK_EQ_INT(guest_look(&g), 0);
	gap_is(0, 5, 65541 - 15, true, RING_GAP_RESTART);
}

/* Fewer packets pass: their number is known, unless there was time for 32,768 or more. */
static void test_lap(void)
{
	read_to_five(4, LARGE);
	guest_jump(&g, 30, 4);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(guest_look(&g), 0);
	gap_is(0, 5, 28, false, RING_GAP_LAPPED);
	CHECK_EQ_UINT(g.n_gaps, 1);

	read_to_five(4, LARGE);
	guest_jump(&g, 30, 4);
	g.ring.polled_at = clock_mono() - 10 * NS_PER_S;
	CHECK_EQ_INT(guest_look(&g), 0);
	gap_is(0, 5, 28, true, RING_GAP_LAPPED);

	/* The smallest packet decides: 32,768 of 20,000 bytes take 1.3 s, of 300 bytes 20 ms. */
	read_to_five(4, LARGE);
	guest_jump(&g, 30, 4);
	g.ring.polled_at = clock_mono() - NS_PER_S / 5;
	CHECK_EQ_INT(guest_look(&g), 0);
	gap_is(0, 5, 28, false, RING_GAP_LAPPED);
	read_to_five(4, SMALL);
	guest_jump(&g, 30, 4);
	g.ring.polled_at = clock_mono() - NS_PER_S / 5;
	CHECK_EQ_INT(guest_look(&g), 0);
	gap_is(0, 5, 28, true, RING_GAP_LAPPED);

	read_to_five(4, SMALL);
	g.ring.slots[0].bytes = 100 * SMALL;
	guest_jump(&g, 30, 4);
	g.ring.polled_at = clock_mono() - NS_PER_S / 5;
	CHECK_EQ_INT(guest_look(&g), 0);
	gap_is(0, 5, 28, true, RING_GAP_LAPPED);

	/*
	 * The writer laps the reader by a little: the rest of packet 5 is lost, and the oldest
	 * packet is the next to be overwritten.
	 */
	read_to_five(4, LARGE);
	guest_write_to(&g, 9, 1);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(guest_look(&g), 0);
	gap_is(0, 5, 7, false, RING_GAP_LAPPED);
	/* No lap: the ring is just full. */
	read_to_five(4, LARGE);
	guest_write_to(&g, 8, 1);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK_EQ_UINT(g.ring.writer.active, 8);
}

/* A newest packet behind the active one is a count that wrapped only if it stays there. */
static void test_count_falls(void)
{
	read_to_five(4, LARGE);
	guest_jump(&g, 4 + 65536, 9);
	g.ring.polled_at = clock_mono();
	for (unsigned i = 0; i < 3; i++) {
		CHECK_EQ_INT(guest_look(&g), 0);
		CHECK_EQ_UINT(g.n_gaps, 0);
	}
	CHECK_EQ_INT(guest_look(&g), 0);
	gap_is(0, 5, 4 + 65536 - 2, false, RING_GAP_LAPPED);
	CHECK_EQ_UINT(g.ring.writer.behind, 0);

	/* If there was time for that many packets, it is accepted at once. */
	read_to_five(4, LARGE);
	guest_jump(&g, 4 + 65536, 9);
	g.ring.polled_at = clock_mono() - 10 * NS_PER_S;
	CHECK_EQ_INT(guest_look(&g), 0);
	gap_is(0, 5, 4 + 65536 - 2, true, RING_GAP_LAPPED);

	/* Up to 32,767 packets are a lap; one more is behind. */
	read_to_five(4, LARGE);
	guest_jump(&g, 5 + 32767, 9);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(guest_look(&g), 0);
	gap_is(0, 5, 5 + 32767 - 2, false, RING_GAP_LAPPED);
	read_to_five(4, LARGE);
	guest_jump(&g, 5 + 32768, 9);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
}

/* ---- a ring that is initialised again -------------------------------------------------------- */

static void test_renewed(void)
{
	/*
	 * Empty; with something in its first packet; and in its first lap with all packets filled
	 * but the last.
	 */
	for (uint32_t filled = 0; filled < 4; filled++) {
		read_to_five(4, LARGE);
		guest_format(&g);
		if (filled)
			guest_write_to(&g, filled - 1, 3);
		g.ring.polled_at = clock_mono();
		CHECK_EQ_INT(guest_look(&g), RING_E_RENEWED);
		CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);
	}
}

/*
 * A reader that was restarted in the middle of packet 1 of a new ring: packet 0's first timestamp
 * identifies the ring, too.
 */
static void renewed_after_restart(unsigned events)
{
	struct ring_resume resume = {
		.sequence = 1, .offset = 30 + GUEST_EVENT, .last_sequence = 1, .last_real = clock_real()};

	guest_new(&g, 4, LARGE);
	guest_write_to(&g, 1, 6);
	resume.first_timestamp = mprof_load64(guest_packet(&g, 1) + 30);
	CHECK_EQ_INT(guest_attach(&g, &resume, false), 0);
	CHECK_EQ_INT(guest_look(&g), 0);
	guest_format(&g);
	guest_write_to(&g, 1, events + 1);
	CHECK_EQ_INT(guest_look(&g), RING_E_RENEWED);
	CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);
}

/* In its first lap, when the counts are the same again. */
static void test_renewed_early(void)
{
	for (unsigned events = 0; events < 20; events += 9) {
		guest_new(&g, 4, LARGE);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		guest_write_to(&g, 1, 1);
		guest_watch(&g, 6);
		guest_forget(&g);
		g.time += 1000;
		guest_format(&g);
		while (g.used < 30 + events * GUEST_EVENT)
			guest_event(&g);
		CHECK_EQ_INT(guest_look(&g), RING_E_RENEWED);
		CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);

		/* In the reader's packet, with more and with fewer events. */
		guest_new(&g, 4, LARGE);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		guest_watch(&g, 12);
		guest_forget(&g);
		g.time += 1000;
		guest_format(&g);
		while (g.used < 30 + (events + 1) * GUEST_EVENT)
			guest_event(&g);
		CHECK_EQ_INT(guest_look(&g), RING_E_RENEWED);
		CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);

		/* After a restart of the reader. */
		renewed_after_restart(events);
	}
	/* A ring from which nothing was taken yet is simply followed. */
	guest_new(&g, 4, LARGE);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK_EQ_INT(guest_look(&g), 0);
	guest_event(&g);
	CHECK_EQ_INT(guest_look(&g), 0);
	guest_format(&g);
	guest_watch(&g, 4);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK(g.handed > 0);
}

/*
 * Counts 0, 1 and 2 full and an empty 3 behind them: a new ring in its first lap, or a ring whose
 * count has just wrapped and whose writer has renumbered its next packet. The reader's last
 * position decides.
 */
static void test_renewed_or_round(void)
{
	guest_new(&g, 4, LARGE);
	guest_jump(&g, 65534, 1);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_forget(&g);
	guest_write_to(&g, 65538, (LARGE - 31) / GUEST_EVENT);
	guest_turn(&g);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(guest_look(&g), 0);
	gap_is(0, 65534, 65536, false, RING_GAP_LAPPED);

	/* Only its first packet has something: the count did not wrap. */
	guest_new(&g, 4, LARGE);
	guest_jump(&g, 65534, 1);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_forget(&g);
	guest_format(&g);
	guest_write_to(&g, 0, 3);
	CHECK_EQ_INT(guest_look(&g), RING_E_RENEWED);

	guest_new(&g, 4, LARGE);
	guest_jump(&g, 30000, 1);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_forget(&g);
	guest_format(&g);
	guest_write_to(&g, 2, 1);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(guest_look(&g), RING_E_RENEWED);
}

/* ---- a packet that changes during the copy --------------------------------------------------- */

/* Hook the load that copies events, of a packet that began before the hook was armed. */
static bool is_copy(const struct guest *guest, uint64_t offset, size_t n)
{
	return guest->armed && n >= GUEST_EVENT && n != sizeof(struct mprof_packet_wire) - 8 &&
	       offset % guest->room >= MPROF_PACKET_HEADER_BYTES;
}

/*
 * The ring is initialised again, and written to the same place, between the choice of the bytes and
 * their copy.
 */
static void renew_in_copy(struct guest *guest, uint64_t offset, size_t n)
{
	uint32_t used = guest->used;

	if (!is_copy(guest, offset, n))
		return;
	guest->armed = 0;
	guest->time += 1000;
	guest_format(guest);
	while (guest->used < used)
		guest_event(guest);
}

static void test_renewed_in_copy(void)
{
	int r = 0;

	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_forget(&g);
	g.hook = renew_in_copy;
	g.armed = 1;
	/* The sink detects that the events' times do not follow. */
	for (unsigned i = 0; i < 4 && r == 0; i++) {
		guest_event(&g);
		r = guest_look(&g);
	}
	CHECK_EQ_UINT(g.armed, 0);
	CHECK_EQ_INT(r, RING_E_RENEWED);
	CHECK_EQ_UINT(g.n_chunks, 0);
	CHECK_EQ_UINT(g.n_drops, 1);
	CHECK_EQ_UINT(g.ring.counters.dropped, 1);
}

/*
 * A writer laps to the packet during the copy: the packet has a new count, and its bytes and size
 * are still the old ones.
 */
static void renumber_in_copy(struct guest *guest, uint64_t offset, size_t n)
{
	uint8_t *p = guest->data + offset / guest->room * guest->room;

	if (!is_copy(guest, offset, n))
		return;
	guest->armed = 0;
	mprof_store16(p + 24, (uint16_t)(mprof_load16(p + 24) + guest->n));
}

/* mprofd's recorder empties the packet first, under its old count. */
static void empty_in_copy(struct guest *guest, uint64_t offset, size_t n)
{
	if (!is_copy(guest, offset, n))
		return;
	guest->armed = 0;
	mprof_store32(guest->data + offset / guest->room * guest->room + 26, MPROF_PACKET_EMPTY_BITS);
}

static void lapped_in_copy(void (*hook)(struct guest *, uint64_t, size_t), uint64_t next)
{
	guest_new(&g, 4, LARGE);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_write_to(&g, 3, 10);
	guest_forget(&g);
	g.hook = hook;
	g.armed = 1;
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.armed, 0);
	CHECK_EQ_UINT(g.n_drops, 1);
	gap_is(0, 0, next, false, RING_GAP_LAPPED);
	CHECK_EQ_UINT(g.gaps[0].after_offset, 30 + 4 * GUEST_EVENT);
	for (unsigned i = 0; i < g.n_chunks; i++)
		CHECK(g.chunks[i].sequence >= next);
}

/*
 * The rest of the packet is lost. While the writer is that near, nothing of the oldest packet
 * behind it is begun.
 */
static void test_lapped_in_copy(void)
{
	lapped_in_copy(renumber_in_copy, 2);
	lapped_in_copy(empty_in_copy, 1);
}

/* ---- sizes that no correct writer leaves ----------------------------------------------------- */

static void test_bad_sizes(void)
{
	static const uint32_t bits[] = {0, 8 * 29, 30 * 8 + 1, 8 * (SMALL + 1), UINT32_MAX};

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		/* In the active packet the reader waits for a bad size to pass. */
		guest_new(&g, 4, SMALL);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		guest_watch(&g, 6);
		mprof_store32(guest_packet(&g, 0) + 26, bits[i]);
		CHECK_EQ_INT(guest_look(&g), 0);
		CHECK_EQ_UINT(g.ring.counters.bad_sizes, 1);
		guest_watch(&g, 3);
		CHECK_EQ_UINT(g.handed, 7 * GUEST_EVENT);
		CHECK_EQ_UINT(g.ring.counters.bad_sizes, 1);
		CHECK_EQ_UINT(g.n_gaps, 0);
		/* A bad size in a packet that the writer has left is a loss. */
		guest_write_to(&g, 1, 1);
		mprof_store32(guest_packet(&g, 0) + 26, bits[i]);
		guest_watch(&g, 1);
		CHECK_EQ_UINT(g.ring.counters.bad_sizes, 2);
		guest_watch(&g, 3);
		CHECK_EQ_UINT(g.n_gaps, 1);
		gap_is(0, 0, 1, false, RING_GAP_DAMAGED);
		CHECK_EQ_UINT(g.gaps[0].after_offset, 30 + 8 * GUEST_EVENT);
		CHECK_EQ_UINT(g.handed, (8 + 3) * GUEST_EVENT);
	}
	/* The whole packet is a possible size. */
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_write_to(&g, 1, 1);
	guest_size(&g, 0, SMALL);
	guest_watch(&g, 3);
	CHECK_EQ_UINT(g.chunks[0].length, SMALL - 30);
	CHECK(g.chunks[0].last);
}

/* A confirmed size that falls: several writers write at once, and nothing is proven any more. */
static void test_several_writers(void)
{
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	CHECK(!g.ring.proof.several_writers);
	guest_size(&g, 0, 30 + 2 * GUEST_EVENT);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK(!g.ring.proof.several_writers);
	guest_size(&g, 0, 30 + 3 * GUEST_EVENT);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK(g.ring.proof.several_writers);
	guest_forget(&g);
	guest_watch(&g, 4);
	CHECK(g.n_chunks > 0);
	for (unsigned i = 0; i < g.n_chunks; i++)
		CHECK(g.chunks[i].unproven);

	/*
	 * The writer leaves a packet with less than was confirmed: the same, and the rest is a
	 * loss.
	 */
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_write_to(&g, 1, 1);
	guest_size(&g, 0, 30 + 2 * GUEST_EVENT);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK(g.ring.proof.several_writers);
	guest_watch(&g, 3);
	CHECK_EQ_UINT(g.n_gaps, 1);
	gap_is(0, 0, 1, false, RING_GAP_DAMAGED);
}

/*
 * A packet that is renumbered before it is emptied, as mirage-profile does: new count, old size,
 * old bytes. The size is never accepted as the new packet's, however often it is seen.
 */
static void test_old_bytes_under_new_number(void)
{
	read_to_five(4, SMALL);
	guest_write_to(&g, 5, 15);
	mprof_store16(guest_packet(&g, 6) + 24, 6);
	for (unsigned i = 0; i < 5; i++)
		CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 6);
	CHECK_EQ_UINT(g.ring.writer.seen, 30);
	CHECK(g.ring.reference.stale_since != 0);
	guest_forget(&g);
	guest_watch(&g, 4);
	CHECK_EQ_UINT(g.ring.reference.stale_since, 0);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 6);
	CHECK_EQ_UINT(g.ring.cursor.offset, 30 + 2 * GUEST_EVENT);
	for (unsigned i = 0; i < g.n_chunks; i++)
		CHECK(!g.chunks[i].clock);
	CHECK_EQ_UINT(g.n_gaps, 0);
}

/*
 * A GC event moves the writer to the next packet in the middle of packet 6's first event, whose
 * size is stored and whose time is not: the packet's old time must not make the old bytes of the
 * packet behind it look new.
 */
static void test_old_time_of_left_packet(void)
{
	read_to_five(4, SMALL);
	guest_write_to(&g, 5, 15);
	CHECK_EQ_INT(guest_look(&g), 0);
	guest_turn(&g);
	guest_size(&g, 6, 30 + GUEST_EVENT);
	mprof_store16(guest_packet(&g, 7) + 24, 7);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 7);
	CHECK_EQ_UINT(g.ring.writer.seen, 30);
	CHECK(g.ring.reference.stale_since != 0);
}

/*
 * A recorder without 8-byte stores died while it emptied the oldest packet: first timestamp zero,
 * low half of the size stored, high half not. The header's size is not a size that any writer set.
 */
static void test_dead_while_emptying(void)
{
	for (uint32_t newest = 5; newest < 11; newest++) {
		for (int emptied = 0; emptied < 2; emptied++) {
			uint8_t *p;

			guest_new(&g, 5, LARGE);
			guest_jump(&g, newest, 1000);
			p = guest_packet(&g, newest - 4);
			if (emptied)
				mprof_store64(p + 30, 0);
			mprof_store16(p + 26, MPROF_PACKET_EMPTY_BITS);
			CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
			CHECK_EQ_UINT(g.ring.cursor.sequence, newest - 4);
			CHECK_EQ_INT(guest_look(&g), 0);
			gap_is(0, newest - 4, newest - 3, false, RING_GAP_DAMAGED);
			CHECK_EQ_UINT(g.ring.counters.bad_sizes, 1);
		}
	}
	/* A size with this low half that is whole, in a packet that is not the next. */
	guest_new(&g, 5, LARGE);
	guest_jump(&g, 9, 1000);
	mprof_store16(guest_packet(&g, 6) + 26, MPROF_PACKET_EMPTY_BITS);
	CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK_EQ_UINT(g.chunks[1].sequence, 6);
	CHECK_EQ_UINT(g.chunks[1].length, (65536 * 2 + MPROF_PACKET_EMPTY_BITS) / 8 - 30);
}

/* ---- a first timestamp that is not new ------------------------------------------------------- */

/* Put the reader into packet 6, which has five events; its first time is packet 5's plus MORE. */
static void stand_still(uint64_t more)
{
	read_to_five(4, SMALL);
	guest_write_to(&g, 5, 15);
	guest_watch(&g, 1);
	guest_watch(&g, 2);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 6);
	CHECK_EQ_UINT(g.ring.cursor.offset, 30 + GUEST_EVENT);
	guest_write_to(&g, 6, 15);
	CHECK_EQ_INT(guest_look(&g), 0);
	mprof_store16(guest_packet(&g, 7) + 24, 7);
	mprof_store64(guest_packet(&g, 7) + 30, mprof_load64(guest_packet(&g, 6) + 30) + more);
	mprof_store64(guest_packet(&g, 7) + 39, mprof_load64(guest_packet(&g, 7) + 30) * 3);
	guest_size(&g, 7, 30 + 2 * GUEST_EVENT);
	g.sequence = 7;
	g.used = 30 + 2 * GUEST_EVENT;
	g.after_gap = true;
}

/*
 * A first timestamp equal to the previous packet's is refused for a second, and then accepted
 * unless it is the one that was there before.
 */
static void test_clock_stands_still(void)
{
	struct ring_mark at;

	stand_still(1);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.seen, 30 + 2 * GUEST_EVENT);
	stand_still(0);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 7);
	CHECK_EQ_UINT(g.ring.writer.seen, 30);
	CHECK(g.ring.reference.stale_since != 0);
	/* A second ago: it was read in the lap before. */
	g.ring.reference.stale_since -= 2 * NS_PER_S;
	g.ring.slots[g.ring.writer.slot].has_before = true;
	g.ring.slots[g.ring.writer.slot].before = 1;
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.seen, 30 + 2 * GUEST_EVENT);
	CHECK(g.ring.slots[g.ring.writer.slot].clock);
	guest_forget(&g);
	at = (struct ring_mark){.sequence = 7, .offset = 30};
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), 0);
	CHECK_EQ_UINT(g.n_tails, 1);
	CHECK(g.chunks[0].clock);
	/* A packet that is started afresh is measured afresh. */
	g.ring.cursor.sequence = 7;
	g.ring.cursor.offset = 30;
	mprof_store64(guest_packet(&g, 7) + 30, g.time + 5);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK(!g.ring.slots[g.ring.writer.slot].clock);
	/* The wait for the next packet begins anew. */
	stand_still(0);
	CHECK_EQ_INT(guest_look(&g), 0);
	g.ring.reference.stale_since -= 2 * NS_PER_S;
	mprof_store16(guest_packet(&g, 8) + 24, 8);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 8);
	CHECK_EQ_UINT(g.ring.writer.seen, 30);
	/* A packet is seen empty under its number. */
	CHECK(!g.ring.writer.saw_empty);
	guest_turn(&g);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK(g.ring.writer.saw_empty);
	/* The same first timestamp as in the lap before, or an unknown one. */
	for (unsigned known = 0; known < 2; known++) {
		stand_still(0);
		CHECK_EQ_INT(guest_look(&g), 0);
		g.ring.reference.stale_since -= 2 * NS_PER_S;
		g.ring.slots[g.ring.writer.slot].has_before = known;
		g.ring.slots[g.ring.writer.slot].before = mprof_load64(guest_packet(&g, 7) + 30);
		CHECK_EQ_INT(guest_look(&g), 0);
		CHECK_EQ_UINT(g.ring.writer.seen, 30);
		/* Until it was seen empty under its number. */
		g.ring.writer.saw_empty = true;
		CHECK_EQ_INT(guest_look(&g), 0);
		CHECK_EQ_UINT(g.ring.writer.seen, 30 + 2 * GUEST_EVENT);
	}
}

/*
 * A ring in which nothing belongs to the newest packet, which has a new number over old bytes: it
 * is compared with the newest of all others, empty packets excluded.
 */
static void test_guessed_reference(void)
{
	for (unsigned fresh = 0; fresh < 2; fresh++) {
		guest_new(&g, 4, SMALL);
		guest_jump(&g, 7, 15);
		mprof_store16(guest_packet(&g, 4) + 24, 100);
		if (fresh)
			mprof_store64(guest_packet(&g, 4) + 30, g.time);
		guest_size(&g, 6, 30);
		mprof_store64(guest_packet(&g, 6) + 30, g.time + 10);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		CHECK_EQ_UINT(g.ring.cursor.sequence, 100);
		CHECK(g.ring.reference.known && g.ring.reference.guessed);
		CHECK_EQ_UINT(g.ring.reference.first, mprof_load64(guest_packet(&g, 7) + 30));
		CHECK_EQ_INT(guest_look(&g), 0);
		CHECK_EQ_UINT(g.ring.writer.seen, fresh ? guest_full(&g) : 30);
	}
	/* A new ring has no packet to compare with. */
	guest_new(&g, 4, SMALL);
	guest_write_to(&g, 0, 3);
	mprof_store64(guest_packet(&g, 2) + 30, g.time + 10);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK(!g.ring.reference.known);
}

/*
 * In a dead ring the first timestamp before the newest packet's is read again: it may have been
 * read half-written.
 */
static void test_dead_reference(void)
{
	struct ring_mark at = {0};

	read_to_five(4, SMALL);
	guest_write_to(&g, 6, 3);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 6);
	mprof_store64(guest_packet(&g, 5) + 30, g.time + 10);
	g.ring.slots[g.ring.writer.slot].has_before =
		false; /* else a different one would be accepted, as the clock may have stepped */
	ring_set_dead(&g.ring, true);
	guest_forget(&g);
	at.sequence = 6;
	at.offset = 30;
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK_EQ_UINT(g.n_tails, 0);
}

/* ---- a change at any load -------------------------------------------------------------------- */

enum change { CHANGE_RENEW, CHANGE_ROUND, CHANGE_LAP, CHANGE_TURN, CHANGE_RENUMBER, CHANGE_GONE, CHANGES };

static enum change change;

static void change_at(struct guest *guest, uint64_t offset, size_t n)
{
	uint32_t events = (guest->used - MPROF_PACKET_HEADER_BYTES) / GUEST_EVENT;

	(void)offset;
	(void)n;
	if (!guest->armed || --guest->armed)
		return;
	switch (change) {
	case CHANGE_RENEW:
		guest->time += 1000;
		guest_format(guest);
		guest_write_to(guest, 0, events);
		break;
	case CHANGE_ROUND:
		guest_jump(guest, guest->sequence + 65536, events + 1);
		break;
	case CHANGE_LAP:
		guest_jump(guest, guest->sequence + guest->n, events + 1);
		break;
	case CHANGE_TURN:
		guest_write_to(guest, guest->sequence + 1, 2);
		break;
	case CHANGE_RENUMBER:
		mprof_store16(guest_packet(guest, guest->sequence + 1) + 24, (uint16_t)(guest->sequence + 1));
		guest->used = guest->room;
		break;
	default:
		guest->bytes = 0;
		break;
	}
}

/*
 * Poll until the ring has changed and everything provable is copied. The sink checks every event.
 * Return the result that ended it.
 */
static int follow_on(void)
{
	int r = 0;

	for (unsigned events = 0; events < 60; events++) {
		if (g.bytes)
			guest_event(&g);
		r = guest_look(&g);
		if ((r && r != RING_E_FULL) || (!r && !g.armed && g.next_time == g.time - 2))
			return r;
	}
	return -ETIME;
}

/*
 * A reader in the middle of packet SEQUENCE polls, or has gone back and polls; at its load number
 * LOAD the ring changes.
 */
static void change_once(uint64_t sequence, bool back, unsigned load)
{
	struct ring_cursor start;
	int r;

	guest_new(&g, 4, SMALL);
	if (sequence > 4)
		guest_jump(&g, sequence, 1);
	else
		guest_write_to(&g, sequence, 1);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 4);
	start = g.ring.cursor;
	guest_watch(&g, 3);
	if (back) {
		ring_rewind(&g.ring, &start, false);
		g.next_sequence = start.sequence;
		g.next_offset = start.offset;
		g.after_gap = true;
	}
	g.hook = change_at;
	g.armed = load;
	r = follow_on();
	CHECK_EQ_UINT(g.armed, 0);
	if (change == CHANGE_RENEW)
		CHECK_EQ_INT(r, RING_E_RENEWED);
	else if (change == CHANGE_GONE)
		CHECK_EQ_INT(r, RING_E_GONE);
	else
		CHECK_EQ_INT(r, 0);
	if (change == CHANGE_TURN || change == CHANGE_RENUMBER)
		CHECK_EQ_UINT(g.n_gaps, 0);
}

static void test_change_at_any_load(void)
{
	for (change = 0; change < CHANGES; change++)
		for (unsigned load = 1; load <= 70; load++) {
			change_once(0, false, load);
			change_once(1, false, load);
			change_once(6, false, load);
			change_once(2, true, load);
			change_once(3, true, load);
			change_once(1, true, load);
			change_once(6, true, load);
		}
}

/*
 * A first timestamp that was read half-written: the packet is started afresh, and its confirmed
 * sizes are forgotten.
 */
static void test_started_afresh(void)
{
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 2);
	CHECK_EQ_UINT(g.ring.proof.n_marks, 1);
	g.time += 1000;
	guest_format(&g);
	guest_event(&g);
	guest_event(&g);
	guest_watch(&g, 1);
	CHECK_EQ_UINT(g.ring.proof.n_marks, 0);
	guest_watch(&g, 1);
	CHECK_EQ_UINT(g.ring.proof.n_marks, 1);
	CHECK_EQ_UINT(g.handed, 0);
	guest_watch(&g, 1);
	CHECK_EQ_UINT(g.handed, 3 * GUEST_EVENT);
}

/* A count that differs at each load. */
static void never_steady(struct guest *guest, uint64_t offset, size_t n)
{
	if (n == 2 && offset % guest->room == 24)
		guest->data[offset] ^= 0x40;
}

static void test_unsteady(void)
{
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_event(&g);
	g.hook = never_steady;
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.ring.counters.unsteady, 1);
	g.hook = NULL;
	guest_watch(&g, 3);
	CHECK_EQ_UINT(g.ring.counters.unsteady, 1);
	CHECK_EQ_UINT(g.n_gaps, 0);
}

/*
 * The writer has begun a packet without an event: after the first lap this is detected; in a new
 * ring all packets look so.
 */
static void test_empty_packet(void)
{
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	for (uint64_t q = 0; q < 4; q++) {
		guest_write_to(&g, q, 15);
		CHECK_EQ_INT(guest_look(&g), 0);
		guest_turn(&g);
		CHECK_EQ_INT(guest_look(&g), 0);
		CHECK_EQ_UINT(g.ring.writer.active, q < 3 ? q : 4);
	}
}

/* The bytes disappear while the ring is attached: there is no ring yet. */
static void test_gone_at_attach(void)
{
	change = CHANGE_GONE;
	for (unsigned load = 1; load <= 4 + 4 * 6; load++) {
		guest_new(&g, 4, SMALL);
		guest_jump(&g, 6, 5);
		g.hook = change_at;
		g.armed = load;
		CHECK_EQ_INT(guest_attach(&g, NULL, false), RING_E_NOT_YET);
		CHECK_EQ_UINT(g.armed, 0);
		CHECK(g.ring.slots == NULL);
	}
}

/* ---- resuming -------------------------------------------------------------------------------- */

/* The archive ends after ten events of packet 5. */
static struct ring_resume resume_five(void)
{
	guest_new(&g, 4, LARGE);
	guest_jump(&g, 5, 12);
	return (struct ring_resume){
		.sequence = 5,
		.offset = 30 + 10 * GUEST_EVENT,
		.last_sequence = 5,
		.first_timestamp = mprof_load64(guest_packet(&g, 5) + 30),
		.last_real = clock_real(),
	};
}

static void resume_look(const struct ring_resume *resume, int want)
{
	CHECK_EQ_INT(guest_attach(&g, resume, false), want);
	if (want)
		return;
	g.started = true;
	g.next_sequence = resume->sequence;
	g.next_offset = resume->offset;
	CHECK_EQ_INT(guest_look(&g), 0);
}

static void test_resume_same_packet(void)
{
	struct ring_resume resume = resume_five();

	resume_look(&resume, 0);
	CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);
	g.next_time = g.time - 2;
	g.after_gap = false;
	guest_watch(&g, 3);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK_EQ_UINT(g.handed, 3 * GUEST_EVENT);

	/* Three packets later the packet is still there. */
	resume = resume_five();
	guest_write_to(&g, 8, 3);
	resume_look(&resume, 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK_EQ_UINT(g.chunks[0].sequence, 5);
	CHECK_EQ_UINT(g.chunks[0].offset, resume.offset);
	CHECK_EQ_UINT(g.n_chunks, 2);

	/* The archive ends at the end of packet 5, or is ahead of the ring. */
	resume = resume_five();
	resume.sequence = 6;
	resume.offset = 30;
	resume_look(&resume, 0);
	CHECK_EQ_UINT(g.ring.writer.active, 5);
	guest_write_to(&g, 6, 1);
	guest_watch(&g, 3);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK_EQ_UINT(g.chunks[0].sequence, 6);
}

static void test_resume_lapped(void)
{
	struct ring_resume resume = resume_five();

	guest_write_to(&g, 9, 3);
	resume_look(&resume, 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
	gap_is(0, 5, 6, false, RING_GAP_RESTART);
	CHECK_EQ_UINT(g.gaps[0].after_offset, resume.offset);
	CHECK_EQ_UINT(g.chunks[0].sequence, 6);
	CHECK(!g.ring.restart.pending);

	/* Long ago: the count may have wrapped. */
	resume = resume_five();
	guest_write_to(&g, 9, 3);
	resume.last_real -= 60 * NS_PER_S;
	resume_look(&resume, 0);
	gap_is(0, 5, 6, true, RING_GAP_RESTART);
	/* dom0's clock was set back meanwhile: nothing is known to be long ago. */
	resume = resume_five();
	guest_write_to(&g, 9, 3);
	resume.last_real += 60 * NS_PER_S;
	resume_look(&resume, 0);
	gap_is(0, 5, 6, false, RING_GAP_RESTART);
	/* The packet is still there, however long ago: that many packets cannot have passed. */
	resume = resume_five();
	guest_write_to(&g, 8, 3);
	resume.last_real -= 60 * NS_PER_S;
	resume_look(&resume, 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK(!g.ring.restart.at_least);
}

/* The counts are the same as before, and the packet is another. */
static void test_resume_round(void)
{
	for (uint32_t more = 0; more < 4; more++) {
		struct ring_resume resume = resume_five();

		guest_jump(&g, 5 + 65536 + more, 12);
		resume_look(&resume, 0);
		CHECK_EQ_UINT(g.n_gaps, 1);
		gap_is(0, 5, 5 + 65536 + more - 3, true, RING_GAP_RESTART);
	}
	{
		/* One packet less than a round: its number is known, unless it was long ago. */
		struct ring_resume resume = resume_five();

		guest_jump(&g, 4 + 65536, 12);
		resume_look(&resume, 0);
		gap_is(0, 5, 4 + 65536 - 3, false, RING_GAP_RESTART);
	}
}

static void test_resume_renewed(void)
{
	struct ring_resume resume = resume_five();

	guest_format(&g);
	guest_write_to(&g, 1, 3);
	resume_look(&resume, RING_E_RENEWED);
	/* The same in its first lap. */
	guest_new(&g, 4, LARGE);
	guest_write_to(&g, 1, 12);
	resume =
		(struct ring_resume){1, 30 + 10 * GUEST_EVENT, 1, mprof_load64(guest_packet(&g, 1) + 30), clock_real()};
	resume_look(&resume, 0);
	guest_format(&g);
	guest_write_to(&g, 1, 12);
	resume_look(&resume, RING_E_RENEWED);
	/* And for a ring that no longer exists. */
	g.bytes -= 1;
	CHECK_EQ_INT(guest_attach(&g, &resume, false), RING_E_NOT_YET);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void test_skip_and_seek(void)
{
	guest_new(&g, 4, LARGE);
	guest_jump(&g, 5, 1);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_forget(&g);
	CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, false), 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
	ring_skip(&g.ring);
	for (unsigned i = 0; i < 5; i++) {
		guest_write_to(&g, 6 + 3 * i, 5);
		g.ring.polled_at = clock_mono();
		CHECK_EQ_INT(guest_look(&g), 0);
	}
	CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);
	CHECK_EQ_UINT(g.ring.writer.active, 18);
	/* No room for the gap: the reader goes on skipping. */
	g.takes_no_gap = true;
	CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, false), RING_E_FULL);
	CHECK(g.ring.skipping);
	g.takes_no_gap = false;
	g.ring.polled_at = clock_mono();
	/* A sweep behind the writer decides nothing: the reader goes on skipping. */
	g.ring.writer.active++;
	CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, false), RING_E_FULL);
	CHECK(g.ring.skipping);
	g.ring.writer.active--;
	CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, false), 0);
	CHECK(!g.ring.skipping);
	gap_is(0, 5, 16, false, RING_GAP_POLICY);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.chunks[0].sequence, 16);
	/* In a dead ring the oldest packet, too. */
	ring_skip(&g.ring);
	guest_write_to(&g, 40, 5);
	CHECK_EQ_INT(guest_look(&g), 0);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, true), 0);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 37);
}

/*
 * A restart after a lap, of a ring with snapshots only: one gap at the next snapshot covers
 * everything.
 */
static void test_seek_after_restart(void)
{
	for (int at_least = 0; at_least < 2; at_least++) {
		struct ring_resume resume = resume_five();

		guest_write_to(&g, 12, 3);
		resume.last_real -= at_least ? 60 * NS_PER_S : 0;
		CHECK_EQ_INT(guest_attach(&g, &resume, false), 0);
		ring_skip(&g.ring);
		CHECK_EQ_INT(guest_look(&g), 0);
		CHECK_EQ_UINT(g.n_gaps, 0);
		g.takes_no_gap = true;
		CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, false), RING_E_FULL);
		CHECK(g.ring.restart.pending);
		g.takes_no_gap = false;
		g.ring.polled_at = clock_mono();
		CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, false), 0);
		gap_is(0, 5, 10, at_least, RING_GAP_POLICY);
		CHECK(!g.ring.restart.pending);
		CHECK_EQ_INT(guest_look(&g), 0);
		CHECK_EQ_UINT(g.n_gaps, 1);
	}
}

/* ---- captures, and the rest of a dead ring --------------------------------------------------- */

static void test_capture(void)
{
	struct ring_mark at = {0};

	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_forget(&g);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), 0);
	CHECK_EQ_UINT(g.n_tails, 1);
	CHECK_EQ_UINT(g.tail, 2 * GUEST_EVENT);
	CHECK_EQ_UINT(g.chunks[0].offset, 30 + 4 * GUEST_EVENT);
	CHECK(g.chunks[0].unproven && !g.chunks[0].last && !g.chunks[0].clock);
	CHECK_EQ_UINT(g.tail_last, g.time - 1);
	CHECK_EQ_UINT(at.sequence, 1);
	CHECK_EQ_UINT(g.ring.cursor.offset, 30 + 4 * GUEST_EVENT);

	/* A capture that was begun continues at its position. */
	at = (struct ring_mark){0, 30 + 5 * GUEST_EVENT};
	guest_forget(&g);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), 0);
	CHECK_EQ_UINT(g.tail, GUEST_EVENT);

	/*
	 * Over several packets; the sink is full after the first, and the capture continues there.
	 */
	guest_write_to(&g, 2, 4);
	g.room_for = 0;
	CHECK_EQ_INT(guest_look(&g), RING_E_FULL);
	CHECK_EQ_UINT(g.ring.writer.active, 1);
	guest_forget(&g);
	at = (struct ring_mark){0};
	g.room_for = 1;
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), RING_E_FULL);
	CHECK_EQ_UINT(at.sequence, 1);
	CHECK_EQ_UINT(at.offset, 30);
	CHECK(g.chunks[0].last);
	CHECK_EQ_UINT(g.tail, guest_full(&g) - 30 - 4 * GUEST_EVENT);
	g.room_for = UINT32_MAX;
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), 0);
	CHECK_EQ_UINT(g.n_tails, 2);
	/* The bytes disappear. */
	at = (struct ring_mark){0};
	g.bytes = 100;
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), RING_E_GONE);
	CHECK_EQ_INT(guest_look(&g), RING_E_GONE);
}

/* The writer is a lap ahead of the cursor: there is no tail. */
static void test_capture_lapped(void)
{
	struct ring_mark at = {0};

	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_forget(&g);
	g.ring.held = true;
	for (uint64_t q = 1; q <= 4; q++) {
		guest_write_to(&g, q, 2);
		CHECK_EQ_INT(guest_look(&g), 0);
	}
	g.ring.held = false;
	CHECK_EQ_UINT(g.ring.writer.active, 4);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), 0);
	CHECK_EQ_UINT(g.n_tails, 0);
}

/*
 * The writer has left the packet of the tail, and nobody has polled: nothing is returned under the
 * old number.
 */
static void test_capture_renumbered(void)
{
	struct ring_mark at = {0};

	read_to_five(4, SMALL);
	guest_jump(&g, 9, 15);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), 0);
	CHECK_EQ_UINT(g.n_tails, 0);
	CHECK_EQ_UINT(at.sequence, 6);
}

/*
 * The reader had followed the ring to packet LAST without copying, and the writer had lapped the
 * cursor, when the writer died: the rest begins at the oldest packet.
 */
static void left_lapped(uint64_t last)
{
	struct ring_mark at = {0};
	uint64_t left;

	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_forget(&g);
	g.ring.held = true;
	for (uint64_t q = 1; q <= last; q++) {
		guest_write_to(&g, q, 2);
		CHECK_EQ_INT(guest_look(&g), 0);
	}
	ring_set_dead(&g.ring, true);
	g.takes_no_gap = true;
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 0, &at, &left), RING_E_FULL);
	g.takes_no_gap = false;
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 0, &at, &left), 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
	gap_is(0, 0, last - 3, g.gaps[0].at_least, RING_GAP_LAPPED);
	CHECK_EQ_UINT(left, (3 * 15 + 2) * GUEST_EVENT);
	CHECK(!g.ring.held);
}

static void test_left_lapped(void)
{
	left_lapped(6);
	left_lapped(4); /* the cursor's packet has just been overwritten */
}

/* A dead ring, whole: a poll copies the proven part, a capture the rest. */
static void dead_ring(uint64_t newest, uint32_t events)
{
	guest_new(&g, 4, SMALL);
	guest_jump(&g, newest, events);
	CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
	ring_set_dead(&g.ring, true);
}

static void test_dead(void)
{
	struct ring_mark at = {0};

	dead_ring(10, 5);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.handed, 2 * 15 * GUEST_EVENT);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK_EQ_UINT(g.tail, (15 + 5) * GUEST_EVENT);
	CHECK_EQ_UINT(g.tail_last, g.time - 1);
	CHECK_EQ_UINT(at.sequence, 11);

	/*
	 * The writer died between a new packet's count and its size: the bytes there are the old
	 * packet's.
	 */
	dead_ring(10, 15);
	mprof_store16(guest_packet(&g, 11) + 24, 11);
	at = (struct ring_mark){0};
	CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
	CHECK_EQ_INT(guest_look(&g), 0);
	guest_forget(&g);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	for (unsigned i = 0; i < g.n_chunks; i++)
		CHECK(g.chunks[i].sequence < 11);
	CHECK_EQ_UINT(g.tail_last, g.time - 1);
}

/*
 * The clock stood still when the newest packet began: its bytes may belong to the packet that was
 * there before, and are no tail.
 */
static void test_dead_stale(void)
{
	for (unsigned more = 0; more < 2; more++) {
		struct ring_mark at = {0};
		uint64_t first;

		dead_ring(10, 5);
		first = mprof_load64(guest_packet(&g, 9) + 30) + more;
		mprof_store64(guest_packet(&g, 10) + 30, first);
		mprof_store64(guest_packet(&g, 10) + 39, first * 3);
		CHECK_EQ_INT(guest_look(&g), 0);
		CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
		CHECK_EQ_UINT(g.tail, (15 + 5 * more) * GUEST_EVENT);
	}
}

/*
 * A dead file that was cut inside a packet other than its newest: that packet's existing bytes are
 * handed over, and not as proven.
 */
static void test_dead_cut(void)
{
	guest_new(&g, 4, SMALL);
	guest_jump(&g, 9, 5);
	g.bytes -= 100;
	CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
	CHECK_EQ_UINT(g.ring.n, 4);
	g.after_gap = true;
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.n_chunks, 2);
	CHECK_EQ_UINT(g.chunks[0].sequence, 6);
	CHECK(!g.chunks[0].unproven);
	CHECK_EQ_UINT(g.chunks[1].sequence, 7);
	CHECK_EQ_UINT(g.chunks[1].length, SMALL - 100 - 30);
	CHECK(g.chunks[1].unproven);
}

/*
 * A dead file that lacks its last packets, and whose writer had wrapped: older packets lie behind
 * the missing ones.
 */
static void test_dead_missing(void)
{
	struct ring_mark at = {0};

	for (uint32_t missing = 1; missing <= 2; missing++) {
		guest_new(&g, 7, SMALL);
		guest_jump(&g, 10, 5);
		g.bytes -= missing * SMALL;
		at = (struct ring_mark){0};
		CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
		CHECK_EQ_UINT(g.ring.n, 7);
		CHECK_EQ_UINT(g.ring.cursor.sequence, 4);
		CHECK_EQ_INT(guest_look(&g), 0);
		CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
		CHECK_EQ_UINT(g.n_gaps, missing);
		gap_is(0, 7 - missing, 8 - missing, false, RING_GAP_DAMAGED);
		gap_is(missing - 1, 6, 7, false, RING_GAP_DAMAGED);
		CHECK_EQ_UINT(g.handed + g.tail, ((6 - missing) * 15 + 5) * GUEST_EVENT);
		CHECK_EQ_UINT(g.tail_last, g.time - 1);
	}
}

/* A cut file of a ring with the largest number of packets. */
static void test_dead_missing_of_most(void)
{
	guest_new(&g, MPROF_RING_PACKETS_MAX, 1024);
	guest_jump(&g, MPROF_RING_PACKETS_MAX + 3, 5);
	g.bytes -= 2 * 1024;
	CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
	CHECK_EQ_UINT(g.ring.n, MPROF_RING_PACKETS_MAX);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 4);
}

/*
 * The writer died between the halves of a size: if a greater size was seen before, the tail
 * includes it.
 */
static void dead_between_halves(uint32_t room, unsigned events)
{
	struct ring_mark at = {0};
	uint32_t used;

	guest_new(&g, 2, room);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	g.room++; /* events may fill packet 0 to its last byte */
	while (g.used + GUEST_EVENT < 8192)
		guest_event(&g);
	guest_watch(&g, events);
	used = g.used;
	mprof_store16(guest_packet(&g, 0) + 28, 0);
	CHECK_EQ_INT(guest_look(&g), 0);
	ring_set_dead(&g.ring, true);
	guest_forget(&g);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK_EQ_UINT(g.tail, used - g.ring.cursor.offset);
	CHECK_EQ_UINT(g.tail_last, g.time - 1);
}

static void test_dead_between_halves(void)
{
	dead_between_halves(LARGE, 4);
	dead_between_halves(30 + 500 * GUEST_EVENT, 20); /* the packet is full */
}

/*
 * The writer died with a smaller size than was seen, and 8 KiB more would be past the packet's end:
 * the tail ends at the confirmed size.
 */
static void test_dead_smaller(void)
{
	struct ring_mark at = {0};

	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_size(&g, 0, 30 + 3 * GUEST_EVENT);
	ring_set_dead(&g.ring, true);
	guest_forget(&g);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK_EQ_UINT(g.tail, GUEST_EVENT);
}

static void test_left(void)
{
	struct ring_mark at = {0};
	const uint64_t full = 15 * GUEST_EVENT + 3 * 7, newest = 5 * GUEST_EVENT + 3 * 7;
	uint64_t left;

	dead_ring(10, 5);
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 7, &at, &left), 0);
	CHECK_EQ_UINT(left, 3 * full + newest);
	CHECK_EQ_INT(ring_keep_newest(&g.ring, &g.sink, 7, &at, left), 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK_EQ_INT(ring_keep_newest(&g.ring, &g.sink, 7, &at, left - 1), 0);
	gap_is(0, 7, 8, false, RING_GAP_LAPPED);
	CHECK_EQ_INT(ring_keep_newest(&g.ring, &g.sink, 7, &at, full + newest), 0);
	gap_is(1, 8, 9, false, RING_GAP_LAPPED);
	/* The newest packet stays, however little room there is. */
	CHECK_EQ_INT(ring_keep_newest(&g.ring, &g.sink, 7, &at, 0), 0);
	gap_is(2, 9, 10, false, RING_GAP_LAPPED);
	CHECK_EQ_INT(ring_keep_newest(&g.ring, &g.sink, 7, &at, 0), 0);
	CHECK_EQ_UINT(g.n_gaps, 3);
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 7, &at, &left), 0);
	CHECK_EQ_UINT(left, newest);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK_EQ_UINT(g.handed + g.tail, 5 * GUEST_EVENT);

	/* A query for the rest does not take it. */
	dead_ring(10, 5);
	at = (struct ring_mark){0};
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_INT(guest_look(&g), 0);
	g.ring.cursor.sequence = 7;
	g.started = false;
	g.after_gap = true;
	guest_forget(&g);
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 7, &at, &left), 0);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.handed, 2 * 15 * GUEST_EVENT);

	/* In a ring that never wrapped. */
	guest_new(&g, 4, SMALL);
	guest_write_to(&g, 0, 5);
	at = (struct ring_mark){0};
	CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 7, &at, &left), 0);
	CHECK_EQ_UINT(left, newest);
	CHECK_EQ_INT(ring_keep_newest(&g.ring, &g.sink, 7, &at, 0), 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
}

/* Part of a tail was taken: the rest begins there, and the cursor stays. */
static void test_left_of_tail(void)
{
	struct ring_mark at = {0};
	uint64_t left;

	dead_ring(10, 5);
	CHECK_EQ_INT(guest_look(&g), 0);
	g.room_for = 1;
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), RING_E_FULL);
	g.room_for = UINT32_MAX;
	CHECK_EQ_UINT(at.sequence, 10);
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 0, &at, &left), 0);
	CHECK_EQ_UINT(left, 5 * GUEST_EVENT);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 9);
	/* No room for it: the bytes behind the part that was taken are declared lost. */
	CHECK_EQ_INT(ring_declare_rest(&g.ring, &g.sink, &at), 0);
	gap_is(0, 10, 11, false, RING_GAP_LAPPED);
	CHECK_EQ_UINT(g.gaps[0].after_offset, 30);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 11);

	/* Two packets of a tail are left, and there is room for one. */
	dead_ring(10, 5);
	CHECK_EQ_INT(guest_look(&g), 0);
	at = (struct ring_mark){9, 30 + 2 * GUEST_EVENT};
	g.started = false; /* the gap follows the tail */
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 0, &at, &left), 0);
	CHECK_EQ_UINT(left, (13 + 5) * GUEST_EVENT);
	g.takes_no_gap = true;
	CHECK_EQ_INT(ring_keep_newest(&g.ring, &g.sink, 0, &at, left - 1), RING_E_FULL);
	CHECK_EQ_UINT(at.sequence, 9);
	g.takes_no_gap = false;
	CHECK_EQ_INT(ring_keep_newest(&g.ring, &g.sink, 0, &at, left - 1), 0);
	gap_is(0, 9, 10, false, RING_GAP_LAPPED);
	CHECK_EQ_UINT(g.gaps[0].after_offset, 30 + 2 * GUEST_EVENT);
	CHECK_EQ_UINT(at.sequence, 10);
	CHECK_EQ_UINT(at.offset, 30);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 9);

	/* Nothing was taken of a dead ring, and there is no room at all. */
	dead_ring(10, 5);
	at = (struct ring_mark){0};
	g.takes_no_gap = true;
	CHECK_EQ_INT(ring_declare_rest(&g.ring, &g.sink, &at), RING_E_FULL);
	g.takes_no_gap = false;
	CHECK_EQ_INT(ring_declare_rest(&g.ring, &g.sink, &at), 0);
	gap_is(0, 7, 11, false, RING_GAP_LAPPED);
	CHECK_EQ_INT(ring_declare_rest(&g.ring, &g.sink, &at), 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
}

/*
 * A packet in the middle of a dead ring's tail has an impossible size: it is declared lost, and the
 * rest is copied.
 */
static void test_dead_damaged(void)
{
	struct ring_mark at = {0};
	uint64_t left;

	dead_ring(10, 5);
	mprof_store32(guest_packet(&g, 9) + 26, 7);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 8);
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 0, &at, &left), 0);
	CHECK_EQ_UINT(left, (15 + 5) * GUEST_EVENT);
	guest_forget(&g);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	gap_is(0, 9, 10, false, RING_GAP_DAMAGED);
	CHECK_EQ_UINT(g.tail, (15 + 5) * GUEST_EVENT);
}

/* ---- a cursor that goes back ----------------------------------------------------------------- */

static void test_rewind(void)
{
	struct ring_cursor start, later;

	read_to_five(4, LARGE);
	start = g.ring.cursor;
	guest_write_to(&g, 6, 1);
	guest_watch(&g, 6);
	later = g.ring.cursor;
	CHECK_EQ_UINT(later.sequence, 6);
	CHECK(later.has_taken_first);
	CHECK(!ring_owes(&g.ring));
	ring_rewind(&g.ring, &start, false);
	CHECK(ring_owes(&g.ring));
	guest_forget(&g);
	g.next_sequence = start.sequence;
	g.next_offset = start.offset;
	g.after_gap = true;
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK(ring_owes(&g.ring));
	guest_watch(&g, 4);
	CHECK(!ring_owes(&g.ring));
	CHECK_EQ_UINT(g.ring.cursor.sequence, 6);

	/*
	 * The bytes lost meanwhile are a gap from the position that the cursor went back to; "at
	 * least" stays set.
	 */
	for (int at_least = 0; at_least < 2; at_least++) {
		read_to_five(4, LARGE);
		start = g.ring.cursor;
		guest_watch(&g, 6);
		ring_rewind(&g.ring, &start, at_least);
		guest_jump(&g, 20, 5);
		guest_forget(&g);
		g.next_sequence = start.sequence;
		g.next_offset = start.offset;
		g.ring.polled_at = clock_mono();
		CHECK_EQ_INT(guest_look(&g), 0);
		gap_is(0, 5, 18, at_least, RING_GAP_LAPPED);
		CHECK(!g.ring.debt.rewound && !g.ring.debt.at_least);
	}
}

/*
 * Bytes that were taken back and cannot be proven again are in the tail of a dead ring: then no gap
 * is due.
 */
static void test_rewind_of_dead(void)
{
	struct ring_cursor start;
	struct ring_mark at = {0};

	read_to_five(4, SMALL);
	start = g.ring.cursor;
	guest_watch(&g, 3);
	ring_rewind(&g.ring, &start, false);
	ring_set_dead(&g.ring, true);
	g.next_offset = start.offset;
	guest_forget(&g);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK(ring_owes(&g.ring));
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), 0);
	CHECK(ring_owes(&g.ring));
	at = (struct ring_mark){0};
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK(!ring_owes(&g.ring));
}

/*
 * The cursor's packet is the oldest, and the writer died after it emptied this packet for reuse:
 * the rest of the packet is lost.
 */
static void test_rewind_to_emptied(void)
{
	struct ring_cursor start;

	read_to_five(4, LARGE);
	start = g.ring.cursor;
	guest_watch(&g, 3);
	ring_rewind(&g.ring, &start, false);
	guest_write_to(&g, 8, 9);
	guest_size(&g, 5, 30);
	ring_set_dead(&g.ring, true);
	guest_forget(&g);
	g.next_offset = start.offset;
	g.after_gap = true;
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
	gap_is(0, 5, 6, false, RING_GAP_LAPPED);
	CHECK_EQ_UINT(g.chunks[0].sequence, 6);
}

/* A ring that switches to snapshots only declares the bytes that were taken back. */
static void test_rewind_and_skip(void)
{
	struct ring_cursor start;

	read_to_five(4, LARGE);
	start = g.ring.cursor;
	guest_watch(&g, 3);
	ring_rewind(&g.ring, &start, true);
	ring_skip(&g.ring);
	guest_forget(&g);
	g.next_offset = start.offset;
	CHECK_EQ_INT(guest_look(&g), 0);
	gap_is(0, 5, 6, true, RING_GAP_LAPPED);
	CHECK(!g.ring.debt.rewound);
	CHECK_EQ_INT(guest_look(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
}

/* A ring that is removed declares its open gap, up to the end of the packet that it was in. */
static void test_forfeit(void)
{
	struct ring_cursor start;

	for (int at_least = 0; at_least < 2; at_least++) {
		read_to_five(4, LARGE);
		CHECK_EQ_INT(ring_declare_owed(&g.ring, &g.sink), 0);
		CHECK_EQ_UINT(g.n_gaps, 0);
		start = g.ring.cursor;
		guest_write_to(&g, 6, 1);
		guest_watch(&g, 6);
		ring_rewind(&g.ring, &start, at_least);
		/* Back once more: the open gap is the first one. */
		start.offset -= GUEST_EVENT;
		ring_rewind(&g.ring, &start, false);
		guest_forget(&g);
		g.next_offset = start.offset;
		g.next_sequence = start.sequence;
		g.takes_no_gap = true;
		CHECK_EQ_INT(ring_declare_owed(&g.ring, &g.sink), RING_E_FULL);
		CHECK(g.ring.debt.rewound);
		g.takes_no_gap = false;
		CHECK_EQ_INT(ring_declare_owed(&g.ring, &g.sink), 0);
		gap_is(0, 5, 7, at_least, RING_GAP_LAPPED);
		CHECK(!ring_owes(&g.ring));
		CHECK(!g.ring.debt.rewound && !g.ring.debt.at_least);
	}
	/* The cursor was at the beginning of a packet: that packet is not lost. */
	read_to_five(4, LARGE);
	start = g.ring.cursor;
	guest_write_to(&g, 5, (LARGE - 31) / GUEST_EVENT);
	CHECK_EQ_INT(guest_look(&g), 0);
	guest_watch(&g, 2);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 6);
	CHECK_EQ_UINT(g.ring.cursor.offset, 30);
	ring_rewind(&g.ring, &start, false);
	guest_forget(&g);
	g.next_sequence = start.sequence;
	g.next_offset = start.offset;
	CHECK_EQ_INT(ring_declare_owed(&g.ring, &g.sink), 0);
	gap_is(0, 5, 6, false, RING_GAP_LAPPED);
}

int main(void)
{
	CHECK_RUN(test_attach_sizes);
	CHECK_RUN(test_attach_packets);
	CHECK_RUN(test_attach_uneven);
	CHECK_RUN(test_attach_counts);
	CHECK_RUN(test_attach_history);
	CHECK_RUN(test_proof);
	CHECK_RUN(test_proof_over_packets);
	CHECK_RUN(test_proof_over_halves);
	CHECK_RUN(test_pieces);
	CHECK_RUN(test_sink_full);
	CHECK_RUN(test_count_goes_round);
	CHECK_RUN(test_numbers_below_zero);
	CHECK_RUN(test_lap);
	CHECK_RUN(test_count_falls);
	CHECK_RUN(test_renewed);
	CHECK_RUN(test_renewed_early);
	CHECK_RUN(test_renewed_or_round);
	CHECK_RUN(test_renewed_in_copy);
	CHECK_RUN(test_lapped_in_copy);
	CHECK_RUN(test_bad_sizes);
	CHECK_RUN(test_several_writers);
	CHECK_RUN(test_old_bytes_under_new_number);
	CHECK_RUN(test_old_time_of_left_packet);
	CHECK_RUN(test_dead_while_emptying);
	CHECK_RUN(test_clock_stands_still);
	CHECK_RUN(test_guessed_reference);
	CHECK_RUN(test_dead_reference);
	CHECK_RUN(test_change_at_any_load);
	CHECK_RUN(test_started_afresh);
	CHECK_RUN(test_unsteady);
	CHECK_RUN(test_empty_packet);
	CHECK_RUN(test_gone_at_attach);
	CHECK_RUN(test_resume_same_packet);
	CHECK_RUN(test_resume_lapped);
	CHECK_RUN(test_resume_round);
	CHECK_RUN(test_resume_renewed);
	CHECK_RUN(test_skip_and_seek);
	CHECK_RUN(test_seek_after_restart);
	CHECK_RUN(test_capture);
	CHECK_RUN(test_capture_lapped);
	CHECK_RUN(test_capture_renumbered);
	CHECK_RUN(test_dead);
	CHECK_RUN(test_dead_stale);
	CHECK_RUN(test_dead_cut);
	CHECK_RUN(test_dead_missing);
	CHECK_RUN(test_dead_missing_of_most);
	CHECK_RUN(test_dead_between_halves);
	CHECK_RUN(test_dead_smaller);
	CHECK_RUN(test_left_lapped);
	CHECK_RUN(test_left);
	CHECK_RUN(test_left_of_tail);
	CHECK_RUN(test_dead_damaged);
	CHECK_RUN(test_rewind);
	CHECK_RUN(test_rewind_of_dead);
	CHECK_RUN(test_rewind_to_emptied);
	CHECK_RUN(test_rewind_and_skip);
	CHECK_RUN(test_forfeit);
	ring_detach(&g.ring);
	return check_done();
}
