/* How fast a guest changes its keys, and how long it is left alone when that is too fast. */
#ifndef COLLECT_PACE_H
#define COLLECT_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#define PACE_SECOND  400u  /* changes in a second: 64 streams of five keys published at once are not many */
#define PACE_MINUTE  1000u /* ... and in a minute */
#define PACE_REST_NS (60 * NS_PER_S)

struct pace {
	uint64_t second, minute; /* CLOCK_MONOTONIC ns when they began */
	unsigned in_second, in_minute;
};

/* A key was written.  False: too many; leave the guest alone for PACE_REST_NS. */
bool pace_change(struct pace *pace, uint64_t now);

#endif
