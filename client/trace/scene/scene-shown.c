/*
 * Which rows take height (MPROF_WINDOW_DENSE): those with a thread in the window.
 *
 * Rows that follow each other are a run. The cost depends on the number of blocks that are looked
 * at and not on the rows of the trace: if many blocks of a level (scene-row-index.h) have a thread
 * in the window, their rows are not looked at one by one, and an empty row of such a block has its
 * height.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene-state.h"

#define BLOCKS_MAX  1024u /* most blocks of one level that are looked at */
#define STREAMS_MAX 64u	  /* with more streams, a stream without threads in the window takes no height */

struct shown_run {
	uint32_t first;	 /* first row */
	uint32_t before; /* number of rows of the runs before this one */
};

void shown_deinit(struct shown_rows *r)
{
	grow_deinit(&r->runs);
	*r = (struct shown_rows){0};
}

/* Return the last run whose first row (BY_ROW) or number of rows before it is at most AT; or 0. */
static uint32_t run_at(const struct shown_rows *r, double at, bool by_row)
{
	const struct shown_run *runs = r->runs.items;
	uint32_t from = 0, to = r->n, middle;

	while (to - from > 1) {
		middle = from + (to - from) / 2;
		if ((by_row ? runs[middle].first : runs[middle].before) <= at)
			from = middle;
		else
			to = middle;
	}
	return from;
}

double shown_place(const struct shown_rows *r, double row)
{
	const struct shown_run *run = (const struct shown_run *)r->runs.items + run_at(r, row, true);
	double rows = run[1].before - run->before, after = row - run->first;

	if (after < 0)
		return fmax(after, -0.5);
	if (after <= rows - 0.5 || run[1].before == r->total)
		return run->before + fmin(after, rows - 0.5);
	return run[1].before - fmin(run[1].first - row, 0.5);
}

double shown_row(const struct shown_rows *r, double place)
{
	const struct shown_run *run = (const struct shown_run *)r->runs.items + run_at(r, place, false);

	return run->first + fmin(fmax(place - run->before, 0), run[1].before - run->before - 0.5);
}

uint32_t shown_from(const struct shown_rows *r, uint32_t row)
{
	const struct shown_run *run = (const struct shown_run *)r->runs.items + run_at(r, row, true);

	if (row < run->first)
		return run->first;
	if (row - run->first < run[1].before - run->before)
		return row;
	return run[1].before == r->total ? UINT32_MAX : run[1].first;
}

/* Append the rows from FIRST up to, but not including, END. Return false without memory. */
static bool add_rows(struct shown_rows *r, uint32_t first, uint32_t end)
{
	struct shown_run *runs = r->runs.items, *run;
	uint32_t last = r->runs.n ? runs[r->runs.n - 1].first + (r->total - runs[r->runs.n - 1].before) : 0;

	if (end <= last)
		return true;
	if (!r->runs.n || first > last) {
		run = grow_add(&r->runs, sizeof(*run));
		if (!run)
			return false;
		*run = (struct shown_run){first, r->total};
	} else {
		first = last;
	}
	r->total += end - first;
	return true;
}

static bool is_occupied(struct row_index *index, unsigned level, uint32_t block, const struct mprof_window *w)
{
	uint32_t from, to, at;

	if (!index->n)
		return false;
	row_index_range(index, level, block, &from, &to);
	at = row_index_ends_from(index, level, from, to, w->from);
	return at < to && row_index_start(index, level, at) <= w->to;
}

/* The blocks of one level that have a thread in the window, in their order. */
struct occupied {
	unsigned level;
	uint32_t n;
	uint32_t blocks[BLOCKS_MAX];
};

/* Go down to the lowest level with at most BLOCKS_MAX blocks to look at. */
static void find_occupied(struct mprof_scene *s, const struct mprof_window *w, struct occupied *o)
{
	struct row_index *any = s->threads.n ? &s->threads : &s->failed;
	uint32_t parents[BLOCKS_MAX], n, child, blocks;

	o->level = any->top;
	o->n = 1;
	o->blocks[0] = 0;
	while (o->level && o->n << ROW_INDEX_SHIFT <= BLOCKS_MAX) {
		n = o->n;
		memcpy(parents, o->blocks, n * sizeof(*parents));
		o->n = 0;
		o->level--;
		blocks = o->level ? any->levels[o->level].blocks : any->rows;
		for (uint32_t i = 0; i < n << ROW_INDEX_SHIFT; i++) {
			child = (parents[i >> ROW_INDEX_SHIFT] << ROW_INDEX_SHIFT) + i % (1u << ROW_INDEX_SHIFT);
			if (child < blocks && (is_occupied(&s->threads, o->level, child, w) ||
					       is_occupied(&s->failed, o->level, child, w)))
				o->blocks[o->n++] = child;
		}
	}
}

/* Make the runs of the rows of O, and of the first row of each of few streams. */
static bool make_runs(struct shown_rows *r, const struct mprof_model_view *v, const struct occupied *o)
{
	unsigned shift = ROW_INDEX_SHIFT * o->level;
	uint32_t streams = v->n_streams > 1 && v->n_streams <= STREAMS_MAX ? v->n_streams : 0, stream = 0;
	struct shown_run *end;

	for (uint32_t i = 0; i < o->n; i++) {
		uint64_t first = (uint64_t)o->blocks[i] << shift, past = first + (UINT64_C(1) << shift);

		for (; stream < streams && v->streams[stream].first_row < first; stream++)
			if (v->streams[stream].rows &&
			    !add_rows(r, v->streams[stream].first_row, v->streams[stream].first_row + 1))
				return false;
		if (!add_rows(r, (uint32_t)first, past < v->rows ? (uint32_t)past : v->rows))
			return false;
	}
	for (; stream < streams; stream++)
		if (v->streams[stream].rows &&
		    !add_rows(r, v->streams[stream].first_row, v->streams[stream].first_row + 1))
			return false;
	r->n = r->runs.n;
	end = grow_add(&r->runs, sizeof(*end));
	if (!end)
		return false;
	*end = (struct shown_run){v->rows, r->total};
	return true;
}

const struct shown_rows *shown_rows(struct mprof_scene *s, const struct mprof_window *w)
{
	struct shown_rows *r = &s->shown;
	struct occupied o;

	if (!(w->flags & MPROF_WINDOW_DENSE) || s->view->rows < 2 || (!s->threads.n && !s->failed.n))
		return NULL;
	if (!r->known || r->from != w->from || r->to != w->to) {
		r->runs.n = r->n = r->total = 0;
		find_occupied(s, w, &o);
		r->known = make_runs(r, s->view, &o);
		r->from = w->from;
		r->to = w->to;
	}
	/* All rows are shown if none is in the window, and without memory. */
	return r->known && r->total && r->total < s->view->rows ? r : NULL;
}
