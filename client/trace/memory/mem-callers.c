/* Each node that allocates is followed up to the root, and its path entered from there. */
#include <stdlib.h>

#include "mem-flame.h"

/* The child of AT for the same as NODE. */
static uint32_t same(struct mprof_flame *f, struct map *map, uint32_t at, const struct mprof_flame_node *node)
{
	if (node->name != MPROF_NONE)
		return mem_flame_child(f, map, at, MEM_FLAME_NAME, node->name);
	if (node->location != MPROF_NONE)
		return mem_flame_child(f, map, at, MEM_FLAME_LOCATION, node->location);
	return mem_flame_child(f, map, at, MEM_FLAME_CODE, node->code);
}

static bool turn(struct mprof_flame *to, const struct mprof_flame *from, struct map *map)
{
	for (uint32_t i = 0; i < from->nodes.n; i++) {
		const struct mprof_flame_node *node = mem_flame_at(from, i);
		uint64_t self = node->self, allocs = node->allocs;
		uint32_t at = 0, steps = MPROF_FLAME_CALLERS_MAX;

		if (!self)
			continue;
		for (; node->parent != MPROF_NONE && steps && to->nodes.n < MPROF_PROFILE_NODES_MAX; steps--) {
			at = same(to, map, at, node);
			if (at == MPROF_NONE)
				return false;
			node = mem_flame_at(from, node->parent);
		}
		mem_flame_at(to, at)->self += self;
		mem_flame_at(to, at)->allocs += allocs;
	}
	return true;
}

struct mprof_flame *mprof_flame_callers(const struct mprof_flame *f, const struct mprof_mem *d)
{
	struct mprof_flame *to = mem_flame_new(f->seed);
	struct map map;
	bool done;

	map_init(&map, f->seed);
	done = to && turn(to, f, &map) && mem_flame_finish(to, d);
	map_deinit(&map);
	return done ? to : mprof_flame_free(to);
}
