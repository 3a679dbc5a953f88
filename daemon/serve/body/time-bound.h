/* Compute the latest time that an event of a tail can have. */
#ifndef SERVE_TIME_BOUND_H
#define SERVE_TIME_BOUND_H

#include "reader.h"

/* The last proven event: it ends at the offset END of packet SEQUENCE. */
struct time_bound_event {
	int64_t stream;
	uint64_t sequence;
	uint32_t end;
	uint64_t timestamp;
};

/*
 * Set *NOT_AFTER to the latest guest time that an event behind NEWEST in the tail of CAPTURE can
 * have, or to UINT64_MAX if that is unknown. Return what the reader returns.
 */
int time_bound_not_after(struct reader *r, const struct time_bound_event *newest, int64_t capture, uint64_t *not_after);

#endif
