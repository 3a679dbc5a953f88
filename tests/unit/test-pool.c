/*
 * Pools, which keep items in pieces: no item is lost or moves when the pool grows, and requests
 * that are too large are refused.
 */
#include "check.h"
#include "grow.h"

struct item {
	uint64_t number;
	uint32_t other[3];
};

static struct item *item_at(const struct pool *p, uint32_t i)
{
	return pool_at(p, sizeof(struct item), i);
}

static void add(struct pool *p, uint32_t n)
{
	uint32_t i;

	if (!CHECK(pool_reserve(p, sizeof(struct item), n)))
		return;
	for (i = 0; i < n; i++) {
		struct item *it = pool_take(p, sizeof(*it));

		it->number = p->n - 1;
		it->other[2] = ~(p->n - 1);
	}
}

static void test_items(void)
{
	static const uint32_t steps[] = {1, 7, 1000, POOL_PIECE, 3, 2 * POOL_PIECE + 5, POOL_PIECE - 1};
	struct pool p = {0};
	uint32_t i, n = 0, wrong = 0;
	struct item *first;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++, n = p.n)
		add(&p, steps[i]);
	CHECK_EQ_UINT(p.n, n);
	first = item_at(&p, 0);
	while (p.n < 6 * POOL_PIECE)
		add(&p, 1);
	CHECK(first == item_at(&p, 0));
	for (i = 0; i < p.n; i++)
		wrong += item_at(&p, i)->number != i || item_at(&p, i)->other[2] != ~i;
	CHECK_EQ_UINT(wrong, 0);
	CHECK(p.room >= p.n);
	CHECK(pool_memory(&p, sizeof(struct item)) >= (uint64_t)p.n * sizeof(struct item));
	CHECK(pool_memory(&p, sizeof(struct item)) < (uint64_t)(p.n + 2 * POOL_PIECE) * sizeof(struct item));
	pool_deinit(&p);
	CHECK_EQ_UINT(p.n, 0);
	CHECK_EQ_UINT(p.room, 0);
}

static void test_too_many(void)
{
	struct pool p = {0};

	add(&p, 1);
	CHECK(!pool_reserve(&p, sizeof(struct item), UINT32_MAX));
	add(&p, 1);
	CHECK_EQ_UINT(item_at(&p, 1)->number, 1);
	pool_deinit(&p);
}

int main(void)
{
	CHECK_RUN(test_items);
	CHECK_RUN(test_too_many);
	return check_done();
}
