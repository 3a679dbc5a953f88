/*
 * The rate is taken over windows of the limit's seconds, one behind the other; the first begins with the first byte.  Single pauses of an honest link do
 * not matter, and a byte now and then does not keep a window from being too slow.
 */
#include "rate.h"

void rate_add(struct rate *r, size_t n)
{
	if (!r->began)
		r->waited_ms = 0;
	r->began = true;
	r->bytes += n;
}

enum rate_verdict rate_wait(struct rate *r, uint64_t ms)
{
	uint64_t bytes = r->bytes;

	if (r->unending && (r->in_body || !r->began))
		return RATE_OK;
	r->waited_ms += ms;
	if (r->waited_ms < r->limits->seconds * 1000)
		return RATE_OK;
	r->waited_ms = r->bytes = 0;
	if (!bytes)
		return RATE_SILENT;
	return r->unending || bytes < r->limits->rate * r->limits->seconds ? RATE_SLOW : RATE_OK;
}
