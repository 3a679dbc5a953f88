/* Limits of a guest: how often its keys may change, and how many of its pages may be mapped. */
#ifndef XEN_LIMITS_H
#define XEN_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

#define RATE_PER_SECOND \
	400u /* limit of changes in a second; 64 streams with five keys each, published at once, make 320 */
#define RATE_PER_MINUTE 1000u		/* limit of changes in a minute */
#define RATE_IGNORE_NS	(60 * NS_PER_S) /* time for which a guest's keys are ignored */

struct rate_limit {
	uint64_t second, minute;       /* begin of the current second and minute, CLOCK_MONOTONIC ns */
	unsigned in_second, in_minute; /* changes since then */
};

/*
 * Count a change of a key. Return false if the guest has reached a limit: the caller ignores its
 * keys for RATE_IGNORE_NS.
 */
bool rate_limit_take(struct rate_limit *rate_limit, uint64_t now);

/*
 * The number of guest pages that may be mapped. Block and network back ends use the same maptrack
 * table of dom0, so the traces of guests must never fill it.
 *
 * LIMIT pages may be mapped over all guests. The first ALLOWANCE_SMALL pages of each guest (small
 * pages) may use the whole limit. All further pages (large pages) may use half of the limit, and
 * one guest's large pages may use half of what is free of that half. So a few guests with huge
 * rings leave room for many guests with ordinary rings.
 */
#define ALLOWANCE_SMALL 256u /* pages: 1 MiB */

struct allowance {
	uint64_t limit; /* limit over all guests, in pages */
	uint64_t used;	/* pages that are mapped */
	uint64_t large; /* mapped pages beyond the first ALLOWANCE_SMALL of each guest */
};

/*
 * Count PAGES more pages for a guest that has HAS pages mapped. Return false if the limits do not
 * allow it; nothing is counted then.
 */
bool allowance_take(struct allowance *allowance, uint64_t has, uint64_t pages);
/* Take off PAGES of a guest that has HAS pages mapped. */
void allowance_give(struct allowance *allowance, uint64_t has, uint64_t pages);

#endif
