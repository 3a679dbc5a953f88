/*
 * Let SQLite write a database through a descriptor.
 *
 * SQLite opens files by name, but an output has no name until it is complete. So this is a virtual
 * file system (VFS) of SQLite with one database, whose bytes are those of a regular file that is
 * already open. It knows no locks and no journal: nobody else can open the file. SQLite's temporary
 * files are those of the system's VFS.
 */
#ifndef CTL_DATABASE_FILE_H
#define CTL_DATABASE_FILE_H

#include <sqlite3.h>
#include <stdbool.h>

struct database_file {
	sqlite3_vfs vfs; /* registered under NAME while SYSTEM is not NULL */
	sqlite3_vfs *system;
	char name[40];
	int fd;	   /* borrowed; open for reading and writing */
	int error; /* errno of the first read or write that failed, or 0 */
};

/*
 * Register the file system of the regular file FD. F must not move until
 * database_file_deinit(). Return 0 or -ENOMEM.
 */
int database_file_init(struct database_file *f, int fd);
/* Unregister the file system. Its database is closed. */
void database_file_deinit(struct database_file *f);
/*
 * Open the database, to write it if the file is empty, or to READ it. Return 0 or a code of SQLite. The caller closes *DB in any case.
 */
int database_file_open(struct database_file *f, bool read, sqlite3 **db);

#endif
