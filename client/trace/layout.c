/*
 * Rows for threads.
 *
 * The rule is the first viewer's, to the row: threads are placed depth first.  A thread begins to look on its parent's row if it does not live
 * at the same time or if it is what the parent becomes, else on the next one, and a root's child on the first; it takes the first row
 * that is free during its life.  On the parent's own row only threads with a higher id than the parent's are in the way: that was an accident of
 * how that viewer ordered its threads, but it is what keeps a chain of binds on one line.
 *
 * When two lives overlap was an accident too, where one has no length: a placed thread that ends where it begins is in the way of one
 * that begins or ends there, and one without a length is in the way of nothing but what spans it or begins there.  Positions (places.h) are
 * even, so that what lies between two times has one of its own: see placed() and wanted().
 *
 * Invariant: every thread but the roots is placed once, after its parent.
 */
#include <stdlib.h>

#include "model-state.h"
#include "places.h"
#include "rows.h"

/* With more threads than that on a row, a tree instead of the list answers who is in the way. */
#define LIST_MAX 16u

struct row {
	uint32_t first; /* thread; the next one in the aliases, which nobody needs any more */
	uint32_t n;
	struct span_tree highest; /* the highest id at each position, where N is above LIST_MAX */
};

struct layout {
	struct mprof_model *m;
	struct rows rows;
	struct spans ids;
	struct grow list; /* struct row */
	struct places places;
	uint64_t looks; /* rows.h: for all streams together */
};

/* What thread I takes. */
static struct rows_range placed(const struct layout *l, uint32_t i)
{
	uint32_t start = places_start(&l->places, i), end = places_end(&l->places, i);

	return start == end ? (struct rows_range){start, start + 1} : (struct rows_range){start + 1, end};
}

/* What must be free for it. */
static struct rows_range wanted(const struct layout *l, uint32_t i)
{
	uint32_t start = places_start(&l->places, i), end = places_end(&l->places, i);

	return start == end ? (struct rows_range){start + 1, start + 2} : (struct rows_range){start, end + 1};
}

static bool overlap(const struct rows_range *a, const struct rows_range *b)
{
	return a->from < b->to && b->from < a->to;
}

/* Ids in their order, with 0 for nobody. */
static uint64_t rank(const struct mprof_thread *t)
{
	return (uint64_t)t->id ^ UINT64_C(1) << 63;
}

static struct row *row_at(const struct layout *l, uint32_t i)
{
	return (struct row *)l->list.items + i;
}

static bool note_id(struct layout *l, struct row *row, uint32_t i)
{
	struct rows_range range = placed(l, i);

	return spans_add(&l->ids, &row->highest, range.from, range.to, rank(model_thread(l->m, i)));
}

/* Put thread I on a row's list, and from the first after LIST_MAX on in its tree. */
static bool row_note(struct layout *l, uint32_t at, uint32_t i)
{
	uint32_t *next = model_aliases(l->m), k;
	struct row *row;

	while (l->list.n <= at) {
		row = grow_add(&l->list, sizeof(*row));
		if (!row)
			return false;
		*row = (struct row){MPROF_NONE, 0, SPAN_TREE_EMPTY};
	}
	row = row_at(l, at);
	next[i] = row->first;
	row->first = i;
	row->n++;
	if (row->n > LIST_MAX + 1)
		return note_id(l, row, i);
	for (k = row->n > LIST_MAX ? i : MPROF_NONE; k != MPROF_NONE; k = next[k])
		if (!note_id(l, row, k))
			return false;
	return true;
}

/* Is a thread with a higher id than PARENT's in the way on its row? */
static bool is_blocked(const struct layout *l, const struct mprof_thread *parent, const struct rows_range *range)
{
	const uint32_t *next = model_aliases(l->m);
	struct row *row = row_at(l, parent->row);
	uint32_t k;

	if (row->n > LIST_MAX)
		return spans_get(&l->ids, &row->highest, range->from, range->to) > rank(parent);
	for (k = row->first; k != MPROF_NONE; k = next[k]) {
		struct rows_range taken = placed(l, k);

		if (model_thread(l->m, k)->id > parent->id && overlap(&taken, range))
			return true;
	}
	return false;
}

static bool find_row(struct layout *l, uint32_t i, uint32_t *row)
{
	const struct mprof_thread *t = model_thread(l->m, i), *parent = model_thread(l->m, t->parent);
	struct rows_range range = wanted(l, i), above;

	if (parent->flags & MPROF_THREAD_ROOT)
		return rows_first(&l->rows, 0, &range, row);
	above = placed(l, t->parent);
	if (overlap(&above, &range) && parent->becomes != i)
		return rows_first(&l->rows, parent->row + 1, &range, row);
	if (!rows_first(&l->rows, parent->row, &range, row))
		return false;
	if (*row != parent->row && !is_blocked(l, parent, &range))
		*row = parent->row;
	return true;
}

static bool place(struct layout *l, uint32_t i)
{
	struct mprof_thread *t = model_thread(l->m, i);
	struct rows_range range = placed(l, i);

	return find_row(l, i, &t->row) && rows_take(&l->rows, t->row, &range) && row_note(l, t->row, i);
}

/* The thread behind I, depth first, or MPROF_NONE. */
static uint32_t next_thread(const struct mprof_model *m, uint32_t i)
{
	if (model_thread(m, i)->first_child != MPROF_NONE)
		return model_thread(m, i)->first_child;
	while (i != MPROF_NONE && model_thread(m, i)->next_sibling == MPROF_NONE)
		i = model_thread(m, i)->parent;
	return i == MPROF_NONE ? MPROF_NONE : model_thread(m, i)->next_sibling;
}

/* Place the threads of one stream below each other. */
static bool place_all(struct layout *l, uint32_t root)
{
	uint32_t i = root;

	l->list.n = 0;
	while ((i = next_thread(l->m, i)) != MPROF_NONE)
		if (!place(l, i))
			return false;
	model_note_memory(l->m,
			  rows_memory(&l->rows) + spans_memory(&l->ids) + (uint64_t)l->list.room * sizeof(struct row));
	return true;
}

/* The rows of one stream stand below those of the one before. */
static void move_down(struct mprof_model *m, uint32_t root, uint32_t by)
{
	uint32_t i = root;

	while (by && (i = next_thread(m, i)) != MPROF_NONE)
		model_thread(m, i)->row += by;
}

bool model_layout(struct mprof_model *m)
{
	struct layout l = {.m = m, .looks = rows_looks(model_count(m, MODEL_THREADS))};
	uint32_t i, used = 0;
	bool ok = true;

	if (!places_init(&l.places, m))
		return false;
	model_note_memory(m, l.places.bytes);
	m->notes.rows_not_first = 0;
	for (i = 0; i < m->streams.n && ok; i++) {
		struct mprof_model_stream *s = &model_stream_at(m, i)->seen;

		rows_init(&l.rows, l.looks);
		spans_init(&l.ids, true);
		ok = place_all(&l, s->root);
		move_down(m, s->root, ok ? used : 0);
		s->first_row = used;
		s->rows = l.rows.used;
		used += l.rows.used;
		l.looks = l.rows.looks;
		m->notes.rows_not_first += l.rows.not_first;
		rows_deinit(&l.rows);
		spans_deinit(&l.ids);
	}
	places_deinit(&l.places);
	grow_deinit(&l.list);
	m->view.rows = used;
	return ok;
}
