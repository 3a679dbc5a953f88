/* The SQLite side that does not know what a packet is: open, migrate, and what its errors mean here. */
#ifndef ARCHIVE_DATABASE_H
#define ARCHIVE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Open or create the database at PATH for writing, set it up and run those of MIGRATIONS (see below) that it lacks.  As
 * archive_writer_open.
 */
int database_open(sqlite3 **dbp, const char *path, const char *const *const *migrations, char *sentence, size_t size);

/*
 * Make NAME in the directory STATE and lock it against a second writer.  *PATH is the caller's to free, *FD to close; both are set as far
 * as it came.  0, or -errno with a SENTENCE of SIZE bytes; -EBUSY: another process writes there.
 */
int database_directory(const char *state, const char *name, char **path, int *fd, char *sentence, size_t size);

/* Does the structure of the file hold?  0, or -EBADMSG: SQLite finds it damaged; else as database_error. */
int database_intact(sqlite3 *db);

/* SQLite's result as -errno or a positive archive_condition; 0 for SQLITE_OK, SQLITE_ROW and SQLITE_DONE. */
int database_error(sqlite3 *db, int result);

/* Run SQL without results.  As database_error. */
int database_run(sqlite3 *db, const char *sql);

/* The number that SQL's only row holds; *VALUE stays where there is no row.  As database_error. */
int database_number(sqlite3 *db, const char *sql, int64_t *value);

/* ---- for readers: what another process and user writes ------------------------------------------------- */

/* Which file was opened. */
struct database_file {
	dev_t dev;
	ino_t ino;
};

/*
 * Open PATH for reading.  ARCHIVE_E_BUSY also where it is not there, or was not migrated to KNOWN yet; ARCHIVE_E_NEWER where its version is above
 * KNOWN.  *DBP is NULL unless 0 is returned.
 */
int database_read_open(sqlite3 **dbp, const char *path, int known, struct database_file *file);
/* Is another file there now? */
bool database_file_changed(const struct database_file *file, const char *path);
/* What a result of SQLite's means: ARCHIVE_E_BUSY for all that mends itself, else -errno. */
int database_read_error(sqlite3 *db, int result);

/* ---- the files of schema/archive, built in --------------------------------------------------------------- */

/* Migration i+1 as its lines, NULL behind the last; NULL behind the last migration. */
extern const char *const *const migrations_trace[];
extern const char *const *const migrations_memtraces[];

#endif
