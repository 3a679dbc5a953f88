/*
 * Keep the write-ahead log short.
 *
 * A passive checkpoint copies what no reader holds back and waits for nobody, so a reader never
 * delays a commit. The writer tries one when the WAL has grown by a quarter of its limit since the
 * last try: each checkpoint flushes two files, and pages that every commit writes again are copied
 * only once per checkpoint. After a complete checkpoint the next commit starts the WAL anew, so
 * that without readers the WAL stays at a quarter of its limit.
 *
 * Readers that overlap without end keep the WAL from starting anew. Past the limit new readers are
 * directed to the newest state, and each commit waits a few milliseconds for the old ones; past one
 * and a half times the limit, where the disk is in danger, as long as a reader's transaction may
 * take.
 */
#include <stdio.h>

#include "database.h"
#include "wal.h"

#define FRAME_BYTES  (65536u + 24u) /* one page in the WAL */
#define WAIT_MS	     5
#define WAIT_LONG_MS 60
#define BUSY_MS	     1000

/* Note the WAL's size; SQLite calls this after each commit. */
static int note(void *context, sqlite3 *db, const char *name, int pages)
{
	struct wal *w = context;

	(void)db;
	(void)name;
	w->bytes = (uint64_t)pages * FRAME_BYTES;
	return SQLITE_OK;
}

int wal_init(struct wal *w, sqlite3 *db, uint64_t limit, uint64_t reserve)
{
	char pragma[80];

	*w = (struct wal){.db = db, .limit = limit, .reserve = reserve, .next_try = limit / 4};
	snprintf(pragma, sizeof(pragma), "PRAGMA journal_size_limit = %lld", (long long)limit);
	sqlite3_wal_hook(db, note, w);
	return database_run(db, pragma);
}

static void checkpoint(struct wal *w, int mode, int wait_ms)
{
	sqlite3_busy_timeout(w->db, wait_ms);
	/*
	 * A failed checkpoint leaves the WAL as it is: nothing is lost, and the next one tries
	 * again.
	 */
	if (sqlite3_wal_checkpoint_v2(w->db, "main", mode, NULL, NULL) == SQLITE_OK &&
	    mode == SQLITE_CHECKPOINT_TRUNCATE)
		w->bytes = 0;
	sqlite3_busy_timeout(w->db, BUSY_MS);
}

void wal_truncate(struct wal *w, int wait_ms)
{
	checkpoint(w, SQLITE_CHECKPOINT_TRUNCATE, wait_ms);
}

void wal_checkpoint(struct wal *w)
{
	uint64_t step = w->limit / 4;

	if (w->bytes < w->next_try && w->next_try - w->bytes > step)
		w->next_try = step; /* the WAL started anew */
	if (w->bytes > w->limit) {
		checkpoint(w, SQLITE_CHECKPOINT_TRUNCATE, w->bytes > w->limit / 2 * 3 ? WAIT_LONG_MS : WAIT_MS);
	} else if (w->bytes >= w->next_try) {
		checkpoint(w, SQLITE_CHECKPOINT_PASSIVE, 0);
		w->next_try = w->bytes + step;
	}
}

int wal_vacuum(struct wal *w, unsigned pages, bool *more)
{
	char sql[64];
	int64_t unused = 0;
	uint64_t fit = w->reserve / 4 / FRAME_BYTES;
	int r;

	if (w->reserve && pages > fit)
		pages = fit > 0 ? (unsigned)fit : 1;

	/*
	 * Without an unused page there is nothing to give back, and a checkpoint would write the
	 * hot pages once more.
	 */
	r = database_number(w->db, "PRAGMA freelist_count", &unused);
	*more = unused > pages;
	if (r != 0 || (pages && unused == 0))
		return r;
	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%u)", pages);
	r = pages ? database_run(w->db, sql) : 0;
	if (r == 0) /* the space is given back when the WAL with the database's new end is written into the file */
		wal_truncate(w, 5);
	return r;
}
