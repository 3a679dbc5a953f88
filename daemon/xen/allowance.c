/* Pure bookkeeping; see allowance.h for the rule and what it is for. */
#include "allowance.h"

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
