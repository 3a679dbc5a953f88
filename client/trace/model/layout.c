/*
 * Rows for threads.
 *
 * The rule is the first viewer's, to the row: threads are placed depth first.  A thread begins to look on its parent's row if it does not live
 * at the same time or if it is what the parent becomes, else on the next one, and a root's child on the first; it takes the first row
 * that is free during its life.  On the parent's own row only threads with a higher id than the parent's are in the way: that was an accident of
 * how that viewer ordered its threads, but it is what keeps a chain of binds on one line.  When two lives overlap: row-group.c.
 *
 * Invariants:
 * - Every thread but the roots is placed once, after its parent, in the order that the tree left in the aliases.
 * - Times are places (places.h), which are found for all streams before any is laid out.  Streams share no rows.
 */
#include <stdlib.h>

#include "blockers.h"
#include "model-state.h"
#include "places.h"
#include "rows.h"

/* So many threads ahead what they need is asked for. */
#define AHEAD 8u

struct layout {
	struct mprof_model *m;
	struct rows rows;
	struct blockers blockers;
	struct places places;
	uint64_t looks; /* rows.h: for all streams together */
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

/* Threads that follow each other stand on rows that do. */
static void look_ahead(const struct layout *l, uint32_t row, uint32_t near, uint32_t far)
{
	__builtin_prefetch(model_thread(l->m, far));
	__builtin_prefetch(&model_thread(l->m, far)->row, 1);
	__builtin_prefetch(places_life(&l->places, far));
	rows_look_ahead(&l->rows, row, places_life(&l->places, near)->start);
}

/* Place N threads of one stream below each other. */
static bool place_all(struct layout *l, const uint32_t *threads, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!place(l, threads[i]))
			return false;
		if (i + 2 * AHEAD < n)
			look_ahead(l, model_thread(l->m, threads[i])->row, threads[i + AHEAD], threads[i + 2 * AHEAD]);
	}
	model_note_memory(l->m, places_memory(&l->places) + rows_memory(&l->rows) + blockers_memory(&l->blockers));
	return true;
}

/* The rows of one stream stand below those of the one before. */
static void move_down(struct mprof_model *m, const uint32_t *threads, uint32_t n, uint32_t by)
{
	uint32_t i;

	for (i = 0; by && i < n; i++)
		model_thread(m, threads[i])->row += by;
}

/* Lay out S, whose root stands at the beginning of the N threads, below USED rows. */
static bool lay_out(struct layout *l, struct mprof_model_stream *s, const uint32_t *threads, uint32_t n, uint32_t used)
{
	bool ok, last = threads + n == model_aliases(l->m) + model_count(l->m, MODEL_THREADS);

	places_find(&l->places, l->m, threads + 1, n - 1);
	rows_init(&l->rows, l->looks, l->places.n);
	blockers_init(&l->blockers);
	if (last) { /* and mostly the only one: what its places took need not be taken again */
		grow_pass(&l->places.entries[0], &l->rows.store.spare, 1);
		grow_deinit(&l->places.entries[1]);
	}
	ok = place_all(l, threads + 1, n - 1);
	move_down(l->m, threads + 1, ok ? n - 1 : 0, used);
	s->first_row = used;
	s->rows = l->rows.used;
	l->looks = l->rows.looks;
	l->m->notes.rows_not_first += l->rows.not_first;
	rows_deinit(&l->rows);
	blockers_deinit(&l->blockers);
	return ok;
}

/* How many of the threads from FIRST on belong to the stream whose root that is. */
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
	struct layout l = {.m = m, .looks = rows_looks(model_count(m, MODEL_THREADS))};
	uint32_t i, n, at = 0, used = 0;
	bool ok = places_init(&l.places, m, &m->spare);

	model_note_memory(m, places_memory(&l.places));
	m->notes.rows_not_first = 0;
	for (i = 0; i < m->streams.n && ok; i++, at += n) {
		struct mprof_model_stream *s = &model_stream_at(m, i)->seen;

		n = stream_threads(m, i, at);
		ok = lay_out(&l, s, model_aliases(m) + at, n, used);
		used += s->rows;
	}
	places_deinit(&l.places);
	m->view.rows = used;
	return ok;
}
