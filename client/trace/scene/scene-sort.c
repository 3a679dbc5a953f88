/*
 * A merge sort that begins with what is in order already.
 *
 * Why: items come in the order of events, which is that of time but for a few places, or that of a few streams one behind the other.
 */
#include "scene-sort.h"

#include <stdlib.h>
#include <string.h>

/*
 * The analyser does not follow that whoever has items to sort has room for them, and that there are groups where there is an item of one.
 * NOLINTBEGIN(clang-analyzer-core.*)
 */
struct sort {
	uint64_t (*key)(const void *data, uint32_t item);
	const void *data;
};

/* Where the run that begins at FROM ends. */
static uint32_t run_end(const struct sort *s, const uint32_t *items, uint32_t from, uint32_t n)
{
	uint64_t last = s->key(s->data, items[from]), next;

	for (from++; from < n; from++, last = next) {
		next = s->key(s->data, items[from]);
		if (next < last)
			break;
	}
	return from;
}

static void merge(const struct sort *s, const uint32_t *a, uint32_t a_n, const uint32_t *b, uint32_t b_n, uint32_t *out)
{
	uint64_t x = s->key(s->data, *a), y = s->key(s->data, *b);

	for (;;) {
		if (y < x) {
			*out++ = *b++;
			if (!--b_n)
				break;
			y = s->key(s->data, *b);
		} else {
			*out++ = *a++;
			if (!--a_n)
				break;
			x = s->key(s->data, *a);
		}
	}
	memcpy(out, a_n ? a : b, (a_n ? a_n : b_n) * sizeof(*out));
}

/* Merge the runs of FROM by twos into TO; true where one is left. */
static bool pass(const struct sort *s, const uint32_t *from, uint32_t *to, uint32_t n)
{
	uint32_t at = 0, middle, end = 0;

	for (; at < n; at = end) {
		middle = end = run_end(s, from, at, n);
		if (middle < n)
			end = run_end(s, from, middle, n);
		if (end == middle)
			memcpy(to + at, from + at, (end - at) * sizeof(*to));
		else
			merge(s, from + at, middle - at, from + middle, end - middle, to + at);
		if (!at && end == n)
			return true;
	}
	return false;
}

void scene_sort(uint32_t *items, uint32_t n, uint32_t *room, uint64_t (*key)(const void *data, uint32_t item),
		const void *data)
{
	struct sort s = {key, data};
	uint32_t *from = items, *to = room, *swap;
	bool sorted = n < 2 || run_end(&s, items, 0, n) == n;

	while (!sorted) {
		sorted = pass(&s, from, to, n);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * sizeof(*items));
}

/* The group of each item into ROOM, and how many each has. */
static void count(struct scene_groups *g, const struct scene_source *from, uint32_t *room)
{
	uint32_t i, k, sum = 0, n;

	for (i = 0; i < from->total; i++) {
		room[i] = from->group(from->data, i);
		if (room[i] != UINT32_MAX)
			g->starts[room[i]]++;
	}
	for (k = 0; k <= from->groups; k++) {
		n = g->starts[k];
		g->starts[k] = sum;
		sum += n;
	}
	g->n = sum;
}

static void fill(struct scene_groups *g, const struct scene_source *from, const uint32_t *room)
{
	uint32_t i, k;

	for (i = 0; i < from->total; i++)
		if (room[i] != UINT32_MAX)
			g->items[g->starts[room[i]]++] = i;
	/* Each start stands where the next one was. */
	for (k = from->groups; k > 0; k--)
		g->starts[k] = g->starts[k - 1];
	g->starts[0] = 0;
}

bool scene_group(struct scene_groups *g, const struct scene_source *from)
{
	uint32_t *room = malloc(((size_t)from->total + 1) * sizeof(*room)), k;

	*g = (struct scene_groups){.starts = calloc((size_t)from->groups + 1, sizeof(*g->starts))};
	if (g->starts && room) {
		count(g, from, room);
		g->items = malloc(((size_t)g->n + 1) * sizeof(*g->items));
	}
	if (!g->items) {
		free(room);
		scene_groups_deinit(g);
		return false;
	}
	fill(g, from, room);
	for (k = 0; from->key && k < from->groups; k++)
		scene_sort(g->items + g->starts[k], g->starts[k + 1] - g->starts[k], room, from->key, from->data);
	free(room);
	return true;
}

void scene_groups_deinit(struct scene_groups *g)
{
	free(g->items);
	free(g->starts);
	*g = (struct scene_groups){0};
}
/* NOLINTEND(clang-analyzer-core.*) */
