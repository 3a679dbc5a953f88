/*
 * Captures of the kind `unread`: the verdict of the reader, or time, makes a crash of one, or takes it away with the packets
 * that were copied for it alone.
 */
#include <errno.h>

#include "archive-fixture.h"
#include "clock.h"
#include "deletion.h"
#include "outbox.h"
#include "reader.h"
#include "row-sums.h"

#define PACKET 1030u
#define MONO   500 /* of each capture */
#define EARLY  600 /* CLOCK_REALTIME ns of a packet copied before it; CLOCK_MONOTONIC is half of that */
#define LATE   2000

static enum archive_send send_of(const void *context, const char *name)
{
	(void)context;
	return name[0] == 'c' ? ARCHIVE_SEND_CAPTURES : ARCHIVE_SEND_NOTHING;
}

/* When the next capture is taken. */
static uint64_t taken_real = 1000, taken_mono = MONO;

static int put_capture(struct fixture *f, int64_t id, int64_t stream, uint64_t first, uint64_t last, const char *kind)
{
	struct archive_capture capture = {.id = id, .run = 1, .kind = kind, .real = taken_real, .mono = taken_mono};
	struct archive_capture_stream range = {
		.capture = id, .stream = stream, .first_sequence = first, .last_sequence = last, .last_offset = PACKET};
	static uint8_t data[100];
	struct archive_piece tail = {
		.stream = stream, .sequence = last + 1, .offset = 30, .length = sizeof(data), .data = data};
	int r = archive_writer_begin(f->w);

	if (r == 0)
		r = archive_writer_put_capture(f->w, &capture);
	if (r == 0)
		r = archive_writer_tail(f->w, id, &tail);
	if (r == 0)
		r = archive_writer_put_capture_stream(f->w, &range);
	return r ? r : archive_writer_commit(f->w);
}

/*
 * Run 1 of the guest "crash", whose end was STATE, with stream 5: packets 0 and 1 were copied before capture 9 of the kind
 * `unread`, 2 to 5 for it. The manual capture 8 has packet 4.
 */
static bool begin(struct fixture *f, const char *state)
{
	const struct archive_run run = {.id = 1,
					.source = "xen",
					.key = "key",
					.name = "crash",
					.domid = 5,
					.state = state,
					.reason = "poweroff",
					.ended_real = 900};

	if (!fixture_init(f) || !CHECK_EQ_INT(archive_writer_send(f->w, send_of, NULL), 0) ||
	    !CHECK_EQ_INT(fixture_put(f, 1, "crash", "running", 5), 0))
		return false;
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(archive_writer_put_run(f->w, &run), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
	for (uint64_t i = 0; i < 6; i++)
		CHECK_EQ_INT(fixture_packet(f, 5, i, PACKET, i < 2 ? EARLY : LATE), 0);
	CHECK_EQ_INT(put_capture(f, 8, 5, 4, 4, "manual"), 0);
	return CHECK_EQ_INT(put_capture(f, 9, 5, 1, 5, ARCHIVE_UNREAD), 0);
}

static void end(struct fixture *f)
{
	struct archive_outbox sums;

	CHECK_EQ_INT(archive_writer_check_outbox(f->w), 0);
	CHECK_EQ_INT(archive_writer_outbox(f->w, &sums), 0);
	CHECK_EQ_UINT(sums.damaged, 0);
	CHECK(fixture_integrity(f));
	fixture_deinit(f);
}

/* Return the packets of stream 5 as digits. */
static int64_t packets(const struct fixture *f)
{
	return fixture_number(f, "SELECT coalesce(sum(n), 0) FROM (SELECT DISTINCT 1 << sequence AS n FROM chunks)");
}

static bool is_kind(const struct fixture *f, int64_t id, const char *kind)
{
	return fixture_number(f, "SELECT count(*) FROM captures WHERE id = %d AND kind = '%s'", (int)id, kind) == 1;
}

static bool is_reason(const struct fixture *f, const char *reason)
{
	return fixture_number(f, "SELECT count(*) FROM runs WHERE reason = '%s'", reason) == 1;
}

static int64_t in_outbox(const struct fixture *f, int64_t capture)
{
	return fixture_number(f, "SELECT count(*) FROM outbox WHERE capture = %d AND ready = 1 AND urgency = 0",
			      (int)capture);
}

static int note(void *context, int64_t capture)
{
	*(int64_t *)context = *(int64_t *)context * 100 + capture;
	return 0;
}

/* Return the captures that a server finds behind AFTER, two digits each. */
static int64_t listed(const struct fixture *f, int64_t after)
{
	struct reader *r = NULL;
	int64_t found = 0;

	CHECK_EQ_INT(reader_new(&r, f->state), 0);
	CHECK_EQ_INT(reader_ready(r), 0);
	CHECK_EQ_INT(reader_unread(r, after, 10, note, &found), 0);
	reader_free(r);
	return found;
}

/* A main thread failed: a crash is kept, and sent. */
static void test_crashed(void)
{
	struct fixture f;

	if (!begin(&f, "ended"))
		return;
	CHECK_EQ_INT(listed(&f, 0), 9);
	CHECK_EQ_INT(listed(&f, 9), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM outbox WHERE capture = 9"), 0);
	CHECK_EQ_INT(archive_writer_send_again(f.w, 9), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM outbox WHERE capture = 9"), 0);
	CHECK_EQ_INT(archive_writer_judge(f.w, 9, true), 0);
	CHECK(is_kind(&f, 9, "crash") && is_reason(&f, "crash"));
	CHECK_EQ_INT(packets(&f), 0x3f);
	CHECK_EQ_INT(in_outbox(&f, 9), 1);
	CHECK_EQ_INT(listed(&f, 0), 0);
	CHECK_EQ_UINT(archive_writer_deletions(f.w)->n, 0);
	/* The second verdict finds nothing to decide on, whatever it is. */
	CHECK_EQ_INT(archive_writer_judge(f.w, 9, false), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(archive_writer_judge(f.w, 9, true), ARCHIVE_E_ABSENT);
	CHECK(is_kind(&f, 9, "crash"));
	end(&f);
}

/* No main thread failed: the capture goes, and what was copied for it alone. */
static void test_clean(void)
{
	const struct deletion_tally *d;
	struct fixture f;
	uint64_t copied = 0;

	if (!begin(&f, "ended"))
		return;
	CHECK_EQ_INT(archive_writer_judge(f.w, 9, false), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM tails WHERE capture = 9"), 0);
	CHECK_EQ_INT(packets(&f), 0x13);
	CHECK(is_reason(&f, "poweroff"));
	CHECK_EQ_INT(fixture_number(&f, "SELECT held FROM streams"), 3);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM outbox WHERE capture = 9"), 0);
	d = archive_writer_deletions(f.w);
	for (unsigned i = 0; i < d->n; i++) {
		CHECK_EQ_STR(deletion_reason_name(d->list[i].reason), "policy");
		CHECK_EQ_STR(d->list[i].guest, "crash");
		copied += d->list[i].packets;
	}
	CHECK_EQ_UINT(copied, 3);
	/* The writer's sums are those of the tables, as a new one counts them. */
	fixture_reopen(&f);
	CHECK_EQ_INT(packets(&f), 0x13);
	end(&f);
}

/* Whoever has pinned, noted or marked a capture keeps it. */
static void test_changed(void)
{
	struct fixture f;

	if (!begin(&f, "ended"))
		return;
	CHECK_EQ_INT(archive_writer_change_capture(f.w,
						   &(struct archive_capture_change){
							   .capture = 9, .pinned = -1, .note = "look", .version = -1}),
		     0);
	CHECK_EQ_INT(archive_writer_judge(f.w, 9, false), 0);
	CHECK(is_kind(&f, 9, "poweroff") && is_reason(&f, "poweroff"));
	CHECK_EQ_INT(packets(&f), 0x3f);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM outbox WHERE capture = 9 AND ready = 1"), 1);
	end(&f);
}

/* A verdict on a capture of another kind, on none, or on one that is being taken, changes nothing. */
static void test_others(void)
{
	struct fixture f;

	if (!begin(&f, "ended"))
		return;
	for (unsigned crashed = 0; crashed < 2; crashed++)
		for (int64_t id = -1; id < 9; id++)
			CHECK_EQ_INT(archive_writer_judge(f.w, id, crashed != 0), ARCHIVE_E_ABSENT);
	CHECK(is_kind(&f, 8, "manual") && is_kind(&f, 9, "unread"));
	CHECK_EQ_INT(packets(&f), 0x3f);
	end(&f);
	if (!begin(&f, "running"))
		return;
	CHECK_EQ_INT(listed(&f, 0), 0);
	CHECK_EQ_INT(archive_writer_judge(f.w, 9, false), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(archive_writer_judge(f.w, 9, true), ARCHIVE_E_ABSENT);
	CHECK(is_kind(&f, 9, "unread"));
	end(&f);
}

/* A capture that nobody reads goes by its age, some at a time. */
static void test_age(void)
{
	struct fixture f;
	int64_t after = 0;
	unsigned dropped;

	if (!begin(&f, "ended"))
		return;
	CHECK_EQ_INT(put_capture(&f, 10, 5, 5, 5, ARCHIVE_UNREAD), 0);
	CHECK_EQ_INT(archive_writer_drop_unread(f.w, 0, 8, &after, &dropped), 0);
	CHECK_EQ_UINT(dropped, 0);
	CHECK_EQ_INT(archive_writer_drop_unread(f.w, INT64_MAX, 1, &after, &dropped), 0);
	CHECK_EQ_UINT(dropped, 1);
	CHECK(!is_kind(&f, 9, "unread") && is_kind(&f, 10, "unread"));
	CHECK_EQ_INT(packets(&f), 0x33);
	CHECK_EQ_INT(archive_writer_drop_unread(f.w, INT64_MAX, 8, &after, &dropped), 0);
	CHECK_EQ_UINT(dropped, 1);
	CHECK_EQ_INT(packets(&f), 0x13);
	CHECK(is_kind(&f, 8, "manual"));
	CHECK_EQ_INT(archive_writer_drop_unread(f.w, INT64_MAX, 8, &after, &dropped), 0);
	CHECK_EQ_UINT(dropped, 0);
	/* One that somebody has pinned stays, and does not count as deleted. */
	CHECK_EQ_INT(put_capture(&f, 11, 5, 5, 5, ARCHIVE_UNREAD), 0);
	CHECK_EQ_INT(archive_writer_change_capture(
			     f.w, &(struct archive_capture_change){.capture = 11, .pinned = 1, .version = -1}),
		     0);
	CHECK_EQ_INT(archive_writer_drop_unread(f.w, INT64_MAX, 8, &after, &dropped), 0);
	CHECK_EQ_UINT(dropped, 0);
	CHECK(is_kind(&f, 11, "poweroff"));
	end(&f);
}

/*
 * A row that does not agree with its checksum is not believed. It is declared, and the next verdict deletes the capture, but no packet: a
 * false stamp would take packets that were copied before it.
 */
static void test_damaged_rows(void)
{
	static const char *const bad[] = {
		"UPDATE captures SET mono = 0 WHERE id = 9 RETURNING 1",
		"UPDATE captures SET mono = 1 << 60 WHERE id = 9 RETURNING 1",
		"UPDATE runs SET reason = 'reboox' WHERE id = 1 RETURNING 1",
	};

	for (unsigned i = 0; i < 3; i++) {
		struct fixture f;

		if (!begin(&f, "ended"))
			return;
		CHECK_EQ_INT(fixture_number(&f, "%s", bad[i]), 1);
		CHECK_EQ_INT(archive_writer_judge(f.w, 9, false), ARCHIVE_E_DAMAGED);
		CHECK(is_kind(&f, 9, "unread"));
		CHECK_EQ_INT(packets(&f), 0x3f);
		CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, 1);
		CHECK_EQ_INT(archive_writer_judge(f.w, 9, false), 0);
		CHECK(!is_kind(&f, 9, "unread"));
		CHECK_EQ_INT(packets(&f), i < 2 ? 0x3f : 0x13);
		end(&f);
	}
}

/* Nothing is deleted by a damaged range: neither by one of the capture, nor if one of another capture may have the packet. */
static void test_damaged_ranges(void)
{
	static const char *const bad[] = {
		"UPDATE capture_streams SET last_sequence = 4 WHERE capture = 9 RETURNING 1",
		"UPDATE capture_streams SET first_sequence = 0, last_sequence = 0 WHERE capture = 8 RETURNING 1",
	};

	for (unsigned i = 0; i < 2; i++) {
		struct fixture f;

		if (!begin(&f, "ended"))
			return;
		CHECK_EQ_INT(fixture_number(&f, "%s", bad[i]), 1);
		CHECK_EQ_INT(archive_writer_judge(f.w, 9, false), 0);
		CHECK(!is_kind(&f, 9, "unread") && is_kind(&f, 8, "manual"));
		CHECK_EQ_INT(packets(&f), 0x3f);
		end(&f);
	}
}

/* A capture at which the file is damaged does not keep those behind it. */
static void test_damaged_file(void)
{
	struct fixture f;
	int64_t after = 0;
	unsigned dropped;

	if (!begin(&f, "ended"))
		return;
	CHECK_EQ_INT(put_capture(&f, 10, 5, 5, 5, ARCHIVE_UNREAD), 0);
	fixture_change_table(&f, "capture_streams", "capture_streams_by_stream",
			     "UPDATE capture_streams SET stream = 1000 WHERE capture = 9");
	fixture_reopen(&f);
	CHECK_EQ_INT(archive_writer_judge(f.w, 9, false), -EBADMSG);
	CHECK_EQ_INT(packets(&f), 0x3f);
	CHECK_EQ_INT(archive_writer_drop_unread(f.w, INT64_MAX, 1, &after, &dropped), 0);
	CHECK_EQ_UINT(dropped, 0);
	CHECK_EQ_INT(archive_writer_drop_unread(f.w, INT64_MAX, 8, &after, &dropped), 0);
	CHECK_EQ_UINT(dropped, 1);
	CHECK(is_kind(&f, 9, "unread") && !is_kind(&f, 10, "unread"));
	CHECK_EQ_INT(archive_writer_drop_unread(f.w, INT64_MAX, 8, &after, &dropped), 0);
	CHECK_EQ_UINT(dropped, 0);
	fixture_deinit(&f);
}

/* A capture that has no entry in the index of its kind is found again. */
static void test_no_entry(void)
{
	struct fixture f;
	int64_t after = 0;
	unsigned dropped;

	if (!begin(&f, "ended"))
		return;
	fixture_number(&f, "UPDATE captures SET kind = 'ended' WHERE id = 9");
	fixture_change_table(&f, "captures", "captures_unread", "UPDATE captures SET kind = 'unread' WHERE id = 9");
	CHECK(!fixture_integrity(&f));
	fixture_reopen(&f);
	CHECK_EQ_INT(archive_writer_send(f.w, send_of, NULL), 0);
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_INT(archive_writer_drop_unread(f.w, INT64_MAX, 8, &after, &dropped), 0);
	CHECK_EQ_UINT(dropped, 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT sum(lost) + sum(damaged) FROM row_sums"), 0);
	end(&f);
}

/* Quotas take an unread capture as any other, if nothing else is left. */
static void test_quota(void)
{
	struct fixture f;
	bool more = true;

	if (!begin(&f, "ended"))
		return;
	for (unsigned i = 0; i < 100 && more; i++)
		CHECK_EQ_INT(archive_writer_enforce(f.w, "crash", 1, 0, 64, &more), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 0);
	CHECK_EQ_INT(archive_writer_judge(f.w, 9, true), ARCHIVE_E_ABSENT);
	end(&f);
}

/* Run ID of the guest NAME has ended, with one stream of 4 packets and a capture of the kind KIND. */
static void put_run(struct fixture *f, int64_t id, const char *name, const char *kind)
{
	const struct archive_capture capture = {
		.id = id, .run = id, .kind = kind, .real = taken_real, .mono = taken_mono};
	const struct archive_capture_stream range = {
		.capture = id, .stream = id, .first_sequence = 0, .last_sequence = 3, .last_offset = PACKET};

	CHECK_EQ_INT(fixture_put(f, id, name, "ended", id), 0);
	for (uint64_t i = 0; i < 4; i++)
		CHECK_EQ_INT(fixture_packet(f, id, i, PACKET, LATE + (uint64_t)id), 0);
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f->w, &capture), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f->w, &range), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

static int64_t left(const struct fixture *f)
{
	return fixture_number(f, "SELECT coalesce(sum(1 << id), 0) FROM captures");
}

/* Captures that the reader has not looked at push out no crash: the oldest of them go first, and of their guest alone. */
static void test_crash_stays(void)
{
	const uint64_t run = 4ull * (PACKET - 30);
	bool more = true;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	put_run(&f, 1, "shop", "crash");
	put_run(&f, 2, "web", "crash");
	put_run(&f, 3, "shop", ARCHIVE_UNREAD);
	for (int64_t id = 4; id < 8; id++)
		put_run(&f, id, "web", ARCHIVE_UNREAD);
	/* Two packets a call: a capture goes in several. */
	for (unsigned i = 0; i < 100 && more; i++)
		CHECK_EQ_INT(archive_writer_enforce(f.w, "web", 3 * run, 0, 2, &more), 0);
	CHECK(!more);
	CHECK_EQ_INT(left(&f), 1 << 1 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 7);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 2"), 4);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs"), 5); /* of the others nothing is left */
	/* One that somebody has changed is as any other. */
	CHECK_EQ_INT(archive_writer_change_capture(f.w,
						   &(struct archive_capture_change){
							   .capture = 6, .pinned = -1, .note = "look", .version = -1}),
		     0);
	CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 4 * run, 0, 64, &more), 0);
	CHECK_EQ_INT(left(&f), 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7);
	put_run(&f, 8, "web", ARCHIVE_UNREAD);
	CHECK_EQ_INT(archive_writer_make_room(f.w, 64, &more), 0);
	CHECK(more);
	CHECK_EQ_INT(left(&f), 1 << 1 | 1 << 2 | 1 << 6);
	/* Then the oldest goes, as ever. */
	CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 2 * run, 0, 64, &more), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 1"), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 2"), 4);
	/* The reader has had no time for a young one: it is as any other. */
	taken_real = clock_real();
	taken_mono = clock_mono();
	put_run(&f, 9, "web", ARCHIVE_UNREAD);
	taken_real = 1000;
	taken_mono = MONO;
	CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 2 * run, 0, 64, &more), 0);
	CHECK_EQ_INT(left(&f) & 1 << 9, 1 << 9);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE stream = 9"), 4);
	CHECK(fixture_integrity(&f));
	fixture_deinit(&f);
}

int main(void)
{
	CHECK_RUN(test_crashed);
	CHECK_RUN(test_clean);
	CHECK_RUN(test_changed);
	CHECK_RUN(test_others);
	CHECK_RUN(test_age);
	CHECK_RUN(test_no_entry);
	CHECK_RUN(test_damaged_rows);
	CHECK_RUN(test_damaged_ranges);
	CHECK_RUN(test_damaged_file);
	CHECK_RUN(test_quota);
	CHECK_RUN(test_crash_stays);
	return check_done();
}
