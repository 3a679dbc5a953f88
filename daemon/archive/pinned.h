/*
 * Runs of pinned captures whose ranges cannot be checked, because the file is damaged: any packet of such a run may be in one. Limits delete none of
 * them. Each check finds these captures anew. The list has 16 bytes for each, in memory alone.
 */
#ifndef ARCHIVE_PINNED_H
#define ARCHIVE_PINNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct archive_writer;

struct pinned_capture {
	int64_t run, capture;
};

/* A zeroed struct is empty, and its check is due. */
struct pinned {
	struct pinned_capture *list; /* sorted by run and capture */
	size_t n, room;
	uint64_t checked; /* CLOCK_MONOTONIC when all pinned captures were looked at, in ns; 0 = the check is due */
};

void pinned_deinit(struct pinned *p);

/* Return whether the ranges of pinned captures must be checked: each check reads all captures. */
bool pinned_is_due(const struct pinned *p);
/* Return whether no packet of RUN may be deleted. */
bool pinned_holds(const struct pinned *p, int64_t run);
/*
 * Check the ranges of all pinned captures, each in a transaction of its own, and write those again that lists have and the archive lacks. Log the
 * captures that cannot be checked, some at most and each once, and count them as damage. GUEST: the guest whose limit is kept; NULL = all. In an
 * open transaction the call fails with -EBADMSG at such a capture, the next one passes over it, and the check stays due. Return 0; -EBADMSG if captures cannot be looked for behind a place, and those that were held before are held yet; or
 * another error, and the list stays as it was.
 */
int pinned_check(struct archive_writer *w, const char *guest);

#endif
