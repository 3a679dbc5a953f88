/*
 * The reader of a ring (the sequence-checked copy), case by case: the chunks and gaps that it hands
 * over for a ring that the test writes event by event.
 *
 * test-ring.c tries many schedules of a correct writer. This file has the cases that those
 * schedules reach seldom or never: counts that wrap, rings that are initialised again, sizes that
 * no correct writer leaves, dead rings that are cut, and the exact number of proven bytes.
 */
#include <errno.h>

#include "clock.h"
#include "ring-guest.h"

/*
 * Bytes of a packet of 15 events, and of a packet of 1,174 events. A writer needs more time for
 * 65,536 large packets than any poll is late.
 */
#define SMALL 300u
#define LARGE 20000u

/* Time passes only where a test says so. */
uint64_t clock_own = 1000 * NS_PER_S;

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
	 * Bytes behind the last packet that are too few for a header are ignored only in a dead
	 * file, which may have been cut.
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
	/* A content size may be wrong for a moment, so the ring is attached. A magic may not. */
	guest_size(&g, 1, 513);
	CHECK_EQ_INT(attach_fault(1024, false, ""), 0);
	g.data[512] ^= 1;
	CHECK_EQ_INT(attach_fault(1024, false, "bad magic"), RING_E_NOT_YET);
	g.data[512] ^= 1;
	/* The end of the ring disappears. */
	g.bytes = 512;
	CHECK_EQ_INT(attach_fault(1024, false, "its packets do not fill it"), RING_E_NOT_YET);
}

/* Packets may differ in size. A packet may be too small for an event. */
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
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.n_chunks, 0);
}

/* The sequence numbers that the reader assigns to a new ring whose counts are about to wrap. */
static void test_attach_counts(void)
{
	static const struct {
		/*
		 * Sequence of the newest packet, as the guest counts; sequence of the oldest, as
		 * the reader numbers it.
		 */
		uint64_t newest, oldest;
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
		CHECK_EQ_INT(guest_poll(&g), 0);
		/*
		 * The packets that the writer has left are proven at once, except the last of them.
		 */
		CHECK_EQ_UINT(g.n_chunks, 2);
		CHECK_EQ_UINT(g.chunks[0].sequence, cases[i].oldest);
		CHECK_EQ_UINT(g.ring.cursor.sequence, cases[i].oldest + 2);
		CHECK_EQ_UINT(g.ring.writer.active, cases[i].oldest + 3);
		CHECK_EQ_UINT(ring_oldest(&g.ring), cases[i].oldest);
		CHECK(ring_pending(&g.ring));
		CHECK_EQ_UINT(g.handed, 2 * (guest_full(&g) - 30));
	}
}

/* If the counts of a ring's packets have a hole, the reader begins behind the hole. */
static void test_attach_history(void)
{
	guest_new(&g, 5, SMALL);
	guest_jump(&g, 12, 3);
	mprof_store16(guest_packet(&g, 9) + 24, 4);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 10);
	/*
	 * The newest counts now skip packets. A dead file may have been cut and lack packets; a
	 * ring that is being written may not.
	 */
	mprof_store16(guest_packet(&g, 8) + 24, 2);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK_EQ_UINT(g.ring.n, 5);
	CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
	CHECK_EQ_UINT(g.ring.n, 11);
	CHECK_EQ_INT(guest_poll(&g), 0);

	/*
	 * In a new ring the packets behind the active packet are empty. They do not count as older
	 * packets.
	 */
	guest_new(&g, 5, SMALL);
	guest_write_to(&g, 2, 1);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 0);
	CHECK_EQ_UINT(g.ring.writer.active, 0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 2);
	CHECK_EQ_UINT(ring_oldest(&g.ring), 0);
	CHECK_EQ_UINT(g.n_chunks, 1);
	guest_write_to(&g, 4, 1);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 4);
	CHECK_EQ_UINT(ring_oldest(&g.ring), 0);
	guest_write_to(&g, 5, 1);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(ring_oldest(&g.ring), 1);
	CHECK_EQ_UINT(g.n_gaps, 0);
}

/* ---- the proven bytes, exactly --------------------------------------------------------------- */

static void test_proof(void)
{
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK(!ring_pending(&g.ring));
	/*
	 * A size is confirmed by the next size. Two confirmed sizes prove the bytes before the
	 * first of them.
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
	/* A poll that finds no change makes two loads. */
	g.loads = 0;
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.loads, 2);
}

/*
 * When the writer has gone on to the next packet, the size of the packet that it left is final. The
 * reader then copies all bytes of that packet, also if it has read the size only once.
 */
static void test_proof_over_packets(void)
{
	guest_new(&g, 3, 500);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_write_to(&g, 0, 27);
	CHECK_EQ_INT(guest_poll(&g), 0);
	guest_watch(&g, 1);
	/*
	 * The writer has left packet 0, whose last size is final now. Its size before that was
	 * never confirmed.
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
 * A size below 8 KiB and one above do not confirm each other, because the high half of the first
 * size could be missing.
 */
static void test_proof_over_halves(void)
{
	guest_new(&g, 2, LARGE);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	while (g.used + GUEST_EVENT <= 8192)
		guest_event(&g);
	CHECK_EQ_INT(guest_poll(&g), 0); /* a candidate below 8 KiB */
	guest_watch(&g, 1);		 /* a candidate above 8 KiB */
	CHECK_EQ_UINT(g.ring.proof.n_marks, 0);
	guest_watch(&g, 1);
	CHECK_EQ_UINT(g.ring.proof.n_marks, 1);
	CHECK_EQ_UINT(g.handed, 0);
	guest_watch(&g, 1);
	CHECK_EQ_UINT(g.ring.cursor.offset, g.used - 2 * GUEST_EVENT);
}

/*
 * A chunk has at most 1 MiB. More bytes go into several pieces, and only the last piece has a chunk
 * end.
 */
static void test_pieces(void)
{
	guest_new(&g, 2, (3u << 19) - 100);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_write_to(&g, 0, 80000);
	guest_write_to(&g, 1, 1);
	CHECK_EQ_INT(guest_poll(&g), 0);
	guest_watch(&g, 2);
	if (!CHECK(g.n_chunks >= 2))
		return;
	CHECK_EQ_UINT(g.chunks[0].length, RING_PIECE_MAX);
	CHECK(!g.chunks[0].end && !g.chunks[0].last);
	CHECK_EQ_UINT(g.chunks[1].offset, 30 + RING_PIECE_MAX);
	CHECK_EQ_UINT(g.chunks[1].length, guest_full(&g) - 30 - RING_PIECE_MAX);
	CHECK(g.chunks[1].end && g.chunks[1].last);
}

/*
 * If the sink has no room, the reader offers the refused bytes again, and hands no byte over twice.
 */
static void test_sink_full(void)
{
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 4);
	CHECK_EQ_UINT(g.n_chunks, 2);
	g.room_for = 0;
	guest_event(&g);
	CHECK_EQ_INT(guest_poll(&g), RING_E_FULL);
	CHECK_EQ_INT(guest_poll(&g), RING_E_FULL);
	g.room_for = UINT32_MAX;
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.handed, 3 * GUEST_EVENT);
	/* The writer overwrites the refused bytes. */
	g.room_for = 0;
	guest_event(&g);
	CHECK_EQ_INT(guest_poll(&g), RING_E_FULL);
	guest_write_to(&g, 6, 2);
	g.room_for = UINT32_MAX;
	g.takes_no_gap = true;
	CHECK_EQ_INT(guest_poll(&g), RING_E_FULL);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 0);
	g.takes_no_gap = false;
	guest_watch(&g, 3);
	CHECK_EQ_UINT(g.n_gaps, 1);
	CHECK_EQ_UINT(g.gaps[0].after_offset, 30 + 3 * GUEST_EVENT);
	gap_is(0, 0, 4, g.gaps[0].at_least, RING_GAP_LAPPED);
}

/* ---- laps ------------------------------------------------------------------------------------ */

/* Attach a reader, and let it copy a part of packet 5, the active packet. */
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
 * Exactly 65,536 packets pass between two polls, so all counts are the same as before. The reader
 * detects the lap by the first timestamp, and marks the gap's number of packets as a lower limit.
 * The same holds if up to N - 2 packets more have passed, because the packet at the cursor then
 * still has its old count.
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
			g.ring.polled_at = clock_mono() - 10 * NS_PER_S;
			CHECK_EQ_INT(guest_poll(&g), 0);
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
 * The counts have wrapped, and the newest packet's 16-bit count is smaller than the number of
 * packets in the ring. The packets before count 0 are from the round before the wrap; the reader
 * gives no packet a negative number.
 */
static void test_numbers_below_zero(void)
{
	struct ring_resume resume;

	for (uint64_t newest = 65541; newest < 65545; newest++) {
		guest_new(&g, 16, SMALL);
		guest_write_to(&g, 5, 1);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		CHECK_EQ_INT(guest_poll(&g), 0);
		guest_watch(&g, 6);
		CHECK_EQ_UINT(g.ring.cursor.sequence, 5);
		guest_forget(&g);
		guest_jump(&g, newest, 9);
		g.ring.polled_at = clock_mono() - 10 * NS_PER_S;
		CHECK_EQ_INT(guest_poll(&g), 0);
		gap_is(0, 5, newest - 15 + 1, true, RING_GAP_LAPPED);
		guest_watch(&g, 3);
		CHECK_EQ_UINT(g.ring.cursor.sequence, newest);
	}
	/*
	 * After a restart, a hostile guest shows a packet with the count and the first timestamp of
	 * packet 5, at which the archive ends. The other packets of the ring have counts from before
	 * the 16-bit count wrapped, so this one cannot be packet 5.
	 */
	guest_new(&g, 16, SMALL);
	guest_jump(&g, 65541, 12);
	resume = (struct ring_resume){.sequence = 5,
				      .offset = 30 + 10 * GUEST_EVENT,
				      .last_sequence = 5,
				      .first_timestamp = mprof_load64(guest_packet(&g, 65541) + 30),
				      .last_mono = (int64_t)clock_mono()};
	CHECK_EQ_INT(guest_attach(&g, &resume, false), 0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	gap_is(0, 5, 65541 - 15, true, RING_GAP_RESTART);
}

/*
 * The writer laps the reader by less than 32,768 packets. The gap's number of packets is exact,
 * unless there was time for 32,768 packets or more.
 */
static void test_lap(void)
{
	read_to_five(4, LARGE);
	guest_jump(&g, 30, 4);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(guest_poll(&g), 0);
	gap_is(0, 5, 28, false, RING_GAP_LAPPED);
	CHECK_EQ_UINT(g.n_gaps, 1);

	read_to_five(4, LARGE);
	guest_jump(&g, 30, 4);
	g.ring.polled_at = clock_mono() - 10 * NS_PER_S;
	CHECK_EQ_INT(guest_poll(&g), 0);
	gap_is(0, 5, 28, true, RING_GAP_LAPPED);

	/*
	 * The reader computes that time from the smallest packet: 32,768 packets of 20,000 bytes
	 * take 66 ms, of 300 bytes 1 ms.
	 */
	read_to_five(4, LARGE);
	guest_jump(&g, 30, 4);
	g.ring.polled_at = clock_mono() - NS_PER_S / 50;
	CHECK_EQ_INT(guest_poll(&g), 0);
	gap_is(0, 5, 28, false, RING_GAP_LAPPED);
	read_to_five(4, SMALL);
	guest_jump(&g, 30, 4);
	g.ring.polled_at = clock_mono() - NS_PER_S / 50;
	CHECK_EQ_INT(guest_poll(&g), 0);
	gap_is(0, 5, 28, true, RING_GAP_LAPPED);

	read_to_five(4, SMALL);
	g.ring.slots[0].bytes = 100 * SMALL;
	guest_jump(&g, 30, 4);
	g.ring.polled_at = clock_mono() - NS_PER_S / 50;
	CHECK_EQ_INT(guest_poll(&g), 0);
	gap_is(0, 5, 28, true, RING_GAP_LAPPED);

	/* A writer as fast as the recorder passes 40,000 packets of a ring that was idle for 300 ms: the ring is the same. */
	read_to_five(4, LARGE);
	guest_jump(&g, 5 + 40000, 9);
	g.ring.polled_at = clock_mono() - 300 * NS_PER_MS;
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
	CHECK(g.gaps[0].at_least);

	/*
	 * The writer laps the reader by one packet. The rest of packet 5 is lost. So is packet 6,
	 * the oldest packet in the ring, because the writer overwrites it next.
	 */
	read_to_five(4, LARGE);
	guest_write_to(&g, 9, 1);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(guest_poll(&g), 0);
	gap_is(0, 5, 7, false, RING_GAP_LAPPED);
	/*
	 * This is no lap: the writer has filled the ring and overwritten nothing that the reader
	 * lacks.
	 */
	read_to_five(4, LARGE);
	guest_write_to(&g, 8, 1);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK_EQ_UINT(g.ring.writer.active, 8);
}

/*
 * The newest packet has a smaller number than the active one, and there was no time for a count that wrapped around: the ring was
 * initialised again, if several polls in a row see it.
 */
static void test_count_falls(void)
{
	read_to_five(4, LARGE);
	guest_jump(&g, 1 + 65536, 9);
	g.ring.polled_at = clock_mono();
	for (unsigned i = 0; i < 3; i++) {
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_UINT(g.n_gaps, 0);
	}
	CHECK_EQ_INT(guest_poll(&g), RING_E_RENEWED);
	CHECK_EQ_UINT(g.n_gaps, 0);

	/* If there was time for that many packets, the first poll accepts the wrapped count. */
	read_to_five(4, LARGE);
	guest_jump(&g, 4 + 65536, 9);
	g.ring.polled_at = clock_mono() - 10 * NS_PER_S;
	CHECK_EQ_INT(guest_poll(&g), 0);
	gap_is(0, 5, 4 + 65536 - 2, true, RING_GAP_LAPPED);

	/*
	 * A newest packet that is up to 32,767 packets ahead is a lap. One that is 32,768 ahead
	 * counts as behind.
	 */
	read_to_five(4, LARGE);
	guest_jump(&g, 5 + 32767, 9);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(guest_poll(&g), 0);
	gap_is(0, 5, 5 + 32767 - 2, false, RING_GAP_LAPPED);
	read_to_five(4, LARGE);
	guest_jump(&g, 5 + 32768, 9);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
}

/*
 * The sink has no room for a gap that says at least how many packets are lost: the next poll, soon after, says so, too. The same
 * holds if the newest packet was behind the active one at first.
 */
static void test_at_least_later(void)
{
	read_to_five(4, LARGE);
	guest_jump(&g, 30, 4);
	g.ring.polled_at = clock_mono() - 10 * NS_PER_S;
	g.takes_no_gap = true;
	CHECK_EQ_INT(guest_poll(&g), RING_E_FULL);
	g.takes_no_gap = false;
	CHECK_EQ_INT(guest_poll(&g), 0);
	gap_is(0, 5, 28, true, RING_GAP_LAPPED);
	/* The writer was found, so the next gap is counted from this poll on. */
	guest_forget(&g);
	guest_jump(&g, 60, 4);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
	CHECK(!g.gaps[0].at_least);
}

/* ---- a ring that is initialised again -------------------------------------------------------- */

static void test_renewed(void)
{
	/*
	 * The new ring is empty, or has some events in its first packet, or is in its first lap
	 * with all packets filled but the last.
	 */
	for (uint32_t filled = 0; filled < 4; filled++) {
		read_to_five(4, LARGE);
		guest_format(&g);
		if (filled)
			guest_write_to(&g, filled - 1, 3);
		g.ring.polled_at = clock_mono();
		CHECK_EQ_INT(guest_poll(&g), RING_E_RENEWED);
		CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);
	}
}

/* The new ring is past its first lap, and the writer is in the packet that was followed, or before it or behind it. */
static void test_renewed_past_first_lap(void)
{
	for (uint64_t newest = 4; newest < 8; newest++) {
		read_to_five(4, LARGE);
		guest_format(&g);
		guest_write_to(&g, newest, 12);
		CHECK_EQ_INT(guest_poll(&g), RING_E_RENEWED);
		CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);
	}
}

/*
 * In the first lap the ring is initialised again and filled up before the next poll: its packets have the numbers as before. Only if
 * there was time for 65,536 packets, these may have passed. The sink never hears of so many otherwise.
 */
static void test_renewed_in_first_lap(void)
{
	for (uint64_t newest = 3; newest < 5; newest++) {
		for (int is_late = 0; is_late < 2; is_late++) {
			guest_new(&g, 4, LARGE);
			guest_write_to(&g, 2, 1);
			CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
			guest_watch(&g, 6);
			CHECK_EQ_UINT(g.ring.cursor.sequence, 2);
			guest_forget(&g);
			guest_format(&g);
			guest_write_to(&g, newest, 12);
			g.ring.polled_at = clock_mono() - (is_late ? 10 * NS_PER_S : 0);
			CHECK_EQ_INT(guest_poll(&g), is_late ? 0 : RING_E_RENEWED);
			CHECK_EQ_UINT(g.n_gaps, is_late);
			CHECK(!is_late || g.gaps[0].at_least);
		}
	}
}

/*
 * A reader resumes in the middle of packet 1 of a ring in its first lap. Then the ring is
 * initialised again: the reader detects this by the first timestamp of packet 0, too.
 */
static void renewed_after_restart(unsigned events)
{
	struct ring_resume resume = {
		.sequence = 1, .offset = 30 + GUEST_EVENT, .last_sequence = 1, .last_mono = (int64_t)clock_mono()};

	guest_new(&g, 4, LARGE);
	guest_write_to(&g, 1, 6);
	resume.first_timestamp = mprof_load64(guest_packet(&g, 1) + 30);
	CHECK_EQ_INT(guest_attach(&g, &resume, false), 0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	guest_format(&g);
	guest_write_to(&g, 1, events + 1);
	CHECK_EQ_INT(guest_poll(&g), RING_E_RENEWED);
	CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);
}

/*
 * A ring is initialised again in its first lap, so that the new packets have the same counts as the
 * old ones.
 */
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
		CHECK_EQ_INT(guest_poll(&g), RING_E_RENEWED);
		CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);

		/*
		 * The new ring's active packet is the packet that the reader is in. It has more
		 * events than were copied, or fewer.
		 */
		guest_new(&g, 4, LARGE);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		guest_watch(&g, 12);
		guest_forget(&g);
		g.time += 1000;
		guest_format(&g);
		while (g.used < 30 + (events + 1) * GUEST_EVENT)
			guest_event(&g);
		CHECK_EQ_INT(guest_poll(&g), RING_E_RENEWED);
		CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);

		/* The reader was restarted before. */
		renewed_after_restart(events);
	}
	/*
	 * If no bytes were taken from a ring before it was initialised again, the reader just goes
	 * on.
	 */
	guest_new(&g, 4, LARGE);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	guest_event(&g);
	CHECK_EQ_INT(guest_poll(&g), 0);
	guest_format(&g);
	guest_watch(&g, 4);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK(g.handed > 0);
}

/*
 * Packets 0, 1 and 2 are full and packet 3 is empty. This is a new ring in its first lap, or an
 * older ring whose count has just wrapped and whose writer has renumbered its next packet. The
 * reader decides by its last position.
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
	CHECK_EQ_INT(guest_poll(&g), 0);
	gap_is(0, 65534, 65536, false, RING_GAP_LAPPED);

	/* Only the first packet has events, so the count did not wrap: the ring is new. */
	guest_new(&g, 4, LARGE);
	guest_jump(&g, 65534, 1);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_forget(&g);
	guest_format(&g);
	guest_write_to(&g, 0, 3);
	CHECK_EQ_INT(guest_poll(&g), RING_E_RENEWED);

	guest_new(&g, 4, LARGE);
	guest_jump(&g, 30000, 1);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_forget(&g);
	guest_format(&g);
	guest_write_to(&g, 2, 1);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(guest_poll(&g), RING_E_RENEWED);
}

/* ---- a packet that changes during the copy --------------------------------------------------- */

/*
 * Return whether this load copies events. Loads of headers, and all loads while the hook is not
 * armed, do not.
 */
static bool is_copy(const struct guest *guest, uint64_t offset, size_t n)
{
	return guest->armed && n >= GUEST_EVENT && n != sizeof(struct mprof_packet_wire) - 8 &&
	       offset % guest->room >= MPROF_PACKET_HEADER_BYTES;
}

/*
 * Between the choice of the bytes and their copy, initialise the ring again and write it up to the
 * same place.
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
	/*
	 * The reader drops the copy. If it did not, the sink would see that the times of the events
	 * do not follow.
	 */
	for (unsigned i = 0; i < 4 && r == 0; i++) {
		guest_event(&g);
		r = guest_poll(&g);
	}
	CHECK_EQ_UINT(g.armed, 0);
	CHECK_EQ_INT(r, RING_E_RENEWED);
	CHECK_EQ_UINT(g.n_chunks, 0);
	CHECK_EQ_UINT(g.n_drops, 1);
	CHECK_EQ_UINT(g.ring.counters.dropped, 1);
}

/*
 * During the copy the writer laps to the packet: the packet gets a new count, while its bytes and
 * size are still the old ones.
 */
static void renumber_in_copy(struct guest *guest, uint64_t offset, size_t n)
{
	uint8_t *p = guest->data + offset / guest->room * guest->room;

	if (!is_copy(guest, offset, n))
		return;
	guest->armed = 0;
	mprof_store16(p + 24, (uint16_t)(mprof_load16(p + 24) + guest->n));
}

/*
 * During the copy the writer, which has gone around the ring, comes to the packet and makes it empty.
 * It has not changed the packet's count yet: mprofd's recorder does that later.
 */
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
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.armed, 0);
	CHECK_EQ_UINT(g.n_drops, 1);
	gap_is(0, 0, next, false, RING_GAP_LAPPED);
	CHECK_EQ_UINT(g.gaps[0].after_offset, 30 + 4 * GUEST_EVENT);
	for (unsigned i = 0; i < g.n_chunks; i++)
		CHECK(g.chunks[i].sequence >= next);
}

/*
 * The rest of the packet is lost. After the renumbering the reader also gives up packet 1, the
 * oldest one, because the writer is about to reach it.
 */
static void test_lapped_in_copy(void)
{
	lapped_in_copy(renumber_in_copy, 2);
	lapped_in_copy(empty_in_copy, 1);
}

/* ---- sizes that no correct writer leaves ----------------------------------------------------- */

static void test_bad_sizes(void)
{
	static const uint32_t less[] = {0, 8 * 29, 30 * 8 + 1}, bits[] = {8 * (SMALL + 1), UINT32_MAX};

	/* A bad size that is less than one before is a fall, if no half of a size is that small. */
	for (size_t i = 0; i < sizeof(less) / sizeof(less[0]); i++) {
		guest_new(&g, 4, SMALL);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		guest_watch(&g, 6);
		mprof_store32(guest_packet(&g, 0) + 26, less[i]);
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_UINT(g.ring.counters.bad_sizes, 1);
		CHECK_EQ_UINT(g.n_gaps, 0);
		guest_watch(&g, 1);
		gap_is(0, 0, 1, false, RING_GAP_DAMAGED);
		CHECK_EQ_UINT(g.gaps[0].after_offset, 30 + 4 * GUEST_EVENT);
	}
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		/* In the active packet another bad size may be temporary: the reader waits. */
		guest_new(&g, 4, SMALL);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		guest_watch(&g, 6);
		mprof_store32(guest_packet(&g, 0) + 26, bits[i]);
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_UINT(g.ring.counters.bad_sizes, 1);
		guest_watch(&g, 3);
		CHECK_EQ_UINT(g.handed, 7 * GUEST_EVENT);
		CHECK_EQ_UINT(g.ring.counters.bad_sizes, 1);
		CHECK_EQ_UINT(g.n_gaps, 0);
		/*
		 * In a packet that the writer has left, a bad size is final: the reader declares a
		 * loss.
		 */
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
	/* A size may be as large as the whole packet. */
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_write_to(&g, 1, 1);
	guest_size(&g, 0, SMALL);
	guest_watch(&g, 3);
	CHECK_EQ_UINT(g.chunks[0].length, SMALL - 30);
	CHECK(g.chunks[0].last);
}

/*
 * A size that falls, and is no half of a size, shows that several writers write at once. The rest of the packet is a gap, and
 * from then on the reader proves nothing.
 */
static void test_several_writers(void)
{
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	CHECK(!g.ring.proof.several_writers);
	guest_size(&g, 0, 30 + 2 * GUEST_EVENT);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK(g.ring.proof.several_writers);
	guest_size(&g, 0, 30 + 3 * GUEST_EVENT);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK(g.ring.proof.several_writers);
	CHECK_EQ_UINT(g.n_gaps, 1);
	guest_write_to(&g, 1, 1);
	guest_forget(&g);
	guest_watch(&g, 4);
	CHECK(g.n_chunks > 0);
	for (unsigned i = 0; i < g.n_chunks; i++)
		CHECK(g.chunks[i].unproven);

	/*
	 * The writer leaves a packet with a smaller size than was confirmed. The reader declares
	 * the rest of the packet lost.
	 */
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	guest_watch(&g, 6);
	guest_write_to(&g, 1, 1);
	guest_size(&g, 0, 30 + 2 * GUEST_EVENT);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK(g.ring.proof.several_writers);
	guest_watch(&g, 3);
	CHECK_EQ_UINT(g.n_gaps, 1);
	gap_is(0, 0, 1, false, RING_GAP_DAMAGED);
}

/*
 * mirage-profile renumbers a packet before it empties the packet: for a moment the packet has its
 * new count, its old size and its old bytes. The reader never accepts that size for the new packet,
 * however often it loads it.
 */
static void test_old_bytes_under_new_number(void)
{
	read_to_five(4, SMALL);
	guest_write_to(&g, 5, 15);
	mprof_store16(guest_packet(&g, 6) + 24, 6);
	for (unsigned i = 0; i < 5; i++)
		CHECK_EQ_INT(guest_poll(&g), 0);
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
 * The first event of packet 6 has a size and not yet a time when a GC event moves the writer to
 * packet 7. So packet 6 still has its old first timestamp. That old time must not make the old
 * bytes of packet 7 look new.
 */
static void test_old_time_of_left_packet(void)
{
	read_to_five(4, SMALL);
	guest_write_to(&g, 5, 15);
	CHECK_EQ_INT(guest_poll(&g), 0);
	guest_turn(&g);
	guest_size(&g, 6, 30 + GUEST_EVENT);
	mprof_store16(guest_packet(&g, 7) + 24, 7);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 7);
	CHECK_EQ_UINT(g.ring.writer.seen, 30);
	CHECK(g.ring.reference.stale_since != 0);
}

/*
 * A recorder that cannot store 8 bytes at once died while it emptied the oldest packet: the first
 * timestamp is zero or still old, the low half of the size is stored, and the high half is not. No
 * writer ever set the size that this header has, so the reader declares the packet damaged.
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
			CHECK_EQ_INT(guest_poll(&g), 0);
			gap_is(0, newest - 4, newest - 3, false, RING_GAP_DAMAGED);
			CHECK_EQ_UINT(g.ring.counters.bad_sizes, 1);
		}
	}
	/*
	 * The low half of this size is that of an empty packet, too, but the packet is not the next
	 * to be emptied: the size is valid.
	 */
	guest_new(&g, 5, LARGE);
	guest_jump(&g, 9, 1000);
	mprof_store16(guest_packet(&g, 6) + 26, MPROF_PACKET_EMPTY_BITS);
	CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK_EQ_UINT(g.chunks[1].sequence, 6);
	CHECK_EQ_UINT(g.chunks[1].length, (65536 * 2 + MPROF_PACKET_EMPTY_BITS) / 8 - 30);
}

/* ---- a first timestamp that is not new ------------------------------------------------------- */

/*
 * Let the reader copy a part of packet 6. Then fill packet 6, and begin packet 7 with two events;
 * the first timestamp of packet 7 is that of packet 6 plus MORE.
 */
static void stand_still(uint64_t more)
{
	read_to_five(4, SMALL);
	guest_write_to(&g, 5, 15);
	guest_watch(&g, 1);
	guest_watch(&g, 2);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 6);
	CHECK_EQ_UINT(g.ring.cursor.offset, 30 + GUEST_EVENT);
	guest_write_to(&g, 6, 15);
	CHECK_EQ_INT(guest_poll(&g), 0);
	mprof_store16(guest_packet(&g, 7) + 24, 7);
	mprof_store64(guest_packet(&g, 7) + 30, mprof_load64(guest_packet(&g, 6) + 30) + more);
	mprof_store64(guest_packet(&g, 7) + 39, mprof_load64(guest_packet(&g, 7) + 30) * 3);
	guest_size(&g, 7, 30 + 2 * GUEST_EVENT);
	g.sequence = 7;
	g.used = 30 + 2 * GUEST_EVENT;
	g.after_gap = true;
}

/*
 * A first timestamp that equals the previous packet's is refused for a second. Then the reader
 * accepts it, unless the same slot had this timestamp in the lap before.
 */
static void test_clock_stands_still(void)
{
	struct ring_mark at;

	stand_still(1);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.seen, 30 + 2 * GUEST_EVENT);
	stand_still(0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 7);
	CHECK_EQ_UINT(g.ring.writer.seen, 30);
	CHECK(g.ring.reference.stale_since != 0);
	/* A second has passed. In the lap before, the slot's first timestamp was another one. */
	g.ring.reference.stale_since -= 2 * NS_PER_S;
	g.ring.slots[g.ring.writer.slot].has_before = true;
	g.ring.slots[g.ring.writer.slot].before = 1;
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.seen, 30 + 2 * GUEST_EVENT);
	CHECK(g.ring.slots[g.ring.writer.slot].clock);
	guest_forget(&g);
	at = (struct ring_mark){.sequence = 7, .offset = 30};
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), 0);
	CHECK_EQ_UINT(g.n_tails, 1);
	CHECK(g.chunks[0].clock);
	/*
	 * If the first timestamp changes, the reader reads the packet anew and judges its clock
	 * anew.
	 */
	g.ring.cursor.sequence = 7;
	g.ring.cursor.offset = 30;
	mprof_store64(guest_packet(&g, 7) + 30, g.time + 5);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK(!g.ring.slots[g.ring.writer.slot].clock);
	/* For the next packet the wait of a second begins again. */
	stand_still(0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	g.ring.reference.stale_since -= 2 * NS_PER_S;
	mprof_store16(guest_packet(&g, 8) + 24, 8);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.ring.writer.active, 8);
	CHECK_EQ_UINT(g.ring.writer.seen, 30);
	/* The reader sees a packet empty under its new number. */
	CHECK(!g.ring.writer.saw_empty);
	guest_turn(&g);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK(g.ring.writer.saw_empty);
	/*
	 * The slot's first timestamp of the lap before is the same, or the reader does not know it:
	 * the bytes may be old.
	 */
	for (unsigned known = 0; known < 2; known++) {
		stand_still(0);
		CHECK_EQ_INT(guest_poll(&g), 0);
		g.ring.reference.stale_since -= 2 * NS_PER_S;
		g.ring.slots[g.ring.writer.slot].has_before = known;
		g.ring.slots[g.ring.writer.slot].before = mprof_load64(guest_packet(&g, 7) + 30);
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_UINT(g.ring.writer.seen, 30);
		/*
		 * Once the reader has seen the packet empty under its number, the bytes must be
		 * new.
		 */
		g.ring.writer.saw_empty = true;
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_UINT(g.ring.writer.seen, 30 + 2 * GUEST_EVENT);
	}
}

/*
 * A ring whose newest packet follows none of the others. The newest packet may have a new number
 * over old bytes, so the reader compares its first timestamp with the newest first timestamp of all
 * other packets that are not empty.
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
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_UINT(g.ring.writer.seen, fresh ? guest_full(&g) : 30);
	}
	/* In a new ring there is no packet to compare with. */
	guest_new(&g, 4, SMALL);
	guest_write_to(&g, 0, 3);
	mprof_store64(guest_packet(&g, 2) + 30, g.time + 10);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	CHECK(!g.ring.reference.known);
}

/*
 * The reader keeps the first timestamp of the packet before the newest one. In a dead ring the
 * reader loads it again, because the first load may have seen it half-written. If it knows the slot's former packet, it
 * can tell that packet's bytes from those of a clock that was set back.
 */
static void test_dead_reference(void)
{
	for (unsigned known = 0; known < 3; known++) {
		struct ring_mark at = {.sequence = 6, .offset = 30};
		struct ring_slot *slot;

		read_to_five(4, SMALL);
		guest_write_to(&g, 6, 3);
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_UINT(g.ring.writer.active, 6);
		mprof_store64(guest_packet(&g, 5) + 30, g.time + 10);
		slot = &g.ring.slots[g.ring.writer.slot];
		slot->has_before = known;
		slot->before = mprof_load64(guest_packet(&g, 6) + 30) - (known == 2);
		slot->before_final = 30 + 3 * GUEST_EVENT;
		ring_set_dead(&g.ring, true);
		guest_forget(&g);
		CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
		CHECK_EQ_UINT(g.n_tails, known != 1);
		CHECK_EQ_UINT(g.n_gaps, 0);
		CHECK(known == 1 || g.chunks[0].clock == (known == 2));
	}
}

/*
 * The guest's clock steps back in the first lap, where no slot has an earlier incarnation. Living, the reader takes the
 * packet after a second; dead, at once.
 */
static void test_first_lap_steps_back(void)
{
	for (unsigned dead = 0; dead < 2; dead++) {
		struct ring_mark at = {0};

		guest_new(&g, 4, SMALL);
		CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
		guest_watch(&g, 15);
		g.time -= 500;
		guest_write_to(&g, 1, 5);
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_UINT(g.ring.writer.active, 1);
		CHECK_EQ_UINT(g.ring.writer.seen, 30);
		if (!dead) {
			g.ring.reference.stale_since -= 2 * NS_PER_S;
			guest_watch(&g, 4);
			CHECK_EQ_UINT(g.ring.cursor.sequence, 1);
			CHECK_EQ_UINT(g.ring.cursor.offset, 30 + 7 * GUEST_EVENT);
			continue;
		}
		ring_set_dead(&g.ring, true);
		CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
		CHECK_EQ_UINT(g.handed + g.tail, (15 + 5) * GUEST_EVENT);
		CHECK(g.chunks[g.n_chunks - 1].clock);
		CHECK_EQ_UINT(g.n_gaps, 0);
	}
}

/* Bytes of a dead ring's newest packet that cannot be copied are declared lost. */
static void test_dead_declares_newest(void)
{
	for (unsigned fault = 0; fault < 3; fault++) {
		struct ring_mark at = {0};

		read_to_five(4, SMALL);
		guest_write_to(&g, 6, 5);
		guest_watch(&g, 3);
		CHECK_EQ_UINT(g.ring.cursor.sequence, 6);
		if (fault == 0)
			guest_size(&g, 6, 29);
		else if (fault == 1)
			mprof_store64(guest_packet(&g, 6) + 30, 5);
		else
			mprof_store16(guest_packet(&g, 6) + 24, 77);
		ring_set_dead(&g.ring, true);
		guest_forget(&g);
		CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
		CHECK_EQ_UINT(g.n_tails, 0);
		if (CHECK_EQ_UINT(g.n_gaps, 1))
			gap_is(0, 6, 7, false, RING_GAP_DAMAGED);
	}
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
		clock_own += 10 * NS_PER_S;
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
 * Write an event and poll, up to 60 times. Return the first error other than RING_E_FULL, or 0 once
 * the ring has changed and all provable events are copied; else -ETIME. The sink checks every
 * event.
 */
static int follow_on(void)
{
	int r = 0;

	for (unsigned events = 0; events < 60; events++) {
		if (g.bytes)
			guest_event(&g);
		r = guest_poll(&g);
		if ((r && r != RING_E_FULL) || (!r && !g.armed && g.next_time == g.time - 2))
			return r;
	}
	return -ETIME;
}

/*
 * A reader in the middle of packet SEQUENCE polls. The ring changes at the reader's load number
 * LOAD. With BACK, the cursor is moved back before the polls.
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
 * The reader has seen a first timestamp that was half-written. When the timestamp changes, the
 * reader begins the packet again and forgets the sizes that it had confirmed.
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

/* Hook: change the packet's count at each load of a count. */
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
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.ring.counters.unsteady, 1);
	g.hook = NULL;
	guest_watch(&g, 3);
	CHECK_EQ_UINT(g.ring.counters.unsteady, 1);
	CHECK_EQ_UINT(g.n_gaps, 0);
}

/*
 * The writer has begun a packet and written no event into it. After the first lap the reader
 * detects the new packet. In the first lap it cannot, because all later packets look the same.
 */
static void test_empty_packet(void)
{
	guest_new(&g, 4, SMALL);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	for (uint64_t q = 0; q < 4; q++) {
		guest_write_to(&g, q, 15);
		CHECK_EQ_INT(guest_poll(&g), 0);
		guest_turn(&g);
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_UINT(g.ring.writer.active, q < 3 ? q : 4);
	}
}

/* If the bytes disappear while the ring is being attached, there is no ring yet. */
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

/*
 * Make a ring, and return the resume position of an archive that ends after ten events of packet 5.
 */
static struct ring_resume resume_five(void)
{
	guest_new(&g, 4, LARGE);
	guest_jump(&g, 5, 12);
	return (struct ring_resume){
		.sequence = 5,
		.offset = 30 + 10 * GUEST_EVENT,
		.last_sequence = 5,
		.first_timestamp = mprof_load64(guest_packet(&g, 5) + 30),
		.last_mono = (int64_t)clock_mono(),
	};
}

static void resume_poll(const struct ring_resume *resume, int want)
{
	CHECK_EQ_INT(guest_attach(&g, resume, false), want);
	if (want)
		return;
	g.started = true;
	g.next_sequence = resume->sequence;
	g.next_offset = resume->offset;
	CHECK_EQ_INT(guest_poll(&g), 0);
}

static void test_resume_same_packet(void)
{
	struct ring_resume resume = resume_five();

	resume_poll(&resume, 0);
	CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);
	g.next_time = g.time - 2;
	g.after_gap = false;
	guest_watch(&g, 3);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK_EQ_UINT(g.handed, 3 * GUEST_EVENT);

	/* The ring still has packet 5 when the writer is in packet 8. */
	resume = resume_five();
	guest_write_to(&g, 8, 3);
	resume_poll(&resume, 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK_EQ_UINT(g.chunks[0].sequence, 5);
	CHECK_EQ_UINT(g.chunks[0].offset, resume.offset);
	CHECK_EQ_UINT(g.n_chunks, 2);

	/* The archive ends at the end of packet 5, or behind the newest byte of the ring. */
	resume = resume_five();
	resume.sequence = 6;
	resume.offset = 30;
	resume_poll(&resume, 0);
	CHECK_EQ_UINT(g.ring.writer.active, 5);
	guest_write_to(&g, 6, 1);
	guest_watch(&g, 3);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK_EQ_UINT(g.chunks[0].sequence, 6);
}

/*
 * Attach the ring again, from whose packet SEQUENCE on the archive has none, and poll. The oldest packet is OLDEST. KNOWN: the
 * ring had packet SEQUENCE when it was first attached, and if SEQUENCE is not 0 it was past its first lap.
 */
static void resume_unseen_known(uint64_t sequence, uint64_t oldest, bool known)
{
	const struct ring_resume resume = {
		.sequence = sequence, .unseen = true, .known = known, .passed = known && sequence > 0};
	const bool lost = oldest > sequence, counted = known && oldest < 65536;

	guest_forget(&g);
	CHECK_EQ_INT(guest_attach(&g, &resume, false), 0);
	g.started = false;
	g.after_gap = true;
	CHECK_EQ_INT(guest_poll(&g), 0);
	if (CHECK_EQ_UINT(g.n_gaps, lost) && lost) {
		CHECK_EQ_UINT(g.gaps[0].after_sequence, sequence);
		CHECK_EQ_UINT(g.gaps[0].after_offset, 0);
		CHECK_EQ_UINT(g.gaps[0].next_sequence, oldest);
		CHECK_EQ_UINT(g.gaps[0].packets, counted ? oldest - sequence : 1);
		CHECK(g.gaps[0].at_least);
		CHECK_EQ_INT(g.gaps[0].reason, RING_GAP_RESTART);
	}
	if (CHECK(g.n_chunks > 0))
		CHECK_EQ_UINT(g.chunks[0].sequence, oldest > sequence ? oldest : sequence);
}

static void resume_unseen(uint64_t sequence, uint64_t oldest)
{
	resume_unseen_known(sequence, oldest, true);
	resume_unseen_known(sequence, oldest, false);
}

/* The archive has no packet of a ring that was attached before: if some may be lost, a gap says so, and counts none twice. */
static void test_resume_unseen(void)
{
	struct ring_resume resume = {.sequence = 50000, .unseen = true};

	guest_new(&g, 4, LARGE);
	guest_write_to(&g, 3, 4);
	resume_unseen(0, 0);
	guest_jump(&g, 4, 4);
	resume_unseen(0, 1);
	guest_jump(&g, 50000, 4);
	resume_unseen(0, 49997);
	resume_unseen(49997, 49997);
	resume_unseen(49998, 49997);
	/* The rest of the newest packet was declared lost. */
	resume.sequence = 50001;
	CHECK_EQ_INT(guest_attach(&g, &resume, false), 0);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 50001);
	CHECK_EQ_UINT(g.ring.writer.active, 50000);
	/*
	 * The count wraps around, or the ring was initialised again: the numbers go on, and do not begin before packet 50,000
	 * again. Nobody knows how many packets are lost.
	 */
	guest_jump(&g, 65536 + 300, 4);
	resume_unseen(50000, 65536 + 297);
	/* The same after the cursor was moved back over the gap. */
	ring_rewind(&g.ring, &(struct ring_cursor){.sequence = 50000, .offset = 30}, true);
	guest_forget(&g);
	g.started = false;
	CHECK_EQ_INT(guest_poll(&g), 0);
	if (CHECK_EQ_UINT(g.n_gaps, 1))
		CHECK_EQ_UINT(g.gaps[0].packets, 1);
	/* The ring was initialised again. */
	guest_format(&g);
	guest_write_to(&g, 1, 4);
	CHECK_EQ_INT(guest_attach(&g, &resume, false), RING_E_RENEWED);
}

/* When the second sweep begins, let the writer store the first event of the packet that it has just begun. */
static void begin_packet(struct guest *guest, uint64_t offset, size_t n)
{
	if (offset == MPROF_PACKET_HEADER_BYTES && n == 8 && guest->armed && --guest->armed == 0)
		guest_event(guest);
}

/*
 * A ring of N packets was past its first lap when it was attached first, and no packet of it is archived. If it is in its first lap
 * now, it is another ring, whose packets are neither lost nor passed over.
 */
static void resume_passed(uint32_t n)
{
	const uint32_t room = 600;
	struct ring_resume resume = {.unseen = true, .known = true, .passed = true};

	guest_new(&g, n, room);
	guest_jump(&g, n + 4, 3);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	resume.sequence = g.ring.cursor.sequence;
	CHECK_EQ_UINT(resume.sequence, 5);
	for (uint64_t newest = 0; newest + 1 < n; newest++) {
		guest_format(&g);
		if (newest)
			guest_write_to(&g, newest, 3);
		CHECK_EQ_INT(guest_attach(&g, &resume, false), RING_E_RENEWED);
	}
	/* The numbers begin at 0 again for a moment, because the count has wrapped around. */
	guest_new(&g, n, room);
	guest_jump(&g, 65536 + n - 2, (room - 31) / GUEST_EVENT);
	guest_turn(&g);
	g.hook = begin_packet;
	g.armed = 2;
	CHECK_EQ_INT(guest_attach(&g, &resume, false), RING_E_NOT_YET);
	CHECK_EQ_UINT(g.armed, 0);
	CHECK_EQ_INT(guest_attach(&g, &resume, false), 0);
	/* The first packet was declared lost, but the ring was in its first lap. */
	guest_new(&g, n, room);
	guest_write_to(&g, 1, 3);
	resume = (struct ring_resume){.sequence = 1, .unseen = true, .known = true};
	CHECK_EQ_INT(guest_attach(&g, &resume, false), 0);
	guest_watch(&g, 4);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK(g.n_chunks && g.chunks[0].sequence == 1);
}

static void test_resume_passed(void)
{
	struct ring_resume resume = {.sequence = 997, .unseen = true, .known = true, .passed = true};

	resume_passed(2);
	resume_passed(4);
	resume_passed(16);
	/* The ring was initialised again, and is past its first lap: the gap does not count packets that never were. */
	guest_new(&g, 4, SMALL);
	guest_write_to(&g, 500, 5);
	CHECK_EQ_INT(guest_attach(&g, &resume, false), 0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	if (CHECK_EQ_UINT(g.n_gaps, 1)) {
		CHECK_EQ_UINT(g.gaps[0].packets, 1);
		CHECK(g.gaps[0].at_least);
	}
}

static void test_resume_lapped(void)
{
	struct ring_resume resume = resume_five();

	guest_write_to(&g, 9, 3);
	resume_poll(&resume, 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
	gap_is(0, 5, 6, false, RING_GAP_RESTART);
	CHECK_EQ_UINT(g.gaps[0].after_offset, resume.offset);
	CHECK_EQ_UINT(g.chunks[0].sequence, 6);
	CHECK(!g.ring.restart.pending);

	/* The archive's last bytes are a minute old, so the count may have wrapped meanwhile. */
	resume = resume_five();
	guest_write_to(&g, 9, 3);
	resume.last_mono -= 60 * (int64_t)NS_PER_S;
	resume_poll(&resume, 0);
	gap_is(0, 5, 6, true, RING_GAP_RESTART);
	/*
	 * dom0's clock was set back: the archive's last bytes are from the future. The reader then
	 * does not assume that much time has passed.
	 */
	resume = resume_five();
	guest_write_to(&g, 9, 3);
	resume.last_mono += 60 * (int64_t)NS_PER_S;
	resume_poll(&resume, 0);
	gap_is(0, 5, 6, false, RING_GAP_RESTART);
	/*
	 * Packet 5 is still in the ring. However old the archive's last bytes are, the count cannot
	 * have wrapped.
	 */
	resume = resume_five();
	guest_write_to(&g, 8, 3);
	resume.last_mono -= 60 * (int64_t)NS_PER_S;
	resume_poll(&resume, 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK(!g.ring.restart.at_least);
}

/*
 * 65,536 packets have passed since the archive's end: the counts are the same as before, and the
 * packets are others.
 */
static void test_resume_round(void)
{
	for (uint32_t more = 0; more < 4; more++) {
		struct ring_resume resume = resume_five();

		guest_jump(&g, 5 + 65536 + more, 12);
		resume_poll(&resume, 0);
		CHECK_EQ_UINT(g.n_gaps, 1);
		gap_is(0, 5, 5 + 65536 + more - 3, true, RING_GAP_RESTART);
	}
	{
		/*
		 * 65,535 packets have passed: the gap's number of packets is exact, unless the
		 * archive's last bytes are old.
		 */
		struct ring_resume resume = resume_five();

		guest_jump(&g, 4 + 65536, 12);
		resume_poll(&resume, 0);
		gap_is(0, 5, 4 + 65536 - 3, false, RING_GAP_RESTART);
	}
}

static void test_resume_renewed(void)
{
	struct ring_resume resume = resume_five();

	guest_format(&g);
	guest_write_to(&g, 1, 3);
	resume_poll(&resume, RING_E_RENEWED);
	/* The same for a ring in its first lap. */
	guest_new(&g, 4, LARGE);
	guest_write_to(&g, 1, 12);
	resume = (struct ring_resume){.sequence = 1,
				      .offset = 30 + 10 * GUEST_EVENT,
				      .last_sequence = 1,
				      .first_timestamp = mprof_load64(guest_packet(&g, 1) + 30),
				      .last_mono = (int64_t)clock_mono()};
	resume_poll(&resume, 0);
	guest_format(&g);
	guest_write_to(&g, 1, 12);
	resume_poll(&resume, RING_E_RENEWED);
	/* The same for a ring whose bytes have disappeared. */
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
		CHECK_EQ_INT(guest_poll(&g), 0);
	}
	CHECK_EQ_UINT(g.n_gaps + g.n_chunks, 0);
	CHECK_EQ_UINT(g.ring.writer.active, 18);
	/* The sink has no room for the gap: the reader goes on skipping. */
	g.takes_no_gap = true;
	CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, false), RING_E_FULL);
	CHECK(g.ring.skipping);
	g.takes_no_gap = false;
	g.ring.polled_at = clock_mono();
	/*
	 * ring_seek sees a newest packet behind the active one, and cannot decide: the reader goes
	 * on skipping.
	 */
	g.ring.writer.active++;
	CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, false), RING_E_FULL);
	CHECK(g.ring.skipping);
	g.ring.writer.active--;
	CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, false), 0);
	CHECK(!g.ring.skipping);
	gap_is(0, 5, 16, false, RING_GAP_POLICY);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.chunks[0].sequence, 16);
	/* In a dead ring the reader keeps the oldest packet, too. */
	ring_skip(&g.ring);
	guest_write_to(&g, 40, 5);
	CHECK_EQ_INT(guest_poll(&g), 0);
	g.ring.polled_at = clock_mono();
	CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, true), 0);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 37);
}

/*
 * A reader restarts after a lap, on a ring that is only copied in snapshots. One gap at the next
 * snapshot covers everything lost.
 */
static void test_seek_after_restart(void)
{
	for (int at_least = 0; at_least < 2; at_least++) {
		struct ring_resume resume = resume_five();

		guest_write_to(&g, 12, 3);
		resume.last_mono -= at_least ? 60 * (int64_t)NS_PER_S : 0;
		CHECK_EQ_INT(guest_attach(&g, &resume, false), 0);
		ring_skip(&g.ring);
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_UINT(g.n_gaps, 0);
		g.takes_no_gap = true;
		CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, false), RING_E_FULL);
		CHECK(g.ring.restart.pending);
		g.takes_no_gap = false;
		g.ring.polled_at = clock_mono();
		CHECK_EQ_INT(ring_seek(&g.ring, &g.sink, false), 0);
		gap_is(0, 5, 10, at_least, RING_GAP_POLICY);
		CHECK(!g.ring.restart.pending);
		CHECK_EQ_INT(guest_poll(&g), 0);
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

	/* A capture continues at the position at which an earlier call of it stopped. */
	at = (struct ring_mark){0, 30 + 5 * GUEST_EVENT};
	guest_forget(&g);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), 0);
	CHECK_EQ_UINT(g.tail, GUEST_EVENT);

	/*
	 * A capture over several packets. The sink is full after the first packet, and the capture
	 * continues there.
	 */
	guest_write_to(&g, 2, 4);
	g.room_for = 0;
	CHECK_EQ_INT(guest_poll(&g), RING_E_FULL);
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
	/* The ring's bytes disappear. */
	at = (struct ring_mark){0};
	g.bytes = 100;
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), RING_E_GONE);
	CHECK_EQ_INT(guest_poll(&g), RING_E_GONE);
}

/* If the writer is a lap ahead of the cursor, there is no tail. */
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
		CHECK_EQ_INT(guest_poll(&g), 0);
	}
	g.ring.held = false;
	CHECK_EQ_UINT(g.ring.writer.active, 4);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), 0);
	CHECK_EQ_UINT(g.n_tails, 0);
}

/*
 * The writer has left the packet of the tail, and no poll has seen this. The capture hands no bytes
 * over under the old number.
 */
static void test_capture_renumbered(void)
{
	struct ring_mark at = {0};

	read_to_five(4, SMALL);
	guest_jump(&g, 9, 15);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), 0);
	CHECK_EQ_UINT(g.n_tails, 0);
}

/*
 * The reader followed the ring to packet LAST without copying. The writer lapped the cursor and
 * died: the reader begins with the oldest packet.
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
		CHECK_EQ_INT(guest_poll(&g), 0);
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

/* Make a dead ring. A poll copies its proven bytes, and a capture copies the rest. */
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
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.handed, 2 * 15 * GUEST_EVENT);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK_EQ_UINT(g.tail, (15 + 5) * GUEST_EVENT);
	CHECK_EQ_UINT(g.tail_last, g.time - 1);
	CHECK_EQ_UINT(at.sequence, 11);

	/*
	 * The writer died between a new packet's count and its size, so the packet's bytes are still the old
	 * packet's. The reader did not see that packet, so it cannot know: the bytes are a tail, and their
	 * times tell the reader of the archive.
	 */
	dead_ring(10, 15);
	mprof_store16(guest_packet(&g, 11) + 24, 11);
	at = (struct ring_mark){0};
	CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	guest_forget(&g);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	for (unsigned i = 0; i < g.n_chunks; i++)
		CHECK(g.chunks[i].sequence < 11 || (g.chunks[i].tail && !g.chunks[i].clock));
	CHECK_EQ_UINT(g.tail, 2 * 15 * GUEST_EVENT);
	CHECK_EQ_UINT(g.n_gaps, 0);
}

/*
 * The first timestamp of the newest packet equals the one before. The bytes are archived, whether they belong to this
 * packet or to the one that was there in the lap before.
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
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
		CHECK_EQ_UINT(g.tail, (15 + 5) * GUEST_EVENT);
		CHECK(!g.chunks[g.n_chunks - 1].clock);
	}
}

/*
 * A dead file was cut inside a packet that is not its newest. The reader hands over the bytes of
 * this packet that exist, as unproven.
 */
static void test_dead_cut(void)
{
	guest_new(&g, 4, SMALL);
	guest_jump(&g, 9, 5);
	g.bytes -= 100;
	CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
	CHECK_EQ_UINT(g.ring.n, 4);
	g.after_gap = true;
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.n_chunks, 2);
	CHECK_EQ_UINT(g.chunks[0].sequence, 6);
	CHECK(!g.chunks[0].unproven);
	CHECK_EQ_UINT(g.chunks[1].sequence, 7);
	CHECK_EQ_UINT(g.chunks[1].length, SMALL - 100 - 30);
	CHECK(g.chunks[1].unproven);
}

/*
 * A dead file was cut and lacks its last one or two packets, and its writer had wrapped. The reader
 * declares the missing packets damaged, and hands over the packets before and behind them.
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
		CHECK_EQ_INT(guest_poll(&g), 0);
		CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
		CHECK_EQ_UINT(g.n_gaps, missing);
		gap_is(0, 7 - missing, 8 - missing, false, RING_GAP_DAMAGED);
		gap_is(missing - 1, 6, 7, false, RING_GAP_DAMAGED);
		CHECK_EQ_UINT(g.handed + g.tail, ((6 - missing) * 15 + 5) * GUEST_EVENT);
		CHECK_EQ_UINT(g.tail_last, g.time - 1);
	}
}

/* The file of a ring with the largest number of packets was cut. */
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
 * The writer died between the two halves of a size, which is then less than the reader saw before: the tail reaches to the
 * whole size.
 */
static void dead_between_halves(uint32_t room, unsigned events)
{
	struct ring_mark at = {0};
	uint32_t used;

	guest_new(&g, 2, room);
	CHECK_EQ_INT(guest_attach(&g, NULL, false), 0);
	g.room++; /* with one byte more, events may fill packet 0 exactly */
	while (g.used + 5 * GUEST_EVENT < 8192)
		guest_event(&g);
	guest_watch(&g, 4);
	while (events--)
		guest_event(&g);
	used = g.used;
	mprof_store16(guest_packet(&g, 0) + 28, 0);
	CHECK_EQ_INT(guest_poll(&g), 0);
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
 * The writer died with a smaller size than the reader saw before. A size that is 8 KiB greater
 * would lie past the packet's end, so the tail ends at the confirmed size.
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
	/* If events were written after the size fell, they are lost. */
	CHECK_EQ_UINT(g.n_gaps, 1);
	CHECK_EQ_UINT(g.gaps[0].after_offset, 30 + 5 * GUEST_EVENT);
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
	/* The newest packet stays even if there is no room. */
	CHECK_EQ_INT(ring_keep_newest(&g.ring, &g.sink, 7, &at, 0), 0);
	gap_is(2, 9, 10, false, RING_GAP_LAPPED);
	CHECK_EQ_INT(ring_keep_newest(&g.ring, &g.sink, 7, &at, 0), 0);
	CHECK_EQ_UINT(g.n_gaps, 3);
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 7, &at, &left), 0);
	CHECK_EQ_UINT(left, newest);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK_EQ_UINT(g.handed + g.tail, 5 * GUEST_EVENT);

	/* ring_remaining only computes the rest; it hands nothing over. */
	dead_ring(10, 5);
	at = (struct ring_mark){0};
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	g.ring.cursor.sequence = 7;
	g.started = false;
	g.after_gap = true;
	guest_forget(&g);
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 7, &at, &left), 0);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.handed, 2 * 15 * GUEST_EVENT);

	/* The same in a ring that never wrapped. */
	guest_new(&g, 4, SMALL);
	guest_write_to(&g, 0, 5);
	at = (struct ring_mark){0};
	CHECK_EQ_INT(guest_attach(&g, NULL, true), 0);
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 7, &at, &left), 0);
	CHECK_EQ_UINT(left, newest);
	CHECK_EQ_INT(ring_keep_newest(&g.ring, &g.sink, 7, &at, 0), 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
}

/*
 * A part of a tail was handed over: the rest of the tail begins behind it, and the cursor stays
 * where it is.
 */
static void test_left_of_tail(void)
{
	struct ring_mark at = {0};
	uint64_t left;

	dead_ring(10, 5);
	CHECK_EQ_INT(guest_poll(&g), 0);
	g.room_for = 1;
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), RING_E_FULL);
	g.room_for = UINT32_MAX;
	CHECK_EQ_UINT(at.sequence, 10);
	CHECK_EQ_INT(ring_remaining(&g.ring, &g.sink, 0, &at, &left), 0);
	CHECK_EQ_UINT(left, 5 * GUEST_EVENT);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 9);
	/*
	 * If there is no room for the rest, the bytes behind the part that was handed over are
	 * declared lost.
	 */
	CHECK_EQ_INT(ring_declare_rest(&g.ring, &g.sink, &at), 0);
	gap_is(0, 10, 11, false, RING_GAP_LAPPED);
	CHECK_EQ_UINT(g.gaps[0].after_offset, 30);
	CHECK_EQ_UINT(g.ring.cursor.sequence, 11);

	/* Two packets of a tail remain, and there is room for one of them. */
	dead_ring(10, 5);
	CHECK_EQ_INT(guest_poll(&g), 0);
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

	/* No bytes of a dead ring were handed over, and there is no room at all. */
	dead_ring(10, 5);
	at = (struct ring_mark){0};
	g.takes_no_gap = true;
	CHECK_EQ_INT(ring_declare_rest(&g.ring, &g.sink, &at), RING_E_FULL);
	g.takes_no_gap = false;
	CHECK_EQ_INT(ring_declare_rest(&g.ring, &g.sink, &at), 0);
	gap_is(0, 7, 11, false, RING_GAP_LAPPED);
	CHECK_EQ_INT(ring_declare_rest(&g.ring, &g.sink, &at), 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
	/* The cursor is behind the newest packet: that is no lap. */
	for (int i = 0; i < 2; i++)
		guest_poll(&g);
	CHECK_EQ_UINT(g.ring.counters.lapped, 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
}

/*
 * A packet in the middle of a dead ring's tail has an impossible size. The packet is declared lost,
 * and the packets behind it are copied.
 */
static void test_dead_damaged(void)
{
	struct ring_mark at = {0};
	uint64_t left;

	dead_ring(10, 5);
	mprof_store32(guest_packet(&g, 9) + 26, 7);
	CHECK_EQ_INT(guest_poll(&g), 0);
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
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 0);
	CHECK(ring_owes(&g.ring));
	guest_watch(&g, 4);
	CHECK(!ring_owes(&g.ring));
	CHECK_EQ_UINT(g.ring.cursor.sequence, 6);

	/*
	 * The bytes that were lost meanwhile are a gap, which begins where the cursor went back to.
	 * The gap's flag AT_LEAST stays set.
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
		CHECK_EQ_INT(guest_poll(&g), 0);
		gap_is(0, 5, 18, at_least, RING_GAP_LAPPED);
		CHECK(!g.ring.debt.rewound && !g.ring.debt.at_least);
	}
}

/*
 * In a dead ring, bytes that were taken back and cannot be proven again are part of the tail, so no
 * gap is declared.
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
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK(ring_owes(&g.ring));
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, false, &at), 0);
	CHECK(ring_owes(&g.ring));
	at = (struct ring_mark){0};
	CHECK_EQ_INT(ring_capture(&g.ring, &g.sink, true, &at), 0);
	CHECK(!ring_owes(&g.ring));
}

/*
 * The cursor goes back into the oldest packet, and the writer died after it emptied this packet for
 * reuse: the rest of the packet is lost.
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
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
	gap_is(0, 5, 6, false, RING_GAP_LAPPED);
	CHECK_EQ_UINT(g.chunks[0].sequence, 6);
}

/* A ring that changes to snapshots only declares the bytes lost that were taken back. */
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
	CHECK_EQ_INT(guest_poll(&g), 0);
	gap_is(0, 5, 6, true, RING_GAP_LAPPED);
	CHECK(!g.ring.debt.rewound);
	CHECK_EQ_INT(guest_poll(&g), 0);
	CHECK_EQ_UINT(g.n_gaps, 1);
}

/*
 * When a ring is removed, the reader declares the gap that is open, up to the end of the packet
 * that the cursor was in.
 */
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
		/* The cursor goes back once more: the gap begins at the earlier position. */
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
	/* The cursor was at the beginning of a packet, which is not lost. */
	read_to_five(4, LARGE);
	start = g.ring.cursor;
	guest_write_to(&g, 5, (LARGE - 31) / GUEST_EVENT);
	CHECK_EQ_INT(guest_poll(&g), 0);
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
	CHECK_RUN(test_at_least_later);
	CHECK_RUN(test_renewed);
	CHECK_RUN(test_renewed_past_first_lap);
	CHECK_RUN(test_renewed_in_first_lap);
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
	CHECK_RUN(test_first_lap_steps_back);
	CHECK_RUN(test_dead_declares_newest);
	CHECK_RUN(test_change_at_any_load);
	CHECK_RUN(test_started_afresh);
	CHECK_RUN(test_unsteady);
	CHECK_RUN(test_empty_packet);
	CHECK_RUN(test_gone_at_attach);
	CHECK_RUN(test_resume_same_packet);
	CHECK_RUN(test_resume_unseen);
	CHECK_RUN(test_resume_passed);
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
