/* The offset of a guest's clock, computed from the stamps of its packets. */
#include <stdlib.h>

#include "check.h"
#include "stamp-clocks.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

static const uint64_t epoch = UINT64_C(1790000000) * S;

static json_t *stamp(unsigned int offset, uint64_t mono)
{
	char mono_text[24], real_text[48];
	time_t seconds = (time_t)((epoch + mono) / S);
	struct tm tm;

	snprintf(mono_text, sizeof(mono_text), "%" PRIu64, mono);
	gmtime_r(&seconds, &tm);
	strftime(real_text, sizeof(real_text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(real_text + strlen(real_text), 16, ".%09" PRIu64 "Z", (epoch + mono) % S);
	return json_pack("{s:i, s:s, s:s}", "offset", (int)offset, "mono", mono_text, "real", real_text);
}

/*
 * Add a packet of 2046 bytes that begins at the guest time GUEST (ns). All its bytes were copied at
 * LAST, and the first 500 of them at FIRST already, if FIRST differs.
 */
static void packet(struct mprof_clocks *c, uint64_t guest, uint64_t first, uint64_t last, bool stepped)
{
	char text[24];
	json_t *json;

	snprintf(text, sizeof(text), "%" PRIu64, guest);
	json = json_pack("{s:i, s:s, s:i, s:b, s:b, s:{s:o, s:o}}", "sequence", 1, "first_timestamp", text, "room",
			 2048, "unproven", 0, "clock_stepped", (int)stepped, "copied", "first",
			 stamp(first == last ? 2046 : 500, first), "last", stamp(2046, last));
	clocks_packet(c, json);
	json_decref(json);
}

/*
 * Add PACKETS packets of a guest whose clock is SHIFT ns ahead. Each packet begins at its time, is
 * copied a little later, and is complete 50 ms after that.
 */
static void run(struct mprof_clocks *c, int64_t shift, unsigned int packets)
{
	unsigned int i;

	for (i = 0; i < packets; i++) {
		uint64_t at = 100 * S + i * 100 * MS;

		packet(c, at + (uint64_t)shift, at + (3 + i % 4) * MS, at + 50 * MS, false);
	}
}

static void check_offset(const struct mprof_clocks *c, bool realtime, int64_t truth, uint64_t most)
{
	uint64_t uncertainty;
	int64_t offset;

	CHECK(mprof_clocks_offset(c, realtime, &offset, &uncertainty));
	CHECK(offset >= truth);
	CHECK(uncertainty <= most && offset - (int64_t)uncertainty <= truth);
}

/*
 * The earliest copy is an upper limit of the offset. An event that an earlier poll did not copy
 * gives a lower limit.
 */
static void test_bounds(void)
{
	struct mprof_clocks c = {0};
	uint64_t uncertainty;
	int64_t offset;

	run(&c, 5 * (int64_t)S, 12);
	CHECK(mprof_clocks_offset(&c, false, &offset, &uncertainty));
	CHECK_EQ_INT(offset, -5 * (int64_t)S + 3 * (int64_t)MS);
	check_offset(&c, false, -5 * (int64_t)S, 500 * MS);
	check_offset(&c, true, (int64_t)epoch - 5 * (int64_t)S, 500 * MS);
	CHECK_EQ_UINT(c.latest.mono, 100 * S + 1150 * MS);
	CHECK_EQ_UINT(c.latest.real - c.latest.mono, epoch);
	c = (struct mprof_clocks){0};
	run(&c, -3 * (int64_t)S, 12);
	check_offset(&c, false, 3 * (int64_t)S, 500 * MS);
}

/* Copies that may come from one poll give no lower limit. */
static void test_one_poll(void)
{
	struct mprof_clocks c = {0};
	uint64_t uncertainty;
	int64_t offset;
	unsigned int i;

	CHECK(!mprof_clocks_offset(&c, false, &offset, &uncertainty));
	CHECK_EQ_INT(offset, 0);
	CHECK_EQ_UINT(uncertainty, UINT64_MAX);
	for (i = 0; i < 50; i++) /* a full ring that is found late and copied in one poll */
		packet(&c, 10 * S + i * MS, 500 * S + i, 500 * S + i, false);
	CHECK(mprof_clocks_offset(&c, false, &offset, &uncertainty));
	CHECK_EQ_UINT(uncertainty, UINT64_MAX);
	CHECK_EQ_INT(offset, 500 * (int64_t)S + 49 - 10 * (int64_t)S - 49 * (int64_t)MS);
	/* Copies that are seconds apart come from different polls. */
	c = (struct mprof_clocks){0};
	for (i = 0; i < 8; i++)
		packet(&c, 10 * S + i * 3 * S, 500 * S + i * 3 * S, 500 * S + i * 3 * S, false);
	check_offset(&c, false, 490 * (int64_t)S, 13 * S);
}

/* The latest stamp is the newest stamp of all streams, in whatever order the streams come. */
static void test_latest(void)
{
	struct mprof_clocks c = {0};

	packet(&c, 10 * S, 500 * S, 600 * S, false);
	mprof_clocks_stream(&c);
	packet(&c, 10 * S, 400 * S, 450 * S, false);
	CHECK_EQ_UINT(c.latest.mono, 600 * S);
	CHECK_EQ_UINT(c.latest.real, epoch + 600 * S);
}

/*
 * If a packet has two stamps, it was copied in two polls. Two packets may have been copied in one. Among
 * stamps with the same monotonic time the last counts.
 */
static void test_borders(void)
{
	struct mprof_copied_packet packet = {.first = {.mono = 5 * S, .real = 9 * S, .offset = 100},
					     .last = {.mono = 5 * S + MS, .real = 9 * S + MS, .offset = 200}};
	struct mprof_clocks c = {0};

	mprof_clocks_packet(&c, &packet);
	CHECK_EQ_UINT(c.n_polls, 2);
	packet.first = packet.last = (struct mprof_stamp){.mono = 5 * S + MS, .real = 10 * S, .offset = 200};
	mprof_clocks_packet(&c, &packet);
	CHECK_EQ_UINT(c.n_polls, 2);
	CHECK_EQ_UINT(c.latest.real, 10 * S);
}

/* ---- a busy Linux guest: rings of 8 MiB, a ring with an event channel that is kicked once a packet */

#define PACKET	   (2u << 20)	 /* bytes of a packet */
#define FILL	   (40 * S)	 /* the guest fills a packet in this time */
#define POLL	   (250 * MS)	 /* mprofd polls the ring so often */
#define SHIFT	   (7 * S)	 /* dom0's clock minus the guest's */
#define LAG	   (2 * POLL)	 /* an event is copied so long after the poll that found it */
#define PACKET_END (PACKET - 10) /* where the last event of a full packet ends */

/* Return dom0's time of the poll that copies the event which the guest writes at dom0's time AT. */
static uint64_t copied_at(uint64_t at)
{
	return at / POLL * POLL + POLL + LAG;
}

/* Return a stamp in JSON of the poll at dom0's time AT, for the packet that begins at BEGAN. */
static json_t *poll_stamp(uint64_t began, uint64_t at)
{
	uint64_t bytes = (at - LAG - began) * PACKET / FILL;

	return stamp(bytes < PACKET_END ? (unsigned int)bytes : PACKET_END, at);
}

/*
 * Add what the daemon says about the packet that the guest began at dom0's time BEGAN, and fills until
 * UNTIL. WHOLE: with all stamps that the daemon sends; else as an older daemon, without them.
 */
static void busy_packet(struct mprof_clocks *c, uint64_t began, uint64_t until, bool whole)
{
	bool complete = until - began == FILL;
	uint64_t first = copied_at(began), last = complete ? copied_at(until) : copied_at(until) - LAG - POLL;
	char first_text[24], chunk_text[24];
	json_t *json, *copied, *newest;

	snprintf(first_text, sizeof(first_text), "%" PRIu64, began - SHIFT);
	copied = json_pack("{s:o, s:o}", "first", poll_stamp(began, first), "last", poll_stamp(began, last));
	if (whole) {
		newest = json_array();
		for (unsigned int i = MPROF_CLOCKS_POLLS; i-- > 0;)
			json_array_append_new(newest, poll_stamp(began, last - i * POLL));
		json_object_set_new(copied, "newest", newest);
	}
	if (whole && !complete) {
		/* The chunk begins where the one before it ended: an event that was written at that moment. */
		snprintf(chunk_text, sizeof(chunk_text), "%" PRIu64, last - POLL - LAG - SHIFT);
		json_object_set_new(copied, "last_chunk", json_string(chunk_text));
	}
	json = json_pack("{s:s, s:b, s:b, s:o}", "first_timestamp", first_text, "unproven", 0, "clock_stepped", 0,
			 "copied", copied);
	clocks_packet(c, json);
	json_decref(json);
}

/*
 * Large packets of eight rings: the stamps of a packet are nearly all those of its polls. So the bounds
 * are a few polls apart, though there are few packets; also if there is one, which is not full.
 */
static void test_large_packets(void)
{
	struct mprof_clocks older = {0}, c = {0};
	uint64_t uncertainty;
	int64_t offset;

	for (unsigned int ring = 0; ring < 8; ring++) {
		uint64_t began = 1000 * S + ring * 37 * MS;

		mprof_clocks_stream(&c);
		mprof_clocks_stream(&older);
		for (unsigned int i = 0; i < 4; i++, began += FILL) {
			busy_packet(&c, began, began + FILL, true);
			busy_packet(&older, began, began + FILL, false);
		}
	}
	CHECK(mprof_clocks_offset(&older, false, &offset, &uncertainty));
	CHECK(uncertainty > FILL);
	check_offset(&c, false, SHIFT, 2 * S);
	check_offset(&c, true, (int64_t)(epoch + SHIFT), 2 * S);

	older = c = (struct mprof_clocks){0};
	busy_packet(&c, 1000 * S + 5 * MS, 1030 * S + 5 * MS, true);
	busy_packet(&older, 1000 * S + 5 * MS, 1030 * S + 5 * MS, false);
	CHECK(mprof_clocks_offset(&older, false, &offset, &uncertainty));
	CHECK_EQ_UINT(uncertainty, UINT64_MAX);
	check_offset(&c, false, SHIFT, 2 * S);
}

/* Fewer stamps than five in a packet count with those of the next one, but not twice. */
static void test_few_stamps(void)
{
	for (unsigned int chunks = 2; chunks <= MPROF_CLOCKS_POLLS; chunks++) {
		struct mprof_clocks c = {0};
		uint64_t at = 10 * S;

		for (unsigned int i = 0; i < 3; i++) {
			struct mprof_copied_packet packet = {.guest_ns = at, .n_newest = chunks};

			for (unsigned int k = 0; k < chunks; k++, at += 10 * MS)
				packet.newest[k] = (struct mprof_stamp){at, at, 100 + k};
			packet.first = packet.newest[0];
			packet.last = packet.newest[chunks - 1];
			mprof_clocks_packet(&c, &packet);
			/* The first copy of a packet may be of the poll of the last copy before it. */
			CHECK_EQ_UINT(c.n_polls, 1 + (i + 1) * (chunks - 1) < MPROF_CLOCKS_POLLS
							 ? 1 + (i + 1) * (chunks - 1)
							 : MPROF_CLOCKS_POLLS);
		}
	}
}

/*
 * Two stamps come from different polls only if both clocks of dom0 say so. One clock alone may be
 * wrong after a reboot or a change of the clock.
 */
static void test_both_clocks(void)
{
	static const struct mprof_stamp second[] = {
		{.mono = 1 * S, .real = 99 * S}, {.mono = 99 * S, .real = 1 * S}, {.mono = 99 * S, .real = 99 * S}};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct mprof_copied_packet packet = {.first = {.mono = 50 * S, .real = 50 * S},
						     .last = {.mono = 50 * S, .real = 50 * S}};
		struct mprof_clocks c = {0};

		mprof_clocks_packet(&c, &packet);
		packet.first = packet.last = second[i];
		mprof_clocks_packet(&c, &packet);
		CHECK_EQ_UINT(c.n_polls, i == 2 ? 2 : 1);
	}
}

/* After a step of the guest's clock, only later stamps count. */
static void test_step(void)
{
	struct mprof_clocks c = {0};
	uint64_t uncertainty;
	int64_t offset;

	run(&c, 5 * (int64_t)S, 12);
	packet(&c, 50 * S, 102 * S, 102 * S + MS, true);
	CHECK(c.stepped);
	CHECK(mprof_clocks_offset(&c, false, &offset, &uncertainty));
	CHECK_EQ_INT(offset, 52 * (int64_t)S);
	CHECK_EQ_UINT(uncertainty, UINT64_MAX);
}

/* If the clocks run at different speeds, the uncertainty includes the drift. */
static void test_drift(void)
{
	struct mprof_clocks c = {0};
	uint64_t uncertainty;
	int64_t offset;
	unsigned int i;

	for (i = 0; i < 1000; i++) { /* the guest's clock runs 1% slower */
		uint64_t at = 100 * S + i * 100 * MS;

		packet(&c, at - i * MS, at + MS, at + 50 * MS, false);
	}
	CHECK(mprof_clocks_offset(&c, false, &offset, &uncertainty));
	CHECK(uncertainty > 400 * MS && uncertainty < S);
}

/* Answers of the server that have no valid stamps are ignored. */
static void test_nonsense(void)
{
	static const char *const texts[] = {
		"null",
		"{}",
		"{\"first_timestamp\":\"x\",\"copied\":{}}",
		"{\"first_timestamp\":\"5\",\"copied\":null}",
		"{\"first_timestamp\":\"5\",\"copied\":{\"newest\":[{}],\"last_chunk\":\"5\"}}",
		"{\"first_timestamp\":\"5\",\"copied\":{\"first\":{\"mono\":\"-1\"},\"last\":{}}}",
		"{\"first_timestamp\":\"5\",\"copied\":{\"first\":{\"mono\":\"1\",\"real\":\"now\"},\"last\":{}}}",
		"{\"first_timestamp\":null,\"copied\":{\"first\":{\"mono\":\"1\",\"real\":\"2026-01-01T00:00:00Z\"}}}",
	};
	struct mprof_clocks c = {0};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json_t *json = json_loads(texts[i], JSON_DECODE_ANY, NULL);

		CHECK(json);
		clocks_packet(&c, json);
		json_decref(json);
	}
	CHECK_EQ_UINT(c.stamps, 0);
}

/*
 * Guests of the same boot of dom0 share a monotonic clock. A reboot sets this clock back, and the
 * wall clock goes on.
 */
static void test_apart(void)
{
	struct mprof_clocks one = {0}, two = {0}, none = {0};

	run(&one, 5 * (int64_t)S, 3);
	run(&two, -3 * (int64_t)S, 3);
	CHECK(!mprof_clocks_rebooted(&one, &two));
	CHECK(!mprof_clocks_rebooted(&one, &none));
	two.latest.mono -= 90 * S;
	CHECK(mprof_clocks_rebooted(&one, &two));
	CHECK(mprof_clocks_rebooted(&two, &one));
	/* A difference of two seconds may be a correction of a clock, and is no reboot. */
	one.latest = (struct mprof_stamp){.mono = 10 * S, .real = 20 * S};
	two.latest = (struct mprof_stamp){.mono = 10 * S, .real = 22 * S};
	CHECK(!mprof_clocks_rebooted(&one, &two) && !mprof_clocks_rebooted(&two, &one));
	two.latest.real++;
	CHECK(mprof_clocks_rebooted(&one, &two) && mprof_clocks_rebooted(&two, &one));
	two.latest = (struct mprof_stamp){.mono = UINT64_MAX / 2 + 1};
	one.latest = (struct mprof_stamp){.real = UINT64_MAX / 2};
	CHECK(mprof_clocks_rebooted(&one, &two));
}

/*
 * A program on this host may use the host's monotonic clock. If the stamps allow an offset of 0,
 * the offset is 0.
 */
static void test_host(void)
{
	struct mprof_clocks c = {0};

	CHECK(!mprof_clocks_host(&c));
	run(&c, 0, 12);
	CHECK(mprof_clocks_host(&c));
	check_offset(&c, false, 0, 0);
	check_offset(&c, true, (int64_t)epoch, 0);
	/* The guest's copies are late: the limits are far apart and include 0. */
	c = (struct mprof_clocks){0};
	for (unsigned int i = 0; i < 8; i++)
		packet(&c, 100 * S + i * 15 * S, 101 * S + i * 15 * S, 110 * S + i * 15 * S, false);
	CHECK(mprof_clocks_host(&c));
	check_offset(&c, false, 0, 0);
	/* The guest has a clock of its own, which is ahead or behind. */
	for (int sign = -1; sign <= 1; sign += 2) {
		c = (struct mprof_clocks){0};
		run(&c, sign * 3 * (int64_t)S, 12);
		CHECK(!mprof_clocks_host(&c));
		check_offset(&c, false, -sign * 3 * (int64_t)S, 500 * MS);
	}
	/* Without a lower limit, the copy must come within 250 ms. */
	c = (struct mprof_clocks){0};
	packet(&c, 10 * S, 10 * S + 250 * MS, 10 * S + 250 * MS, false);
	CHECK(mprof_clocks_host(&c));
	c = (struct mprof_clocks){0};
	packet(&c, 10 * S, 10 * S + 250 * MS + 1, 10 * S + 250 * MS + 1, false);
	CHECK(!mprof_clocks_host(&c));
	/* The guest's clock went back, so it is not the host's monotonic clock. */
	c = (struct mprof_clocks){0};
	run(&c, 0, 12);
	packet(&c, 10 * S, 200 * S, 200 * S, true);
	packet(&c, 200 * S, 200 * S, 200 * S, false);
	CHECK(!mprof_clocks_host(&c));
}

int main(void)
{
	CHECK_RUN(test_host);
	CHECK_RUN(test_bounds);
	CHECK_RUN(test_one_poll);
	CHECK_RUN(test_latest);
	CHECK_RUN(test_borders);
	CHECK_RUN(test_large_packets);
	CHECK_RUN(test_few_stamps);
	CHECK_RUN(test_both_clocks);
	CHECK_RUN(test_step);
	CHECK_RUN(test_drift);
	CHECK_RUN(test_apart);
	CHECK_RUN(test_nonsense);
	return check_done();
}
