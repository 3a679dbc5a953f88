#include "limits.h"

/* Count in two windows, a second and a minute. A window begins again when it is over. */
bool rate_limit_take(struct rate_limit *rate_limit, uint64_t now)
{
	if (now - rate_limit->second >= NS_PER_S) {
		rate_limit->second = now;
		rate_limit->in_second = 0;
	}
	if (now - rate_limit->minute >= 60 * NS_PER_S) {
		rate_limit->minute = now;
		rate_limit->in_minute = 0;
	}
	return ++rate_limit->in_second <= RATE_PER_SECOND && ++rate_limit->in_minute <= RATE_PER_MINUTE;
}

static uint64_t large(uint64_t pages)
{
	return pages > ALLOWANCE_SMALL ? pages - ALLOWANCE_SMALL : 0;
}

bool allowance_take(struct allowance *allowance, uint64_t has, uint64_t pages)
{
	uint64_t before = large(has), after = large(has + pages), others = allowance->large - before;
	uint64_t half = allowance->limit / 2;

	if (pages > allowance->limit || allowance->used > allowance->limit - pages)
		return false;
	if (after > before && (others > half || after > (half - others) / 2))
		return false;
	allowance->used += pages;
	allowance->large = others + after;
	return true;
}

void allowance_give(struct allowance *allowance, uint64_t has, uint64_t pages)
{
	allowance->used -= pages;
	allowance->large -= large(has) - large(has - pages);
}
