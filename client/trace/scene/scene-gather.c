/*
 * Collect the stretches of each row, by time.
 *
 * Items come in the order of events, so most rows are sorted already. One pass over the model
 * copies the times beside the items, which avoids random accesses for each row.
 */
#include <stdlib.h>
#include <string.h>

#include "scene-row-index.h"
#include "scene-sort.h"

/*
 * If some of the N stretches S of a row, whose places begin at FROM, overlap: set COVER, and change
 * each end to that of the stretch up to there that ends last. Return false without memory.
 */
static bool cover(struct row_index *index, struct scene_stretch *s, uint32_t from, uint32_t n)
{
	uint32_t i;

	for (i = 1; i < n && !(s[i].start < s[i - 1].end);)
		i++;
	if (i >= n && !index->cover)
		return true;
	if (!index->cover) {
		index->cover = malloc(((size_t)index->n + 1) * sizeof(*index->cover));
		if (!index->cover)
			return false;
		memcpy(index->cover, index->items, index->n * sizeof(*index->cover));
	}
	for (i = 0; i < n; i++) {
		index->cover[from + i] = s[i].item;
		if (i && s[i].end < s[i - 1].end) {
			index->cover[from + i] = index->cover[from + i - 1];
			s[i].end = s[i - 1].end;
		}
	}
	return true;
}

static uint32_t short_of(uint64_t from, uint64_t to)
{
	return to < from || to - from > UINT32_MAX ? UINT32_MAX : (uint32_t)(to - from);
}

/*
 * Store the times of the N stretches S of a row, whose places begin at FROM. *SUM is the total time
 * of all stretches before, and is increased.
 */
static void keep_times(struct row_index *index, const struct scene_stretch *s, uint32_t from, uint32_t n, uint64_t *sum)
{
	uint32_t place;

	for (uint32_t i = 0; i < n; i++) {
		place = from + i;
		if (place % (1u << NODE_SHIFT) == 0)
			index->bases[place >> NODE_SHIFT] = s[i].start;
		if (place % (1u << SUM_SHIFT) == 0)
			index->sums[place >> SUM_SHIFT] = *sum;
		*sum += s[i].end - s[i].start;
		index->begins[place] = short_of(index->bases[place >> NODE_SHIFT], s[i].start);
		index->lengths[place] = short_of(s[i].start, s[i].end);
	}
}

/*
 * Allocate the arrays of INDEX. Bands need no copied times, because few bands are read for each
 * picture. Return false without memory.
 */
static bool arrays_init(struct row_index *index)
{
	index->items = malloc(((size_t)index->n + 1) * sizeof(*index->items));
	if (index->of >= ROW_INDEX_SLEEPING)
		return index->items;
	index->bases = malloc(((size_t)index->n / (1u << NODE_SHIFT) + 1) * sizeof(*index->bases));
	index->begins = malloc(((size_t)index->n + 1) * sizeof(*index->begins));
	index->lengths = malloc(((size_t)index->n + 1) * sizeof(*index->lengths));
	index->sums = malloc(((size_t)index->n / (1u << SUM_SHIFT) + 1) * sizeof(*index->sums));
	return index->items && index->bases && index->begins && index->lengths && index->sums;
}

static bool rows_init(struct row_index *index, const uint32_t *starts, struct scene_stretch *all)
{
	uint64_t sum = 0;

	for (uint32_t row = 0; row < index->rows; row++)
		if (!scene_sort_stretches(all + starts[row], starts[row + 1] - starts[row]))
			return false;
	for (uint32_t i = 0; i < index->n; i++)
		/* Every item is set, because as many were stored as were counted. */
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
		index->items[i] = all[i].item;
	for (uint32_t row = 0; row < index->rows; row++) {
		uint32_t from = starts[row], n = starts[row + 1] - from;

		if (!cover(index, all + from, from, n))
			return false;
		if (index->begins)
			keep_times(index, all + from, from, n, &sum);
	}
	if (index->sums && index->n % (1u << SUM_SHIFT) == 0)
		index->sums[index->n >> SUM_SHIFT] = sum;
	return true;
}

/* Stretches in two passes: in the first put() counts them, in the second it stores them in ALL. */
struct gather {
	const struct row_index *l;
	/*
	 * For each row the number of its stretches; in the second pass the place of its next
	 * stretch.
	 */
	uint32_t *starts;
	struct scene_stretch *all;
};

static inline void put(const struct gather *g, uint32_t row, struct scene_stretch s)
{
	uint32_t place = g->starts[row]++;

	if (g->all)
		g->all[place] = s;
}

static void put_threads(const struct gather *g, const struct scene_life *lives, const uint8_t *chosen)
{
	enum row_index_kind of = g->l->of;

	for (uint32_t i = 0; i < g->l->view->n_threads; i++) {
		const struct scene_life *t = &lives[i];

		if (t->row == MPROF_NONE || (of != ROW_INDEX_ALL && t->failed != (of == ROW_INDEX_FAILED)) ||
		    (chosen && !(chosen[i / 8] >> i % 8 & 1)))
			continue;
		put(g, t->row, (struct scene_stretch){t->start, t->end, i});
	}
}

static void put_running(const struct gather *g, const struct scene_life *lives)
{
	const struct mprof_activation *a = g->l->view->activations;
	uint32_t row;

	for (uint32_t i = 0; i < g->l->view->n_activations; i++) {
		row = lives[a[i].thread].row;
		if (row != MPROF_NONE)
			put(g, row, (struct scene_stretch){a[i].start, a[i].end, i});
	}
}

/* Put the sleep of each stream: the activations of its root, which are chained in order. */
static void put_sleeping(const struct gather *g)
{
	const struct mprof_model_view *v = g->l->view;

	for (uint32_t stream = 0; stream < v->n_streams; stream++)
		for (uint32_t i = v->threads[v->streams[stream].root].first_activation; i != MPROF_NONE;
		     i = v->activations[i].next)
			put(g, stream, (struct scene_stretch){v->activations[i].start, v->activations[i].end, i});
}

static void put_all(const struct gather *g, const struct scene_life *lives, const uint8_t *chosen)
{
	const struct mprof_model_view *v = g->l->view;
	uint32_t n = g->l->of == ROW_INDEX_COLLECTIONS ? v->n_collections
		     : g->l->of == ROW_INDEX_PIECES    ? v->n_pieces
						       : v->n_gaps;

	if (g->l->of < ROW_INDEX_RUNNING) {
		put_threads(g, lives, chosen);
	} else if (g->l->of == ROW_INDEX_RUNNING) {
		put_running(g, lives);
	} else if (g->l->of == ROW_INDEX_SLEEPING) {
		put_sleeping(g);
	} else {
		for (uint32_t i = 0; i < n; i++)
			put(g, row_index_row(g->l, i),
			    (struct scene_stretch){row_index_item_start(g->l, i), row_index_item_end(g->l, i), i});
	}
}

/*
 * Turn the number of stretches of each row into the place of the row's first stretch. Return the
 * sum.
 */
static uint32_t number_starts(uint32_t *starts, uint32_t rows)
{
	uint32_t n, sum = 0;

	for (uint32_t row = 0; row <= rows; row++) {
		n = starts[row];
		starts[row] = sum;
		sum += n;
	}
	return sum;
}

bool row_index_gather(struct row_index *index, const struct scene_life *lives, const uint8_t *chosen, uint32_t *starts)
{
	struct gather g = {.l = index, .starts = starts};
	bool ok;

	put_all(&g, lives, chosen);
	index->n = number_starts(starts, index->rows);
	g.all = malloc(((size_t)index->n + 1) * sizeof(*g.all));
	if (!g.all)
		return false;
	put_all(&g, lives, chosen);
	/*
	 * Storing the stretches moved each row's start to the start of the next row: move the
	 * starts back.
	 */
	for (uint32_t row = index->rows; row > 0; row--)
		starts[row] = starts[row - 1];
	starts[0] = 0;
	ok = arrays_init(index) && rows_init(index, starts, g.all);
	free(g.all);
	return ok && (index->of >= ROW_INDEX_SLEEPING || row_index_sum_up(index, 0, index->n));
}
