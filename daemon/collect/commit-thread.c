/*
 * The commit thread. It makes one transaction per flush. Items stay in memory, and are counted by
 * the queue, until the commit has succeeded, so a full disk loses no bytes that were taken from a
 * ring.
 */
#include "commit-thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "retention.h"
#include "row-sums.h"
#include "space.h"
#include "store.h"
#include "transaction.h"

#define FLUSH_BYTES	(1u << 20)
#define SCARCE_NS	NS_PER_S /* latest commit while the disk runs short */
#define FULL_RETRY_NS	NS_PER_S
#define OUTBOX_NS	NS_PER_S
#define OUTBOX_CHECK_NS (10 * NS_PER_S)
#define ROWS_CHECK_NS	(600 * NS_PER_S)
#define UNDECIDED_LINES 2u		 /* of a log_limit */
#define JUDGE_CALLS	3u		 /* the rows of a capture and of its run may be damaged */
#define UNFINISHED_NS	(600 * NS_PER_S) /* a capture that is not finished after this time will not be */

struct commit_thread {
	pthread_t thread;
	struct archive_writer *w;
	struct queue *queue;
	const struct config *config;
	int wake;

	pthread_mutex_t mutex; /* protects STATE */
	struct commit_thread_state state;

	struct transaction transaction;
	struct log_limit damages, unsent;
	struct log_limit undecided;   /* verdicts, which the server repeats each second: few lines of them */
	struct log_limit unchecked;   /* checks that failed */
	struct archive_damage damage; /* damage that was logged already */

	struct retention retention;
	bool sends;		    /* the configuration sends something to a hub */
	bool counted;		    /* STATE.outbox is what the archive had */
	uint64_t outbox_checked_at; /* last check of its rows, CLOCK_MONOTONIC ns */
	uint64_t rows_checked_at;   /* end of the last check of runs, streams, gaps and captures, CLOCK_MONOTONIC ns */
	struct row_walk rows;	    /* the check of these rows that goes on */
	uint64_t outbox_at;	    /* last time of outbox_run(), CLOCK_MONOTONIC ns */
	int64_t noted;		    /* the newest capture at NOTED_AT */
	uint64_t noted_at;	    /* CLOCK_MONOTONIC ns */
	struct deletion_log deletions;
};

static void tell(struct commit_thread *t)
{
	uint64_t one = 1;

	/*
	 * The counter of an eventfd cannot overflow in practice. After another error the next
	 * wake-up reports this commit, too.
	 */
	if (write(t->wake, &one, sizeof(one)) < 0)
		return;
}

/* Set whether the archive takes bytes, and why not (SENTENCE). Log each change. */
static void set_archiving(struct commit_thread *t, bool archiving, const char *sentence)
{
	bool changed;

	pthread_mutex_lock(&t->mutex);
	changed = t->state.archiving != archiving;
	t->state.archiving = archiving;
	snprintf(t->state.sentence, sizeof(t->state.sentence), "%s", sentence);
	pthread_mutex_unlock(&t->mutex);
	if (!changed)
		return;
	if (archiving)
		log_info("Archiving again");
	else
		log_error("Archiving stopped: %s", sentence);
	tell(t);
}

/* Log SENTENCE, and why: the archive failed with R, an error or an archive_condition. WHERE names the row, or is empty. */
static void tell_failure(struct commit_thread *t, struct log_limit *limit, int r, const char *sentence,
			 const char *where)
{
	char cause[256];

	store_explain(archive_writer_store(t->w), r, cause, sizeof(cause));
	log_write_limited(limit, LOG_LEVEL_ERROR, NULL, "%s: %s%s%s", sentence, cause, *where ? ": " : "", where);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/*
 * Return whether ITEMS belong to a capture in part: a client may wait for the capture, or its guest
 * is dead and these bytes are the only copy. The commit must then be on the disk.
 */
static bool has_capture(struct item **items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (items[i]->kind == ITEM_CAPTURE || items[i]->kind == ITEM_TAIL || items[i]->kind == ITEM_RANGE)
			return true;
	return false;
}

/*
 * Return the zstd level: the fuller the queue, the faster. Level 3 takes twice the time of level 1,
 * so it is not used if a client waits (WAITED_FOR).
 */
static int level_for(struct commit_thread *t, bool waited_for)
{
	struct queue_level level = queue_level(t->queue);
	size_t fill = level.limit ? level.bytes * 16 / level.limit : 0;

	return fill < 1 && !waited_for ? 3 : fill < 3 ? 1 : fill < 8 ? -3 : -7;
}

/* Return true if ITEMS have nothing to write. */
static bool only_marks(struct item **items, size_t n)
{
	size_t marks = 0;

	while (marks < n && items[marks]->kind == ITEM_MARK)
		marks++;
	return marks == n;
}

static void committed(struct commit_thread *t, struct item **items, size_t n, uint64_t spent)
{
	uint64_t ticket = 0, bytes = 0;

	for (size_t i = 0; i < n; i++) {
		if (items[i]->ticket > ticket)
			ticket = items[i]->ticket;
		if (items[i]->kind == ITEM_CHUNK)
			bytes += items[i]->piece.chunk.length;
	}
	pthread_mutex_lock(&t->mutex);
	t->state.committed = ticket;
	t->state.serial += !only_marks(items, n);
	t->state.bytes += bytes;
	t->state.commit_ns += spent;
	pthread_mutex_unlock(&t->mutex);
	tell(t);
}

static void fail(struct commit_thread *t, int r)
{
	char cause[256], sentence[ARCHIVING_SENTENCE];

	store_explain(archive_writer_store(t->w), r, cause, sizeof(cause));
	snprintf(sentence, sizeof(sentence),
		 "the archive cannot be written, and mprofd ends: %s; check the disk; mprofd goes on when it is "
		 "started again",
		 cause);
	pthread_mutex_lock(&t->mutex);
	t->state.failed = true;
	pthread_mutex_unlock(&t->mutex);
	set_archiving(t, false, sentence);
}

/* Log the damage that was found since the last call. */
static void tell_damage(struct commit_thread *t)
{
	struct archive_damage d = archive_writer_damage(t->w);
	/* The archive has told which places limits pass over. */
	const uint64_t pieces = d.pieces - d.passed - (t->damage.pieces - t->damage.passed);
	const uint64_t packets = d.packets - t->damage.packets;

	if (d.pieces == t->damage.pieces && packets == 0)
		return;
	if (pieces || packets)
		log_write_limited(&t->damages, LOG_LEVEL_WARNING, NULL,
				  "Bytes of the archive were damaged on the disk and are out of service: stream=%lld "
				  "sequence=%llu pieces=%llu packets=%llu",
				  (long long)d.stream, (unsigned long long)d.sequence, (unsigned long long)pieces,
				  (unsigned long long)packets);
	t->damage = d;
	pthread_mutex_lock(&t->mutex);
	t->state.damaged_pieces = d.pieces;
	t->state.damaged_packets = d.packets;
	pthread_mutex_unlock(&t->mutex);
}

/*
 * Decide on the capture of ITEM, if the verdict is on this archive. A row of the capture or of its run that was damaged is declared by the
 * first call, so the next one finds it. Return what archive_writer_judge() returns.
 */
static int judge(struct commit_thread *t, const struct item *item)
{
	char name[ARCHIVE_NAME_BYTES];
	int r = *item->verdict.archive ? archive_writer_name(t->w, name) : 0;

	if (r == 0 && *item->verdict.archive && strcmp(name, item->verdict.archive) != 0)
		r = ARCHIVE_E_ABSENT;
	if (r != 0)
		return r;
	r = ARCHIVE_E_DAMAGED;
	for (unsigned left = JUDGE_CALLS; left && r == ARCHIVE_E_DAMAGED; left--)
		r = archive_writer_judge(t->w, item->verdict.capture, item->verdict.crashed);
	return r;
}

static void tell_undecided(struct commit_thread *t, int r, int64_t capture)
{
	char where[40];

	snprintf(where, sizeof(where), "capture=%lld", (long long)capture);
	tell_failure(t, &t->undecided, r, "A capture of the kind unread cannot be decided on", where);
}

/*
 * Decide on the captures of the kind `unread` among ITEMS, whose rows are in the archive. Each has a transaction of its
 * own: where the archive's file is damaged, SQLite fails at one capture, and the archive must go on.
 */
static void judge_all(struct commit_thread *t, struct item **items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r;

		if (items[i]->kind != ITEM_JUDGE)
			continue;
		r = judge(t, items[i]);
		if (r == 0)
			retention_has_reader(&t->retention);
		else if (r != ARCHIVE_E_ABSENT)
			tell_undecided(t, r, items[i]->verdict.capture);
		if (items[i]->result)
			*items[i]->result = r == 0 || r == ARCHIVE_E_ABSENT ? r : ARCHIVE_E_DAMAGED;
	}
}

static int flush_once(struct commit_thread *t, struct item **items, size_t n)
{
	uint64_t began = clock_mono();
	int r;

	if (only_marks(items, n)) {
		committed(t, items, n, 0);
		return 0;
	}
	archive_writer_level(t->w, level_for(t, has_capture(items, n)));
	r = transaction_write(&t->transaction, items, n);
	if (r != 0)
		return r;
	judge_all(t, items, n);
	set_archiving(t, true, "");
	tell_damage(t);
	committed(t, items, n, clock_mono() - began);
	return 0;
}

/*
 * Return why the archive is full. A write beyond the limit of file sizes fails as if the disk were
 * full, because SIGXFSZ is ignored.
 */
static const char *full_sentence(void)
{
	if (space_is_limited())
		return "the disk is full, or the archive has reached the size limit of files (LimitFSIZE=, ulimit -f); "
		       "raise "
		       "that limit, delete captures or files, or lower the quotas";
	return "the disk is full; delete captures or files, or lower the quotas";
}

/* Commit ITEMS. While the disk is full, try again until there is room. Return 0 or -errno. */
static int flush(struct commit_thread *t, struct item **items, size_t n)
{
	for (unsigned tries = 0;; tries++) {
		bool may = (tries == 0 && !t->retention.full) || retention_make_room(&t->retention);
		int r = may ? flush_once(t, items, n) : ARCHIVE_E_FULL;

		if (r != ARCHIVE_E_FULL)
			return r;
		set_archiving(t, false, full_sentence());
		if (queue_closed(t->queue) && tries > 2)
			return -ENOSPC;
		if (tries)
			clock_sleep(FULL_RETRY_NS);
	}
}

/* The report of damage of ITEM could not be checked, because of R. */
static void tell_unrepaired(struct commit_thread *t, int r, const struct item *item)
{
	char where[160];

	snprintf(where, sizeof(where), "stream=%lld sequence=%llu capture=%lld%s%s", (long long)item->damage.stream,
		 (unsigned long long)item->damage.sequence, (long long)item->damage.capture,
		 *item->damage.table ? " table=" : "", item->damage.table);
	tell_failure(t, &t->damages, r,
		     r == -EBADMSG ? "The archive's file is damaged; mprofd --fsck saves what is whole"
				   : "A report of damage cannot be checked",
		     where);
}

/*
 * Check the place at which a reader met damage. This is a transaction of its own, because SQLite
 * itself may fail there, and the archive must go on.
 */
static void repair(struct commit_thread *t, struct item *item)
{
	bool damaged = false;
	int r = *item->damage.table
			? row_sums_check_row(t->w, item->damage.table, (int64_t)item->damage.sequence, &damaged)
			: archive_writer_repair(t->w, item->damage.stream, item->damage.sequence, item->damage.capture,
						&damaged);

	if (r != 0 && r != ARCHIVE_E_ABSENT)
		tell_unrepaired(t, r, item);
	if (item->result)
		*item->result = r < 0 ? ARCHIVE_E_DAMAGED : r ? r : damaged ? 0 : ARCHIVE_E_ABSENT;
}

/* Handle the reports of damage among ITEMS, equal ones only once. */
static void repair_all(struct commit_thread *t, struct item **items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct item *first = NULL;

		if (items[i]->kind != ITEM_DAMAGE)
			continue;
		for (size_t j = 0; j < i && !first; j++)
			if (items[j]->kind == ITEM_DAMAGE && items[j]->result &&
			    strcmp(items[j]->damage.table, items[i]->damage.table) == 0 &&
			    items[j]->damage.stream == items[i]->damage.stream &&
			    items[j]->damage.sequence == items[i]->damage.sequence &&
			    items[j]->damage.capture == items[i]->damage.capture)
				first = items[j];
		if (!first)
			repair(t, items[i]);
		else if (items[i]->result)
			*items[i]->result = *first->result;
	}
}

static int work(struct commit_thread *t, struct item *list)
{
	CLEANUP(freep) struct item **items = NULL;
	size_t n = 0;
	int r = 0;

	for (struct item *i = list; i; i = i->next)
		n++;
	items = calloc(n, sizeof(*items));
	if (!items)
		r = -ENOMEM;
	n = 0;
	for (struct item *i = list; i && items; i = i->next) {
		if (i->kind == ITEM_RUN)
			retention_add_guest(&t->retention, i->run.name);
		items[n++] = i;
	}
	if (items) {
		repair_all(t, items, n);
		transaction_sort(items, n);
		r = flush(t, items, n);
	}
	while (list) {
		struct item *next = list->next;

		queue_item_free(t->queue, list);
		list = next;
	}
	return r;
}

/* ---- the outbox ------------------------------------------------------------------------------ */

static enum archive_send send_of(const void *context, const char *name)
{
	switch (config_policy(context, name).send) {
	case SEND_CAPTURES:
		return ARCHIVE_SEND_CAPTURES;
	case SEND_ALL:
		return ARCHIVE_SEND_ALL;
	case SEND_NOTHING:
		break;
	}
	return ARCHIVE_SEND_NOTHING;
}

/* Log losses of the outbox since the last call. */
static void tell_outbox_losses(struct commit_thread *t, const struct archive_outbox *now)
{
	const struct archive_outbox *then = &t->state.outbox;

	if (now->damaged != then->damaged)
		log_write_limited(&t->unsent, LOG_LEVEL_WARNING, NULL,
				  "Rows of the outbox were damaged or missing: rows=%llu. Captures that the hub lacks "
				  "are found and sent again; losses among the rows are not declared",
				  (unsigned long long)(now->damaged - then->damaged));
	if (now->lost_packets == then->lost_packets && now->lost_captures == then->lost_captures)
		return;
	log_write_limited(
		&t->unsent, LOG_LEVEL_WARNING, NULL,
		"Quotas or deletions took bytes that were not sent to the hub yet: packets=%llu captures=%llu",
		(unsigned long long)(now->lost_packets - then->lost_packets),
		(unsigned long long)(now->lost_captures - then->lost_captures));
}

/* Note which captures were begun until NOW. */
static void note_captures(struct commit_thread *t, uint64_t now)
{
	int64_t run, stream;

	t->noted_at = now;
	(void)archive_writer_last_ids(t->w, &run, &stream, &t->noted);
}

/* Send captures that were begun UNFINISHED_NS ago or earlier, finished or not. */
static void finish_old(struct commit_thread *t, uint64_t now)
{
	int r;

	if (now - t->noted_at < UNFINISHED_NS)
		return;
	r = archive_writer_finish_old(t->w, t->noted);
	if (r != 0)
		tell_failure(t, &t->unchecked, r, "Captures that were never finished cannot be sent to the hub", "");
	note_captures(t, now);
}

/* Count the outbox, log what is new, and tell the loop. Return whether that succeeded. */
static bool outbox_count(struct commit_thread *t)
{
	struct archive_outbox outbox;

	if (archive_writer_outbox(t->w, &outbox) != 0)
		return false;
	if (t->counted)
		tell_outbox_losses(t, &outbox);
	if (memcmp(&outbox, &t->state.outbox, sizeof(outbox)) == 0)
		return true;
	pthread_mutex_lock(&t->mutex);
	t->state.outbox = outbox;
	pthread_mutex_unlock(&t->mutex);
	tell(t);
	return true;
}

/*
 * Send captures that never came to their end, for instance because mprofd was killed meanwhile, and
 * check and count the outbox; each OUTBOX_NS, if the configuration sends anything.
 */
static void outbox_run(struct commit_thread *t)
{
	uint64_t now = clock_mono();
	int r;

	if (!t->sends || now - t->outbox_at < OUTBOX_NS || t->retention.full)
		return;
	t->outbox_at = now;
	finish_old(t, now);
	if (!t->counted)
		t->counted = outbox_count(t); /* what a check finds is damage since then */
	if (t->outbox_checked_at == 0 || now - t->outbox_checked_at >= OUTBOX_CHECK_NS) {
		t->outbox_checked_at = now;
		r = archive_writer_check_outbox(t->w);
		if (r != 0)
			tell_failure(t, &t->unchecked, r, "The rows of the outbox cannot be checked", "");
	}
	(void)outbox_count(t);
}

/*
 * Check the rows of runs, streams, gaps and captures each ROWS_CHECK_NS, some at a time, because the collector waits meanwhile. The first
 * check was archive_writer_resume()'s.
 */
static void rows_run(struct commit_thread *t)
{
	uint64_t now = clock_mono();
	int r;

	if (t->rows_checked_at == 0)
		t->rows_checked_at = now;
	if (t->retention.full || (!row_walk_goes_on(&t->rows) && now - t->rows_checked_at < ROWS_CHECK_NS))
		return;
	r = row_sums_step(t->w, &t->rows);
	if (r != 0) /* the check goes on with the next table */
		tell_failure(t, &t->unchecked, r, "The rows of runs, streams, gaps and captures cannot be checked", "");
	if (!row_walk_goes_on(&t->rows))
		t->rows_checked_at = now;
}

static void outbox_begin(struct commit_thread *t)
{
	note_captures(t, clock_mono());
	t->sends = config_sends(t->config);
	(void)archive_writer_send(t->w, t->sends ? send_of : NULL, t->config);
}

static void tell_unchecked(struct commit_thread *t)
{
	bool unchecked;

	if (archive_writer_unchecked(t->w, &unchecked) == 0 && unchecked)
		log_info("The archive has rows from an earlier version, without checksums; mprofd --fsck gives them "
			 "some");
}

/* Log deletions, and copy what metrics need. */
static void tell_retention(struct commit_thread *t)
{
	const struct age *age = archive_writer_age(t->w);

	deletion_log_run(&t->deletions, archive_writer_deletions(t->w), "captures", clock_mono());
	pthread_mutex_lock(&t->mutex);
	t->state.deleted = t->deletions.totals;
	t->state.clock.steps = age->steps;
	t->state.clock.step = age->step;
	t->state.clock.age = age->now;
	t->state.clock.step_age = age->step_age;
	t->state.clock.damaged = age->damaged;
	t->state.clock.real = age->last.real;
	t->state.clock.is_synchronised = age->last.is_synchronised;
	pthread_mutex_unlock(&t->mutex);
}

static void *commit_thread_run(void *context)
{
	struct commit_thread *t = context;

	pthread_setname_np(pthread_self(), "commit-thread");
	retention_init(&t->retention, t->w, t->config);
	tell_unchecked(t);
	outbox_begin(t);
	for (;;) {
		uint64_t latest = t->config->flush_interval_ns;
		uint64_t interval = t->retention.scarce && latest > SCARCE_NS ? SCARCE_NS : latest;
		struct item *list = queue_take(t->queue, FLUSH_BYTES, interval, NS_PER_S);
		int r;

		if (!list && queue_closed(t->queue))
			return NULL;
		r = list ? work(t, list) : 0;
		if (r) {
			fail(t, r);
			return NULL;
		}
		retention_run(&t->retention);
		tell_retention(t);
		outbox_run(t);
		rows_run(t);
	}
}

int commit_thread_start(struct commit_thread **tp, struct archive_writer **w, struct queue *queue,
			const struct config *config, int wake)
{
	struct commit_thread *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = transaction_init(&t->transaction, *w);
	if (r < 0) {
		free(t);
		return r;
	}
	pthread_mutex_init(&t->mutex, NULL);
	t->undecided.burst = UNDECIDED_LINES;
	t->state.archiving = true;
	t->queue = queue;
	t->config = config;
	t->wake = wake;
	t->w = *w;
	t->state.lost_commits = archive_writer_store(t->w)->lost_commits;
	r = -pthread_create(&t->thread, NULL, commit_thread_run, t);
	if (r) {
		transaction_deinit(&t->transaction);
		free(t);
		return r;
	}
	*w = NULL;
	*tp = t;
	return 0;
}

struct commit_thread *commit_thread_stop(struct commit_thread *t)
{
	if (!t)
		return NULL;
	queue_close(t->queue);
	pthread_join(t->thread, NULL);
	deletion_log_end(&t->deletions, "captures");
	archive_writer_free(t->w);
	retention_deinit(&t->retention);
	transaction_deinit(&t->transaction);
	pthread_mutex_destroy(&t->mutex);
	free(t);
	return NULL;
}

void commit_thread_state(struct commit_thread *t, struct commit_thread_state *state)
{
	pthread_mutex_lock(&t->mutex);
	*state = t->state;
	pthread_mutex_unlock(&t->mutex);
}
