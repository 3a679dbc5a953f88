/* The limit on the number of changes that a guest makes to its XenStore keys. */
#include "check.h"
#include "limits.h"

int main(void)
{
	struct rate_limit rate_limit = {0};
	uint64_t now = 100 * NS_PER_S;
	unsigned n;

	/* A burst is limited to RATE_PER_SECOND. */
	for (n = 0; rate_limit_take(&rate_limit, now + n); n++)
		;
	CHECK_EQ_INT(n, RATE_PER_SECOND);
	/* The rate is below the limit per second and above the limit per minute. */
	rate_limit = (struct rate_limit){0};
	for (n = 0; rate_limit_take(&rate_limit, now + n * (NS_PER_S / 100)); n++)
		;
	CHECK_EQ_INT(n, RATE_PER_MINUTE);
	/* A rate below both limits is allowed for ever. */
	rate_limit = (struct rate_limit){0};
	for (n = 0; n < 10000; n++)
		CHECK(rate_limit_take(&rate_limit, now + n * (NS_PER_S / 16)));
	/* After a pause another burst is allowed. */
	rate_limit = (struct rate_limit){0};
	for (n = 0; n <= RATE_PER_SECOND; n++)
		rate_limit_take(&rate_limit, now);
	CHECK(rate_limit_take(&rate_limit, now + RATE_IGNORE_NS));
	return check_done();
}
