/* The write-ahead log (WAL): its size, its checkpoints, and the thread that makes them. */
#include <sys/stat.h>
#include <time.h>

#include "archive-fixture.h"
#include "clock.h"
#include "space.h"

#define MIB (1u << 20)

int __wrap_sqlite3_wal_checkpoint_v2(sqlite3 *db, const char *name, int mode, int *log, int *done);
int __real_sqlite3_wal_checkpoint_v2(sqlite3 *db, const char *name, int mode, int *log, int *done);

static unsigned truncations; /* attempts to truncate a WAL; only the thread that writes makes them */

int __wrap_sqlite3_wal_checkpoint_v2(sqlite3 *db, const char *name, int mode, int *log, int *done)
{
	if (mode == SQLITE_CHECKPOINT_TRUNCATE)
		truncations++;
	return __real_sqlite3_wal_checkpoint_v2(db, name, mode, log, done);
}

/*
 * While a reader keeps the WAL from being reset, commits continue. When the reader is gone, the WAL
 * is truncated.
 */
static void test_wal(void)
{
	struct archive_options options = {.wal_limit_bytes = 4 * MIB, .level = 0};
	struct timespec t0, t1;
	struct fixture f;
	struct stat st;
	sqlite3 *db;
	char path[128], sentence[256];
	unsigned quick = 0;

	if (!fixture_init(&f))
		return;
	f.w = archive_writer_free(f.w);
	CHECK_EQ_INT(archive_writer_open(&f.w, f.state, &options, sentence, sizeof(sentence)), 0);
	snprintf(path, sizeof(path), "%s/archive/trace.db-wal", f.state);
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	for (uint64_t i = 0; i < 40; i++)
		CHECK_EQ_INT(fixture_packet(&f, 1, i, MIB, i), 0);
	CHECK(stat(path, &st) == 0 && st.st_size < (off_t)(8 * MIB));
	db = fixture_database(&f);
	sqlite3_exec(db, "BEGIN; SELECT count(*) FROM chunks", NULL, NULL, NULL);
	for (uint64_t i = 40; i < 60; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t0);
		CHECK_EQ_INT(fixture_packet(&f, 1, i, MIB, i), 0);
		clock_gettime(CLOCK_MONOTONIC, &t1);
		quick += i >= 50 && (t1.tv_sec - t0.tv_sec) * 1000 + (t1.tv_nsec - t0.tv_nsec) / 1000000 < 2000;
	}
	/* A commit beyond the limit does not wait for the reader. Some do not wait for a busy disk either. */
	CHECK(quick > 0);
	CHECK(stat(path, &st) == 0 && st.st_size > (off_t)(16 * MIB)); /* the reader did keep the WAL */
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(db);
	CHECK_EQ_INT(fixture_packet(&f, 1, 60, 100, 60), 0);
	CHECK(stat(path, &st) == 0 && st.st_size == 0);
	CHECK(fixture_integrity(&f));
	fixture_deinit(&f);
}

/*
 * Without readers, the WAL is reset after it has grown to a quarter of its limit, and never grows
 * much beyond three quarters of it, however fast commits come.
 */
static void test_wal_in_peace(void)
{
	struct archive_options options = {.wal_limit_bytes = 16 * MIB, .level = 0};
	char path[128], sentence[256];
	struct fixture f;
	struct stat st;

	if (!fixture_init(&f))
		return;
	f.w = archive_writer_free(f.w);
	CHECK_EQ_INT(archive_writer_open(&f.w, f.state, &options, sentence, sizeof(sentence)), 0);
	snprintf(path, sizeof(path), "%s/archive/trace.db-wal", f.state);
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	for (uint64_t i = 0; i < 200; i++)
		CHECK_EQ_INT(fixture_packet(&f, 1, i, 200000, i), 0);
	CHECK(stat(path, &st) == 0 && st.st_size > (off_t)(3 * MIB) && st.st_size < (off_t)(14 * MIB));
	CHECK(fixture_integrity(&f));
	fixture_deinit(&f);
}

/*
 * An archive that is closed while its thread makes a checkpoint has all packets when it is opened
 * again.
 */
static void test_closed_at_work(void)
{
	struct archive_options options = {.wal_limit_bytes = 8 * MIB, .level = 0};
	char sentence[256];
	struct fixture f;

	if (!fixture_init(&f))
		return;
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	for (uint64_t round = 0; round < 5; round++) {
		f.w = archive_writer_free(f.w);
		if (!CHECK_EQ_INT(archive_writer_open(&f.w, f.state, &options, sentence, sizeof(sentence)), 0))
			break;
		/* The last packet makes the WAL grow to a quarter of its limit. */
		for (uint64_t i = 0; i < 11; i++)
			CHECK_EQ_INT(fixture_packet(&f, 1, round * 11 + i, 200000, i), 0);
	}
	fixture_reopen(&f);
	CHECK_EQ_INT(fixture_number(&f, "SELECT count(DISTINCT sequence) FROM chunks"), 55);
	CHECK_EQ_INT(fixture_number(&f, "SELECT sum(length(data)) FROM chunks"), 55 * (200000 - 30));
	CHECK(fixture_integrity(&f));
	fixture_deinit(&f);
}

/*
 * A writer that needs room asks again and again whether a reader holds the WAL. Only a commit makes it worth a checkpoint, and behind a
 * reader that stays few calls try; one that comes after the reader's end succeeds.
 */
static void test_asked_often(void)
{
	struct fixture f;
	struct store *store;
	sqlite3 *db;

	if (!fixture_init(&f))
		return;
	store = archive_writer_store(f.w);
	CHECK_EQ_INT(fixture_put(&f, 1, "web", "running", 1), 0);
	for (uint64_t i = 0; i < 3; i++) {
		CHECK_EQ_INT(fixture_packet(&f, 1, i, 1000, i), 0);
		truncations = 0;
		for (unsigned calls = 0; calls < 100; calls++)
			CHECK(!space_is_held(store));
		CHECK_EQ_UINT(truncations, 1);
	}
	db = fixture_database(&f);
	sqlite3_exec(db, "BEGIN; SELECT count(*) FROM chunks", NULL, NULL, NULL);
	CHECK_EQ_INT(fixture_packet(&f, 1, 3, 1000, 3), 0);
	truncations = 0;
	for (unsigned calls = 0; calls < 100; calls++)
		CHECK(space_is_held(store));
	CHECK(truncations >= 1 && truncations < 20);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(db);
	while (space_is_held(store))
		clock_sleep(10 * NS_PER_MS);
	CHECK(fixture_integrity(&f));
	fixture_deinit(&f);
}

int main(void)
{
	CHECK_RUN(test_wal);
	CHECK_RUN(test_wal_in_peace);
	CHECK_RUN(test_closed_at_work);
	CHECK_RUN(test_asked_often);
	return check_done();
}
