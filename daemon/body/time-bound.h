/* Compute the latest time that an event of a tail can have. */
#ifndef BODY_TIME_BOUND_H
#define BODY_TIME_BOUND_H

#include "reader.h"

/*
 * The last proven event before a tail: it ends at the offset END of packet SEQUENCE. With END 0 it is not proven; with
 * TIMESTAMP 0 there is none.
 */
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

/*
 * Return the earliest time of an event behind the event of the time NEWEST, in a packet whose first event has the time
 * FIRST. If NEWEST is earlier than FIRST, the guest's clock was set back in this packet.
 */
static inline uint64_t time_bound_not_before(uint64_t first, uint64_t newest)
{
	return newest < first ? newest : first;
}

#endif
