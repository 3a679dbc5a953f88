/* The offset of a guest's clock, from stamps of a stream. */
#include "check.h"
#include "clock.h"
#include "stream-clock.h"
#include "stream.h"

/* Take in a stamp: the event GUEST was written between AFTER and BEFORE. */
static void stamp(struct stream_clock *clock, struct stream *stream, uint64_t guest, uint64_t after, uint64_t before)
{
	stream->stamp.number++;
	stream->stamp.guest_ns = guest;
	stream->stamp.after = after;
	stream->stamp.before = before;
	stream_clock_poll(clock, stream, before);
}

static void known(const struct stream_clock *clock, int64_t offset, uint64_t uncertainty)
{
	const struct clock_bound *bound = stream_clock_bound(clock);

	if (!CHECK(bound != NULL))
		return;
	CHECK_EQ_INT(bound->offset, offset);
	CHECK_EQ_UINT(bound->uncertainty, uncertainty);
}

static void test_bounds(void)
{
	struct stream_clock clock = {0};
	struct stream stream = {0};

	stream_clock_poll(&clock, &stream, 1);
	CHECK(!stream_clock_bound(&clock));
	stamp(&clock, &stream, 500, 1000, 1600);
	known(&clock, 1100, 600);
	/* The least bound counts; the same stamp counts once. */
	stamp(&clock, &stream, 1500, 2300, 2550);
	known(&clock, 1050, 250);
	stamp(&clock, &stream, 2500, 1000, 9000);
	known(&clock, 1050, 250);
	/* The guest took the event's time, and was not run for long before it wrote the event. */
	stamp(&clock, &stream, 3000, 90000, 90010);
	known(&clock, 1050, 250);
	stream.stamp.guest_ns = 9000;
	stream_clock_poll(&clock, &stream, 10000);
	known(&clock, 1050, 250);
	/* The guest's clock goes back. */
	stream.stamp.stepped = true;
	stamp(&clock, &stream, 100, 10000, 10050);
	known(&clock, 9950, 50);
	CHECK_EQ_UINT(clock.steps, 1);
}

/* A guest's clock that is slower by 100 in a million: the offset follows it. */
static void test_drift(void)
{
	struct stream_clock clock = {0};
	struct stream stream = {0};
	int64_t o;

	for (uint64_t s = 1; s < 3600; s++) {
		uint64_t host = s * NS_PER_S;

		stamp(&clock, &stream, host - host / 10000, host - NS_PER_MS, host + NS_PER_MS);
		o = stream_clock_bound(&clock)->offset;
		CHECK(o <= (int64_t)(host / 10000 + NS_PER_MS));
		CHECK(o >= (int64_t)(host / 10000) - (int64_t)(20 * NS_PER_MS));
	}
}

/* A busy hour, and then an hour in which the polls say little: the better bound stays until it is too old. */
static void test_idle(void)
{
	struct stream_clock clock = {0};
	struct stream stream = {0};

	for (uint64_t s = 1; s < 3600; s++)
		stamp(&clock, &stream, s * NS_PER_S, s * NS_PER_S - 10, s * NS_PER_S + 10);
	for (uint64_t s = 3600; s < 4000; s += 30)
		stamp(&clock, &stream, s * NS_PER_S, s * NS_PER_S - NS_PER_S, s * NS_PER_S + NS_PER_S);
	known(&clock, 10, 20);
	for (uint64_t s = 4000; s < 7200; s += 30)
		stamp(&clock, &stream, s * NS_PER_S, s * NS_PER_S - NS_PER_S, s * NS_PER_S + NS_PER_S);
	known(&clock, (int64_t)NS_PER_S, 2 * NS_PER_S);
}

/* Times that a guest may write on purpose. */
static void test_hostile(void)
{
	static const uint64_t times[] = {0, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, 5};
	struct stream_clock clock = {0};
	struct stream stream = {0};

	for (unsigned i = 0; i < 500; i++) {
		stamp(&clock, &stream, times[i % 5], i * NS_PER_S, i * NS_PER_S + times[i / 5 % 5]);
		CHECK(!stream_clock_bound(&clock) || stream_clock_bound(&clock)->known);
	}
}

int main(void)
{
	CHECK_RUN(test_bounds);
	CHECK_RUN(test_drift);
	CHECK_RUN(test_idle);
	CHECK_RUN(test_hostile);
	return check_done();
}
