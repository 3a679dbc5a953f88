/*
 * A merge sort that begins with the sorted runs of its input.
 *
 * Items come in the order of events, which is nearly that of time, or that of a few streams one
 * after the other. Unsorted items are sorted with their keys beside them, because an access to an
 * item may miss the cache.
 */
#include "scene-sort.h"

#include <stdlib.h>
#include <string.h>

/*
 * The analyser does not see that there is room whenever there are items, and a group for each item.
 * NOLINTBEGIN(clang-analyzer-core.*)
 */
static bool is_before(const struct scene_stretch *a, const struct scene_stretch *b)
{
	return a->start < b->start || (a->start == b->start && a->end < b->end);
}

/* Return the end of the sorted run that begins at FROM. */
static uint32_t run_end(const struct scene_stretch *s, uint32_t from, uint32_t n)
{
	for (from++; from < n && !is_before(&s[from], &s[from - 1]);)
		from++;
	return from;
}

static void merge(const struct scene_stretch *a, uint32_t a_n, const struct scene_stretch *b, uint32_t b_n,
		  struct scene_stretch *out)
{
	while (a_n && b_n) {
		bool second = is_before(b, a);

		*out++ = second ? *b : *a;
		b += second;
		b_n -= second;
		a += !second;
		a_n -= !second;
	}
	memcpy(out, a_n ? a : b, (a_n ? a_n : b_n) * sizeof(*out));
}

/* Merge each pair of sorted runs of FROM into one run of TO. Return true when one run is left. */
static bool merge_pass(const struct scene_stretch *from, struct scene_stretch *to, uint32_t n)
{
	uint32_t at = 0, middle, end = 0;

	for (; at < n; at = end) {
		middle = end = run_end(from, at, n);
		if (middle < n)
			end = run_end(from, middle, n);
		merge(from + at, middle - at, from + middle, end - middle, to + at);
		if (!at && end == n)
			return true;
	}
	return false;
}

bool scene_sort_stretches(struct scene_stretch *s, uint32_t n)
{
	struct scene_stretch *room, *from = s, *to, *swap;
	bool sorted = n < 2 || run_end(s, 0, n) == n;

	if (sorted)
		return true;
	room = malloc(n * sizeof(*room));
	if (!room)
		return false;
	for (to = room; !sorted; from = to, to = swap) {
		sorted = merge_pass(from, to, n);
		swap = from;
	}
	if (from != s)
		memcpy(s, from, n * sizeof(*s));
	free(room);
	return true;
}

/*
 * Return true when the N ITEMS are sorted by KEY; if ITEMS is NULL, when the indices below N are.
 */
static bool is_sorted(const uint32_t *items, uint32_t n, uint64_t (*key)(const void *context, uint32_t item),
		      const void *context)
{
	uint64_t last = 0, next;

	for (uint32_t i = 0; i < n; i++, last = next) {
		next = key(context, items ? items[i] : i);
		if (next < last)
			return false;
	}
	return true;
}

bool scene_sort(uint32_t *items, uint32_t n, uint64_t (*key)(const void *context, uint32_t item), const void *context)
{
	struct scene_stretch *keyed;
	bool ok;

	if (is_sorted(items, n, key, context))
		return true;
	keyed = malloc(n * sizeof(*keyed));
	if (!keyed)
		return false;
	for (uint32_t i = 0; i < n; i++)
		keyed[i] = (struct scene_stretch){.start = key(context, items[i]), .item = items[i]};
	ok = scene_sort_stretches(keyed, n);
	for (uint32_t i = 0; ok && i < n; i++)
		items[i] = keyed[i].item;
	free(keyed);
	return ok;
}

/*
 * Store the group of each item in ROOM, and the position of each group's first item in G->starts.
 */
static void count(struct scene_groups *g, const struct scene_source *from, uint32_t *room)
{
	uint32_t sum = 0, n;

	for (uint32_t i = 0; i < from->total; i++) {
		room[i] = from->group(from->context, i);
		if (room[i] != UINT32_MAX)
			g->starts[room[i]]++;
	}
	for (uint32_t k = 0; k <= from->groups; k++) {
		n = g->starts[k];
		g->starts[k] = sum;
		sum += n;
	}
	g->n = sum;
}

static void fill(struct scene_groups *g, const struct scene_source *from, const uint32_t *room)
{
	for (uint32_t i = 0; i < from->total; i++)
		if (room[i] != UINT32_MAX)
			g->items[g->starts[room[i]]++] = i;
	/*
	 * Storing the items moved each group's start to the start of the next group: move the
	 * starts back.
	 */
	for (uint32_t k = from->groups; k > 0; k--)
		g->starts[k] = g->starts[k - 1];
	g->starts[0] = 0;
}

bool scene_group(struct scene_groups *g, const struct scene_source *from)
{
	uint32_t *room = malloc(((size_t)from->total + 1) * sizeof(*room));
	bool ok = true;

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
	free(room);
	/* Mostly all items are sorted: one check finds that, without a check for each group. */
	if (!from->key || is_sorted(NULL, from->total, from->key, from->context))
		return true;
	for (uint32_t k = 0; ok && k < from->groups; k++)
		ok = scene_sort(g->items + g->starts[k], g->starts[k + 1] - g->starts[k], from->key, from->context);
	if (!ok)
		scene_groups_deinit(g);
	return ok;
}

void scene_groups_deinit(struct scene_groups *g)
{
	free(g->items);
	free(g->starts);
	*g = (struct scene_groups){0};
}
/* NOLINTEND(clang-analyzer-core.*) */
