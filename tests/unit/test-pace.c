/* How fast a guest may change its keys. */
#include "check.h"
#include "limits.h"

int main(void)
{
	struct pace pace = {0};
	uint64_t now = 100 * NS_PER_S;
	unsigned n;

	/* A burst. */
	for (n = 0; pace_change(&pace, now + n); n++)
		;
	CHECK_EQ_INT(n, PACE_SECOND);
	/* Below the limit of a second, above that of a minute. */
	pace = (struct pace){0};
	for (n = 0; pace_change(&pace, now + n * (NS_PER_S / 100)); n++)
		;
	CHECK_EQ_INT(n, PACE_MINUTE);
	/* Slow enough, for ever. */
	pace = (struct pace){0};
	for (n = 0; n < 10000; n++)
		CHECK(pace_change(&pace, now + n * (NS_PER_S / 16)));
	/* After a rest it may begin anew. */
	pace = (struct pace){0};
	for (n = 0; n <= PACE_SECOND; n++)
		pace_change(&pace, now);
	CHECK(pace_change(&pace, now + PACE_REST_NS));
	return check_done();
}
