/*
 * Sixty-four rows.
 *
 * When two lives overlap was an accident of the first viewer, where one has no length: one that has a length is in the way of all that lives
 * between its two places; one that has none is in the way of what has a length and lives at its place, or begins or ends there; and it
 * wants itself nothing but the gap behind its place.  So the gaps between places are noted for the ones, and places for the others:
 * what a life with a length takes at the places within it, the gaps beside them say already.
 *
 * Gaps begin as a tree, and become a field where that is not much more memory than the tree's, so that it stays in proportion to the
 * lives however many groups there are.
 */
#include "row-group.h"

/* For each life in it a group's field may take so many bytes. */
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

/* Which rows are taken somewhere between two places. */
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

/* Of what has no length and wants PLACE nothing is known here; what has, also wants one of the gaps beside it. */
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
