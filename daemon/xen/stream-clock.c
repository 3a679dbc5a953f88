/* Bounds from the stamps of a stream. */
#include "stream-clock.h"

#include "clock.h"
#include "stream.h"

#define WINDOW_NS (60 * NS_PER_S) /* after this time the bounds are replaced */
/* How much less exact the new bounds may be, ns: two clocks drift apart by less in a window. */
#define DRIFT_NS (WINDOW_NS / 1000 * 2)

/* Return how far the bounds of CLOCK are apart, also if they contradict each other; UINT64_MAX = no bounds. */
static uint64_t apart(const struct mprof_clock *clock)
{
	if (!clock->bounded_above || !clock->bounded_below)
		return UINT64_MAX;
	return clock->most > clock->least ? (uint64_t)clock->most - (uint64_t)clock->least
					  : (uint64_t)clock->least - (uint64_t)clock->most;
}

static void bound(struct mprof_clock *clock, const struct stream_stamp *stamp)
{
	mprof_clock_before(clock, stamp->guest_ns, stamp->before);
	mprof_clock_after(clock, stamp->guest_ns, stamp->after);
}

void stream_clock_poll(struct stream_clock *clock, const struct stream *stream, uint64_t now)
{
	const struct stream_stamp *stamp = &stream->stamp;

	if (clock->stamps == stamp->number)
		return;
	if (stamp->stepped)
		*clock = (struct stream_clock){.steps = clock->steps + 1};
	clock->stamps = stamp->number;
	clock->since = clock->since ? clock->since : now;
	bound(&clock->now, stamp);
	bound(&clock->next, stamp);
	if (now - clock->since < WINDOW_NS)
		return;
	/* Keep better bounds, but not bounds that contradict each other because the clocks have drifted apart. */
	if (clock->now.most > clock->now.least && apart(&clock->next) > apart(&clock->now) + DRIFT_NS)
		return;
	clock->now = clock->next;
	clock->next = (struct mprof_clock){0};
	clock->since = now;
}

bool stream_clock_offset(const struct stream_clock *clock, int64_t *offset, uint64_t *uncertainty)
{
	*offset = clock->now.most;
	*uncertainty = apart(&clock->now);
	return *uncertainty != UINT64_MAX;
}
