/*
 * Rows of threads.
 *
 * The rule is exactly that of the first viewer of such traces. Threads are placed depth first. The
 * search for a row begins
 * - for a child of a root, on the first row;
 * - on the parent's row, if the thread does not live at the same time as the parent, or is what the
 *   parent becomes;
 * - else on the row after the parent's.
 *
 * The thread gets the first row that is free during its life. There is one exception, an accident
 * of that viewer's order of threads, which keeps a chain of binds on one line: on the parent's own
 * row only threads with a higher id than the parent's keep the thread off. rows.c defines when two
 * lives overlap.
 *
 * Invariants:
 * - Each thread but the roots is placed once, after its parent, in the order that the tree left in
 *   the aliases.
 * - Times are places (places.h) of one stream; streams share no rows.
 */
#include <stdlib.h>

#include "model-state.h"
#include "places.h"
#include "rows.h"

/* ---- blockers ---- */

/*
 * *Blockers*: the highest thread id on each row, by time.
 *
 * A layout can have a row for each thread, and a tree for each row would be the largest part of
 * memory. So a row begins as a list, and gets a tree when the list is long. Positions are those of
 * the line in rows.h: a life with a length occupies the positions between its places, a life
 * without a length its place.
 */

struct blockers {
	struct spans spans;
	struct grow rows; /* struct blocker_row */
	struct grow few;  /* struct blocker */
};

#define FEW 16u
#define END UINT32_MAX

struct blocker {
	int64_t id;
	struct life life;
	uint32_t next; /* next blocker of the same row, or END */
};

struct blocker_row {
	uint32_t first; /* first blocker of the row's list */
	uint32_t n;
	struct span_tree highest; /* highest rank at each position, when N is above FEW */
};

static void blockers_init(struct blockers *b)
{
	*b = (struct blockers){0};
	spans_init(&b->spans, true);
}

static void blockers_deinit(struct blockers *b)
{
	spans_deinit(&b->spans);
	grow_deinit(&b->rows);
	grow_deinit(&b->few);
}

static uint64_t blockers_memory(const struct blockers *b)
{
	return spans_memory(&b->spans) + (uint64_t)b->rows.room * sizeof(struct blocker_row) +
	       (uint64_t)b->few.room * sizeof(struct blocker);
}

/*
 * Return the rank of ID: ranks are in the order of ids, and unsigned. Rank 0 stands for no thread.
 */
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

/* Record that the thread ID is on ROW during LIFE. Return false without memory. */
static bool blockers_add(struct blockers *b, uint32_t row, const struct life *life, int64_t id)
{
	struct blocker_row *r;
	struct blocker *few;

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
	for (uint32_t i = r->first; i != END; i = few_at(b, i)->next)
		if (!note(b, r, &few_at(b, i)->life, few_at(b, i)->id))
			return false;
	return true;
}

/* Return true when a thread on ROW with a higher id than ID keeps the life LIFE off the row. */
static bool blockers_above(struct blockers *b, uint32_t row, const struct life *life, int64_t id)
{
	struct blocker_row *r;
	uint32_t from, to;

	if (row >= b->rows.n)
		return false;
	r = row_at(b, row);
	if (r->n > FEW) {
		life_wanted(life, &from, &to);
		return spans_get(&b->spans, &r->highest, from, to) > rank(id);
	}
	for (uint32_t i = r->first; i != END; i = few_at(b, i)->next)
		if (few_at(b, i)->id > id && life_in_the_way(&few_at(b, i)->life, life))
			return true;
	return false;
}

/* ---- threads ---- */

/* How many threads ahead to prefetch. */
#define AHEAD 8u

struct layout {
	struct mprof_model *m;
	struct rows rows;
	struct blockers blockers;
	struct places places;
	uint64_t budget; /* failed searches that are left (rows.h), for all streams together */
};

static bool find_row(struct layout *l, uint32_t i, const struct life *life, uint32_t *row)
{
	const struct mprof_thread *t = model_thread(l->m, i), *parent = model_thread(l->m, t->parent);

	if (parent->flags & MPROF_THREAD_ROOT)
		return rows_first(&l->rows, 0, life, row);
	if (parent->becomes != i && life_in_the_way(places_life(&l->places, t->parent), life))
		return rows_first(&l->rows, parent->row + 1, life, row);
	if (!rows_first(&l->rows, parent->row, life, row))
		return false;
	if (*row != parent->row && !blockers_above(&l->blockers, parent->row, life, parent->id))
		*row = parent->row;
	return true;
}

static bool place(struct layout *l, uint32_t i)
{
	struct mprof_thread *t = model_thread(l->m, i);
	const struct life *life = places_life(&l->places, i);

	return find_row(l, i, life, &t->row) && rows_take(&l->rows, t->row, life) &&
	       blockers_add(&l->blockers, t->row, life, t->id);
}

/*
 * Prefetch what placing later threads will read: of thread FAR its fields; of thread NEAR the rows
 * around ROW, the row of the current thread, because consecutive threads are on nearby rows.
 */
static void prefetch(const struct layout *l, uint32_t row, uint32_t near, uint32_t far)
{
	__builtin_prefetch(model_thread(l->m, far));
	__builtin_prefetch(&model_thread(l->m, far)->row, 1);
	__builtin_prefetch(places_life(&l->places, far));
	rows_prefetch(&l->rows, row, places_life(&l->places, near)->start);
}

/* Place the N THREADS of one stream. Return false without memory. */
static bool place_all(struct layout *l, const uint32_t *threads, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!place(l, threads[i]))
			return false;
		if (i + 2 * AHEAD < n)
			prefetch(l, model_thread(l->m, threads[i])->row, threads[i + AHEAD], threads[i + 2 * AHEAD]);
	}
	model_note_memory(l->m, places_memory(&l->places) + rows_memory(&l->rows) + blockers_memory(&l->blockers));
	return true;
}

/* Move N threads of one stream BY rows down, below the rows of the previous streams. */
static void move_down(struct mprof_model *m, const uint32_t *threads, uint32_t n, uint32_t by)
{
	for (uint32_t i = 0; by && i < n; i++)
		model_thread(m, threads[i])->row += by;
}

/*
 * Lay out the N threads of S, of which the first is its root, below USED rows of other streams.
 * Return false without memory.
 */
static bool lay_out(struct layout *l, struct mprof_model_stream *s, const uint32_t *threads, uint32_t n, uint32_t used)
{
	bool ok, last = threads + n == model_aliases(l->m) + model_count(l->m, MODEL_THREADS);

	places_find(&l->places, l->m, threads + 1, n - 1);
	rows_init(&l->rows, l->budget, l->places.n);
	blockers_init(&l->blockers);
	if (last) { /* this is often the only stream: reuse the memory in which its places were sorted */
		grow_pass(&l->places.entries[0], &l->rows.store.spare, 1);
		grow_deinit(&l->places.entries[1]);
	}
	ok = place_all(l, threads + 1, n - 1);
	move_down(l->m, threads + 1, ok ? n - 1 : 0, used);
	s->first_row = used;
	s->rows = l->rows.used;
	l->budget = l->rows.budget;
	l->m->notes.rows_not_first += l->rows.not_first;
	rows_deinit(&l->rows);
	blockers_deinit(&l->blockers);
	return ok;
}

/*
 * Return the number of threads of STREAM, which are together in the order from FIRST, the stream's
 * root, on.
 */
static uint32_t stream_threads(const struct mprof_model *m, uint32_t stream, uint32_t first)
{
	const uint32_t *order = model_aliases(m);
	uint32_t n = model_count(m, MODEL_THREADS), end = first + 1;
	uint32_t next = stream + 1 < m->streams.n ? model_stream_at(m, stream + 1)->seen.root : MPROF_NONE;

	while (end < n && order[end] != next)
		end++;
	return end - first;
}

bool model_layout(struct mprof_model *m)
{
	struct layout l = {.m = m, .budget = rows_budget(model_count(m, MODEL_THREADS))};
	uint32_t n, at = 0, used = 0;
	bool ok = places_init(&l.places, m, &m->spare);

	model_note_memory(m, places_memory(&l.places));
	m->notes.rows_not_first = 0;
	for (uint32_t i = 0; i < m->streams.n && ok; i++, at += n) {
		struct mprof_model_stream *s = &model_stream_at(m, i)->seen;

		n = stream_threads(m, i, at);
		ok = lay_out(&l, s, model_aliases(m) + at, n, used);
		used += s->rows;
	}
	places_deinit(&l.places);
	m->view.rows = used;
	return ok;
}
