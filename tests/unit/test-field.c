/*
 * Test a field, which is a tree of bit sets over ranges: random operations must give the same as on
 * an array with one word for each place.
 */
#include <stdlib.h>

#include "check.h"
#include "field.h"

static uint64_t state = 88172645463325252;

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
}

static uint64_t slow_get(const uint64_t *words, uint32_t from, uint32_t to)
{
	uint64_t bits = 0;

	for (; from < to; from++)
		bits |= words[from];
	return bits;
}

/*
 * Return whether FROM to TO is a range of WORDS that includes AT and has all bits set everywhere.
 */
static bool is_full(const uint64_t *words, uint32_t n, uint32_t at, uint32_t from, uint32_t to)
{
	if (from > at || to <= at || to > n)
		return false;
	for (; from < to; from++)
		if (words[from] != UINT64_MAX)
			return false;
	return true;
}

/*
 * Add random ranges of up to LENGTH positions to a field of N positions. Each result must be that
 * of the array. ALL: add many bits at once, so that some positions become full.
 */
static void compare(uint32_t n, uint32_t length, bool all)
{
	uint64_t *words = calloc(n, sizeof(*words)), bits;
	uint32_t i, k, from, to, wrong = 0, full = 0;
	struct grow spare = {0};
	struct field f;

	CHECK(words && field_init(&f, n, &spare));
	CHECK(field_bytes(n) >= 8 * (uint64_t)n && field_bytes(n) < 10 * (uint64_t)n + 200);
	for (i = 0; words && i < 3000; i++) {
		from = (uint32_t)draw(n);
		to = from + 1 + (uint32_t)draw(length);
		to = to < n ? to : n;
		bits = all ? UINT64_MAX << draw(3) : UINT64_C(1) << draw(64);
		for (k = from; k < to; k++)
			words[k] |= bits;
		field_add(&f, from, to, bits);
		from = (uint32_t)draw(n);
		to = from + 1 + (uint32_t)draw(length);
		to = to < n ? to : n;
		wrong += field_get(&f, from, to) != slow_get(words, from, to);
		wrong += field_get(&f, from, from + 1) != words[from];
		k = from;
		if (field_full(&f, k, &from, &to)) {
			wrong += !is_full(words, n, k, from, to);
			full++;
		} else {
			wrong += words[k] == UINT64_MAX;
		}
	}
	CHECK_EQ_UINT(wrong, 0);
	CHECK(!all || full > 0);
	field_deinit(&f);
	free(words);
}

static void test_sizes(void)
{
	static const uint32_t sizes[] = {1, 2, 15, 16, 17, 255, 256, 257, 4095, 4096, 4097, 5000};
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		compare(sizes[i], sizes[i], false);
		compare(sizes[i], sizes[i], true);
	}
}

static void test_short_ranges(void)
{
	compare(70000, 40, false);
	compare(70000, 400, true);
}

int main(void)
{
	CHECK_RUN(test_sizes);
	CHECK_RUN(test_short_ranges);
	return check_done();
}
