/*
 * The SQLite side of both archives.
 *
 * The settings made at open, and why:
 *
 *   page_size=16384          a small commit rewrites some pages whole: with pages of 64 KiB, as in
 *                            archives of earlier versions, four times as many bytes. Smaller pages
 *                            make large packets slow. Only a new file takes the size
 *   auto_vacuum=INCREMENTAL  deleted packets return their space to the file system, a few pages at a
 *                            time
 *   journal_mode=WAL         readers and the writer never wait for each other
 *   synchronous=NORMAL       a commit is written but not flushed. If the process is killed, no commit
 *                            is lost, because the kernel has its bytes. If the power fails, the last
 *                            commits may be lost, but the file is not corrupted: recovery stops at
 *                            the first frame of the WAL with a wrong checksum, and the WAL is flushed
 *                            before a checkpoint copies it. FULL would wait for the disk at each
 *                            commit, here up to 0.2 s. Captures are flushed by
 *                            archive_writer_commit()
 *   secure_delete=OFF        Debian's SQLite sets it to ON, which overwrites every deleted packet
 *                            with zeros
 *   wal_autocheckpoint=0     the writer checkpoints by itself, see wal.c
 *   temp_store=MEMORY        no temporary files elsewhere
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "archive.h"
#include "cleanup.h"
#include "clock.h"
#include "database.h"
#include "memory-stream.h"
#include "regular.h"
#include "space.h"
#include "wal-loss.h"

#define BUSY_MS 1000

int database_error(sqlite3 *db, int result)
{
	int cause;

	switch (result & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return ARCHIVE_E_FULL;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ARCHIVE_E_BUSY;
	case SQLITE_CONSTRAINT: /* only a foreign key can fail: the row to which it refers is missing */
		return ARCHIVE_E_ABSENT;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return -EACCES;
	case SQLITE_MISUSE:
		return -EINVAL;
	default:
		break;
	}
	cause = sqlite3_system_errno(db);
	/*
	 * SQLite enlarges the shared memory file (-shm) in another way than its other files: on a
	 * full disk that gives an I/O error.
	 */
	if (cause == ENOSPC || cause == EDQUOT || result == SQLITE_IOERR_SHMSIZE)
		return ARCHIVE_E_FULL;
	/* SQLite does not report EFBIG, so ask whether there is a limit of file sizes. */
	if (result == SQLITE_IOERR_WRITE && space_is_limited())
		return ARCHIVE_E_FULL;
	return -EIO;
}

int database_run(sqlite3 *db, const char *sql)
{
	return database_error(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

int database_run_made(sqlite3 *db, char *sql)
{
	int r = sql ? database_run(db, sql) : -ENOMEM;

	sqlite3_free(sql);
	return r;
}

int database_number(sqlite3 *db, const char *sql, int64_t *value)
{
	sqlite3_stmt *statement;
	int r = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	if (r != SQLITE_OK)
		return database_error(db, r);
	r = sqlite3_step(statement);
	if (r == SQLITE_ROW) {
		*value = sqlite3_column_int64(statement, 0);
		r = SQLITE_OK;
	}
	r = database_error(db, r);
	sqlite3_finalize(statement);
	return r;
}

int database_intact(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &s, NULL), r;
	const char *text;

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
	r = rc == SQLITE_ROW ? (text && strcmp(text, "ok") == 0 ? 0 : -EBADMSG) : database_error(db, rc);
	sqlite3_finalize(s);
	return r;
}

/*
 * Run migrations FIRST to LAST, from 1, and set the database's version, in one transaction: a page that several of them change is written
 * once, and a machine that stops leaves the version that it found.
 */
static int migrate_all(sqlite3 *db, const char *const *const *migrations, int first, int last)
{
	CLEANUP(freep) char *sql = NULL;
	size_t size;
	FILE *f = open_memstream(&sql, &size);
	int rc, r;

	if (!f)
		return -ENOMEM;
	fputs("BEGIN IMMEDIATE;\n", f);
	for (int number = first; number <= last; number++)
		for (const char *const *line = migrations[number - 1]; *line; line++)
			fputs(*line, f);
	fprintf(f, "PRAGMA user_version = %d;\nCOMMIT;\n", last);
	if (!memory_stream_close(f, &sql))
		return -ENOMEM;
	rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	/* The migrations are right for their version: a statement that fails finds the tables of another one. */
	r = (rc & 0xff) == SQLITE_ERROR ? ARCHIVE_E_VERSION : database_error(db, rc);
	if (r != 0 && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

static int migrate(sqlite3 *db, const char *const *const *migrations)
{
	int64_t version = 0;
	int known = 0, r;

	while (migrations[known])
		known++;
	r = database_number(db, "PRAGMA user_version", &version);
	if (r != 0)
		return r;
	if (version < 0)
		return ARCHIVE_E_VERSION;
	if (version > known)
		return ARCHIVE_E_NEWER;
	return version < known ? migrate_all(db, migrations, (int)version + 1, known) : 0;
}

#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)

static int set_up(sqlite3 *db, const char *path, const char *const *const *migrations, uint64_t *lost)
{
	int persist = 1, r;

	sqlite3_busy_timeout(db, BUSY_MS);
	if (lost) {
		*lost = wal_loss(db, path);
		/*
		 * Begin the log anew. A process that is killed before it has written over all of them leaves some in
		 * the file, and they would be counted again.
		 */
		if (*lost)
			sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	}
	r = database_run(db, "PRAGMA page_size = " TEXT(DATABASE_PAGE_BYTES) ";"
									     "PRAGMA auto_vacuum = INCREMENTAL;"
									     "PRAGMA journal_mode = WAL;"
									     "PRAGMA synchronous = NORMAL;"
									     "PRAGMA secure_delete = OFF;"
									     "PRAGMA wal_autocheckpoint = 0;"
									     "PRAGMA temp_store = MEMORY;"
									     "PRAGMA cache_size = -8192;"
									     "PRAGMA foreign_keys = ON;");
	/*
	 * A reader of another user cannot create the -wal and -shm files, so they must stay when
	 * the writer closes.
	 */
	if (r == 0)
		r = database_error(db, sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &persist));
	return r ? r : migrate(db, migrations);
}

static const char *reason(sqlite3 *db, int r)
{
	switch (r) {
	case ARCHIVE_E_FULL:
		if (space_is_limited())
			return "the disk is full, or it has reached the size limit of files (LimitFSIZE=, ulimit -f): "
			       "raise the "
			       "limit, or make room";
		return "the disk is full: make room, the archive goes on by itself";
	case ARCHIVE_E_BUSY:
		return "another program holds it locked: close that program";
	case ARCHIVE_E_NEWER:
		return "it was written by a newer version of mprofd: install that one, or move the archive away";
	case ARCHIVE_E_VERSION:
		return "its number of the version (PRAGMA user_version) does not agree with its tables: set the right "
		       "number, or save the rows by mprofd --fsck, or move the archive away";
	case ARCHIVE_E_KIND:
		return REGULAR_KIND;
	case -EBADMSG:
		return "it is damaged or no archive at all: mprofd --fsck saves what is whole; or move it away, and a "
		       "new "
		       "one is begun";
	default:
		/* A rollback replaces the error of the statement that failed. */
		return db && sqlite3_errcode(db) != SQLITE_OK ? sqlite3_errmsg(db) : strerror(-r);
	}
}

/*
 * Create the database file with mode 0640. SQLite would create it world-readable; the -wal and -shm
 * files get the mode of the database file.
 */
static int create_file(const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	return fchmod(fd, 0640) < 0 ? -errno : 0; /* the umask may have taken the group's right to read */
}

/* Return whether PATH or one of the files beside it is no regular file: to open a FIFO would wait for ever. */
static bool is_other_kind(const char *path)
{
	return regular_is_other(path, "") || regular_is_other(path, "-wal") || regular_is_other(path, "-shm") ||
	       regular_is_other(path, "-journal");
}

int database_open(sqlite3 **dbp, const char *path, const char *const *const *migrations, uint64_t *lost, char *sentence,
		  size_t size)
{
	sqlite3 *db = NULL;
	int r = create_file(path);

	if (r < 0) {
		snprintf(sentence, size, "%s: the archive cannot be created: %s", path, strerror(-r));
		return r;
	}
	if (is_other_kind(path)) {
		snprintf(sentence, size, "%s, or its -wal, -shm or -journal, cannot be opened: %s", path,
			 reason(NULL, ARCHIVE_E_KIND));
		return ARCHIVE_E_KIND;
	}
	r = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (db)
		sqlite3_extended_result_codes(db, 1);
	r = r == SQLITE_OK ? set_up(db, path, migrations, lost) : database_error(db, r);
	if (r != 0) {
		snprintf(sentence, size, "%s: the archive cannot be opened: %s", path, reason(db, r));
		sqlite3_close(db);
		return r;
	}
	*dbp = db;
	return 0;
}

int database_directory(const char *state, const char *name, char **path, int *fd, char *sentence, size_t size)
{
	int r = 0;

	if (asprintf(path, "%s/%s", state, name) < 0) {
		*path = NULL;
		return -ENOMEM;
	}
	if (mkdir(*path, 0750) == 0)
		r = chmod(*path, 0750); /* the umask may have taken bits of the mode */
	else if (errno != EEXIST)
		r = -1;
	if (r == 0)
		*fd = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r < 0 || *fd < 0) {
		r = -errno;
		snprintf(sentence, size, "%s: the directory of the archive cannot be made or opened: %s", *path,
			 strerror(-r));
		return r;
	}
	if (flock(*fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
		snprintf(sentence, size, "%s: %s", *path,
			 r == -EBUSY ? "another mprofd writes this archive: stop it, or give --state another directory"
				     : strerror(-r));
	}
	return r;
}

/* ---- readers --------------------------------------------------------------------------------- */

/*
 * The file belongs to another process and user. It may be missing for a moment, be in recovery, or
 * be replaced. In all these states a reader gets ARCHIVE_E_BUSY and tries again later.
 */
int database_read_error(sqlite3 *db, int result)
{
	switch (result & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_SCHEMA:
		return ARCHIVE_E_BUSY;
	case SQLITE_READONLY: /* only the writer may create or recover the -shm file */
	case SQLITE_CANTOPEN:
	case SQLITE_PROTOCOL:
		return ARCHIVE_E_BUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_ERROR: /* no such table: the writer has not created it yet */
		return db && strstr(sqlite3_errmsg(db), "no such table") ? ARCHIVE_E_BUSY : -EIO;
	default:
		return -EIO;
	}
}

bool database_file_changed(struct database_file *file, const char *path)
{
	uint64_t now = clock_mono();
	struct stat st;

	if (now - file->looked < DATABASE_LOOK_NS)
		return false;
	file->looked = now;
	return stat(path, &st) < 0 || st.st_dev != file->dev || st.st_ino != file->ino;
}

bool database_index(sqlite3 *db, uint8_t header[DATABASE_INDEX_BYTES])
{
	sqlite3_file *file = NULL;
	volatile void *index = NULL;
	int rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	if (rc != SQLITE_OK || !file || !file->pMethods || file->pMethods->iVersion < 2)
		return false;
	rc = file->pMethods->xShmMap(file, 0, 32768, 0, &index);
	if ((rc != SQLITE_OK && rc != SQLITE_READONLY) || !index)
		return false;
	for (size_t i = 0; i < DATABASE_INDEX_BYTES / 8; i++) {
		uint64_t word = ((const volatile uint64_t *)index)[i];

		memcpy(header + 8 * i, &word, 8);
	}
	return true;
}

bool database_commits_hold(const struct database_commits *c, sqlite3 *db)
{
	uint8_t now[DATABASE_INDEX_BYTES];

	return c->known && database_index(db, now) && memcmp(now, c->index, sizeof(now)) == 0;
}

void database_commits_begin(struct database_commits *c, sqlite3 *db)
{
	c->known = sqlite3_txn_state(db, "main") == SQLITE_TXN_NONE && database_index(db, c->index);
}

void database_commits_note(struct database_commits *c, int64_t number)
{
	c->number = number;
}

static int read_version(sqlite3 *db, int *version)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL);

	if (rc == SQLITE_OK) {
		rc = sqlite3_step(s);
		*version = rc == SQLITE_ROW ? sqlite3_column_int(s, 0) : 0;
		rc = rc == SQLITE_ROW ? SQLITE_OK : rc;
	}
	sqlite3_finalize(s);
	return rc;
}

int database_read_open(sqlite3 **dbp, const char *path, int known, struct database_file *file)
{
	sqlite3 *db = NULL;
	struct stat st;
	int rc, version = 0;

	*dbp = NULL;
	if (stat(path, &st) < 0)
		return ARCHIVE_E_BUSY;
	if (is_other_kind(path))
		return ARCHIVE_E_KIND;
	rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_extended_result_codes(db, 1);
		sqlite3_busy_timeout(db, 50);
		rc = read_version(db, &version);
	}
	if (rc != SQLITE_OK)
		rc = database_read_error(db, rc);
	else if (version > known)
		rc = ARCHIVE_E_NEWER;
	else
		rc = version < known ? ARCHIVE_E_BUSY : 0; /* the writer will migrate the file when it starts */
	if (rc != 0) {
		sqlite3_close(db);
		return rc;
	}
	*file = (struct database_file){.dev = st.st_dev, .ino = st.st_ino, .looked = clock_mono()};
	*dbp = db;
	return 0;
}
