/*
 * Keep the write-ahead log (WAL) short.
 *
 * A passive checkpoint copies the pages that no reader still needs from the WAL into the file. It
 * waits for nobody, so a reader never delays a commit. A thread with a connection of its own makes
 * one when the WAL has grown to a quarter of its limit: each checkpoint flushes two files, and a
 * page that every commit changes is then copied only once. After a complete checkpoint the next
 * commit begins at the start of the WAL again. So without readers the WAL stays at a quarter of its
 * limit, unless commits come faster than the thread copies them. It then makes one checkpoint after
 * the other, and at three quarters of the limit the writer waits for it and copies the rest itself.
 *
 * A checkpoint begins with flushing the WAL. The kernel would keep its bytes until then, so it is
 * told after each large commit to write them now, while the next commit is prepared.
 *
 * Readers whose transactions overlap without end keep the WAL from beginning again. If the WAL
 * exceeds its limit, new readers are made to read the newest state, and each commit waits a few
 * milliseconds (WAIT_MS) for older readers. If it exceeds one and a half times its limit, the disk
 * may become full, so a commit waits as long as a reader's transaction may last (WAIT_LONG_MS).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "clock.h"
#include "database.h"
#include "wal.h"

#define FRAME_HEADER 24u	  /* bytes before each page in the WAL */
#define SEND_BYTES   (256u << 10) /* fewer new bytes stay with the kernel */
#define WAIT_MS	     5
#define WAIT_LONG_MS 60
#define BUSY_MS	     1000
#define HELD_MAX_NS  (8 * NS_PER_S) /* most time between attempts to truncate it behind a reader that stays */

/* ---- the thread ------------------------------------------------------------------------------- */

struct wal_thread {
	pthread_t thread;
	sqlite3 *db; /* its connection */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_wanted;	 /* a checkpoint is to be made */
	bool is_running; /* one is wanted or being made */
	bool ends;
};

static void *work(void *context)
{
	struct wal_thread *t = context;

	pthread_mutex_lock(&t->mutex);
	while (!t->ends) {
		if (!t->is_wanted) {
			pthread_cond_wait(&t->changed, &t->mutex);
			continue;
		}
		t->is_wanted = false;
		pthread_mutex_unlock(&t->mutex);
		/* A checkpoint that fails leaves the WAL as it is, and the next one tries again. */
		sqlite3_wal_checkpoint_v2(t->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
		pthread_mutex_lock(&t->mutex);
		t->is_running = false;
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->mutex);
	return NULL;
}

static struct wal_thread *thread_free(struct wal_thread *t)
{
	sqlite3_close(t->db);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->mutex);
	free(t);
	return NULL;
}

/* Start a thread for the database PATH. Return NULL if that fails. */
static struct wal_thread *thread_new(const char *path)
{
	struct wal_thread *t = calloc(1, sizeof(*t));
	int64_t version;

	if (!t)
		return NULL;
	pthread_mutex_init(&t->mutex, NULL);
	pthread_cond_init(&t->changed, NULL);
	/* Only a connection that has read the file knows that it has a WAL. */
	if (sqlite3_open_v2(path, &t->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
	    database_number(t->db, "PRAGMA user_version", &version) != 0 ||
	    pthread_create(&t->thread, NULL, work, t) != 0)
		return thread_free(t);
	return t;
}

/* Wait until no checkpoint is running. */
static void thread_wait(struct wal_thread *t)
{
	pthread_mutex_lock(&t->mutex);
	while (t->is_running)
		pthread_cond_wait(&t->changed, &t->mutex);
	pthread_mutex_unlock(&t->mutex);
}

/* Begin a checkpoint, unless one is running. Return true if it was begun. */
static bool thread_begin(struct wal_thread *t)
{
	bool begins;

	pthread_mutex_lock(&t->mutex);
	begins = !t->is_running;
	if (begins)
		t->is_wanted = t->is_running = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->mutex);
	return begins;
}

static struct wal_thread *thread_end(struct wal_thread *t)
{
	pthread_mutex_lock(&t->mutex);
	t->ends = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->mutex);
	pthread_join(t->thread, NULL);
	return thread_free(t);
}

/* ---- the WAL ---------------------------------------------------------------------------------- */

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
			  .fd = -1,
			  .next_try = limit / 4,
			  .frame_bytes = (uint32_t)page_bytes + FRAME_HEADER};
	snprintf(pragma, sizeof(pragma), "PRAGMA journal_size_limit = %lld", (long long)limit);
	sqlite3_wal_hook(db, note, w);
	return database_run(db, pragma);
}

void wal_deinit(struct wal *w)
{
	if (!w->db)
		return;
	if (w->thread)
		w->thread = thread_end(w->thread);
	closep(&w->fd);
	w->db = NULL;
}

/* Make a checkpoint in the calling thread. */
static void checkpoint(struct wal *w, int mode, int wait_ms)
{
	int rc;

	if (w->thread)
		thread_wait(w->thread);
	sqlite3_busy_timeout(w->db, wait_ms);
	/* A checkpoint that fails leaves the WAL as it is, and the next one tries again. */
	rc = sqlite3_wal_checkpoint_v2(w->db, "main", mode, NULL, NULL);
	if (rc == SQLITE_OK && mode == SQLITE_CHECKPOINT_TRUNCATE)
		w->bytes = 0;
	if (mode == SQLITE_CHECKPOINT_TRUNCATE)
		w->is_held = (rc & 0xff) == SQLITE_BUSY;
	sqlite3_busy_timeout(w->db, BUSY_MS);
}

/* Return whether the WAL has no byte: a checkpoint would win nothing. */
static bool is_empty(const struct wal *w)
{
	struct stat st;

	return stat(sqlite3_filename_wal(sqlite3_db_filename(w->db, "main")), &st) == 0 && st.st_size == 0;
}

void wal_truncate(struct wal *w, int wait_ms)
{
	if (is_empty(w)) {
		w->bytes = 0;
		w->is_held = false;
		return;
	}
	checkpoint(w, SQLITE_CHECKPOINT_TRUNCATE, wait_ms);
}

bool wal_is_held(struct wal *w, int wait_ms)
{
	if (w->is_held && clock_mono() < w->held_until)
		return true;
	wal_truncate(w, wait_ms);
	if (!w->is_held)
		w->held_ns = 0;
	else if (w->held_ns < HELD_MAX_NS)
		w->held_ns = w->held_ns ? 2 * w->held_ns : NS_PER_S;
	w->held_until = clock_mono() + w->held_ns;
	return w->is_held;
}

/* Let the kernel write what the last commits have added to the WAL. */
static void send(struct wal *w)
{
	const char *path = sqlite3_db_filename(w->db, "main");

	if (w->bytes < w->sent)
		w->sent = 0; /* the last commit began at the start of the WAL again */
	if (w->bytes - w->sent < SEND_BYTES)
		return;
	if (w->fd < 0)
		w->fd = open(sqlite3_filename_wal(path), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	/* Bytes that this does not send are flushed by the checkpoint. */
	sync_file_range(w->fd, (off64_t)w->sent, (off64_t)(w->bytes - w->sent), SYNC_FILE_RANGE_WRITE);
	w->sent = w->bytes;
}

void wal_checkpoint(struct wal *w)
{
	uint64_t step = w->limit / 4;

	send(w);
	if (w->bytes < w->next_try && w->next_try - w->bytes > step)
		w->next_try = step; /* the last commit began at the start of the WAL again */
	if (w->bytes < w->next_try && w->bytes <= w->limit)
		return;
	if (!w->thread)
		w->thread = thread_new(sqlite3_db_filename(w->db, "main"));
	if (w->bytes > w->limit) {
		checkpoint(w, SQLITE_CHECKPOINT_TRUNCATE, w->bytes > w->limit / 2 * 3 ? WAIT_LONG_MS : WAIT_MS);
	} else if (w->bytes >= 3 * step || !w->thread) {
		checkpoint(w, SQLITE_CHECKPOINT_PASSIVE, 0);
		w->next_try = w->bytes + step;
	} else if (thread_begin(w->thread)) {
		w->next_try = w->bytes + step / 4;
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
