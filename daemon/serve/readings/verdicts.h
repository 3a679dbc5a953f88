/*
 * Verdicts on captures of the kind `unread`: the collector is told (schema/control.md, judge-capture) whether the main
 * thread of the guest failed, as readers found. A capture that could not be read, or whose end hides whether it failed, is not told:
 * the collector decides on it by its age.
 *
 * Nothing is kept here but a place in the archive's list: as long as the archive has such a capture, it is told again.
 */
#ifndef SERVE_VERDICTS_H
#define SERVE_VERDICTS_H

#include "notice.h"
#include "readings.h"

/* Zeroed but for the three objects, which are borrowed, it is ready. */
struct verdicts {
	struct reader *reader;
	struct readings *readings;
	struct notice *collector;
	int64_t after; /* the last capture that was looked at; 0 = begin with the oldest */
};

/* Look at the next few captures: have them read, or tell what was found. Call it about once a second. */
void verdicts_tick(struct verdicts *v);

#endif
