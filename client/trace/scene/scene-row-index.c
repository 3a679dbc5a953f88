/*
 * Stretches by row.
 *
 * Invariant: on a row, in the order of places, starts never fall, and ends as returned by
 * row_index_end() never fall. So a time is found by bisection. Threads on a row do not overlap;
 * activations and collections of a torn or hostile trace can.
 */
#include <stdlib.h>

#include "scene-row-index.h"

/* ---- lives ---- */

/*
 * Set LIFE's CREATED and BECOMES. The creation of a thread below a root is not drawn, nor that of a
 * thread moved to its wake-up. The line to what a thread becomes is not drawn on the same row.
 */
static void mark_verticals(const struct mprof_thread *t, const struct scene_life *lives, struct scene_life *life)
{
	if (life->row == MPROF_NONE)
		return;
	life->created =
		t->parent != MPROF_NONE && !(t->flags & MPROF_THREAD_SIMPLIFIED) && lives[t->parent].row != MPROF_NONE;
	life->becomes =
		t->becomes != MPROF_NONE && lives[t->becomes].row != MPROF_NONE && lives[t->becomes].row != t->row;
}

struct scene_life *scene_lives_new(const struct mprof_model_view *view, const uint8_t *hidden)
{
	struct scene_life *lives = malloc(((size_t)view->n_threads + 1) * sizeof(*lives));

	for (uint32_t i = 0; lives && i < view->n_threads; i++)
		lives[i] = scene_life_of(&view->threads[i]);
	for (uint32_t i = 0; lives && hidden && i < view->n_threads; i++)
		if (hidden[i / 8] >> i % 8 & 1)
			lives[i].row = MPROF_NONE;
	for (uint32_t i = 0; lives && i < view->n_threads; i++)
		mark_verticals(&view->threads[i], lives, &lives[i]);
	return lives;
}

/* ---- stretches ---- */

uint32_t row_index_row(const struct row_index *index, uint32_t item)
{
	const struct mprof_model_view *v = index->view;

	switch (index->of) {
	case ROW_INDEX_RUNNING:
		return v->threads[v->activations[item].thread].row;
	case ROW_INDEX_SLEEPING:
		return v->threads[v->activations[item].thread].stream;
	case ROW_INDEX_COLLECTIONS:
		return v->collections[item].stream;
	case ROW_INDEX_GAPS:
		return v->gaps[item].stream;
	case ROW_INDEX_PIECES:
		return v->pieces[item].stream;
	default:
		return v->threads[item].row;
	}
}

uint64_t row_index_item_start(const struct row_index *index, uint32_t item)
{
	const struct mprof_collection *c;

	switch (index->of) {
	case ROW_INDEX_RUNNING:
	case ROW_INDEX_SLEEPING:
		return index->view->activations[item].start;
	case ROW_INDEX_COLLECTIONS:
		c = &index->view->collections[item];
		return c->time > c->duration_ns ? c->time - c->duration_ns : 0;
	case ROW_INDEX_GAPS:
		return index->view->gaps[item].from;
	case ROW_INDEX_PIECES:
		return index->view->pieces[item].start;
	default:
		return index->view->threads[item].start;
	}
}

uint64_t row_index_item_end(const struct row_index *index, uint32_t item)
{
	const struct mprof_gap *gap;

	switch (index->of) {
	case ROW_INDEX_RUNNING:
	case ROW_INDEX_SLEEPING:
		return index->view->activations[item].end;
	case ROW_INDEX_COLLECTIONS:
		return index->view->collections[item].time;
	case ROW_INDEX_GAPS:
		gap = &index->view->gaps[item];
		return gap->to > gap->from ? gap->to : gap->from;
	case ROW_INDEX_PIECES:
		return index->view->pieces[item].end;
	default:
		return index->view->threads[item].end;
	}
}

bool row_index_init(struct row_index *index, const struct mprof_model_view *view, enum row_index_kind of,
		    const struct scene_life *lives, const uint8_t *chosen)
{
	uint32_t *starts;
	bool ok;

	*index = (struct row_index){
		.view = view, .of = of, .rows = of < ROW_INDEX_SLEEPING ? view->rows : view->n_streams};
	starts = calloc((size_t)index->rows + 1, sizeof(*starts));
	ok = starts && row_index_gather(index, lives, chosen, starts) &&
	     (of >= ROW_INDEX_SLEEPING || row_index_build(index, starts));
	if (!ok || index->rows > index->n / 4) {
		free(starts);
		return ok;
	}
	index->row_starts = starts;
	return true;
}

void row_index_deinit(struct row_index *index)
{
	free(index->items);
	free(index->cover);
	free(index->bases);
	free(index->begins);
	free(index->lengths);
	free(index->sums);
	free(index->row_starts);
	row_nodes_deinit(&index->nodes);
	for (unsigned i = 0; i < ROW_INDEX_LEVELS; i++) {
		free(index->levels[i].starts);
		grow_deinit(&index->levels[i].grown);
		free(index->levels[i].blurs);
		row_nodes_deinit(&index->levels[i].nodes);
	}
	*index = (struct row_index){0};
}

/* Return the first place of ROW; if ROW has no stretch, that of the next row that has one. */
static uint32_t row_start(struct row_index *index, uint32_t row)
{
	uint32_t from = 0, to = index->n, middle;

	if (index->row_starts)
		return row < index->rows ? index->row_starts[row] : index->n;
	while (from < to) {
		middle = from + (to - from) / 2;
		index->steps++;
		if (row_index_row(index, index->items[middle]) < row)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

void row_index_range(struct row_index *index, unsigned level, uint32_t block, uint32_t *from, uint32_t *to)
{
	if (level > index->top || !index->n) {
		*from = *to = 0;
	} else if (level) {
		*from = index->levels[level].starts[block];
		*to = index->levels[level].starts[block + 1];
	} else {
		*from = row_start(index, block);
		*to = block < UINT32_MAX ? row_start(index, block + 1) : index->n;
	}
}

uint64_t row_index_start(struct row_index *index, unsigned level, uint32_t piece)
{
	uint32_t place = level ? index->levels[level].pieces[piece].first : piece;

	index->steps++;
	return row_index_place_start(index, place);
}

uint64_t row_index_end(struct row_index *index, unsigned level, uint32_t piece)
{
	uint32_t place = level ? index->levels[level].pieces[piece].last : piece;

	index->steps++;
	return row_index_place_end(index, place);
}

uint32_t row_index_item(const struct row_index *index, unsigned level, uint32_t piece)
{
	return index->items[level ? index->levels[level].pieces[piece].first : piece];
}

uint32_t row_index_count(const struct row_index *index, unsigned level, uint32_t from, uint32_t to)
{
	return level ? index->levels[level].pieces[to].before - index->levels[level].pieces[from].before : to - from;
}

/* Return the total time of the stretches before PLACE, ns. */
static uint64_t total_to(struct row_index *index, uint32_t place)
{
	uint32_t at = place >> SUM_SHIFT << SUM_SHIFT;
	uint64_t sum = index->sums[at >> SUM_SHIFT];

	for (; at < place; at++)
		sum += row_index_place_end(index, at) - row_index_place_start(index, at);
	index->steps++;
	return sum;
}

uint64_t row_index_total(struct row_index *index, uint32_t from, uint32_t to)
{
	uint64_t sum = 0;

	if (to - from <= 1u << SUM_SHIFT) {
		for (; from < to; from++)
			sum += row_index_place_end(index, from) - row_index_place_start(index, from);
		index->steps++;
		return sum;
	}
	return total_to(index, to) - total_to(index, from);
}

uint32_t row_index_ends_from(struct row_index *index, unsigned level, uint32_t from, uint32_t to, uint64_t time)
{
	uint32_t middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (row_index_end(index, level, middle) < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint32_t row_index_begins_after(struct row_index *index, unsigned level, uint32_t from, uint32_t to, uint64_t time)
{
	uint32_t step = 1, middle;

	/* Mostly it is one of the next pieces: search in steps that double. */
	while (from < to && step < to - from && row_index_start(index, level, from + step - 1) <= time) {
		from += step;
		step *= 2;
	}
	to = step < to - from ? from + step : to;
	while (from < to) {
		middle = from + (to - from) / 2;
		if (row_index_start(index, level, middle) <= time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* ---- nodes ---- */

/*
 * A node covers sixteen pieces, or sixteen nodes. It lets a picture skip pieces that are drawn as
 * one line without reading them. A node that reaches past the end of a row is never used.
 */

#define SIXTEEN (1u << NODE_SHIFT)
#define UPWARDS 1.0000002f /* factor that makes up for the error of a float */

static float not_less(uint64_t ns)
{
	return (float)ns * UPWARDS;
}

static float larger(float a, float b)
{
	return a > b ? a : b;
}

static void fill_lowest(const struct row_index *index, unsigned level, struct row_node *node, uint32_t at, uint32_t n)
{
	const struct row_piece *pieces = level ? index->levels[level].pieces : NULL;
	uint64_t end = 0, start, gap = 0, width = 0;

	for (uint64_t i = at; i < n && i < (uint64_t)at + SIXTEEN; i++) {
		start = row_index_place_start(index, pieces ? pieces[i].first : (uint32_t)i);
		if (i > at && start > end && start - end > gap)
			gap = start - end;
		end = row_index_place_end(index, pieces ? pieces[i].last : (uint32_t)i);
		if (end > start && end - start > width)
			width = end - start;
	}
	*node = (struct row_node){not_less(gap), not_less(width)};
}

/* Return the gap between the places AT - 1 and AT, which both exist. */
static float gap_before(struct row_index *index, unsigned level, uint32_t at)
{
	uint64_t end = row_index_end(index, level, at - 1), start = row_index_start(index, level, at);

	return start > end ? not_less(start - end) : 0;
}

static void fill(struct row_index *index, unsigned level, struct row_nodes *nodes, unsigned k, uint32_t i,
		 uint32_t below)
{
	struct row_node *node = &nodes->levels[k][i];
	const struct row_node *part;

	*node = (struct row_node){0};
	for (uint32_t at = i << NODE_SHIFT; at < below && at < (i + 1) << NODE_SHIFT; at++) {
		part = &nodes->levels[k - 1][at];
		node->width = larger(node->width, part->width);
		node->gap = larger(node->gap, part->gap);
		if (at > i << NODE_SHIFT)
			node->gap = larger(node->gap, gap_before(index, level, at << (NODE_SHIFT * k)));
	}
}

bool row_index_sum_up(struct row_index *index, unsigned level, uint32_t n)
{
	struct row_nodes *nodes = level ? &index->levels[level].nodes : &index->nodes;
	uint32_t below = n, count;

	for (unsigned k = 0; below >= SIXTEEN; k++, below = count) {
		count = (below - 1) / SIXTEEN + 1;
		nodes->levels[k] = malloc((size_t)count * sizeof(*nodes->levels[k]));
		if (!nodes->levels[k])
			return false;
		for (uint32_t i = 0; i < count; i++)
			if (k)
				fill(index, level, nodes, k, i, below);
			else
				fill_lowest(index, level, &nodes->levels[0][i], i * SIXTEEN, n);
	}
	return true;
}

const struct row_nodes *row_index_nodes(const struct row_index *index, unsigned level)
{
	return level ? &index->levels[level].nodes : &index->nodes;
}

uint32_t row_index_skip(const struct row_nodes *nodes, uint32_t from, uint32_t to, double gap, double width)
{
	uint32_t size = 1;

	for (unsigned k = 0; k < ROW_INDEX_NODES && nodes->levels[k]; k++) {
		const struct row_node *node = &nodes->levels[k][(uint64_t)from >> (NODE_SHIFT * (k + 1))];
		uint64_t next = UINT64_C(1) << (NODE_SHIFT * (k + 1));

		if (from & (next - 1) || next > to - from || node->gap > gap || node->width >= width)
			break;
		size = (uint32_t)next;
	}
	return size > 1 ? size : 0;
}

void row_nodes_deinit(struct row_nodes *nodes)
{
	for (unsigned k = 0; k < ROW_INDEX_NODES; k++)
		free(nodes->levels[k]);
	*nodes = (struct row_nodes){0};
}
