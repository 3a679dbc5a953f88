/* Assumptions about SQLite: the write-ahead log (WAL) as daemon/archive uses it, by several connections and processes. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "assumption.h"

#define INDEX_BYTES 96u /* as DATABASE_INDEX_BYTES of daemon/archive/database.h */

struct fixture {
	char path[64]; /* of the database, in a directory of its own */
	sqlite3 *writer;
	int wal_pages; /* as the hook has said */
};

static int hook(void *context, sqlite3 *db, const char *name, int pages)
{
	struct fixture *f = context;

	(void)db;
	(void)name;
	f->wal_pages = pages;
	return SQLITE_OK;
}

static int sql(sqlite3 *db, const char *text)
{
	return sqlite3_exec(db, text, NULL, NULL, NULL);
}

static void must(sqlite3 *db, const char *text)
{
	if (!CHECK(sql(db, text) == SQLITE_OK))
		fprintf(stderr, "%s: %s\n", text, sqlite3_errmsg(db));
}

/* Return the first column of QUERY's first row; -1 = there is none. */
static int64_t number(sqlite3 *db, const char *query)
{
	sqlite3_stmt *s = NULL;
	int64_t found = -1;

	if (sqlite3_prepare_v2(db, query, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		found = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return found;
}

static sqlite3 *database(const struct fixture *f, int flags)
{
	sqlite3 *db = NULL;

	sqlite3_open_v2(f->path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	return db;
}

static int64_t size_of(const struct fixture *f, const char *suffix)
{
	char path[80];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", f->path, suffix);
	return stat(path, &st) == 0 ? st.st_size : -1;
}

/* Make a database as set_up() of daemon/archive/database.c does. */
static void start(struct fixture *f)
{
	char directory[] = "/tmp/assumption-XXXXXX";
	int persist = 1, fd;

	*f = (struct fixture){0};
	CHECK(mkdtemp(directory));
	snprintf(f->path, sizeof(f->path), "%s/db", directory);
	fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	CHECK(fd >= 0 && fchmod(fd, 0640) == 0);
	close(fd);
	f->writer = database(f, SQLITE_OPEN_READWRITE);
	must(f->writer, "PRAGMA page_size = 16384; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
			"PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;");
	CHECK_EQ_INT(sqlite3_file_control(f->writer, "main", SQLITE_FCNTL_PERSIST_WAL, &persist), SQLITE_OK);
	sqlite3_wal_hook(f->writer, hook, f);
	must(f->writer, "CREATE TABLE t (x)");
}

static void stop(struct fixture *f)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	char path[80];

	sqlite3_close(f->writer);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(path, sizeof(path), "%s%s", f->path, suffixes[i]);
		unlink(path);
	}
	*strrchr(f->path, '/') = '\0';
	CHECK(rmdir(f->path) == 0);
}

static void add_row(struct fixture *f)
{
	must(f->writer, "INSERT INTO t VALUES (zeroblob(40000))");
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- readers and the writer ------------------------------------------------------------------- */

static void reader_keeps_its_state(void)
{
	struct fixture f;
	sqlite3 *reader;

	start(&f);
	add_row(&f);
	reader = database(&f, SQLITE_OPEN_READONLY);
	must(reader, "BEGIN");
	CHECK_EQ_INT(number(reader, "SELECT count(*) FROM t"), 1);
	add_row(&f); /* does not wait */
	CHECK_EQ_INT(number(reader, "SELECT count(*) FROM t"), 1);
	must(reader, "COMMIT");
	CHECK_EQ_INT(number(reader, "SELECT count(*) FROM t"), 2);
	sqlite3_close(reader);
	stop(&f);
}

static void second_writer_is_busy(void)
{
	struct fixture f;
	sqlite3 *second;

	start(&f);
	second = database(&f, SQLITE_OPEN_READWRITE);
	sqlite3_busy_timeout(second, 20);
	must(f.writer, "BEGIN IMMEDIATE");
	CHECK_EQ_INT(sql(second, "BEGIN IMMEDIATE") & 0xff, SQLITE_BUSY);
	must(f.writer, "COMMIT");
	CHECK_EQ_INT(sql(second, "BEGIN IMMEDIATE"), SQLITE_OK);
	sqlite3_close(second);
	stop(&f);
}

static void data_version_of_others(void)
{
	struct fixture f;
	sqlite3 *reader;
	int64_t before, own;

	start(&f);
	reader = database(&f, SQLITE_OPEN_READONLY);
	before = number(reader, "PRAGMA data_version");
	CHECK_EQ_INT(number(reader, "PRAGMA data_version"), before);
	own = number(f.writer, "PRAGMA data_version");
	add_row(&f);
	CHECK(number(reader, "PRAGMA data_version") != before);
	CHECK_EQ_INT(number(f.writer, "PRAGMA data_version"), own);
	sqlite3_close(reader);
	stop(&f);
}

/* Copy the header of the WAL index of DB, as index_header() of daemon/archive/database.c does. */
static bool index_header(sqlite3 *db, uint8_t *header)
{
	sqlite3_file *file = NULL;
	volatile void *index = NULL;
	int rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	if (rc != SQLITE_OK || !file || !file->pMethods || file->pMethods->iVersion < 2)
		return false;
	rc = file->pMethods->xShmMap(file, 0, 32768, 0, &index);
	if ((rc != SQLITE_OK && rc != SQLITE_READONLY) || !index)
		return false;
	for (size_t i = 0; i < INDEX_BYTES; i++)
		header[i] = ((const volatile uint8_t *)index)[i];
	return true;
}

static void index_header_of_commits(void)
{
	uint8_t first[INDEX_BYTES], second[INDEX_BYTES];
	struct fixture f;
	sqlite3 *reader;

	start(&f);
	add_row(&f);
	reader = database(&f, SQLITE_OPEN_READONLY);
	number(reader, "SELECT count(*) FROM t");
	for (unsigned i = 0; i < 4; i++) {
		CHECK(index_header(reader, first));
		number(reader, "SELECT count(*) FROM t");
		CHECK(index_header(reader, second));
		CHECK_EQ_MEM(second, first, INDEX_BYTES);
		if (i == 2) /* the next commit begins at the start of the WAL again */
			sqlite3_wal_checkpoint_v2(f.writer, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
		add_row(&f);
		CHECK(index_header(reader, second));
		CHECK(memcmp(first, second, INDEX_BYTES) != 0);
	}
	sqlite3_close(reader);
	stop(&f);
}

/* ---- checkpoints ------------------------------------------------------------------------------ */

static void checkpoint_by_another(void)
{
	struct fixture f;
	sqlite3 *other;
	int before;

	start(&f);
	for (unsigned i = 0; i < 8; i++)
		add_row(&f);
	before = f.wal_pages;
	CHECK(before >= 8);
	other = database(&f, SQLITE_OPEN_READWRITE);
	number(other, "PRAGMA user_version"); /* only now it knows that there is a WAL */
	CHECK_EQ_INT(sqlite3_wal_checkpoint_v2(other, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL), SQLITE_OK);
	add_row(&f);
	CHECK(f.wal_pages < before / 2);
	sqlite3_close(other);
	CHECK_EQ_INT(number(f.writer, "SELECT count(*) FROM t"), 9);
	stop(&f);
}

static void passive_waits_for_nobody(void)
{
	struct fixture f;
	sqlite3 *reader;
	uint64_t from;
	int before;

	start(&f);
	add_row(&f);
	reader = database(&f, SQLITE_OPEN_READONLY);
	must(reader, "BEGIN");
	number(reader, "SELECT count(*) FROM t");
	add_row(&f);
	before = f.wal_pages;
	sqlite3_busy_timeout(f.writer, 60000);
	from = now_ms();
	CHECK_EQ_INT(sqlite3_wal_checkpoint_v2(f.writer, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL), SQLITE_OK);
	CHECK(now_ms() - from < 30000);
	add_row(&f);
	CHECK(f.wal_pages > before); /* the reader keeps the WAL from beginning again */
	sqlite3_close(reader);
	stop(&f);
}

static void truncate_waits_and_truncates(void)
{
	struct fixture f;
	sqlite3 *reader;

	start(&f);
	add_row(&f);
	reader = database(&f, SQLITE_OPEN_READONLY);
	must(reader, "BEGIN");
	number(reader, "SELECT count(*) FROM t");
	add_row(&f);
	sqlite3_busy_timeout(f.writer, 5);
	CHECK_EQ_INT(sqlite3_wal_checkpoint_v2(f.writer, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) & 0xff,
		     SQLITE_BUSY);
	CHECK(size_of(&f, "-wal") > 0);
	must(reader, "COMMIT");
	CHECK_EQ_INT(sqlite3_wal_checkpoint_v2(f.writer, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL), SQLITE_OK);
	CHECK_EQ_INT(size_of(&f, "-wal"), 0);
	sqlite3_close(reader);
	stop(&f);
}

static void vacuum_shortens_at_checkpoint(void)
{
	struct fixture f;
	int64_t full;

	start(&f);
	for (unsigned i = 0; i < 20; i++)
		add_row(&f);
	sqlite3_wal_checkpoint_v2(f.writer, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	full = size_of(&f, "");
	must(f.writer, "DELETE FROM t");
	CHECK(number(f.writer, "PRAGMA freelist_count") > 10);
	must(f.writer, "PRAGMA incremental_vacuum(5)");
	CHECK_EQ_INT(size_of(&f, ""), full);
	sqlite3_wal_checkpoint_v2(f.writer, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	CHECK_EQ_INT(size_of(&f, ""), full - INT64_C(5) * 16384);
	stop(&f);
}

/* ---- files and processes ---------------------------------------------------------------------- */

static void files_have_the_mode(void)
{
	static const char *const suffixes[] = {"-wal", "-shm"};
	char path[80];
	struct stat st;
	struct fixture f;

	start(&f);
	CHECK_EQ_INT(number(f.writer, "PRAGMA page_size"), 16384);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s%s", f.path, suffixes[i]);
		CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640);
	}
	CHECK_EQ_STR(sqlite3_filename_wal(sqlite3_db_filename(f.writer, "main")) + strlen(f.path), "-wal");
	stop(&f);
}

static void wal_stays_at_close(void)
{
	struct fixture f;
	sqlite3 *reader;

	start(&f);
	add_row(&f);
	sqlite3_close(f.writer);
	f.writer = NULL;
	CHECK(size_of(&f, "-wal") >= 0);
	CHECK(size_of(&f, "-shm") >= 0);
	reader = database(&f, SQLITE_OPEN_READONLY);
	CHECK_EQ_INT(number(reader, "SELECT count(*) FROM t"), 1);
	sqlite3_close(reader);
	stop(&f);
}

/* Read the table as a user who may not write the directory. Return the result of SQLite, without extended bits. */
static int read_as_stranger(const struct fixture *f)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		sqlite3 *db;

		if (geteuid() == 0 && setuid(65534) != 0)
			_exit(255);
		db = database(f, SQLITE_OPEN_READONLY);
		_exit(sql(db, "SELECT count(*) FROM t") & 0xff);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The reader must try again if the index is missing or in recovery: database_read_error() takes these results for ARCHIVE_E_BUSY. */
static void stranger_cannot_recover(void)
{
	char directory[64], shm[80];
	struct fixture f;
	int result;

	start(&f);
	add_row(&f);
	sqlite3_close(f.writer);
	f.writer = NULL;
	snprintf(directory, sizeof(directory), "%s", f.path);
	*strrchr(directory, '/') = '\0';
	snprintf(shm, sizeof(shm), "%s-shm", f.path);
	CHECK(unlink(shm) == 0);
	CHECK(chmod(f.path, 0644) == 0 && chmod(directory, 0555) == 0);
	result = read_as_stranger(&f);
	CHECK(result == SQLITE_READONLY || result == SQLITE_CANTOPEN || result == SQLITE_BUSY ||
	      result == SQLITE_PROTOCOL);
	CHECK(chmod(directory, 0755) == 0);
	f.writer = database(&f, SQLITE_OPEN_READWRITE);
	CHECK_EQ_INT(number(f.writer, "SELECT count(*) FROM t"), 1);
	stop(&f);
}

static void killed_loses_no_commit(void)
{
	struct fixture f;
	int status = 0;
	pid_t child;

	start(&f);
	sqlite3_close(f.writer);
	f.writer = NULL;
	child = fork();
	if (child == 0) {
		sqlite3 *db = database(&f, SQLITE_OPEN_READWRITE);

		sql(db, "PRAGMA synchronous = NORMAL; INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)");
		kill(getpid(), SIGKILL);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	f.writer = database(&f, SQLITE_OPEN_READWRITE);
	CHECK_EQ_INT(number(f.writer, "SELECT count(*) FROM t"), 1);
	stop(&f);
}

int main(int argc, char **argv)
{
	static const struct assumption all[] = {
		{"sqlite-reader-keeps-its-state", reader_keeps_its_state},
		{"sqlite-second-writer-is-busy", second_writer_is_busy},
		{"sqlite-data-version-of-others", data_version_of_others},
		{"sqlite-index-header-of-commits", index_header_of_commits},
		{"sqlite-checkpoint-by-another", checkpoint_by_another},
		{"sqlite-passive-waits-for-nobody", passive_waits_for_nobody},
		{"sqlite-truncate-waits-and-truncates", truncate_waits_and_truncates},
		{"sqlite-vacuum-shortens-at-checkpoint", vacuum_shortens_at_checkpoint},
		{"sqlite-files-have-the-mode", files_have_the_mode},
		{"sqlite-wal-stays-at-close", wal_stays_at_close},
		{"sqlite-stranger-cannot-recover", stranger_cannot_recover},
		{"sqlite-killed-loses-no-commit", killed_loses_no_commit},
	};

	return assumptions_run(all, sizeof(all) / sizeof(*all), argc, argv);
}
