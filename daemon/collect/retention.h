/*
 * Retention: delete packets from the archive by the quotas of guests, by the quota of the whole
 * archive, and by the room on the disk. Ages are those of the archive's age clock, which runs here.
 *
 * Only the commit thread calls these functions, between its transactions. A call deletes only a few
 * batches, so commits do not wait long.
 */
#ifndef COLLECT_RETENTION_H
#define COLLECT_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "log.h"
#include "writer.h"

struct retention {
	struct archive_writer *w;
	const struct config *config;
	char **names; /* names of the guests in the archive, each of which may have a quota */
	size_t n_names, next_name;
	uint64_t checked_at; /* last check of quotas that left nothing to delete, CLOCK_MONOTONIC ns */
	/*
	 * There is no room, or the reserve file is deleted: write nothing before
	 * retention_make_room() returns true.
	 */
	bool full;
	bool scarce;		/* there is less free space than the configuration wants */
	uint64_t blocked_since; /* since when readers delay deletion, CLOCK_MONOTONIC ns; 0 = none does */
	uint64_t empty_since;	/* since when there has been no room and nothing to delete, CLOCK_MONOTONIC ns */
	int64_t unread; /* the last capture of the kind `unread` that was tried by its age; 0 = begin with the oldest */
	struct log_limit failures; /* of lines that say that nothing can be deleted */
	uint64_t dropped;	   /* captures that waited for a verdict in vain, and that no line has counted */
	struct log_limit unjudged; /* of these lines */
	bool told_unread;	   /* the log says that captures waited for a verdict in vain */
};

/* Initialise RETENTION with the guests that the archive has. W and CONFIG are borrowed. */
void retention_init(struct retention *retention, struct archive_writer *w, const struct config *config);
void retention_deinit(struct retention *retention);

/* A verdict on a capture came: if captures wait in vain again, the log says so again. */
void retention_has_reader(struct retention *retention);

/* Apply the quota of the guest NAME from now on. NAME is copied. */
void retention_add_guest(struct retention *retention, const char *name);

/*
 * Delete packets beyond the quotas, and for room on the disk, and captures that have waited too long for a verdict. To be called after each transaction,
 * and every few seconds without one.
 */
void retention_run(struct retention *retention);

/*
 * To be called after a transaction failed with ARCHIVE_E_FULL, until it returns true. Delete the
 * oldest packets, with the reserve file's room, until there is room again. Return true if the
 * reserve file exists again and there is room for a transaction; FULL is then false.
 */
bool retention_make_room(struct retention *retention);

#endif
