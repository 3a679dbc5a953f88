/*
 * The database's file is the only one of the kind SQLITE_OPEN_MAIN_DB. SQLite also asks for its
 * journal, which never exists.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database-file.h"

#define SECTOR_BYTES 4096

/* The file as SQLite holds it. */
struct handle {
	sqlite3_file base;
	struct database_file *file;
};

static struct database_file *file_of(sqlite3_file *base)
{
	return ((struct handle *)base)->file;
}

/* Note the errno. Return CODE. */
static int failed(struct database_file *f, int code)
{
	if (!f->error)
		f->error = errno;
	return f->error == ENOSPC || f->error == EDQUOT ? SQLITE_FULL : code;
}

static int file_close(sqlite3_file *base)
{
	(void)base;
	return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *bytes, int len, sqlite3_int64 at)
{
	struct database_file *f = file_of(base);
	char *to = bytes;
	size_t left = (size_t)len;
	ssize_t n = 1;

	while (left && n) {
		n = pread(f->fd, to, left, (off_t)at);
		if (n < 0 && errno != EINTR)
			return failed(f, SQLITE_IOERR_READ);
		n = n < 0 ? 0 : n;
		to += n;
		at += n;
		left -= (size_t)n;
	}
	memset(to, 0, left);
	return left ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int file_write(sqlite3_file *base, const void *bytes, int len, sqlite3_int64 at)
{
	struct database_file *f = file_of(base);
	const char *from = bytes;
	ssize_t n;

	while (len) {
		n = pwrite(f->fd, from, (size_t)len, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(f, SQLITE_IOERR_WRITE);
		from += n;
		at += n;
		len -= (int)n;
	}
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
	struct database_file *f = file_of(base);

	return ftruncate(f->fd, (off_t)size) < 0 ? failed(f, SQLITE_IOERR_TRUNCATE) : SQLITE_OK;
}

/* output_commit() flushes the file when it is complete. */
static int file_sync(sqlite3_file *base, int flags)
{
	(void)base;
	(void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
	struct database_file *f = file_of(base);
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return failed(f, SQLITE_IOERR_FSTAT);
	*size = st.st_size;
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *base, int level)
{
	(void)base;
	(void)level;
	return SQLITE_OK;
}

static int file_reserved(sqlite3_file *base, int *out)
{
	(void)base;
	*out = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int op, void *value)
{
	(void)base;
	(void)op;
	(void)value;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *base)
{
	(void)base;
	return SECTOR_BYTES;
}

static int file_characteristics(sqlite3_file *base)
{
	(void)base;
	return 0;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_lock,
	.xCheckReservedLock = file_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_characteristics,
};

/* ---- the file system */

static struct database_file *file_of_vfs(sqlite3_vfs *vfs)
{
	return vfs->pAppData;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out)
{
	struct database_file *f = file_of_vfs(vfs);
	struct handle *h = (struct handle *)base;

	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return f->system->xOpen(f->system, name, base, flags, out);
	*h = (struct handle){.base = {.pMethods = &methods}, .file = f};
	if (out)
		*out = flags;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)name;
	(void)sync;
	return SQLITE_IOERR_DELETE_NOENT;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
	(void)vfs;
	(void)name;
	(void)flags;
	*out = 0;
	return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
	(void)vfs;
	return snprintf(out, (size_t)room, "%s", name) < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int vfs_randomness(sqlite3_vfs *vfs, int len, char *out)
{
	sqlite3_vfs *system = file_of_vfs(vfs)->system;

	return system->xRandomness(system, len, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
	sqlite3_vfs *system = file_of_vfs(vfs)->system;

	return system->xSleep(system, us);
}

static int vfs_time(sqlite3_vfs *vfs, double *out)
{
	sqlite3_vfs *system = file_of_vfs(vfs)->system;

	return system->xCurrentTime(system, out);
}

int database_file_init(struct database_file *f, int fd)
{
	sqlite3_vfs *system;
	int size = (int)sizeof(struct handle);

	*f = (struct database_file){.fd = fd};
	/* Save locks and counters at each allocation. These calls fail once SQLite is in use. */
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	system = sqlite3_vfs_find(NULL);
	if (!system)
		return -ENOMEM;
	snprintf(f->name, sizeof(f->name), "mprof-%" PRIxPTR, (uintptr_t)f);
	f->vfs = (sqlite3_vfs){
		.iVersion = 1,
		.szOsFile = size > system->szOsFile ? size : system->szOsFile,
		.mxPathname = system->mxPathname,
		.zName = f->name,
		.pAppData = f,
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_full_name,
		.xRandomness = vfs_randomness,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_time,
	};
	if (sqlite3_vfs_register(&f->vfs, 0) != SQLITE_OK)
		return -ENOMEM;
	f->system = system;
	return 0;
}

void database_file_deinit(struct database_file *f)
{
	if (f->system)
		sqlite3_vfs_unregister(&f->vfs);
	f->system = NULL;
}

int database_file_open(struct database_file *f, bool read, sqlite3 **db)
{
	int flags = read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;

	return sqlite3_open_v2("trace", db, flags | SQLITE_OPEN_NOMUTEX, f->name);
}
