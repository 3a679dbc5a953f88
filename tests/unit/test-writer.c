/* The archive's writer: appends, compaction, gaps, captures, and resuming after a kill. */
#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "archive-fixture.h"
#include "reader.h"
#include "store.h"

#define MIB (1u << 20)

/* With a sanitizer, resident memory includes the sanitizer's own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

static void test_open(void)
{
	struct archive_options options = {.wal_limit_bytes = FIXTURE_WAL};
	struct archive_writer *second = NULL;
	struct fixture f;
	struct stat st;
	char path[128], sentence[256];

	if (!fixture_init(&f))
		return;
	snprintf(path, sizeof(path), "%s/archive", f.state);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0750);
	snprintf(path, sizeof(path), "%s/archive/trace.db", f.state);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0640);
	CHECK_EQ_INT(fixture_number(&f, "PRAGMA page_size"), 16384);
	CHECK_EQ_INT(fixture_number(&f, "PRAGMA auto_vacuum"), 2);
	CHECK_EQ_INT(fixture_number(&f, "PRAGMA user_version"), 11);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
	CHECK_EQ_INT(archive_writer_open(&second, f.state, &options, sentence, sizeof(sentence)), -EBUSY);
	CHECK(strstr(sentence, "another mprofd") != NULL);
	fixture_reopen(&f);
	f.w = archive_writer_free(f.w);
	snprintf(path, sizeof(path), "%s/archive/trace.db-wal", f.state);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0640);
	fixture_deinit(&f);
}

static void test_newer_and_damaged(void)
{
	struct archive_options options = {.wal_limit_bytes = FIXTURE_WAL};
	struct archive_writer *w = NULL;
	struct fixture f;
	char path[128], sentence[256];
	FILE *file;

	if (!fixture_init(&f))
		return;
	fixture_number(&f, "PRAGMA user_version = 999");
	f.w = archive_writer_free(f.w);
	CHECK_EQ_INT(archive_writer_open(&w, f.state, &options, sentence, sizeof(sentence)), ARCHIVE_E_NEWER);
	CHECK(strstr(sentence, "newer version") != NULL);
	snprintf(path, sizeof(path), "%s/archive/trace.db", f.state);
	file = fopen(path, "w");
	for (int i = 0; i < 5000; i++)
		fputs("this is no database\n", file);
	fclose(file);
	/* SQLite would restore the file from the log. */
	snprintf(path, sizeof(path), "%s/archive/trace.db-wal", f.state);
	CHECK(unlink(path) == 0);
	CHECK_EQ_INT(archive_writer_open(&w, f.state, &options, sentence, sizeof(sentence)), -EBADMSG);
	CHECK(strstr(sentence, "damaged") != NULL);
	fixture_deinit(&f);
}

/* A number of the version that does not agree with the tables is named, and the archive is left as it is. */
static void test_wrong_version(void)
{
	static const char *const numbers[] = {"PRAGMA user_version = 0", "PRAGMA user_version = 2",
					      "PRAGMA user_version = -7"};
	struct archive_options options = {.wal_limit_bytes = FIXTURE_WAL};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct archive_writer *w = NULL;
		char sentence[512] = "";
		struct fixture f;

		if (!fixture_init(&f))
			return;
		fixture_number(&f, "%s", numbers[i]);
		f.w = archive_writer_free(f.w);
		CHECK_EQ_INT(archive_writer_open(&w, f.state, &options, sentence, sizeof(sentence)), ARCHIVE_E_VERSION);
		CHECK(strstr(sentence, "user_version") != NULL);
		archive_writer_free(w);
		fixture_deinit(&f);
	}
}

/* A FIFO, a socket or a directory in the place of a file is refused at once, by the writer and by a reader. */
static void test_other_kinds(void)
{
	static const char *const names[] = {"trace.db", "trace.db-wal", "trace.db-shm"};
	struct archive_options options = {.wal_limit_bytes = FIXTURE_WAL};

	for (unsigned i = 0; i < 6; i++) {
		struct archive_writer *w = NULL;
		char path[128], sentence[512] = "";
		struct reader *r = NULL;
		struct fixture f;

		if (!fixture_init(&f))
			return;
		f.w = archive_writer_free(f.w);
		snprintf(path, sizeof(path), "%s/archive/%s", f.state, names[i % 3]);
		unlink(path);
		CHECK_EQ_INT(i < 3 ? mkfifo(path, 0640) : mkdir(path, 0750), 0);
		CHECK_EQ_INT(archive_writer_open(&w, f.state, &options, sentence, sizeof(sentence)), ARCHIVE_E_KIND);
		CHECK(strstr(sentence, "FIFO") != NULL && strstr(sentence, "trace.db") != NULL);
		archive_writer_free(w);
		CHECK_EQ_INT(reader_new(&r, f.state), 0);
		CHECK_EQ_INT(reader_ready(r), ARCHIVE_E_KIND);
		reader_free(r);
		CHECK_EQ_INT(i < 3 ? unlink(path) : rmdir(path), 0);
		fixture_deinit(&f);
	}
}

static void test_one_append(void)
{
	struct fixture_packet p;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 5, 250030, 99), 0);
	p = fixture_read(&f, 1, 5);
	CHECK(p.is_whole && p.is_complete);
	CHECK_EQ_UINT(p.rows, 1);
	CHECK_EQ_UINT(p.end, 250030);
	/* The row was inserted and never rewritten. */
	CHECK_EQ_INT(fixture_number(&f, "SELECT max(id) FROM chunks"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT packets FROM streams"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT bytes FROM streams"), 250030);
	CHECK_EQ_INT(fixture_number(&f, "SELECT last_seen_real FROM streams"), 99);
	CHECK_EQ_INT(fixture_number(&f, "SELECT codec FROM chunks"), 1);
	/*
	 * To append the same bytes again changes nothing, before and after the packet is complete.
	 */
	CHECK_EQ_INT(fixture_packet(&f, 1, 5, 250030, 99), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 5, 1030, 99), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks"), 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT packets FROM streams"), 1);
	/* A packet without events, and a packet that is stored without compression. */
	archive_writer_level(f.w, 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 6, 30, 100), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 7, 5030, 100), 0);
	p = fixture_read(&f, 1, 6);
	CHECK(p.rows == 1 && p.is_complete && p.end == 30);
	p = fixture_read(&f, 1, 7);
	CHECK(p.is_whole && p.is_complete && p.end == 5030);
	CHECK_EQ_INT(fixture_number(&f, "SELECT codec FROM chunks WHERE sequence = 7"), 0);
	fixture_deinit(&f);
}

/*
 * Append all of packet 5 once more, and 1,000 bytes behind it. Two of the three chunk ends are in
 * the archive already.
 */
static int append_again(struct fixture *f)
{
	static uint8_t data[2500];
	const struct archive_end ends[] = {{1030, 5, 10}, {1530, 6, 12}, {2530, 7, 14}};
	const struct archive_piece piece = {.stream = 1,
					    .sequence = 5,
					    .offset = 30,
					    .length = sizeof(data),
					    .packet_bytes = 9000,
					    .ends = ends,
					    .n_ends = 3,
					    .data = data};

	fixture_fill(data, 1, 5, 30, sizeof(data));
	return archive_writer_append(f->w, &piece);
}

static void test_idempotent(void)
{
	struct fixture_packet p;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 5, 30, 1000, 0, true, 10), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 5, 30, 1000, 0, true, 10), 0);
	/* 500 of these bytes are in the archive. */
	CHECK_EQ_INT(fixture_append(&f, 1, 5, 530, 1000, 0, true, 12), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 5, 2000, 10, 0, true, 12), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(fixture_append(&f, 2, 5, 30, 10, 0, true, 12), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(fixture_append(&f, 1, 5, 29, 10, 0, true, 12), -EINVAL);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	p = fixture_read(&f, 1, 5);
	CHECK(p.is_whole && !p.is_complete);
	CHECK_EQ_UINT(p.rows, 2);
	CHECK_EQ_UINT(p.end, 1530);
	CHECK_EQ_UINT(p.ends, 2);
	/* A rollback leaves nothing behind, and an append outside of a transaction is refused. */
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 5, 1530, 1000, 0, true, 10), 0);
	archive_writer_rollback(f.w);
	CHECK_EQ_UINT(fixture_read(&f, 1, 5).end, 1530);
	CHECK_EQ_INT(fixture_append(&f, 1, 5, 1530, 1000, 0, true, 10), -EINVAL);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(append_again(&f), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	p = fixture_read(&f, 1, 5);
	CHECK(p.is_whole && p.rows == 3 && p.end == 2530 && p.ends == 3);
	fixture_deinit(&f);
}

static void test_compaction(void)
{
	struct fixture_packet p;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	for (uint32_t i = 0; i < 200; i++) {
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		CHECK_EQ_INT(fixture_append(&f, 1, 9, 30 + i * 100, 100, i == 50 ? ARCHIVE_CHUNK_UNPROVEN : 0,
					    i % 10 != 3, 100 + i),
			     0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	}
	p = fixture_read(&f, 1, 9);
	CHECK(p.is_whole && !p.is_complete && p.rows == 200 && p.ends == 180);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 9, 20030, 77, ARCHIVE_CHUNK_LAST, true, 500), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	p = fixture_read(&f, 1, 9);
	CHECK(p.is_whole && p.is_complete);
	CHECK_EQ_UINT(p.rows, 1);
	CHECK_EQ_UINT(p.ends, 181);
	CHECK_EQ_UINT(p.last_end, 20107);
	CHECK_EQ_UINT(p.flags, ARCHIVE_CHUNK_LAST | ARCHIVE_CHUNK_UNPROVEN);
	CHECK_EQ_INT(fixture_number(&f, "SELECT bytes FROM streams"), 20107);
	CHECK_EQ_INT(fixture_number(&f, "SELECT first_timestamp FROM chunks"), 7009);
	CHECK_EQ_INT(fixture_number(&f, "SELECT last_seen_real FROM streams"), 500);
	fixture_deinit(&f);
}

/* To complete a packet of one row with a piece of length 0 does not rewrite the row. */
static void test_complete_only(void)
{
	struct fixture_packet p;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 9, 30, 5000, 0, true, 100), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 9, 5030, 0, ARCHIVE_CHUNK_LAST, false, 0), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 10, 30, 5000, 0, true, 200), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 10, 5030, 5000, 0, true, 201), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 10, 10030, 0, ARCHIVE_CHUNK_LAST, false, 0), 0);
	/* The whole packet is appended again, now with the LAST flag. Only the flag is new. */
	CHECK_EQ_INT(fixture_append(&f, 1, 11, 30, 5000, 0, true, 300), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 11, 30, 5000, ARCHIVE_CHUNK_LAST, true, 300), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	p = fixture_read(&f, 1, 9);
	CHECK(p.is_whole && p.is_complete && p.rows == 1 && p.end == 5030 && p.ends == 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT id FROM chunks WHERE sequence = 9"), 1);
	p = fixture_read(&f, 1, 10);
	CHECK(p.is_whole && p.is_complete && p.rows == 1 && p.end == 10030 && p.ends == 2);
	p = fixture_read(&f, 1, 11);
	CHECK(p.is_whole && p.is_complete && p.rows == 1 && p.end == 5030 && p.ends == 1);
	CHECK_EQ_INT(fixture_number(&f, "SELECT packets FROM streams"), 3);
	CHECK_EQ_INT(fixture_number(&f, "SELECT bytes FROM streams"), 5030 + 10030 + 5030);
	CHECK_EQ_INT(fixture_number(&f, "SELECT last_seen_real FROM streams"), 300);
	fixture_deinit(&f);
}

/*
 * Check that a packet of TOTAL bytes goes into the fewest possible rows, if it is appended in
 * pieces of LENGTH bytes with a chunk end in every EVERYth piece.
 */
static void large_packet(uint32_t total, uint32_t length, uint32_t every)
{
	uint32_t content = total - 30, pieces = (content + length - 1) / length, ends = 0;
	struct fixture_packet p;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	for (uint32_t i = 0; i < pieces; i++) {
		bool is_last = i + 1 == pieces, has_end = is_last || i % every == every - 1;
		uint32_t at = i * length;

		ends += has_end;
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		CHECK_EQ_INT(fixture_append(&f, 1, 9, 30 + at, is_last ? content - at : length,
					    is_last ? ARCHIVE_CHUNK_LAST : 0, has_end, 100 + i),
			     0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
		/* Besides the full rows, there are never more rows than 1 MiB of pieces makes. */
		if (has_end && length < MIB)
			CHECK(fixture_number(&f, "SELECT count(*) FROM chunks") <=
			      at / MIB + 1 + MIB / length + every + 1);
	}
	p = fixture_read(&f, 1, 9);
	CHECK(p.is_whole && p.is_complete);
	CHECK_EQ_UINT(p.rows, (content + MIB - 1) / MIB);
	CHECK_EQ_UINT(p.ends, ends);
	CHECK_EQ_UINT(p.end, total);
	CHECK_EQ_UINT(p.last_end, total);
	CHECK_EQ_INT(fixture_number(&f, "SELECT bytes FROM streams"), total);
	fixture_deinit(&f);
}

static void test_large(void)
{
	large_packet(5 * MIB + 12345, 250000, 1);
	large_packet(5 * MIB + 12345, 250000, 7);
	/* Each piece is a full row already, so no row is rewritten. */
	large_packet(6 * MIB + 30, MIB, 1);
	large_packet(6 * MIB + 31, MIB, 6);
	large_packet(4 * MIB + 30, 700001, 2);
	large_packet(2 * MIB + 30, 60000, 3);
}

static int64_t resident_peak(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];
	long kib = 0;

	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	fclose(file);
	return kib;
}

/*
 * 256 MiB in pieces of nearly 1 MiB, of which only the last has a chunk end: the most expensive
 * case for compaction. The writer's memory stays below 48 MiB. With a sanitizer, which needs memory of its own, 32 MiB.
 */
static void test_huge(void)
{
	const uint32_t total = (SANITIZED ? 32 : 256) * MIB, length = MIB - 1000;
	int64_t before = resident_peak();
	struct fixture_packet p;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	for (uint32_t at = 30; at < total; at += length) {
		uint32_t n = total - at < length ? total - at : length;

		CHECK_EQ_INT(
			fixture_append(&f, 1, 9, at, n, at + n == total ? ARCHIVE_CHUNK_LAST : 0, at + n == total, 100),
			0);
	}
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK(SANITIZED || resident_peak() - before < 48 * 1024);
	p = fixture_read(&f, 1, 9);
	CHECK(p.is_whole && p.is_complete && p.rows == total / MIB && p.ends == 1 && p.end == total);
	fixture_deinit(&f);
}

/* A small commit writes two pages: the end of the chunks, and a leaf of their index. */
static void test_small_commit_pages(void)
{
	struct fixture f;
	struct stat before, after;
	char path[128];

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	snprintf(path, sizeof(path), "%s/archive/trace.db-wal", f.state);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(fixture_append(&f, 1, 9, 30, 100, 0, true, 100), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK(stat(path, &before) == 0);
	for (uint32_t i = 1; i <= 50; i++) {
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		CHECK_EQ_INT(fixture_append(&f, 1, 9, 30 + 100 * i, 100, 0, true, 100), 0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	}
	CHECK(stat(path, &after) == 0);
	CHECK_EQ_INT((after.st_size - before.st_size) / (16384 + 24), 100);
	/*
	 * To write rows that are in the archive already writes no page. Neither does an empty
	 * transaction.
	 */
	before = after;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK(stat(path, &after) == 0);
	CHECK_EQ_INT(after.st_size, before.st_size);
	fixture_deinit(&f);
}

struct seen {
	unsigned n;
	struct archive_resume last;
	char name[32], key[32], state[16], uuid[40], captured_as[16];
};

static int see(void *context, const struct archive_resume *resume)
{
	struct seen *seen = context;

	seen->n++;
	seen->last = *resume;
	snprintf(seen->name, sizeof(seen->name), "%s", resume->name);
	snprintf(seen->key, sizeof(seen->key), "%s", resume->key);
	snprintf(seen->state, sizeof(seen->state), "%s", resume->state);
	snprintf(seen->uuid, sizeof(seen->uuid), "%s", resume->uuid ? resume->uuid : "");
	snprintf(seen->captured_as, sizeof(seen->captured_as), "%s", resume->captured_as ? resume->captured_as : "");
	return 0;
}

static struct seen resume(struct fixture *f)
{
	struct seen seen = {0};

	fixture_reopen(f);
	CHECK_EQ_INT(archive_writer_resume(f->w, see, &seen), 0);
	return seen;
}

static int append_one(struct fixture *f, uint64_t sequence, uint32_t offset, uint32_t length, uint32_t flags,
		      bool has_end, uint64_t real)
{
	int r = archive_writer_begin(f->w);

	if (r == 0)
		r = fixture_append(f, 1, sequence, offset, length, flags, has_end, real);
	return r ? r : archive_writer_commit(f->w);
}

static void test_resume(void)
{
	struct archive_gap gap = {.stream = 1,
				  .kind = "lost",
				  .reason = "lapped",
				  .after_sequence = 71,
				  .after_offset = 530,
				  .next_sequence = 80,
				  .packets = 9};
	struct fixture f;
	struct seen seen;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	seen = resume(&f);
	CHECK(seen.n == 1 && !seen.last.any && !seen.last.captured && seen.last.number == 0);
	CHECK_EQ_STR(seen.name, "web");
	CHECK_EQ_STR(seen.key, "key");
	CHECK_EQ_STR(seen.state, "running");
	CHECK_EQ_UINT(seen.last.ring_bytes, MIB);
	CHECK_EQ_UINT(seen.last.ring_packets, 4);
	/* The archive ends in the middle of a packet. */
	CHECK_EQ_INT(append_one(&f, 70, 30, 500, 0, true, 40), 0);
	seen = resume(&f);
	CHECK(seen.last.any && seen.last.sequence == 70 && seen.last.offset == 530 && seen.last.last_sequence == 70);
	CHECK(seen.last.first_timestamp == 7070 && seen.last.last_real == 40);
	/* The archive ends behind a complete packet. */
	CHECK_EQ_INT(append_one(&f, 70, 530, 500, ARCHIVE_CHUNK_LAST, true, 41), 0);
	seen = resume(&f);
	CHECK(seen.last.sequence == 71 && seen.last.offset == 30 && seen.last.last_sequence == 70);
	/*
	 * Pieces behind the last chunk end are dropped, because they are unproven. The others stay.
	 */
	CHECK_EQ_INT(append_one(&f, 71, 30, 500, 0, true, 42), 0);
	CHECK_EQ_INT(append_one(&f, 71, 530, 500, 0, false, 43), 0);
	CHECK_EQ_INT(append_one(&f, 71, 1030, 500, 0, false, 43), 0);
	seen = resume(&f);
	CHECK(seen.last.sequence == 71 && seen.last.offset == 530 && seen.last.last_real == 42);
	CHECK_EQ_UINT(fixture_read(&f, 1, 71).end, 530);
	/* A gap ends the packet, and drops the pieces behind the last chunk end. */
	CHECK_EQ_INT(append_one(&f, 71, 530, 500, 0, false, 43), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_gap(f.w, &gap), 0);
	CHECK_EQ_INT(archive_writer_gap(f.w, &gap), 0); /* the same gap again changes nothing */
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT lost_packets FROM streams"), 9);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM gaps"), 1);
	CHECK_EQ_UINT(fixture_read(&f, 1, 71).end, 530);
	seen = resume(&f);
	CHECK(seen.last.sequence == 80 && seen.last.offset == 30 && seen.last.last_sequence == 71);
	/*
	 * A packet without any chunk end is dropped, and the resume position is again the end of
	 * the gap before it.
	 */
	CHECK_EQ_INT(append_one(&f, 80, 30, 500, 0, false, 50), 0);
	seen = resume(&f);
	CHECK(seen.last.sequence == 80 && seen.last.offset == 30 && seen.last.last_sequence == 71);
	CHECK_EQ_UINT(fixture_read(&f, 1, 80).rows, 0);
	/* A gap of the kind "skipped" adds to a count of its own. */
	gap.kind = "skipped";
	gap.reason = "policy";
	gap.after_sequence = 79;
	gap.next_sequence = 90;
	gap.packets = 10;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_gap(f.w, &gap), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT skipped_packets FROM streams"), 10);
	CHECK_EQ_INT(fixture_number(&f, "SELECT lost_packets FROM streams"), 9);
	seen = resume(&f);
	CHECK(seen.last.sequence == 90 && seen.last.offset == 30);
	/* The archive continues in the packet that was begun behind the gap. */
	CHECK_EQ_INT(append_one(&f, 90, 30, 500, 0, true, 60), 0);
	seen = resume(&f);
	CHECK(seen.last.sequence == 90 && seen.last.offset == 530);
	fixture_deinit(&f);
}

static int refuse(void *context)
{
	(void)context;
	return 1;
}

/* A failed commit rolls its transaction back. The next transaction can begin. */
static void test_commit_fails(void)
{
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(append_one(&f, 1, 30, 500, 0, true, 40), 0);
	sqlite3_commit_hook(archive_writer_store(f.w)->db, refuse, NULL);
	CHECK(append_one(&f, 1, 530, 500, 0, true, 41) != 0);
	sqlite3_commit_hook(archive_writer_store(f.w)->db, NULL, NULL);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM chunks"), 1);
	CHECK_EQ_INT(append_one(&f, 1, 530, 500, 0, true, 41), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT sum(length) FROM chunks"), 1000);
	fixture_deinit(&f);
}

static unsigned flushes;
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	flushes++;
	return __real_fdatasync(fd);
}

/*
 * Check that the writer's count of a stream's bytes equals the bytes of its rows: a quota of that
 * many bytes deletes nothing, and one byte less deletes something.
 */
static void check_tally(struct fixture *f)
{
	int64_t bytes = fixture_number(f, "SELECT (SELECT coalesce(sum(length), 0) FROM chunks) + "
					  "(SELECT coalesce(sum(length), 0) FROM tails)");
	int64_t packets = fixture_number(f, "SELECT count(DISTINCT sequence) FROM chunks");
	bool more;

	CHECK_EQ_INT(archive_writer_enforce(f->w, "web", (uint64_t)bytes, 0, 100, &more), 0);
	CHECK_EQ_INT(fixture_number(f, "SELECT count(DISTINCT sequence) FROM chunks"), packets);
	CHECK_EQ_INT(archive_writer_enforce(f->w, "web", (uint64_t)bytes - 1, 0, 100, &more), 0);
	CHECK_EQ_INT(fixture_number(f, "SELECT count(DISTINCT sequence) FROM chunks"), packets - 1);
}

/*
 * The last two packets have pieces behind their last chunk ends. Those pieces, and the tail of a
 * capture that a kill interrupted, are deleted and not counted in quotas.
 */
static void test_resume_two(void)
{
	struct archive_capture capture = {.id = 3, .run = 1, .kind = "crash"};
	uint8_t data[400] = {0};
	struct archive_piece tail = {
		.stream = 1, .sequence = 7, .offset = 30, .length = 400, .packet_bytes = 900, .data = data};
	struct fixture f;
	struct seen seen;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 4, 630, 9), 0);
	CHECK_EQ_INT(fixture_packet(&f, 1, 5, 630, 10), 0);
	CHECK_EQ_INT(append_one(&f, 6, 30, 500, 0, true, 20), 0);
	CHECK_EQ_INT(append_one(&f, 6, 530, 500, 0, false, 21), 0);
	CHECK_EQ_INT(append_one(&f, 7, 30, 500, 0, false, 22), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
	CHECK_EQ_INT(archive_writer_tail(f.w, 3, &tail), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	seen = resume(&f);
	CHECK(seen.last.sequence == 6 && seen.last.offset == 530 && seen.last.last_sequence == 6);
	CHECK_EQ_UINT(fixture_read(&f, 1, 6).end, 530);
	CHECK_EQ_UINT(fixture_read(&f, 1, 7).rows, 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM tails"), 0);
	check_tally(&f);
	fixture_deinit(&f);
}

/* The commit of a capture flushes the disk. No other commit does. */
static void test_flushed(void)
{
	struct archive_capture capture = {.id = 3, .run = 1, .kind = "crash"};
	struct archive_capture_stream range = {3, 1, 5, 5, 630, 0};
	struct fixture f;
	unsigned before;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	before = flushes;
	CHECK_EQ_INT(fixture_packet(&f, 1, 5, 630, 10), 0);
	CHECK_EQ_UINT(flushes, before);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f.w, &range), 0);
	CHECK_EQ_UINT(flushes, before);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_UINT(flushes, before + 1);
	CHECK_EQ_INT(fixture_packet(&f, 1, 6, 630, 10), 0);
	CHECK_EQ_UINT(flushes, before + 1);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_change_capture(f.w,
						   &(struct archive_capture_change){
							   .capture = 3, .pinned = -1, .context = "{}", .version = -1}),
		     0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_UINT(flushes, before + 2);
	fixture_deinit(&f);
}

/* A reserve file that has no blocks on the disk, or has another size, is made again. */
static void test_reserve(void)
{
	struct archive_options options = {.wal_limit_bytes = 4 * MIB, .reserve_bytes = MIB, .level = 1};
	struct fixture f;
	char path[128], sentence[256];
	struct stat st;

	if (!fixture_init(&f))
		return;
	snprintf(path, sizeof(path), "%s/archive/reserve", f.state);
	for (int i = 0; i < 3; i++) {
		f.w = archive_writer_free(f.w);
		CHECK_EQ_INT(archive_writer_open(&f.w, f.state, &options, sentence, sizeof(sentence)), 0);
		CHECK(stat(path, &st) == 0 && st.st_size == MIB && st.st_blocks * 512 >= MIB);
		CHECK(truncate(path, i ? 4096 : 0) == 0 && truncate(path, i ? 4096 : MIB) == 0);
	}
	fixture_deinit(&f);
}

/* A piece is cut at the last chunk end inside it. */
static void test_resume_cut(void)
{
	struct archive_end end = {.offset = 430, .mono = 20, .real = 40};
	uint8_t data[500];
	struct archive_piece piece = {.stream = 1,
				      .sequence = 3,
				      .offset = 30,
				      .length = sizeof(data),
				      .packet_bytes = 1000,
				      .first_timestamp = 1,
				      .ends = &end,
				      .n_ends = 1,
				      .data = data};
	struct fixture_packet p;
	struct fixture f;
	struct seen seen;

	if (!fixture_init(&f))
		return;
	fixture_fill(data, 1, 3, 30, sizeof(data));
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_append(f.w, &piece), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	seen = resume(&f);
	CHECK(seen.last.sequence == 3 && seen.last.offset == 430);
	p = fixture_read(&f, 1, 3);
	CHECK(p.is_whole && p.end == 430 && p.ends == 1);
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "ended", 1), 0);
	check_tally(&f);
	fixture_deinit(&f);
}

/* Changes of CAPTURE, which has been changed twice: a context is none; only the right version may change it. */
static void check_versions(struct fixture *f, int64_t capture)
{
	static const char marks[] = "[{\"from\": \"7\", \"to\": \"9\", \"text\": \"here\"}]";
	struct archive_capture_change change = {.capture = capture, .pinned = -1, .marks = marks, .version = 1};

	CHECK_EQ_INT(fixture_number(f, "SELECT version FROM captures WHERE marks = '[]'"), 2);
	CHECK_EQ_INT(archive_writer_change_capture(f->w, &change), ARCHIVE_E_CHANGED);
	CHECK_EQ_INT(fixture_number(f, "SELECT version FROM captures WHERE marks = '[]'"), 2);
	change.version = 2;
	CHECK_EQ_INT(archive_writer_change_capture(f->w, &change), 0);
	CHECK_EQ_INT(fixture_number(f, "SELECT version FROM captures WHERE json_extract(marks, '$[0].text') = 'here'"
				       " AND note = 'because' AND pinned"),
		     3);
	CHECK_EQ_INT(archive_writer_change_capture(f->w, &change), ARCHIVE_E_CHANGED);
	change = (struct archive_capture_change){.capture = 5, .pinned = 1, .version = 0};
	CHECK_EQ_INT(archive_writer_change_capture(f->w, &change), ARCHIVE_E_ABSENT);
}

static void test_captures(void)
{
	struct archive_capture capture = {.id = 4, .run = 1, .kind = "manual", .real = 50, .mono = 25, .note = "why"};
	struct archive_capture_stream range = {
		.capture = 4, .stream = 1, .first_sequence = 1, .last_sequence = 2, .last_offset = 530};
	uint8_t data[300];
	struct archive_piece tail = {.stream = 1,
				     .sequence = 2,
				     .offset = 530,
				     .length = sizeof(data),
				     .packet_bytes = 1000,
				     .first_timestamp = 1,
				     .data = data};
	int64_t run, stream, id;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	fixture_fill(data, 1, 2, 530, sizeof(data));
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
	CHECK_EQ_INT(archive_writer_put_capture_stream(f.w, &range), 0);
	CHECK_EQ_INT(archive_writer_tail(f.w, 4, &tail), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK(!resume(&f).last.captured); /* the capture is not one of the run's end */
	CHECK_EQ_INT(archive_writer_change_capture(
			     f.w, &(struct archive_capture_change){.capture = 4, .pinned = 1, .version = -1}),
		     0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT pinned FROM captures WHERE note = 'why'"), 1);
	CHECK_EQ_INT(
		archive_writer_change_capture(
			f.w,
			&(struct archive_capture_change){.capture = 4, .pinned = -1, .note = "because", .version = -1}),
		0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT pinned FROM captures WHERE note = 'because'"), 1);
	/* A patch sets the fields that it has. The other fields keep their values. */
	CHECK_EQ_INT(archive_writer_change_capture(
			     f.w,
			     &(struct archive_capture_change){
				     .capture = 4, .pinned = -1, .context = "{\"reason\":\"crash\"}", .version = -1}),
		     0);
	CHECK_EQ_INT(archive_writer_change_capture(
			     f.w, &(struct archive_capture_change){.capture = 4, .pinned = -1, .version = -1}),
		     0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT pinned FROM captures WHERE note = 'because'"
					" AND context = '{\"reason\":\"crash\"}'"),
		     1);
	CHECK_EQ_INT(archive_writer_change_capture(
			     f.w, &(struct archive_capture_change){.capture = 5, .pinned = 1, .version = -1}),
		     ARCHIVE_E_ABSENT);
	check_versions(&f, 4);
	CHECK_EQ_INT(archive_writer_delete_capture(f.w, 5), ARCHIVE_E_ABSENT);
	CHECK_EQ_INT(archive_writer_delete_capture(f.w, 4), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT (SELECT count(*) FROM tails) + (SELECT count(*) FROM capture_streams)"),
		     0);
	/* The numbers of deleted captures are not used again. */
	CHECK_EQ_INT(archive_writer_last_ids(f.w, &run, &stream, &id), 0);
	CHECK(run == 1 && stream == 1 && id == 4);
	capture.id = 5;
	capture.run = 77;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), ARCHIVE_E_ABSENT);
	capture.run = 1;
	capture.kind = "crash";
	CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK(resume(&f).last.captured);
	fixture_deinit(&f);
}

/* The kinds of captures that end a run. A suspended run is kept for a guest that resumes. */
static void test_kinds(void)
{
	static const struct {
		const char *kind;
		bool ends;
	} kinds[] = {{"crash", true}, {"watchdog", true}, {"poweroff", true},  {"reboot", true},  {"destroyed", true},
		     {"ended", true}, {"suspend", false}, {"periodic", false}, {"manual", false}, {"trigger", false}};
	const struct archive_run run = {.id = 1,
					.source = "xen",
					.key = "key",
					.name = "web",
					.domid = 7,
					.state = "suspended",
					.reason = "suspend"};
	bool more;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct archive_capture capture = {.id = 1, .run = 1, .kind = kinds[i].kind, .real = 50};
		struct fixture f;

		if (!fixture_init(&f))
			return;
		CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		CHECK_EQ_INT(archive_writer_put_run(f.w, &run), 0);
		CHECK_EQ_INT(archive_writer_put_capture(f.w, &capture), 0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
		CHECK_EQ_INT(resume(&f).last.captured, kinds[i].ends);
		CHECK_EQ_INT(archive_writer_delete_capture(f.w, 1), 0);
		CHECK_EQ_INT(archive_writer_enforce(f.w, "web", 1, 0, 100, &more), 0);
		CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM runs WHERE state = 'suspended'"), 1);
		fixture_deinit(&f);
	}
}

static int put_capture(struct fixture *f, int64_t id, const char *kind, int64_t tail_of, int64_t range_of)
{
	const struct archive_capture capture = {.id = id, .run = 1, .kind = kind, .real = 100 * (uint64_t)id};
	const struct archive_piece tail = {.stream = tail_of,
					   .sequence = 7,
					   .offset = 100,
					   .length = 4,
					   .packet_bytes = MIB,
					   .data = (const uint8_t *)"tail"};
	const struct archive_capture_stream range = {.capture = id, .stream = range_of};
	int r = archive_writer_begin(f->w);

	if (r == 0)
		r = archive_writer_put_capture(f->w, &capture);
	if (r == 0 && tail_of)
		r = archive_writer_tail(f->w, id, &tail);
	if (r == 0 && range_of)
		r = archive_writer_put_capture_stream(f->w, &range);
	return r ? r : archive_writer_commit(f->w);
}

/*
 * Captures of a run's end that a kill of the daemon interrupted between any two of their rows. The
 * range is written last.
 */
static void test_resume_captures(void)
{
	struct archive_run run = {.id = 1,
				  .source = "xen",
				  .key = "key",
				  .name = "web",
				  .uuid = "its-uuid",
				  .domid = 7,
				  .state = "running",
				  .began_real = 1000};
	struct archive_stream other = {.id = 2, .run = 1, .number = 3, .ring_bytes = MIB, .ring_packets = 4};
	struct fixture f;
	struct seen seen;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_run(f.w, &run), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	seen = resume(&f);
	CHECK(seen.n == 1 && seen.last.stream == 0 && seen.last.run == 1 && seen.last.domid == 7);
	CHECK_EQ_STR(seen.uuid, "its-uuid");
	CHECK(!seen.last.captured && !seen.last.captured_real && !seen.last.unfinished);
	CHECK_EQ_STR(seen.captured_as, "");
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	/* Neither kind is a capture of the run's end. */
	CHECK_EQ_INT(put_capture(&f, 1, "periodic", 1, 1), 0);
	CHECK_EQ_INT(put_capture(&f, 2, "ended", 1, 1), 0);
	seen = resume(&f);
	CHECK(seen.n == 1 && seen.last.stream == 1 && !seen.last.captured && !seen.last.unfinished);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM tails"), 2);
	/* A capture of the run's end without a range is unfinished. Its tail is dropped. */
	CHECK_EQ_INT(put_capture(&f, 3, "crash", 1, 0), 0);
	seen = resume(&f);
	CHECK(seen.last.captured && !seen.last.captured_real && seen.last.unfinished == 3);
	CHECK_EQ_STR(seen.captured_as, "crash");
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM tails"), 2);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM captures"), 3);
	/* The same capture with the range is finished. */
	CHECK_EQ_INT(put_capture(&f, 3, "crash", 1, 1), 0);
	seen = resume(&f);
	CHECK(seen.last.captured && seen.last.captured_real == 300 && !seen.last.unfinished);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(*) FROM tails"), 3);
	/* The capture has the range of one of two streams, so it is unfinished. */
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_stream(f.w, &other), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	seen = resume(&f);
	CHECK(seen.n == 2 && seen.last.stream == 2 && seen.last.number == 3);
	CHECK(seen.last.captured && !seen.last.captured_real && seen.last.unfinished == 3);
	fixture_deinit(&f);
}

/* Put capture ID of the kind KIND. Its range of stream 1 ends at OFFSET of packet SEQUENCE. */
static int take(struct fixture *f, int64_t id, const char *kind, uint64_t sequence, uint32_t offset)
{
	const struct archive_capture capture = {.id = id, .run = 1, .kind = kind, .real = 100 * (uint64_t)id};
	const struct archive_capture_stream range = {
		.capture = id, .stream = 1, .first_sequence = 0, .last_sequence = sequence, .last_offset = offset};
	int r = archive_writer_begin(f->w);

	if (r == 0)
		r = archive_writer_put_capture(f->w, &capture);
	if (r == 0)
		r = archive_writer_put_capture_stream(f->w, &range);
	return r ? r : archive_writer_commit(f->w);
}

/*
 * The archive knows the end of a stream if a capture of the end reaches it, or if a gap declares
 * its loss.
 */
static void test_end_known(void)
{
	struct archive_run run = {.id = 1, .source = "xen", .key = "key", .name = "web", .state = "running"};
	struct archive_gap gap = {.stream = 1,
				  .kind = "lost",
				  .reason = "restart",
				  .after_sequence = 4,
				  .after_offset = 630,
				  .next_sequence = 5,
				  .packets = 1};
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_run(f.w, &run), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK(!resume(&f).last.end_known);
	CHECK_EQ_INT(append_one(&f, 4, 30, 500, 0, true, 40), 0);
	CHECK_EQ_INT(take(&f, 1, "periodic", 4, 530), 0);
	CHECK_EQ_INT(take(&f, 2, "suspend", 4, 530), 0);
	CHECK(!resume(&f).last.end_known);
	CHECK_EQ_INT(take(&f, 3, "crash", 4, 529), 0);
	CHECK(!resume(&f).last.end_known);
	CHECK_EQ_INT(take(&f, 4, "crash", 4, 530), 0);
	CHECK(resume(&f).last.end_known);
	/* More bytes came after the capture, so the capture does not reach the end. */
	CHECK_EQ_INT(append_one(&f, 4, 530, 100, 0, true, 41), 0);
	CHECK(!resume(&f).last.end_known);
	CHECK_EQ_INT(take(&f, 5, "ended", 5, 30), 0);
	CHECK(resume(&f).last.end_known);
	CHECK_EQ_INT(archive_writer_delete_capture(f.w, 5), 0);
	CHECK(!resume(&f).last.end_known);
	for (int i = 0; i < 2; i++) { /* a gap of known length, then one of unknown length */
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		CHECK_EQ_INT(archive_writer_gap(f.w, &gap), 0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
		CHECK_EQ_INT(resume(&f).last.end_known, i);
		gap.at_least = true;
		gap.after_sequence = gap.next_sequence++;
	}
	CHECK_EQ_INT(append_one(&f, 6, 30, 500, 0, true, 50), 0);
	CHECK(!resume(&f).last.end_known);
	/* The ring goes on behind these gaps. */
	for (uint32_t i = 0; i < 2; i++) {
		struct archive_gap begin = gap;

		begin.after_sequence = 7 + i;
		begin.after_offset = i ? 30 : 0;
		begin.next_sequence = 8 + 2 * i;
		begin.packets = 1 + i;
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		CHECK_EQ_INT(archive_writer_gap(f.w, &begin), 0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
		CHECK(!resume(&f).last.end_known);
	}
	fixture_deinit(&f);
}

/* A capture "ended" does not make a file's end known, because the file may be written again. */
static void test_end_of_file(void)
{
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(append_one(&f, 4, 30, 500, 0, true, 40), 0);
	CHECK_EQ_INT(take(&f, 1, "ended", 4, 530), 0);
	CHECK(!resume(&f).last.end_known);
	fixture_deinit(&f);
}

/* A later put of a stream keeps the flags that it does not set. */
static void test_stream_flags(void)
{
	struct archive_stream stream = {.id = 1, .run = 1, .flags = ARCHIVE_STREAM_WRITERS};
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK_EQ_INT(archive_writer_begin(f.w), 0);
	CHECK_EQ_INT(archive_writer_put_stream(f.w, &stream), 0);
	stream.flags = ARCHIVE_STREAM_CLOCK;
	CHECK_EQ_INT(archive_writer_put_stream(f.w, &stream), 0);
	CHECK_EQ_INT(archive_writer_commit(f.w), 0);
	CHECK_EQ_INT(fixture_number(&f, "SELECT flags FROM streams"), ARCHIVE_STREAM_WRITERS | ARCHIVE_STREAM_CLOCK);
	fixture_deinit(&f);
}

/*
 * A stream's beginning is stored once, at its first put, and goes with its run. If its row is damaged or lacks, the beginning is not known.
 */
static void test_beginning(void)
{
	struct archive_stream stream = {.id = 2, .run = 1, .number = 1, .has_begins = true, .begins = 4711};
	struct fixture f;
	struct seen seen;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	CHECK(!resume(&f).last.has_begins);
	for (uint32_t i = 0; i < 2; i++) {
		CHECK_EQ_INT(archive_writer_begin(f.w), 0);
		CHECK_EQ_INT(archive_writer_put_stream(f.w, &stream), 0);
		CHECK_EQ_INT(archive_writer_commit(f.w), 0);
		stream.begins = 4712;
	}
	seen = resume(&f);
	CHECK_EQ_INT(seen.last.stream, 2);
	CHECK(seen.last.has_begins);
	CHECK_EQ_UINT(seen.last.begins, 4711);
	CHECK_EQ_INT(fixture_number(&f, "UPDATE beginnings SET sequence = 4712 RETURNING stream"), 2);
	CHECK(!resume(&f).last.has_begins);
	CHECK_EQ_INT(fixture_number(&f, "DELETE FROM beginnings RETURNING stream"), 2);
	CHECK(!resume(&f).last.has_begins);
	fixture_deinit(&f);
}

static void append_for_ever(struct fixture *f)
{
	uint64_t sequence = 0;
	uint32_t offset = 30;
	struct seen seen = {0};

	if (archive_writer_resume(f->w, see, &seen) != 0)
		_exit(2);
	if (seen.last.any) {
		sequence = seen.last.sequence;
		offset = seen.last.offset;
	}
	for (;;) {
		if (archive_writer_begin(f->w) != 0)
			_exit(3);
		for (int i = 0; i < 3; i++) {
			bool is_last = offset > 150000;

			if (fixture_append(f, 1, sequence, offset, 40000, is_last ? ARCHIVE_CHUNK_LAST : 0,
					   is_last || i != 1, 1000) != 0)
				_exit(4);
			offset += 40000;
			if (is_last) {
				sequence++;
				offset = 30;
			}
		}
		if (archive_writer_commit(f->w) != 0)
			_exit(5);
	}
}

/*
 * Check that no packet is missing, and that every packet but the last is complete. Return the
 * number of packets.
 */
static uint64_t check_contiguous(const struct fixture *f)
{
	int64_t last = fixture_number(f, "SELECT coalesce(max(sequence), -1) FROM chunks");

	CHECK_EQ_INT(fixture_number(f, "SELECT count(DISTINCT sequence) FROM chunks"), last + 1);
	for (int64_t i = last > 30 ? last - 30 : 0; i <= last; i++) {
		struct fixture_packet p = fixture_read(f, 1, (uint64_t)i);

		CHECK(p.is_whole);
		CHECK(i == last || (p.is_complete && p.rows == 1));
	}
	return (uint64_t)(last + 1);
}

static void test_kill(void)
{
	uint64_t before = 0, now;
	useconds_t longer = 1;
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	f.w = archive_writer_free(f.w);
	srand(4711);
	for (int i = 0; i < 20; i += (int)check_step(4)) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			if (!fixture_open(&f))
				_exit(6);
			append_for_ever(&f);
		}
		usleep((20000 + (useconds_t)(rand() % 100000)) * longer);
		CHECK_EQ_INT(kill(child, SIGKILL), 0);
		CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
		now = check_contiguous(&f);
		CHECK(now >= before);
		before = now;
		/* The writer may not have written anything yet on a busy machine. */
		if (before == 0 && longer < 64)
			longer *= 2;
	}
	CHECK(before > 0);
	CHECK(fixture_integrity(&f));
	if (fixture_open(&f))
		CHECK_EQ_INT(fixture_number(&f, "SELECT packets FROM streams"),
			     fixture_number(&f, "SELECT count(*) FROM chunks WHERE flags & 1"));
	fixture_deinit(&f);
}

int main(void)
{
	CHECK_RUN(test_open);
	CHECK_RUN(test_newer_and_damaged);
	CHECK_RUN(test_wrong_version);
	CHECK_RUN(test_other_kinds);
	CHECK_RUN(test_one_append);
	CHECK_RUN(test_idempotent);
	CHECK_RUN(test_compaction);
	CHECK_RUN(test_complete_only);
	CHECK_RUN(test_large);
	CHECK_RUN(test_huge);
	CHECK_RUN(test_small_commit_pages);
	CHECK_RUN(test_resume);
	CHECK_RUN(test_commit_fails);
	CHECK_RUN(test_resume_cut);
	CHECK_RUN(test_captures);
	CHECK_RUN(test_kinds);
	CHECK_RUN(test_resume_captures);
	CHECK_RUN(test_end_known);
	CHECK_RUN(test_end_of_file);
	CHECK_RUN(test_stream_flags);
	CHECK_RUN(test_beginning);
	CHECK_RUN(test_resume_two);
	CHECK_RUN(test_flushed);
	CHECK_RUN(test_reserve);
	CHECK_RUN(test_kill);
	return check_done();
}
