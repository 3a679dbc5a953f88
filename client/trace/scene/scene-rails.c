/*
 * Stretches by row.
 *
 * Invariant: on a row, in the order of places, starts never fall, and neither do ends as rails_end() tells them.  So a time is found by
 * halving.  The model's rows hold threads that do not overlap; what a torn or hostile trace says of running and collections may.
 */
#include <stdlib.h>

#include "scene-rails.h"

uint32_t rails_row(const struct rails *l, uint32_t item)
{
	const struct mprof_model_view *v = l->view;

	switch (l->of) {
	case RAILS_RUNNING:
		return v->threads[v->activations[item].thread].row;
	case RAILS_SLEEPING:
		return v->threads[v->activations[item].thread].stream;
	case RAILS_COLLECTIONS:
		return v->collections[item].stream;
	case RAILS_GAPS:
		return v->gaps[item].stream;
	default:
		return v->threads[item].row;
	}
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

bool rails_init(struct rails *l, const struct mprof_model_view *view, enum rails_of of, const struct scene_life *lives,
		const uint8_t *chosen)
{
	uint32_t *starts;
	bool ok;

	*l = (struct rails){.view = view, .of = of, .rows = of < RAILS_SLEEPING ? view->rows : view->n_streams};
	starts = calloc((size_t)l->rows + 1, sizeof(*starts));
	ok = starts && rails_gather(l, lives, chosen, starts) && (of >= RAILS_SLEEPING || rails_build(l, starts));
	if (!ok || l->rows > l->n / 4) {
		free(starts);
		return ok;
	}
	l->row_starts = starts;
	return true;
}

void rails_deinit(struct rails *l)
{
	unsigned i;

	free(l->items);
	free(l->cover);
	free(l->bases);
	free(l->begins);
	free(l->lengths);
	free(l->row_starts);
	rail_nodes_deinit(&l->nodes);
	for (i = 0; i < RAILS_LEVELS; i++) {
		free(l->levels[i].starts);
		grow_deinit(&l->levels[i].grown);
		free(l->levels[i].blurs);
		rail_nodes_deinit(&l->levels[i].nodes);
	}
	*l = (struct rails){0};
}

/* The first place of a row, or of a later one. */
static uint32_t row_start(struct rails *l, uint32_t row)
{
	uint32_t from = 0, to = l->n, middle;

	if (l->row_starts)
		return row < l->rows ? l->row_starts[row] : l->n;
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
	uint32_t place = level ? l->levels[level].pieces[piece].first : piece;

	l->steps++;
	return rails_place_start(l, place);
}

uint64_t rails_end(struct rails *l, unsigned level, uint32_t piece)
{
	uint32_t place = level ? l->levels[level].pieces[piece].last : piece;

	l->steps++;
	return rails_place_end(l, place);
}

uint32_t rails_item(const struct rails *l, unsigned level, uint32_t piece)
{
	return l->items[level ? l->levels[level].pieces[piece].first : piece];
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
