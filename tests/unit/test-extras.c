/*
 * Events `extra`: the decoder gives out what the recorder was told, whether a text is interned or not, and
 * however the bytes are cut. A text that a packet does not have is shown as a number and counted, and a
 * kind that nobody knows is skipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/extra.h>
#include <mprof/recorder.h>
#include <mprof/trace.h>

#include "check.h"

#define RING_BYTES (1u << 20)
#define WORDS	   60u
#define EVENTS	   4000u

static _Alignas(8) uint8_t interned[RING_BYTES], plain[RING_BYTES];
static char texts[WORDS][40];
static struct mprof_text words[WORDS];

static uint64_t tick(void *context)
{
	return ++*(uint64_t *)context;
}

static uint32_t any(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

/* Record N random events. DURATIONS: record durations, too. */
static void program(struct mprof_recorder *r, unsigned n, uint64_t seed, bool durations)
{
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = (struct mprof_text){texts[i],
					       (size_t)snprintf(texts[i], sizeof(texts[i]), "word-%u-%.*s", i,
								(int)(i % 20), "01234567890123456789"),
					       0};
	while (n--) {
		const struct mprof_text *word = &words[any(&seed) % WORDS];
		int64_t thread = any(&seed) % 9, number = (int64_t)any(&seed) - 5000;

		switch (any(&seed) % 6) {
		case 0:
			mprof_recorder_label_text(r, thread, word);
			break;
		case 1:
			mprof_recorder_counter_text(r, number, word);
			break;
		case 2:
			mprof_recorder_increase_text(r, number, word);
			break;
		case 3:
			mprof_recorder_switch(r, thread);
			break;
		case 4:
			if (durations)
				mprof_recorder_duration_text(r, thread, (uint64_t)number, word);
			break;
		default:
			if (durations)
				mprof_recorder_duration(r, thread, (uint64_t)number, word->text, word->bytes);
			mprof_recorder_label(r, thread, word->text, word->bytes);
		}
	}
}

/* Begin a ring of SIZE bytes and PACKETS packets, record the program into it, and stop. */
static void record(struct mprof_recorder *r, uint8_t *memory, size_t size, unsigned packets, bool compatible,
		   unsigned n, uint64_t seed, bool durations)
{
	uint64_t ticks = 1000;

	CHECK_EQ_INT(mprof_recorder_init(r, memory, size, packets, tick, &ticks), MPROF_RECORDER_OK);
	mprof_recorder_compatible(r, compatible);
	program(r, n, seed, durations);
	CHECK_EQ_UINT(mprof_recorder_dropped(r), 0);
	mprof_recorder_stop(r);
}

/* An event as text, for comparison. */
static size_t line_of(const struct mprof_raw_event *e, char *line)
{
	size_t n = mprof_event_text(e, line);

	if (e->text) {
		memcpy(line + n, e->text, e->text_bytes);
		n += e->text_bytes;
	}
	line[n] = 0;
	return n;
}

struct log {
	char *lines;
	size_t bytes;
	unsigned events;
	struct mprof_totals totals;
};

static void take(struct log *log, const struct mprof_event *events, size_t n)
{
	for (size_t i = 0; i < n; i++, log->events++)
		log->bytes += line_of(&events[i].raw, log->lines + log->bytes) + 1;
}

/* Decode LEN bytes at BYTES, in pieces of at most PIECE bytes, and in batches of BATCH events. */
static struct log decode(const uint8_t *bytes, size_t len, size_t piece, size_t batch)
{
	struct log log = {.lines = malloc(4 << 20)};
	struct mprof_decoder *d = mprof_decoder_new();
	struct mprof_order *order = mprof_order_new();
	struct mprof_event events[64];
	enum mprof_status status;

	if (!log.lines || !d || !order)
		abort();
	mprof_order_scan(order, bytes, len);
	for (size_t i = 0; i < mprof_order_spans(order); i++) {
		const struct mprof_span *span = mprof_order_span(order, i);
		size_t at = span->offset, end = span->offset + span->bytes, n;

		mprof_decoder_begin(d, span->offset, span->packet);
		while ((n = mprof_decoder_batch(d, events, batch, &status)), n || status != MPROF_END) {
			take(&log, events, n);
			CHECK(n || status == MPROF_MORE);
			if (n || status != MPROF_MORE)
				continue;
			n = end - at < piece ? end - at : piece;
			mprof_decoder_feed(d, bytes + at, n);
			at += n;
			if (at == end)
				mprof_decoder_finish(d);
		}
	}
	log.totals = *mprof_decoder_totals(d);
	mprof_order_free(order);
	mprof_decoder_free(d);
	return log;
}

static bool same(const struct log *a, const struct log *b)
{
	return CHECK_EQ_UINT(a->events, b->events) && CHECK_EQ_UINT(a->bytes, b->bytes) &&
	       CHECK(memcmp(a->lines, b->lines, a->bytes) == 0);
}

/* The events are those of a recorder that copies each text. */
static void test_same_as_copies(void)
{
	static struct mprof_recorder r;
	struct log a, b;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		record(&r, interned, RING_BYTES, (unsigned)(2 + seed * 7), false, EVENTS, seed, false);
		CHECK(r.sequence < r.packets);
		record(&r, plain, RING_BYTES, 4, true, EVENTS, seed, false);
		CHECK(r.sequence < r.packets);
		a = decode(interned, RING_BYTES, RING_BYTES, 64);
		b = decode(plain, RING_BYTES, RING_BYTES, 64);
		same(&a, &b);
		CHECK(a.events > EVENTS / 2);
		CHECK_EQ_UINT(a.totals.unknown_texts + a.totals.skipped_extras + a.totals.damages, 0);
		free(a.lines);
		free(b.lines);
	}
}

/* All cuts of the input, and all sizes of batches, give the same events. */
static void test_cuts(void)
{
	static struct mprof_recorder r;
	struct log whole, cut;

	record(&r, interned, 1 << 16, 8, false, 1500, 7, true);
	whole = decode(interned, 1 << 16, 1 << 16, 1);
	for (size_t piece = 1; piece < 200; piece += 1 + piece / 20) {
		cut = decode(interned, 1 << 16, piece, 1 + piece % 64);
		same(&whole, &cut);
		free(cut.lines);
	}
	free(whole.lines);
}

/* In the image of a ring that was lapped many times, each packet has its texts. */
static void test_wrapped(void)
{
	static struct mprof_recorder r;
	struct log log;

	for (unsigned packets = 2; packets <= 16; packets += 7) {
		record(&r, interned, 1 << 14, packets, false, EVENTS, packets, true);
		CHECK(r.sequence > r.packets * 3);
		log = decode(interned, 1 << 14, 1 << 14, 64);
		CHECK(log.events > 50);
		CHECK_EQ_UINT(log.totals.unknown_texts + log.totals.skipped_extras + log.totals.damages, 0);
		free(log.lines);
	}
}

/*
 * A reader that joins a packet in the middle, as a live reader does, sees the events from there on. Only
 * texts from before are numbers.
 */
static void test_middle(void)
{
	static struct mprof_recorder r;
	static uint8_t part[RING_BYTES];
	struct mprof_packet_header h;
	struct mprof_raw_event e;
	struct log whole, log;
	uint64_t unknown = 0;
	const char *from;

	record(&r, interned, 1 << 15, 2, false, 300, 3, true);
	whole = decode(interned, 1 << 15, 1 << 15, 64);
	CHECK_EQ_INT(mprof_packet_load(&h, interned, MPROF_PACKET_HEADER_BYTES), MPROF_PACKET_OK);
	for (size_t at = MPROF_PACKET_HEADER_BYTES; at < h.content_bytes; at += e.bytes) {
		struct mprof_packet_header cut = {.count = h.count};

		cut.content_bytes = cut.packet_bytes = MPROF_PACKET_HEADER_BYTES + (uint32_t)(h.content_bytes - at);
		mprof_packet_store(&cut, part);
		memcpy(part + MPROF_PACKET_HEADER_BYTES, interned + at, h.content_bytes - at);
		log = decode(part, cut.packet_bytes, 1 << 15, 64);
		unknown += log.totals.unknown_texts;
		CHECK_EQ_UINT(log.totals.skipped_extras + log.totals.damages, 0);
		/* Without an unknown text, the events are the last ones of the whole. */
		from = whole.lines + whole.bytes - log.bytes;
		if (!log.totals.unknown_texts)
			CHECK(log.bytes <= whole.bytes && memcmp(from, log.lines, log.bytes) == 0);
		else
			CHECK(memmem(log.lines, log.bytes, "\"#", 2) != NULL);
		free(log.lines);
		CHECK_EQ_INT(mprof_event_load(&e, interned + at, h.content_bytes - at), MPROF_EVENT_OK);
	}
	CHECK(unknown > 100);
	free(whole.lines);
}

/* The pieces in which a packet is served have its header each: the texts hold from one to the next. */
static void test_continued(void)
{
	static struct mprof_recorder r;
	static uint8_t part[1 << 16];
	struct mprof_packet_header h, cut;
	struct mprof_raw_event e;
	struct log whole, log;
	size_t used = 0;

	record(&r, interned, 1 << 15, 2, false, 300, 3, true);
	whole = decode(interned, 1 << 15, 1 << 15, 64);
	CHECK_EQ_INT(mprof_packet_load(&h, interned, MPROF_PACKET_HEADER_BYTES), MPROF_PACKET_OK);
	CHECK_EQ_UINT(r.sequence, 0);
	for (size_t at = MPROF_PACKET_HEADER_BYTES; at < h.content_bytes; at += e.bytes) {
		CHECK_EQ_INT(mprof_event_load(&e, interned + at, h.content_bytes - at), MPROF_EVENT_OK);
		cut = (struct mprof_packet_header){.count = h.count,
						   .content_bytes = MPROF_PACKET_HEADER_BYTES + (uint32_t)e.bytes,
						   .packet_bytes = MPROF_PACKET_HEADER_BYTES + (uint32_t)e.bytes};
		mprof_packet_store(&cut, part + used);
		memcpy(part + used + MPROF_PACKET_HEADER_BYTES, interned + at, e.bytes);
		used += cut.packet_bytes;
		CHECK(used < sizeof(part) - 1000);
	}
	log = decode(part, used, 1 << 15, 64);
	same(&whole, &log);
	CHECK_EQ_UINT(log.totals.unknown_texts, 0);
	free(log.lines);
	free(whole.lines);
}

/* The TEXT of a counter's name declares its kind, in each packet that uses the text. */
static void test_kinds(void)
{
	static const struct mprof_text names[] = {
		MPROF_COUNTER_TEXT("amount", MPROF_COUNTER_AMOUNT), MPROF_COUNTER_TEXT("gauge", MPROF_COUNTER_GAUGE),
		MPROF_TEXT("none"), MPROF_COUNTER_TEXT("later", MPROF_COUNTER_KINDS), /* a kind of a later version */
	};
	static const uint8_t want[] = {MPROF_COUNTER_AMOUNT, MPROF_COUNTER_GAUGE, 0, 0};
	static _Alignas(8) uint8_t ring[4096];
	struct mprof_decoder *d = mprof_decoder_new();
	struct mprof_recorder r;
	struct mprof_event e;
	unsigned n = 0;

	CHECK_EQ_INT(mprof_recorder_init(&r, ring, sizeof(ring), 2, NULL, NULL), MPROF_RECORDER_OK);
	for (unsigned i = 0; i < 64; i++) {
		mprof_recorder_at(&r, 100 + i);
		if (i % 8 < 4)
			mprof_recorder_counter_text(&r, i, &names[i % 4]);
		else
			mprof_recorder_increase_text(&r, i, &names[i % 4]);
		mprof_recorder_label_text(&r, 1, &names[0]);
	}
	CHECK_EQ_UINT(r.sequence, 1);
	mprof_decoder_feed(d, ring, sizeof(ring));
	mprof_decoder_finish(d);
	while (mprof_decoder_next(d, &e) == MPROF_OK) {
		if (e.raw.id == MPROF_EVENT_label) {
			CHECK_EQ_INT(e.raw.type, 0);
			continue;
		}
		CHECK_EQ_INT(e.raw.number, n);
		CHECK_EQ_INT(e.raw.type, want[n % 4]);
		n++;
	}
	CHECK_EQ_UINT(n, 64);
	mprof_decoder_free(d);
}

/* An unknown kind, and bytes that do not fit their kind, are skipped and counted. */
static void test_skipped(void)
{
	static const struct {
		uint8_t kind, bytes[24];
		uint16_t length;
	} bad[] = {
		{MPROF_EXTRA_KINDS, {0}, 24},
		{255, {0}, 0},
		{MPROF_EXTRA_TEXT, {1, 0, 0, 0, 'x', 'y'}, 6}, /* no NUL */
		{MPROF_EXTRA_TEXT, {0, 0, 0, 0, 'x', 0}, 6},   /* the id 0 */
		{MPROF_EXTRA_TEXT, {1, 0, 0}, 3},
		{MPROF_EXTRA_LABEL, {0}, 12}, /* no text */
		{MPROF_EXTRA_LABEL, {1}, 11},
		{MPROF_EXTRA_COUNTER, {1}, 19},
		{MPROF_EXTRA_DURATION, {0}, 20}, /* the name is absent */
	};
	static uint8_t bytes[1024];
	struct mprof_packet_header h = {0};
	size_t at = MPROF_PACKET_HEADER_BYTES;
	struct log log;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		mprof_store64(bytes + at, 100 + i);
		bytes[at + 8] = MPROF_EVENT_extra;
		mprof_store16(bytes + at + 9, bad[i].length);
		bytes[at + 11] = bad[i].kind;
		memcpy(bytes + at + 12, bad[i].bytes, bad[i].length);
		at += 12u + bad[i].length;
	}
	mprof_store64(bytes + at, 200);
	bytes[at + 8] = MPROF_EVENT_switch;
	mprof_store64(bytes + at + 9, 5);
	h.content_bytes = (uint32_t)at + 17;
	h.packet_bytes = sizeof(bytes);
	mprof_packet_store(&h, bytes);
	for (size_t piece = 1; piece < 100; piece += 9) {
		log = decode(bytes, sizeof(bytes), piece, 8);
		CHECK_EQ_UINT(log.events, 1);
		CHECK_EQ_UINT(log.totals.skipped_extras, sizeof(bad) / sizeof(bad[0]));
		CHECK_EQ_UINT(log.totals.damages, 0);
		CHECK_EQ_STR(log.lines, "0.000000200 switch thread=5");
		free(log.lines);
	}
	/* An event that does not end in its packet is damage, as any other. */
	mprof_store16(bytes + MPROF_PACKET_HEADER_BYTES + 9, 1000);
	{
		struct mprof_decoder *d = mprof_decoder_new();
		struct mprof_event event;

		mprof_decoder_feed(d, bytes, sizeof(bytes));
		mprof_decoder_finish(d);
		CHECK_EQ_INT(mprof_decoder_next(d, &event), MPROF_CORRUPT);
		CHECK_EQ_INT(mprof_decoder_damage(d)->reason, MPROF_DAMAGE_CUT_EVENT);
		mprof_decoder_free(d);
	}
}

/* An unproven tail is walked as far as its events are valid. */
static void test_tail(void)
{
	static struct mprof_recorder r;
	const struct mprof_tail tail = {.not_after = UINT64_MAX};
	struct mprof_packet_header h;
	struct mprof_raw_event e;
	size_t last = 0;

	record(&r, interned, 1 << 15, 2, false, 100, 5, true);
	CHECK_EQ_INT(mprof_packet_load(&h, interned, MPROF_PACKET_HEADER_BYTES), MPROF_PACKET_OK);
	for (size_t at = MPROF_PACKET_HEADER_BYTES; at < h.content_bytes; at += e.bytes) {
		CHECK_EQ_INT(mprof_event_load(&e, interned + at, h.content_bytes - at), MPROF_EVENT_OK);
		for (size_t n = 0; n < e.bytes; n++)
			CHECK_EQ_UINT(mprof_tail_walk(&tail, interned + MPROF_PACKET_HEADER_BYTES, last + n), last);
		last += e.bytes;
	}
	CHECK_EQ_UINT(mprof_tail_walk(&tail, interned + MPROF_PACKET_HEADER_BYTES, last), last);
}

/* Make N events `switch` at P with the times of TIMES. */
static void switches(uint8_t *p, const uint64_t *times, size_t n)
{
	for (size_t i = 0; i < n; i++, p += 17) {
		mprof_store64(p, times[i]);
		p[8] = MPROF_EVENT_switch;
		mprof_store64(p + 9, i);
	}
}

/*
 * An event is stale if its time is before its packet's first or after the copy, or if its bytes are those of the lap
 * before. Times that go back within these limits are in order.
 */
static void test_stale(void)
{
	static const struct {
		struct mprof_tail tail;
		uint64_t times[4];
		size_t valid;
	} cases[] = {
		{{.not_before = 100, .not_after = UINT64_MAX}, {110, 107, 111, 112}, 4},
		{{.not_before = 100, .not_after = UINT64_MAX}, {110, 99, 111, 112}, 1},
		{{.not_before = 100, .not_after = 111}, {110, 107, 111, 112}, 3},
		{{.not_before = 90, .not_after = 200, .begins = true}, {110, 107, 111, 112}, 1},
		{{.not_before = 0, .not_after = 200, .begins = true}, {110, 110, 111, 112}, 4},
		{{.not_before = 111, .not_after = 200, .begins = true}, {110, 110, 111, 112}, 0},
		{{.not_before = 0, .not_after = UINT64_MAX}, {110, 0, 111, 112}, 1},
	};
	uint8_t bytes[4 * 17], before[4 * 17];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		switches(bytes, cases[i].times, 4);
		CHECK_EQ_UINT(mprof_tail_walk(&cases[i].tail, bytes, sizeof(bytes)), cases[i].valid * 17);
	}
	/* The lap before ended inside the third event: its bytes are compared as far as it had any. */
	switches(bytes, (const uint64_t[]){110, 111, 112, 113}, 4);
	memset(before, 0xff, sizeof(before));
	memcpy(before + 34, bytes + 34, 17);
	for (size_t n = 34; n <= sizeof(before); n++) {
		const struct mprof_tail tail = {.not_after = UINT64_MAX, .before = before, .before_bytes = n};

		CHECK_EQ_UINT(mprof_tail_walk(&tail, bytes, sizeof(bytes)), n - 34 > 8 ? 34 : 68);
	}
}

/*
 * Behind an invalid event, events go on where their sizes lead to the end. There are two at least, in order
 * within a second, and other chains meet them.
 */
static void test_resume(void)
{
	const uint64_t second = 1000000000, t = 5000 * second;
	const struct {
		uint64_t times[6];
		size_t valid, resume;
	} cases[] = {
		{{t, t + 1, t + 2, t + 3, t + 4, t + 5}, 6, 6},
		{{t, t + 1, 1, t + 3, t + 4, t + 5}, 2, 3},
		{{t, t + 1, 1, 1, t + 4, t + 5}, 2, 4},
		{{t, t + 1, 1, t + 3, 1, t + 5}, 2, 6}, /* one event is too few */
		{{t + 9, 1, t + 9, t + 10, t + 9, t + 11}, 1, 2},
		{{t + 2 * second, 1, t, t, t, t}, 1, 6}, /* the clock was set back, or they are not of this lap */
		{{t, 1, t + 4000 * second, t + 4000 * second, t + 4000 * second, t + 4000 * second}, 1, 6},
		{{1, t + 1, t + 2, t + 3, t + 4, t + 5}, 0, 1},
	};
	struct mprof_tail tail = {.not_before = t, .not_after = UINT64_MAX / 2, .settled = true, .earlier = t - 1};
	uint8_t bytes[6 * 17], before[6 * 17] = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t newest = 0;
		size_t valid;

		switches(bytes, cases[i].times, 6);
		valid = mprof_tail_walk_times(&tail, bytes, sizeof(bytes), &newest);
		CHECK_EQ_UINT(valid, cases[i].valid * 17);
		CHECK_EQ_UINT(mprof_tail_resume(&tail, bytes, sizeof(bytes), valid, newest), cases[i].resume * 17);
	}
	/* The bytes of the lap before may be there: they must be known, and other ones. */
	switches(bytes, cases[1].times, 6);
	tail.settled = false;
	CHECK_EQ_UINT(mprof_tail_resume(&tail, bytes, sizeof(bytes), 34, t + 1), sizeof(bytes));
	tail.before = before;
	tail.before_bytes = sizeof(before) - 1;
	CHECK_EQ_UINT(mprof_tail_resume(&tail, bytes, sizeof(bytes), 34, t + 1), sizeof(bytes));
	tail.before_bytes = sizeof(before);
	CHECK_EQ_UINT(mprof_tail_resume(&tail, bytes, sizeof(bytes), 34, t + 1), 51);
	memcpy(before + 68, bytes + 68, 34);
	CHECK_EQ_UINT(mprof_tail_resume(&tail, bytes, sizeof(bytes), 34, t + 1), sizeof(bytes));
}

/* Whatever the bytes are, a search reads a multiple of them at most. */
static void test_resume_is_bounded(void)
{
	enum { BYTES = 1 << 20 };
	const struct mprof_tail tail = {.not_before = 1, .not_after = UINT64_MAX, .settled = true};
	uint8_t *p = malloc(BYTES);

	for (unsigned way = 0; p && way < 4; way++) {
		struct mprof_tail_search s = {.tail = &tail, .p = p, .len = BYTES, .first = 1};
		const size_t most = s.work = 16 * (size_t)BYTES;

		/* Each offset begins an event: a text without an end, one with an end, and an event of fixed size. */
		memset(p, way == 3 ? 0 : 5, BYTES);
		for (size_t i = 0; way && i < BYTES; i += way == 1 ? 4000 : 18)
			p[i] = way == 3 ? 1 : 0;
		p[BYTES - 1] = 0xff;
		CHECK(mprof_tail_chain(&s, 0, mprof_load64(p + 1)) <= BYTES);
		CHECK(s.work <= most);
		CHECK(mprof_tail_resume(&tail, p, BYTES, 0, mprof_load64(p + 1)) <= BYTES);
	}
	free(p);
}

/* A guest's clock goes no longer than the host's clocks, and begins at most a century ahead of them. */
static void test_latest(void)
{
	const uint64_t year = 31557600u * 1000000000ull, uptime = 5000 * 1000000000ull, now = 56 * year;

	CHECK_EQ_UINT(mprof_tail_latest(0, 0, 0), UINT64_MAX);
	CHECK_EQ_UINT(mprof_tail_latest(0, uptime, now), now + 100 * year);
	CHECK_EQ_UINT(mprof_tail_latest(uptime, uptime, now), uptime + now + year);
	CHECK_EQ_UINT(mprof_tail_latest(UINT64_MAX - 1, uptime, now), UINT64_MAX);
	/* Text that was taken for a time, as a test once saw it. */
	CHECK(mprof_tail_latest(uptime, uptime, now) < 8850000000000000000ull);
	CHECK(mprof_tail_latest(0, uptime, now) < 8850000000000000000ull);
}

int main(void)
{
	CHECK_RUN(test_same_as_copies);
	CHECK_RUN(test_cuts);
	CHECK_RUN(test_resume);
	CHECK_RUN(test_resume_is_bounded);
	CHECK_RUN(test_wrapped);
	CHECK_RUN(test_middle);
	CHECK_RUN(test_continued);
	CHECK_RUN(test_kinds);
	CHECK_RUN(test_skipped);
	CHECK_RUN(test_tail);
	CHECK_RUN(test_stale);
	CHECK_RUN(test_latest);
	return check_done();
}
