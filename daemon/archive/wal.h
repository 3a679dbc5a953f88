/*
 * The write-ahead log of a database that has one writer: its size limit, and its checkpoints into
 * the file.
 */
#ifndef ARCHIVE_WAL_H
#define ARCHIVE_WAL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct wal {
	sqlite3 *db; /* borrowed */
	uint64_t limit;
	uint64_t reserve;  /* bytes that are there for the WAL when the disk is full; 0 = none */
	uint64_t bytes;	   /* used part of the WAL after the last commit */
	uint64_t next_try; /* size at which the next checkpoint is worth its flushes */
};

/* Set up W for DB. W must stay where it is while DB is open. As database_error(). */
int wal_init(struct wal *w, sqlite3 *db, uint64_t limit, uint64_t reserve);
/* After a commit: write the WAL into the file if it is time, and cut the WAL if it is too large. */
void wal_checkpoint(struct wal *w);
/* Cut the WAL now if that takes no more than WAIT_MS. */
void wal_truncate(struct wal *w, int wait_ms);
/*
 * Return unused pages to the file system and cut the WAL: at most PAGES, and fewer if the WAL would
 * grow by more than a quarter of the reserve; with PAGES 0 only cut the WAL. *MORE: there are more.
 * No transaction may be open. As database_error().
 */
int wal_vacuum(struct wal *w, unsigned pages, bool *more);

#endif
