/*
 * The highest ids on rows.
 *
 * Positions are those of row-group.h's line: a life with a length takes what lies between its places, one without takes its place.
 */
#include "blockers.h"

struct blocker_row {
	struct span_tree highest; /* rank at each position */
};

void blockers_init(struct blockers *b)
{
	*b = (struct blockers){0};
	spans_init(&b->spans, true);
}

void blockers_deinit(struct blockers *b)
{
	spans_deinit(&b->spans);
	grow_deinit(&b->rows);
}

uint64_t blockers_memory(const struct blockers *b)
{
	return spans_memory(&b->spans) + (uint64_t)b->rows.room * sizeof(struct blocker_row);
}

/* Ids in their order, with 0 for nobody. */
static uint64_t rank(int64_t id)
{
	return (uint64_t)id ^ UINT64_C(1) << 63;
}

static struct blocker_row *row_at(const struct blockers *b, uint32_t row)
{
	return (struct blocker_row *)b->rows.items + row;
}

bool blockers_add(struct blockers *b, uint32_t row, const struct life *life, int64_t id)
{
	uint32_t point = life->start == life->end;

	while (b->rows.n <= row) {
		struct blocker_row *added = grow_add(&b->rows, sizeof(*added));

		if (!added)
			return false;
		*added = (struct blocker_row){SPAN_TREE_EMPTY};
	}
	return spans_add(&b->spans, &row_at(b, row)->highest, 2 * life->start + !point, 2 * life->end + point,
			 rank(id));
}

bool blockers_above(struct blockers *b, uint32_t row, const struct life *life, int64_t id, bool *above)
{
	uint32_t from, to;

	life_wanted(life, &from, &to);
	*above = row < b->rows.n && spans_get(&b->spans, &row_at(b, row)->highest, from, to) > rank(id);
	return true;
}
