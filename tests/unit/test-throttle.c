/* Allowances of peers: wrong credentials, handshakes, and journal lines. */
#include "check.h"
#include "throttle.h"

#define SECOND UINT64_C(1000000000)

static struct peer peer_number(uint32_t n)
{
	return (struct peer){.family = AF_INET, .id = n};
}

static void test_wrong(void)
{
	static struct throttle t;
	struct peer bad = peer_number(1), other = peer_number(2);
	uint64_t now = 100 * SECOND;

	for (unsigned i = 0; i < THROTTLE_WRONG; i++) {
		CHECK(!throttle_is_wrong(&t, bad, now));
		throttle_wrong(&t, bad, now);
	}
	CHECK(throttle_is_wrong(&t, bad, now) && !throttle_is_wrong(&t, other, now));
	/* A refused credential uses up nothing more. */
	for (unsigned i = 0; i < 1000; i++)
		throttle_wrong(&t, bad, now);
	CHECK(!throttle_is_wrong(&t, bad, now + SECOND));
	throttle_wrong(&t, bad, now + SECOND);
	CHECK(throttle_is_wrong(&t, bad, now + SECOND));
	CHECK(!throttle_is_wrong(&t, bad, now + 20 * SECOND));
}

static void test_lines(void)
{
	static struct throttle t;
	struct peer bad = peer_number(1);
	const struct peer *due;
	uint64_t now = 100 * SECOND;
	uint32_t n = 0;

	CHECK_EQ_UINT(throttle_wrong(&t, bad, now), 1);
	for (unsigned i = 0; i < 500; i++)
		CHECK_EQ_UINT(throttle_wrong(&t, bad, now + i), 0);
	CHECK(!throttle_due(&t, now + 9 * SECOND, &n));
	due = throttle_due(&t, now + 10 * SECOND, &n);
	CHECK(due && peer_same(*due, bad) && n == 500);
	CHECK(!throttle_due(&t, now + 10 * SECOND, &n) && !throttle_due(&t, now + 30 * SECOND, &n));
	CHECK_EQ_UINT(throttle_wrong(&t, bad, now + 40 * SECOND), 1);
}

static void test_handshakes(void)
{
	static struct throttle t;
	struct peer p = peer_number(1);
	uint64_t now = 100 * SECOND;
	unsigned n = 0;

	for (unsigned i = 0; i < 1000; i++)
		n += throttle_handshake(&t, p, 50, now);
	CHECK_EQ_UINT(n, 100);
	CHECK(throttle_handshake(&t, peer_number(2), 50, now));
	n = 0;
	for (unsigned i = 0; i < 1000; i++)
		n += throttle_handshake(&t, p, 50, now + SECOND);
	CHECK_EQ_UINT(n, 50);
}

/* The table is bounded: the peer that was quiet for longest makes room. */
static void test_many(void)
{
	static struct throttle t;
	struct peer bad = peer_number(1);
	uint64_t now = 100 * SECOND;

	for (unsigned i = 0; i < THROTTLE_WRONG; i++)
		throttle_wrong(&t, bad, now);
	for (uint32_t i = 2; i < THROTTLE_PEERS + 1; i++)
		throttle_wrong(&t, peer_number(i), now + i);
	CHECK(throttle_is_wrong(&t, bad, now));
	throttle_wrong(&t, bad, now + 5000);
	throttle_wrong(&t, peer_number(100000), now + 6000);
	CHECK(throttle_is_wrong(&t, bad, now + 7000));
	for (uint32_t i = 0; i < THROTTLE_PEERS; i++)
		throttle_wrong(&t, peer_number(200000 + i), now + 8000 + i);
	CHECK(!throttle_is_wrong(&t, bad, now + 10000));
}

int main(void)
{
	CHECK_RUN(test_wrong);
	CHECK_RUN(test_lines);
	CHECK_RUN(test_handshakes);
	CHECK_RUN(test_many);
	return check_done();
}
