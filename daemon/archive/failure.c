/*
 * SQLite has one errno for a connection, and one for each of its open files. The latter tells which
 * file failed: a file's errno changes only when a call on this file fails.
 */
#include "failure.h"

#include <stdio.h>
#include <string.h>

/* Return the errno of the last call that failed on FILE, or 0. */
static int file_errno(sqlite3_file *file)
{
	int error = 0;

	if (!file || !file->pMethods ||
	    file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error) != SQLITE_OK)
		return 0;
	return error;
}

static int errno_of(sqlite3 *db, int which)
{
	sqlite3_file *file = NULL;

	return sqlite3_file_control(db, "main", which, (void *)&file) == SQLITE_OK ? file_errno(file) : 0;
}

void failure_note(struct failure *f, sqlite3 *db, int code, int result)
{
	int system, main, wal;

	*f = (struct failure){.result = result, .code = code, .suffix = ""};
	if ((code & 0xff) != SQLITE_IOERR && (code & 0xff) != SQLITE_CANTOPEN)
		return; /* no call of the system has failed */
	system = f->error = sqlite3_system_errno(db);
	main = errno_of(db, SQLITE_FCNTL_FILE_POINTER);
	wal = errno_of(db, SQLITE_FCNTL_JOURNAL_POINTER);
	if (code == SQLITE_IOERR_SHMOPEN || code == SQLITE_IOERR_SHMSIZE || code == SQLITE_IOERR_SHMMAP ||
	    code == SQLITE_IOERR_SHMLOCK) {
		f->suffix = "-shm";
	} else if (wal && (wal == system || !main)) {
		f->suffix = "-wal";
		f->error = wal;
	} else if (main) {
		f->error = main;
	}
}

void failure_note_file(struct failure *f, const char *suffix, int error)
{
	*f = (struct failure){.result = -error, .error = error, .suffix = suffix};
}

void failure_text(const struct failure *f, const char *path_of, int result, char *text, size_t size)
{
	int error = f->error ? f->error : -result;

	if (!f->result || f->result != result)
		snprintf(text, size, "%s: %s (errno %d)", path_of, strerror(-result), -result);
	else if (!f->code)
		snprintf(text, size, "%s%s: %s (errno %d)", path_of, f->suffix, strerror(error), error);
	else if (f->error)
		snprintf(text, size, "%s%s: %s (errno %d, SQLite %d)", path_of, f->suffix, strerror(error), error,
			 f->code);
	else
		snprintf(text, size, "%s: %s (SQLite %d)", path_of, sqlite3_errstr(f->code), f->code);
}
