/*
 * Copy the readable rows of a damaged file into a new one.
 *
 * SQLite stops reading a table where the file is damaged. So a table is read in ascending order of
 * row numbers up to the damage. Then the next readable row is searched at growing distances, and
 * the rows between are read in descending order from there. Only ascending row numbers are
 * accepted, so a tree with a cycle ends the copy, and a table gets at most PROBES searches.
 * Checksums are checked later, by fsck.c.
 */
#include "salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive.h"
#include "array.h"
#include "cleanup.h"
#include "database.h"
#include "memory-stream.h"

#define PROBES	     4096u
#define BATCH	     1000u	 /* rows in one transaction */
#define BATCH_BYTES  (16u << 20) /* bytes of rows in one transaction */
#define HEADER_SIZE  100
#define PAGE_SIZE_AT 16 /* 16 bit, big-endian */
#define PAGES_AT     28 /* size of the file in pages; 32 bit, big-endian */

/* ---- the file's header ----------------------------------------------------------------------- */

/* The header bytes that are constant under the settings of database.c: offset, length, value. */
static const struct {
	size_t at, len;
	const char *bytes;
} constants[] = {
	{0, 16, "SQLite format 3"}, {18, 2, "\2\2"}, /* WAL */
	{20, 4, "\0\100  "},			     /* no reserved bytes; payload fractions that SQLite fixes */
	{44, 4, "\0\0\0\4"},			     /* schema format */
	{56, 4, "\0\0\0\1"},			     /* UTF-8 */
};

/*
 * Return true if HEADER states a page size that mprofd gives files. Archives of earlier versions
 * have pages of 64 KiB, which the header writes as 1.
 */
static bool has_page_size(const uint8_t header[HEADER_SIZE])
{
	unsigned stated = (unsigned)header[PAGE_SIZE_AT] << 8 | header[PAGE_SIZE_AT + 1];

	return stated == DATABASE_PAGE_BYTES || stated == 1;
}

/* Put the page size into HEADER by which the file's SIZE is the stated number of pages. */
static void set_page_size(uint8_t header[HEADER_SIZE], uint64_t size)
{
	const uint8_t *p = header + PAGES_AT;
	uint64_t pages = (uint64_t)p[0] << 24 | (uint64_t)p[1] << 16 | (uint64_t)p[2] << 8 | p[3];
	unsigned stated = pages * 65536 == size ? 1 : DATABASE_PAGE_BYTES;

	header[PAGE_SIZE_AT] = (uint8_t)(stated >> 8);
	header[PAGE_SIZE_AT + 1] = (uint8_t)stated;
}

int salvage_header(const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	uint8_t header[HEADER_SIZE];
	struct stat st;
	int wrong = 0;

	if (fd < 0)
		return -errno;
	if (pread(fd, header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return 0;
	if (!has_page_size(header)) {
		wrong = 1;
		if (fstat(fd, &st) < 0)
			return -errno;
		set_page_size(header, (uint64_t)st.st_size);
		if (pwrite(fd, header + PAGE_SIZE_AT, 2, PAGE_SIZE_AT) != 2)
			return -EIO;
	}
	for (size_t i = 0; i < ARRAY_SIZE(constants); i++) {
		if (memcmp(header + constants[i].at, constants[i].bytes, constants[i].len) == 0)
			continue;
		wrong = 1;
		if (pwrite(fd, constants[i].bytes, constants[i].len, (off_t)constants[i].at) !=
		    (ssize_t)constants[i].len)
			return -EIO;
	}
	return wrong;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct copy {
	const struct salvage_table *table;
	sqlite3 *from, *to;
	sqlite3_stmt *insert;
	uint64_t copied, refused, in_batch, batch_bytes;
	unsigned probes; /* searches that are left */
	bool damaged;
	FILE *out;
};

/* Prepare the statement that inserts a row, with the columns that FROM has. */
static int prepare_insert(struct copy *c, sqlite3_stmt *from)
{
	CLEANUP(freep) char *sql = NULL;
	size_t size;
	FILE *f = open_memstream(&sql, &size);
	int n = sqlite3_column_count(from);

	if (!f)
		return -ENOMEM;
	/* If two rows have the same key, keep the first. */
	fprintf(f, "INSERT OR IGNORE INTO %s (", c->table->name);
	for (int i = 0; i < n; i++)
		fprintf(f, "%s\"%s\"", i ? ", " : "", sqlite3_column_name(from, i));
	fputs(") VALUES (", f);
	for (int i = 0; i < n; i++)
		fprintf(f, "%s?%d", i ? ", " : "", i + 1);
	fputs(")", f);
	if (!memory_stream_close(f, &sql))
		return -ENOMEM;
	return database_error(c->to, sqlite3_prepare_v2(c->to, sql, -1, &c->insert, NULL));
}

/* Write the write-ahead log into the file, because the log would become as large as the archive. */
static int empty_log(sqlite3 *db)
{
	return database_error(db, sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
}

static int end_batch(struct copy *c)
{
	int r = database_run(c->to, "COMMIT");

	c->in_batch = c->batch_bytes = 0;
	if (r == 0)
		r = empty_log(c->to);
	return r ? r : database_run(c->to, "BEGIN");
}

static int copy_row(struct copy *c, sqlite3_stmt *from)
{
	int r = c->insert ? 0 : prepare_insert(c, from);

	if (r != 0)
		return r;
	for (int i = 0; i < sqlite3_column_count(from); i++) {
		sqlite3_bind_value(c->insert, i + 1, sqlite3_column_value(from, i));
		c->batch_bytes += (uint64_t)sqlite3_column_bytes(from, i);
	}
	r = sqlite3_step(c->insert);
	sqlite3_reset(c->insert);
	sqlite3_clear_bindings(c->insert);
	if (r == SQLITE_FULL || r == SQLITE_NOMEM || (r & 0xff) == SQLITE_IOERR)
		return database_error(c->to, r);
	*(r == SQLITE_DONE && sqlite3_changes(c->to) ? &c->copied : &c->refused) += 1;
	return ++c->in_batch < BATCH && c->batch_bytes < BATCH_BYTES ? 0 : end_batch(c);
}

/*
 * Prepare FORMAT with the table's name in it, and bind the two numbers. Return NULL on failure. The
 * caller finalizes the statement.
 */
static sqlite3_stmt *ask(struct copy *c, const char *format, int64_t first, int64_t second)
{
	sqlite3_stmt *s = NULL;
	char *sql = sqlite3_mprintf(format, c->table->name);

	if (sql && sqlite3_prepare_v2(c->from, sql, -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, first);
		sqlite3_bind_int64(s, 2, second);
	}
	sqlite3_free(sql);
	return s;
}

/*
 * Copy the rows behind *LAST in ascending order; *LAST becomes the last row read. Return 1 if
 * damage stopped the copy, 0 at the end of the table, or an error.
 */
static int copy_up(struct copy *c, int64_t *last)
{
	sqlite3_stmt *s =
		ask(c, c->table->has_rowid ? "SELECT * FROM %s WHERE rowid > ?1 ORDER BY rowid" : "SELECT * FROM %s",
		    *last, 0);
	int rc = s ? SQLITE_ROW : SQLITE_CORRUPT, r = 0;

	while (rc == SQLITE_ROW && r == 0 && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		if (c->table->has_rowid && sqlite3_column_int64(s, 0) <= *last)
			rc = SQLITE_CORRUPT;
		else if (c->table->has_rowid)
			*last = sqlite3_column_int64(s, 0);
		if (rc == SQLITE_ROW)
			r = copy_row(c, s);
	}
	sqlite3_finalize(s);
	return r ? r : rc == SQLITE_DONE ? 0 : 1;
}

/*
 * Copy the rows with ids from FIRST down to LAST + 1, in this order. Stop at the first damaged row.
 * Return 0 or an error.
 */
static int copy_down(struct copy *c, int64_t first, int64_t last)
{
	sqlite3_stmt *s = ask(c, "SELECT * FROM %s WHERE rowid <= ?1 AND rowid > ?2 ORDER BY rowid DESC", first, last);
	int r = 0;

	for (int64_t at = INT64_MAX; s && r == 0 && sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int64(s, 0) < at;) {
		at = sqlite3_column_int64(s, 0);
		r = copy_row(c, s);
	}
	sqlite3_finalize(s);
	return r;
}

/*
 * Search a readable row behind *LAST at growing distances, copy the readable rows in between, and
 * move *LAST there. Return 0, 1 if there is no readable row, or an error.
 */
static int probe(struct copy *c, int64_t *last)
{
	int64_t found = -1;
	int rc = SQLITE_CORRUPT, r;

	for (int64_t step = 1; c->probes && step < (INT64_C(1) << 40) && rc != SQLITE_DONE && found <= *last;
	     step *= 2) {
		sqlite3_stmt *s = ask(c, "SELECT rowid FROM %s WHERE rowid > ?1 ORDER BY rowid LIMIT 1",
				      *last < INT64_MAX - step ? *last + step : INT64_MAX, 0);

		c->probes--;
		rc = s ? sqlite3_step(s) : SQLITE_CORRUPT;
		if (rc == SQLITE_ROW)
			found = sqlite3_column_int64(s, 0);
		sqlite3_finalize(s);
	}
	if (found <= *last)
		return 1;
	r = copy_down(c, found, *last);
	*last = found;
	return r;
}

/* Return whether the file is of a version that had no such table. */
static bool is_newer(struct copy *c)
{
	sqlite3_stmt *s = ask(c, "SELECT 1 FROM sqlite_schema WHERE name = '%s'", 0, 0);
	bool absent = s && sqlite3_step(s) == SQLITE_DONE;
	int64_t version;

	sqlite3_finalize(s);
	return absent && database_number(c->from, "PRAGMA user_version", &version) == 0 && version > 0 &&
	       version < c->table->since;
}

/* Delete the rows that migrations put into a new file, because the copied rows replace them. */
static int delete_rows(struct copy *c)
{
	char *sql = sqlite3_mprintf("DELETE FROM %s", c->table->name);
	int r = sql ? database_run(c->to, sql) : -ENOMEM;

	sqlite3_free(sql);
	return r;
}

static int copy_table(struct copy *c)
{
	int64_t last = -1; /* all row numbers are greater */
	int r = database_run(c->to, "BEGIN");

	if (r == 0)
		r = delete_rows(c);
	if (r == 0 && is_newer(c))
		return database_run(c->to, "COMMIT");
	if (r != 0)
		return r;
	while ((r = copy_up(c, &last)) == 1) {
		c->damaged = true;
		if (!c->table->has_rowid || (r = probe(c, &last)) == 1) {
			r = 0;
			break;
		}
		if (r != 0)
			break;
	}
	sqlite3_finalize(c->insert);
	if (r != 0) {
		sqlite3_exec(c->to, "ROLLBACK", NULL, NULL, NULL);
		return r;
	}
	fprintf(c->out, "%s: %" PRIu64 " saved%s%s\n", c->table->rows, c->copied, c->refused ? ", some refused" : "",
		c->damaged ? ", others cannot be read" : "");
	return database_run(c->to, "COMMIT");
}

/* ---- files ----------------------------------------------------------------------------------- */

static int open_damaged(const char *path, sqlite3 **db)
{
	int rc = sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	/* With these settings SQLite opens a file even if the definition of a table is damaged. */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(*db, "PRAGMA writable_schema = ON; PRAGMA cell_size_check = ON;", NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : -EBADMSG;
}

static void remove_with_log(const char *path)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	char *name;

	for (size_t i = 0; i < 3; i++) {
		if (asprintf(&name, "%s%s", path, suffixes[i]) < 0)
			return;
		unlink(name);
		free(name);
	}
}

/*
 * Rename PATH and its -wal and -shm to PATH.damaged-N, with the smallest N that is not used. Report
 * to OUT. Return 0 or -errno.
 */
static int move_away(const char *path, FILE *out)
{
	static const char *const suffixes[] = {"-wal", "-shm", ""};
	struct stat st;
	char *to, *name, *target;
	int n = 0, r = 0;

	do {
		if (asprintf(&to, "%s.damaged-%d", path, ++n) < 0)
			return -ENOMEM;
		r = lstat(to, &st);
		if (r == 0)
			free(to);
	} while (r == 0 && n < 1000);
	if (r == 0)
		return -EEXIST;
	r = 0;
	for (size_t i = 0; i < 3 && r == 0; i++) {
		if (asprintf(&name, "%s%s", path, suffixes[i]) < 0)
			r = -ENOMEM;
		else if (asprintf(&target, "%s%s", to, suffixes[i]) < 0)
			r = -ENOMEM, free(name);
		else {
			if (rename(name, target) < 0 && (errno != ENOENT || suffixes[i][0] == '\0'))
				r = -errno;
			free(name);
			free(target);
		}
	}
	if (r == 0)
		fprintf(out, "The damaged file is kept as %s; remove it when it is not wanted.\n", to);
	free(to);
	return r;
}

static int copy_all(const struct salvage *s, sqlite3 *from, sqlite3 *to, FILE *out)
{
	int r = database_run(to, "PRAGMA foreign_keys = OFF");

	for (const struct salvage_table *t = s->tables; t->name && r == 0; t++) {
		struct copy c = {.table = t, .from = from, .to = to, .probes = PROBES, .out = out};

		r = copy_table(&c);
	}
	if (r == 0 && s->finish)
		r = database_run(to, s->finish);
	if (r == 0)
		r = empty_log(to);
	return r;
}

int salvage_run(const struct salvage *s, FILE *out)
{
	CLEANUP(freep) char *path = NULL;
	sqlite3 *from = NULL, *to = NULL;
	char sentence[512];
	struct stat st;
	int r;

	if (asprintf(&path, "%s.saved", s->path) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	remove_with_log(path);
	r = stat(s->path, &st) < 0 ? -errno : database_open(&to, path, s->migrations, NULL, sentence, sizeof(sentence));
	if (r == 0)
		r = open_damaged(s->path, &from);
	if (r == 0)
		r = copy_all(s, from, to, out);
	sqlite3_close(from);
	sqlite3_close(to);
	if (r == 0 && (chown(path, st.st_uid, st.st_gid) < 0 || chmod(path, st.st_mode & 0777) < 0))
		r = -errno;
	if (r == 0)
		r = move_away(s->path, out);
	if (r == 0 && rename(path, s->path) < 0)
		r = -errno;
	remove_with_log(path);
	return r;
}
