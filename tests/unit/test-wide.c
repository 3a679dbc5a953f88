/* Products of more than 64 bits, compared with the compiler's integers of 128 bits where it has them. */
#include <stdlib.h>

#include "check.h"
#include "wide.h"

/* Results worked out by hand, for every machine. */
static void test_known(void)
{
	struct wide most = wide_product(UINT64_MAX, UINT32_MAX);

	/* (2^64 - 1) * (2^32 - 1) = 2^96 - 2^64 - 2^32 + 1 */
	CHECK_EQ_UINT(most.high, UINT64_MAX - UINT64_C(0x100000000));
	CHECK_EQ_UINT(most.low, 1);
	CHECK(wide_less(UINT64_MAX - 1, UINT32_MAX, UINT64_MAX, UINT32_MAX));
	CHECK(!wide_less(UINT64_MAX, UINT32_MAX, UINT64_MAX, UINT32_MAX));
	/* 3 * 2^62 and 2^63 are equal to 64 bits of 2^64 * 3 / 4 and 2^64 / 2. */
	CHECK(wide_less(UINT64_C(1) << 63, 1, UINT64_C(1) << 62, 3));
	CHECK(!wide_less(UINT64_C(1) << 63, 2, UINT64_C(1) << 62, 4));
	CHECK_EQ_UINT(wide_part(0, 1, 8), 0);
	CHECK_EQ_UINT(wide_part(UINT64_MAX, 1, 8), 7);
	CHECK_EQ_UINT(wide_part(UINT64_MAX / 8, UINT64_MAX, 8), 0);
	CHECK_EQ_UINT(wide_part(UINT64_MAX / 8 + 1, UINT64_MAX, 8), 1);
	CHECK_EQ_UINT(wide_part(UINT64_MAX - 1, UINT64_MAX, 8), 7);
}

#ifdef __SIZEOF_INT128__
#define DRAWN 100000u

static uint64_t state = 88172645463325252;

/* Return a random number, as often short as long. */
static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> (state % 64);
}

static const uint64_t ends[] = {
	0, 1, 2, UINT32_MAX - 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX >> 1, UINT64_MAX - 1, UINT64_MAX};
#define ENDS (sizeof(ends) / sizeof(ends[0]))

__extension__ typedef unsigned __int128 wider;

static void compare(uint64_t a, uint32_t b, uint64_t c, uint32_t d)
{
	struct wide product = wide_product(a, b);
	wider exact = (wider)a * b, part;

	CHECK((wider)product.high << 32 == exact - product.low);
	CHECK(wide_less(a, b, c, d) == (exact < (wider)c * d));
	if (!c || b < 1 || b > 64)
		return;
	part = exact / c;
	CHECK_EQ_UINT(wide_part(a, c, b), part < b ? (uint32_t)part : b - 1);
}

static void test_compared(void)
{
	for (unsigned i = 0; i < ENDS * ENDS * ENDS * ENDS; i++)
		compare(ends[i % ENDS], (uint32_t)ends[i / ENDS % ENDS], ends[i / ENDS / ENDS % ENDS],
			(uint32_t)ends[i / ENDS / ENDS / ENDS]);
	for (unsigned i = 0; i < DRAWN; i++) {
		uint64_t a = draw(), c = draw();
		uint32_t b = (uint32_t)draw();

		compare(a, b, c, (uint32_t)draw());
		compare(a, b, a, b);
		compare(a, 1 + b % 64, c, (uint32_t)draw());
	}
}
#endif

int main(void)
{
	CHECK_RUN(test_known);
#ifdef __SIZEOF_INT128__
	CHECK_RUN(test_compared);
#endif
	return check_done();
}
