/*
 * The first free row.
 *
 * Why it needs thought: the picture's rule is that a thread stands on the first row below its parent that no other has during its life.  Going
 * through the threads that overlap, for each thread anew, is what made the first viewer take minutes; and going through the rows is no
 * better where ten thousand threads live at the same time.
 *
 * A group of 64 rows has a bit for each row, set where the row is taken.  One question to it says which of its rows are free throughout
 * a life.  A tree of level 0 does the same for 64 groups, and so on up: there a bit says that all 64 below are taken at that position, so
 * that a life with that position in it has nothing to look for there.
 *
 * Invariants:
 * - Groups are exact.  The levels above are not complete: a bit is set when a search has failed below, where a position is found that
 *   says why, and covers at least one new span, so that setting them is paid for by the spans that threads have added.
 * - A search can fail in 64 rows that are taken at different times, which no bit above can tell.  Such searches in vain draw on LOOKS,
 *   which is proportional to the number of threads.  It is what keeps a crafted trace from being slow: no other runs out of it.
 */
#include "rows.h"

#define BITS  64u
#define LOOKS 64u /* in vain, per thread */

struct range {
	uint32_t from;
	uint32_t to;
};

uint64_t rows_looks(uint64_t n)
{
	return LOOKS * (n + BITS);
}

void rows_init(struct rows *rows, uint64_t looks, uint32_t places)
{
	*rows = (struct rows){.looks = looks, .store.places = places};
	spans_init(&rows->store.spans, false);
}

static struct row_group *group_at(const struct rows *rows, uint32_t i)
{
	return (struct row_group *)rows->groups.items + i;
}

void rows_deinit(struct rows *rows)
{
	uint32_t i;

	for (i = 0; i < rows->groups.n; i++)
		row_group_deinit(group_at(rows, i));
	spans_deinit(&rows->store.spans);
	grow_deinit(&rows->store.spare);
	grow_deinit(&rows->groups);
	for (i = 0; i < ROWS_LEVELS; i++)
		grow_deinit(&rows->levels[i]);
}

uint64_t rows_memory(const struct rows *rows)
{
	uint64_t bytes = spans_memory(&rows->store.spans) + rows->store.spare.held +
			 (uint64_t)rows->groups.room * sizeof(struct row_group);
	uint32_t i;

	for (i = 0; i < rows->groups.n; i++)
		bytes += row_group_memory(group_at(rows, i));
	for (i = 0; i < ROWS_LEVELS; i++)
		bytes += (uint64_t)rows->levels[i].room * sizeof(struct span_tree);
	return bytes;
}

static struct span_tree *tree_at(const struct rows *rows, uint32_t level, uint32_t i)
{
	return (struct span_tree *)rows->levels[level].items + i;
}

/* All that the first group has room for is flat from the start: most threads of most traces stand there. */
static struct row_group *group_made(struct rows *rows, uint32_t i)
{
	while (rows->groups.n <= i) {
		struct row_group *g;

		if (!grow_reserve(&rows->groups, sizeof(*g), 1))
			return NULL;
		g = group_at(rows, rows->groups.n);
		if (!row_group_init(g, &rows->store, rows->groups.n == 0)) {
			row_group_deinit(g);
			return NULL;
		}
		rows->groups.n++;
	}
	return group_at(rows, i);
}

bool rows_take(struct rows *rows, uint32_t row, const struct life *life)
{
	struct row_group *g = group_made(rows, row / BITS);

	if (!g || !row_group_take(g, &rows->store, life, UINT64_C(1) << (row % BITS)))
		return false;
	rows->used = row >= rows->used ? row + 1 : rows->used;
	return true;
}

/* Item I of LEVEL is full in RANGE. */
static bool note_full(struct rows *rows, uint32_t level, uint32_t i, const struct range *range)
{
	struct grow *trees = &rows->levels[level];
	uint32_t tree = i / BITS;

	while (trees->n <= tree) {
		struct span_tree *added = grow_add(trees, sizeof(*added));

		if (!added)
			return false;
		*added = SPAN_TREE_EMPTY;
	}
	return spans_add(&rows->store.spans, tree_at(rows, level, tree), range->from, range->to,
			 UINT64_C(1) << (i % BITS));
}

/* All 64 items of TREE are taken somewhere in RANGE.  If it is at one position, tell the level above. */
static bool learn(struct rows *rows, uint32_t level, uint32_t tree, const struct range *range)
{
	const uint32_t probes[] = {range->from, range->from + 1, range->from + (range->to - range->from) / 2,
				   range->to - 1};
	struct range full;
	uint32_t i;

	for (i = 0; i < sizeof(probes) / sizeof(probes[0]) && level + 1 < ROWS_LEVELS; i++)
		if (probes[i] < range->to &&
		    spans_full(&rows->store.spans, tree_at(rows, level, tree), probes[i], &full.from, &full.to))
			return full.to == UINT32_MAX || note_full(rows, level + 1, tree, &full);
	return true;
}

/* The first of ITEM and those behind it, of a level, that is not known to be full in RANGE; UINT32_MAX where looks have run out. */
static bool first_of(struct rows *rows, uint32_t level, uint32_t i, const struct range *range, uint32_t *item)
{
	for (;;) {
		uint32_t tree = i / BITS;
		uint64_t taken, usable = UINT64_MAX << (i % BITS);

		*item = i;
		if (level == ROWS_LEVELS || tree >= rows->levels[level].n)
			return true;
		taken = spans_get(&rows->store.spans, tree_at(rows, level, tree), range->from, range->to);
		*item = tree * BITS + (uint32_t)__builtin_ctzll((~taken & usable) | UINT64_C(1) << (BITS - 1));
		if (~taken & usable)
			return true;
		if (taken == UINT64_MAX && !learn(rows, level, tree, range))
			return false;
		*item = UINT32_MAX;
		if (!rows->looks)
			return true;
		rows->looks--;
		if (!first_of(rows, level + 1, tree + 1, range, &tree))
			return false;
		if (tree > UINT32_MAX / BITS)
			return true;
		i = tree * BITS;
	}
}

/* No row of GROUP is free for LIFE, from the one that was asked for on: the next group to look at. */
static bool next_group(struct rows *rows, uint32_t group, const struct life *life, uint64_t taken, uint32_t *next)
{
	struct range full, wanted;

	if (taken == UINT64_MAX && row_group_full(group_at(rows, group), &rows->store, life, &full.from, &full.to) &&
	    full.from < full.to && !note_full(rows, 0, group, &full))
		return false;
	*next = UINT32_MAX;
	if (!rows->looks)
		return true;
	rows->looks--;
	life_wanted(life, &wanted.from, &wanted.to);
	return first_of(rows, 0, group + 1, &wanted, next);
}

bool rows_first(struct rows *rows, uint32_t row, const struct life *life, uint32_t *free_row)
{
	uint32_t group = row / BITS;
	uint64_t taken, usable = UINT64_MAX << (row % BITS);

	*free_row = row;
	while (group < rows->groups.n) {
		taken = row_group_taken(group_at(rows, group), &rows->store, life);
		*free_row = group * BITS + (uint32_t)__builtin_ctzll((~taken & usable) | UINT64_C(1) << (BITS - 1));
		if (~taken & usable)
			return true;
		if (!next_group(rows, group, life, taken, &group))
			return false;
		usable = UINT64_MAX;
		*free_row = group * BITS;
	}
	if (group > UINT32_MAX / BITS) {
		*free_row = rows->used > row ? rows->used : row;
		rows->not_first++;
	}
	return true;
}

void rows_look_ahead(const struct rows *rows, uint32_t row, uint32_t place)
{
	if (row / BITS < rows->groups.n && group_at(rows, row / BITS)->flat)
		field_look_ahead(&group_at(rows, row / BITS)->field, place);
}
