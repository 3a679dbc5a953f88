/*
 * Sort gaps and drops, so that a question about a time need not walk all of them.
 *
 * Invariant: the REACH of the gaps of one stream never falls, so that the first gap whose REACH is at or
 * behind a time is the first one that ends there.
 */
#include "coverage-index.h"

#include <stdlib.h>

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_gaps(const void *a, const void *b)
{
	const struct coverage_gap *x = a, *y = b;
	int r = compare(x->stream, y->stream);

	r = r ? r : compare(x->from, y->from);
	return r ? r : compare(x->gap, y->gap);
}

static int compare_drops(const void *a, const void *b)
{
	const struct coverage_drop *x = a, *y = b;
	int r = compare(x->guest, y->guest);

	r = r ? r : compare(x->time, y->time);
	return r ? r : compare(x->stream, y->stream);
}

static bool sort_gaps(struct coverage_index *x, const struct mprof_model_view *v)
{
	x->gaps = malloc(((size_t)v->n_gaps + 1) * sizeof(*x->gaps));
	x->first_gap = calloc((size_t)v->n_streams + 1, sizeof(*x->first_gap));
	if (!x->gaps || !x->first_gap)
		return false;
	for (uint32_t i = 0; i < v->n_gaps; i++) {
		const struct mprof_gap *g = &v->gaps[i];

		x->gaps[i] = (struct coverage_gap){
			.from = g->from,
			.reach = coverage_is_open(g) ? UINT64_MAX : g->to,
			.stream = g->stream,
			.gap = i,
		};
		x->first_gap[g->stream + 1]++;
	}
	for (uint32_t i = 0; i < v->n_streams; i++)
		x->first_gap[i + 1] += x->first_gap[i];
	qsort(x->gaps, v->n_gaps, sizeof(*x->gaps), compare_gaps);
	for (uint32_t i = 1; i < v->n_gaps; i++)
		if (x->gaps[i].stream == x->gaps[i - 1].stream && x->gaps[i].reach < x->gaps[i - 1].reach)
			x->gaps[i].reach = x->gaps[i - 1].reach;
	return true;
}

/* Store the drops in X->drops if it is there. Return their number. */
static uint32_t find_drops(const struct coverage_index *x, const struct mprof_model_view *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_counters; i++) {
		const struct mprof_counter *c = &v->counters[i];

		if (c->max <= 0 || !coverage_is_of_losses(v, c->name))
			continue;
		for (uint32_t k = c->first; k != MPROF_NONE; k = v->samples[k].next) {
			if (!coverage_is_drop(v, k))
				continue;
			if (x->drops)
				x->drops[n] = (struct coverage_drop){
					.time = v->samples[k].time,
					.since = coverage_drop_since(v, k),
					.guest = v->streams[c->stream].guest,
					.stream = c->stream,
				};
			n++;
		}
	}
	return n;
}

static void note_widest(struct coverage_index *x)
{
	for (uint32_t i = x->n_drops; i-- > 0;) {
		uint32_t next = i + 1;
		bool last = next == x->n_drops || x->drops[next].guest != x->drops[i].guest;

		x->drops[i].widest = i;
		if (!last && x->drops[x->drops[next].widest].since < x->drops[i].since)
			x->drops[i].widest = x->drops[next].widest;
	}
}

bool coverage_index_init(struct coverage_index *x, const struct mprof_model_view *view)
{
	*x = (struct coverage_index){0};
	if (!sort_gaps(x, view))
		return false;
	x->n_drops = find_drops(x, view);
	x->drops = malloc(((size_t)x->n_drops + 1) * sizeof(*x->drops));
	if (!x->drops)
		return false;
	find_drops(x, view);
	qsort(x->drops, x->n_drops, sizeof(*x->drops), compare_drops);
	note_widest(x);
	return true;
}

void coverage_index_deinit(struct coverage_index *x)
{
	free(x->gaps);
	free(x->first_gap);
	free(x->drops);
	*x = (struct coverage_index){0};
}

uint32_t coverage_index_gap(const struct coverage_index *x, uint32_t stream, uint64_t from, uint64_t to)
{
	uint32_t low = x->first_gap[stream], end = x->first_gap[stream + 1], high = end, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (x->gaps[middle].reach < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && x->gaps[low].from <= to ? x->gaps[low].gap : MPROF_NONE;
}

const struct coverage_drop *coverage_index_drop(const struct coverage_index *x, uint32_t guest, uint64_t from,
						uint64_t to)
{
	uint32_t low = 0, high = x->n_drops, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (x->drops[middle].guest < guest || (x->drops[middle].guest == guest && x->drops[middle].time < from))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == x->n_drops || x->drops[low].guest != guest)
		return NULL;
	low = x->drops[low].since < to ? low : x->drops[low].widest;
	return x->drops[low].since < to ? &x->drops[low] : NULL;
}
