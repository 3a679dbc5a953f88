/*
 * Damaged rows of the archive: every reader of a row detects a flipped bit, and the lost data is
 * declared as a gap.
 */
#include <errno.h>
#include <fcntl.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "archive-fixture.h"
#include "array.h"
#include "capture-coverage.h"
#include "catch.h"
#include "clock.h"
#include "fsck.h"
#include "memtraces-reader.h"
#include "reader.h"
#include "row-sums.h"

#define CHUNKS ((struct reader_source){.stream = 1})
#define TAIL   ((struct reader_source){.stream = 1, .capture = 9})

/*
 * Make a run with packets 3 (complete), 4 (two rows, the second without the packet's end), and a
 * capture with a tail of two rows.
 */
static bool archive_make(struct fixture *f)
{
	struct archive_capture capture = {.id = 9, .run = 1, .kind = "crash", .real = 5};
	struct archive_capture_stream range = {9, 1, 3, 4, 830, 0};
	uint8_t data[300];
	struct archive_piece tail = {
		.stream = 1, .sequence = 4, .offset = 830, .length = 300, .packet_bytes = 9000, .data = data};

	if (!fixture_init(f))
		return false;
	fixture_fill(data, 1, 4, 830, sizeof(data));
	CHECK_EQ_INT(fixture_put(f, 1, "web", "ended", 1), 0);
	CHECK_EQ_INT(fixture_packet(f, 1, 3, 5030, 1000), 0);
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(fixture_append(f, 1, 4, 30, 500, 0, true, 2000), 0);
	CHECK_EQ_INT(fixture_append(f, 1, 4, 530, 300, 0, true, 2001), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f->w, &capture), 0);
	CHECK_EQ_INT(archive_writer_tail(f->w, 9, &tail), 0);
	tail.sequence = 5;
	tail.offset = 30;
	CHECK_EQ_INT(archive_writer_tail(f->w, 9, &tail), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f->w, &range), 0);
	return CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

__attribute__((format(printf, 2, 3))) static void change(const struct fixture *f, const char *format, ...)
{
	sqlite3 *db = fixture_database(f);
	char sql[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(sql, sizeof(sql), format, args);
	va_end(args);
	sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
	CHECK_EQ_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* The checksum of a row is the one that the schema defines. */
static void test_as_the_schema_says(void)
{
	static const char *const numbers = "SELECT stream, sequence, offset, length, flags, first_timestamp, "
					   "packet_bytes, codec, data, ends, checksum "
					   "FROM chunks WHERE sequence = 3";
	uint8_t bytes[8 * 9 + 20];
	sqlite3_stmt *s = NULL;
	struct fixture f;
	sqlite3 *db;

	if (!archive_make(&f))
		return;
	db = fixture_database(&f);
	CHECK_EQ_INT(sqlite3_prepare_v2(db, numbers, -1, &s, NULL), SQLITE_OK);
	if (CHECK_EQ_INT(sqlite3_step(s), SQLITE_ROW) && CHECK_EQ_INT(sqlite3_column_bytes(s, 10), 16) &&
	    CHECK_EQ_INT(sqlite3_column_bytes(s, 9), 20)) {
		uint64_t data = XXH3_64bits(sqlite3_column_blob(s, 8), (size_t)sqlite3_column_bytes(s, 8));
		const uint8_t *sum = sqlite3_column_blob(s, 10);

		for (int i = 0; i < 8; i++)
			mprof_store64(bytes + 8 * i, (uint64_t)sqlite3_column_int64(s, i));
		mprof_store64(bytes + 64, data);
		memcpy(bytes + 72, sqlite3_column_blob(s, 9), 20);
		CHECK_EQ_UINT(mprof_load64(sum), data);
		CHECK_EQ_UINT(mprof_load64(sum + 8), XXH3_64bits(bytes, sizeof(bytes)));
	}
	sqlite3_finalize(s);
	sqlite3_close(db);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks WHERE checksum IS NULL"), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM tails WHERE checksum IS NULL"), 0);
	CHECK_EQ_INT(
		fixture_number(&f, "SELECT count(*) FROM capture_streams WHERE checksum IS NULL OR tail_bytes <> 600"),
		0);
	fixture_deinit(&f);
}

/*
 * Read the archive with each function of the reader. The result must be the right bytes, damage
 * that the reader reports, or a piece that is absent.
 */
static void read_pieces(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset,
			const char *what)
{
	static uint8_t out[2 * ARCHIVE_PIECE_MAX], want[ARCHIVE_PIECE_MAX];
	struct reader_piece piece;
	struct reader_damage damage;

	for (int stored = 0; stored < 2; stored++) {
		int rc = reader_piece(r, source, sequence, offset, UINT32_MAX, stored ? PIECE_STORED : PIECE_DECODED,
				      out, &piece);

		if (rc == 0 && !piece.stored) {
			fixture_fill(want, 1, source.capture ? 4 : sequence, source.capture ? 830 : piece.offset,
				     piece.length);
			if (!CHECK(memcmp(out, want, piece.length) == 0))
				fprintf(stderr, "%s\n", what);
		} else if (rc == ARCHIVE_E_DAMAGED) {
			CHECK(reader_take_damage(r, &damage) && damage.stream == 1 && damage.capture == source.capture);
			CHECK(!reader_take_damage(r, &damage));
		} else if (!CHECK(rc == 0 || rc == ARCHIVE_E_ABSENT)) {
			fprintf(stderr, "%s: %d\n", what, rc);
		}
		if (!CHECK(rc != 0 || strncmp(what, "nothing", 7) == 0))
			fprintf(stderr, "%s was read all the same\n", what);
	}
}

/* Flip each bit of each number of a row, and some bits of its other fields. */
static void test_flips(void)
{
	static const struct {
		const char *table, *columns[8];
	} tables[] = {
		{"chunks",
		 {"stream", "sequence", "offset", "length", "flags", "first_timestamp", "packet_bytes", "codec"}},
		{"tails",
		 {"capture", "stream", "sequence", "offset", "length", "first_timestamp", "packet_bytes", "codec"}},
	};
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct fixture f;
	char what[160];

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	read_pieces(r, CHUNKS, 3, 30, "nothing");
	read_pieces(r, TAIL, 5, 30, "nothing");
	for (size_t t = 0; t < 2; t++) {
		for (int column = 0; column < 8; column++)
			for (int bit = 0; bit < 63; bit += (column < 5 ? 1 : 5) * (int)check_step(3)) {
				const char *name = tables[t].columns[column];
				int sequence = t ? 5 : 3;

				snprintf(what, sizeof(what), "%s.%s bit %d", tables[t].table, name, bit);
				change(&f,
				       "UPDATE %s SET %s = (%s | (1 << %d)) - (%s & (1 << %d)) WHERE id = (SELECT id "
				       "FROM %s "
				       "WHERE sequence = %d)",
				       tables[t].table, name, name, bit, name, bit, tables[t].table, sequence);
				read_pieces(r, t ? TAIL : CHUNKS, (uint64_t)sequence, 30, what);
				change(&f, "UPDATE %s SET %s = (%s | (1 << %d)) - (%s & (1 << %d)) WHERE id = %d",
				       tables[t].table, name, name, bit, name, bit, t ? 2 : 1);
			}
		read_pieces(r, t ? TAIL : CHUNKS, t ? 5 : 3, 30, "nothing is left of that");
	}
	r = reader_free(r);
	fixture_deinit(&f);
}

/* A function that reads a row without its data checks the row, too. */
static void test_ends(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct archive_end end;
	struct fixture f;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_end_below(r, 1, 4, 600, &end), 0);
	CHECK_EQ_UINT(end.offset, 530);
	change(&f,
	       "UPDATE chunks SET ends = CAST(x'1102' || substr(ends, 3) AS BLOB) WHERE sequence = 4 AND offset = 30");
	CHECK_EQ_INT(reader_end_below(r, 1, 4, 600, &end), ARCHIVE_E_DAMAGED);
	CHECK_EQ_INT(reader_end_above(r, 1, 4, 30, 0, &end), ARCHIVE_E_DAMAGED);
	CHECK_EQ_INT(reader_end_copied(r, 1, 4, 2000, &end), ARCHIVE_E_DAMAGED);
	CHECK_EQ_INT(reader_end_copied(r, 1, 3, 2000, &end), 0);
	r = reader_free(r);
	fixture_deinit(&f);
}

/*
 * A row without a checksum is valid only if an older version wrote it. The reader decompresses such
 * a row before it returns any of its bytes.
 */
static void test_rows_from_before(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	static uint8_t out[2 * ARCHIVE_PIECE_MAX];
	struct reader_piece piece;
	struct fixture f;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	change(&f, "UPDATE chunks SET checksum = NULL");
	CHECK_EQ_INT(reader_piece(r, CHUNKS, 3, 30, UINT32_MAX, PIECE_STORED, out, &piece), ARCHIVE_E_DAMAGED);
	change(&f, "UPDATE unchecked SET chunks = 1");
	CHECK_EQ_INT(reader_piece(r, CHUNKS, 3, 30, UINT32_MAX, PIECE_STORED, out, &piece), 0);
	CHECK(piece.stored && piece.codec == CODEC_ZSTD);
	CHECK_EQ_INT(reader_piece(r, CHUNKS, 4, 30, UINT32_MAX, PIECE_STORED, out, &piece), ARCHIVE_E_DAMAGED);
	change(&f, "UPDATE chunks SET data = CAST(substr(data, 1, length(data) - 40) || zeroblob(40) AS BLOB) WHERE id "
		   "= 1");
	CHECK_EQ_INT(reader_piece(r, CHUNKS, 3, 30, UINT32_MAX, PIECE_STORED, out, &piece), ARCHIVE_E_DAMAGED);
	r = reader_free(r);
	fixture_deinit(&f);
}

/* Check that a range is told as lost, if it is. */
static int check_lost(void *context, const struct reader_capture_range *range)
{
	bool lost = archive_range_is_lost(range->range.last_offset, range->tail_marked);
	enum coverage coverage;

	CHECK_EQ_INT(coverage_of_range(context, range, &coverage), 0);
	CHECK(!lost || coverage == COVERAGE_NONE);
	return lost ? 1 : 0;
}

/*
 * If the first or last row of a stream, a capture's range or a tail is deleted, the reader detects
 * this. A damaged range is written again by the list of its capture; if that is damaged, too, the capture
 * still says that it had the stream.
 */
static void test_vanished(void)
{
	static const struct {
		const char *sql;
		bool is_capture;
	} damage[] = {
		{"UPDATE chunks SET stream = 2 WHERE sequence = 3", false},
		{"DELETE FROM chunks WHERE sequence = 3", false},
		{"UPDATE tails SET capture = 8 WHERE sequence = 5", true},
		{"UPDATE tails SET stream = 2 WHERE sequence = 4", true},
		{"UPDATE capture_streams SET last_offset = 831", true},
		{"UPDATE capture_streams SET last_sequence = 3", true},
		{"UPDATE capture_streams SET first_sequence = 4", true},
		{"UPDATE capture_streams SET tail_bytes = 300", true},
		{"UPDATE capture_streams SET checksum = NULL", true},
		{"UPDATE capture_streams SET reached = 530", true},
		{"UPDATE tails SET sequence = 1 WHERE sequence = 5", true},
		{"UPDATE chunks SET stream = 2 WHERE sequence = 4", true},
		{"UPDATE chunks SET stream = 2 WHERE sequence = 4 AND offset = 530", true},
	};

	for (size_t i = 0; i < 2 * sizeof(damage) / sizeof(damage[0]); i += check_step(3)) {
		CLEANUP(reader_freep) struct reader *r = NULL;
		const char *damage_sql = damage[i / 2].sql;
		const bool is_capture = damage[i / 2].is_capture, has_list = i % 2;
		struct reader_stream_check check;
		bool damaged, lacks;
		struct fixture f;

		if (!archive_make(&f))
			return;
		CHECK_EQ_INT(reader_new(&r, f.state), 0);
		CHECK_EQ_INT(reader_check(r, TAIL, &check), 0);
		change(&f, "PRAGMA foreign_keys = OFF; %s", damage_sql);
		if (!has_list)
			change(&f, "UPDATE capture_lists SET ranges = zeroblob(length(ranges))");
		CHECK_EQ_INT(reader_check(r, is_capture ? TAIL : CHUNKS, &check), ARCHIVE_E_DAMAGED);
		CHECK_EQ_INT(archive_writer_repair(f.w, 1, 4, is_capture ? 9 : 0, &damaged), 0);
		CHECK(damaged);
		CHECK_EQ_INT(reader_check(r, TAIL, &check), 0);
		CHECK_EQ_INT(reader_capture_ranges(r, 9, check_lost, r, NULL),
			     !has_list && strstr(damage_sql, "capture_streams") != NULL);
		CHECK_EQ_INT(reader_capture_lacks(r, 9, &lacks), 0);
		CHECK_EQ_INT(lacks, !has_list);
		(void)archive_writer_repair(f.w, 1, 4, 9, &damaged);
		CHECK_EQ_INT(archive_writer_repair(f.w, 1, 4, 9, &damaged), 0);
		CHECK(!damaged);
		CHECK_EQ_INT(archive_writer_repair(f.w, 1, 4, 0, &damaged), 0);
		CHECK(!damaged);
		r = reader_free(r);
		fixture_deinit(&f);
	}
}

/*
 * Check the writer's count of the stream's bytes: a quota of that many bytes deletes nothing, and a
 * quota of one byte less deletes something.
 */
static void check_tally(struct fixture *f)
{
	int64_t bytes = fixture_number(f, "SELECT (SELECT coalesce(sum(length), 0) FROM chunks) + "
					  "(SELECT coalesce(sum(length), 0) FROM tails)");
	int64_t rows = fixture_number(f, "SELECT count(*) FROM chunks");
	bool more;

	CHECK_EQ_INT(archive_writer_enforce(f->w, "web", (uint64_t)bytes, 0, 100, &more), 0);
	CHECK_EQ_INT(fixture_number(f, "SELECT count(*) FROM chunks"), rows);
	CHECK_EQ_INT(archive_writer_enforce(f->w, "web", (uint64_t)bytes - 1, 0, 1, &more), 0);
	CHECK(fixture_number(f, "SELECT count(*) FROM chunks") < rows);
}

struct ranges_seen {
	unsigned ranges, lost;
	uint64_t first, last, tail;
};

static int see_range(void *context, const struct reader_capture_range *range)
{
	struct ranges_seen *seen = context;

	seen->ranges++;
	seen->lost += archive_range_is_lost(range->range.last_offset, range->tail_marked);
	seen->first = range->range.first_sequence;
	seen->last = range->range.last_sequence;
	seen->tail = range->tail_marked;
	return 0;
}

static struct ranges_seen ranges_of_capture(struct reader *r)
{
	struct ranges_seen seen = {0};

	CHECK_EQ_INT(reader_capture_ranges(r, 9, see_range, &seen, NULL), 0);
	return seen;
}

/* Read the capture, of which the row of its range was taken away. */
static void check_taken_away(struct fixture *f, struct reader *r)
{
	struct reader_damage damage;
	struct ranges_seen seen = ranges_of_capture(r);
	bool damaged, lacks;
	int64_t end;

	CHECK(seen.ranges == 1 && seen.lost == 0 && seen.first == 3 && seen.last == 4 && seen.tail == 600);
	CHECK(reader_take_damage(r, &damage) && damage.capture == 9 && damage.stream == 1);
	CHECK_EQ_INT(reader_end_capture(r, 1, &end), ARCHIVE_E_DAMAGED);
	CHECK_EQ_INT(archive_writer_repair(f->w, damage.stream, damage.sequence, damage.capture, &damaged), 0);
	CHECK(damaged);
	CHECK_EQ_INT(fixture_number(f, "SELECT reached FROM capture_streams"), 830);
	CHECK_EQ_INT(reader_end_capture(r, 1, &end), 0);
	CHECK_EQ_INT(reader_capture_lacks(r, 9, &lacks), 0);
	CHECK(!lacks);
}

/* A row of capture_streams that is gone is read, and written again, by the list of its capture. */
static void test_row_taken_away(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	bool damaged, lacks;
	struct fixture f;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	change(&f, "DELETE FROM capture_streams");
	check_taken_away(&f, r);
	/* The row of the stream, too: nothing of it is found. */
	change(&f, "PRAGMA foreign_keys = OFF; DELETE FROM capture_streams; DELETE FROM streams");
	CHECK_EQ_UINT(ranges_of_capture(r).lost, 1);
	/* The list, too: nothing tells what there was. */
	change(&f, "DELETE FROM capture_lists");
	CHECK_EQ_UINT(ranges_of_capture(r).ranges, 0);
	CHECK_EQ_INT(reader_capture_lacks(r, 9, &lacks), 0);
	CHECK(lacks);
	CHECK_EQ_INT(archive_writer_repair(f.w, 0, 0, 9, &damaged), 0);
	CHECK(damaged);
	CHECK_EQ_INT(reader_capture_lacks(r, 9, &lacks), 0);
	CHECK(lacks);
	r = reader_free(r);
	fixture_deinit(&f);
}

static int no_resume(void *context, const struct archive_resume *resume)
{
	(void)context;
	(void)resume;
	return 0;
}

/* When mprofd starts, it writes ranges again by the lists, before it deletes tails without a range. */
static void test_restored_at_start(void)
{
	struct fixture f;

	if (!archive_make(&f))
		return;
	change(&f, "DELETE FROM capture_streams");
	CHECK_EQ_INT(archive_writer_resume(f.w, no_resume, NULL), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT (SELECT count(*) FROM capture_streams) + (SELECT count(*) FROM tails)"),
		     3);
	/* A capture of an earlier version gets its list. */
	change(&f, "DELETE FROM capture_lists; UPDATE unchecked SET lists = 9");
	CHECK_EQ_INT(archive_writer_resume(f.w, no_resume, NULL), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT length(ranges) FROM capture_lists"), 56);
	CHECK_EQ_INT(fixture_number(&f, "SELECT lists FROM unchecked"), 0);
	/* Without the row of a capture nothing tells what it was. */
	change(&f, "PRAGMA foreign_keys = OFF; DELETE FROM captures");
	CHECK_EQ_INT(archive_writer_resume(f.w, no_resume, NULL), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT (SELECT count(*) FROM capture_streams) + (SELECT count(*) FROM tails)"
					" + (SELECT count(*) FROM capture_lists)"),
		     0);
	CHECK_EQ_UINT(archive_writer_deletions(f.w)->n, 1);
	CHECK_EQ_UINT(archive_writer_deletions(f.w)->list[0].captures, 1);
	check_tally(&f);
	fixture_deinit(&f);
}

/* A damaged row is deleted once, together with the rows behind it; the rows before it stay. */
static void test_repair(void)
{
	struct archive_damage d;
	struct fixture f;
	bool damaged;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 4, 0, &damaged), 0);
	CHECK(!damaged);
	CHECK_EQ_INT(archive_writer_repair(f.w, 77, 4, 0, &damaged), ARCHIVE_E_ABSENT);
	change(&f, "UPDATE chunks SET data = CAST(data || x'00' AS BLOB) WHERE sequence = 4 AND offset = 530");
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 4, 0, &damaged), 0);
	CHECK(damaged);
	CHECK_EQ_UINT(fixture_read(&f, 1, 4).end, 530);
	CHECK(fixture_read(&f, 1, 3).is_complete);
	CHECK_EQ_INT(
		fixture_number(
			&f,
			"SELECT count(*) FROM gaps WHERE kind = 'lost' AND reason = 'damaged' AND after_sequence = 4 "
			"AND after_offset = 530 AND next_sequence = 5 AND packets = 1"),
		1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT lost_packets * 10 + damaged_packets FROM streams"), 11);
	d = archive_writer_damage(f.w);
	CHECK(d.pieces == 1 && d.packets == 1 && d.stream == 1 && d.sequence == 4);
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 4, 0, &damaged), 0);
	CHECK(!damaged);
	change(&f, "UPDATE chunks SET length = length + 1 WHERE sequence = 3");
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 3, 0, &damaged), 0);
	CHECK(damaged);
	CHECK_EQ_UINT(fixture_read(&f, 1, 3).rows, 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT oldest * 1000 + coalesce(newest, 999) * 10 + held FROM streams"), 4030);
	check_tally(&f);
	fixture_deinit(&f);
}

/*
 * If the writer finds damage while it joins a packet's rows, the packet ends before the damage, and
 * the stream continues with the next packet.
 */
static void test_compaction(void)
{
	struct fixture f;
	bool damaged;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	for (uint64_t sequence = 1; sequence < 4; sequence++) {
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		CHECK_EQ_INT(fixture_append(&f, 1, sequence, 30, 500, 0, true, 10), 0);
		CHECK_EQ_INT(fixture_append(&f, 1, sequence, 530, 500, 0, true, 10), 0);
		CHECK_EQ_INT(fixture_append(&f, 1, sequence, 1030, 500, 0, true, 10), 0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
		if (sequence == 2)
			change(&f, "UPDATE chunks SET data = CAST(data || x'01' AS BLOB) WHERE sequence = 2 AND offset "
				   "= 530");
		if (sequence == 3) /* this packet is one row already, and the row is damaged */
			change(&f, "DELETE FROM chunks WHERE sequence = 3 AND offset > 30; UPDATE chunks SET flags = 2 "
				   "WHERE sequence = 3");
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		CHECK_EQ_INT(fixture_append(&f, 1, sequence, sequence == 3 ? 530 : 1530, sequence == 3 ? 0 : 500,
					    ARCHIVE_CHUNK_LAST, sequence != 3, 11),
			     0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	}
	CHECK(fixture_read(&f, 1, 1).is_complete && fixture_read(&f, 1, 1).is_whole &&
	      fixture_read(&f, 1, 1).end == 2030);
	CHECK(!fixture_read(&f, 1, 2).is_complete && fixture_read(&f, 1, 2).is_whole &&
	      fixture_read(&f, 1, 2).end == 530);
	CHECK_EQ_UINT(fixture_read(&f, 1, 3).rows, 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps WHERE reason = 'damaged'"), 2);
	CHECK_EQ_INT(fixture_number(&f, "SELECT packets FROM streams"), 1);
	CHECK_EQ_INT(fixture_packet(&f, 1, 4, 530, 12), 0);
	CHECK(fixture_read(&f, 1, 4).is_complete);
	/* A packet whose last row has no bytes is valid, too. */
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 5, 30, 500, 0, true, 13), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 5, 530, 0, ARCHIVE_CHUNK_LAST, false, 13), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK(fixture_read(&f, 1, 5).is_complete);
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 5, 0, &damaged), 0);
	CHECK(!damaged && fixture_read(&f, 1, 5).is_complete);
	/* The end of packet 4 is missing, and packet 5 follows. */
	change(&f, "UPDATE chunks SET stream = 9 WHERE sequence = 4");
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 4, 30, 100, 0, true, 14), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 4, 0, &damaged), 0);
	CHECK(damaged);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps WHERE after_sequence = 4 AND after_offset = 130"),
		     1);
	fixture_deinit(&f);
}

/* The last row before a declared gap disappears. The gap stays, and the writer goes on. */
static void test_gap(void)
{
	struct archive_gap gap = {.stream = 1,
				  .after_sequence = 1,
				  .after_offset = 1030,
				  .next_sequence = 3,
				  .kind = "lost",
				  .packets = 2};
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 1, 30, 500, 0, true, 10), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 1, 530, 500, 0, true, 10), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	change(&f, "UPDATE chunks SET first_timestamp = 1 WHERE offset = 530");
	gap.reason = "lapped";
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_gap(f.w, &gap), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_UINT(fixture_read(&f, 1, 1).end, 530);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps"), 2);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps WHERE reason = 'damaged' AND after_offset = 530"),
		     1);
	CHECK_EQ_INT(fixture_packet(&f, 1, 3, 530, 12), 0);
	fixture_deinit(&f);
}

static int take(void *context, const struct archive_resume *resume)
{
	*(struct archive_resume *)context = *resume;
	return 0;
}

/* A collector that starts finds the damage too, and continues after the valid rows. */
static void test_resume(void)
{
	struct archive_resume at = {0};
	struct fixture f;

	if (!archive_make(&f))
		return;
	change(&f, "UPDATE chunks SET first_timestamp = 1 WHERE sequence = 4 AND offset = 530");
	CHECK_EQ_INT(archive_writer_resume(f.w, take, &at), 0);
	CHECK(at.any && at.last_sequence == 4 && at.sequence == 5 && at.offset == 30 && at.last_real == 2000);
	change(&f, "UPDATE chunks SET ends = x'00' WHERE sequence = 3; DELETE FROM chunks WHERE sequence = 4");
	CHECK_EQ_INT(archive_writer_resume(f.w, take, &at), 0);
	CHECK(!at.any || at.last_sequence != 3);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks"), 0);
	fixture_deinit(&f);
}

static int take_name(void *context, const struct archive_resume *resume)
{
	*(bool *)context = resume->source && resume->key && resume->name && resume->state;
	return 0;
}

/*
 * Damage can leave NULL in a column that is declared NOT NULL. The resume data then has an empty
 * text for it.
 */
static void test_resume_without_texts(void)
{
	bool has_texts = false;
	struct fixture f;

	if (!archive_make(&f))
		return;
	change(&f, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') "
		   "WHERE name = 'runs'");
	change(&f, "UPDATE runs SET source = NULL, key = NULL, name = NULL, state = NULL");
	fixture_reopen(&f);
	CHECK_EQ_INT(archive_writer_resume(f.w, take_name, &has_texts), 0);
	CHECK(has_texts);
	fixture_deinit(&f);
}

/* Return the value of a column of the row of TABLE in row_sums. */
static int64_t sum_of(struct fixture *f, const char *column, const char *table)
{
	return fixture_number(f, "SELECT %s FROM row_sums WHERE name = '%s'", column, table);
}

/*
 * A changed row of runs, streams, gaps or captures is noticed, and declared: the gap is deleted, the captures are not
 * complete, the false context and the name are gone. A missing row is noticed, too.
 */
static void test_rows(void)
{
	static const char flag[] = "SELECT hex(substr(ranges, 1, 1)) + 0 FROM capture_lists WHERE capture = 9";
	static const char *const bad[] = {"gaps", "captures", "streams", "runs"};
	struct archive_gap gap = {.stream = 1,
				  .kind = "lost",
				  .reason = "lapped",
				  .after_sequence = 90,
				  .after_offset = 30,
				  .next_sequence = 92,
				  .packets = 2};
	const struct archive_capture_change note = {.capture = 9, .version = -1, .pinned = 1, .note = "a note"};
	struct fixture f;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_gap(f.w, &gap), 0);
	CHECK_EQ_INT(archive_writer_change_capture(f.w, &note), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_EQ_INT(sum_of(&f, "held", bad[i]), fixture_number(&f, "SELECT count(*) FROM %s", bad[i]));
	change(&f, "UPDATE captures SET context = 'false' WHERE id = 9; UPDATE gaps SET packets = 3");
	CHECK_EQ_INT(fixture_number(&f, flag), 0);
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, 2);
	CHECK_EQ_INT(fixture_number(&f, flag), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps"), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures WHERE context IS NOT NULL AND id = 9"), 0);
	change(&f, "UPDATE capture_lists SET ranges = ranges; UPDATE streams SET held = 70; UPDATE runs SET name = "
		   "'other'");
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs WHERE name <> 'saved-' || id OR uuid IS NOT NULL"),
		     0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM streams WHERE held IS NULL AND oldest = 3"), 1);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(sum_of(&f, "damaged", bad[i]) > 0);
	change(&f, "PRAGMA foreign_keys = OFF; DELETE FROM captures WHERE id = 9");
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_INT(sum_of(&f, "lost", "captures"), 1);
	{
		uint64_t pieces = archive_writer_damage(f.w).pieces;

		CHECK_EQ_INT(row_sums_check(f.w), 0); /* each is told once */
		CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, pieces);
	}
	fixture_deinit(&f);
}

/*
 * A stream with packet 3, a part of packet 4 with a gap behind it, packet 6, a part of packet 7 with a gap up to packet 9, and no packet behind
 * that. The range of capture 9 ends there.
 */
static bool cut_packets_make(struct fixture *f)
{
	const struct archive_capture capture = {.id = 9, .run = 1, .kind = "crash", .real = 5};
	const struct archive_capture_stream range = {9, 1, 3, 9, 30, 0};
	struct archive_gap gap = {.stream = 1,
				  .kind = "lost",
				  .reason = "queue",
				  .after_sequence = 4,
				  .after_offset = 530,
				  .next_sequence = 6,
				  .packets = 2};

	if (!fixture_init(f))
		return false;
	CHECK_EQ_INT(fixture_put(f, 1, "web", "ended", 1), 0);
	CHECK_EQ_INT(fixture_packet(f, 1, 3, 5030, 1000), 0);
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(fixture_append(f, 1, 4, 30, 500, 0, true, 2000), 0);
	CHECK_EQ_INT(archive_writer_gap(f->w, &gap), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
	CHECK_EQ_INT(fixture_packet(f, 1, 6, 5030, 3000), 0);
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(fixture_append(f, 1, 7, 30, 300, 0, true, 4000), 0);
	gap.after_sequence = 7;
	gap.after_offset = 330;
	gap.next_sequence = 9;
	CHECK_EQ_INT(archive_writer_gap(f->w, &gap), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f->w, &capture), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f->w, &range), 0);
	return CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

static int see_coverage(void *context, const struct reader_capture_range *range)
{
	enum coverage coverage;

	CHECK_EQ_INT(coverage_of_range(context, range, &coverage), 0);
	return coverage == COVERAGE_PART ? 1 : 0;
}

/* Return whether gaps declare packets 4 and 5, or 7 and 8, from the offset in the first one on, and no bytes before that. */
static bool is_declared(const struct fixture *f, int sequence)
{
	return fixture_number(f,
			      "SELECT min(after_sequence) = %d AND max(next_sequence) = %d AND sum(packets) = 2 AND"
			      " (SELECT min(after_offset) FROM gaps WHERE after_sequence = %d) = %d FROM gaps WHERE"
			      " after_sequence BETWEEN %d AND %d",
			      sequence, sequence + 2, sequence, sequence == 4 ? 530 : 330, sequence, sequence + 1) == 1;
}

/* A gap that declared the rest of a packet is gone or damaged: the rest is declared again, and the capture is not complete. */
static void test_cut_packets(void)
{
	static const struct {
		const char *what, *damage;
		bool deletions; /* packets of the stream were deleted before */
	} rows[] = {
		{"a gap is gone", "DELETE FROM gaps WHERE after_sequence = 4", false},
		{"the gap at the end is gone", "DELETE FROM gaps WHERE after_sequence = 7", false},
		{"both are gone", "DELETE FROM gaps", false},
		{"a gap is damaged", "UPDATE gaps SET next_sequence = 5 WHERE after_sequence = 4", false},
		{"a gap is of another stream", "UPDATE gaps SET stream = 7 WHERE after_sequence = 4", false},
		{"the row of the stream, too", "DELETE FROM gaps; UPDATE streams SET held = 70", false},
		{"with a packet", "DELETE FROM gaps; DELETE FROM chunks WHERE sequence = 3", false},
		{"with deletions", "DELETE FROM gaps", true},
	};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		const bool online = i % 2, deletions = rows[i / 2].deletions;
		CLEANUP(reader_freep) struct reader *r = NULL;
		bool damaged, right = true;
		struct fixture f;

		if (!cut_packets_make(&f))
			return;
		if (deletions) {
			CHECK_EQ_INT(archive_writer_begin(f.w), 0);
			CHECK_EQ_INT(archive_writer_deleted(f.w, 1), 0);
			CHECK_EQ_INT(archive_writer_commit(f.w), 0);
		}
		change(&f, "PRAGMA foreign_keys = OFF; %s", rows[i / 2].damage);
		CHECK_EQ_INT(row_sums_check(f.w), 0);
		for (uint64_t sequence = 3; sequence < 8 && !online; sequence++)
			CHECK_EQ_INT(archive_writer_repair(f.w, 1, sequence, 0, &damaged), 0);
		CHECK_EQ_INT(archive_writer_repair(f.w, 1, 0, 9, &damaged), 0);
		right = CHECK(deletions || (is_declared(&f, 4) && is_declared(&f, 7)));
		/* Deletions may explain packets, and no part of one. */
		right = CHECK_EQ_INT(fixture_number(&f,
						    "SELECT count(*) FROM gaps WHERE (after_sequence, after_offset) IN"
						    " ((4, 530), (7, 330))"),
				     2) &&
			right;
		CHECK_EQ_INT(reader_new(&r, f.state), 0);
		right = CHECK_EQ_INT(reader_capture_ranges(r, 9, see_coverage, r, NULL), 1) && right;
		if (!right)
			fprintf(stderr, "%s, online %d\n", rows[i / 2].what, online);
		CHECK_EQ_INT(archive_writer_repair(f.w, 1, 0, 9, &damaged), 0);
		CHECK(!damaged);
		r = reader_free(r);
		fixture_deinit(&f);
	}
}

/* Put a stream whose ring began at packet BEGINS, and a capture from packet 1 on. Packets 1 and 2 were lost, and packet 3 is the first one. */
static bool late_packets_make(struct fixture *f, uint64_t begins)
{
	const struct archive_run run = {.id = 1,
					.source = "dir",
					.key = "key",
					.name = "web",
					.domid = -1,
					.state = "ended",
					.began_real = 1000};
	const struct archive_stream stream = {
		.id = 1, .run = 1, .ring_bytes = 1 << 20, .ring_packets = 4, .has_begins = true, .begins = begins};
	const struct archive_capture capture = {.id = 9, .run = 1, .kind = "crash", .real = 5};
	const struct archive_capture_stream range = {9, 1, 1, 3, 5030, 0};
	const struct archive_gap gap = {.stream = 1,
					.kind = "lost",
					.reason = "queue",
					.after_sequence = 1,
					.after_offset = 30,
					.next_sequence = 3,
					.packets = 2};

	if (!fixture_init(f))
		return false;
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(archive_writer_put_run(f->w, &run), 0);
	CHECK_EQ_INT(archive_writer_put_stream(f->w, &stream), 0);
	CHECK_EQ_INT(archive_writer_gap(f->w, &gap), 0);
	CHECK_EQ_INT(fixture_append(f, 1, 3, 30, 5000, ARCHIVE_CHUNK_LAST, true, 1000), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f->w, &capture), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f->w, &range), 0);
	return CHECK_EQ_INT(archive_writer_commit(f->w), 0);
}

/* The gap at the beginning of a capture is gone, before the first packet: the loss is declared again, as far as the ring had these packets. */
static void test_lost_beginning(void)
{
	static const struct {
		uint64_t begins;
		const char *damage;
		int64_t declared; /* packets */
	} rows[] = {
		{0, "DELETE FROM gaps", 2},
		{2, "DELETE FROM gaps", 1},
		{3, "DELETE FROM gaps", 0},
		{0, "DELETE FROM gaps; UPDATE beginnings SET checksum = x'00'", 0},
		{0, "DELETE FROM gaps; UPDATE capture_streams SET first_sequence = 0", 0},
		{0, "UPDATE streams SET flags = flags", 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(reader_freep) struct reader *r = NULL;
		bool damaged;
		struct fixture f;

		if (!late_packets_make(&f, rows[i].begins))
			return;
		change(&f, "%s", rows[i].damage);
		CHECK_EQ_INT(row_sums_check(f.w), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT coalesce(sum(packets), 0) FROM gaps WHERE next_sequence = 3"),
			     rows[i].declared);
		CHECK_EQ_INT(reader_new(&r, f.state), 0);
		if (rows[i].declared && strstr(rows[i].damage, "DELETE"))
			CHECK_EQ_INT(reader_capture_ranges(r, 9, see_coverage, r, NULL), 1);
		CHECK_EQ_INT(archive_writer_repair(f.w, 1, 0, 9, &damaged), 0);
		CHECK_EQ_INT(damaged, strstr(rows[i].damage, "capture_streams") != NULL);
		r = reader_free(r);
		fixture_deinit(&f);
	}
}

/*
 * The gap at the beginning of a capture is too old for a limit by age: it stays while the capture is there. Without the capture it goes, and
 * is never taken for one that damage took.
 */
static void test_old_beginning(void)
{
	for (unsigned i = 0; i < 2; i++) {
		bool damaged, more;
		struct fixture f;

		if (!late_packets_make(&f, 0))
			return;
		if (i)
			CHECK_EQ_INT(archive_writer_delete_capture(f.w, 9), 0);
		CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 0, 4, 100, &more), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps"), !i);
		CHECK_EQ_INT(fixture_number(&f, "SELECT deletions FROM streams"), 0);
		CHECK_EQ_INT(archive_writer_repair(f.w, 1, 0, 9, &damaged), 0);
		CHECK(!damaged);
		/* Another gap is lost, and each stream is looked at. */
		change(&f, "UPDATE row_sums SET held = held + 1 WHERE name = 'gaps'");
		CHECK_EQ_INT(row_sums_check(f.w), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps WHERE reason = 'damaged'"), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT damaged_packets FROM streams"), 0);
		fixture_deinit(&f);
	}
}

/*
 * A capture ends before the first byte of a packet, whose first bytes were archived before the capture. If that packet is lost, the capture
 * lacks nothing: the loss is declared once.
 */
static void test_end_before_packet(void)
{
	const struct archive_capture capture = {.id = 9, .run = 1, .kind = "manual", .real = 5};
	const struct archive_capture_stream range = {9, 1, 3, 4, 30, 0};
	const struct reader_source source = {.stream = 1, .capture = 9};
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct reader_stream_check check;
	bool damaged;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 3, 5030, 1000), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 4, 30, 500, 0, true, 2000), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f.w, &range), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT reached FROM capture_streams"), 30);
	change(&f, "UPDATE chunks SET data = zeroblob(length(data)) WHERE sequence = 4");
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 4, 0, &damaged), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps WHERE after_sequence = 4 AND after_offset = 30"), 1);
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 4, 9, &damaged), 0);
	CHECK(!damaged);
	CHECK_EQ_INT(fixture_number(&f, "SELECT damaged_packets FROM streams"), 1);
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(reader_check(r, source, &check), 0);
	r = reader_free(r);
	fixture_deinit(&f);
}

static int count_gap(void *context, const struct archive_gap *gap)
{
	(void)gap;
	++*(unsigned *)context;
	return 0;
}

static int count_run(void *context, const struct archive_run *run)
{
	(void)run;
	++*(unsigned *)context;
	return 0;
}

/* A reader compares each row that it reads with its checksum, and names the damaged one. The writer then declares that row. */
static void test_rows_read(void)
{
	struct archive_gap gap = {.stream = 1,
				  .kind = "lost",
				  .reason = "lapped",
				  .after_sequence = 90,
				  .after_offset = 30,
				  .next_sequence = 92,
				  .packets = 2};
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct reader_stream_check check;
	struct reader_damage d;
	unsigned n = 0;
	bool damaged;
	struct fixture f;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_gap(f.w, &gap), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_INT(reader_gaps(r, 1, 0, 100, 100, count_gap, &n), 0);
	CHECK_EQ_UINT(n, 1);
	CHECK_EQ_INT(reader_gap_into(r, 1, 91, count_gap, &n), 0);
	CHECK_EQ_UINT(n, 2);
	/* A number that a statement compares, and that was damaged, hides no row. */
	change(&f, "UPDATE gaps SET next_sequence = 91");
	CHECK_EQ_INT(reader_gap_into(r, 1, 91, count_gap, &n), ARCHIVE_E_DAMAGED);
	change(&f, "UPDATE gaps SET next_sequence = 92");
	change(&f, "UPDATE gaps SET after_sequence = 1, next_sequence = 3");
	CHECK_EQ_INT(reader_check(r, (struct reader_source){1, 9}, &check), ARCHIVE_E_DAMAGED);
	CHECK(reader_take_damage(r, &d) && d.table && strcmp(d.table, "gaps") == 0);
	change(&f, "UPDATE gaps SET after_sequence = 90, next_sequence = 92");
	n = 1;
	change(&f, "UPDATE gaps SET packets = 3");
	CHECK_EQ_INT(reader_gaps(r, 1, 0, 100, 100, count_gap, &n), ARCHIVE_E_DAMAGED);
	CHECK_EQ_UINT(n, 1);
	CHECK(reader_take_damage(r, &d) && d.table && strcmp(d.table, "gaps") == 0);
	CHECK_EQ_INT(row_sums_check_row(f.w, "streams", 1, &damaged), 0);
	CHECK(!damaged);
	CHECK_EQ_INT(row_sums_check_row(f.w, "other", 1, &damaged), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(row_sums_check_row(f.w, d.table, (int64_t)d.sequence, &damaged), 0);
	CHECK(damaged);
	CHECK_EQ_INT(reader_gaps(r, 1, 0, 100, 100, count_gap, &n), 0);
	CHECK_EQ_UINT(n, 1); /* the gap is gone */
	change(&f, "UPDATE runs SET reason = 'x' WHERE id = 1");
	CHECK_EQ_INT(reader_run(r, 1, count_run, &n), ARCHIVE_E_DAMAGED);
	CHECK(reader_take_damage(r, &d) && d.table && strcmp(d.table, "runs") == 0 && d.sequence == 1);
	/* A capture that says another run is read by nobody who may not: it is of the run of its streams again. */
	change(&f, "PRAGMA foreign_keys = OFF; UPDATE captures SET run = 77 WHERE id = 9");
	CHECK_EQ_INT(row_sums_check_row(f.w, "captures", 9, &damaged), 0);
	CHECK(damaged);
	CHECK_EQ_INT(fixture_number(&f, "SELECT run FROM captures WHERE id = 9"), 1);
	fixture_deinit(&f);
}

/*
 * A column of an index is damaged in the table alone. The row is declared. A capture and a stream get each other's run; what has
 * neither keeps no text that another guest's readers would see.
 */
static void test_rows_of_runs(void)
{
	static const char *const texts =
		"SELECT count(*) FROM captures WHERE id = %d AND note = 'a note' AND marks <> '[]' AND "
		"context IS NOT NULL";
	struct archive_capture_change note = {
		.version = -1, .pinned = 1, .note = "a note", .marks = "[{\"at\":\"1\",\"text\":\"a\"}]"};
	struct archive_capture capture = {.run = 1, .kind = "crash", .real = 5};
	const struct archive_gap gap = {.stream = 1,
					.kind = "lost",
					.reason = "lapped",
					.after_sequence = 90,
					.after_offset = 30,
					.next_sequence = 92,
					.packets = 2};
	uint64_t pieces;
	struct fixture f;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	for (capture.id = 10; capture.id < 12; capture.id++)
		CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
	for (note.capture = 9; note.capture < 12; note.capture++) {
		CHECK_EQ_INT(archive_writer_change_capture(f.w, &note), 0);
	}
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	fixture_number(&f, "UPDATE captures SET context = '{}', context_checksum = NULL, checksum = NULL");
	fixture_number(&f, "UPDATE row_sums SET unchecked = 11 WHERE name = 'captures'");
	fixture_reopen(&f); /* the contexts get checksums */
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, 0);
	fixture_change_table(&f, "captures", "captures_by_run", "UPDATE captures SET run = 77 WHERE id IN (9, 10)");
	fixture_reopen(&f);
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT run FROM captures WHERE id = 9"), 1);
	CHECK_EQ_INT(fixture_number(&f, texts, 9), 1);
	CHECK_EQ_INT(fixture_number(&f, texts, 10), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures WHERE id = 10 AND note = '' AND marks = '[]' "
					"AND context IS NULL"),
		     1);
	CHECK_EQ_INT(fixture_number(&f, texts, 11), 1);
	fixture_change_table(&f, "streams", "sqlite_autoindex_streams_1", "UPDATE streams SET run = 77 WHERE id = 1");
	fixture_reopen(&f);
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT run FROM streams WHERE id = 1"), 1);
	CHECK_EQ_INT(
		fixture_number(&f, "SELECT count(*) FROM streams INDEXED BY sqlite_autoindex_streams_1 WHERE run = 1"),
		1);
	fixture_change_table(&f, "runs", "runs_by_name", "UPDATE runs SET name = 'wec'");
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_gap(f.w, &gap), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	fixture_change_table(&f, "gaps", "gaps_by_position", "UPDATE gaps SET after_sequence = 80");
	fixture_reopen(&f);
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs WHERE name = 'saved-1'"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs WHERE name = 'web'"), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps INDEXED BY gaps_by_position WHERE stream = 1"), 0);
	pieces = archive_writer_damage(f.w).pieces;
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, pieces);
	CHECK(fixture_integrity(&f));
	fixture_deinit(&f);
}

/* A damaged capture keeps its marks only if a reader can parse them. */
static void test_marks(void)
{
	static const char *const unreadable[] = {"CAST(x'5b7b2274657874223a22e1227d5d' AS TEXT)",
						 "'[{\"text\":\"\\u0000\"}]'",
						 "'[{\"text\":\"\\ud83d\"}]'",
						 "'[{\"text\":\"a}]'",
						 "'7'",
						 "7",
						 "x'5b00'"};
	struct archive_capture_change note = {
		.version = -1, .capture = 9, .pinned = 1, .note = "a note", .marks = "[{\"text\":\"\xc3\xa9\"}]"};
	struct fixture f;
	bool damaged;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_change_capture(f.w, &note), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	change(&f, "UPDATE captures SET note = 'A note' WHERE id = 9");
	CHECK_EQ_INT(row_sums_check_row(f.w, "captures", 9, &damaged), 0);
	CHECK(damaged);
	CHECK_EQ_INT(fixture_number(
			     &f, "SELECT count(*) FROM captures WHERE id = 9 AND marks = '[{\"text\":\"\xc3\xa9\"}]'"),
		     1);
	for (size_t i = 0; i < ARRAY_SIZE(unreadable); i++) {
		change(&f, "UPDATE captures SET marks = %s WHERE id = 9", unreadable[i]);
		CHECK_EQ_INT(row_sums_check_row(f.w, "captures", 9, &damaged), 0);
		CHECK(damaged);
		if (!CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures WHERE id = 9 AND marks = '[]'"), 1))
			fprintf(stderr, "marks: %s\n", unreadable[i]);
	}
	fixture_deinit(&f);
}

/*
 * The identifier of a row was flipped, so an entry of the index names no row; or an entry was flipped, and names the row of another place. The
 * first is damage like any other, of the second nothing is lost.
 */
static void test_entries(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct reader_piece piece;
	static uint8_t out[ARCHIVE_PIECE_MAX];
	struct fixture f;
	bool damaged, more;

	if (!archive_make(&f) || !CHECK_EQ_INT(reader_new(&r, f.state), 0))
		return;
	fixture_change_table(&f, "chunks", "chunks_by_position", "UPDATE chunks SET id = id + 1000 WHERE offset = 530");
	CHECK_EQ_INT(reader_piece(r, CHUNKS, 4, 530, 0, PIECE_DECODED, out, &piece), -EBADMSG);
	fixture_reopen(&f);
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 4, 0, &damaged), 0);
	CHECK(damaged);
	CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, 1);
	CHECK_EQ_UINT(fixture_read(&f, 1, 4).end, 530);
	CHECK(fixture_read(&f, 1, 3).is_complete);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps WHERE reason = 'damaged' AND after_sequence = 4"),
		     1);
	CHECK_EQ_INT(reader_piece(r, CHUNKS, 4, 30, 0, PIECE_DECODED, out, &piece), 0);
	CHECK_EQ_INT(reader_piece(r, CHUNKS, 4, 530, 0, PIECE_DECODED, out, &piece), ARCHIVE_E_ABSENT);

	fixture_change_table(&f, "tails", "tails_by_capture", "UPDATE tails SET id = id + 1000 WHERE sequence = 5");
	fixture_reopen(&f);
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 5, 9, &damaged), 0);
	CHECK(damaged);
	CHECK_EQ_INT(reader_piece(r, TAIL, 4, 830, 0, PIECE_DECODED, out, &piece), 0);
	CHECK_EQ_INT(reader_piece(r, TAIL, 5, 30, 0, PIECE_DECODED, out, &piece), ARCHIVE_E_ABSENT);

	change(&f, "UPDATE chunks SET sequence = 40 WHERE sequence = 3");
	fixture_change_table(&f, "chunks", "chunks_by_position", "UPDATE chunks SET sequence = 3 WHERE sequence = 40");
	fixture_reopen(&f);
	CHECK_EQ_INT(reader_piece(r, CHUNKS, 40, 30, 0, PIECE_DECODED, out, &piece), ARCHIVE_E_DAMAGED);
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 40, 0, &damaged), 0);
	CHECK(damaged);
	CHECK_EQ_INT(reader_piece(r, CHUNKS, 3, 30, 0, PIECE_DECODED, out, &piece), 0);
	CHECK(fixture_read(&f, 1, 3).is_complete);
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 3, 0, &damaged), 0);
	CHECK(!damaged);

	/* Old packets are deleted as ever. */
	fixture_change_table(&f, "chunks", "chunks_by_position", "UPDATE chunks SET id = id + 2000 WHERE sequence = 3");
	fixture_reopen(&f);
	CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 1, 0, 100, &more), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks INDEXED BY chunks_by_position WHERE stream = 1"),
		     0);
	r = reader_free(r);
	fixture_deinit(&f);
}

/* Return how many rows no entry of the index names as they are, and the other way round. */
static int64_t disagreeing(const struct fixture *f)
{
	return fixture_number(f,
			      "SELECT count(*) FROM (SELECT id, stream, sequence, offset, length, flags,"
			      " first_timestamp, packet_bytes FROM chunks NOT INDEXED EXCEPT SELECT id, stream,"
			      " sequence, offset, length, flags, first_timestamp, packet_bytes FROM chunks INDEXED BY"
			      " chunks_by_position)");
}

/* The columns of ways in which a disk changes a row of a packet that grows, and one of the packet before it. */
static const char *const column_changes[] = {
	"sequence = sequence + (1 << 40)",
	"stream = 3",
	"offset = offset + (1 << 10)",
	"length = length + (1 << 9)",
	"flags = flags + 8",
	"first_timestamp = first_timestamp + (1 << 30)",
	"sequence = sequence - 2",
	"packet_bytes = 1 << 8",
};

/* Events after a column of a row was damaged. */
enum column_way { COLUMN_ENFORCE, COLUMN_APPEND, COLUMN_GAP, COLUMN_REPAIR, COLUMN_RESUME, COLUMN_WAYS };

/* Damage to an entry, and the change that gives its row the columns that it had. */
static const struct entry_column {
	const char *forth, *back;
} entry_columns[] = {
	{"offset = offset + (1 << 10)", "offset = offset - (1 << 10)"},
	{"length = length + (1 << 9)", "length = length - (1 << 9)"},
	{"length = length - 4", "length = length + 4"},
	{"flags = flags + 8", "flags = flags - 8"},
	{"first_timestamp = first_timestamp + (1 << 30)", "first_timestamp = first_timestamp - (1 << 30)"},
	{"packet_bytes = packet_bytes + 1", "packet_bytes = packet_bytes - 1"},
};

/*
 * Make packet 6, and packet 7 that grows. Apply FORTH (NULL = nothing) to the row of 6, or to the second one of 7, and to its entry, and then BACK to
 * the row alone.
 */
static bool columns_make(struct fixture *f, const char *forth, const char *back, bool is_newest)
{
	char sql[128];

	if (!fixture_init(f))
		return false;
	CHECK_EQ_INT(fixture_put(f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(fixture_packet(f, 1, 6, 5030, 1000), 0);
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(fixture_append(f, 1, 7, 30, 500, 0, true, 2000), 0);
	CHECK_EQ_INT(fixture_append(f, 1, 7, 530, 300, 0, true, 2001), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
	if (forth)
		change(f, "UPDATE chunks SET %s WHERE id = %d", forth, is_newest ? 3 : 1);
	snprintf(sql, sizeof(sql), "UPDATE chunks SET %s WHERE id = %d", back, is_newest ? 3 : 1);
	fixture_change_table(f, "chunks", "chunks_by_position", sql);
	fixture_reopen(f);
	return true;
}

static void columns_use(struct fixture *f, enum column_way way)
{
	const struct archive_gap gap = {.stream = 1,
					.kind = "lost",
					.reason = "lapped",
					.after_sequence = 7,
					.after_offset = 830,
					.next_sequence = 8,
					.packets = 1};
	bool more, damaged;

	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	if (way == COLUMN_ENFORCE)
		CHECK_EQ_INT(archive_writer_enforce(f->w, NULL, 5700, 0, 100, &more), 0);
	if (way == COLUMN_APPEND)
		CHECK_EQ_INT(fixture_append(f, 1, 7, 830, 100, ARCHIVE_CHUNK_LAST, true, 2002), 0);
	if (way == COLUMN_GAP)
		CHECK_EQ_INT(archive_writer_gap(f->w, &gap), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
	for (uint64_t sequence = 6; way == COLUMN_REPAIR && sequence < 8; sequence++)
		CHECK_EQ_INT(archive_writer_repair(f->w, 1, sequence, 0, &damaged), 0);
}

/* Check that all is there that WAY leaves, at a start. */
static void columns_check(struct fixture *f, enum column_way way)
{
	const bool is_ended = way == COLUMN_APPEND || way == COLUMN_GAP;
	struct archive_resume at = {0};
	bool more, damaged;

	fixture_reopen(f);
	CHECK_EQ_INT(archive_writer_resume(f->w, take, &at), 0);
	CHECK(at.any && at.last_sequence == 7 && fixture_read(f, 1, 7).is_whole);
	CHECK_EQ_UINT(fixture_read(f, 1, 7).last_end, way == COLUMN_APPEND ? 930 : 830);
	CHECK_EQ_UINT(at.sequence, is_ended ? 8 : 7);
	CHECK_EQ_UINT(at.offset, is_ended ? 30 : 830);
	for (uint64_t sequence = 6; sequence < 8; sequence++)
		CHECK_EQ_INT(archive_writer_repair(f->w, 1, sequence, 0, &damaged), 0);
	CHECK_EQ_INT(fixture_read(f, 1, 6).is_complete, way != COLUMN_ENFORCE);
	CHECK_EQ_INT(fixture_number(f, "SELECT count(*) FROM gaps"), way == COLUMN_GAP);
	CHECK_EQ_INT(disagreeing(f), 0);
	CHECK(fixture_integrity(f));
	/* The oldest packet goes when a limit wants it, and the newest stays. */
	CHECK_EQ_INT(archive_writer_enforce(f->w, NULL, 1, 0, 100, &more), 0);
	CHECK_EQ_INT(fixture_number(f, "SELECT count(*) FROM chunks NOT INDEXED WHERE sequence <> 7"), 0);
	CHECK_EQ_INT(fixture_number(f, "SELECT lost_packets + damaged_packets FROM streams"), way == COLUMN_GAP);
}

/*
 * A column of a row is damaged, and its copy in the index is not. Nothing is lost: neither to the limits, nor to a packet that grows, nor at a
 * start.
 */
static void test_columns(void)
{
	for (size_t i = 0; i < 2 * COLUMN_WAYS * ARRAY_SIZE(column_changes); i += check_step(3)) {
		const unsigned way = (unsigned)(i % (2 * COLUMN_WAYS));
		struct fixture f;

		if (!columns_make(&f, NULL, column_changes[i / (2 * COLUMN_WAYS)], way >= COLUMN_WAYS))
			return;
		columns_use(&f, way % COLUMN_WAYS);
		columns_check(&f, way % COLUMN_WAYS);
		fixture_deinit(&f);
	}
}

/* A column of an entry is damaged, and its row is not: as before. */
static void test_columns_of_entry(void)
{
	for (size_t i = 0; i < 2 * COLUMN_WAYS * ARRAY_SIZE(entry_columns); i += check_step(3)) {
		const struct entry_column *column = &entry_columns[i / (2 * COLUMN_WAYS)];
		const unsigned way = (unsigned)(i % (2 * COLUMN_WAYS));
		struct fixture f;

		if (!columns_make(&f, column->forth, column->back, way >= COLUMN_WAYS))
			return;
		columns_use(&f, way % COLUMN_WAYS);
		columns_check(&f, way % COLUMN_WAYS);
		fixture_deinit(&f);
	}
}

#define ENTRY_COLUMNS "stream, sequence, offset, length, flags, first_timestamp, packet_bytes"

/* Let the entry of row 3 say ID, which may be that of another row, whose entry stays. */
static void identifier_change(const struct fixture *f, int64_t id)
{
	const bool is_there = fixture_number(f, "SELECT count(*) FROM chunks WHERE id = %" PRId64, id) == 1;
	char back[256];

	change(f, "CREATE TABLE copy AS SELECT * FROM chunks");
	if (is_there)
		change(f,
		       "DELETE FROM chunks WHERE id = 3; UPDATE chunks SET (" ENTRY_COLUMNS ") = (SELECT " ENTRY_COLUMNS
		       " FROM copy WHERE id = 3) WHERE id = %" PRId64,
		       id);
	else
		change(f, "UPDATE chunks SET id = %" PRId64 " WHERE id = 3", id);
	snprintf(back, sizeof(back),
		 "DELETE FROM chunks WHERE id = %" PRId64
		 "; INSERT INTO chunks SELECT * FROM copy WHERE id IN (3, %" PRId64 "); DROP TABLE copy",
		 id, id);
	fixture_change_table(f, "chunks", "chunks_by_position", back);
	/* The entry of the other row is made again. */
	change(f, "PRAGMA writable_schema = ON; UPDATE chunks SET offset = offset WHERE id = %" PRId64, id);
	CHECK_EQ_INT(fixture_number(f,
				    "SELECT count(*) FROM chunks INDEXED BY chunks_by_position WHERE stream = 1 AND "
				    "+id = %" PRId64,
				    id),
		     1 + is_there);
}

/*
 * The identifier in an entry was flipped, and names another row of the packet, one of another packet, or none: the row is there, and gets its
 * entry back. It is lost only if it is not where one bit leads.
 */
static void test_entry_of_sibling(void)
{
	static const struct {
		int64_t id; /* the entry of row 3, of packet 4, says this */
		bool is_lost;
	} flips[] = {{2, false}, {1, false}, {3 | 1 << 10, false}, {-125, false}, {96, true}};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(flips); i++) {
		const int64_t id = flips[i / 2].id;
		const bool is_lost = flips[i / 2].is_lost, is_limit = i % 2;
		CLEANUP(reader_freep) struct reader *r = NULL;
		static uint8_t out[ARCHIVE_PIECE_MAX];
		struct reader_piece piece;
		bool damaged, more;
		struct fixture f;

		if (!archive_make(&f) || !CHECK_EQ_INT(reader_new(&r, f.state), 0))
			return;
		identifier_change(&f, id);
		fixture_reopen(&f);
		if (is_limit)
			CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 1, 0, 100, &more), 0);
		for (uint64_t sequence = 3; !is_limit && sequence < 5; sequence++)
			CHECK_EQ_INT(archive_writer_repair(f.w, 1, sequence, 0, &damaged), 0);
		if (!is_limit) {
			CHECK_EQ_INT(reader_piece(r, CHUNKS, 3, 30, 0, PIECE_DECODED, out, &piece), 0);
			CHECK_EQ_INT(reader_piece(r, CHUNKS, 4, 30, 0, PIECE_DECODED, out, &piece), 0);
			CHECK_EQ_UINT(fixture_read(&f, 1, 4).end, is_lost ? 530 : 830);
			CHECK(fixture_read(&f, 1, 3).is_complete);
			CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps"), is_lost);
		}
		CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 1, 0, 100, &more), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks NOT INDEXED"), is_lost);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks INDEXED BY chunks_by_position"), 0);
		r = reader_free(r);
		fixture_deinit(&f);
	}
}

/* Damage to the second row of the tail of capture 9, or to its entry. */
static const struct tail_change {
	const char *row;   /* changes the row alone, after ENTRY */
	const char *entry; /* changes both; NULL = nothing */
	bool is_lost;	   /* the row is not found again */
} tail_changes[] = {
	{"capture = 8", NULL, false},
	{"capture = 10", NULL, false},
	{"stream = 3", NULL, false},
	{"sequence = sequence + (1 << 40)", NULL, false},
	{"offset = offset + (1 << 10)", NULL, false},
	{"id = id + (1 << 10)", NULL, false},
	{"id = id + 1000", NULL, true},
	{"capture = 9", "capture = 8", false},
	{"capture = 9", "capture = 10", false},
	{"stream = 1", "stream = 3", false},
	{"sequence = 5", "sequence = 5 + (1 << 40)", false},
	{"id = 2", "id = 2 + (1 << 10)", false},
};

static bool tail_damage(struct fixture *f, const struct tail_change *damage)
{
	const struct archive_capture capture = {.id = 10, .run = 1, .kind = "crash", .real = 5};
	char sql[256];

	if (!archive_make(f))
		return false;
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f->w, &capture), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
	if (damage->entry)
		change(f, "PRAGMA foreign_keys = OFF; UPDATE tails SET %s WHERE id = 2", damage->entry);
	snprintf(sql, sizeof(sql), "UPDATE tails SET %s WHERE packet_bytes = 9000 AND id <> 1", damage->row);
	fixture_change_table(f, "tails", "tails_by_capture", sql);
	fixture_reopen(f);
	return true;
}

/* Damage in a tail, or in its index, neither stops the deletion of old captures nor a start, and a tail that is whole is served. */
static void test_tails(void)
{
	enum { ENFORCE, DELETE, REPAIR, RESUME, WAYS };

	for (size_t i = 0; i < WAYS * ARRAY_SIZE(tail_changes); i += check_step(3)) {
		const struct tail_change *damage = &tail_changes[i / WAYS];
		CLEANUP(reader_freep) struct reader *r = NULL;
		static uint8_t out[ARCHIVE_PIECE_MAX];
		struct archive_resume at;
		struct reader_piece piece;
		bool damaged, more;
		struct fixture f;

		if (!tail_damage(&f, damage) || !CHECK_EQ_INT(reader_new(&r, f.state), 0))
			return;
		if (i % WAYS == DELETE)
			CHECK_EQ_INT(archive_writer_delete_capture(f.w, 9), 0);
		if (i % WAYS == RESUME)
			CHECK_EQ_INT(archive_writer_resume(f.w, take, &at), 0);
		if (i % WAYS == REPAIR || i % WAYS == RESUME)
			CHECK_EQ_INT(archive_writer_repair(f.w, 1, 5, 9, &damaged), 0);
		/* An entry at another place is found at a start. */
		if (i % WAYS == RESUME) {
			CHECK_EQ_INT(reader_piece(r, TAIL, 4, 830, 0, PIECE_DECODED, out, &piece), 0);
			CHECK_EQ_INT(reader_piece(r, TAIL, 5, 30, 0, PIECE_DECODED, out, &piece),
				     damage->is_lost ? ARCHIVE_E_ABSENT : 0);
			CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps"), damage->is_lost);
		}
		for (int64_t capture = 9; i % WAYS == RESUME && capture < 11; capture++)
			CHECK_EQ_INT(archive_writer_delete_capture(f.w, capture), 0);
		CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 0, 6, 100, &more), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 0);
		fixture_reopen(&f);
		CHECK_EQ_INT(archive_writer_resume(f.w, take, &at), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM tails INDEXED BY tails_by_capture"), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM tails NOT INDEXED"), damage->is_lost);
		r = reader_free(r);
		fixture_deinit(&f);
	}
}

/* A range whose column was damaged is written again from the list of its capture before its tail would be taken for an unfinished one. */
static void test_tail_of_range(void)
{
	struct archive_resume at;
	struct fixture f;

	if (!archive_make(&f))
		return;
	change(&f, "PRAGMA foreign_keys = OFF; UPDATE capture_streams SET stream = 1025");
	fixture_reopen(&f);
	CHECK_EQ_INT(archive_writer_resume(f.w, take, &at), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM tails"), 2);
	CHECK_EQ_INT(fixture_number(&f, "SELECT sum(stream) FROM capture_streams"), 1); /* the false one is gone */
	fixture_deinit(&f);
}

/*
 * A column of a range was damaged, and its copy in the index was not. The range is written again, the false one goes, and the capture can be
 * deleted.
 */
static void test_range_entry(void)
{
	static const char *const changes[] = {"capture = 1033", "capture = 8", "stream = 1025"};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(changes); i++) {
		struct archive_resume at;
		struct row_walk walk = {0};
		struct fixture f;
		bool more;
		char sql[128];

		if (!archive_make(&f))
			return;
		snprintf(sql, sizeof(sql), "UPDATE capture_streams SET %s", changes[i / 2]);
		fixture_change_table(&f, "capture_streams", "capture_streams_by_stream", sql);
		CHECK(!fixture_integrity(&f));
		fixture_reopen(&f);
		if (i % 2) { /* the check while mprofd runs */
			do
				CHECK_EQ_INT(row_sums_step(f.w, &walk), 0);
			while (row_walk_goes_on(&walk));
		} else {
			CHECK_EQ_INT(archive_writer_resume(f.w, take, &at), 0);
			CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM capture_streams"), 1);
			CHECK_EQ_INT(fixture_number(&f, "SELECT capture * 10 + stream FROM capture_streams"), 91);
			CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM tails"), 2);
		}
		CHECK(fixture_integrity(&f));
		if (i % 2)
			CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 0, 6, 100, &more), 0);
		else
			CHECK_EQ_INT(archive_writer_delete_capture(f.w, 9), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 0);
		fixture_deinit(&f);
	}
}

/* A damaged range of a pinned capture holds its packets all the same. */
static void test_pinned_range(void)
{
	const struct archive_capture_change pin = {.capture = 9, .pinned = 1, .version = -1};
	static const char *const changes[] = {"last_sequence = 2", "first_sequence = 900", "stream = 1025"};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct fixture f;
		bool more;

		if (!archive_make(&f))
			return;
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		CHECK_EQ_INT(archive_writer_change_capture(f.w, &pin), 0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
		change(&f, "PRAGMA foreign_keys = OFF; UPDATE capture_streams SET %s", changes[i]);
		CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 1, 0, 100, &more), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks"), 3);
		CHECK_EQ_INT(fixture_number(&f, "SELECT sum(first_sequence * 10 + last_sequence) FROM capture_streams"),
			     34);
		fixture_deinit(&f);
	}
}

/* Stamps of a damaged capture that contradict those beside it neither delete it early, nor keep it and those behind it for ever. */
static void test_stamps(void)
{
	const int64_t now = (int64_t)clock_real(), hour = (int64_t)(3600 * NS_PER_S);
	struct archive_capture capture = {.run = 1, .kind = "manual"};
	static const struct {
		const char *change;
		int id, behind; /* the capture behind it; 0 = now */
	} wrong[] = {
		{"UPDATE captures SET real = 1 WHERE id = 11", 11, 12},
		{"UPDATE captures SET real = real + (1 << 50) WHERE id = 11", 11, 12},
		{"UPDATE captures SET real = real + (1 << 50) WHERE id = 12", 12, 0},
		{"UPDATE captures SET real = real - (1 << 50) WHERE id = 12", 12, 0},
	};
	struct fixture f;
	bool more;

	for (size_t i = 0; i <= ARRAY_SIZE(wrong); i++) {
		int64_t was, is;

		if (!archive_make(&f))
			return;
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		for (capture.id = 10; capture.id < 13; capture.id++) {
			capture.real = (uint64_t)(now - (13 - capture.id) * hour);
			CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
		}
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
		change(&f, "%s",
		       i < ARRAY_SIZE(wrong) ? wrong[i].change : "UPDATE captures SET version = 7 WHERE id = 11");
		CHECK_EQ_INT(row_sums_check(f.w), 0);
		CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, 1);
		was = now - (i < ARRAY_SIZE(wrong) ? wrong[i].behind ? 1 : 0 : 2) * hour;
		is = fixture_number(&f, "SELECT real FROM captures WHERE id = %d",
				    i < ARRAY_SIZE(wrong) ? wrong[i].id : 11);
		CHECK(i < ARRAY_SIZE(wrong) && !wrong[i].behind ? is >= was && is < was + hour : is == was);
		/* All but the newest are too old. */
		CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 0, (uint64_t)(now - hour - hour / 2), 100, &more), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures WHERE id < 11"), 0);
		fixture_deinit(&f);
	}
}

/* The run of the oldest capture was damaged, and a younger run does not bound its stamp, which is right. */
static void test_stamp_of_run(void)
{
	const struct archive_run run = {.id = 2,
					.source = "dir",
					.key = "k",
					.name = "db",
					.domid = -1,
					.state = "ended",
					.began_real = clock_real()};
	struct fixture f;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_run(f.w, &run), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	change(&f, "UPDATE captures SET run = 2 WHERE id = 9");
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT run FROM captures WHERE id = 9"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT real FROM captures WHERE id = 9"), 5);
	CHECK(fixture_integrity(&f));
	fixture_deinit(&f);
}

/* Before a capture is deleted for its age, its row is checked: the stamp may be what is damaged. */
static void test_stamp_before_deletion(void)
{
	struct archive_capture capture = {.id = 10, .run = 1, .kind = "crash", .real = clock_real()};
	struct fixture f;
	bool more;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	change(&f, "UPDATE captures SET real = real - (1 << 61) WHERE id = 10");
	CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 0, capture.real - 3600 * NS_PER_S, 100, &more), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures WHERE id = 10"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 1);
	fixture_deinit(&f);
}

/*
 * A damaged capture of the kind `unread` keeps that kind: the reader decides what becomes of it. A kind that there is not becomes `ended`.
 */
static void test_kinds(void)
{
	struct archive_capture capture = {.id = 10, .run = 1, .kind = ARCHIVE_UNREAD, .real = 6};
	struct fixture f;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	change(&f, "UPDATE captures SET version = 7 WHERE id = 10; UPDATE captures SET kind = 'crasi' WHERE id = 9");
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, 2);
	CHECK_EQ_INT(fixture_number(&f, "SELECT kind = 'unread' FROM captures WHERE id = 10"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT kind = 'ended' FROM captures WHERE id = 9"), 1);
	fixture_deinit(&f);
}

/*
 * A run whose packets were all damaged says so for a day; then it is forgotten. One whose captures have nothing left keeps them until they are old.
 */
static void test_forgotten(void)
{
	struct fixture f;
	bool damaged, more;

	if (!archive_make(&f))
		return;
	change(&f, "UPDATE chunks SET data = CAST(data || x'00' AS BLOB)");
	for (uint64_t sequence = 3; sequence < 5; sequence++)
		CHECK_EQ_INT(archive_writer_repair(f.w, 1, sequence, 0, &damaged), 0);
	change(&f, "UPDATE tails SET data = CAST(data || x'00' AS BLOB)");
	CHECK_EQ_INT(archive_writer_repair(f.w, 1, 4, 9, &damaged), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT (SELECT count(*) FROM chunks) + (SELECT count(*) FROM tails)"), 0);
	CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 1, 0, 100, &more), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) * 10 + (SELECT count(*) FROM captures) FROM runs"), 11);
	CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 0, 6, 100, &more), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) * 10 + (SELECT count(*) FROM captures) FROM runs"), 10);
	CHECK(fixture_number(&f, "SELECT count(*) FROM gaps WHERE reason = 'damaged'") > 0);
	CHECK_EQ_INT(fixture_number(&f, "UPDATE gaps SET real = 7 RETURNING 1"), 1);
	fixture_reopen(&f);
	CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 1, 0, 100, &more), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs"), 0);
	fixture_deinit(&f);
}

/* A check goes on from step to step: each takes a part of the rows, and none is left out. */
static void test_rows_by_steps(void)
{
	enum { GAPS = 5000 };
	struct archive_gap gap = {.stream = 1, .kind = "lost", .reason = "lapped", .after_offset = 30, .packets = 1};
	struct row_walk walk = {0};
	unsigned steps = 0;
	struct fixture f;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	for (uint64_t i = 0; i < GAPS; i++) {
		gap.after_sequence = 90 + 3 * i;
		gap.next_sequence = gap.after_sequence + 2;
		CHECK_EQ_INT(archive_writer_gap(f.w, &gap), 0);
	}
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	change(&f,
	       "UPDATE gaps SET packets = 9 WHERE id IN (SELECT min(id) FROM gaps UNION ALL SELECT max(id) FROM gaps)");
	do {
		CHECK_EQ_INT(row_sums_step(f.w, &walk), 0);
		steps++;
	} while (row_walk_goes_on(&walk));
	CHECK_EQ_UINT(steps, 5); /* the gaps in two */
	CHECK_EQ_INT(sum_of(&f, "damaged", "gaps"), 2);
	CHECK_EQ_INT(sum_of(&f, "held", "gaps"), GAPS - 2);
	CHECK_EQ_INT(sum_of(&f, "lost", "gaps"), 0);
	fixture_deinit(&f);
}

/* The archive still knows which rows must exist after the oldest rows were deleted. */
static void test_deletion(void)
{
	CLEANUP(reader_freep) struct reader *r = NULL;
	struct archive_capture capture = {.id = 9, .run = 1, .kind = "manual", .pinned = true};
	struct archive_capture_stream range = {9, 1, 2, 3, 530, 0};
	struct reader_stream_check check;
	struct fixture f;
	bool more, all;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(reader_new(&r, f.state), 0);
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "ended", 1), 0);
	for (uint64_t i = 0; i < 10; i++)
		CHECK_EQ_INT(fixture_packet(&f, 1, i, 530, i + 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f.w, &range), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	for (unsigned left = 10; left > 2; left--) {
		CHECK_EQ_INT(archive_writer_enforce(f.w, "web", 500 * (left - 1), 0, 100, &more), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT held FROM streams"), left - 1);
		CHECK_EQ_INT(fixture_number(&f, "SELECT oldest = (SELECT min(sequence) FROM chunks) AND "
						"newest = (SELECT max(sequence) FROM chunks) FROM streams"),
			     1);
		CHECK_EQ_INT(reader_check(r, CHUNKS, &check), 0);
		CHECK(check.known && check.deletions == 11 - left);
		CHECK_EQ_INT(reader_check_held(r, 1, &all), 0);
		CHECK(all);
	}
	change(&f, "UPDATE chunks SET sequence = 77 WHERE sequence = 2");
	CHECK_EQ_INT(reader_check(r, CHUNKS, &check), ARCHIVE_E_DAMAGED);
	change(&f, "UPDATE chunks SET stream = 5 WHERE sequence = 77");
	CHECK_EQ_INT(reader_check_held(r, 1, &all), 0);
	CHECK(!all);
	r = reader_free(r);
	fixture_deinit(&f);
}

/* ---- memory profiles ------------------------------------------------------------------------- */

static int ignore_piece(void *context, const struct memtraces_piece *piece)
{
	*(size_t *)context += piece->bytes;
	return 0;
}

static int take_recording(void *context, const struct memtrace *t)
{
	uint64_t *numbers = context;

	numbers[0] = t->bytes;
	numbers[1] = t->damaged;
	return 0;
}

static void put_piece(struct memtraces *m, struct memtrace *t, uint32_t length)
{
	uint8_t data[1000];

	fixture_fill(data, t->id, t->bytes, 0, length);
	CHECK_EQ_INT(memtraces_begin(m), 0);
	CHECK_EQ_INT(memtraces_append(m, t->id, t->bytes, data, length), 0);
	t->bytes += length;
	CHECK_EQ_INT(memtraces_put(m, t), 0);
	CHECK_EQ_INT(memtraces_commit(m), 0);
}

static void profile_change(const char *state, const char *sql)
{
	char path[160];
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/" MEMTRACES_FILE, state);
	CHECK_EQ_INT(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	CHECK_EQ_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/*
 * Any flipped bit of a recording's piece is detected. The recording then ends before the damaged
 * piece, even if the guest still sends.
 */
static void test_profile(void)
{
	static const char *const damage[] = {
		"UPDATE pieces SET data = CAST(data || x'00' AS BLOB) WHERE offset = 800",
		"UPDATE pieces SET length = length + 1 WHERE offset = 800",
		"UPDATE pieces SET offset = 801 WHERE offset = 800",
		"UPDATE pieces SET codec = 1 - codec WHERE offset = 800",
		"UPDATE pieces SET recording = 3 WHERE offset = 800",
		"UPDATE pieces SET checksum = NULL WHERE offset = 800",
		"UPDATE recordings SET bytes = 800",
	};

	for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		CLEANUP(memtraces_reader_freep) struct memtraces_reader *r = NULL;
		CLEANUP(memtraces_freep) struct memtraces *m = NULL;
		struct archive_options options = {.wal_limit_bytes = FIXTURE_WAL, .level = 1};
		struct memtrace t = {.id = 2,
				     .domid = -1,
				     .address = "::1",
				     .origin = "asked",
				     .state = "recording",
				     .began_real = 1,
				     .version = 2};
		char state[] = "/tmp/mprof-test-XXXXXX", sentence[256];
		uint64_t pieces = 7, numbers[2];
		size_t bytes = 0;
		int rc;

		CHECK(mkdtemp(state) != NULL);
		CHECK_EQ_INT(memtraces_open(&m, state, &options, sentence, sizeof(sentence)), 0);
		CHECK_EQ_INT(memtraces_reader_new(&r, state), 0);
		put_piece(m, &t, 800);
		put_piece(m, &t, 700);
		CHECK_EQ_INT(memtraces_check(r, 2), 0);
		CHECK_EQ_INT(memtraces_begin(m), 0);
		CHECK_EQ_INT(memtraces_repair(m, 2, &pieces), 0);
		CHECK_EQ_UINT(pieces, 0);
		CHECK_EQ_INT(memtraces_repair(m, 3, &pieces), ARCHIVE_E_ABSENT);
		CHECK_EQ_INT(memtraces_commit(m), 0);
		profile_change(state, damage[i]);
		rc = memtraces_check(r, 2);
		for (int stored = 0; stored < 2 && rc == 0; stored++) {
			rc = memtraces_read(r, 2, 800, stored ? MEMTRACES_STORED : MEMTRACES_DECODED, ignore_piece,
					    &bytes);
			CHECK(rc == ARCHIVE_E_DAMAGED || rc == ARCHIVE_E_ABSENT);
			rc = rc == ARCHIVE_E_DAMAGED && !stored ? 0 : rc;
		}
		CHECK(rc == ARCHIVE_E_DAMAGED || rc == ARCHIVE_E_ABSENT);
		CHECK(rc == ARCHIVE_E_ABSENT || memtraces_take_damage(r) == 2);
		CHECK_EQ_INT(memtraces_take_damage(r), 0);
		CHECK_EQ_INT(memtraces_begin(m), 0);
		CHECK_EQ_INT(memtraces_repair(m, 2, &pieces), 0);
		CHECK_EQ_UINT(pieces, 1);
		CHECK_EQ_UINT(memtraces_deletions(m)->n, 0); /* not before the commit */
		CHECK_EQ_INT(memtraces_commit(m), 0);
		if (CHECK_EQ_UINT(memtraces_deletions(m)->n, 1)) {
			CHECK_EQ_STR(deletion_reason_name(memtraces_deletions(m)->list[0].reason), "damage");
			CHECK_EQ_UINT(memtraces_deletions(m)->list[0].bytes, i == 6 ? 0 : 700);
		}
		put_piece(m, &t, 600); /* the guest continues to send, and no more bytes are kept */
		CHECK_EQ_INT(memtraces_get(r, 2, take_recording, numbers), 0);
		CHECK_EQ_UINT(numbers[0], 800 + (i == 6 ? 700 : 0));
		CHECK_EQ_INT(memtraces_check(r, 2), 0);
		/* An earlier piece is damaged, too: the recording's lost bytes are the sum. */
		CHECK_EQ_UINT(numbers[1], i == 6 ? 0 : 700);
		profile_change(state, "UPDATE pieces SET length = length + 1 WHERE offset = 0");
		CHECK_EQ_INT(memtraces_begin(m), 0);
		CHECK_EQ_INT(memtraces_repair(m, 2, &pieces), 0);
		CHECK_EQ_INT(memtraces_commit(m), 0);
		CHECK_EQ_INT(memtraces_get(r, 2, take_recording, numbers), 0);
		CHECK_EQ_UINT(numbers[0], 0);
		CHECK_EQ_UINT(numbers[1], 1500);
		r = memtraces_reader_free(r);
		m = memtraces_free(m);
		nftw(state, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
	}
}

/* ---- --fsck ---------------------------------------------------------------------------------- */

static int check(const struct fixture *f, char *said, size_t size)
{
	FILE *out = fmemopen(said, size, "w");
	int code = archive_fsck(f->state, out);

	fclose(out);
	return code;
}

static void test_fsck(void)
{
	char said[2048];
	struct fixture f;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(check(&f, said, sizeof(said)), 2);
	CHECK(strstr(said, "mprofd runs on this archive") != NULL);
	f.w = archive_writer_free(f.w);
	CHECK_EQ_INT(check(&f, said, sizeof(said)), 0);
	CHECK(strstr(said, "all of it is whole") && strstr(said, "there is no archive of memory profiles"));
	change(&f, "UPDATE chunks SET checksum = NULL; UPDATE tails SET checksum = NULL; UPDATE capture_streams SET "
		   "checksum = NULL, "
		   "tail_bytes = NULL; UPDATE streams SET oldest = NULL, newest = NULL, held = NULL, checksum = NULL; "
		   "UPDATE row_sums SET unchecked = 9; "
		   "UPDATE unchecked SET chunks = 9, tails = 9, captures = 9");
	CHECK_EQ_INT(check(&f, said, sizeof(said)), 0);
	CHECK(strstr(said, "6 rows from an earlier version") != NULL);
	CHECK_EQ_INT(fixture_number(&f, "SELECT oldest * 100 + newest * 10 + held FROM streams"), 331);
	CHECK_EQ_INT(fixture_number(&f, "SELECT chunks + tails + captures FROM unchecked"), 0);
	CHECK_EQ_INT(check(&f, said, sizeof(said)), 0);
	change(&f, "UPDATE chunks SET stream = 3 WHERE sequence = 3; UPDATE tails SET length = 1 WHERE sequence = 5");
	CHECK_EQ_INT(check(&f, said, sizeof(said)), 1);
	CHECK(strstr(said, "all that is left is whole") != NULL);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps WHERE reason = 'damaged'"), 2);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) * 10 + (SELECT count(*) FROM tails) FROM chunks"), 21);
	CHECK_EQ_INT(check(&f, said, sizeof(said)), 0);
	fixture_deinit(&f);
}

/* A gap that has no entry in its index is declared again, and is no lost row. */
static void test_no_entry(void)
{
	const struct archive_gap gap = {.stream = 1,
					.kind = "lost",
					.reason = "overrun",
					.after_sequence = 4,
					.after_offset = 830,
					.next_sequence = 6,
					.packets = 2,
					.real = 9,
					.mono = 9};
	static const char by_index[] = "SELECT count(*) FROM gaps INDEXED BY gaps_by_position WHERE stream = 1";
	struct fixture f;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_gap(f.w, &gap), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	fixture_number(&f, "CREATE TABLE spare AS SELECT * FROM gaps");
	fixture_number(&f, "DELETE FROM gaps");
	fixture_change_table(&f, "gaps", "gaps_by_position", "INSERT INTO gaps SELECT * FROM spare; DROP TABLE spare");
	CHECK_EQ_INT(fixture_number(&f, by_index), 0);
	fixture_reopen(&f);
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_INT(fixture_number(&f, by_index), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT sum(lost) + sum(damaged) FROM row_sums"), 0);
	CHECK(fixture_integrity(&f));
	fixture_deinit(&f);
}

/* An index whose entry for one row is damaged: FORTH changes row and entry, and BACK the row alone. */
static const struct entry_change {
	const char *table, *index, *forth, *back;
} entry_changes[] = {
	{"runs", "runs_by_name", "UPDATE runs SET name = 'wfb' WHERE id = 1",
	 "UPDATE runs SET name = 'web' WHERE id = 1"},
	{"captures", "captures_by_run", "UPDATE captures SET run = 2 WHERE id = 9",
	 "UPDATE captures SET run = 1 WHERE id = 9"},
	{"gaps", "gaps_by_position", "UPDATE gaps SET stream = 2 WHERE id = 1",
	 "UPDATE gaps SET stream = 1 WHERE id = 1"},
	{"gaps", "gaps_by_position", "UPDATE gaps SET after_sequence = 3 WHERE id = 1",
	 "UPDATE gaps SET after_sequence = 4 WHERE id = 1"},
	{"streams", "sqlite_autoindex_streams_1", "UPDATE streams SET run = 3 WHERE id = 2",
	 "UPDATE streams SET run = 2 WHERE id = 2"},
};

static bool entry_damage(struct fixture *f, const struct entry_change *c)
{
	const struct archive_gap gap = {.stream = 1,
					.kind = "lost",
					.reason = "overrun",
					.after_sequence = 4,
					.after_offset = 830,
					.next_sequence = 6,
					.packets = 2,
					.real = 9,
					.mono = 9};

	if (!archive_make(f))
		return false;
	CHECK_EQ_INT(fixture_put(f, 2, "db", "ended", 2), 0);
	CHECK_EQ_INT(fixture_packet(f, 2, 1, 5030, 1000), 0);
	CHECK_EQ_INT(archive_writer_begin(f->w), 0);
	CHECK_EQ_INT(archive_writer_gap(f->w, &gap), 0);
	CHECK_EQ_INT(archive_writer_commit(f->w), 0);
	change(f, "PRAGMA foreign_keys = OFF; %s", c->forth);
	fixture_change_table(f, c->table, c->index, c->back);
	CHECK(!fixture_integrity(f));
	fixture_reopen(f);
	return true;
}

/* An entry of an index was damaged, and its row was not: nothing is lost, and the row can be changed and deleted. */
static void test_wrong_entry(void)
{
	struct archive_run run = {.id = 1,
				  .source = "dir",
				  .key = "key",
				  .name = "web",
				  .domid = -1,
				  .state = "ended",
				  .began_real = 1000,
				  .ended_real = 2000,
				  .reason = "crash"};

	for (size_t i = 0; i < ARRAY_SIZE(entry_changes); i++) {
		struct fixture f;
		bool more;

		if (!entry_damage(&f, &entry_changes[i]))
			return;
		CHECK_EQ_INT(row_sums_check(f.w), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT sum(lost) + sum(damaged) FROM row_sums"), 0);
		CHECK(fixture_integrity(&f));
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM streams WHERE run = 2"), 1);
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		CHECK_EQ_INT(archive_writer_put_run(f.w, &run), 0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
		CHECK_EQ_INT(archive_writer_delete_capture(f.w, 9), 0);
		CHECK_EQ_INT(archive_writer_enforce(f.w, NULL, 1, 0, 100, &more), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) + (SELECT count(*) FROM gaps) FROM chunks"), 0);
		fixture_deinit(&f);
	}
}

/* Fill the first page of INDEX with a pattern, as a disk may. */
static void index_break(struct fixture *f, const char *index)
{
	char path[128], page[4096];
	int64_t root = fixture_number(f, "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", index);
	int64_t bytes = fixture_number(f, "PRAGMA page_size");
	FILE *file;

	f->w = archive_writer_free(f->w);
	memset(page, 0xa5, sizeof(page));
	snprintf(path, sizeof(path), "%s/archive/trace.db", f->state);
	file = fopen(path, "r+");
	if (!CHECK(file != NULL))
		return;
	CHECK_EQ_INT(fseek(file, (root - 1) * bytes, SEEK_SET), 0);
	CHECK_EQ_UINT(fwrite(page, (size_t)bytes < sizeof(page) ? (size_t)bytes : sizeof(page), 1, file), 1);
	CHECK_EQ_INT(fclose(file), 0);
	fixture_open(f);
}

/* A page of an index that SQLite cannot read does not keep mprofd from starting, nor the other tables from being checked. */
static void test_broken_index(void)
{
	struct archive_resume at;
	struct fixture f;

	if (!archive_make(&f))
		return;
	index_break(&f, "captures_unread");
	CHECK_EQ_INT(archive_writer_resume(f.w, take, &at), 0);
	change(&f, "UPDATE runs SET reason = 'x'");
	CHECK_EQ_INT(row_sums_check(f.w), 0);
	CHECK_EQ_INT(sum_of(&f, "damaged", "runs"), 1);
	CHECK_EQ_INT(archive_writer_resume(f.w, take, &at), 0);
	fixture_deinit(&f);
}

/* Change the identifier of the first of the rows of TABLE, which are few, to 100, as a disk does: a search for it does not find it. */
static void identifier_break(struct fixture *f, const char *table)
{
	const int64_t root = fixture_number(f, "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", table);
	const int64_t bytes = fixture_number(f, "PRAGMA page_size");
	CLEANUP(closep) int fd = -1;
	uint8_t cell[2];
	char path[128];

	f->w = archive_writer_free(f->w);
	snprintf(path, sizeof(path), "%s/archive/trace.db", f->state);
	fd = open(path, O_RDWR | O_CLOEXEC);
	/* The place of the first cell follows the page's header. The cell begins with its length and the identifier. */
	CHECK_EQ_INT(pread(fd, cell, 2, (root - 1) * bytes + 8), 2);
	CHECK_EQ_INT(pwrite(fd, "\x64", 1, (root - 1) * bytes + 256 * cell[0] + cell[1] + 1), 1);
	fixture_open(f);
}

/* Many damaged rows that are checked one by one, and rows that no check can declare, do not flood the log. */
static void test_lines(void)
{
	enum { CHECKS = 3 * LOG_LIMIT_BURST };
	struct archive_gap gap = {.stream = 1, .kind = "lost", .reason = "lapped", .after_offset = 30, .packets = 1};
	static struct catch c;
	struct fixture f;
	const char *log;
	bool damaged;

	if (!archive_make(&f))
		return;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	for (gap.after_sequence = 90; gap.after_sequence < 93; gap.after_sequence++) {
		gap.next_sequence = gap.after_sequence + 1;
		CHECK_EQ_INT(archive_writer_gap(f.w, &gap), 0);
	}
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	catch_begin(&c);
	for (unsigned i = 0; i < CHECKS; i++) {
		change(&f, "UPDATE captures SET note = note || 'x' WHERE id = 9");
		row_sums_check_row(f.w, "captures", 9, &damaged);
	}
	log = catch_end(&c);
	CHECK_EQ_UINT(archive_writer_damage(f.w).pieces, CHECKS);
	CHECK_EQ_UINT(lines_with(log, "were damaged or lost on the disk: table=captures"), LOG_LIMIT_BURST);
	identifier_break(&f, "gaps");
	catch_begin(&c);
	for (unsigned i = 0; i < CHECKS; i++)
		row_sums_check(f.w);
	log = catch_end(&c);
	CHECK(archive_writer_damage(f.w).pieces >= CHECKS);
	CHECK_EQ_UINT(lines_with(log, "cannot be declared"), LOG_LIMIT_BURST);
	CHECK_EQ_UINT(lines_with(log, "were damaged or lost on the disk: table=gaps"), LOG_LIMIT_BURST);
	fixture_deinit(&f);
}

int main(void)
{
	CHECK_RUN(test_as_the_schema_says);
	CHECK_RUN(test_flips);
	CHECK_RUN(test_ends);
	CHECK_RUN(test_rows_from_before);
	CHECK_RUN(test_vanished);
	CHECK_RUN(test_row_taken_away);
	CHECK_RUN(test_restored_at_start);
	CHECK_RUN(test_repair);
	CHECK_RUN(test_compaction);
	CHECK_RUN(test_gap);
	CHECK_RUN(test_resume);
	CHECK_RUN(test_resume_without_texts);
	CHECK_RUN(test_rows);
	CHECK_RUN(test_cut_packets);
	CHECK_RUN(test_lost_beginning);
	CHECK_RUN(test_old_beginning);
	CHECK_RUN(test_end_before_packet);
	CHECK_RUN(test_rows_read);
	CHECK_RUN(test_rows_of_runs);
	CHECK_RUN(test_marks);
	CHECK_RUN(test_entries);
	CHECK_RUN(test_columns);
	CHECK_RUN(test_columns_of_entry);
	CHECK_RUN(test_tails);
	CHECK_RUN(test_tail_of_range);
	CHECK_RUN(test_range_entry);
	CHECK_RUN(test_pinned_range);
	CHECK_RUN(test_entry_of_sibling);
	CHECK_RUN(test_no_entry);
	CHECK_RUN(test_wrong_entry);
	CHECK_RUN(test_broken_index);
	CHECK_RUN(test_lines);
	CHECK_RUN(test_stamps);
	CHECK_RUN(test_stamp_of_run);
	CHECK_RUN(test_stamp_before_deletion);
	CHECK_RUN(test_kinds);
	CHECK_RUN(test_forgotten);
	CHECK_RUN(test_rows_by_steps);
	CHECK_RUN(test_deletion);
	CHECK_RUN(test_profile);
	CHECK_RUN(test_fsck);
	return check_done();
}
