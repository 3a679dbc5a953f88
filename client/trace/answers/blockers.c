/*
 * The highest ids on rows.
 *
 * Why not only trees: there can be a row for each thread, and a tree for each would be more than all else together.  A row begins as a list, and
 * has a tree from where that is no longer the shorter way.
 *
 * Positions are those of row-group.h's line: a life with a length takes what lies between its places, one without takes its place.
 */
#include "blockers.h"

#define FEW 16u
#define END UINT32_MAX

struct blocker {
	int64_t id;
	struct life life;
	uint32_t next; /* on the same row, or END */
};

struct blocker_row {
	uint32_t first; /* the list */
	uint32_t n;
	struct span_tree highest; /* rank at each position, where N is above FEW */
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
	grow_deinit(&b->few);
}

uint64_t blockers_memory(const struct blockers *b)
{
	return spans_memory(&b->spans) + (uint64_t)b->rows.room * sizeof(struct blocker_row) +
	       (uint64_t)b->few.room * sizeof(struct blocker);
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

static const struct blocker *few_at(const struct blockers *b, uint32_t i)
{
	return (const struct blocker *)b->few.items + i;
}

static bool rows_made(struct blockers *b, uint32_t row)
{
	while (b->rows.n <= row) {
		struct blocker_row *added = grow_add(&b->rows, sizeof(*added));

		if (!added)
			return false;
		*added = (struct blocker_row){END, 0, SPAN_TREE_EMPTY};
	}
	return true;
}

static bool note(struct blockers *b, struct blocker_row *row, const struct life *life, int64_t id)
{
	uint32_t point = life->start == life->end;

	return spans_add(&b->spans, &row->highest, 2 * life->start + !point, 2 * life->end + point, rank(id));
}

bool blockers_add(struct blockers *b, uint32_t row, const struct life *life, int64_t id)
{
	struct blocker_row *r;
	struct blocker *few;
	uint32_t i;

	if (!rows_made(b, row))
		return false;
	r = row_at(b, row);
	if (r->n > FEW)
		return note(b, r, life, id);
	few = grow_add(&b->few, sizeof(*few));
	if (!few)
		return false;
	*few = (struct blocker){id, *life, r->first};
	r->first = b->few.n - 1;
	if (++r->n <= FEW)
		return true;
	for (i = r->first; i != END; i = few_at(b, i)->next)
		if (!note(b, r, &few_at(b, i)->life, few_at(b, i)->id))
			return false;
	return true;
}

bool blockers_above(struct blockers *b, uint32_t row, const struct life *life, int64_t id)
{
	struct blocker_row *r;
	uint32_t from, to, i;

	if (row >= b->rows.n)
		return false;
	r = row_at(b, row);
	if (r->n > FEW) {
		life_wanted(life, &from, &to);
		return spans_get(&b->spans, &r->highest, from, to) > rank(id);
	}
	for (i = r->first; i != END; i = few_at(b, i)->next)
		if (few_at(b, i)->id > id && life_in_the_way(&few_at(b, i)->life, life))
			return true;
	return false;
}
