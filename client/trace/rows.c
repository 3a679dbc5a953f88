/*
 * The first free row.
 *
 * Why it needs thought: the picture's rule is that a thread stands on the first row below its parent that no other has during its life.  Going
 * through the threads that overlap, for each thread anew, is what made the first viewer take minutes; and going through the rows is no
 * better where ten thousand threads live at the same time.
 *
 * Level 0 has a tree of spans for each 64 rows: a bit for each row, set where the row is taken.  One question to it says which of
 * 64 rows are free throughout a range.  A tree of level 1 does the same for 64 trees of level 0, and so on up: there a bit says that all
 * 64 below are taken at that position, so that a range with that position in it has nothing to look for there.
 *
 * Invariants:
 * - Level 0 is exact.  The levels above are not complete: a bit is set when a search has failed below, where a position is found that
 *   says why, and covers at least one new span, so that setting them is paid for by the spans that threads have added.
 * - A search can fail in 64 rows that are taken at different times, which no bit above can tell.  Such searches in vain draw on LOOKS,
 *   which is proportional to the number of threads.  It is what keeps a crafted trace from being slow: no other runs out of it.
 */
#include "rows.h"

#define BITS  64u
#define LOOKS 64u /* in vain, per thread */

uint64_t rows_looks(uint64_t n)
{
	return LOOKS * (n + BITS);
}

void rows_init(struct rows *rows, uint64_t looks)
{
	*rows = (struct rows){.looks = looks};
	spans_init(&rows->spans, false);
}

void rows_deinit(struct rows *rows)
{
	uint32_t level;

	spans_deinit(&rows->spans);
	for (level = 0; level < ROWS_LEVELS; level++)
		grow_deinit(&rows->levels[level]);
}

uint64_t rows_memory(const struct rows *rows)
{
	uint64_t bytes = spans_memory(&rows->spans);
	uint32_t level;

	for (level = 0; level < ROWS_LEVELS; level++)
		bytes += (uint64_t)rows->levels[level].room * sizeof(struct span_tree);
	return bytes;
}

static struct span_tree *tree_at(const struct rows *rows, uint32_t level, uint32_t i)
{
	return (struct span_tree *)rows->levels[level].items + i;
}

/* Set the bit of item I of LEVEL in RANGE. */
static bool take(struct rows *rows, uint32_t level, uint32_t i, const struct rows_range *range)
{
	struct grow *trees = &rows->levels[level];
	uint32_t tree = i / BITS;

	while (trees->n <= tree) {
		struct span_tree *added = grow_add(trees, sizeof(*added));

		if (!added)
			return false;
		*added = SPAN_TREE_EMPTY;
	}
	return spans_add(&rows->spans, tree_at(rows, level, tree), range->from, range->to, UINT64_C(1) << (i % BITS));
}

bool rows_take(struct rows *rows, uint32_t row, const struct rows_range *range)
{
	if (!take(rows, 0, row, range))
		return false;
	rows->used = row >= rows->used ? row + 1 : rows->used;
	return true;
}

/* All 64 items of TREE are taken somewhere in RANGE.  If it is at one position, tell the level above. */
static bool learn(struct rows *rows, uint32_t level, uint32_t tree, const struct rows_range *range)
{
	const uint32_t probes[] = {range->from, range->from + 1, range->from + (range->to - range->from) / 2,
				   range->to - 1};
	struct rows_range full;
	uint32_t i;

	for (i = 0; i < sizeof(probes) / sizeof(probes[0]) && level + 1 < ROWS_LEVELS; i++)
		if (probes[i] < range->to &&
		    spans_full(&rows->spans, tree_at(rows, level, tree), probes[i], &full.from, &full.to))
			return full.to == UINT32_MAX || take(rows, level + 1, tree, &full);
	return true;
}

/* As rows_first(), for items of LEVEL.  *FREE is past the trees of the level where all that are there are taken. */
static bool first_of(struct rows *rows, uint32_t level, uint32_t i, const struct rows_range *range, uint32_t *free_item)
{
	for (;;) {
		uint32_t tree = i / BITS;
		uint64_t taken, usable = UINT64_MAX << (i % BITS);

		if (level == ROWS_LEVELS || tree >= rows->levels[level].n) {
			*free_item = i;
			return true;
		}
		taken = spans_get(&rows->spans, tree_at(rows, level, tree), range->from, range->to);
		if (~taken & usable) {
			*free_item = tree * BITS + (uint32_t)__builtin_ctzll(~taken & usable);
			return true;
		}
		if (taken == UINT64_MAX && !learn(rows, level, tree, range))
			return false;
		if (!rows->looks) {
			*free_item = UINT32_MAX;
			return true;
		}
		rows->looks--;
		if (!first_of(rows, level + 1, tree + 1, range, &tree))
			return false;
		if (tree > UINT32_MAX / BITS) {
			*free_item = UINT32_MAX;
			return true;
		}
		i = tree * BITS;
	}
}

bool rows_first(struct rows *rows, uint32_t row, const struct rows_range *range, uint32_t *free_row)
{
	if (!first_of(rows, 0, row, range, free_row))
		return false;
	if (*free_row == UINT32_MAX) {
		*free_row = rows->used > row ? rows->used : row;
		rows->not_first++;
	}
	return true;
}
