/*
 * Levels of live samples.
 *
 * Nobody knows at first how many allocations will come. So moments begin close together; when there is no room for a
 * further one, every second is dropped, and the distance doubles.
 */
#include "mem-levels.h"

#include <stdlib.h>
#include <string.h>

#include "wide.h"

#define FIRST_INTERVAL 32u

void mem_levels_deinit(struct mem_levels *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		free(l->levels[i].live);
	*l = (struct mem_levels){0};
}

/* Return the item of CODE. */
static uint32_t item_of(uint32_t code)
{
	return code == MPROF_NONE ? 0 : code == MPROF_CODE_TRUNCATED ? 1 : code == MPROF_CODE_UNKNOWN ? 2 : code + 3;
}

static void halve(struct mem_levels *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		if (i % 2)
			l->levels[i / 2] = l->levels[i];
		else
			free(l->levels[i].live);
	}
	l->n /= 2;
	l->interval *= 2;
}

static bool fill(struct mem_level *level, const struct mem_tree *t)
{
	const struct mem_node *nodes = t->nodes.items;
	uint32_t item;

	level->n = 3;
	for (uint32_t i = 0; i < t->nodes.n; i++) {
		item = item_of(nodes[i].code);
		level->n = nodes[i].live && item >= level->n ? item + 1 : level->n;
	}
	level->live = calloc(level->n, sizeof(*level->live));
	if (!level->live)
		return false;
	for (uint32_t i = 0; i < t->nodes.n; i++)
		if (nodes[i].live)
			level->live[item_of(nodes[i].code)] += nodes[i].live;
	return true;
}

bool mem_levels_take(struct mem_levels *l, const struct mem_tree *t, uint64_t allocs)
{
	if (!l->interval)
		l->interval = l->next = FIRST_INTERVAL;
	/* A batch may pass several moments at once: they have the samples of its end. */
	for (; allocs >= l->next; l->next += l->interval) {
		if (l->n == MEM_LEVELS_MAX) {
			halve(l);
			l->next = (l->n + 1) * l->interval;
			if (allocs < l->next)
				return true;
		}
		if (!fill(&l->levels[l->n], t))
			return false;
		l->n++;
	}
	return true;
}

uint64_t mem_levels_at(const struct mem_levels *l, uint32_t code, uint64_t allocs, uint32_t part, uint32_t parts)
{
	const struct mem_level *level = NULL;

	/* Moment I is behind I + 1 intervals. */
	for (uint32_t i = 0; i < l->n && !wide_less(allocs, part, (i + 1) * l->interval, parts); i++)
		level = &l->levels[i];
	return level && item_of(code) < level->n ? level->live[item_of(code)] : 0;
}
