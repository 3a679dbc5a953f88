/* How late an event of a tail can be. */
#ifndef SERVE_TIME_BOUND_H
#define SERVE_TIME_BOUND_H

#include "reader.h"

/* The last event that is proven: it ends at END of packet SEQUENCE. */
struct time_bound_event {
	int64_t stream;
	uint64_t sequence;
	uint32_t end;
	uint64_t timestamp;
};

/*
 * NOT_AFTER is the latest guest time that an event has which lies behind NEWEST and was copied by CAPTURE; UINT64_MAX where the archive does not show it.
 * Returns what the reader returns.
 */
int time_bound_not_after(struct reader *r, const struct time_bound_event *newest, int64_t capture, uint64_t *not_after);

#endif
