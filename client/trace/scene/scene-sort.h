/* Sort items, 32-bit indices, by a 64-bit key. */
#ifndef TRACE_SCENE_SORT_H
#define TRACE_SCENE_SORT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * An item with its start and end. The times are copied from the item, because each access to an
 * item may miss the cache.
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

/* Items to group: the indices below TOTAL, in groups numbered from 0 up to GROUPS - 1. */
struct scene_source {
	const void *context;
	uint32_t total;
	uint32_t groups;
	/* Return the item's group; UINT32_MAX: leave the item out. */
	uint32_t (*group)(const void *context, uint32_t item);
	/* Return the item's key; NULL: keep the order of items in each group. */
	uint64_t (*key)(const void *context, uint32_t item);
};

struct scene_groups {
	uint32_t *items;  /* by group, then by key */
	uint32_t *starts; /* for each group the position of its first item in ITEMS; one more item is the end */
	uint32_t n;
};

/*
 * Group the items of FROM, and sort each group by key. Return false without memory; then there is
 * nothing to free.
 */
bool scene_group(struct scene_groups *g, const struct scene_source *from);
void scene_groups_deinit(struct scene_groups *g);

#endif
