/*
 * The times of polls: as often as the ring's rate needs, seldom if nothing happens, and within the
 * budget of processor time.
 */
#include "cadence.h"
#include "check.h"

#define MIB	(1u << 20)
#define COST_NS 1000u

/*
 * Poll a ring that is written at RATE bytes per second, for SECONDS seconds. Return the number of
 * polls.
 */
static unsigned follow(struct cadence *c, struct cadence_budget *b, double rate, double seconds, uint64_t *now,
		       double *written, uint64_t *longest)
{
	uint64_t end = *now + (uint64_t)(seconds * 1e9), next;
	unsigned polls = 0;

	*longest = 0;
	while (*now < end) {
		next = cadence_next(c, b, MIB, MIB / 4, (uint64_t)*written, true, *now, COST_NS);
		CHECK(next > *now);
		if (next - *now > *longest)
			*longest = next - *now;
		*written += rate * (double)(next - *now) / 1e9;
		*now = next;
		polls++;
	}
	return polls;
}

static void test_busy(void)
{
	struct cadence_budget b = {.share = 1, .burst_rate = 4 * MIB};
	struct cadence c = {0};
	uint64_t now = NS_PER_S, longest;
	double written = 0;

	follow(&c, &b, 20e6, 0.5, &now, &written, &longest);
	follow(&c, &b, 20e6, 5, &now, &written, &longest);
	/* At 20 MB/s half of a packet of 256 KiB takes 6.5 ms. */
	CHECK(longest <= 7 * NS_PER_MS);
	CHECK(longest >= 4 * NS_PER_MS);
}

static void test_fast(void)
{
	struct cadence_budget b = {.share = 1, .burst_rate = 4 * MIB};
	struct cadence c = {0};
	uint64_t now = NS_PER_S, longest;
	double written = 0;

	/* At 150 MB/s the guest fills the ring in 7 ms: it is polled 16 times meanwhile. */
	follow(&c, &b, 150e6, 0.5, &now, &written, &longest);
	follow(&c, &b, 150e6, 5, &now, &written, &longest);
	CHECK(longest <= 450 * NS_PER_US);
	/* However fast the guest is, polls are at least CADENCE_FAST apart. */
	follow(&c, &b, 4e9, 0.5, &now, &written, &longest);
	CHECK(follow(&c, &b, 4e9, 1, &now, &written, &longest) <= NS_PER_S / CADENCE_FAST);
	CHECK_EQ_UINT(longest, CADENCE_FAST);
}

static void test_pause(void)
{
	struct cadence_budget b = {.share = 1, .burst_rate = 4 * MIB};
	struct cadence c = {0};
	uint64_t now = NS_PER_S, longest;
	double written = 0;

	follow(&c, &b, 20e6, 1, &now, &written, &longest);
	/* After a pause of a few polls the polls are as frequent as before. */
	follow(&c, &b, 0, 0.004, &now, &written, &longest);
	CHECK(longest <= 7 * NS_PER_MS);
	/*
	 * After a long pause they are rarer. The interval is the time in which the assumed burst
	 * would fill three quarters of the ring.
	 */
	follow(&c, &b, 0, 5, &now, &written, &longest);
	CHECK(longest > 150 * NS_PER_MS && longest <= 188 * NS_PER_MS);
}

/*
 * A fast guest that stops for some milliseconds, because it has no processor, goes on at once. The
 * next poll must come before it has filled the ring, which takes 7 ms.
 */
static void test_fast_pause(void)
{
	struct cadence_budget b = {.share = 1, .burst_rate = 4 * MIB};
	struct cadence c = {0};
	uint64_t now = NS_PER_S, longest;
	double written = 0;

	follow(&c, &b, 150e6, 1, &now, &written, &longest);
	follow(&c, &b, 0, 0.008, &now, &written, &longest);
	CHECK(longest <= 5 * NS_PER_MS / 2);
	/* A pause that lasts makes polls of such a ring as rare as of any other. */
	follow(&c, &b, 0, 5, &now, &written, &longest);
	CHECK(longest > 150 * NS_PER_MS);
}

static void test_slow(void)
{
	struct cadence_budget b = {.share = 1, .burst_rate = 0};
	struct cadence c = {0};
	uint64_t now = NS_PER_S, longest;
	double written = 0;

	follow(&c, &b, 100, 10, &now, &written, &longest);
	CHECK_EQ_UINT(longest, CADENCE_MAX);
}

static void test_budget(void)
{
	static struct cadence rings[1000];
	static uint64_t due[1000];
	struct cadence_budget b = {.share = 0.01, .burst_rate = 1u << 30};
	uint64_t now = NS_PER_S, spent = 0;

	for (int i = 0; i < 1000; i++)
		due[i] = now;
	for (now = NS_PER_S; now < 6 * NS_PER_S; now += NS_PER_MS) {
		for (int i = 0; i < 1000; i++) {
			if (due[i] > now)
				continue;
			due[i] = cadence_next(&rings[i], &b, MIB, MIB / 4, 0, false, now, 2 * COST_NS);
			if (now > 4 * NS_PER_S)
				spent += 2 * COST_NS;
		}
	}
	/*
	 * A thousand rings, with polls of 2 us each: the budget of 1% holds. Without the budget
	 * each ring would be polled every millisecond.
	 */
	CHECK((double)spent / 2e9 < 0.02);
	CHECK(spent > 0);
}

static void test_dear(void)
{
	struct cadence_budget b = {.share = 1, .burst_rate = 1u << 30};
	struct cadence c = {0};
	uint64_t now = NS_PER_S;

	/*
	 * A poll took 5 ms and found bytes: the next poll comes 15 ms later, so that the copy does not
	 * grow until the ring has wrapped around.
	 */
	cadence_next(&c, &b, MIB, MIB / 4, 0, false, now, 5 * NS_PER_MS);
	now += NS_PER_MS;
	CHECK_EQ_UINT(cadence_next(&c, &b, MIB, MIB / 4, MIB, false, now, 5 * NS_PER_MS), now + 15 * NS_PER_MS);
	/* The same holds while bytes wait for their proof: early polls may not take all of the time. */
	now += 15 * NS_PER_MS;
	CHECK(cadence_next(&c, &b, MIB, MIB / 4, 2 * MIB, true, now, 5 * NS_PER_MS) >= now + 15 * NS_PER_MS);
	/* It took 5 ms and found none, because the ring is hostile: the next comes 40 ms later. */
	now += 15 * NS_PER_MS;
	CHECK(cadence_next(&c, &b, MIB, MIB / 4, 2 * MIB, false, now, 5 * NS_PER_MS) >= now + 40 * NS_PER_MS);
}

/*
 * A ring is polled once a second, however much of the budget is used up. When a burst begins, the
 * rate is computed from its first poll.
 */
static void test_seldom(void)
{
	struct cadence_budget b = {.share = 0.001, .burst_rate = 0};
	struct cadence c = {0};
	uint64_t now = NS_PER_S, end = 120 * NS_PER_S, longest = 0, next;

	while (now < end) {
		next = cadence_next(&c, &b, MIB, MIB / 4, 0, false, now, 20 * NS_PER_MS);
		longest = next - now > longest ? next - now : longest;
		now = next;
	}
	CHECK(b.stretch > 10);
	CHECK(longest > 900 * NS_PER_MS && longest <= NS_PER_S);
	/* At most a second passed between this poll and the one before, and 200 KB arrived. */
	next = cadence_next(&c, &b, MIB, MIB / 4, 200000, false, now, COST_NS);
	CHECK(c.rate >= 199000 && next - now <= CADENCE_MAX);
}

int main(void)
{
	CHECK_RUN(test_busy);
	CHECK_RUN(test_fast);
	CHECK_RUN(test_pause);
	CHECK_RUN(test_fast_pause);
	CHECK_RUN(test_slow);
	CHECK_RUN(test_budget);
	CHECK_RUN(test_dear);
	CHECK_RUN(test_seldom);
	return check_done();
}
