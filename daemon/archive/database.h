/* A SQLite database: open it, migrate it, and translate its errors. This file knows no tables. */
#ifndef ARCHIVE_DATABASE_H
#define ARCHIVE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Open or create the database at PATH for writing, set it up, and run those of MIGRATIONS (see
 * below) that it lacks. Return 0, -errno or an archive_condition; on failure SENTENCE, of SIZE
 * bytes, says what happened.
 */
int database_open(sqlite3 **dbp, const char *path, const char *const *const *migrations, char *sentence, size_t size);

/*
 * Make the directory NAME in STATE and lock it against a second writer. The caller frees *PATH and
 * closes *FD, which are set as far as the call came. Return 0, or -errno with a SENTENCE of SIZE
 * bytes; -EBUSY: another process writes there.
 */
int database_directory(const char *state, const char *name, char **path, int *fd, char *sentence, size_t size);

/*
 * Check the structure of the file. Return 0, -EBADMSG if SQLite finds damage, or as
 * database_error().
 */
int database_intact(sqlite3 *db);

/*
 * Return the -errno or archive_condition for SQLite's RESULT; 0 for SQLITE_OK, SQLITE_ROW and
 * SQLITE_DONE.
 */
int database_error(sqlite3 *db, int result);

/* Run SQL and ignore its rows. As database_error(). */
int database_run(sqlite3 *db, const char *sql);

/* Read the number in SQL's only row; *VALUE stays if there is no row. As database_error(). */
int database_number(sqlite3 *db, const char *sql, int64_t *value);

/* ---- for readers: what another process and user writes --------------------------------------- */

/* Identity of an opened file. */
struct database_file {
	dev_t dev;
	ino_t ino;
};

/*
 * Open PATH for reading. ARCHIVE_E_BUSY: the file is not there, or is older than version KNOWN and
 * not migrated yet. ARCHIVE_E_NEWER: its version is above KNOWN. *DBP is NULL unless the call
 * returns 0.
 */
int database_read_open(sqlite3 **dbp, const char *path, int known, struct database_file *file);
/* Return true if another file is at PATH now. */
bool database_file_changed(const struct database_file *file, const char *path);
/*
 * Return the -errno or archive_condition for SQLite's RESULT in a reader: ARCHIVE_E_BUSY for every
 * state that goes away by itself.
 */
int database_read_error(sqlite3 *db, int result);

/* ---- the files of schema/archive, built in --------------------------------------------------- */

/* Migration i+1 as a list of lines. NULL ends each list of lines, and the list of migrations. */
extern const char *const *const migrations_trace[];
extern const char *const *const migrations_memtraces[];

#endif
