/*
 * The last error of an archive for which there is no archive_condition: which file failed, and with
 * which error of the system. An archive's user ends after such an error and says why.
 */
#ifndef ARCHIVE_FAILURE_H
#define ARCHIVE_FAILURE_H

#include <sqlite3.h>
#include <stddef.h>

/* A zeroed failure is none. */
struct failure {
	int result;	    /* the -errno that the caller got; 0 = no failure */
	int code;	    /* extended result code of SQLite; 0 = the error is not SQLite's */
	int error;	    /* errno of the call that failed; 0 = unknown */
	const char *suffix; /* of the file that failed: "" the database, "-wal" or "-shm" */
};

/*
 * Note that SQLite's call on DB has failed with the extended result CODE, and that the caller got RESULT, an
 * -errno. Call it before the next call on DB.
 */
void failure_note(struct failure *f, sqlite3 *db, int code, int result);
/* Note that a call on the file with SUFFIX has failed with ERROR, an errno, without SQLite. */
void failure_note_file(struct failure *f, const char *suffix, int error);

/*
 * Write "PATH: the error (errno NUMBER, SQLite NUMBER)" to TEXT (SIZE bytes). PATH is the file that failed; PATH_OF is
 * the database's. RESULT is the -errno that the caller got; if F is of another one, the text has only RESULT and
 * PATH_OF.
 */
void failure_text(const struct failure *f, const char *path_of, int result, char *text, size_t size);

#endif
