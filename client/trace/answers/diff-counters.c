/* Counters that differ between the runs, or are in one of them only. */
#include <stdlib.h>

#include "diff-state.h"
#include "map.h"

/*
 * A counter that differs. BY is its relative difference, from 0 to 1, or 2 if only one run has the
 * counter.
 */
struct differing {
	struct mprof_diff_counter c;
	double by;
};

static int compare_differing(const void *a, const void *b)
{
	const struct differing *x = a, *y = b;

	if (x->by != y->by)
		return x->by > y->by ? -1 : 1;
	if (x->c.good != y->c.good)
		return x->c.good < y->c.good ? -1 : 1;
	return x->c.bad < y->c.bad ? -1 : x->c.bad > y->c.bad;
}

static double apart(int64_t a, int64_t b)
{
	double x = (double)a, y = (double)b, of_x = x < 0 ? -x : x, of_y = y < 0 ? -y : y;
	double most = of_x > of_y ? of_x : of_y, by = x > y ? x - y : y - x;

	/*
	 * Different large numbers can be equal as doubles. Numbers of opposite sign differ by up to
	 * twice the larger one. The result is above 0 and at most 1 in both cases.
	 */
	return a == b ? 0 : by > most ? 1 : by > 0 ? by / most : 1e-16;
}

/* Return the value of C that is compared: the sum of an amount, the last value of any other counter. */
static int64_t final_value(const struct mprof_model_view *v, const struct mprof_counter *c)
{
	return c->kind == MPROF_COUNTER_AMOUNT ? c->sum : v->samples[c->last].value;
}

static double counters_apart(const struct mprof_diff *d, uint32_t good, uint32_t bad)
{
	const struct mprof_model_view *g = d->side[GOOD].view, *b = d->side[BAD].view;
	const struct mprof_counter *x = &g->counters[good], *y = &b->counters[bad];
	double last = apart(final_value(g, x), final_value(b, y)), max = apart(x->max, y->max);

	return last > max ? last : max;
}

static bool add_differing(struct grow *list, uint32_t good, uint32_t bad, double by)
{
	struct differing *c = by > 0 ? grow_add(list, sizeof(*c)) : NULL;

	if (c)
		*c = (struct differing){.c = {.good = good, .bad = bad}, .by = by};
	return c || by <= 0;
}

static uint64_t counter_key(const struct diff_side *s, const struct mprof_counter *c, uint32_t stream)
{
	return (uint64_t)s->texts[c->name] << 32 | stream;
}

/* Return the stream of the good run that is matched with STREAM of the bad one, or MPROF_NONE. */
static uint32_t good_stream(const struct mprof_diff *d, uint32_t stream)
{
	uint32_t root = d->side[BAD].match[d->side[BAD].view->streams[stream].root];

	return root == MPROF_NONE ? MPROF_NONE : diff_thread(&d->side[GOOD], root)->stream;
}

static bool compare_counters(const struct mprof_diff *d, struct map *bad_ones, struct grow *list)
{
	const struct diff_side *g = &d->side[GOOD], *b = &d->side[BAD];
	uint8_t *seen = calloc((size_t)b->view->n_counters + 1, 1);
	bool fine = seen;
	uint32_t bad;

	for (uint32_t i = 0; fine && i < g->view->n_counters; i++) {
		bad = map_get(bad_ones, counter_key(g, &g->view->counters[i], g->view->counters[i].stream));
		if (bad != MPROF_NONE)
			seen[bad] = 1;
		fine = add_differing(list, i, bad, bad == MPROF_NONE ? 2 : counters_apart(d, i, bad));
	}
	for (uint32_t i = 0; fine && i < b->view->n_counters; i++)
		fine = seen[i] || add_differing(list, MPROF_NONE, i, 2);
	free(seen);
	return fine;
}

static bool index_counters(const struct mprof_diff *d, struct map *map)
{
	const struct diff_side *b = &d->side[BAD];
	uint32_t stream;
	uint64_t key;

	for (uint32_t i = 0; i < b->view->n_counters; i++) {
		stream = good_stream(d, b->view->counters[i].stream);
		key = counter_key(b, &b->view->counters[i], stream);
		if (stream == MPROF_NONE || map_get(map, key) != MPROF_NONE)
			continue;
		if (!map_reserve(map, 1))
			return false;
		map_put(map, key, i);
	}
	return true;
}

static bool report_counters(struct mprof_diff *d, struct grow *list)
{
	struct differing *items = list->items;
	struct mprof_diff_counter *item;

	d->view.all_counters = list->n;
	if (list->n)
		qsort(items, list->n, sizeof(*items), compare_differing);
	for (uint32_t i = 0; i < list->n && i < d->options.results_max; i++) {
		item = grow_add(&d->counters, sizeof(*item));
		if (!item)
			return false;
		*item = items[i].c;
	}
	return true;
}

bool diff_counters(struct mprof_diff *d)
{
	struct grow list = {0};
	struct map map;
	bool fine;

	map_init(&map, d->options.seed);
	fine = index_counters(d, &map) && compare_counters(d, &map, &list) && report_counters(d, &list);
	map_deinit(&map);
	grow_deinit(&list);
	return fine;
}
