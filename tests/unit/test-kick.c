/*
 * Kicks (event-channel notifications): an honest kick causes a poll at once, a storm of kicks costs
 * no more than polling, and a guest that should kick and does not is polled.
 */
#include "check.h"
#include "kick.h"

#define POLL (250 * NS_PER_MS)

/* Return a kick whose first poll, which each bind causes, is done. */
static struct kick bound(uint64_t now)
{
	struct kick kick;
	bool unmask;

	kick_bound(&kick, now);
	kick_come(&kick);
	kick_polled(&kick, 5, true, now, now + POLL, &unmask);
	CHECK(unmask);
	return kick;
}

static void idle_costs_a_poll_a_second(void)
{
	uint64_t now = 1000 * NS_PER_S, end = now + 60 * NS_PER_S;
	struct kick kick = bound(now);
	unsigned polls = 0;
	bool unmask;

	for (; now < end; polls++)
		now = kick_polled(&kick, 5, true, now, now + POLL, &unmask);
	CHECK(polls <= 60);
	CHECK(!kick.masked);
}

static void unbound_is_polled(void)
{
	struct kick kick = {0};
	bool unmask = true;

	CHECK_EQ_INT(kick_polled(&kick, 5, true, 100, 350, &unmask), 350);
	CHECK(!unmask);
}

/*
 * The guest kicks whenever its port is unmasked, and writes no event. In ten seconds the ring is
 * polled hardly more often than it would be without any kick.
 */
static void storm_costs_no_more_than_polling(void)
{
	uint64_t now = 1000 * NS_PER_S, end = now + 10 * NS_PER_S, due = now;
	struct kick kick = bound(now);
	unsigned polls = 0;
	bool unmask = true;

	while (now < end) {
		if (!kick.masked)
			kick_come(&kick), now += NS_PER_US;
		else
			now = due;
		due = kick_polled(&kick, 5, true, now, now + POLL, &unmask);
		polls++;
	}
	CHECK(polls <= 40 + 40 / 8 + KICK_BURST);
}

static void honest_kicks_are_never_masked_for_long(void)
{
	uint64_t now = 1000 * NS_PER_S, active = 5;
	struct kick kick = bound(now);
	bool unmask;

	/* The guest completes a packet every 300 ms, and kicks each time. */
	for (int i = 0; i < 100; i++) {
		now += 300 * NS_PER_MS;
		kick_come(&kick);
		kick_polled(&kick, ++active, false, now, now + POLL, &unmask);
		CHECK(unmask);
	}
}

static void silence_is_doubted(void)
{
	uint64_t now = 1000 * NS_PER_S, due;
	struct kick kick = bound(now);
	bool unmask;

	due = kick_polled(&kick, 5, true, now, now + POLL, &unmask);
	CHECK_EQ_INT(due, now + KICK_IDLE_NS);
	/* If one packet was completed, its kick may still come. If two were, a kick is missing. */
	now = due;
	kick_polled(&kick, 6, false, now, now + POLL, &unmask);
	CHECK_EQ_INT(kick.doubted, 0);
	now += NS_PER_S;
	kick_polled(&kick, 8, false, now, now + POLL, &unmask);
	due = kick_polled(&kick, 8, true, now, now + POLL, &unmask);
	CHECK_EQ_INT(due, now + POLL);
	now += KICK_DOUBT_NS + 1;
	due = kick_polled(&kick, 8, true, now, now + POLL, &unmask);
	CHECK_EQ_INT(due, now + KICK_IDLE_NS);
}

int main(void)
{
	CHECK_RUN(idle_costs_a_poll_a_second);
	CHECK_RUN(unbound_is_polled);
	CHECK_RUN(storm_costs_no_more_than_polling);
	CHECK_RUN(honest_kicks_are_never_masked_for_long);
	CHECK_RUN(silence_is_doubted);
	return check_done();
}
