/* Items, as 32-bit indices, in the order of a 64-bit key. */
#ifndef TRACE_SCENE_SORT_H
#define TRACE_SCENE_SORT_H

#include <stdbool.h>
#include <stdint.h>

/* An item with when it began and ended: kept beside it while it is sorted, since a look at an item may be a wait for memory. */
struct scene_stretch {
	uint64_t start;
	uint64_t end;
	uint32_t item;
};

/*
 * Put N stretches in the order of their starts, then of their ends; equal ones stay in their order.  Takes n if they are sorted, n log n at worst.
 * False without memory, with nothing changed.
 */
bool scene_sort_stretches(struct scene_stretch *s, uint32_t n);

/*
 * Sort N items by what KEY says of each; those of one key stay in their order.  Takes n if they are sorted, n log n at worst.  False without
 * memory, with nothing changed.
 */
bool scene_sort(uint32_t *items, uint32_t n, uint64_t (*key)(const void *data, uint32_t item), const void *data);

/* Where items come from: TOTAL of them, in GROUPS groups. */
struct scene_source {
	const void *data;
	uint32_t total;
	uint32_t groups;
	uint32_t (*group)(const void *data, uint32_t item); /* below GROUPS, or UINT32_MAX to leave it out */
	uint64_t (*key)(const void *data, uint32_t item);   /* NULL: a group's items stay in their order */
};

struct scene_groups {
	uint32_t *items;  /* by group, in a group by key */
	uint32_t *starts; /* of each group, and the end of the last */
	uint32_t n;
};

/* False without memory, with nothing to free then. */
bool scene_group(struct scene_groups *g, const struct scene_source *from);
void scene_groups_deinit(struct scene_groups *g);

#endif
