/*
 * The commit thread: commit batches, and delete old recordings.
 *
 * Invariant: while BUSY is set, BATCH belongs to the thread, else to the loop.
 *
 * A batch is committed as a whole. If the disk is full, the thread makes space and tries again each
 * second. So a recording never has a hole: if the loop's memory is used up meanwhile, the loop ends
 * the recording.
 */
#include "batch-commits.h"

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
#define DELETIONS_STEP 64u /* recordings that are deleted at once for a reason, at most */

struct commit_thread {
	struct memtraces *w;
	const struct config *config;
	int wake_fd;
	pthread_t thread;
	bool started;
	uint64_t enforced; /* last check of quotas, CLOCK_MONOTONIC ns */
	uint64_t written;  /* begin of the last batch, CLOCK_MONOTONIC ns */
	double rate;	   /* bytes per second, averaged over the last few batches */
	bool purging;	   /* deleted recordings have space to give back; the thread goes on with that soon */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* LOCK protects the fields below. */
	bool busy, stopping;
	struct batch batch;
	struct commit_thread_state state;
	/* The thread alone uses these. */
	struct log_limit damages;
	struct deletion_log deletions;
};

static void wake(const struct commit_thread *c)
{
	if (eventfd_write(c->wake_fd, 1) < 0)
		log_warning("The loop cannot be woken: error=%s", strerror(errno));
}

/* ---- one transaction ------------------------------------------------------------------------- */

static int apply(struct memtraces *m, struct item *item)
{
	int r = 0;

	switch (item->kind) {
	case ITEM_APPEND:
		return memtraces_append(m, item->recording, item->offset, item->data, item->length);
	case ITEM_PUT:
		return memtraces_put(m, item->put);
	case ITEM_PATCH:
		r = memtraces_patch(m, item->recording, item->pinned, item->note);
		break;
	case ITEM_DELETE:
		r = memtraces_delete(m, item->recording);
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
static void choose_level(struct commit_thread *c)
{
	uint64_t now = clock_mono();
	double rate = (double)c->batch.bytes * NS_PER_S / (double)(now - c->written + 1);

	c->written = now;
	c->rate += (rate - c->rate) / 4;
	memtraces_level(c->w, c->rate > HURRY_RATE ? LEVEL_HURRY : c->rate > BUSY_RATE ? LEVEL_BUSY : LEVEL_USUAL);
}

/* Return the first report in the batch of the same damage as ITEM, or NULL if ITEM is the first. */
static const struct item *find_report(const struct commit_thread *c, const struct item *item)
{
	for (const struct item *i = c->batch.first; i != item; i = i->next)
		if (i->kind == ITEM_DAMAGE && i->recording == item->recording)
			return i;
	return NULL;
}

/* The report of damage of ITEM could not be checked, because of R. */
static void tell_unrepaired(struct commit_thread *c, int r, const struct item *item)
{
	char cause[256];

	store_explain(memtraces_store(c->w), r, cause, sizeof(cause));
	log_write_limited(&c->damages, LOG_LEVEL_ERROR, NULL, "%s: %s: recording=%lld",
			  r == -EBADMSG ? "The archive's file is damaged; mprofd --fsck saves what is whole"
					: "A report of damage cannot be checked",
			  cause, (long long)item->recording);
}

/*
 * Repair the recording that ITEM reports as damaged, and store the result in ITEM. This is a
 * transaction of its own, because SQLite may fail there, and the archive must go on.
 */
static void repair(struct commit_thread *c, struct item *item)
{
	const struct item *first = find_report(c, item);
	int r;

	if (first) {
		item->result = first->result;
		item->pieces = first->pieces;
		item->is_known = true;
		return;
	}
	r = memtraces_begin(c->w);
	if (r == 0)
		r = memtraces_repair(c->w, item->recording, &item->pieces);
	if (r == 0)
		r = memtraces_commit(c->w);
	else
		memtraces_rollback(c->w);
	if (r != 0)
		item->pieces = 0;
	if (r != 0 && r != ARCHIVE_E_ABSENT)
		tell_unrepaired(c, r, item);
	item->result = r < 0 ? ARCHIVE_E_DAMAGED : r;
}

/*
 * Write the batch. Return 0 or an error. Reports of damage are handled last, because only then do
 * the rows of all recordings agree with their pieces.
 */
static int write_batch(struct commit_thread *c)
{
	int r = memtraces_begin(c->w);

	for (struct item *item = c->batch.first; item && r == 0; item = item->next) {
		r = apply(c->w, item);
		c->purging = c->purging || item->kind == ITEM_DELETE;
	}
	if (r == 0)
		r = memtraces_commit(c->w);
	else
		memtraces_rollback(c->w);
	for (struct item *item = c->batch.first; item && r == 0; item = item->next)
		if (item->kind == ITEM_DAMAGE)
			repair(c, item);
	return r;
}

/*
 * ---- quotas -----------------------------------------------------------------------------------
 */

/* The result of memtraces_sums(): a guest above its quota, and the bytes of all guests. */
struct excess {
	uint64_t limit, total;
	uint64_t due; /* bytes of TOTAL that the quotas of single guests delete, at once or in the next seconds */
	char *guest;  /* first guest that has more than LIMIT bytes, and recordings to delete; NULL = none; owned */
	uint64_t over;
};

static int see_sum(void *context, const char *guest, uint64_t bytes, uint64_t deletable)
{
	struct excess *e = context;
	uint64_t over = e->limit && bytes > e->limit ? bytes - e->limit : 0;

	e->total += bytes;
	e->due += over < deletable ? over : deletable;
	if (!e->guest && guest && over && deletable) {
		e->guest = strdup(guest);
		e->over = over;
	}
	return 0;
}

/*
 * Delete the oldest recordings of GUEST (NULL = of all guests) that began before BEFORE (on the age clock; 0 = at any
 * time) for REASON, until OVER bytes or DELETIONS_STEP recordings are deleted. Add their number to *N. Return 0 or an
 * error.
 */
static int delete_until(struct commit_thread *c, const char *guest, uint64_t before, uint64_t over,
			enum deletion_reason reason, unsigned *n)
{
	uint64_t bytes;
	int r = 0;

	while (over && *n < DELETIONS_STEP && (r = memtraces_delete_oldest(c->w, guest, before, reason, &bytes)) == 0) {
		over = bytes < over ? over - bytes : 0;
		++*n;
	}
	return r == ARCHIVE_E_ABSENT ? 0 : r;
}

/* End a transaction: commit if R is 0, else roll back. Return R, or the error of the commit. */
static int end_transaction(struct commit_thread *c, int r)
{
	if (r == 0)
		return memtraces_commit(c->w);
	memtraces_rollback(c->w);
	return r;
}

/*
 * Delete the oldest recordings while a guest is above its quota, all guests together are above the
 * limit, or recordings are too old. A guest above its quota pays for itself first: the limit of all counts what is left then.
 * Recordings are deleted whole, so only new sums tell that. Add the number of deleted recordings to *N. Return 0 or an error.
 */
static int delete_excess(struct commit_thread *t, unsigned *n)
{
	const struct config *c = t->config;
	struct excess e = {.limit = c->sink_guest_bytes};
	uint64_t before = age_before(memtraces_age(t->w), c->sink_age_ns);
	int r = memtraces_sums(t->w, see_sum, &e);

	if (r == 0 && e.guest) {
		r = delete_until(t, e.guest, 0, e.over, DELETION_QUOTA, n);
		free(e.guest);
		e = (struct excess){.limit = c->sink_guest_bytes};
		if (r == 0)
			r = memtraces_sums(t->w, see_sum, &e);
	}
	free(e.guest);
	if (r == 0 && c->sink_bytes && e.total - e.due > c->sink_bytes)
		r = delete_until(t, NULL, 0, e.total - e.due - c->sink_bytes, DELETION_QUOTA, n);
	if (r == 0 && before)
		r = delete_until(t, NULL, before, UINT64_MAX, DELETION_AGE, n);
	return r;
}

/* Count N recordings as deleted. */
static void count_deleted(struct commit_thread *c, unsigned n)
{
	pthread_mutex_lock(&c->lock);
	c->state.deleted += n;
	pthread_mutex_unlock(&c->lock);
}

/* Delete PURGE_STEPS times PURGE_STEP pieces of deleted recordings at most. *MORE: there are more. Return 0 or an error. */
static int purge(struct commit_thread *c, bool *more)
{
	int r = memtraces_begin(c->w);

	*more = true;
	for (unsigned i = 0; i < PURGE_STEPS && *more && r == 0; i++)
		r = memtraces_purge(c->w, PURGE_STEP, more);
	return end_transaction(c, r);
}

/*
 * Delete some pieces of deleted recordings. If fewer than WANT bytes are free, or pieces were deleted before, too, return
 * some unused pages to the file system. PURGING is whether another call has more to do. The work of a call is bounded,
 * because batches and a stop wait for it. Return 0 or an error; ARCHIVE_E_BUSY if bytes are missing, and a reader's
 * transaction keeps the file from getting shorter: each change would only make the write-ahead log longer.
 */
static int give_back(struct commit_thread *c, uint64_t want)
{
	struct store *store = memtraces_store(c->w);
	bool pieces, pages = false, is_short;
	uint64_t has;
	int r = space_free(store, &has);

	if (r != 0)
		return r;
	is_short = has < want;
	if (is_short && space_is_held(store)) {
		c->purging = false; /* look again in a second */
		return ARCHIVE_E_BUSY;
	}
	r = purge(c, &pieces);
	if (r == 0 && (c->purging || is_short))
		r = space_vacuum(store, VACUUM_BYTES, &pages);
	if (r == 0)
		c->purging = pieces || (is_short && pages);
	return r;
}

/*
 * If fewer than WANT bytes are free, although deleted recordings have given back all their space, delete the oldest recordings,
 * DELETIONS_STEP at most. *MORE is false if bytes are missing, and nothing is left to delete. Return as give_back().
 */
static int keep_room(struct commit_thread *c, uint64_t want, bool *more)
{
	struct store *store = memtraces_store(c->w);
	unsigned deleted = 0;
	uint64_t has;
	int r = space_free(store, &has);

	*more = true;
	if (r != 0 || c->purging || has >= want)
		return r;
	if (space_is_held(store))
		return ARCHIVE_E_BUSY;
	r = space_free(store, &has); /* the write-ahead log has given back its room */
	if (r != 0 || has >= want)
		return r;
	r = memtraces_begin(c->w);
	if (r == 0)
		r = end_transaction(c, delete_until(c, NULL, 0, want - has, DELETION_DISK, &deleted));
	if (r != 0)
		return r;
	count_deleted(c, deleted);
	*more = c->purging = deleted > 0;
	return 0;
}

static bool is_stopping(struct commit_thread *c)
{
	bool stopping;

	pthread_mutex_lock(&c->lock);
	stopping = c->stopping;
	pthread_mutex_unlock(&c->lock);
	return stopping;
}

/* For space_make(): give space back, and delete recordings if there is none to give back. ARCHIVE_E_BUSY: also if the thread is to end. */
static int delete_step(void *context, uint64_t want, bool *more)
{
	struct commit_thread *c = context;
	int r = is_stopping(c) ? ARCHIVE_E_BUSY : give_back(c, want);

	if (r == 0)
		r = keep_room(c, want, more);
	return r == 0 && c->purging ? give_back(c, want) : r;
}

/* Delete recordings that exceed a limit. Return 0 or an error. */
static int keep_limits(struct commit_thread *c)
{
	unsigned deleted = 0;
	int r = memtraces_begin(c->w);

	if (r == 0)
		r = end_transaction(c, delete_excess(c, &deleted));
	if (r == 0)
		count_deleted(c, deleted);
	return r;
}

/*
 * Delete recordings that exceed a limit or whose room others need, and some pieces of deleted recordings. Return 0 or an
 * error.
 */
static int tidy(struct commit_thread *c)
{
	const uint64_t want = config_free_space(c->config);
	bool is_due;
	int r = 0;

	memtraces_run_age(c->w, !space_is_full(memtraces_store(c->w)));
	is_due = clock_mono() - c->enforced >= ENFORCE_NS;
	if (!is_due && !c->purging)
		return 0;
	if (is_due) {
		c->enforced = clock_mono();
		r = keep_limits(c);
	}
	if (r == 0)
		r = give_back(c, want);
	if (r == 0)
		r = keep_room(c, want, &(bool){false});
	return r > 0 && r != ARCHIVE_E_FULL ? 0 : r; /* try again in a second */
}

/*
 * ---- the thread -------------------------------------------------------------------------------
 */

static void wait_until(struct commit_thread *c, uint64_t ns)
{
	clock_wait(&c->changed, &c->lock, clock_mono() + ns);
}

static void say_full(struct commit_thread *c, bool full)
{
	bool limited = space_is_limited();

	if (full != c->state.full)
		log_write(
			full ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, NULL,
			full && limited
				? "The disk is full, or the archive has reached the size limit of files (LimitFSIZE=, "
				  "ulimit -f): memory profiles wait in memory, and are cut where that is full too"
			: full ? "The disk is full: memory profiles wait in memory, and are cut where that is full too"
			       : "There is room on the disk again");
	c->state.full = full;
	snprintf(c->state.sentence, sizeof(c->state.sentence), "%s",
		 full && limited
			 ? "The disk is full, or the archive has reached the size limit of files (LimitFSIZE=, ulimit "
			   "-f); memory profiles are not archived until there is room."
		 : full ? "The disk is full; memory profiles are not archived until there is room."
			: "");
}

/* Log the damage that the batch's reports have found. The caller holds LOCK. */
static void tell_damage(struct commit_thread *c)
{
	for (const struct item *item = c->batch.first; item; item = item->next) {
		if (item->kind != ITEM_DAMAGE || item->is_known)
			continue;
		if (item->pieces == 0)
			continue;
		c->state.damaged_pieces += item->pieces;
		log_write_limited(
			&c->damages, LOG_LEVEL_WARNING, NULL,
			"Bytes of a memory profile were damaged on the disk; it ends before them from now on: "
			"recording=%lld",
			(long long)item->recording);
	}
}

/* Write the sentence of the state after R, an error after which mprofd-sink ends. The caller holds LOCK. */
static void explain(struct commit_thread *c, int r)
{
	char cause[256] = "its rows do not fit together";

	if (r < 0)
		store_explain(memtraces_store(c->w), r, cause, sizeof(cause));
	snprintf(c->state.sentence, sizeof(c->state.sentence),
		 "The archive of memory profiles cannot be written, and mprofd-sink ends: %s; check the disk; "
		 "mprofd-sink goes on when it is started again.",
		 cause);
}

/*
 * Store the result R of a transaction in the thread's state. Return true if the batch is done:
 * stored, or given up. Return false after a wait, if the caller must try again.
 */
static bool finish(struct commit_thread *c, int r)
{
	bool again = r == ARCHIVE_E_FULL || r == ARCHIVE_E_BUSY;

	pthread_mutex_lock(&c->lock);
	say_full(c, r == ARCHIVE_E_FULL);
	if (r == 0) {
		c->state.serial++;
		c->state.bytes += c->batch.bytes;
		tell_damage(c);
	} else if (!again) {
		c->state.failed = true;
		explain(c, r);
		log_error("%s", c->state.sentence);
	}
	if (!again)
		c->busy = false;
	again = again && !c->stopping;
	if (again)
		wait_until(c, RETRY_NS);
	pthread_mutex_unlock(&c->lock);
	wake(c);
	return !again;
}

static bool make_space(struct commit_thread *c)
{
	uint64_t want = config_smallest_space(c->config);

	return space_make(memtraces_store(c->w), want, UINT_MAX, delete_step, c);
}

static void commit_batch(struct commit_thread *c)
{
	int r;

	choose_level(c);
	r = space_is_full(memtraces_store(c->w)) ? ARCHIVE_E_FULL : write_batch(c);
	while (!finish(c, r))
		if (r != ARCHIVE_E_FULL || make_space(c))
			r = write_batch(c);
	if (r == 0)
		space_restore_reserve(memtraces_store(c->w));
}

/* Log deletions, and copy what metrics need. */
static void tell_retention(struct commit_thread *c)
{
	const struct age *age = memtraces_age(c->w);
	bool is_new = memtraces_deletions(c->w)->n > 0;

	deletion_log_run(&c->deletions, memtraces_deletions(c->w), "recordings", clock_mono());
	pthread_mutex_lock(&c->lock);
	c->state.deletions = c->deletions.totals;
	is_new = is_new || c->state.clock_steps != age->steps;
	c->state.clock_steps = age->steps;
	is_new = is_new || c->state.clock_damaged != age->damaged;
	c->state.clock_damaged = age->damaged;
	pthread_mutex_unlock(&c->lock);
	if (is_new)
		wake(c);
}

static void *work(void *context)
{
	struct commit_thread *c = context;
	bool busy, stopping;
	int r;

	do {
		pthread_mutex_lock(&c->lock);
		if (!c->busy && !c->stopping)
			wait_until(c, c->purging ? NS_PER_S / 20 : ENFORCE_NS);
		busy = c->busy;
		stopping = c->stopping;
		pthread_mutex_unlock(&c->lock);
		if (busy)
			commit_batch(c);
		r = stopping ? 0 : tidy(c);
		if (r < 0) {
			finish(c, r);
			return NULL;
		}
		tell_retention(c);
	} while (busy || !stopping);
	return NULL;
}

/*
 * End the recordings that the previous mprofd-sink has not ended. *LAST_ID is the largest
 * identifier of a recording. Return 0 or an error.
 */
static int settle(struct memtraces *m, int64_t *last_id)
{
	struct moment now = moment_now();
	int r = memtraces_last_id(m, last_id);

	/* A step of the clock counts from here on; the thread looks at the clock only when it has committed, or a second has passed. */
	memtraces_run_age(m, !space_is_full(memtraces_store(m)));
	if (r == 0)
		r = memtraces_begin(m);
	if (r == 0)
		r = memtraces_end_all(m, "restart", now.real, now.mono);
	return r ? r : memtraces_commit(m);
}

static int begin_thread(struct commit_thread *c)
{
	pthread_mutex_init(&c->lock, NULL);
	clock_cond_init(&c->changed);
	c->started = pthread_create(&c->thread, NULL, work, c) == 0;
	return c->started ? 0 : -EAGAIN;
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
	char small[PATH_MAX + 256];
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
	if (r == 0 && space_is_small(memtraces_store(a->w), config_smallest_space(config), small, sizeof(small)))
		log_warning("%s", small);
	if (r == 0)
		a->state.lost_commits = memtraces_store(a->w)->lost_commits;
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

struct commit_thread *commit_thread_stop(struct commit_thread *c)
{
	if (!c)
		return NULL;
	if (c->started) {
		pthread_mutex_lock(&c->lock);
		c->stopping = true;
		pthread_cond_signal(&c->changed);
		pthread_mutex_unlock(&c->lock);
		pthread_join(c->thread, NULL);
		deletion_log_end(&c->deletions, "recordings");
	}
	batch_deinit(&c->batch);
	memtraces_free(c->w);
	free(c);
	return NULL;
}

void commit_thread_state(struct commit_thread *c, struct commit_thread_state *state)
{
	pthread_mutex_lock(&c->lock);
	*state = c->state;
	state->idle = !c->busy && !c->batch.first && !c->state.failed;
	pthread_mutex_unlock(&c->lock);
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
