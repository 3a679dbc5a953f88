/*
 * What goes from the archive, and when: quotas of guests, of the whole archive, and room on the disk.
 *
 * Of the archivist's thread alone, between its transactions.  Each call deletes a little, so that commits do not wait long.
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
	char **names; /* guests whose quotas are looked after */
	size_t n_names, next_name;
	uint64_t kept; /* CLOCK_MONOTONIC ns of the last look at quotas that found nothing left to do */
	bool full; /* there is no room, or the reserve is given up: nothing may be written before retention_make_room() says so */
	uint64_t held; /* since when readers hold deletion back; 0 = they do not */
	uint64_t bare; /* when nothing was left to delete though there was no room */
};

/* W and CONFIG are borrowed.  The guests that the archive has are known from then on. */
void retention_init(struct retention *h, struct archive_writer *w, const struct config *config);
void retention_deinit(struct retention *h);

/* From now on the quota of guest NAME is looked after. */
void retention_add_guest(struct retention *h, const char *name);

/* After each transaction, and once in a while without one: delete what is too much. */
void retention_run(struct retention *h);

/*
 * After ARCHIVE_E_FULL: delete oldest packets until there is room again, with the room of the reserve.  True: the reserve is back, and there is
 * room for another transaction; false: not yet, call again after a while.  FULL says the same.
 */
bool retention_make_room(struct retention *h);

#endif
