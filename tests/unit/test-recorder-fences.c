/*
 * The order of the recorder's stores on a machine that may show stores in any order.
 *
 * Such a machine keeps two stores in order only if a release fence is between them. In this test
 * each fence and each atomic store of the recorder calls a function of the test. The test has a
 * copy of the ring at the last fence. If a reader of one store relies on an earlier store, the
 * earlier store must be in this copy.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

static void fence_seen(int order);
static void barrier_seen(void);
static void store_seen(const void *at, uint64_t value, size_t bytes);

#define __atomic_thread_fence(order) fence_seen(order)
#define __atomic_signal_fence(order) barrier_seen()
#define __atomic_store_n(at, value, order)                          \
	do {                                                        \
		store_seen((at), (uint64_t)(value), sizeof(*(at))); \
		*(volatile __typeof__(*(at)) *)(at) = (value);      \
		CHECK_EQ_INT(order, __ATOMIC_RELAXED);              \
	} while (0)

/* The macros above replace the recorder's fences and atomic stores. */
#include "../../client/recorder/recorder.c" /* NOLINT(bugprone-suspicious-include) */

#define RING_BYTES 1024u
#define PACKETS	   4u
#define ROOM	   (RING_BYTES / PACKETS)

static _Alignas(8) uint8_t ring[RING_BYTES];
static uint8_t fenced[RING_BYTES];   /* the ring at the last fence */
static unsigned nested, kept_events; /* events of interrupts: to come during an event, kept so far */
static unsigned fences, barriers, publications, withdrawals;
static bool formatting;
static struct mprof_recorder recorder;

static uint32_t bits_at(const uint8_t *p)
{
	return mprof_load16(p + COUNT_AT + 2) | (uint32_t)mprof_load16(p + HIGH_AT) << 16;
}

static bool changed(size_t from, size_t to)
{
	return memcmp(ring + from, fenced + from, to - from) != 0;
}

/*
 * Check the creation of a ring: each packet is written without its magic and then gets its magic.
 * The first packet gets its magic last.
 */
static void check_formatting(void)
{
	for (size_t at = 0; at < RING_BYTES; at += ROOM) {
		bool had_magic = mprof_load32(fenced + at) == MPROF_PACKET_MAGIC;
		bool has_magic = mprof_load32(ring + at) == MPROF_PACKET_MAGIC;

		if (had_magic)
			CHECK(!changed(at + 4, at + 38));
		if (!had_magic && has_magic) {
			CHECK(!changed(4, ROOM));
			CHECK(!changed(at + 4, RING_BYTES));
			CHECK_EQ_UINT(bits_at(ring + at), MPROF_PACKET_EMPTY_BITS);
		}
		if (at && mprof_load32(fenced) == MPROF_PACKET_MAGIC && fences > 2 * PACKETS)
			CHECK(had_magic);
	}
}

/*
 * Check what has changed since the last fence. A first timestamp never changes together with the
 * bytes behind it, because a reader tells by it that the packet was reused. When a packet's size
 * becomes empty, no byte of the packet changes together with the size.
 */
static void check_steps(void)
{
	for (size_t at = 0; at < RING_BYTES; at += ROOM) {
		if (changed(at + FIRST_AT, at + 38))
			CHECK(!changed(at + 38, at + ROOM));
		if (changed(at + COUNT_AT, at + FIRST_AT) && bits_at(ring + at) == MPROF_PACKET_EMPTY_BITS)
			CHECK(!changed(at + FIRST_AT, at + ROOM));
	}
}

/*
 * Check that the recorder is busy between the stores of an event, so that an interrupt finds this
 * out. Behind the third barrier of an event the recorder is free again.
 */
static void barrier_seen(void)
{
	CHECK(recorder.busy == (barriers % 3 != 2));
	barriers++;
}

/*
 * Check that an event in the middle of another event changes nothing of the ring, as long as the other
 * one is written: it is kept, or dropped if there is no room to keep it.
 */
static void check_nested(void)
{
	uint64_t dropped = recorder.dropped[MPROF_DROP_NESTED], events_before = recorder.events;
	uint32_t kept = recorder.kept_bytes;
	const char text[] = "thirty bytes of text, and some";
	static uint8_t before[RING_BYTES];

	memcpy(before, ring, sizeof(ring));
	while (nested) {
		nested--;
		mprof_recorder_label(&recorder, 1, text, sizeof(text) - 1);
		if (recorder.dropped[MPROF_DROP_NESTED] == dropped) {
			CHECK_EQ_UINT(recorder.kept_bytes, kept + 2 + 17 + sizeof(text));
			kept = recorder.kept_bytes;
			kept_events++;
		} else {
			CHECK(kept + 2 + 17 + sizeof(text) > MPROF_RECORDER_KEPT_BYTES);
			CHECK_EQ_UINT(recorder.kept_bytes, kept);
			CHECK_EQ_UINT(recorder.dropped[MPROF_DROP_NESTED], ++dropped);
		}
	}
	CHECK_EQ_UINT(recorder.events, events_before);
	CHECK(memcmp(before, ring, sizeof(ring)) == 0);
}

static void fence_seen(int order)
{
	CHECK_EQ_INT(order, __ATOMIC_RELEASE);
	if (formatting)
		check_formatting();
	else
		check_steps();
	if (!formatting && recorder.busy)
		check_nested();
	memcpy(fenced, ring, sizeof(ring));
	fences++;
}

#ifdef MPROF_RECORDER_HALVES

/* 1 + offset of the packet whose low half is stored and whose high half is not; 0 for none. */
static size_t low_stored;

static void store_seen(const void *at, uint64_t value, size_t bytes)
{
	size_t offset = (size_t)((const uint8_t *)at - ring), packet = offset / ROOM * ROOM;
	uint32_t low = (uint32_t)(value >> 16 & 0xffff);

	CHECK_EQ_UINT(offset % bytes, 0);
	if (bytes == 2) {
		/* This is the high half. The low half was stored before a fence. */
		CHECK_EQ_UINT(low_stored, packet + 1);
		low_stored = 0;
		CHECK_EQ_UINT(offset - packet, HIGH_AT);
		CHECK(!changed(packet + COUNT_AT, packet + COUNT_AT + 4));
		CHECK(formatting || !changed(packet + FIRST_AT, packet + ROOM));
		return;
	}
	CHECK_EQ_UINT(bytes, 4);
	CHECK_EQ_UINT(offset - packet, COUNT_AT);
	CHECK_EQ_UINT(low_stored, 0);
	low_stored = packet + 1;
	if (formatting)
		return;
	CHECK(recorder.busy);
	if (low == MPROF_PACKET_EMPTY_BITS) {
		/* A reader that still sees the old size also sees the old first timestamp. */
		withdrawals++;
		CHECK(mprof_load64(fenced + packet + FIRST_AT) != 0);
		CHECK(!changed(packet + FIRST_AT, packet + ROOM));
		CHECK_EQ_UINT(value & 0xffff, mprof_load16(ring + packet + COUNT_AT));
	} else {
		publications++;
		CHECK(low % 8 == 0 && low / 8 < ROOM);
		CHECK(!changed(packet + FIRST_AT, packet + low / 8));
	}
}

#else

static void store_seen(const void *at, uint64_t value, size_t bytes)
{
	size_t offset = (size_t)((const uint8_t *)at - ring), packet = offset / ROOM * ROOM;
	uint32_t bits = (uint32_t)(value >> 16);

	/*
	 * Count and size are stored together, as one aligned word of 8 bytes. The last two bytes of
	 * the word belong to the next field and keep their value.
	 */
	CHECK_EQ_UINT(bytes, 8);
	CHECK_EQ_UINT(offset % 8, 0);
	CHECK_EQ_UINT(offset - packet, COUNT_AT);
	CHECK_EQ_UINT(value >> 48, mprof_load16(ring + packet + FIRST_AT));
	if (formatting)
		return;
	CHECK(recorder.busy);
	if (bits == MPROF_PACKET_EMPTY_BITS) {
		withdrawals++;
		CHECK(!changed(packet + FIRST_AT, packet + ROOM));
		CHECK_EQ_UINT(value & 0xffff, mprof_load16(ring + packet + COUNT_AT));
	} else {
		publications++;
		CHECK(bits % 8 == 0 && bits / 8 < ROOM);
		CHECK(!changed(packet + FIRST_AT, packet + bits / 8));
	}
}

#endif

static uint64_t tick(void *context)
{
	return ++*(uint64_t *)context;
}

static void test_order(void)
{
	struct mprof_recorder *r = &recorder;
	uint64_t ticks = 0x0101010101010101; /* no byte of a timestamp is zero */
	unsigned events = 0;

	/*
	 * In the second round the memory has an old ring, so each old magic must be removed first.
	 */
	for (unsigned lap = 0; lap < 2; lap++) {
		fences = 0;
		formatting = true;
		memcpy(fenced, ring, sizeof(ring));
		CHECK_EQ_INT(mprof_recorder_init(r, ring, sizeof(ring), PACKETS, tick, &ticks), MPROF_RECORDER_OK);
		CHECK(fences > 2 * PACKETS);
		CHECK(memcmp(ring, fenced, sizeof(ring)) == 0);
		formatting = false;
		barriers = kept_events = publications = withdrawals = events = 0;
		for (; mprof_recorder_sequence(r) < 60; events++) {
			ticks += 0x0011223344556677 * (events % 3);
			nested = events % 4 == 3 ? events % 14 : 0;
			if (events % 5 == 0)
				mprof_recorder_counter(r, -1 - (int64_t)events, "a counter's name", events % 16);
			else
				mprof_recorder_fulfills(r, -1 - (int64_t)events);
		}
		CHECK(kept_events > 20 && recorder.dropped[MPROF_DROP_NESTED] > 3);
		/* The counter of dropped events is recorded, too. */
		CHECK(recorder.drops_said && publications > events + kept_events);
		CHECK_EQ_UINT(publications, recorder.events);
		CHECK_EQ_UINT(barriers, 3 * events);
		CHECK_EQ_UINT(withdrawals, mprof_recorder_sequence(r) - PACKETS + 1);
	}
}

int main(void)
{
	CHECK_RUN(test_order);
	return check_done();
}
