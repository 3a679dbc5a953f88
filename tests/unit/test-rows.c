/* The search for the first free row, compared with a search through all rows. */
#include <stdlib.h>

#include "check.h"
#include "rows.h"

static uint64_t state = 88172645463325252;

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
}

struct taken {
	struct life life;
	uint32_t row;
};

struct slow {
	struct taken *list;
	uint32_t n;
	uint8_t *seen;
};

/* Return whether the life PLACED keeps WANTED from its row. The rule is that of rows.c. */
static bool in_the_way(const struct life *placed, const struct life *wanted)
{
	if (wanted->start == wanted->end)
		return placed->start <= wanted->start && placed->end > wanted->start;
	if (placed->start == placed->end)
		return placed->start >= wanted->start && placed->start <= wanted->end;
	return placed->start < wanted->end && placed->end > wanted->start;
}

static uint32_t slow_first(struct slow *s, uint32_t row, const struct life *life, uint32_t most)
{
	uint32_t i;

	memset(s->seen, 0, most + 1);
	for (i = 0; i < s->n; i++)
		if (in_the_way(&s->list[i].life, life))
			s->seen[s->list[i].row] = 1;
	while (row < most && s->seen[row])
		row++;
	return row;
}

/*
 * Place N lives on a line of LINE places, and compare each first free row with the slow search. A
 * search begins at the row of another life, below it, or at the first row. Some lives are then put
 * into a row that is not free, as happens to children of threads with lower ids.
 */
static void compare(uint32_t n, uint32_t line, uint32_t length, bool open)
{
	struct slow s = {calloc(n, sizeof(struct taken)), 0, calloc(n + 1, 1)};
	uint32_t i, wrong = 0, from, got, want, highest = 0;
	struct rows rows;

	rows_init(&rows, rows_budget(n), line + length + 1);
	for (i = 0; s.list && s.seen && i < n; i++) {
		struct life life = {(uint32_t)draw(line), 0};

		life.end = open ? line : life.start + (uint32_t)draw(length + 1);
		from = i && draw(4) ? s.list[draw(i)].row + (uint32_t)draw(2) : 0;
		CHECK(rows_first(&rows, from, &life, &got));
		want = slow_first(&s, from, &life, n);
		wrong += got != want;
		if (got > n)
			break;
		got = draw(10) ? got : from;
		CHECK(rows_take(&rows, got, &life));
		s.list[s.n++] = (struct taken){life, got};
		highest = got > highest ? got : highest;
	}
	CHECK_EQ_UINT(wrong, 0);
	CHECK_EQ_UINT(rows.not_first, 0);
	CHECK_EQ_UINT(rows.used, highest + 1);
	rows_deinit(&rows);
	free(s.list);
	free(s.seen);
}

static void test_few_rows(void)
{
	compare(3000, 3000, 20, false);
	compare(3000, 100000, 300, false);
}

/* Thousands of rows, because no life ends. */
static void test_many_rows(void)
{
	compare(6000, 6000, 0, true);
	compare(6000, 500, 400, false);
}

/* Lives of length 0 or nearly 0, many of them at the same place. */
static void test_points(void)
{
	compare(4000, 300, 0, false);
	compare(4000, 300, 2, false);
	compare(4000, 40, 1, false);
}

/* Groups of rows that have few lives at first, in a tree, and then many, in a field. */
static void test_flat(void)
{
	compare(6000, 1000, 120, false);
	compare(6000, 400, 300, false);
}

/*
 * Ten thousand lives overlap and take a row each. Then ten thousand short lives follow. The search
 * for each of these must skip all taken rows at once, without a step per row.
 */
static void test_wide(void)
{
	const uint32_t n = 10000;
	struct rows rows;
	uint32_t i, row, wrong = 0;

	rows_init(&rows, rows_budget(2 * n), 10 * n + 1);
	for (i = 0; i < n; i++) {
		struct life r = {n - i, 10 * n};

		CHECK(rows_first(&rows, 0, &r, &row) && rows_take(&rows, row, &r));
		wrong += row != i;
	}
	for (i = 0; i < n; i++) {
		struct life r = {2 * n + 5 * i, 2 * n + 5 * i + 5};

		CHECK(rows_first(&rows, i % 10, &r, &row) && rows_take(&rows, row, &r));
		wrong += row != n;
	}
	CHECK_EQ_UINT(wrong, 0);
	CHECK_EQ_UINT(rows.not_first, 0);
	CHECK(rows.budget > rows_budget(2 * n) - 10 * 2 * n);
	rows_deinit(&rows);
}

/*
 * The rows are taken at different times, so that no row is free and groups of rows do not show it.
 * The search stops when its budget is used up, and returns a row that is free, though not the
 * first.
 */
static void test_crafted(void)
{
	const uint32_t n = 2000;
	struct rows rows;
	uint32_t i, row;

	rows_init(&rows, 1000, 2000);
	for (i = 0; i < 64 * 40; i++) {
		struct life r = {3 * (i % 64), 3 * (i % 64) + 2};

		CHECK(rows_take(&rows, i, &r));
	}
	for (i = 0; i < n; i++) {
		struct life r = {0, 1000};

		CHECK(rows_first(&rows, 0, &r, &row));
		CHECK(row >= 64 * 40);
	}
	CHECK(rows.not_first > 0);
	CHECK_EQ_UINT(rows.budget, 0);
	rows_deinit(&rows);
}

int main(void)
{
	CHECK_RUN(test_few_rows);
	CHECK_RUN(test_many_rows);
	CHECK_RUN(test_points);
	CHECK_RUN(test_flat);
	CHECK_RUN(test_wide);
	CHECK_RUN(test_crafted);
	return check_done();
}
