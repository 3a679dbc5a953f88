/*
 * Keep the write-ahead log (WAL) short.
 *
 * A passive checkpoint copies the pages that no reader still needs from the WAL into the file. It
 * waits for nobody, so a reader never delays a commit. The writer makes a checkpoint whenever the
 * WAL has grown by a quarter of its limit: each checkpoint flushes two files, and a page that every
 * commit changes is then copied only once. After a complete checkpoint the next commit begins at
 * the start of the WAL again. So without readers the WAL stays at a quarter of its limit.
 *
 * Readers whose transactions overlap without end keep the WAL from beginning again. If the WAL
 * exceeds its limit, new readers are made to read the newest state, and each commit waits a few
 * milliseconds (WAIT_MS) for older readers. If it exceeds one and a half times its limit, the disk
 * may become full, so a commit waits as long as a reader's transaction may last (WAIT_LONG_MS).
 */
#include <stdio.h>

#include "database.h"
#include "wal.h"

#define FRAME_HEADER 24u /* bytes before each page in the WAL */
#define WAIT_MS	     5
#define WAIT_LONG_MS 60
#define BUSY_MS	     1000

/* Store the WAL's size; SQLite calls this after each commit. */
static int note(void *context, sqlite3 *db, const char *name, int pages)
{
	struct wal *w = context;

	(void)db;
	(void)name;
	w->bytes = (uint64_t)pages * w->frame_bytes;
	return SQLITE_OK;
}

int wal_init(struct wal *w, sqlite3 *db, uint64_t limit, uint64_t reserve)
{
	char pragma[80];
	int64_t page_bytes;
	int r = database_number(db, "PRAGMA page_size", &page_bytes);

	if (r)
		return r;
	*w = (struct wal){.db = db,
			  .limit = limit,
			  .reserve = reserve,
			  .next_try = limit / 4,
			  .frame_bytes = (uint32_t)page_bytes + FRAME_HEADER};
	snprintf(pragma, sizeof(pragma), "PRAGMA journal_size_limit = %lld", (long long)limit);
	sqlite3_wal_hook(db, note, w);
	return database_run(db, pragma);
}

static void checkpoint(struct wal *w, int mode, int wait_ms)
{
	sqlite3_busy_timeout(w->db, wait_ms);
	/* A checkpoint that fails leaves the WAL as it is, and the next one tries again. */
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
		w->next_try = step; /* the last commit began at the start of the WAL again */
	if (w->bytes > w->limit) {
		checkpoint(w, SQLITE_CHECKPOINT_TRUNCATE, w->bytes > w->limit / 2 * 3 ? WAIT_LONG_MS : WAIT_MS);
	} else if (w->bytes >= w->next_try) {
		checkpoint(w, SQLITE_CHECKPOINT_PASSIVE, 0);
		w->next_try = w->bytes + step;
	}
}

int wal_vacuum(struct wal *w, uint64_t bytes, bool *more)
{
	char sql[64];
	int64_t unused = 0;
	uint64_t fit = w->reserve / 4 / w->frame_bytes;
	unsigned pages = (unsigned)((bytes + w->frame_bytes - 1) / w->frame_bytes);
	int r;

	if (w->reserve && pages > fit)
		pages = fit > 0 ? (unsigned)fit : 1;

	/*
	 * If no page is unused, nothing can be returned, and a checkpoint would only copy pages
	 * that change often once more.
	 */
	r = database_number(w->db, "PRAGMA freelist_count", &unused);
	*more = unused > pages;
	if (r != 0 || (pages && unused == 0))
		return r;
	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%u)", pages);
	r = pages ? database_run(w->db, sql) : 0;
	if (r == 0) /* the file gets shorter when the WAL is checkpointed */
		wal_truncate(w, 5);
	return r;
}
