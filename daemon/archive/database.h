/*
 * A SQLite database: open it, migrate it, and translate its errors. These functions know no tables.
 */
#ifndef ARCHIVE_DATABASE_H
#define ARCHIVE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DATABASE_PAGE_BYTES 16384 /* of a new file; files of earlier versions have 65,536 */

/*
 * Open or create the database at PATH for writing, apply the settings of database.c, and run the
 * MIGRATIONS (see below) that it has not had. Return 0, with the database in *DBP, and in *LOST, if LOST is not NULL, the commits that
 * its write-ahead log has lost (wal-loss.h); or -errno or an archive_condition, with a sentence in SENTENCE (SIZE bytes).
 */
int database_open(sqlite3 **dbp, const char *path, const char *const *const *migrations, uint64_t *lost, char *sentence,
		  size_t size);

/*
 * Create the directory NAME in STATE if it is missing, and lock it against a second writer. *PATH
 * is the directory's path, *FD the descriptor that holds the lock; the caller frees and closes
 * both, also after a failure. Return 0; or -errno, with a sentence in SENTENCE (SIZE bytes).
 * -EBUSY: another process has the lock.
 */
int database_directory(const char *state, const char *name, char **path, int *fd, char *sentence, size_t size);

/*
 * Check the structure of the file. Return 0, -EBADMSG if SQLite finds damage, or another result of
 * database_error().
 */
int database_intact(sqlite3 *db);

/*
 * Return the -errno or archive_condition for SQLite's RESULT, or 0 for SQLITE_OK, SQLITE_ROW and
 * SQLITE_DONE.
 */
int database_error(sqlite3 *db, int result);

/* Run the statements SQL and ignore their rows. Return as database_error(). */
int database_run(sqlite3 *db, const char *sql);
/* The same for SQL that sqlite3_mprintf() made; it is freed. NULL = there was no memory for it: return -ENOMEM. */
int database_run_made(sqlite3 *db, char *sql);

/*
 * Run SQL and read the number in its first row into *VALUE. Without a row *VALUE stays as it is.
 * Return as database_error().
 */
int database_number(sqlite3 *db, const char *sql, int64_t *value);

/* ---- for readers: the file of another process and user --------------------------------------- */

/* The identity of an open file. */
struct database_file {
	dev_t dev;
	ino_t ino;
	uint64_t looked; /* CLOCK_MONOTONIC ns of the last look at its path */
};

/*
 * Open PATH for reading; *FILE is the file's identity. KNOWN is the newest version that the caller
 * can read. Return 0; ARCHIVE_E_BUSY if the file does not exist or its version is below KNOWN (the
 * writer will migrate it); ARCHIVE_E_NEWER if its version is above KNOWN; ARCHIVE_E_KIND if it, or its
 * -wal or -shm, is no regular file; or another error. *DBP is
 * NULL unless the call returns 0.
 */
int database_read_open(sqlite3 **dbp, const char *path, int known, struct database_file *file);
/* Return true if another file is at PATH. This looks again after DATABASE_LOOK_NS. */
#define DATABASE_LOOK_NS 10000000u
bool database_file_changed(struct database_file *file, const char *path);

/*
 * The number of a connection's last known commit: PRAGMA data_version, without asking for it while
 * nothing was committed. A zeroed one knows nothing; forget it when the connection closes.
 */
#define DATABASE_INDEX_BYTES 96u
struct database_commits {
	bool known;
	int64_t number;
	uint8_t index[DATABASE_INDEX_BYTES]; /* the header of the WAL index before NUMBER was read */
};
/* Return true if nothing was committed since C was noted. */
bool database_commits_hold(const struct database_commits *c, sqlite3 *db);
/*
 * Copy the header of the WAL index: each commit changes it, and it lies in memory that all
 * connections share (https://www.sqlite.org/walformat.html). Asking SQLite takes a transaction with
 * its locks. False: there is no index that a writer keeps current.
 */
bool database_index(sqlite3 *db, uint8_t header[DATABASE_INDEX_BYTES]);
/*
 * Begin to note: call it before PRAGMA data_version, and database_commits_note() with its answer. While a transaction of
 * DB is open, data_version is that of the transaction's snapshot, and the index may be newer: such an answer is for this
 * call alone, and C knows nothing after it.
 */
void database_commits_begin(struct database_commits *c, sqlite3 *db);
void database_commits_note(struct database_commits *c, int64_t number);
/*
 * Return the -errno or archive_condition for a reader's RESULT of SQLite. ARCHIVE_E_BUSY: the
 * reader may succeed later, for instance when the writer has created or migrated the file.
 */
int database_read_error(sqlite3 *db, int result);

/* ---- the files of schema/archive, compiled in ------------------------------------------------ */

/*
 * Migration i+1 is a list of lines. A NULL ends each list of lines, and a NULL the list of
 * migrations.
 */
extern const char *const *const migrations_trace[];
extern const char *const *const migrations_memtraces[];

#endif
