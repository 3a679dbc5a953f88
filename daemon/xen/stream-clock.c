/* Find the least bound of each minute, and use it in the next one. */
#include "stream-clock.h"

#include "clock.h"
#include "stream.h"

#define WINDOW_NS (60 * NS_PER_S) /* after this time the bound is replaced */
#define DRIFT	  500u		  /* two clocks drift apart by less than one in DRIFT */

/* Take in that OFFSET is an upper bound, with this UNCERTAINTY, found at NOW. */
static void bound(struct clock_bound *b, int64_t offset, uint64_t uncertainty, uint64_t now)
{
	if (!b->known || offset < b->offset)
		*b = (struct clock_bound){true, offset, uncertainty, now};
}

/* Replace the bound in use by the newer one, unless the older one is still better in spite of its age. */
static void window_turn(struct stream_clock *clock, uint64_t now)
{
	const struct clock_bound *old = &clock->now;

	if (now - clock->since < WINDOW_NS || clock->next.uncertainty > old->uncertainty + (now - old->at) / DRIFT)
		return;
	clock->now = clock->next;
	clock->next = (struct clock_bound){0};
	clock->since = now;
}

void stream_clock_poll(struct stream_clock *clock, const struct stream *stream, uint64_t now)
{
	const struct stream_stamp *stamp = &stream->stamp;
	int64_t offset;

	if (clock->stamps == stamp->number)
		return;
	if (stamp->stepped)
		*clock = (struct stream_clock){.steps = clock->steps + 1};
	clock->stamps = stamp->number;
	clock->since = clock->since ? clock->since : now;
	if (__builtin_sub_overflow(stamp->before, stamp->guest_ns, &offset))
		return; /* no clock is that far from dom0's */
	bound(&clock->now, offset, stamp->before - stamp->after, now);
	bound(&clock->next, offset, stamp->before - stamp->after, now);
	window_turn(clock, now);
}

const struct clock_bound *stream_clock_bound(const struct stream_clock *clock)
{
	return clock->now.known ? &clock->now : NULL;
}
