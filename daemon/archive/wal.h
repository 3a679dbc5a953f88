/*
 * The write-ahead log (WAL) of a database with one writer: the limit of its size, and its
 * checkpoints.
 */
#ifndef ARCHIVE_WAL_H
#define ARCHIVE_WAL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct wal {
	sqlite3 *db; /* borrowed */
	uint64_t limit;
	uint64_t reserve;     /* bytes of the reserve file, which the WAL may use when the disk is full; 0 = no file */
	uint32_t frame_bytes; /* bytes of a page in the WAL, with its header */
	uint64_t bytes;	      /* used bytes of the WAL after the last commit */
	uint64_t next_try;    /* size at which to make the next checkpoint */
	uint64_t sent;	      /* the bytes before this one are on their way to the disk, or there */
	int fd;		      /* the WAL, -1 = not open */
	bool is_held;	      /* the last attempt to truncate the WAL failed, because a reader needs it */
	uint64_t held_ns;     /* time from that attempt to the next (wal_is_held()), doubles with each */
	uint64_t held_until;  /* end of that time, CLOCK_MONOTONIC ns */
	struct wal_thread *thread; /* makes checkpoints, NULL until the first one */
};

/*
 * Initialise W for DB. DB keeps a pointer to W until DB is closed. Return 0 or the error that
 * database_error() gives.
 */
int wal_init(struct wal *w, sqlite3 *db, uint64_t limit, uint64_t reserve);
/* End W's thread and close its files. To be called before DB is closed. A zeroed W is left as it is. */
void wal_deinit(struct wal *w);
/*
 * To be called after each commit: begin a checkpoint if the WAL has grown enough, and truncate the
 * WAL if it is too large.
 */
void wal_checkpoint(struct wal *w);
/* Copy the whole WAL into the file and truncate it, if that takes no longer than WAIT_MS. If it is empty, do nothing. */
void wal_truncate(struct wal *w, int wait_ms);
/*
 * Truncate the WAL as wal_truncate(). Return whether a reader prevents that. After such an attempt the next one is made
 * a second later, then two, four and at last eight; calls before that return true.
 */
bool wal_is_held(struct wal *w, int wait_ms);
/*
 * Return unused pages of about BYTES at most to the file system, fewer if the WAL would grow by more than a
 * quarter of the reserve file, and truncate the WAL. BYTES 0: only truncate. *MORE: there are more
 * unused pages. No transaction may be open. Return as database_error().
 */
int wal_vacuum(struct wal *w, uint64_t bytes, bool *more);

#endif
