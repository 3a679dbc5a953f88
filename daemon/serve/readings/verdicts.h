/*
 * Verdicts on captures of the kind `unread`: the collector is told (schema/control.md, judge-capture) whether the main
 * thread of the guest failed, as readers found. A capture that could not be read, or whose end hides whether it failed, is not told:
 * the collector decides on it by its age.
 *
 * Nothing is kept here but a place in the archive's list, and what waits for an answer. As long as the archive has such a capture, it
 * is told again, when the collector has answered, or is connected again. Few wait at a time, because the collector allows a client 64
 * orders, and people's are among them.
 */
#ifndef SERVE_VERDICTS_H
#define SERVE_VERDICTS_H

#include "notice.h"
#include "readings.h"

#define VERDICTS_OPEN 16u /* captures that were told and not answered yet, at most */

struct verdict_told {
	uint64_t tag;
	int64_t capture;
};

/* Zeroed but for the three objects, which are borrowed, it is ready. */
struct verdicts {
	struct reader *reader;
	struct readings *readings;
	struct notice *collector;
	int64_t after; /* the last capture that was looked at; 0 = begin with the oldest */
	struct verdict_told open[VERDICTS_OPEN];
	unsigned n_open;
};

/* Look at the next few captures: have them read, or tell what was found. Call it about once a second. */
void verdicts_tick(struct verdicts *v);
/* The collector has answered the request with TAG. Return false if that is none of V. */
bool verdicts_answer(struct verdicts *v, uint64_t tag);
/* The connection is lost: nothing that was told gets an answer. */
void verdicts_lost(struct verdicts *v);

#endif
