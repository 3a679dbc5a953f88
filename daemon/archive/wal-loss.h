/* Commits that SQLite's recovery of a write-ahead log leaves out. */
#ifndef ARCHIVE_WAL_LOSS_H
#define ARCHIVE_WAL_LOSS_H

#include <sqlite3.h>
#include <stdint.h>

/*
 * Return how many commits stand in the write-ahead log of the database PATH behind the frame at which SQLite's recovery
 * ended. They are lost, and SQLite says nothing of it. They stay in the file until later commits reach as far, or the log
 * begins anew, and are counted again till then. DB is a connection that has read and written nothing yet: this call makes
 * SQLite recover the log. Return 0 if there is no log, or neither it nor the database can be read.
 *
 * The frame at which recovery ended counts as none: it may be the last one of a writer that was killed while it wrote it.
 */
uint64_t wal_loss(sqlite3 *db, const char *path);

#endif
