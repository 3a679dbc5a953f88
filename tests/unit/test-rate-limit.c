/* The limit on how fast a guest may change its keys. */
#include "check.h"
#include "limits.h"

int main(void)
{
	struct rate_limit rate_limit = {0};
	uint64_t now = 100 * NS_PER_S;
	unsigned n;

	/* A burst. */
	for (n = 0; rate_limit_take(&rate_limit, now + n); n++)
		;
	CHECK_EQ_INT(n, RATE_PER_SECOND);
	/* Below the limit per second, above the limit per minute. */
	rate_limit = (struct rate_limit){0};
	for (n = 0; rate_limit_take(&rate_limit, now + n * (NS_PER_S / 100)); n++)
		;
	CHECK_EQ_INT(n, RATE_PER_MINUTE);
	/* Slow enough, for ever. */
	rate_limit = (struct rate_limit){0};
	for (n = 0; n < 10000; n++)
		CHECK(rate_limit_take(&rate_limit, now + n * (NS_PER_S / 16)));
	/* After a pause the guest may burst again. */
	rate_limit = (struct rate_limit){0};
	for (n = 0; n <= RATE_PER_SECOND; n++)
		rate_limit_take(&rate_limit, now);
	CHECK(rate_limit_take(&rate_limit, now + RATE_IGNORE_NS));
	return check_done();
}
