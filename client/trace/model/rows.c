/*
 * A group of 64 rows.
 *
 * The first viewer of such traces defined, by accident, when a life without a length (which ends at
 * the time of its start) overlaps another life; this file keeps that rule:
 * - A life with a length occupies the gaps between its two places. It keeps off each life with a
 *   length that needs one of these gaps, and each life without a length at one of its places but
 *   the last.
 * - A life without a length occupies its place. It keeps off each life with a length that begins,
 *   ends or lives at that place, but no other life without a length.
 *
 * So lives with a length are stored by gap, and lives without a length by place. The gap after a
 * place also tells whether that place is inside a life with a length.
 *
 * The gaps of a group begin as a tree. They become a field when a field is not much larger, so
 * memory stays proportional to the lives, however many groups there are.
 */
#include "rows.h"

#include "array.h"

/* A group gets a field when the field takes at most this many bytes for each life in the group. */
#define FLAT_BYTES 160u

bool life_in_the_way(const struct life *placed, const struct life *wanted)
{
	if (wanted->start == wanted->end)
		return placed->start <= wanted->start && wanted->start < placed->end;
	if (placed->start == placed->end)
		return wanted->start <= placed->start && placed->start <= wanted->end;
	return placed->start < wanted->end && wanted->start < placed->end;
}

void life_wanted(const struct life *life, uint32_t *from, uint32_t *to)
{
	*from = 2 * life->start + (life->start == life->end);
	*to = 2 * life->end + 1 + (life->start == life->end);
}

bool row_group_init(struct row_group *g, struct row_store *store, bool flat)
{
	*g = (struct row_group){.gaps = SPAN_TREE_EMPTY, .points = SPAN_TREE_EMPTY, .flat = flat};
	return !flat || field_init(&g->field, store->places, &store->spare);
}

void row_group_deinit(struct row_group *g)
{
	field_deinit(&g->field);
}

uint64_t row_group_memory(const struct row_group *g)
{
	return (uint64_t)g->field.words.room * sizeof(uint64_t) +
	       (uint64_t)g->field.nodes.room * sizeof(struct field_node);
}

static void add_to_field(void *field, uint32_t from, uint32_t to, uint64_t value)
{
	struct field *f = field;

	if (value)
		field_add(f, from, to < f->words.n ? to : f->words.n, value);
}

static bool become_flat(struct row_group *g, struct row_store *store)
{
	struct field field;

	if (!field_init(&field, store->places, &store->spare)) {
		field_deinit(&field);
		return false;
	}
	spans_each(&store->spans, &g->gaps, add_to_field, &field);
	g->field = field;
	g->flat = true;
	return true;
}

bool row_group_take(struct row_group *g, struct row_store *store, const struct life *life, uint64_t bits)
{
	if (life->start == life->end)
		return spans_add(&store->spans, &g->points, life->start, life->start + 1, bits);
	if (!g->flat && ++g->lives > field_bytes(store->places) / FLAT_BYTES && !become_flat(g, store))
		return false;
	if (!g->flat)
		return spans_add(&store->spans, &g->gaps, life->start, life->end, bits);
	field_add(&g->field, life->start, life->end, bits);
	return true;
}

/* Return a bit for each row that is occupied in some gap between the places FROM and TO. */
static uint64_t taken_between(struct row_group *g, const struct row_store *store, uint32_t from, uint32_t to)
{
	return g->flat ? field_get(&g->field, from, to) : spans_get(&store->spans, &g->gaps, from, to);
}

uint64_t row_group_taken(struct row_group *g, const struct row_store *store, const struct life *life)
{
	if (life->start == life->end)
		return taken_between(g, store, life->start, life->start + 1);
	return taken_between(g, store, life->start, life->end) |
	       spans_get(&store->spans, &g->points, life->start, life->end + 1);
}

static bool full_between(const struct row_group *g, const struct row_store *store, uint32_t at, uint32_t *from,
			 uint32_t *to)
{
	bool full = g->flat ? field_full(&g->field, at, from, to)
			    : spans_full(&store->spans, &g->gaps, at, from, to) && *to < store->places;

	if (!full)
		return false;
	*from = 2 * *from + 1;
	*to = 2 * *to;
	return true;
}

/*
 * Return true when no row is free at PLACE for a life with a length, which needs PLACE and one of
 * the gaps beside it. Then store PLACE's position on the line of row_group_full() in *FROM and *TO.
 * The result does not hold for lives without a length.
 */
static bool full_at(struct row_group *g, const struct row_store *store, uint32_t place, uint32_t *from, uint32_t *to)
{
	uint64_t taken = spans_get(&store->spans, &g->points, place, place + 1), beside;

	if (!taken)
		return false;
	beside = taken_between(g, store, place, place + 1);
	beside &= place ? taken_between(g, store, place - 1, place) : 0;
	*from = 2 * place;
	*to = 2 * place + 1;
	return (taken | beside) == UINT64_MAX;
}

bool row_group_full(struct row_group *g, const struct row_store *store, const struct life *life, uint32_t *from,
		    uint32_t *to)
{
	if (full_between(g, store, life->start, from, to))
		return true;
	if (life->start == life->end)
		return false;
	return full_between(g, store, life->start + (life->end - life->start) / 2, from, to) ||
	       full_between(g, store, life->end - 1, from, to) || full_at(g, store, life->start, from, to) ||
	       full_at(g, store, life->end, from, to);
}

/* ---- rows ---- */

/*
 * The first free row.
 *
 * A thread gets the first row below its parent that no other thread occupies during its life. The
 * first viewer compared each thread with all others that live at the same time, which took minutes.
 * Testing row by row is no better when ten thousand threads live at once.
 *
 * A group of 64 rows has a bit for each row, set when the row is occupied. One query returns the
 * rows that are free throughout a life. A tree of level 0 does the same for 64 groups, a tree of
 * level 1 for 64 trees of level 0, and so on: a bit means that all 64 items of the group or tree
 * below are occupied at that position of the line (row_group_full()), so a life that needs the
 * position is not searched there.
 *
 * Invariants:
 * - Groups are exact. The levels above are incomplete: a bit is set only after a search failed
 *   below and a position was found that explains the failure. Each such bit covers at least one new
 *   span, so the spans that threads added bound the cost of setting bits.
 * - A search can fail in 64 rows that are occupied at different times, which no bit above can
 *   express. Such failed searches use up BUDGET, which is proportional to the number of threads.
 *   Only crafted traces use it up, and the budget keeps them from being slow.
 */

#define BITS   64u
#define BUDGET 64u /* number of failed searches per thread */

struct range {
	uint32_t from;
	uint32_t to;
};

uint64_t rows_budget(uint64_t n)
{
	return BUDGET * (n + BITS);
}

void rows_init(struct rows *rows, uint64_t budget, uint32_t places)
{
	*rows = (struct rows){.budget = budget, .store.places = places};
	spans_init(&rows->store.spans, false);
}

static struct row_group *group_at(const struct rows *rows, uint32_t i)
{
	return (struct row_group *)rows->groups.items + i;
}

void rows_deinit(struct rows *rows)
{
	for (uint32_t i = 0; i < rows->groups.n; i++)
		row_group_deinit(group_at(rows, i));
	spans_deinit(&rows->store.spans);
	grow_deinit(&rows->store.spare);
	grow_deinit(&rows->groups);
	for (uint32_t i = 0; i < ROWS_LEVELS; i++)
		grow_deinit(&rows->levels[i]);
}

uint64_t rows_memory(const struct rows *rows)
{
	uint64_t bytes = spans_memory(&rows->store.spans) + rows->store.spare.held +
			 (uint64_t)rows->groups.room * sizeof(struct row_group);

	for (uint32_t i = 0; i < rows->groups.n; i++)
		bytes += row_group_memory(group_at(rows, i));
	for (uint32_t i = 0; i < ROWS_LEVELS; i++)
		bytes += (uint64_t)rows->levels[i].room * sizeof(struct span_tree);
	return bytes;
}

static struct span_tree *tree_at(const struct rows *rows, uint32_t level, uint32_t i)
{
	return (struct span_tree *)rows->levels[level].items + i;
}

/*
 * Return group I, and create the groups up to it. The first group is flat from the start: most
 * threads of most traces are in it.
 */
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

/*
 * Record on LEVEL that item I, all of its rows, is occupied in RANGE. Return false without memory.
 */
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

/*
 * All 64 items of TREE on LEVEL are occupied somewhere in RANGE. If they are all occupied at one
 * position, record that on the level above. Return false without memory.
 */
static bool propagate_full(struct rows *rows, uint32_t level, uint32_t tree, const struct range *range)
{
	const uint32_t probes[] = {range->from, range->from + 1, range->from + (range->to - range->from) / 2,
				   range->to - 1};
	struct range full;

	for (uint32_t i = 0; i < ARRAY_SIZE(probes) && level + 1 < ROWS_LEVELS; i++)
		if (probes[i] < range->to &&
		    spans_full(&rows->store.spans, tree_at(rows, level, tree), probes[i], &full.from, &full.to))
			return full.to == UINT32_MAX || note_full(rows, level + 1, tree, &full);
	return true;
}

/*
 * Store in *ITEM the first item from I on of LEVEL that is not recorded as occupied at any position
 * of RANGE; UINT32_MAX when the budget is used up. Return false without memory.
 */
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
		if (taken == UINT64_MAX && !propagate_full(rows, level, tree, range))
			return false;
		*item = UINT32_MAX;
		if (!rows->budget)
			return true;
		rows->budget--;
		if (!first_of(rows, level + 1, tree + 1, range, &tree))
			return false;
		if (tree > UINT32_MAX / BITS)
			return true;
		i = tree * BITS;
	}
}

/*
 * Store in *NEXT the group to search after GROUP, which has no free row for LIFE and of which TAKEN
 * are the occupied rows. Return false without memory.
 */
static bool next_group(struct rows *rows, uint32_t group, const struct life *life, uint64_t taken, uint32_t *next)
{
	struct range full, wanted;

	if (taken == UINT64_MAX && row_group_full(group_at(rows, group), &rows->store, life, &full.from, &full.to) &&
	    full.from < full.to && !note_full(rows, 0, group, &full))
		return false;
	*next = UINT32_MAX;
	if (!rows->budget)
		return true;
	rows->budget--;
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

void rows_prefetch(const struct rows *rows, uint32_t row, uint32_t place)
{
	if (row / BITS < rows->groups.n && group_at(rows, row / BITS)->flat)
		field_prefetch(&group_at(rows, row / BITS)->field, place);
}
