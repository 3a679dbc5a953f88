/* The archive's read-only side, which reads archives that the writer made. */
#include <errno.h>

#include "archive-fixture.h"
#include "clock.h"
#include "database.h"
#include "reader.h"
#include "statement.h"

#include <mprof/ring.h>

#define STREAM ((struct reader_source){.stream = 5})

static int count_run(void *context, const struct archive_run *run)
{
	(void)run;
	++*(int *)context;
	return 0;
}

static void test_not_there_yet(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct fixture f;
	int n = 0;

	CHECK_EQ_INT(reader_new(&r, "/nonexistent"), 0);
	CHECK_EQ_INT(reader_ready(r), ARCHIVE_E_BUSY);
	CHECK_EQ_INT(reader_run(r, 1, count_run, &n), ARCHIVE_E_BUSY);
	r = reader_free(r);
	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_ready(r), 0);
	CHECK_EQ_INT(reader_run(r, 1, count_run, &n), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 5), 0);
	CHECK_EQ_INT(reader_run(r, 1, count_run, &n), 0);
	CHECK_EQ_INT(n, 1);
	r = reader_free(r);
	fixture_deinit(&f);
}

static void test_newer(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	fixture_number(&f, "PRAGMA user_version = 99");
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_ready(r), ARCHIVE_E_NEWER);
	r = reader_free(r);
	fixture_deinit(&f);
}

static void test_replaced(void)
{
	const struct timespec look = {.tv_nsec = DATABASE_LOOK_NS};
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct fixture f;
	char from[128], to[128];
	int n = 0;

	if (!fixture_init(&f))
		return;
	fixture_put(&f, 1, "web", "running", 5);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_run(r, 1, count_run, &n), 0);
	f.w = archive_writer_free(f.w);
	snprintf(from, sizeof(from), "%s/archive", f.state);
	snprintf(to, sizeof(to), "%s/old", f.state);
	CHECK_EQ_INT(rename(from, to), 0);
	nanosleep(&look, NULL);
	CHECK_EQ_INT(reader_ready(r), ARCHIVE_E_BUSY);
	fixture_open(&f);
	fixture_put(&f, 2, "web", "running", 5);
	CHECK_EQ_INT(reader_ready(r), 0);
	CHECK_EQ_INT(reader_run(r, 1, count_run, &n), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(reader_run(r, 2, count_run, &n), 0);
	r = reader_free(r);
	fixture_deinit(&f);
}

/*
 * The version changes with each commit, and only then: also across checkpoints, and when the
 * archive is opened by another writer.
 */
static void test_version(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct reader_version before = {0}, now, again;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	fixture_put(&f, 1, "web", "running", 5);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	for (unsigned i = 0; i < 60; i++) {
		if (i % 20 == 19)
			fixture_reopen(&f);
		if (i % 3)
			fixture_packet(&f, 5, i, 5030, 1000 + i);
		else
			fixture_number(&f, "UPDATE runs SET began_real = %u", i);
		CHECK_EQ_INT(reader_version(r, &now), 0);
		CHECK_EQ_INT(reader_version(r, &again), 0);
		CHECK(i == 0 || now.commits != before.commits);
		CHECK(now.commits == again.commits && now.archives == again.archives);
		/* A checkpoint moves pages from the log to the file, and changes no row. */
		if (i % 7 == 6) {
			fixture_number(&f, "PRAGMA wal_checkpoint(TRUNCATE)");
			CHECK_EQ_INT(reader_version(r, &again), 0);
			CHECK_EQ_INT(again.archives, now.archives);
			now = again;
		}
		before = now;
	}
	r = reader_free(r);
	fixture_deinit(&f);
}

/*
 * A version that is asked for within a transaction is that of the transaction's snapshot. Behind the transaction the
 * version is that of the newest commit, although nothing was committed since the question.
 */
static void test_version_in_transaction(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct reader_version before, inside, after;
	struct reader_packet page[1];
	struct fixture f;
	size_t n = 1;

	if (!fixture_init(&f))
		return;
	fixture_put(&f, 1, "web", "running", 5);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_version(r, &before), 0);
	CHECK_EQ_INT(reader_begin(r), 0);
	CHECK_EQ_INT(reader_packets(r, STREAM, 0, INT64_MAX, false, page, &n), 0);
	fixture_packet(&f, 5, 1, 5030, 1000);
	CHECK_EQ_INT(reader_version(r, &inside), 0);
	CHECK_EQ_INT(inside.commits, before.commits);
	reader_end(r);
	CHECK_EQ_INT(reader_version(r, &after), 0);
	CHECK(after.commits != before.commits);
	r = reader_free(r);
	fixture_deinit(&f);
}

/* The reader detects that nothing was committed without a call of SQLite. */
static void test_commits_noted(void)
{
	struct database_commits c = {0};
	struct database_file file;
	struct fixture f;
	sqlite3 *db = NULL;
	char path[128];

	if (!fixture_init(&f))
		return;
	fixture_put(&f, 1, "web", "running", 5);
	snprintf(path, sizeof(path), "%s/archive/trace.db", f.state);
	if (CHECK_EQ_INT(database_read_open(&db, path, (int)fixture_number(&f, "PRAGMA user_version"), &file), 0)) {
		CHECK(!database_commits_hold(&c, db));
		database_commits_begin(&c, db);
		database_commits_note(&c, 7);
		CHECK(database_commits_hold(&c, db));
		CHECK_EQ_INT(c.number, 7);
		fixture_packet(&f, 5, 1, 5030, 1000);
		CHECK(!database_commits_hold(&c, db));
		database_commits_begin(&c, db);
		CHECK(database_commits_hold(&c, db));
	}
	sqlite3_close(db);
	fixture_deinit(&f);
}

/* Check the bytes of packet SEQUENCE from 30 to END, whatever rows have them. */
static void check_bytes(struct reader *r, uint64_t sequence, uint32_t end)
{
	static uint8_t out[3 << 20], want[3 << 20], scratch[ARCHIVE_PIECE_MAX];
	size_t got = 0;

	fixture_fill(want, 5, sequence, 30, end - 30);
	CHECK_EQ_INT(reader_bytes(r, STREAM, sequence, 30, sizeof(out), out, scratch, &got), 0);
	CHECK_EQ_UINT(got, end - 30);
	CHECK_EQ_MEM(out, want, end - 30);
	CHECK_EQ_INT(reader_bytes(r, STREAM, sequence, 1000, 100, out, scratch, &got), 0);
	CHECK_EQ_UINT(got, 100);
	CHECK_EQ_MEM(out, want + 970, 100);
	CHECK_EQ_INT(reader_bytes(r, STREAM, sequence, end, 100, out, scratch, &got), 0);
	CHECK_EQ_UINT(got, 0);
}

static void test_pieces(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct reader_packet p[4];
	struct archive_end end;
	struct fixture f;
	uint64_t stamp;
	size_t n = 4;

	if (!fixture_init(&f))
		return;
	fixture_put(&f, 1, "web", "running", 5);
	archive_writer_begin(f.w);
	for (uint32_t i = 0; i < 5; i++) /* the last piece has no chunk end */
		CHECK_EQ_INT(fixture_append(&f, 5, 7, 30 + i * 300000, 300000, 0, i < 4, 1000 + i), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_packets(r, STREAM, 0, INT64_MAX, false, p, &n), 0);
	CHECK_EQ_UINT(n, 1);
	CHECK(p[0].whole && !p[0].complete && p[0].begin == 30 && p[0].end == 1500030 && p[0].sequence == 7);
	stamp = p[0].stamp;
	CHECK_EQ_INT(reader_end_below(r, 5, 7, UINT32_MAX, &end), 0);
	CHECK_EQ_UINT(end.offset, 1200030);
	CHECK_EQ_UINT(end.real, 1003);
	check_bytes(r, 7, 1500030);
	archive_writer_begin(f.w);
	CHECK_EQ_INT(fixture_append(&f, 5, 7, 1500030, 10, ARCHIVE_CHUNK_LAST, true, 2000), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	n = 4;
	CHECK_EQ_INT(reader_packets(r, STREAM, 0, INT64_MAX, true, p, &n), 0);
	CHECK(n == 1 && p[0].complete && p[0].end == 1500040 && p[0].stamp != stamp);
	check_bytes(r, 7, 1500040);
	CHECK_EQ_INT(reader_end_below(r, 5, 7, 1200029, &end), 0);
	CHECK_EQ_UINT(end.offset, 900030);
	CHECK_EQ_INT(reader_end_below(r, 5, 7, 30, &end), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(reader_end_above(r, 5, 7, 30, 0, &end), 0);
	CHECK_EQ_UINT(end.offset, 300030);
	CHECK_EQ_INT(reader_end_above(r, 5, 7, 300030, 700000, &end), 0);
	CHECK_EQ_UINT(end.offset, 900030);
	/* The chunk end at 900,030 is exactly 600,000 bytes behind 300,030. */
	CHECK_EQ_INT(reader_end_above(r, 5, 7, 300030, 600000, &end), 0);
	CHECK_EQ_UINT(end.offset, 900030);
	CHECK_EQ_INT(reader_end_above(r, 5, 7, 300030, 599999, &end), 0);
	CHECK_EQ_UINT(end.offset, 600030);
	CHECK_EQ_INT(reader_end_above(r, 5, 7, 300030, 1, &end), 0);
	CHECK_EQ_UINT(end.offset, 600030);
	CHECK_EQ_INT(reader_end_above(r, 5, 7, 1500040, 0, &end), ARCHIVE_E_ABSENT);
	r = reader_free(r);
	fixture_deinit(&f);
}

static int refuse(void *context, const struct reader_capture *c)
{
	(void)c;
	++*(unsigned *)context;
	return 7;
}

/* If the callback returns an error, the list ends and the function returns this error. */
static void test_captures_refused(void)
{
	struct archive_capture c = {.run = 1, .kind = "snapshot", .real = 100};
	struct fixture f;
	struct reader *r;
	unsigned n = 0;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	for (c.id = 1; c.id <= 2; c.id++)
		CHECK_EQ_INT(archive_writer_put_capture(f.w, &c), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_captures(r, 0, INT64_MAX, 10, refuse, &n), 7);
	CHECK_EQ_UINT(n, 1);
	r = reader_free(r);
	fixture_deinit(&f);
}

/* codec_frame makes a valid zstd frame, for data of each length. */
static void test_frame(void)
{
	uint8_t data[CODEC_FRAME_MOST], frame[CODEC_FRAME_ROOM], out[CODEC_FRAME_MOST];
	struct codec_reader codec = {0};

	CHECK_EQ_INT(codec_reader_init(&codec), 0);
	fixture_fill(data, 1, 2, 3, sizeof(data));
	for (size_t n = 1; n <= sizeof(data); n++) {
		size_t bytes = codec_frame(data, n, frame);

		CHECK(bytes <= sizeof(frame) && codec_is_frame_of(frame, bytes, n));
		CHECK(codec_decode(&codec, CODEC_ZSTD, frame, bytes, out, n));
		CHECK_EQ_MEM(out, data, n);
		frame[9] ^= 1;
		CHECK(!codec_decode(&codec, CODEC_ZSTD, frame, bytes, out, n));
	}
	codec_reader_deinit(&codec);
}

static void test_stored(void)
{
	static uint8_t out[ARCHIVE_PIECE_MAX], plain[ARCHIVE_PIECE_MAX], want[5000];
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct codec_reader codec = {0};
	struct reader_piece piece;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	fixture_put(&f, 1, "web", "running", 5);
	fixture_packet(&f, 5, 3, 5030, 1000);
	fixture_fill(want, 5, 3, 30, 5000);
	CHECK_EQ_INT(codec_reader_init(&codec), 0);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_piece(r, STREAM, 3, 30, 5030, PIECE_STORED, out, &piece), 0);
	CHECK(piece.stored && piece.bytes < 5000);
	CHECK(codec_decode(&codec, piece.codec, out, piece.bytes, plain, 5000));
	CHECK_EQ_MEM(plain, want, 5000);
	CHECK_EQ_INT(reader_piece(r, STREAM, 3, 31, 5030, PIECE_STORED, out, &piece), 0);
	CHECK(!piece.stored && piece.offset == 30 && piece.bytes == 5000);
	CHECK_EQ_INT(reader_piece(r, STREAM, 3, 30, 5029, PIECE_STORED, out, &piece), 0);
	CHECK(!piece.stored);
	CHECK_EQ_INT(reader_piece(r, STREAM, 3, 31, 40, PIECE_PACKED, out, &piece), 0);
	CHECK(piece.stored && piece.offset == 30 && piece.length == 5000);
	CHECK(codec_decode(&codec, piece.codec, out, piece.bytes, plain, 5000));
	CHECK_EQ_MEM(plain, want, 5000);
	CHECK_EQ_INT(reader_piece(r, STREAM, 3, 5030, 6000, PIECE_STORED, out, &piece), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(reader_piece(r, STREAM, 4, 30, 6000, PIECE_STORED, out, &piece), ARCHIVE_E_ABSENT);
	r = reader_free(r);
	codec_reader_deinit(&codec);
	fixture_deinit(&f);
}

/* A damaged archive makes reads fail with an error, and never crashes the reader. */
static void test_damaged(void)
{
	static const char *const damage[] = {
		"UPDATE chunks SET length = 2000000000",
		"UPDATE chunks SET length = -5",
		"UPDATE chunks SET length = 4999",
		"UPDATE chunks SET codec = 9",
		"UPDATE chunks SET data = x'00'",
		"UPDATE chunks SET data = NULL WHERE 0",
		"UPDATE chunks SET data = 'text'",
		"UPDATE chunks SET offset = -30",
		"UPDATE chunks SET ends = x'00'",
		"UPDATE chunks SET first_timestamp = 'x', packet_bytes = -1, flags = 'x'",
		"UPDATE runs SET name = x'ff00', state = 5, source = x''",
		"UPDATE streams SET number = -1, ring_packets = 99999999999",
	};
	static uint8_t out[ARCHIVE_PIECE_MAX];

	for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		CLEANUP(reader_freep) struct reader *r = NULL;
		struct reader_packet p[4];
		struct reader_piece piece;
		struct archive_end end;
		struct fixture f;
		size_t n = 4;
		int runs = 0, rc;

		if (!fixture_init(&f))
			return;
		fixture_put(&f, 1, "web", "running", 5);
		fixture_packet(&f, 5, 3, 5030, 1000);
		fixture_number(&f, "%s", damage[i]);
		CHECK_EQ_INT(reader_new(&r, f.state), 0);
		CHECK_EQ_INT(reader_packets(r, STREAM, 0, INT64_MAX, false, p, &n), 0);
		rc = reader_piece(r, STREAM, 3, 30, 5030, PIECE_DECODED, out, &piece);
		CHECK(rc == 0 || rc == ARCHIVE_E_DAMAGED || rc == ARCHIVE_E_ABSENT);
		rc = reader_piece(r, STREAM, 3, 30, 5030, PIECE_STORED, out, &piece);
		CHECK(rc == 0 || rc == ARCHIVE_E_DAMAGED || rc == ARCHIVE_E_ABSENT);
		rc = reader_end_below(r, 5, 3, UINT32_MAX, &end);
		CHECK(rc == 0 || rc == ARCHIVE_E_DAMAGED || rc == ARCHIVE_E_ABSENT);
		rc = reader_run(r, 1, count_run, &runs);
		CHECK(rc == 0 || rc == ARCHIVE_E_DAMAGED);
		r = reader_free(r);
		fixture_deinit(&f);
	}
}

static void test_transaction_is_short(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct reader_packet p;
	struct fixture f;
	uint64_t began = clock_mono(), before;
	size_t n = 1;

	if (!fixture_init(&f))
		return;
	fixture_put(&f, 1, "web", "running", 5);
	fixture_packet(&f, 5, 3, 5030, 1000);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_packets(r, STREAM, 0, INT64_MAX, false, &p, &n), 0);
	/* No call leaves a lock behind, so a checkpoint can empty the WAL (result 0: not busy). */
	CHECK_EQ_INT(fixture_number(&f, "PRAGMA wal_checkpoint(TRUNCATE)"), 0);
	/*
	 * All reads of one transaction see the same state, although a commit happens between them.
	 */
	CHECK_EQ_INT(reader_begin(r), 0);
	n = 1;
	CHECK_EQ_INT(reader_packets(r, STREAM, 4, 4, false, &p, &n), 0);
	fixture_packet(&f, 5, 4, 5030, 1000);
	CHECK_EQ_UINT(n, 0);
	n = 1;
	CHECK_EQ_INT(reader_packets(r, STREAM, 4, 4, false, &p, &n), 0);
	CHECK_EQ_UINT(n, 0);
	before = reader_longest(r);
	CHECK(before <= clock_mono() - began);
	usleep(200000);
	reader_end(r);
	CHECK(reader_longest(r) >= 200 * NS_PER_MS &&
	      reader_longest(r) > before); /* the time between two calls of the caller counts */
	CHECK(reader_longest(r) <= clock_mono() - began);
	n = 1;
	CHECK_EQ_INT(reader_packets(r, STREAM, 4, 4, false, &p, &n), 0);
	CHECK_EQ_UINT(n, 1);
	r = reader_free(r);
	fixture_deinit(&f);
}

/*
 * reader_longest counts a query inside the callback of another as one transaction. A query whose
 * callback ends it early is over when its call returns.
 */
static int wait_and_read(void *context, const struct archive_run *run)
{
	struct reader_packet p;
	size_t n = 1;

	usleep(100000);
	CHECK_EQ_INT(reader_packets(context, STREAM, 0, INT64_MAX, false, &p, &n), 0);
	usleep(100000);
	return (int)run->id;
}

static void test_longest_counts_what_overlaps(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct fixture f;
	uint64_t longest, began;
	int n = 0;

	if (!fixture_init(&f))
		return;
	fixture_put(&f, 1, "web", "running", 5);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_run(r, 1, wait_and_read, r), 1);
	longest = reader_longest(r);
	CHECK(longest >= 200 * NS_PER_MS);
	usleep(300000);
	began = clock_mono();
	CHECK_EQ_INT(reader_run(r, 1, count_run, &n), 0);
	/*
	 * The time between the two queries is in neither transaction. The second query alone may
	 * take longer on a busy machine.
	 */
	CHECK(reader_longest(r) == longest || reader_longest(r) <= clock_mono() - began);
	r = reader_free(r);
	fixture_deinit(&f);
}

#define SUMMED 60u

/* Put many rows, good and bad ones, in no order: chunks of the stream, or its tail in capture 9. */
static void put_rows(sqlite3 *db, bool tail, uint64_t seed)
{
	static const char *const sql[] = {
		"INSERT INTO chunks (sequence, offset, length, first_timestamp, packet_bytes, flags, stream, codec, "
		"ends, data) "
		"VALUES (?, ?, ?, ?, ?, ?, 5, 0, x'', x'')",
		"INSERT INTO tails (sequence, offset, length, first_timestamp, packet_bytes, capture, stream, codec, "
		"data) "
		"VALUES (?, ?, ?, ?, ?, 9 + (? & 0), 5, 0, x'')",
	};
	static const int64_t odd[] = {-1, 0, 1 << 20, 1 << 21, INT32_MAX, UINT32_MAX, 1LL << 40, -(1LL << 40)};
	sqlite3_stmt *s = NULL;

	CHECK_EQ_INT(sqlite3_prepare_v2(db, sql[tail], -1, &s, NULL), SQLITE_OK);
	for (unsigned i = 0; i < 4 * SUMMED; i++) {
		int64_t values[6] = {0, 30, 1000, 0, 4096, 0};

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		values[0] = (int64_t)(seed >> 33) % SUMMED;
		values[1] += 1000 * (int64_t)(seed >> 41 & 3);
		values[3] = (int64_t)(seed >> 50 & 1023);
		values[5] = (int64_t)(seed >> 61);
		if ((seed >> 45 & 3) == 0)
			values[1 + (seed >> 47 & 3)] = odd[seed >> 57 & 7];
		for (int k = 0; k < 6; k++)
			sqlite3_bind_int64(s, k + 1, values[k]);
		CHECK_EQ_INT(sqlite3_step(s), SQLITE_DONE);
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
}

/* Have SQLite sum up the rows of each packet to ALL. Return the number of packets. */
static size_t sum_up(sqlite3 *db, bool tail, struct reader_packet *all)
{
	static const char *const sql[] = {
		"SELECT sequence, max(first_timestamp), min(offset), max(offset + length), "
		"max(packet_bytes), " SUM_OF_LENGTHS ", count(*), max(id), max(flags & 1), max(flags & 4), min(CASE "
		"WHEN flags & 2 THEN offset END) FROM chunks"
		" WHERE stream = 5 GROUP BY sequence ORDER BY sequence",
		"SELECT sequence, max(first_timestamp), min(offset), max(offset + length), "
		"max(packet_bytes), " SUM_OF_LENGTHS ", count(*), max(id), 1, 0, min(offset) FROM tails WHERE stream = "
		"5 AND capture = 9 GROUP BY sequence ORDER BY"
		" sequence",
	};
	sqlite3_stmt *s = NULL;
	size_t n = 0;

	CHECK_EQ_INT(sqlite3_prepare_v2(db, sql[tail], -1, &s, NULL), SQLITE_OK);
	for (; sqlite3_step(s) == SQLITE_ROW; n++) {
		all[n] = (struct reader_packet){
			.sequence = column_u64(s, 0),
			.first_timestamp = column_u64(s, 1),
			.begin = column_u32(s, 2),
			.end = column_u32(s, 3),
			.room = column_u32(s, 4),
			.stamp = column_u64(s, 6) << 48 ^ column_u64(s, 7),
			.complete = sqlite3_column_int(s, 8),
			.clock = sqlite3_column_int(s, 9),
			.unproven_from = column_u32(s, 10),
		};
		all[n].whole = all[n].begin >= 30 && all[n].end >= all[n].begin &&
			       all[n].end - all[n].begin == column_u64(s, 5) && all[n].end <= MPROF_RING_BYTES_MAX;
	}
	sqlite3_finalize(s);
	return n;
}

static bool is_same_packet(const struct reader_packet *a, const struct reader_packet *b)
{
	return a->sequence == b->sequence && a->first_timestamp == b->first_timestamp && a->begin == b->begin &&
	       a->end == b->end && a->room == b->room && a->unproven_from == b->unproven_from &&
	       a->complete == b->complete && a->clock == b->clock && a->whole == b->whole && a->stamp == b->stamp;
}

/* Read MOST packets from FROM to TO, in both directions. They must be those of ALL, of which there are N. */
static void compare_packets(struct reader *r, struct reader_source source, const struct reader_packet *all, size_t n,
			    const uint64_t range[3])
{
	struct reader_packet got[SUMMED];
	size_t first = 0, end = n, many = range[2], down = range[2];

	while (first < n && all[first].sequence < range[0])
		first++;
	while (end > first && all[end - 1].sequence > range[1])
		end--;
	CHECK_EQ_INT(reader_packets(r, source, range[0], range[1], false, got, &many), 0);
	CHECK_EQ_UINT(many, end - first < range[2] ? end - first : range[2]);
	for (size_t i = 0; i < many && i < end - first; i++)
		CHECK(is_same_packet(&got[i], &all[first + i]));
	CHECK_EQ_INT(reader_packets(r, source, range[0], range[1], true, got, &down), 0);
	CHECK_EQ_UINT(down, many);
	for (size_t i = 0; i < down && i < end - first; i++)
		CHECK(is_same_packet(&got[i], &all[end - 1 - i]));
}

/* A packet is summed up from its rows as SQLite does it, whatever the rows are. */
static void test_packets_summed(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct reader_packet all[SUMMED] = {0};
	struct fixture f;
	sqlite3 *db;

	if (!fixture_init(&f))
		return;
	db = fixture_database(&f);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	for (unsigned tail = 0; tail < 2; tail++) {
		struct reader_source source = {.stream = 5, .capture = tail ? 9 : 0};
		size_t n;

		compare_packets(r, source, all, 0, (uint64_t[]){0, INT64_MAX, 8});
		put_rows(db, tail, 7 + tail);
		n = sum_up(db, tail, all);
		CHECK(n > SUMMED / 2);
		for (uint64_t from = 0; from < SUMMED; from += 3)
			for (uint64_t most = 0; most <= SUMMED; most = most * 2 + 1)
				compare_packets(r, source, all, n, (uint64_t[]){from, from + most, most});
		compare_packets(r, source, all, n, (uint64_t[]){0, INT64_MAX, SUMMED});
		compare_packets(r, source, all, n, (uint64_t[]){0, INT64_MAX, 1});
	}
	sqlite3_close(db);
	r = reader_free(r);
	fixture_deinit(&f);
}

static sqlite3_mem_methods honest;
static long fail_in = -1; /* allocations of SQLite that succeed before one fails; below 0 none fails */

static void *scarce_malloc(int n)
{
	return fail_in >= 0 && fail_in-- == 0 ? NULL : honest.xMalloc(n);
}

static void *scarce_realloc(void *p, int n)
{
	return fail_in >= 0 && fail_in-- == 0 ? NULL : honest.xRealloc(p, n);
}

/* Whatever allocation fails: a guest that is there is found, or the reader says that it has no memory. */
static void test_no_memory(void)
{
	static const char name[] = "a-name-for-which-the-room-of-a-shorter-one-does-not-suffice";
	CLEANUP(reader_freep) struct reader *r = NULL;
	sqlite3_mem_methods methods;
	struct fixture f;
	unsigned failed = 0;
	int64_t run = 0;
	bool any = true;
	int rc;

	CHECK_EQ_INT(sqlite3_shutdown(), SQLITE_OK);
	CHECK_EQ_INT(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &honest), SQLITE_OK);
	methods = honest;
	methods.xMalloc = scarce_malloc;
	methods.xRealloc = scarce_realloc;
	CHECK_EQ_INT(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
	CHECK_EQ_INT(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK); /* room for small texts */
	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, name, "running", 5), 0);
	for (long n = 0; any && n < 10000; n++) {
		CHECK_EQ_INT(reader_new(&r, f.state), 0);
		CHECK_EQ_INT(reader_run_by_name(r, "web", &run), ARCHIVE_E_ABSENT);
		fail_in = n;
		rc = reader_run_by_name(r, name, &run);
		any = fail_in < 0;
		fail_in = -1;
		failed += any;
		CHECK(rc == 0 || rc == -ENOMEM);
		r = reader_free(r);
	}
	CHECK(!any);
	CHECK(failed > 0);
	fixture_deinit(&f);
}

int main(void)
{
	CHECK_RUN(test_not_there_yet);
	CHECK_RUN(test_newer);
	CHECK_RUN(test_replaced);
	CHECK_RUN(test_version);
	CHECK_RUN(test_version_in_transaction);
	CHECK_RUN(test_commits_noted);
	CHECK_RUN(test_pieces);
	CHECK_RUN(test_packets_summed);
	CHECK_RUN(test_captures_refused);
	CHECK_RUN(test_frame);
	CHECK_RUN(test_stored);
	CHECK_RUN(test_damaged);
	CHECK_RUN(test_transaction_is_short);
	CHECK_RUN(test_longest_counts_what_overlaps);
	CHECK_RUN(test_no_memory);
	return check_done();
}
