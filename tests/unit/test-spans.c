/* Spans (trees of ranges with values), compared with an array of values. */
#include <stdlib.h>

#include "check.h"
#include "spans.h"

#define LINE 3000u

static uint64_t state = 88172645463325252;

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
}

struct slow {
	uint64_t value[LINE];
	bool largest;
};

static void slow_add(struct slow *s, uint64_t from, uint64_t to, uint64_t value)
{
	for (; from < to; from++)
		s->value[from] =
			s->largest ? (value > s->value[from] ? value : s->value[from]) : s->value[from] | value;
}

static uint64_t slow_get(const struct slow *s, uint64_t from, uint64_t to)
{
	uint64_t value = 0;

	for (; from < to; from++)
		value = s->largest ? (s->value[from] > value ? s->value[from] : value) : value | s->value[from];
	return value;
}

/*
 * Choose range I of N. With FORM 0 and 1 it begins anywhere, with FORM 2 the ranges begin from the
 * right end to the left, with FORM 3 from the left end to the right. Except with FORM 0, most
 * ranges are short.
 */
static void range(unsigned i, unsigned n, unsigned form, uint32_t *from, uint32_t *to)
{
	uint32_t length = (uint32_t)(form == 0 ? 1 + draw(LINE / 2) : 1 + draw(draw(8) ? 6 : LINE / 2));

	*from = (uint32_t)draw(LINE);
	if (form == 2)
		*from = (LINE - 1) - i * (LINE - 1) / n;
	if (form == 3)
		*from = i * (LINE - 1) / n;
	*to = *from + length < LINE ? *from + length : LINE;
}

static void compare(bool largest, unsigned form)
{
	struct slow *slow = calloc(1, sizeof(*slow));
	struct span_tree tree = SPAN_TREE_EMPTY, other = SPAN_TREE_EMPTY;
	struct spans s;
	uint32_t from, to;
	uint64_t value;
	unsigned i, wrong = 0;

	if (!CHECK(slow != NULL))
		return;
	slow->largest = largest;
	spans_init(&s, largest);
	CHECK_EQ_UINT(spans_get(&s, &tree, 0, LINE), 0);
	for (i = 0; i < 6000; i++) {
		range(i, 6000, form, &from, &to);
		value = largest ? draw(1000) : UINT64_C(1) << draw(64);
		slow_add(slow, from, to, value);
		CHECK(spans_add(&s, &tree, from, to, value));
		if (i % 64 == 0) /* values of another tree in the same store do not matter */
			CHECK(spans_add(&s, &other, from, to, UINT64_MAX));
		range(i, 6000, form, &from, &to);
		wrong += spans_get(&s, &tree, from, to) != slow_get(slow, from, to);
		wrong += spans_get(&s, &tree, from, from + 1) != slow_get(slow, from, from + 1);
	}
	CHECK_EQ_UINT(wrong, 0);
	spans_deinit(&s);
	free(slow);
}

static void test_values(void)
{
	unsigned form;

	for (form = 0; form < 4; form++) {
		compare(false, form);
		compare(true, form);
	}
}

/*
 * Each range that spans_full returns is full everywhere. At least a hundred full ranges are found.
 */
static void test_full(void)
{
	struct slow *slow = calloc(1, sizeof(*slow));
	struct span_tree tree = SPAN_TREE_EMPTY;
	uint32_t from, to, at;
	unsigned i, wrong = 0, found = 0;
	struct spans s;

	if (!CHECK(slow != NULL))
		return;
	spans_init(&s, false);
	CHECK(!spans_full(&s, &tree, 5, &from, &to));
	for (i = 0; i < 4000; i++) {
		range(i, 4000, 0, &from, &to);
		slow_add(slow, from, to, UINT64_C(1) << i % 64);
		CHECK(spans_add(&s, &tree, from, to, UINT64_C(1) << i % 64));
		at = (uint32_t)draw(LINE);
		if (!spans_full(&s, &tree, at, &from, &to))
			continue;
		found++;
		wrong += from > at || to <= at || slow->value[at] != UINT64_MAX;
		for (; from < to && from < LINE; from++)
			wrong += slow->value[from] != UINT64_MAX;
	}
	CHECK_EQ_UINT(wrong, 0);
	CHECK(found > 100);
	spans_deinit(&s);
	free(slow);
}

/* Ranges at the ends of the possible positions. */
static void test_ends(void)
{
	struct span_tree tree = SPAN_TREE_EMPTY;
	struct spans s;
	uint32_t from, to;

	spans_init(&s, false);
	CHECK(spans_add(&s, &tree, 0, UINT32_MAX - 1, 5));
	CHECK_EQ_UINT(spans_get(&s, &tree, 0, 1), 5);
	CHECK_EQ_UINT(spans_get(&s, &tree, UINT32_MAX - 2, UINT32_MAX - 1), 5);
	CHECK_EQ_UINT(spans_get(&s, &tree, UINT32_MAX - 1, UINT32_MAX), 0);
	CHECK(spans_add(&s, &tree, 7, 9, UINT64_MAX));
	CHECK(spans_full(&s, &tree, 8, &from, &to) && from == 7 && to == 9);
	spans_deinit(&s);
}

int main(void)
{
	CHECK_RUN(test_values);
	CHECK_RUN(test_full);
	CHECK_RUN(test_ends);
	return check_done();
}
