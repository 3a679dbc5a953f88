/* Sort items, 32-bit indices, by a 64-bit key. */
#ifndef TRACE_SCENE_SORT_H
#define TRACE_SCENE_SORT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * An item with its start and end, which are copied because an access to an item may miss the cache.
 */
struct scene_stretch {
	uint64_t start;
	uint64_t end;
	uint32_t item;
};

/*
 * Sort N stretches by start, then by end, stably. Linear when sorted, n log n at worst. Return
 * false without memory, with nothing changed.
 */
bool scene_sort_stretches(struct scene_stretch *s, uint32_t n);

/*
 * Sort N items by KEY, stably. Linear when sorted, n log n at worst. Return false without memory,
 * with nothing changed.
 */
bool scene_sort(uint32_t *items, uint32_t n, uint64_t (*key)(const void *context, uint32_t item), const void *context);

/* Source of TOTAL items in GROUPS groups. */
struct scene_source {
	const void *context;
	uint32_t total;
	uint32_t groups;
	uint32_t (*group)(const void *context, uint32_t item); /* UINT32_MAX: leave it out */
	uint64_t (*key)(const void *context, uint32_t item);   /* NULL: keep each group's order */
};

struct scene_groups {
	uint32_t *items;  /* by group, then by key */
	uint32_t *starts; /* start of each group; the last item is the end */
	uint32_t n;
};

/* Group and sort items. Return false without memory, with nothing to free. */
bool scene_group(struct scene_groups *g, const struct scene_source *from);
void scene_groups_deinit(struct scene_groups *g);

#endif
