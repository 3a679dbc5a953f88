/* The SQLite side of readers: open what another process and user writes, and what errors mean to them. */
#ifndef ARCHIVE_DATABASE_READ_H
#define ARCHIVE_DATABASE_READ_H

#include <sqlite3.h>
#include <stdbool.h>
#include <sys/types.h>

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

#endif
