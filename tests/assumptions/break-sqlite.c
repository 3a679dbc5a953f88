/*
 * SQLite as it might be: to put in LD_PRELOAD, so that one assumption does not hold. MPROF_BREAK names how:
 *
 *   idle      a checkpoint does nothing, and returns SQLITE_OK
 *   forgets   SQLITE_FCNTL_PERSIST_WAL has no effect
 *   moves     a reader's transaction has no state of its own
 *   shares    BEGIN IMMEDIATE waits for no other writer
 *   one       PRAGMA data_version never changes
 *   frozen    the WAL index that a connection maps never changes
 *   needs     a passive checkpoint wants to be alone, as a truncating one does
 *   private   the -wal file is its owner's alone
 *   corrupt   what a reader cannot do is an error of the file
 *   loses     an INSERT outside of a transaction begins one
 */
#include <sqlite3.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "break.h"

int sqlite3_wal_checkpoint_v2(sqlite3 *db, const char *zDb, int eMode, int *pnLog, int *pnCkpt)
{
	__typeof__(sqlite3_wal_checkpoint_v2) *checkpoint = real("sqlite3_wal_checkpoint_v2");

	if (breaks("idle"))
		return SQLITE_OK;
	if (breaks("needs")) {
		sqlite3_busy_timeout(db, 0); /* the test need not wait */
		eMode = SQLITE_CHECKPOINT_TRUNCATE;
	}
	return checkpoint(db, zDb, eMode, pnLog, pnCkpt);
}

static int map_frozen(sqlite3_file *file, int page, int bytes, int extends, volatile void **at)
{
	static uint8_t frozen[32768];

	(void)file;
	(void)extends;
	*at = page == 0 && bytes == sizeof(frozen) ? frozen : NULL;
	return SQLITE_OK;
}

int sqlite3_file_control(sqlite3 *db, const char *name, int op, void *argument)
{
	static sqlite3_io_methods methods = {.iVersion = 2, .xShmMap = map_frozen};
	static sqlite3_file file = {&methods};
	__typeof__(sqlite3_file_control) *control = real("sqlite3_file_control");

	if (breaks("forgets") && op == SQLITE_FCNTL_PERSIST_WAL)
		return SQLITE_OK;
	if (breaks("frozen") && op == SQLITE_FCNTL_FILE_POINTER) {
		*(sqlite3_file **)argument = &file;
		return SQLITE_OK;
	}
	return control(db, name, op, argument);
}

int sqlite3_prepare_v2(sqlite3 *db, const char *zSql, int nByte, sqlite3_stmt **ppStmt, const char **pzTail)
{
	__typeof__(sqlite3_prepare_v2) *prepare = real("sqlite3_prepare_v2");

	if (breaks("one") && strcmp(zSql, "PRAGMA data_version") == 0)
		zSql = "SELECT 1";
	return prepare(db, zSql, nByte, ppStmt, pzTail);
}

/* Return what is executed in place of SQL. */
static const char *other_sql(sqlite3 *db, const char *sql)
{
	if (breaks("moves") && (strcmp(sql, "BEGIN") == 0 || strcmp(sql, "COMMIT") == 0))
		return "";
	if (breaks("shares") && strcmp(sql, "BEGIN IMMEDIATE") == 0)
		return sqlite3_get_autocommit(db) ? "BEGIN" : "";
	return sql;
}

/* Let only the owner of DB read its WAL, if there is one. */
static void wal_hide(sqlite3 *db)
{
	const char *path = sqlite3_filename_wal(sqlite3_db_filename(db, "main"));

	if (path)
		(void)!chmod(path, 0600);
}

int sqlite3_exec(sqlite3 *db, const char *sql, int (*callback)(void *, int, char **, char **), void *context,
		 char **errmsg)
{
	__typeof__(sqlite3_exec) *execute = real("sqlite3_exec");
	int rc;

	if (breaks("loses") && strstr(sql, "INSERT") && sqlite3_get_autocommit(db))
		execute(db, "BEGIN", NULL, NULL, NULL);
	rc = execute(db, other_sql(db, sql), callback, context, errmsg);
	if (breaks("private"))
		wal_hide(db);
	return rc != SQLITE_OK && breaks("corrupt") ? SQLITE_CORRUPT : rc;
}
