/*
 * The limits on guests' pages: rings of ordinary size always find room, however many pages other
 * guests take.
 */
#include "check.h"
#include "limits.h"

static void ordinary_rings(void)
{
	struct allowance a = {.limit = 1024};

	for (int i = 0; i < 4; i++)
		CHECK(allowance_take(&a, 0, 256));
	CHECK_EQ_INT(a.used, 1024);
	CHECK_EQ_INT(a.large, 0);
	CHECK(!allowance_take(&a, 0, 1));
	allowance_give(&a, 256, 256);
	CHECK(allowance_take(&a, 0, 1));
}

static void greedy_guests(void)
{
	struct allowance a = {.limit = 32768};
	uint64_t has[64];
	unsigned small = 0;

	/* Each guest takes as many pages as it can get. */
	for (unsigned i = 0; i < 64; i++) {
		uint64_t pages = 32768;

		while (pages && !allowance_take(&a, 0, pages))
			pages /= 2;
		has[i] = pages;
		CHECK(pages >= 256 || i >= 32);
	}
	CHECK(a.large <= a.limit / 2);
	for (unsigned i = 0; i < 64; i++)
		allowance_give(&a, has[i], has[i]);
	CHECK_EQ_INT(a.used, 0);
	CHECK_EQ_INT(a.large, 0);

	/*
	 * Sixteen guests take as many pages as they can. There is still room for many guests with 1
	 * MiB each.
	 */
	for (unsigned i = 0; i < 16; i++)
		for (uint64_t pages = 32768; pages > 256 && !allowance_take(&a, 0, pages);)
			pages /= 2;
	while (allowance_take(&a, 0, 256))
		small++;
	CHECK(small >= 48);
}

static void several_rings_of_one(void)
{
	struct allowance a = {.limit = 8192};

	CHECK(allowance_take(&a, 0, 200));
	CHECK(allowance_take(&a, 200, 100)); /* 44 pages more than the first 256 */
	CHECK_EQ_INT(a.large, 44);
	/*
	 * The large rings may take a quarter of the limit. A guest's first 256 pages do not count.
	 */
	CHECK(!allowance_take(&a, 300, 2048 + 256 - 300 + 1));
	CHECK(allowance_take(&a, 300, 2048 + 256 - 300));
	/* The next guest can take half of the pages that remain for large rings. */
	CHECK(!allowance_take(&a, 0, 256 + 1024 + 1));
	CHECK(allowance_take(&a, 0, 256 + 1024));
	allowance_give(&a, 2304, 2104);
	CHECK_EQ_INT(a.large, 1024);
	CHECK_EQ_INT(a.used, 200 + 1280);
}

static void sums_that_would_overflow(void)
{
	struct allowance a = {.limit = 100};

	CHECK(!allowance_take(&a, 0, UINT64_MAX));
	CHECK(!allowance_take(&a, 0, 101));
	CHECK(allowance_take(&a, 0, 100));
	CHECK(!allowance_take(&a, 0, UINT64_MAX - 50));
}

int main(void)
{
	CHECK_RUN(ordinary_rings);
	CHECK_RUN(greedy_guests);
	CHECK_RUN(several_rings_of_one);
	CHECK_RUN(sums_that_would_overflow);
	return check_done();
}
