/*
 * The commit thread: commit batches, and delete old recordings.
 *
 * Invariant: while BUSY is set, BATCH belongs to the thread, else to the loop.
 *
 * A batch is committed as a whole. If the disk is full, the thread makes space and tries again each
 * second. So a recording never has a hole: if the loop's memory is used up meanwhile, the loop ends
 * the recording.
 */
#include "commit-thread.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "clock.h"
#include "log.h"
#include "space.h"
#include "store.h"

#define LEVEL_USUAL    3
#define LEVEL_BUSY     1
#define LEVEL_HURRY    (-3)
#define BUSY_RATE      (8u << 20)  /* bytes per second; above this rate compression must be faster */
#define HURRY_RATE     (32u << 20) /* bytes per second; above this rate compression must be as fast as possible */
#define PURGE_STEP     64u
#define PURGE_STEPS    4u /* steps of PURGE_STEP pieces in one transaction */
#define VACUUM_BYTES   ((uint64_t)256 << 16)
#define ENFORCE_NS     NS_PER_S
#define RETRY_NS       NS_PER_S
#define DELETIONS_STEP 64u /* recordings that quotas delete per second, at most */

struct commit_thread {
	struct memtraces *w;
	const struct config *config;
	int wake_fd;
	pthread_t thread;
	bool started;
	uint64_t enforced; /* last check of quotas, CLOCK_MONOTONIC ns */
	uint64_t written;  /* begin of the last batch, CLOCK_MONOTONIC ns */
	double rate;	   /* bytes per second, averaged over the last few batches */
	bool purging;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* LOCK protects the fields below. */
	bool busy, stopping;
	struct batch batch;
	struct commit_thread_state state;
	struct log_limit damages;
	struct deletion_log deletions; /* of the thread alone */
};

static void wake(const struct commit_thread *a)
{
	if (eventfd_write(a->wake_fd, 1) < 0)
		log_warning("The loop cannot be woken: error=%s", strerror(errno));
}

/* ---- one transaction ------------------------------------------------------------------------- */

static int apply(struct memtraces *w, struct item *item)
{
	int r = 0;

	switch (item->kind) {
	case ITEM_APPEND:
		return memtraces_append(w, item->recording, item->offset, item->data, item->length);
	case ITEM_PUT:
		return memtraces_put(w, item->put);
	case ITEM_PATCH:
		r = memtraces_patch(w, item->recording, item->pinned, item->note);
		break;
	case ITEM_DELETE:
		r = memtraces_delete(w, item->recording);
		break;
	case ITEM_DAMAGE: /* write_batch() repairs it after the batch, in a transaction of its own */
		break;
	}
	item->result = r == ARCHIVE_E_ABSENT ? r : 0;
	return r == ARCHIVE_E_ABSENT ? 0 : r;
}

/*
 * Choose the compression level by the rate at which bytes come. The size of the batch would be a
 * wrong measure: batches are small on a machine that keeps up, and it would then spend all its time
 * on compression.
 */
static void choose_level(struct commit_thread *a)
{
	uint64_t now = clock_mono();
	double rate = (double)a->batch.bytes * NS_PER_S / (double)(now - a->written + 1);

	a->written = now;
	a->rate += (rate - a->rate) / 4;
	memtraces_level(a->w, a->rate > HURRY_RATE ? LEVEL_HURRY : a->rate > BUSY_RATE ? LEVEL_BUSY : LEVEL_USUAL);
}

/* Return the first report in the batch of the same damage as ITEM, or NULL if ITEM is the first. */
static const struct item *find_report(const struct commit_thread *a, const struct item *item)
{
	for (const struct item *i = a->batch.first; i != item; i = i->next)
		if (i->kind == ITEM_DAMAGE && i->recording == item->recording)
			return i;
	return NULL;
}

/*
 * Repair the recording that ITEM reports as damaged, and store the result in ITEM. This is a
 * transaction of its own, because SQLite may fail there, and the archive must go on.
 */
static void repair(struct commit_thread *a, struct item *item)
{
	const struct item *first = find_report(a, item);
	int r;

	if (first) {
		item->result = first->result;
		item->pieces = first->pieces;
		item->is_known = true;
		return;
	}
	r = memtraces_begin(a->w);
	if (r == 0)
		r = memtraces_repair(a->w, item->recording, &item->pieces);
	if (r == 0)
		r = memtraces_commit(a->w);
	else
		memtraces_rollback(a->w);
	if (r != 0)
		item->pieces = 0;
	item->result = r < 0 ? ARCHIVE_E_DAMAGED : r;
}

/*
 * Write the batch. Return 0 or an error. Reports of damage are handled last, because only then do
 * the rows of all recordings agree with their pieces.
 */
static int write_batch(struct commit_thread *a)
{
	int r = memtraces_begin(a->w);

	for (struct item *item = a->batch.first; item && r == 0; item = item->next) {
		r = apply(a->w, item);
		a->purging = a->purging || item->kind == ITEM_DELETE;
	}
	if (r == 0)
		r = memtraces_commit(a->w);
	else
		memtraces_rollback(a->w);
	for (struct item *item = a->batch.first; item && r == 0; item = item->next)
		if (item->kind == ITEM_DAMAGE)
			repair(a, item);
	return r;
}

/*
 * ---- quotas -----------------------------------------------------------------------------------
 */

/* The result of memtraces_sums(): a guest above its quota, and the bytes of all guests. */
struct excess {
	uint64_t limit, total;
	char *guest; /* first guest that has more than LIMIT bytes; NULL = none; owned */
	uint64_t over;
};

static int see_sum(void *context, const char *guest, uint64_t bytes)
{
	struct excess *e = context;

	e->total += bytes;
	if (!e->guest && guest && e->limit && bytes > e->limit) {
		e->guest = strdup(guest);
		e->over = bytes - e->limit;
	}
	return 0;
}

/*
 * Delete the oldest recordings of GUEST (NULL = of all guests) that began before BEFORE (on the age clock; 0 = at any
 * time) for REASON, until OVER bytes or DELETIONS_STEP recordings are deleted. Add their number to *N. Return 0 or an
 * error.
 */
static int delete_until(struct commit_thread *a, const char *guest, uint64_t before, uint64_t over,
			enum deletion_reason reason, unsigned *n)
{
	uint64_t bytes;
	int r = 0;

	while (over && *n < DELETIONS_STEP && (r = memtraces_delete_oldest(a->w, guest, before, reason, &bytes)) == 0) {
		over = bytes < over ? over - bytes : 0;
		++*n;
	}
	return r == ARCHIVE_E_ABSENT ? 0 : r;
}

/* End a transaction: commit if R is 0, else roll back. Return R, or the error of the commit. */
static int end_transaction(struct commit_thread *a, int r)
{
	if (r == 0)
		return memtraces_commit(a->w);
	memtraces_rollback(a->w);
	return r;
}

/*
 * Delete the oldest recordings while a guest is above its quota, all guests together are above the
 * limit, recordings are too old, or fewer than WANT bytes are free. Add the number of deleted
 * recordings to *N. Return 0 or an error.
 */
static int delete_excess(struct commit_thread *a, uint64_t want, unsigned *n)
{
	const struct config *c = a->config;
	struct excess e = {.limit = c->sink_guest_bytes};
	uint64_t free_bytes = 0, before = age_before(memtraces_age(a->w), c->sink_age_ns);
	int r = memtraces_sums(a->w, see_sum, &e);

	if (r == 0 && e.guest)
		r = delete_until(a, e.guest, 0, e.over, DELETION_QUOTA, n);
	free(e.guest);
	if (r == 0 && c->sink_bytes && e.total > c->sink_bytes)
		r = delete_until(a, NULL, 0, e.total - c->sink_bytes, DELETION_QUOTA, n);
	if (r == 0 && before)
		r = delete_until(a, NULL, before, UINT64_MAX, DELETION_AGE, n);
	if (r == 0)
		r = space_free(memtraces_store(a->w), &free_bytes);
	if (r == 0 && want > free_bytes)
		r = delete_until(a, NULL, 0, want - free_bytes, DELETION_DISK, n);
	return r;
}

/*
 * Delete recordings that exceed a limit, and some pieces of deleted recordings. Return 0 or an
 * error.
 */
static int tidy(struct commit_thread *a)
{
	unsigned deleted = 0;
	bool more = a->purging;
	int r;

	memtraces_run_age(a->w, !space_is_full(memtraces_store(a->w)));
	if (clock_mono() - a->enforced < ENFORCE_NS && !a->purging)
		return 0;
	r = memtraces_begin(a->w);
	if (r == 0 && clock_mono() - a->enforced >= ENFORCE_NS) {
		a->enforced = clock_mono();
		r = delete_excess(a, config_free_space(a->config), &deleted);
		more = true;
	}
	for (unsigned i = 0; i < PURGE_STEPS && more && r == 0; i++)
		r = memtraces_purge(a->w, PURGE_STEP, &more);
	r = end_transaction(a, r);
	if (r == 0 && a->purging)
		r = space_vacuum(memtraces_store(a->w), VACUUM_BYTES, &(bool){false});
	a->purging = more;
	pthread_mutex_lock(&a->lock);
	a->state.deleted += deleted;
	pthread_mutex_unlock(&a->lock);
	return r > 0 && r != ARCHIVE_E_FULL ? 0 : r; /* try again in a second */
}

/*
 * ---- the thread -------------------------------------------------------------------------------
 */

static void wait_until(struct commit_thread *a, uint64_t ns)
{
	clock_wait(&a->changed, &a->lock, clock_mono() + ns);
}

static void say_full(struct commit_thread *a, bool full)
{
	bool limited = space_is_limited();

	if (full != a->state.full)
		log_write(
			full ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, NULL,
			full && limited
				? "The disk is full, or the archive has reached the size limit of files (LimitFSIZE=, "
				  "ulimit -f): memory profiles wait in memory, and are cut where that is full too"
			: full ? "The disk is full: memory profiles wait in memory, and are cut where that is full too"
			       : "There is room on the disk again");
	a->state.full = full;
	snprintf(a->state.sentence, sizeof(a->state.sentence), "%s",
		 full && limited
			 ? "The disk is full, or the archive has reached the size limit of files (LimitFSIZE=, ulimit "
			   "-f); memory profiles are not archived until there is room."
		 : full ? "The disk is full; memory profiles are not archived until there is room."
			: "");
}

/* Log the damage that the batch's reports have found. The caller holds LOCK. */
static void tell_damage(struct commit_thread *a)
{
	for (const struct item *item = a->batch.first; item; item = item->next) {
		if (item->kind != ITEM_DAMAGE || item->is_known)
			continue;
		if (item->result == ARCHIVE_E_DAMAGED)
			log_write_limited(&a->damages, LOG_LEVEL_ERROR, NULL,
					  "The archive's file is damaged; mprofd --fsck saves what is whole: "
					  "recording=%lld",
					  (long long)item->recording);
		if (item->pieces == 0)
			continue;
		a->state.damaged_pieces += item->pieces;
		log_write_limited(
			&a->damages, LOG_LEVEL_WARNING, NULL,
			"Bytes of a memory profile were damaged on the disk; it ends before them from now on: "
			"recording=%lld",
			(long long)item->recording);
	}
}

/* Write the sentence of the state after R, an error after which mprofd-sink ends. The caller holds LOCK. */
static void explain(struct commit_thread *a, int r)
{
	char cause[256] = "its rows do not fit together";

	if (r < 0)
		store_explain(memtraces_store(a->w), r, cause, sizeof(cause));
	snprintf(a->state.sentence, sizeof(a->state.sentence),
		 "The archive of memory profiles cannot be written, and mprofd-sink ends: %s; check the disk; "
		 "mprofd-sink goes on when it is started again.",
		 cause);
}

/*
 * Store the result R of a transaction in the thread's state. Return true if the batch is done:
 * stored, or given up. Return false after a wait, if the caller must try again.
 */
static bool finish(struct commit_thread *a, int r)
{
	bool again = r == ARCHIVE_E_FULL || r == ARCHIVE_E_BUSY;

	pthread_mutex_lock(&a->lock);
	say_full(a, r == ARCHIVE_E_FULL);
	if (r == 0) {
		a->state.serial++;
		a->state.bytes += a->batch.bytes;
		tell_damage(a);
	} else if (!again) {
		a->state.failed = true;
		explain(a, r);
		log_error("%s", a->state.sentence);
	}
	if (!again)
		a->busy = false;
	again = again && !a->stopping;
	if (again)
		wait_until(a, RETRY_NS);
	pthread_mutex_unlock(&a->lock);
	wake(a);
	return !again;
}

/*
 * Delete the pieces of deleted recordings, and return their space to the file system, until WANT
 * bytes are free. *HAS is the number of free bytes then. Return 0 or an error.
 */
static int purge(struct commit_thread *a, uint64_t want, uint64_t *has)
{
	bool more = true, unused;
	int r = space_free(memtraces_store(a->w), has);

	while (r == 0 && more && *has < want) {
		r = memtraces_begin(a->w);
		if (r == 0)
			r = end_transaction(a, memtraces_purge(a->w, PURGE_STEP, &more));
		for (unused = true; r == 0 && unused;)
			r = space_vacuum(memtraces_store(a->w), VACUUM_BYTES, &unused);
		if (r == 0)
			r = space_free(memtraces_store(a->w), has);
	}
	return r;
}

static int delete_some(struct commit_thread *a, uint64_t want, unsigned *n)
{
	int r = memtraces_begin(a->w);

	return r ? r : end_transaction(a, delete_excess(a, want, n));
}

/*
 * For space_make(): delete the pieces of deleted recordings, and if that does not free WANT bytes,
 * delete more recordings.
 */
static int delete_step(void *context, uint64_t want, bool *more)
{
	struct commit_thread *a = context;
	unsigned deleted = 1;
	uint64_t has;
	int r = purge(a, want, &has);

	if (r == 0 && has < want) {
		deleted = 0;
		r = delete_some(a, want, &deleted);
		if (r == 0)
			r = purge(a, want, &has);
	}
	*more = deleted != 0;
	return r;
}

static bool make_space(struct commit_thread *a)
{
	uint64_t want = config_free_space(a->config) + a->config->reserve_bytes;

	return space_make(memtraces_store(a->w), want, UINT_MAX, delete_step, a);
}

static void commit_batch(struct commit_thread *a)
{
	int r;

	choose_level(a);
	r = space_is_full(memtraces_store(a->w)) ? ARCHIVE_E_FULL : write_batch(a);
	while (!finish(a, r))
		if (r != ARCHIVE_E_FULL || make_space(a))
			r = write_batch(a);
	if (r == 0)
		space_restore_reserve(memtraces_store(a->w));
}

/* Log deletions, and copy what metrics need. */
static void tell_retention(struct commit_thread *a)
{
	const struct age *age = memtraces_age(a->w);
	bool is_new = memtraces_deletions(a->w)->n > 0;

	deletion_log_run(&a->deletions, memtraces_deletions(a->w), "recordings", clock_mono());
	pthread_mutex_lock(&a->lock);
	a->state.deletions = a->deletions.totals;
	is_new = is_new || a->state.clock_steps != age->steps;
	a->state.clock_steps = age->steps;
	pthread_mutex_unlock(&a->lock);
	if (is_new)
		wake(a);
}

static void *work(void *context)
{
	struct commit_thread *a = context;
	bool busy, stopping;
	int r;

	do {
		pthread_mutex_lock(&a->lock);
		if (!a->busy && !a->stopping)
			wait_until(a, a->purging ? NS_PER_S / 20 : ENFORCE_NS);
		busy = a->busy;
		stopping = a->stopping;
		pthread_mutex_unlock(&a->lock);
		if (busy)
			commit_batch(a);
		r = stopping ? 0 : tidy(a);
		if (r < 0) {
			finish(a, r);
			return NULL;
		}
		tell_retention(a);
	} while (busy || !stopping);
	return NULL;
}

/*
 * End the recordings that the previous mprofd-sink has not ended. *LAST_ID is the largest
 * identifier of a recording. Return 0 or an error.
 */
static int settle(struct memtraces *w, int64_t *last_id)
{
	struct moment now = moment_now();
	int r = memtraces_last_id(w, last_id);

	if (r == 0)
		r = memtraces_begin(w);
	if (r == 0)
		r = memtraces_end_all(w, "restart", now.real, now.mono);
	return r ? r : memtraces_commit(w);
}

static int begin_thread(struct commit_thread *a)
{
	pthread_mutex_init(&a->lock, NULL);
	clock_cond_init(&a->changed);
	a->started = pthread_create(&a->thread, NULL, work, a) == 0;
	return a->started ? 0 : -EAGAIN;
}

int commit_thread_start(struct commit_thread **ap, const char *state, const struct config *config, int wake_fd,
			int64_t *last_id, char *sentence, size_t size)
{
	struct archive_options options = {
		.wal_limit_bytes = config->wal_limit_bytes,
		.reserve_bytes = config->reserve_bytes,
		.level = LEVEL_USUAL,
	};
	CLEANUP(commit_thread_stopp) struct commit_thread *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->config = config;
	a->wake_fd = wake_fd;
	/*
	 * Mprofd-sink may have been killed before it had deleted all pieces of deleted recordings.
	 */
	a->purging = true;
	batch_init(&a->batch);
	r = memtraces_open(&a->w, state, &options, sentence, size);
	if (r == 0)
		r = settle(a->w, last_id);
	if (r == 0)
		r = begin_thread(a);
	if (r != 0) {
		if (!*sentence)
			snprintf(sentence, size, "the archive of memory profiles cannot be used: %s",
				 r < 0 ? strerror(-r) : "the disk is full");
		return r < 0 ? r : -ENOSPC;
	}
	*ap = TAKE_PTR(a);
	return 0;
}

struct commit_thread *commit_thread_stop(struct commit_thread *a)
{
	if (!a)
		return NULL;
	if (a->started) {
		pthread_mutex_lock(&a->lock);
		a->stopping = true;
		pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
		pthread_join(a->thread, NULL);
		deletion_log_end(&a->deletions, "recordings");
	}
	batch_deinit(&a->batch);
	memtraces_free(a->w);
	free(a);
	return NULL;
}

void commit_thread_state(struct commit_thread *a, struct commit_thread_state *state)
{
	pthread_mutex_lock(&a->lock);
	*state = a->state;
	state->idle = !a->busy && !a->batch.first && !a->state.failed;
	pthread_mutex_unlock(&a->lock);
}

void commit_thread_give(struct commit_thread *a, struct batch *b)
{
	pthread_mutex_lock(&a->lock);
	batch_move(b, &a->batch);
	a->busy = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

void commit_thread_take(struct commit_thread *a, struct batch *b)
{
	batch_init(b);
	pthread_mutex_lock(&a->lock);
	if (!a->busy)
		batch_move(&a->batch, b);
	pthread_mutex_unlock(&a->lock);
}
