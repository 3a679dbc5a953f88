/*
 * Retention: delete from the archive by the quotas of guests, the quota of the whole archive, and
 * the room on the disk.
 *
 * Only the commit thread calls this, between its transactions. Each call deletes a little, so that
 * commits do not wait long.
 */
#ifndef COLLECT_RETENTION_H
#define COLLECT_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "writer.h"

struct retention {
	struct archive_writer *w;
	const struct config *config;
	char **names; /* guests that have a quota */
	size_t n_names, next_name;
	uint64_t checked_at; /* CLOCK_MONOTONIC ns of the last check of quotas that found nothing left to delete */
	bool full; /* there is no room, or the reserve is given up: write nothing before retention_make_room() returns true */
	uint64_t blocked_since; /* since when readers hold up deletion; 0 = they do not */
	uint64_t empty_since;	/* since when there is no room and nothing left to delete */
};

/* Initialise, with the guests that the archive has. Borrow W and CONFIG. */
void retention_init(struct retention *retention, struct archive_writer *w, const struct config *config);
void retention_deinit(struct retention *retention);

/* Apply the quota of guest NAME from now on. */
void retention_add_guest(struct retention *retention, const char *name);

/* Delete what is too much. Called after each transaction, and once in a while without one. */
void retention_run(struct retention *retention);

/*
 * Delete oldest packets until there is room again, with the room of the reserve. Called after
 * ARCHIVE_E_FULL. Return true if the reserve is back and there is room for another transaction;
 * false to be called again later. FULL says the same.
 */
bool retention_make_room(struct retention *retention);

#endif
