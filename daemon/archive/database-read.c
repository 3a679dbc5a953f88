/*
 * The file belongs to another process and user, who may not be there yet, may be recovering, and may replace it.  Whatever says "not now"
 * (busy, recovery, a WAL that cannot be opened) is ARCHIVE_E_BUSY and mends itself.
 */
#include "database-read.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "archive.h"

int database_read_error(sqlite3 *db, int result)
{
	switch (result & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_SCHEMA:
		return ARCHIVE_E_BUSY;
	case SQLITE_READONLY: /* the WAL index must be made or recovered, which only the writer may */
	case SQLITE_CANTOPEN:
	case SQLITE_PROTOCOL:
		return ARCHIVE_E_BUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_ERROR: /* no such table: the writer is about to make it */
		return db && strstr(sqlite3_errmsg(db), "no such table") ? ARCHIVE_E_BUSY : -EIO;
	default:
		return -EIO;
	}
}

bool database_file_changed(const struct database_file *file, const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 || st.st_dev != file->dev || st.st_ino != file->ino;
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
		rc = version < known ? ARCHIVE_E_BUSY : 0; /* its writer migrates it when it starts */
	if (rc != 0) {
		sqlite3_close(db);
		return rc;
	}
	*file = (struct database_file){.dev = st.st_dev, .ino = st.st_ino};
	*dbp = db;
	return 0;
}
