/*
 * How many pages of guests may be mapped: dom0's maptrack table is shared with block and network back ends, and a guest must not be able to
 * take what others need.
 *
 * All guests together have a limit.  The first ALLOWANCE_SMALL pages of each are taken from the whole of it; what a guest has beyond these
 * comes from half of it alone, and one guest may have at most half of what the others leave of that half.  So some guests with huge rings
 * leave room for many with ordinary ones.
 */
#ifndef COLLECT_ALLOWANCE_H
#define COLLECT_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#define ALLOWANCE_SMALL 256u /* pages: 1 MiB */

struct allowance {
	uint64_t limit; /* pages */
	uint64_t used;
	uint64_t large; /* of these, beyond the first ones of each guest */
};

/* May a guest that has HAS pages map PAGES more?  Then they are its own. */
bool allowance_take(struct allowance *allowance, uint64_t has, uint64_t pages);
/* A guest that has HAS pages gives back PAGES of them. */
void allowance_give(struct allowance *allowance, uint64_t has, uint64_t pages);

#endif
