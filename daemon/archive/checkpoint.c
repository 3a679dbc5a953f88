/*
 * The WAL's size.
 *
 * A passive checkpoint takes what no reader holds back and waits for nobody, so a reader never delays a commit.  It is tried when
 * the WAL has grown by a quarter of its limit since the last try: each one flushes two files, and the pages that every commit
 * writes again are copied once a checkpoint only.  Where it gets everything, the next commit begins the WAL anew, so
 * that in peace it stays at that quarter.
 *
 * Readers that overlap without end keep it from being begun anew.  Past the limit new ones are turned to the newest state and the
 * old ones waited for, a few milliseconds a commit; past one and a half times the limit, which is the disk's danger and not only
 * untidy, as long as a reader's transaction may take.
 */
#include "writer-state.h"

#define WAIT_MS	     5
#define WAIT_LONG_MS 60
#define BUSY_MS	     1000

static void checkpoint(struct archive_writer *w, int mode, int wait_ms)
{
	sqlite3_busy_timeout(w->db, wait_ms);
	/* A checkpoint that fails leaves the WAL as it is: nothing is lost, and the next one tries again. */
	if (sqlite3_wal_checkpoint_v2(w->db, "main", mode, NULL, NULL) == SQLITE_OK &&
	    mode == SQLITE_CHECKPOINT_TRUNCATE)
		w->wal_bytes = 0;
	sqlite3_busy_timeout(w->db, BUSY_MS);
}

void writer_truncate_wal(struct archive_writer *w, int wait_ms)
{
	checkpoint(w, SQLITE_CHECKPOINT_TRUNCATE, wait_ms);
}

void writer_checkpoint(struct archive_writer *w)
{
	uint64_t step = w->wal_limit / 4;

	if (w->wal_bytes < w->wal_next_try && w->wal_next_try - w->wal_bytes > step)
		w->wal_next_try = step; /* it was begun anew */
	if (w->wal_bytes > w->wal_limit) {
		checkpoint(w, SQLITE_CHECKPOINT_TRUNCATE, w->wal_bytes > w->wal_limit / 2 * 3 ? WAIT_LONG_MS : WAIT_MS);
	} else if (w->wal_bytes >= w->wal_next_try) {
		checkpoint(w, SQLITE_CHECKPOINT_PASSIVE, 0);
		w->wal_next_try = w->wal_bytes + step;
	}
}
