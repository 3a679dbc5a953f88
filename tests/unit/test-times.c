/*
 * Times out of order (schema/times.md): each bit of the times of events flipped, late events, several writers, a clock that
 * goes back, and bytes of the lap before.
 *
 * With names of files, each a trace, flip the bits of some of their events, and print what came of it.
 */
#include <stdio.h>
#include <stdlib.h>

#include <mprof/extra.h>
#include <mprof/times.h>
#include <mprof/trace.h>

#include "check.h"
#include "trace-make.h"

#define PACKETS 4u
#define EVENTS	40u /* of a packet */
#define ALL	(PACKETS * EVENTS)
#define BATCH	64u
#define SECOND	UINT64_C(1000000000)
#define DAY	(86400 * SECOND)

static struct make m;
static size_t at[ALL + 1]; /* offsets of the events */
static uint64_t times[ALL];

/* Sums over the events of a decoder. */
struct got {
	size_t events;
	uint64_t faults; /* damaged times */
	uint64_t others; /* other damage */
	uint64_t hash;	 /* of all that came, in its order */
	struct mprof_times_span span;
	struct mprof_totals totals;
};

static void add(struct got *g, uint64_t value)
{
	g->hash = (g->hash ^ value) * 0x100000001b3;
}

static void drain(struct mprof_decoder *d, struct got *g, enum mprof_status stop)
{
	struct mprof_event events[BATCH];
	enum mprof_status status = MPROF_OK;

	while (status != stop && status != MPROF_NOMEM) {
		size_t n = mprof_decoder_batch(d, events, BATCH, &status);

		for (size_t i = 0; i < n; i++) {
			mprof_times_span_add(&g->span, events[i].raw.timestamp);
			add(g, events[i].raw.timestamp);
			add(g, events[i].offset);
		}
		g->events += n;
		if (status != MPROF_CORRUPT)
			continue;
		g->faults += mprof_decoder_damage(d)->reason == MPROF_DAMAGE_TIME;
		g->others += mprof_decoder_damage(d)->reason != MPROF_DAMAGE_TIME;
		add(g, mprof_decoder_damage(d)->offset);
	}
}

/* Decode LEN bytes at P in pieces of STEP bytes, each in memory of its own. */
static struct got decode_by(const uint8_t *p, size_t len, size_t step)
{
	struct mprof_decoder *d = mprof_decoder_new();
	struct got g = {0};

	for (size_t from = 0; from < len; from += step) {
		size_t n = len - from < step ? len - from : step;
		uint8_t *piece = malloc(n);

		memcpy(piece, p + from, n);
		mprof_decoder_feed(d, piece, n);
		drain(d, &g, MPROF_MORE);
		free(piece);
	}
	mprof_decoder_finish(d);
	drain(d, &g, MPROF_END);
	g.totals = *mprof_decoder_totals(d);
	mprof_decoder_free(d);
	return g;
}

/* Decode what was made, also in pieces, which must give the same. */
static struct got decode(void)
{
	static const size_t steps[] = {1, 7, 1000};
	struct got whole = decode_by(m.bytes, m.used, m.used);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct got pieces = decode_by(m.bytes, m.used, steps[i]);

		CHECK_EQ_UINT(pieces.hash, whole.hash);
		CHECK_EQ_UINT(pieces.events, whole.events);
		CHECK_EQ_UINT(pieces.faults, whole.faults);
		CHECK_EQ_UINT(pieces.totals.steps, whole.totals.steps);
		CHECK_EQ_UINT(pieces.totals.step_ns, whole.totals.step_ns);
		CHECK_EQ_UINT(pieces.totals.step_at, whole.totals.step_at);
	}
	return whole;
}

/* Make packets with the counts from COUNT on, of events with TIMES. */
static void make(uint16_t count)
{
	m.used = 0;
	for (size_t i = 0; i < ALL; i++) {
		if (i % EVENTS == 0)
			make_packet(&m);
		at[i] = m.used;
		make_event(&m, times[i], i % 3 ? MPROF_EVENT_switch : MPROF_EVENT_label, (int64_t)i, 0, 0, "text");
		if (i % EVENTS == EVENTS - 1)
			make_close(&m, count++, 64);
	}
}

/* Let an event come each 20 µs, and after a hundred of them a pause of PAUSE ns. */
static void run_evenly(uint64_t start, uint64_t pause)
{
	for (size_t i = 0; i < ALL; i++)
		times[i] = start + i * 20000 + (i >= 100 ? pause : 0);
}

/* Flip bit BIT of the time of event I, and check what is said and where the trace ends. */
static void flip(size_t i, unsigned bit)
{
	const uint64_t time = times[i] ^ UINT64_C(1) << bit;
	const bool later = time > times[i], last = i == ALL - 1, few = i % EVENTS >= EVENTS - 4;
	uint64_t away = UINT64_C(1) << bit;
	struct got g;

	mprof_store64(m.bytes + at[i], time);
	g = decode();
	mprof_store64(m.bytes + at[i], times[i]);
	CHECK_EQ_UINT(g.others, 0);
	if (i == 0) {
		CHECK_EQ_UINT(g.faults, away > 101 * DAY);
		CHECK_EQ_UINT(g.events, away > 101 * DAY ? ALL - 1 : ALL);
		CHECK_EQ_UINT(g.totals.steps, later && away <= 101 * DAY);
		return;
	}
	CHECK_EQ_UINT(g.totals.steps, 0);
	if (last ? away > 101 * DAY : away > (!later || few ? 10 * SECOND : SECOND / 500)) {
		CHECK_EQ_UINT(g.faults, 1);
		CHECK(g.events >= ALL - 1);
	} else {
		CHECK_EQ_UINT(g.faults, 0);
		CHECK_EQ_UINT(g.events, ALL);
	}
	if (last && away <= 100 * DAY)
		return;
	CHECK(g.span.first >= times[0] || times[0] - g.span.first <= 10 * SECOND);
	CHECK(g.span.last <= times[ALL - 1] + (few ? 10 : 2) * SECOND);
}

/* One flipped bit is a fault, wherever it is, but for those that a late event explains; the trace has its ends. */
static void test_bits(void)
{
	static const uint64_t starts[] = {7 * SECOND, UINT64_C(1764400000) * SECOND};
	static const size_t events[] = {0, 1, 2, 38, 39, 40, 41, 59, 78, 79, 80, 99, 100, 119, ALL - 3, ALL - 1};

	for (size_t s = 0; s < 2; s++) {
		run_evenly(starts[s], 0);
		make(0);
		CHECK_EQ_UINT(decode().faults, 0);
		for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
			for (unsigned bit = 22; bit < 64; bit++)
				flip(events[i], bit);
	}
}

/* An event that was published late is in order, and so is a pause of any length. */
static void test_late(void)
{
	static const uint64_t lates[] = {3000, 5000000, 400 * (SECOND / 1000)};
	struct got g;

	for (size_t k = 0; k < 3; k++)
		for (size_t i = 10; i < ALL; i += 23) {
			run_evenly(5 * SECOND, k ? 7200 * SECOND : 0);
			times[i] -= lates[k];
			make(0);
			g = decode();
			CHECK_EQ_UINT(g.events, ALL);
			CHECK_EQ_UINT(g.faults, 0);
			CHECK_EQ_UINT(g.totals.steps, 0);
		}
}

/* Two writers whose clocks differ by 5 ms share a ring. */
static void test_writers(void)
{
	struct got g;

	run_evenly(5 * SECOND, 0);
	for (size_t i = 0; i < ALL; i++)
		times[i] -= i * i % 3 ? 5000000 : 0;
	make(0);
	g = decode();
	CHECK_EQ_UINT(g.events, ALL);
	CHECK_EQ_UINT(g.faults, 0);
	CHECK_EQ_UINT(g.totals.steps, 0);
}

/* Two writers that share a ring wait for their turn, at the end of a packet, while a third one is faster: nothing is damaged. */
static void test_late_writers(void)
{
	struct got g;

	run_evenly(5 * SECOND, 0);
	times[EVENTS - 3] += SECOND / 100;
	for (size_t i = EVENTS; i < ALL; i++)
		times[i] += SECOND / 100;
	make(0);
	g = decode();
	CHECK_EQ_UINT(g.events, ALL);
	CHECK_EQ_UINT(g.faults, 0);
	CHECK_EQ_UINT(g.totals.steps, 0);
}

/*
 * A signal handler that interrupts a writer between its clock and its event records for up to ten seconds, and so does one
 * that interrupts that: nothing is damaged, and no clock went back, wherever in a packet this is.
 */
static void test_interrupted(void)
{
	static const uint64_t lates[] = {SECOND / 2, 3 * SECOND / 2, 3 * SECOND, 9 * SECOND};
	struct got g;

	for (size_t k = 0; k < 4; k++)
		for (unsigned late = 1; late <= 3; late++)
			for (size_t i = 1; i < ALL - 5; i++) {
				run_evenly(50 * SECOND, 0);
				for (size_t j = i; j < ALL; j++)
					times[j] += lates[k];
				for (unsigned n = 1; n <= late; n++)
					times[i + n] -= lates[k];
				make(0);
				g = decode_by(m.bytes, m.used, m.used);
				CHECK_EQ_UINT(g.events, ALL);
				CHECK_EQ_UINT(g.faults, 0);
				CHECK_EQ_UINT(g.totals.steps, 0);
			}
}

/* A clock that goes back is counted, wherever it does, and no event is left out. */
static void test_back(void)
{
	static const uint64_t backs[] = {SECOND / 100, 3 * SECOND, 4000 * DAY};
	struct got g;
	bool fault;

	for (size_t k = 0; k < 3; k++)
		for (size_t from = 2; from < ALL - 5; from += from == 38 ? 1 : 3) {
			run_evenly(5000 * DAY, SECOND / 2);
			for (size_t i = from; i < ALL; i++)
				times[i] -= backs[k];
			make(0);
			g = decode();
			/* Behind the last event of a packet, 100 days are a fault; a single early event before a pause is late. */
			fault = k == 2 && from % EVENTS == EVENTS - 1;
			CHECK_EQ_UINT(g.events, fault ? ALL - 1 : ALL);
			CHECK_EQ_UINT(g.faults, fault);
			CHECK_EQ_UINT(g.totals.steps, from < 97 || k || from > 100);
			CHECK(!g.totals.steps ||
			      (g.totals.step_ns <= backs[k] && g.totals.step_ns >= backs[k] - 200000));
		}
}

/* If a clock goes back several times, the totals have the largest step and the time from which the clock made it. */
static void test_largest_step(void)
{
	static const uint64_t backs[][3] = {{1, 5, 2}, {5, 1, 2}, {1, 2, 5}};

	for (size_t k = 0; k < 3; k++) {
		struct got g;
		uint64_t back = 0, from = 0;

		for (size_t i = 0; i < ALL; i++) {
			if (i % EVENTS == EVENTS / 2 && i > EVENTS)
				back += backs[k][i / EVENTS - 1] * 20 * SECOND;
			if (i % EVENTS == EVENTS / 2 && i > EVENTS && backs[k][i / EVENTS - 1] == 5)
				from = times[i - 1];
			times[i] = 5000 * SECOND + i * 20000 - back;
		}
		make(0);
		g = decode();
		CHECK_EQ_UINT(g.faults, 0);
		CHECK_EQ_UINT(g.totals.steps, 3);
		CHECK_EQ_UINT(g.totals.step_ns, 100 * SECOND - 20000);
		CHECK_EQ_UINT(g.totals.step_at, from);
	}
}

/* Events at the time 0 are the first of a trace by the same rule, whether one event is decoded or many. */
static void test_zero(void)
{
	static const uint64_t starts[] = {1, 5 * SECOND, 5000 * DAY};
	struct got g;

	for (size_t zeros = 1; zeros <= 20; zeros++)
		for (size_t s = 0; s < 3; s++) {
			run_evenly(starts[s], 0);
			for (size_t i = 0; i < zeros; i++)
				times[i] = 0;
			make(0);
			g = decode();
			CHECK_EQ_UINT(g.faults, s == 2);
			CHECK_EQ_UINT(g.events, ALL - g.faults);
		}
	for (size_t at_zero = 2; at_zero < 4; at_zero++) {
		m.used = 0;
		make_packet(&m);
		for (size_t i = 0; i < EVENTS; i++)
			make_event(&m, i < at_zero ? 0 : 5000 * DAY + i,
				   i == 1 ? MPROF_EVENT_extra : MPROF_EVENT_switch, 1, 1, 0, "name");
		make_close(&m, 0, 0);
		g = decode();
		CHECK_EQ_UINT(g.faults, 1);
		CHECK_EQ_UINT(g.events, EVENTS - 1);
	}
}

/* The last packet of a ring that has wrapped may end with events of the lap before. */
static void test_lap(void)
{
	for (uint16_t count = 0; count < 2; count++) {
		struct got g;

		run_evenly(9000 * SECOND, 0);
		for (size_t i = ALL - 20; i < ALL; i++)
			times[i] -= 3600 * SECOND;
		make(count);
		g = decode();
		CHECK_EQ_UINT(g.events, ALL);
		CHECK_EQ_UINT(g.faults, 0);
		CHECK_EQ_UINT(g.totals.steps, count ? 0 : 1);
	}
}

/* A text is taken whatever its time is: that is a fault, but the text is known. */
static void test_text(void)
{
	static const char text[] = "name";
	struct got g;
	size_t from;

	m.used = 0;
	make_packet(&m);
	for (size_t i = 0; i < 20; i++) {
		make_event(&m, 9 * SECOND + i, MPROF_EVENT_switch, 1, 0, 0, NULL);
		if (i != 5)
			continue;
		from = m.used;
		make_event(&m, 9 * SECOND << 20, MPROF_EVENT_extra, 1, 1, 0, text);
		m.bytes[from + 11] = MPROF_EXTRA_TEXT;
	}
	make_close(&m, 0, 0);
	g = decode();
	CHECK_EQ_UINT(g.faults, 1);
	CHECK_EQ_UINT(g.events, 20);
	CHECK_EQ_UINT(g.totals.skipped_extras, 0);
	CHECK_EQ_UINT(g.span.last, 9 * SECOND + 19);
}

/*
 * 200 bytes of a trace of small and of texted events are replaced by random ones, anywhere. The decoder resumes behind them,
 * perhaps beside an event. All that is left is taken, the ends stay, and no clock went back.
 */
static void test_bytes(void)
{
	const uint64_t start = 1000 * SECOND;
	unsigned random = 1, back = 0, moved = 0, missing = 0;
	uint8_t saved[200];
	struct got g;

	m.used = 0;
	for (unsigned i = 0; i < 2000; i++) {
		if (i % 100 == 0)
			make_packet(&m);
		make_event(&m, start + i * 500000, i % 2 ? MPROF_EVENT_counter : MPROF_EVENT_switch, i % 7, i, 0,
			   "text");
		if (i % 100 == 99)
			make_close(&m, (uint16_t)(i / 100), 64);
	}
	for (unsigned round = 0; round < 3000; round++) {
		size_t offset = 2 * sizeof(saved) + (size_t)rand_r(&random) % (m.used - 4 * sizeof(saved));

		memcpy(saved, m.bytes + offset, sizeof(saved));
		for (size_t i = 0; i < sizeof(saved); i++)
			m.bytes[offset + i] = (uint8_t)(rand_r(&random) >> 8);
		g = decode_by(m.bytes, m.used, m.used);
		memcpy(m.bytes + offset, saved, sizeof(saved));
		back += g.totals.steps != 0;
		moved += g.span.first < start || g.span.last > start + 2000 * UINT64_C(500000);
		missing += g.events < 2000 - 210; /* its packet's, and some of the next one's */
	}
	CHECK(back <= 3); /* a few times that were made of bytes beside an event look like a pause */
	CHECK_EQ_UINT(moved, 0);
	CHECK(missing <= 1); /* random bytes may be a header of a long packet */
}

static struct make ring;

/* Copy what is in RING to M, in the order of its packets. */
static void put_in_order(void)
{
	struct mprof_order *order = mprof_order_new();

	m.used = 0;
	mprof_order_scan(order, ring.bytes, ring.used);
	for (size_t i = 0; i < mprof_order_spans(order); i++) {
		const struct mprof_span *span = mprof_order_span(order, i);

		make_bytes(&m, ring.bytes + span->offset, (size_t)span->bytes);
	}
	mprof_order_free(order);
}

/* Return the offset of the first event at or behind OFFSET of what was made, 0 = there is none. */
static size_t event_at(size_t offset)
{
	struct mprof_decoder *d = mprof_decoder_new();
	struct mprof_event event = {0};
	enum mprof_status status;

	mprof_decoder_feed(d, m.bytes, m.used);
	do
		status = mprof_decoder_next(d, &event);
	while (status == MPROF_CORRUPT || (status == MPROF_OK && event.offset < offset));
	mprof_decoder_free(d);
	return status == MPROF_OK ? (size_t)event.offset : 0;
}

/* Print what becomes of the trace NAME if a bit of one event's time is flipped. */
static int flip_file(const char *name)
{
	FILE *f = fopen(name, "rb");
	size_t tried = 0, faults = 0, steps = 0, moved = 0;
	struct got whole, g;

	if (!f)
		return 1;
	ring.used = fread(ring.bytes, 1, sizeof(ring.bytes), f);
	fclose(f);
	put_in_order();
	whole = decode_by(m.bytes, m.used, m.used);
	for (size_t p = MPROF_PACKET_HEADER_BYTES; p + 40 < m.used; p += 1 + m.used / 50) {
		const size_t offset = event_at(p);
		const uint64_t time = mprof_load64(m.bytes + offset);

		for (unsigned bit = 0; bit < 64 && offset; bit++) {
			mprof_store64(m.bytes + offset, time ^ UINT64_C(1) << bit);
			g = decode_by(m.bytes, m.used, m.used);
			tried++;
			faults += g.faults > whole.faults;
			steps += g.totals.steps > whole.totals.steps;
			moved += g.span.last > whole.span.last + SECOND || whole.span.first > g.span.first + SECOND;
		}
		mprof_store64(m.bytes + offset, time);
	}
	printf("%s: %zu events, %zu flipped bits, %zu faults, %zu steps, %zu moved an end by more than 1 s\n", name,
	       whole.events, tried, faults, steps, moved);
	return 0;
}

int main(int argc, char **argv)
{
	int r = 0;

	for (int i = 1; i < argc; i++)
		r |= flip_file(argv[i]);
	if (argc > 1)
		return r;
	CHECK_RUN(test_bits);
	CHECK_RUN(test_late);
	CHECK_RUN(test_writers);
	CHECK_RUN(test_late_writers);
	CHECK_RUN(test_interrupted);
	CHECK_RUN(test_back);
	CHECK_RUN(test_largest_step);
	CHECK_RUN(test_zero);
	CHECK_RUN(test_lap);
	CHECK_RUN(test_text);
	CHECK_RUN(test_bytes);
	return check_done();
}
