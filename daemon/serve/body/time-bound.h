/* Bound the time of the events of a tail. */
#ifndef SERVE_TIME_BOUND_H
#define SERVE_TIME_BOUND_H

#include "reader.h"

/* The last proven event: it ends at END of packet SEQUENCE. */
struct time_bound_event {
	int64_t stream;
	uint64_t sequence;
	uint32_t end;
	uint64_t timestamp;
};

/*
 * Find *NOT_AFTER, the latest guest time of an event behind NEWEST that CAPTURE copied; UINT64_MAX
 * if the archive does not tell. Return what the reader returns.
 */
int time_bound_not_after(struct reader *r, const struct time_bound_event *newest, int64_t capture, uint64_t *not_after);

#endif
