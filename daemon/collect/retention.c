/*
 * Decide when the archive deletes its oldest packets, and how many: to keep quotas, and to keep
 * room on the disk.
 *
 * Between two checks guests can fill the disk as fast as they write. So the room is checked after
 * each transaction, and quotas every few seconds.
 *
 * Deletion itself needs room: every change goes to the write-ahead log first, and the whole log
 * must be copied into the database file before any of that room is free again. A reserve file holds
 * that room; it is deleted when the disk is full. Until the reserve file exists again, nothing but
 * deletions is written. New bytes would take its room, and no deletion would be possible after
 * that.
 *
 * Deletion waits for readers that have just begun at the oldest packets; otherwise a guest that is
 * always at its quota could never be read. It waits for PATIENCE_NS at most, because readers may
 * come all the time, and not at all if room is short.
 */
#include "retention.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "space.h"
#include "store.h"

#define KEEP_NS	     (5 * NS_PER_S)
#define NAMES_MAX    8192u
#define NAMES_STEP   64u
#define DELETE_BATCH 64u
#define BATCHES_KEEP 16u	     /* batches per call; more packets than a flush adds, even of the smallest */
#define BATCHES_ROOM 256u	     /* batches per call while nothing can be written */
#define DROP_MOST    8u		     /* captures that waited for a verdict in vain, per call */
#define PATIENCE_NS  (10 * NS_PER_S) /* time for which deletion waits for readers */
#define VACUUM_BYTES ((uint64_t)256 << 16)

void retention_add_guest(struct retention *retention, const char *name)
{
	char **names;

	for (size_t i = 0; i < retention->n_names; i++)
		if (strcmp(retention->names[i], name) == 0)
			return;
	/*
	 * A guest that changes its name endlessly pushes out the oldest names. The limit of the
	 * whole archive covers their data.
	 */
	if (retention->n_names == NAMES_MAX) {
		free(retention->names[0]);
		memmove(retention->names, retention->names + 1, --retention->n_names * sizeof(*retention->names));
	}
	names = realloc(retention->names, (retention->n_names + 1) * sizeof(*names));
	if (!names)
		return;
	retention->names = names;
	retention->names[retention->n_names] = strdup(name);
	if (retention->names[retention->n_names])
		retention->n_names++;
}

/* For archive_writer_resume(): guests that have ended have quotas, too. */
static int know_resumed(void *context, const struct archive_resume *resume)
{
	retention_add_guest(context, resume->name);
	return 0;
}

void retention_init(struct retention *retention, struct archive_writer *w, const struct config *config)
{
	*retention = (struct retention){.w = w, .config = config};
	archive_writer_resume(w, know_resumed, retention);
	retention->full = space_restore_reserve(archive_writer_store(w)) != 0;
}

void retention_deinit(struct retention *retention)
{
	for (size_t i = 0; i < retention->n_names; i++)
		free(retention->names[i]);
	free(retention->names);
	*retention = (struct retention){0};
}

/* Return whether R says that nothing can be deleted now, and that room or time changes that. */
static bool is_passing(int r)
{
	return r == ARCHIVE_E_FULL || r == ARCHIVE_E_BUSY;
}

/* Log that the limits of the guest NAME, or of the archive (NULL), cannot be kept, if R says that the archive failed. Return R. */
static int tell(struct retention *retention, const char *name, int r)
{
	char cause[256];

	if (r == 0 || is_passing(r))
		return r;
	store_explain(archive_writer_store(retention->w), r, cause, sizeof(cause));
	log_write_limited(&retention->failures, LOG_LEVEL_ERROR, name,
			  "The oldest content cannot be deleted from the archive; mprofd --fsck saves what is whole: "
			  "%s",
			  cause);
	return r;
}

/* ---- room ------------------------------------------------------------------------------------ */

static bool has_room(struct retention *retention, uint64_t want)
{
	uint64_t has;

	return space_free(archive_writer_store(retention->w), &has) == 0 && has >= want;
}

/*
 * Return whether rows may be deleted now: no reader has just begun, or PATIENCE_NS is over. Call
 * end_deleting() afterwards.
 */
static bool begin_deleting(struct retention *retention)
{
	uint64_t now = clock_mono();

	if (archive_writer_begin_deleting(retention->w)) {
		retention->blocked_since = 0;
		return true;
	}
	retention->blocked_since = retention->blocked_since ? retention->blocked_since : now;
	return now - retention->blocked_since >= PATIENCE_NS;
}

/*
 * End a deletion. DONE: there was nothing more to delete, so the next deletion waits for readers
 * anew.
 */
static void end_deleting(struct retention *retention, bool done)
{
	archive_writer_end_deleting(retention->w);
	if (done)
		retention->blocked_since = 0;
}

/*
 * For space_make() and space_delete_until(): delete a batch of the oldest packets of all guests.
 * Return as archive_writer_make_room().
 */
static int delete_packets(void *context, uint64_t want, bool *more)
{
	struct retention *retention = context;

	(void)want;
	return tell(retention, NULL, archive_writer_make_room(retention->w, DELETE_BATCH, more));
}

bool retention_make_room(struct retention *retention)
{
	uint64_t want = config_smallest_space(retention->config);

	retention->full =
		!space_make(archive_writer_store(retention->w), want, BATCHES_ROOM, delete_packets, retention);
	return !retention->full;
}

/* ---- quotas ---------------------------------------------------------------------------------- */

/* Return the limit on the age clock for content that is AGE_NS old; 0 = no limit. */
static uint64_t before(const struct retention *retention, uint64_t age_ns)
{
	return age_before(archive_writer_age(retention->w), age_ns);
}

/* Delete what exceeds BYTES and AGE_NS of the guest NAME, NULL = of all. *SOME: more must be deleted. Return as archive_writer_enforce(). */
static int keep_limits(struct retention *retention, const char *name, uint64_t bytes, uint64_t age_ns, bool *some)
{
	bool more = false;
	int r = archive_writer_enforce(retention->w, name, bytes, before(retention, age_ns), DELETE_BATCH, &more);

	*some |= r == 0 && more;
	return tell(retention, name, r);
}

/*
 * Delete what exceeds the quotas of the next NAMES_STEP guests, and of the archive. Return whether
 * more must be deleted.
 */
static bool keep_quotas(struct retention *retention)
{
	const struct config *c = retention->config;
	bool some = false;

	for (size_t i = 0; i < retention->n_names && i < NAMES_STEP; i++) {
		const char *name = retention->names[retention->next_name++ % retention->n_names];
		struct policy policy = config_policy(c, name);
		int r = 0;

		if (policy.bytes || policy.age_ns)
			r = keep_limits(retention, name, policy.bytes, policy.age_ns, &some);
		if (is_passing(r))
			break;
	}
	if (c->archive_bytes || c->archive_age_ns)
		(void)keep_limits(retention, NULL, c->archive_bytes, c->archive_age_ns, &some);
	return some;
}

/* If less than the configured room is free, delete the oldest packets before the disk is full. */
static void keep_room(struct retention *retention)
{
	uint64_t want = config_free_space(retention->config), has = 0;
	bool more = true;

	if (clock_mono() - retention->empty_since < KEEP_NS ||
	    (space_give_back(archive_writer_store(retention->w), want, &has) == 0 && has >= want))
		return;
	if (!begin_deleting(retention) && has >= want / 2)
		return;
	if (space_delete_until(archive_writer_store(retention->w), want, BATCHES_KEEP, delete_packets, retention,
			       &more) == ARCHIVE_E_FULL)
		retention_make_room(retention);
	if (!more)
		retention->empty_since = clock_mono();
	end_deleting(retention, !more || has_room(retention, want));
}

/* Log once how many captures waited for a verdict in vain. */
static void tell_dropped(struct retention *retention)
{
	if (retention->dropped && !retention->told_unread) {
		log_write_limited(
			&retention->unjudged, LOG_LEVEL_WARNING, NULL,
			"mprofd-http gave no verdict on guests that ended in order, so their captures are deleted, and "
			"nobody knows whether they failed: captures=%llu. Either mprofd-http.service is off, or its "
			"reader cannot run, or could not read them, as its log says, or damage hides how they ended. "
			"See keep-unread in mprofd.conf(5)",
			(unsigned long long)retention->dropped);
		retention->told_unread = true;
	}
	retention->dropped = 0;
}

/*
 * Delete captures that have waited too long for a verdict of mprofd-http, some at a time. Without its reader, by the
 * configuration, nothing waits. Return whether others are to be tried.
 */
static bool drop_unread(struct retention *retention)
{
	const uint64_t keep = config_keep_unread(retention->config);
	unsigned dropped = 0;
	/* age_before() takes 0 for no limit. */
	int r = archive_writer_drop_unread(retention->w, before(retention, keep ? keep : 1), DROP_MOST,
					   &retention->unread, &dropped);

	retention->dropped += keep ? dropped : 0;
	if (tell(retention, NULL, r) != 0)
		return false;
	if (retention->unread == 0)
		tell_dropped(retention);
	return retention->unread != 0;
}

void retention_has_reader(struct retention *retention)
{
	retention->told_unread = false;
}

void retention_run(struct retention *retention)
{
	bool more;

	archive_writer_run_age(retention->w, !retention->full);
	keep_room(retention);
	retention->scarce = !has_room(retention, config_free_space(retention->config));
	if (clock_mono() - retention->checked_at < KEEP_NS || !begin_deleting(retention))
		return;
	more = drop_unread(retention);
	more = keep_quotas(retention) || more;
	end_deleting(retention, !more);
	if (!more)
		retention->checked_at = clock_mono();
	if (has_room(retention, config_free_space(retention->config)))
		space_restore_reserve(archive_writer_store(retention->w));
	space_vacuum(archive_writer_store(retention->w), VACUUM_BYTES, &more);
}
