/* The WAL of a database that has one writer: how large it may grow, and when its content goes into the file. */
#ifndef ARCHIVE_WAL_H
#define ARCHIVE_WAL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct wal {
	sqlite3 *db; /* borrowed */
	uint64_t limit;
	uint64_t reserve;  /* what there is for it when the disk is full, 0 = nothing */
	uint64_t bytes;	   /* its used part after the last commit */
	uint64_t next_try; /* the size at which a checkpoint is worth its flushes */
};

/* W must stay where it is while DB is open.  As database_error. */
int wal_init(struct wal *w, sqlite3 *db, uint64_t limit, uint64_t reserve);
/* After a commit: bring the WAL's content into the file where it is time, and cut the WAL where it is too large. */
void wal_checkpoint(struct wal *w);
/* Cut the WAL now if that takes no more than WAIT_MS. */
void wal_truncate(struct wal *w, int wait_ms);
/*
 * Return unused pages to the file system, at most PAGES of them, or fewer where the WAL would grow by more than a quarter of the reserve; then cut
 * the WAL; with PAGES 0 cut it alone.  *MORE: there are more.  No transaction may be open.  As database_error.
 */
int wal_vacuum(struct wal *w, unsigned pages, bool *more);

#endif
