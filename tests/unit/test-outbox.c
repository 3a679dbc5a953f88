/*
 * The outbox: rows appear with the bytes that they name, become losses when quotas or people delete
 * these bytes, and go when a hub has acknowledged them.
 */
#include "archive-fixture.h"
#include "clock.h"
#include "deletion.h"
#include "outbox.h"
#include "reader.h"

#define PACKET	  1030u
#define LOST_MOST 4096 /* losses in the outbox at most */

/* Send all of guests whose names begin with a, captures of those that begin with c, else nothing. */
static enum archive_send send_of(const void *context, const char *name)
{
	(void)context;
	return name[0] == 'a' ? ARCHIVE_SEND_ALL : name[0] == 'c' ? ARCHIVE_SEND_CAPTURES : ARCHIVE_SEND_NOTHING;
}

static bool begin(struct fixture *f)
{
	return fixture_init(f) && CHECK_EQ_INT(archive_writer_send(f->w, send_of, NULL), 0);
}

/* Check that each row has its checksum, and that no row is missing; then close. */
static void end(struct fixture *f)
{
	struct archive_outbox sums;

	CHECK_EQ_INT(archive_writer_check_outbox(f->w), 0);
	CHECK_EQ_INT(archive_writer_outbox(f->w, &sums), 0);
	CHECK_EQ_UINT(sums.damaged, 0);
	fixture_deinit(f);
}

static int64_t rows(const struct fixture *f, const char *where)
{
	return fixture_number(f, "SELECT count(*) FROM outbox WHERE %s", where);
}

/* Put capture ID of a run, of one stream up to LAST_OFFSET of packet LAST. */
static int put_capture(struct fixture *f, int64_t id, int64_t run, int64_t stream, uint64_t first, uint64_t last,
		       uint32_t last_offset, const char *kind, uint64_t real)
{
	struct archive_capture capture = {.id = id, .run = run, .kind = kind, .real = real};
	struct archive_capture_stream range = {.capture = id,
					       .stream = stream,
					       .first_sequence = first,
					       .last_sequence = last,
					       .last_offset = last_offset};
	int r = archive_writer_begin(f->w);

	if (r == 0)
		r = archive_writer_put_capture(f->w, &capture);
	if (r == 0)
		r = archive_writer_put_capture_stream(f->w, &range);
	return r ? r : archive_writer_commit(f->w);
}

static void enforce(struct fixture *f, const char *name, uint64_t bytes, uint64_t before_real)
{
	bool more = true;

	for (unsigned i = 0; i < 1000 && more; i++)
		CHECK_EQ_INT(archive_writer_enforce(f->w, name, bytes, before_real, 64, &more), 0);
	CHECK(!more);
}

static int sent(struct fixture *f, int64_t id, uint64_t sequence, uint64_t packets, uint64_t bytes)
{
	struct archive_sent s = {.id = id, .sequence = sequence, .packets = packets, .bytes = bytes};

	return archive_writer_sent(f->w, &s);
}

/* Check that the tally has ROWS rows of the outbox that were deleted for REASON, of GUEST alone. */
static void check_told(struct fixture *f, const char *reason, const char *guest, uint64_t rows)
{
	const struct deletion_tally *d = archive_writer_deletions(f->w);

	if (!CHECK_EQ_UINT(d->n, 1))
		return;
	CHECK_EQ_STR(deletion_reason_name(d->list[0].reason), reason);
	CHECK_EQ_STR(d->list[0].guest, guest);
	CHECK_EQ_UINT(d->list[0].outbox, rows);
	CHECK_EQ_UINT(d->list[0].captures, 0);
}

static void test_off(void)
{
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "a", "running", 1), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 0, PACKET, 100), 0);
	CHECK_EQ_INT(put_capture(&f, 1, 1, 1, 0, 0, PACKET, "crash", 100), 0);
	CHECK_EQ_INT(archive_writer_finish_capture(f.w, 1), 0);
	CHECK_EQ_INT(rows(&f, "1"), 0);
	CHECK_EQ_INT(archive_writer_send_again(f.w, 1), 0);
	CHECK_EQ_INT(rows(&f, "1"), 0);
	/* Rows of an earlier process go when the outbox is turned off. */
	CHECK_EQ_INT(archive_writer_send(f.w, send_of, NULL), 0);
	CHECK_EQ_INT(archive_writer_send_again(f.w, 1), 0);
	CHECK_EQ_INT(rows(&f, "ready AND urgency = 0"), 1);
	archive_writer_deletions(f.w)->n = 0;
	CHECK_EQ_INT(archive_writer_send(f.w, NULL, NULL), 0);
	CHECK_EQ_INT(rows(&f, "1"), 0);
	check_told(&f, "unsent", "a", 1);
	CHECK_EQ_INT(archive_writer_send(f.w, NULL, NULL), 0);
	CHECK_EQ_UINT(archive_writer_deletions(f.w)->n, 1);
	end(&f);
}

static void test_captures(void)
{
	struct archive_outbox sums;
	struct fixture f;

	if (!begin(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "cat", "running", 1), 0);
	CHECK_EQ_INT(fixture_put(&f, 2, "none", "running", 2), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 0, PACKET, 100), 0);
	CHECK_EQ_INT(put_capture(&f, 1, 1, 1, 0, 0, PACKET, "manual", 200), 0);
	CHECK_EQ_INT(put_capture(&f, 2, 2, 2, 0, 0, 30, "crash", 201), 0);
	CHECK_EQ_INT(put_capture(&f, 3, 1, 1, 0, 0, PACKET, "crash", 202), 0);
	CHECK_EQ_INT(rows(&f, "ready"), 0);
	CHECK_EQ_INT(rows(&f, "NOT ready AND kind = 'capture' AND run = 1"), 2);
	CHECK_EQ_INT(archive_writer_outbox(f.w, &sums), 0);
	CHECK(sums.rows == 0 && sums.oldest_real == 0);
	CHECK_EQ_INT(archive_writer_finish_capture(f.w, 3), 0);
	CHECK_EQ_INT(archive_writer_finish_capture(f.w, 2), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT capture FROM outbox WHERE ready"), 3);
	CHECK_EQ_INT(archive_writer_finish_old(f.w, 0), 0);
	CHECK_EQ_INT(rows(&f, "ready"), 1);
	CHECK_EQ_INT(archive_writer_finish_old(f.w, 2), 0);
	CHECK_EQ_INT(archive_writer_outbox(f.w, &sums), 0);
	CHECK(sums.rows == 2 && sums.oldest_real == 200);
	/* A capture that is put again while it waits is one row. */
	CHECK_EQ_INT(archive_writer_send_again(f.w, 3), 0);
	CHECK_EQ_INT(rows(&f, "capture = 3"), 1);
	int64_t id = fixture_number(&f, "SELECT id FROM outbox WHERE capture = 3");
	CHECK_EQ_INT(sent(&f, id, 0, 0, 0), 0);
	CHECK_EQ_INT(sent(&f, id, 0, 0, 0), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(rows(&f, "capture = 3"), 0);
	CHECK_EQ_INT(archive_writer_send_again(f.w, 3), 0);
	CHECK(fixture_number(&f, "SELECT id FROM outbox WHERE capture = 3 AND ready") > id);
	CHECK_EQ_INT(archive_writer_send_again(f.w, 2), 0);
	CHECK_EQ_INT(archive_writer_send_again(f.w, 77), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(rows(&f, "1"), 2);
	end(&f);
}

/* A row is there exactly if the bytes that it names are. */
static void test_rollback(void)
{
	struct archive_capture capture = {.id = 1, .run = 1, .kind = "crash", .real = 5};
	struct fixture f;

	if (!begin(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "a", "running", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 0, 30, 1000, ARCHIVE_CHUNK_LAST, true, 100), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
	archive_writer_rollback(f.w);
	CHECK_EQ_INT(rows(&f, "1"), 0);
	end(&f);
}

/*
 * A capture in the middle of a packet, and later the whole packet, whose rows compaction has
 * replaced meanwhile: both are named by positions that stay.
 */
static void test_middle(void)
{
	struct fixture f;

	if (!begin(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "a", "running", 1), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 0, PACKET, 100), 0);
	for (uint32_t at = 30; at < 830; at += 100) {
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		CHECK_EQ_INT(fixture_append(&f, 1, 1, at, 100, 0, true, 200 + at), 0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
		if (at == 430)
			CHECK_EQ_INT(put_capture(&f, 1, 1, 1, 0, 1, 530, "manual", 650), 0);
	}
	CHECK_EQ_INT(archive_writer_finish_capture(f.w, 1), 0);
	/* Packet 1 grows: it is sent with the capture alone. */
	CHECK_EQ_INT(fixture_number(&f, "SELECT last_sequence FROM outbox WHERE kind = 'packets'"), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 1, 830, 200, ARCHIVE_CHUNK_LAST, true, 2000), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_INT(fixture_read(&f, 1, 1).rows, 1);
	CHECK_EQ_INT(rows(&f, "kind = 'packets'"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT last_sequence FROM outbox WHERE kind = 'packets'"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT last_offset FROM capture_streams WHERE capture = 1"), 530);
	int64_t id = fixture_number(&f, "SELECT id FROM outbox WHERE kind = 'packets'");
	CHECK_EQ_INT(sent(&f, id, 0, 0, 0), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT first_sequence FROM outbox WHERE id = %d", (int)id), 1);
	CHECK_EQ_INT(sent(&f, id, 1, 0, 0), 0);
	CHECK_EQ_INT(rows(&f, "kind = 'packets'"), 0);
	CHECK_EQ_INT(rows(&f, "kind = 'capture' AND ready"), 1);
	end(&f);
}

static void test_quota(void)
{
	struct archive_outbox sums;
	struct fixture f;

	if (!begin(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "a", "running", 1), 0);
	CHECK_EQ_INT(fixture_put(&f, 2, "cat", "running", 2), 0);
	for (uint64_t i = 0; i < 10; i++) {
		CHECK_EQ_INT(fixture_packet(&f, 1, i, PACKET, 100 + i), 0);
		CHECK_EQ_INT(fixture_packet(&f, 2, i, PACKET, 100 + i), 0);
	}
	CHECK_EQ_INT(sent(&f, fixture_number(&f, "SELECT id FROM outbox WHERE kind = 'packets'"), 1, 0, 0), 0);
	enforce(&f, "a", 4000, 0);
	/* Packets 0 and 1 were sent. 2 to 5 were not. */
	CHECK_EQ_INT(fixture_number(&f, "SELECT first_sequence FROM outbox WHERE kind = 'packets'"), 6);
	CHECK_EQ_INT(rows(&f,
			  "kind = 'lost' AND stream = 1 AND first_sequence = 2 AND last_sequence = 5 AND packets = 4"
			  " AND bytes = 4000 AND reason = 'quota' AND run = 1 AND real = 102"),
		     1);
	/* Only captures of guest cat were to be sent. */
	CHECK_EQ_INT(put_capture(&f, 1, 2, 2, 3, 8, PACKET, "crash", 108), 0);
	enforce(&f, "cat", 5000, 0);
	CHECK_EQ_INT(
		rows(&f, "kind = 'lost' AND stream = 2 AND first_sequence = 3 AND last_sequence = 4 AND packets = 2"),
		1);
	CHECK_EQ_INT(archive_writer_outbox(f.w, &sums), 0);
	CHECK(sums.lost_packets == 6 && sums.lost_captures == 0);
	/* The hub was told of 3 of the 4 packets, and then packet 6 goes, too. */
	enforce(&f, "a", 3000, 0);
	int64_t id = fixture_number(&f, "SELECT id FROM outbox WHERE kind = 'lost' AND stream = 1");
	CHECK_EQ_INT(sent(&f, id, 5, 4, 4000), 0);
	CHECK_EQ_INT(rows(&f,
			  "kind = 'lost' AND stream = 1 AND first_sequence = 6 AND last_sequence = 6 AND packets = 1"
			  " AND bytes = 1000"),
		     1);
	CHECK_EQ_INT(sent(&f, id, 6, 1, 1000), 0);
	/* A capture that goes as a whole. */
	CHECK_EQ_INT(fixture_put(&f, 2, "cat", "ended", 2), 0);
	enforce(&f, "cat", 0, 1000);
	CHECK_EQ_INT(rows(&f, "kind = 'lost' AND capture = 1 AND run = 2 AND ready AND reason = 'quota'"), 1);
	CHECK_EQ_INT(rows(&f, "kind = 'capture'"), 0);
	CHECK_EQ_INT(archive_writer_outbox(f.w, &sums), 0);
	CHECK_EQ_UINT(sums.lost_captures, 1);
	/* Run 2 is gone, and its losses stay. */
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs WHERE id = 2"), 0);
	CHECK_EQ_INT(rows(&f, "run = 2"), 2);
	end(&f);
}

/* Losses of two months are two rows, because a hub keeps months apart. */
static void test_months(void)
{
	const uint64_t december = UINT64_C(1764547200) * NS_PER_S;
	struct fixture f;

	if (!begin(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "a", "ended", 1), 0);
	for (uint64_t i = 0; i < 4; i++)
		CHECK_EQ_INT(fixture_packet(&f, 1, i, PACKET, december + i - 2), 0);
	enforce(&f, "a", 0, december + 100);
	CHECK_EQ_INT(rows(&f, "kind = 'lost' AND first_sequence = 0 AND last_sequence = 1"), 1);
	CHECK_EQ_INT(rows(&f, "kind = 'lost' AND first_sequence = 2 AND last_sequence = 3"), 1);
	CHECK_EQ_INT(rows(&f, "kind = 'packets'"), 0);
	end(&f);
}

static void test_person(void)
{
	struct archive_outbox sums;
	struct fixture f;
	int64_t id;

	if (!begin(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "cat", "running", 1), 0);
	CHECK_EQ_INT(put_capture(&f, 1, 1, 1, 0, 0, 30, "crash", 108), 0);
	id = fixture_number(&f, "SELECT id FROM outbox WHERE capture = 1");
	CHECK_EQ_INT(archive_writer_delete_capture(f.w, 1), 0);
	CHECK_EQ_INT(rows(&f, "kind = 'lost' AND capture = 1 AND reason = 'deleted' AND ready"), 1);
	CHECK_EQ_INT(archive_writer_delete_capture(f.w, 1), ARCHIVE_E_ABSENT);
	/* An acknowledgement of the capture, which a forwarder reads too late, is none of the loss. */
	CHECK(fixture_number(&f, "SELECT id FROM outbox WHERE capture = 1") > id);
	CHECK_EQ_INT(sent(&f, id, 0, 0, 0), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(rows(&f, "kind = 'lost' AND run = 1 AND capture = 1 AND real = 108 AND urgency = 2"), 1);
	CHECK_EQ_INT(rows(&f, "1"), 1);
	CHECK_EQ_INT(archive_writer_outbox(f.w, &sums), 0);
	CHECK_EQ_UINT(sums.lost_captures, 1);
	end(&f);
}

static void test_packets_again(void)
{
	struct fixture f;

	if (!begin(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "a", "running", 1), 0);
	CHECK_EQ_INT(fixture_put(&f, 2, "cat", "running", 2), 0);
	for (uint64_t i = 0; i < 6; i++)
		CHECK_EQ_INT(fixture_packet(&f, 1, i, PACKET, 100 + i), 0);
	CHECK_EQ_INT(sent(&f, fixture_number(&f, "SELECT id FROM outbox"), 5, 0, 0), 0);
	CHECK_EQ_INT(rows(&f, "1"), 0);
	CHECK_EQ_INT(archive_writer_send_packets_again(f.w, 1, 2, 3), 0);
	CHECK_EQ_INT(rows(&f, "kind = 'packets' AND run = 1 AND first_sequence = 2 AND last_sequence = 3 AND ready"),
		     1);
	CHECK_EQ_INT(archive_writer_send_packets_again(f.w, 1, 1, 1), 0);
	CHECK_EQ_INT(rows(&f, "first_sequence = 1 AND last_sequence = 3"), 1);
	/* A stream that is not sent, or is gone, is left alone. */
	CHECK_EQ_INT(archive_writer_send_packets_again(f.w, 2, 0, 1), 0);
	CHECK_EQ_INT(archive_writer_send_packets_again(f.w, 9, 0, 1), 0);
	CHECK_EQ_INT(rows(&f, "1"), 1);
	end(&f);
}

/* A hub that cannot be reached for long costs a bounded outbox. */
static void test_bound(void)
{
	struct archive_outbox sums;
	struct fixture f;

	if (!begin(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "cat", "running", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	for (int64_t i = 1; i <= LOST_MOST + 5; i++) {
		struct archive_capture capture = {.id = i, .run = 1, .kind = "manual", .real = 1000 + (uint64_t)i};

		CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
		CHECK_EQ_INT(archive_writer_delete_capture(f.w, i), 0);
	}
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_INT(rows(&f, "1"), LOST_MOST);
	CHECK_EQ_INT(fixture_number(&f, "SELECT min(capture) FROM outbox"), 6);
	CHECK_EQ_INT(archive_writer_outbox(f.w, &sums), 0);
	CHECK(sums.untold == 5 && sums.lost_captures == LOST_MOST + 5);
	end(&f);
}

static int note(void *context, const struct reader_outbox *row)
{
	char *order = context;
	size_t len = strlen(order);

	snprintf(order + len, 100 - len, "%c%d ", row->kind[0], (int)(row->capture + row->stream));
	return 0;
}

/* Crashes first, then other captures, losses and packets, each by age. */
static void test_order(void)
{
	char order[100] = "", name[READER_ARCHIVE_BYTES], again[READER_ARCHIVE_BYTES];
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct fixture f;

	if (!begin(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "a", "running", 1), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 0, PACKET, 1), 0);
	CHECK_EQ_INT(put_capture(&f, 2, 1, 1, 0, 0, PACKET, "manual", 10), 0);
	CHECK_EQ_INT(put_capture(&f, 3, 1, 1, 0, 0, PACKET, "crash", 300), 0);
	CHECK_EQ_INT(put_capture(&f, 4, 1, 1, 0, 0, PACKET, "watchdog", 200), 0);
	CHECK_EQ_INT(put_capture(&f, 5, 1, 1, 0, 0, PACKET, "poweroff", 5), 0);
	CHECK_EQ_INT(put_capture(&f, 6, 1, 1, 0, 0, PACKET, "manual", 1), 0);
	CHECK_EQ_INT(put_capture(&f, 7, 1, 1, 0, 0, PACKET, "crash", 1), 0);
	CHECK_EQ_INT(archive_writer_delete_capture(f.w, 6), 0);
	for (int64_t i = 2; i < 6; i++)
		CHECK_EQ_INT(archive_writer_finish_capture(f.w, i), 0);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_outbox(r, 100, note, order), 0);
	CHECK_EQ_STR(order, "c4 c3 c5 c2 l6 p1 ");
	order[0] = '\0';
	CHECK_EQ_INT(reader_outbox(r, 2, note, order), 0);
	CHECK_EQ_STR(order, "c4 c3 ");
	CHECK_EQ_INT(reader_archive(r, name), 0);
	fixture_reopen(&f);
	CHECK_EQ_INT(reader_archive(r, again), 0);
	CHECK_EQ_STR(name, again);
	end(&f);
}

/* A row is read as it is stored, with its chunk ends; also a row of a tail and an empty packet. */
static void test_row(void)
{
	CLEANUP(freep) uint8_t *data = malloc(ARCHIVE_PIECE_MAX), *ends = malloc(READER_ENDS_MAX);
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct reader_source source = {.stream = 1};
	struct reader_row row;
	struct fixture f;

	if (!CHECK(data && ends) || !begin(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "a", "running", 1), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 0, PACKET, 100), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 1, 30, 101), 0);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_row(r, source, 0, 500, data, ends, &row), 0);
	CHECK(row.offset == 30 && row.length == 1000 && row.flags == ARCHIVE_CHUNK_LAST && row.codec == CODEC_ZSTD);
	CHECK(row.first_timestamp == 7000 && row.packet_bytes == 256u << 20 && row.ends_bytes == ARCHIVE_END_BYTES);
	CHECK_EQ_UINT(mprof_load32(ends), 1030);
	CHECK(codec_is_frame_of(data, row.bytes, 1000));
	CHECK_EQ_INT(reader_row(r, source, 0, 1030, data, ends, &row), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(reader_row(r, source, 1, 30, data, ends, &row), 0);
	CHECK(row.offset == 30 && row.length == 0);
	CHECK_EQ_INT(reader_row(r, source, 2, 30, data, ends, &row), ARCHIVE_E_ABSENT);
	fixture_number(&f, "UPDATE chunks SET flags = 0 WHERE sequence = 0");
	CHECK_EQ_INT(reader_row(r, source, 0, 30, data, ends, &row), ARCHIVE_E_DAMAGED);
	end(&f);
}

static int count_row(void *context, const struct reader_outbox *row)
{
	(void)row;
	++*(unsigned *)context;
	return 0;
}

static int count_waiting(void *context, int64_t capture)
{
	(void)capture;
	++*(unsigned *)context;
	return 0;
}

/*
 * Change the outbox with the statement SQL, behind the writer's back. Check that DAMAGED rows are noticed, and
 * LEFT stay.
 */
static void try_damage(const char *sql, uint64_t damaged, int64_t left)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct archive_outbox sums;
	unsigned listed = 0, waiting = 0;
	uint64_t told = 0;
	struct fixture f;

	if (!begin(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "a", "running", 1), 0);
	for (uint64_t n = 0; n < 3; n++)
		CHECK_EQ_INT(fixture_packet(&f, 1, n, PACKET, 100 + n), 0);
	for (int64_t n = 1; n <= 3; n++) {
		CHECK_EQ_INT(put_capture(&f, n, 1, 1, 0, 2, PACKET, "crash", 100), 0);
		CHECK_EQ_INT(archive_writer_finish_capture(f.w, n), 0);
	}
	CHECK_EQ_INT(rows(&f, "1"), 4);
	fixture_number(&f, "%s", sql);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_outbox(r, 100, count_row, &listed), 0);
	CHECK_EQ_INT(reader_waiting(r, count_waiting, &waiting), 0);
	CHECK_EQ_INT((int64_t)listed, left);
	CHECK(waiting <= listed);
	/* A change of a damaged row does not make it a good one. */
	CHECK_EQ_INT(archive_writer_finish_old(f.w, 1000), 0);
	CHECK_EQ_INT(archive_writer_check_outbox(f.w), 0);
	CHECK_EQ_INT(archive_writer_outbox(f.w, &sums), 0);
	CHECK_EQ_UINT(sums.damaged, damaged);
	CHECK_EQ_INT(rows(&f, "1"), left);
	if (damaged && strncmp(sql, "UPDATE outbox SET", 17) == 0)
		check_told(&f, "damage", "a", damaged);
	CHECK_EQ_INT(reader_outbox_damaged(r, &told), 0);
	CHECK_EQ_UINT(told, damaged);
	/* It is noticed once. */
	CHECK_EQ_INT(archive_writer_check_outbox(f.w), 0);
	CHECK_EQ_INT(archive_writer_outbox(f.w, &sums), 0);
	CHECK_EQ_UINT(sums.damaged, damaged);
	/* The capture can be put into the outbox again. */
	CHECK_EQ_INT(archive_writer_send_again(f.w, 3), 0);
	CHECK_EQ_INT(rows(&f, "capture = 3 AND ready = 1"), 1);
	fixture_deinit(&f);
}

static void test_damaged(void)
{
	try_damage("SELECT 1", 0, 4);
	try_damage("UPDATE outbox SET capture = capture + 1000 WHERE id = (SELECT max(id) FROM outbox)", 1, 3);
	try_damage("UPDATE outbox SET kind = 9 WHERE id = (SELECT max(id) FROM outbox)", 1, 3);
	try_damage("UPDATE outbox SET ready = 2", 4, 0);
	try_damage("UPDATE outbox SET capture = 'x' WHERE capture = 2", 1, 3);
	try_damage("UPDATE outbox SET stream = 99999", 4, 0);
	try_damage("UPDATE outbox SET checksum = NULL WHERE capture = 2", 1, 3);
	try_damage("UPDATE outbox SET last_sequence = 1 WHERE kind = 'packets'", 1, 3);
	try_damage("UPDATE outbox SET reason = printf('%.*c', 1000, 'x') WHERE capture = 2", 1, 3);
	try_damage("DELETE FROM outbox", 4, 0);
	try_damage("DELETE FROM outbox WHERE capture = 2", 1, 3);
	try_damage("DELETE FROM outbox_sums", 1, 4);
}

/* Rows of a version that knew no checksums get them when the archive is opened. */
static void test_earlier(void)
{
	struct fixture f;

	if (!begin(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "a", "running", 1), 0);
	CHECK_EQ_INT(put_capture(&f, 1, 1, 1, 0, 0, PACKET, "crash", 100), 0);
	fixture_number(&f, "UPDATE outbox SET checksum = NULL");
	fixture_number(&f, "UPDATE outbox_sums SET unchecked = (SELECT max(id) FROM outbox)");
	fixture_reopen(&f);
	CHECK_EQ_INT(archive_writer_send(f.w, send_of, NULL), 0);
	CHECK_EQ_INT(rows(&f, "checksum IS NOT NULL"), 1);
	end(&f);
}

int main(void)
{
	CHECK_RUN(test_off);
	CHECK_RUN(test_captures);
	CHECK_RUN(test_rollback);
	CHECK_RUN(test_middle);
	CHECK_RUN(test_quota);
	CHECK_RUN(test_months);
	CHECK_RUN(test_person);
	CHECK_RUN(test_packets_again);
	CHECK_RUN(test_bound);
	CHECK_RUN(test_order);
	CHECK_RUN(test_row);
	CHECK_RUN(test_damaged);
	CHECK_RUN(test_earlier);
	return check_done();
}
