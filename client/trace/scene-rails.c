/*
 * Stretches by row.
 *
 * Invariant: on a row, in the order of places, starts never fall, and neither do ends as rails_end() tells them.  So a time is found by
 * halving.  The model's rows hold threads that do not overlap; what a torn or hostile trace says of running and collections may.
 */
#include <stdlib.h>

#include "scene-rails.h"
#include "scene-sort.h"

uint32_t rails_row(const struct rails *l, uint32_t item)
{
	const struct mprof_model_view *v = l->view;
	const struct mprof_thread *t;

	switch (l->of) {
	case RAILS_ALL:
		return v->threads[item].row;
	case RAILS_THREADS:
		return v->threads[item].failure == MPROF_NONE ? v->threads[item].row : MPROF_NONE;
	case RAILS_FAILED:
		return v->threads[item].failure != MPROF_NONE ? v->threads[item].row : MPROF_NONE;
	case RAILS_RUNNING:
		return v->threads[v->activations[item].thread].row;
	case RAILS_SLEEPING:
		t = &v->threads[v->activations[item].thread];
		return t->flags & MPROF_THREAD_ROOT ? t->stream : MPROF_NONE;
	case RAILS_COLLECTIONS:
		return v->collections[item].stream;
	case RAILS_GAPS:
		return v->gaps[item].stream;
	}
	return MPROF_NONE;
}

uint64_t rails_item_start(const struct rails *l, uint32_t item)
{
	const struct mprof_collection *c;

	switch (l->of) {
	case RAILS_RUNNING:
	case RAILS_SLEEPING:
		return l->view->activations[item].start;
	case RAILS_COLLECTIONS:
		c = &l->view->collections[item];
		return c->time > c->duration_ns ? c->time - c->duration_ns : 0;
	case RAILS_GAPS:
		return l->view->gaps[item].from;
	default:
		return l->view->threads[item].start;
	}
}

uint64_t rails_item_end(const struct rails *l, uint32_t item)
{
	const struct mprof_gap *gap;

	switch (l->of) {
	case RAILS_RUNNING:
	case RAILS_SLEEPING:
		return l->view->activations[item].end;
	case RAILS_COLLECTIONS:
		return l->view->collections[item].time;
	case RAILS_GAPS:
		gap = &l->view->gaps[item];
		return gap->to > gap->from ? gap->to : gap->from;
	default:
		return l->view->threads[item].end;
	}
}

struct gathering {
	const struct rails *rails;
	const uint8_t *chosen;
};

static uint32_t group_of(const void *data, uint32_t item)
{
	const struct gathering *g = data;

	if (g->chosen && !(g->chosen[item / 8] >> item % 8 & 1))
		return MPROF_NONE;
	return rails_row(g->rails, item);
}

static uint64_t start_of(const void *data, uint32_t item)
{
	return rails_item_start(((const struct gathering *)data)->rails, item);
}

static uint64_t end_of(const void *data, uint32_t item)
{
	return rails_item_end(((const struct gathering *)data)->rails, item);
}

static uint32_t total(const struct mprof_model_view *v, enum rails_of of)
{
	switch (of) {
	case RAILS_RUNNING:
	case RAILS_SLEEPING:
		return v->n_activations;
	case RAILS_COLLECTIONS:
		return v->n_collections;
	case RAILS_GAPS:
		return v->n_gaps;
	default:
		return v->n_threads;
	}
}

/* What begins at one time goes by its end. */
static bool order_ends(const struct scene_groups *g, uint32_t rows, const struct gathering *from)
{
	uint32_t row, i, k, longest = 0, *room = NULL;
	int pass;

	for (pass = 0; pass < 2; pass++) {
		for (row = 0; row < rows; row++)
			for (i = g->starts[row]; i < g->starts[row + 1]; i = k) {
				for (k = i + 1; k < g->starts[row + 1] &&
						start_of(from, g->items[k]) == start_of(from, g->items[i]);)
					k++;
				if (pass && k - i > 1)
					scene_sort(g->items + i, k - i, room, end_of, from);
				longest = k - i > longest ? k - i : longest;
			}
		if (!pass && longest > 1)
			room = malloc(longest * sizeof(*room));
		if (!room)
			return longest < 2;
	}
	free(room);
	return true;
}

static bool overlaps(const struct rails *l, const uint32_t *starts)
{
	uint64_t end;
	uint32_t row, i;

	for (row = 0; row < l->rows; row++)
		for (i = starts[row], end = 0; i < starts[row + 1]; i++) {
			if (rails_item_start(l, l->items[i]) < end)
				return true;
			end = rails_item_end(l, l->items[i]);
		}
	return false;
}

static bool cover(struct rails *l, const uint32_t *starts)
{
	uint32_t row, i, best;

	l->cover = malloc(((size_t)l->n + 1) * sizeof(*l->cover));
	for (row = 0; l->cover && row < l->rows; row++)
		for (i = starts[row]; i < starts[row + 1]; i++) {
			best = i > starts[row] ? l->cover[i - 1] : l->items[i];
			if (rails_item_end(l, l->items[i]) >= rails_item_end(l, best))
				best = l->items[i];
			l->cover[i] = best;
		}
	return l->cover != NULL;
}

/* Of what begins at one time what ends first goes first; then only what overlaps in truth does. */
static bool settle(struct rails *l, const struct scene_groups *g, const struct gathering *from)
{
	if (!overlaps(l, g->starts))
		return true;
	if (!order_ends(g, l->rows, from))
		return false;
	return !overlaps(l, g->starts) || cover(l, g->starts);
}

bool rails_init(struct rails *l, const struct mprof_model_view *view, enum rails_of of, const uint8_t *chosen)
{
	struct gathering from = {l, chosen};
	struct scene_groups g;
	struct scene_source source = {&from, total(view, of), 0, group_of, start_of};
	bool ok;

	*l = (struct rails){.view = view, .of = of, .rows = of < RAILS_SLEEPING ? view->rows : view->n_streams};
	source.groups = l->rows;
	if (!scene_group(&g, &source))
		return false;
	l->items = g.items;
	l->n = g.n;
	ok = settle(l, &g, &from) && (of >= RAILS_SLEEPING || rails_build(l, g.starts));
	free(g.starts);
	return ok;
}

void rails_deinit(struct rails *l)
{
	unsigned i;

	free(l->items);
	free(l->cover);
	for (i = 0; i < RAILS_LEVELS; i++) {
		free(l->levels[i].starts);
		free(l->levels[i].pieces);
		free(l->levels[i].blurs);
	}
	*l = (struct rails){0};
}

/* The first place of a row, or of a later one. */
static uint32_t row_start(struct rails *l, uint32_t row)
{
	uint32_t from = 0, to = l->n, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		l->steps++;
		if (rails_row(l, l->items[middle]) < row)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

void rails_range(struct rails *l, unsigned level, uint32_t block, uint32_t *from, uint32_t *to)
{
	if (level > l->top || !l->n) {
		*from = *to = 0;
	} else if (level) {
		*from = l->levels[level].starts[block];
		*to = l->levels[level].starts[block + 1];
	} else {
		*from = row_start(l, block);
		*to = block < UINT32_MAX ? row_start(l, block + 1) : l->n;
	}
}

uint64_t rails_start(struct rails *l, unsigned level, uint32_t piece)
{
	l->steps++;
	return rails_item_start(l, level ? l->levels[level].pieces[piece].first : l->items[piece]);
}

uint64_t rails_end(struct rails *l, unsigned level, uint32_t piece)
{
	l->steps++;
	return rails_item_end(l, level	    ? l->levels[level].pieces[piece].last
				 : l->cover ? l->cover[piece]
					    : l->items[piece]);
}

uint32_t rails_item(const struct rails *l, unsigned level, uint32_t piece)
{
	return level ? l->levels[level].pieces[piece].first : l->items[piece];
}

uint32_t rails_count(const struct rails *l, unsigned level, uint32_t from, uint32_t to)
{
	return level ? l->levels[level].pieces[to].before - l->levels[level].pieces[from].before : to - from;
}

uint32_t rails_ends_from(struct rails *l, unsigned level, uint32_t from, uint32_t to, uint64_t time)
{
	uint32_t middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (rails_end(l, level, middle) < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint32_t rails_begins_after(struct rails *l, unsigned level, uint32_t from, uint32_t to, uint64_t time)
{
	uint32_t step = 1, middle;

	/* Mostly it is one of the next. */
	while (from < to && step < to - from && rails_start(l, level, from + step - 1) <= time) {
		from += step;
		step *= 2;
	}
	to = step < to - from ? from + step : to;
	while (from < to) {
		middle = from + (to - from) / 2;
		if (rails_start(l, level, middle) <= time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}
