/*
 * The limits of a guest: how fast it may change its keys, and how many of its pages may be mapped.
 */
#ifndef XEN_LIMITS_H
#define XEN_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#define RATE_PER_SECOND 400u  /* changes in a second: 64 streams of five keys published at once are few */
#define RATE_PER_MINUTE 1000u /* changes in a minute */
#define RATE_IGNORE_NS	(60 * NS_PER_S)

struct rate_limit {
	uint64_t second, minute; /* CLOCK_MONOTONIC ns when they began */
	unsigned in_second, in_minute;
};

/*
 * Count a change of a key. Return false if there are too many: leave the guest alone for
 * RATE_IGNORE_NS.
 */
bool rate_limit_take(struct rate_limit *rate_limit, uint64_t now);

/*
 * Number of guest pages that may be mapped. Block and network back ends share dom0's maptrack
 * table, so a guest must not be able to take what others need.
 *
 * All guests together have a limit. The first ALLOWANCE_SMALL pages of each guest come out of the
 * whole of it. The other pages come out of half of it, and one guest may have at most half of what
 * the others leave of that half. So some guests with huge rings leave room for many with ordinary
 * ones.
 */
#define ALLOWANCE_SMALL 256u /* pages: 1 MiB */

struct allowance {
	uint64_t limit; /* pages */
	uint64_t used;
	uint64_t large; /* of these, past the first ones of each guest */
};

/* Let a guest that has HAS pages map PAGES more. Return false if it may not. */
bool allowance_take(struct allowance *allowance, uint64_t has, uint64_t pages);
/* Give back PAGES of a guest that has HAS pages. */
void allowance_give(struct allowance *allowance, uint64_t has, uint64_t pages);

#endif
