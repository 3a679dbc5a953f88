/* The time bound of a tail, by which the server detects that the tail's last event is torn. */
#include "archive-fixture.h"
#include "clock.h"
#include "packet-walk.h"

#define STREAM	 5
#define EVENT	 17u
#define GUEST_NS (7000 * NS_PER_S) /* the guest's clock is this far ahead of dom0's */

static void put_event(uint8_t *p, uint64_t timestamp, uint64_t thread)
{
	mprof_store64(p, timestamp);
	p[8] = 7;
	mprof_store64(p + 9, thread);
}

/* The archived events of a guest. */
struct life {
	struct fixture f;
	uint64_t sequence;
	uint32_t end;
};

static bool life_init(struct life *l)
{
	*l = (struct life){.end = 30};
	return fixture_init(&l->f) && CHECK_EQ_INT(fixture_put(&l->f, 1, "web", "running", STREAM), 0);
}

/*
 * Archive one event. It was written at dom0's second WRITTEN, and copied at second MONO of the
 * monotonic clock and second 1000 + REAL of the wall clock.
 */
static void life_copied(struct life *l, double written, double mono, double real, uint32_t flags)
{
	uint64_t timestamp = GUEST_NS + (uint64_t)(written * NS_PER_S);
	struct archive_end end = {.offset = l->end + EVENT,
				  .mono = (uint64_t)(mono * NS_PER_S),
				  .real = (uint64_t)(real * NS_PER_S) + 1000 * NS_PER_S};
	uint8_t data[EVENT];
	struct archive_piece piece = {.stream = STREAM,
				      .sequence = l->sequence,
				      .offset = l->end,
				      .length = EVENT,
				      .flags = flags,
				      .packet_bytes = 4096,
				      .first_timestamp = timestamp,
				      .ends = &end,
				      .n_ends = 1,
				      .data = data};

	put_event(data, timestamp, l->end);
	archive_writer_begin(l->f.w);
	CHECK_EQ_INT(archive_writer_append(l->f.w, &piece), 0);
	CHECK_EQ_INT(archive_writer_commit(l->f.w), 0);
	l->end += EVENT;
	if (flags & ARCHIVE_CHUNK_LAST) {
		l->sequence++;
		l->end = 30;
	}
}

/* Archive one event that was written at dom0's second WRITTEN and copied at second COPIED. */
static void life_event(struct life *l, double written, double copied, uint32_t flags)
{
	life_copied(l, written, copied, copied, flags);
}

/*
 * Capture at second TAKEN. The tail has an event that was written at second WRITTEN, and an event
 * whose timestamp is LATE ns later.
 */
static void life_capture(struct life *l, double taken, double written, uint64_t late)
{
	struct archive_capture c = {.id = 1,
				    .run = 1,
				    .kind = "ended",
				    .mono = (uint64_t)(taken * NS_PER_S),
				    .real = (uint64_t)(taken * NS_PER_S) + 1000 * NS_PER_S};
	struct archive_capture_stream range = {1, STREAM, 0, l->sequence, l->end, 0};
	uint64_t timestamp = GUEST_NS + (uint64_t)(written * NS_PER_S);
	uint8_t data[2 * EVENT];
	struct archive_piece piece = {.stream = STREAM,
				      .sequence = l->sequence,
				      .offset = l->end,
				      .length = sizeof(data),
				      .packet_bytes = 4096,
				      .first_timestamp = timestamp,
				      .data = data};

	put_event(data, timestamp, 1);
	put_event(data + EVENT, timestamp + late, 2);
	archive_writer_begin(l->f.w);
	CHECK_EQ_INT(archive_writer_put_capture(l->f.w, &c), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(l->f.w, &range), 0);
	CHECK_EQ_INT(archive_writer_tail(l->f.w, 1, &piece), 0);
	CHECK_EQ_INT(archive_writer_commit(l->f.w), 0);
}

/* Return how many of the tail's two events are served. Free L. */
static unsigned life_held(struct life *l)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	CLEANUP(scratch_deinit) struct scratch scratch = {0};
	struct selection s = {.run = 1, .stream = STREAM, .ring_packets = 4, .capture = 1};
	struct packet_walk w;
	struct packet_view v = {0};
	uint32_t end = 0;
	bool have;

	CHECK_EQ_INT(reader_new(&r, l->f.state), 0);
	CHECK_EQ_INT(scratch_init(&scratch), 0);
	CHECK_EQ_INT(selection_all(&s, r), 0);
	packet_walk_init(&w, r, &scratch, &s);
	while (CHECK_EQ_INT(packet_walk_next(&w, &v, &have), 0) && have)
		end = v.end;
	CHECK_EQ_UINT(v.sequence, l->sequence);
	fixture_deinit(&l->f);
	return (end - l->end) / EVENT;
}

/*
 * Archive an event each second. The guest dies at second 30, with a second event in its tail that
 * is LATE ns after the first. Return how many of the tail's two events are served.
 */
static unsigned held(uint32_t events_per_packet, uint32_t flags, uint64_t late)
{
	struct life l;

	if (!life_init(&l))
		return 0;
	for (uint32_t i = 1; i < 30; i++)
		life_event(&l, i, i + 0.2, (i % events_per_packet == 0 ? ARCHIVE_CHUNK_LAST : 0) | flags);
	life_capture(&l, 30, 29.9, late);
	return life_held(&l);
}

static void test_future(void)
{
	/* All events are in one packet, or in several. */
	static const uint32_t packets[] = {1000, 4, 5};

	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		CHECK_EQ_UINT(held(packets[i], 0, 1000), 2);
		CHECK_EQ_UINT(held(packets[i], 0, 9 * NS_PER_S), 2);
		CHECK_EQ_UINT(held(packets[i], 0, 60 * NS_PER_S), 1);
		CHECK_EQ_UINT(held(packets[i], 0, 1ull << 56), 1);
		CHECK_EQ_UINT(held(packets[i], 0, UINT64_MAX - GUEST_NS - 40 * NS_PER_S), 1);
	}
}

/* The guest's clock has stepped and may have stepped again, so no event is cut off. */
static void test_clock_stepped(void)
{
	CHECK_EQ_UINT(held(1000, ARCHIVE_CHUNK_CLOCK, 3600 * NS_PER_S), 2);
}

/*
 * One poll copied a ring full of old events. Their stamps do not give the clock's offset, so no
 * valid event may be cut off.
 */
static void test_found_late(void)
{
	struct life l;

	if (!life_init(&l))
		return;
	for (uint32_t i = 1; i < 30; i++)
		life_event(&l, i, 3600 + 0.001 * i, 0);
	life_capture(&l, 3605, 3604, NS_PER_S);
	CHECK_EQ_UINT(life_held(&l), 2);
}

/*
 * One poll copied a ring full of old events, and later polls copied new events. The stamps of the
 * new events give the offset.
 */
static void test_found_late_then_followed(void)
{
	for (unsigned torn = 0; torn < 2; torn++) {
		struct life l;

		if (!life_init(&l))
			return;
		for (uint32_t i = 1; i < 10; i++)
			life_event(&l, i, 3600 + 0.001 * i, 0);
		for (uint32_t i = 0; i < 30; i++)
			life_event(&l, 3601 + i, 3602 + i, 0);
		life_capture(&l, 3640, 3639, (torn ? 100 : 1) * NS_PER_S);
		CHECK_EQ_UINT(life_held(&l), 2 - torn);
	}
}

/* The guest did nothing for an hour and then died. Its last event is valid. */
static void test_idle(void)
{
	struct life l;

	if (!life_init(&l))
		return;
	for (uint32_t i = 1; i < 30; i++)
		life_event(&l, i, i + 0.2, 0);
	life_capture(&l, 3600, 3599, NS_PER_S / 2);
	CHECK_EQ_UINT(life_held(&l), 2);
}

/* Dom0 rebooted before the capture, so its monotonic clock shows less than before. */
static void test_booted_again(void)
{
	struct life l;

	if (!life_init(&l))
		return;
	for (uint32_t i = 1; i < 30; i++)
		life_event(&l, i, 5000 + i, 0);
	life_capture(&l, 100, 7200, NS_PER_S);
	fixture_number(&l.f, "UPDATE captures SET real = %llu, checksum = NULL",
		       (8200 + 5000) * (unsigned long long)NS_PER_S);
	fixture_number(&l.f, "UPDATE row_sums SET unchecked = 1000");
	CHECK_EQ_UINT(life_held(&l), 2);
}

/*
 * One of dom0's clocks shows too little time at the capture: dom0 slept (the monotonic clock), or
 * its wall clock was set back. The last event is valid.
 */
static void test_slept(void)
{
	for (unsigned wall = 0; wall < 2; wall++) {
		struct life l;

		if (!life_init(&l))
			return;
		for (uint32_t i = 1; i < 30; i++)
			life_event(&l, i, i + 0.2, 0);
		life_capture(&l, 3600, 3599, NS_PER_S / 2);
		fixture_number(&l.f, "UPDATE captures SET %s = %llu, checksum = NULL", wall ? "real" : "mono",
			       (wall ? 1035 : 35) * (unsigned long long)NS_PER_S);
		fixture_number(&l.f, "UPDATE row_sums SET unchecked = 1000");
		CHECK_EQ_UINT(life_held(&l), 2);
	}
}

/*
 * The ring was full of old events when it was found. One of dom0's clocks says that the copies come
 * from one poll, the other says that seconds are between them, because dom0 rebooted or its wall
 * clock was set. No valid event may be cut off.
 */
static void test_clocks_disagree(void)
{
	for (unsigned wall = 0; wall < 2; wall++) {
		struct life l;

		if (!life_init(&l))
			return;
		for (uint32_t i = 1; i < 10; i++)
			life_copied(&l, i, 3600 + (wall ? 0.001 : 3) * i, 3600 + (wall ? 3 : 0.001) * i, 0);
		life_capture(&l, 3630, 3629, NS_PER_S);
		CHECK_EQ_UINT(life_held(&l), 2);
	}
}

int main(void)
{
	CHECK_RUN(test_future);
	CHECK_RUN(test_clock_stepped);
	CHECK_RUN(test_found_late);
	CHECK_RUN(test_found_late_then_followed);
	CHECK_RUN(test_idle);
	CHECK_RUN(test_booted_again);
	CHECK_RUN(test_slept);
	CHECK_RUN(test_clocks_disagree);
	return check_done();
}
