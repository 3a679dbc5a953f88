/*
 * SQLite as it might be: to put in LD_PRELOAD, so that one assumption does not hold. MPROF_BREAK names how:
 *
 *   idle      a checkpoint does nothing, and returns SQLITE_OK
 *   forgets   SQLITE_FCNTL_PERSIST_WAL has no effect
 */
#include <dlfcn.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool breaks(const char *how)
{
	const char *chosen = getenv("MPROF_BREAK");

	return chosen && strcmp(chosen, how) == 0;
}

int sqlite3_wal_checkpoint_v2(sqlite3 *db, const char *zDb, int eMode, int *pnLog, int *pnCkpt)
{
	int (*checkpoint)(sqlite3 *, const char *, int, int *, int *) = NULL;

	if (breaks("idle"))
		return SQLITE_OK;
	*(void **)&checkpoint = dlsym(RTLD_NEXT, "sqlite3_wal_checkpoint_v2");
	return checkpoint(db, zDb, eMode, pnLog, pnCkpt);
}

int sqlite3_file_control(sqlite3 *db, const char *name, int op, void *argument)
{
	int (*control)(sqlite3 *, const char *, int, void *) = NULL;

	if (breaks("forgets") && op == SQLITE_FCNTL_PERSIST_WAL)
		return SQLITE_OK;
	*(void **)&control = dlsym(RTLD_NEXT, "sqlite3_file_control");
	return control(db, name, op, argument);
}
