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

static bool is_before(const struct rail_time *a, const struct rail_time *b)
{
	return a->start < b->start || (a->start == b->start && a->end < b->end);
}

/* The times of all places, which spares looking all over the model again and again. */
static void fill_times(const struct rails *l)
{
	uint32_t i;

	for (i = 0; i < l->n; i++)
		l->times[i] = (struct rail_time){rails_item_start(l, l->items[i]), rails_item_end(l, l->items[i])};
}

/* Put the items of a row in the order of their starts, and of their ends where those are the same. */
static void sort_row(const struct gathering *from, uint32_t *items, uint32_t n, uint32_t *room)
{
	scene_sort(items, n, room, end_of, from);
	scene_sort(items, n, room, start_of, from);
}

static bool sort_rows(const struct rails *l, const struct gathering *from, const uint32_t *starts)
{
	uint32_t row, i, *room = NULL;

	for (row = 0; row < l->rows; row++) {
		for (i = starts[row] + 1; i < starts[row + 1] && !is_before(&l->times[i], &l->times[i - 1]);)
			i++;
		if (i >= starts[row + 1])
			continue;
		room = room ? room : malloc(((size_t)l->n + 1) * sizeof(*room));
		if (!room)
			return false;
		sort_row(from, l->items + starts[row], starts[row + 1] - starts[row], room);
	}
	if (room)
		fill_times(l);
	free(room);
	return true;
}

static bool overlaps(const struct rails *l, const uint32_t *starts)
{
	uint32_t row, i;

	for (row = 0; row < l->rows; row++)
		for (i = starts[row] + 1; i < starts[row + 1]; i++)
			if (l->times[i].start < l->times[i - 1].end)
				return true;
	return false;
}

static bool cover(struct rails *l, const uint32_t *starts)
{
	uint32_t row, i;

	l->cover = malloc(((size_t)l->n + 1) * sizeof(*l->cover));
	for (row = 0; l->cover && row < l->rows; row++)
		for (i = starts[row]; i < starts[row + 1]; i++) {
			l->cover[i] = l->items[i];
			if (i == starts[row] || l->times[i].end >= l->times[i - 1].end)
				continue;
			l->cover[i] = l->cover[i - 1];
			l->times[i].end = l->times[i - 1].end;
		}
	return l->cover != NULL;
}

static bool make(struct rails *l, const struct gathering *from, const uint32_t *starts)
{
	l->times = malloc(((size_t)l->n + 1) * sizeof(*l->times));
	if (!l->times)
		return false;
	fill_times(l);
	if (!sort_rows(l, from, starts) || (overlaps(l, starts) && !cover(l, starts)))
		return false;
	return l->of >= RAILS_SLEEPING || rails_build(l, starts);
}

bool rails_init(struct rails *l, const struct mprof_model_view *view, enum rails_of of, const uint8_t *chosen)
{
	struct gathering from = {l, chosen};
	struct scene_groups g;
	struct scene_source source = {&from, total(view, of), 0, group_of, NULL};
	bool ok;

	*l = (struct rails){.view = view, .of = of, .rows = of < RAILS_SLEEPING ? view->rows : view->n_streams};
	source.groups = l->rows;
	if (!scene_group(&g, &source))
		return false;
	l->items = g.items;
	l->n = g.n;
	ok = make(l, &from, g.starts);
	free(g.starts);
	free(l->times);
	l->times = NULL;
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
	if (!level && l->times)
		return l->times[piece].start;
	return rails_item_start(l, level ? l->levels[level].pieces[piece].first : l->items[piece]);
}

uint64_t rails_end(struct rails *l, unsigned level, uint32_t piece)
{
	l->steps++;
	if (!level && l->times)
		return l->times[piece].end;
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
