/*
 * Open addressing with linear steps over at most two thirds of the room.  What is removed leaves no mark: those behind it that may stand
 * further to the front are moved there, so that a search is never longer than what lives makes it.
 *
 * Invariant: from an object's own place up to where it stands no place is free.
 */
#include "mem-live.h"

#include <stdlib.h>

#include "map.h"

#define FIRST_ROOM 1024u

void mem_live_init(struct mem_live *live, uint64_t seed)
{
	*live = (struct mem_live){.seed = seed};
}

void mem_live_deinit(struct mem_live *live)
{
	free(live->places);
	*live = (struct mem_live){.seed = live->seed};
}

static size_t place_of(const struct mem_live *live, int64_t id)
{
	return (size_t)map_mix((uint64_t)id, live->seed) & (live->room - 1);
}

struct mem_object *mem_live_find(struct mem_live *live, int64_t id)
{
	size_t at;

	if (!live->n)
		return NULL;
	for (at = place_of(live, id); live->places[at].samples; at = (at + 1) & (live->room - 1))
		if (live->places[at].id == id)
			return &live->places[at];
	return NULL;
}

void mem_live_add(struct mem_live *live, const struct mem_object *object)
{
	size_t at = place_of(live, object->id);

	while (live->places[at].samples)
		at = (at + 1) & (live->room - 1);
	live->places[at] = *object;
	live->n++;
}

bool mem_live_reserve(struct mem_live *live)
{
	struct mem_live larger = *live;
	size_t i;

	if (live->n + 1 <= live->room / 3 * 2)
		return true;
	larger.n = 0;
	larger.room = live->room ? live->room * 2 : FIRST_ROOM;
	larger.places = calloc(larger.room, sizeof(*larger.places));
	if (!larger.places)
		return false;
	for (i = 0; i < live->room; i++)
		if (live->places[i].samples)
			mem_live_add(&larger, &live->places[i]);
	free(live->places);
	*live = larger;
	return true;
}

void mem_live_remove(struct mem_live *live, struct mem_object *object)
{
	size_t mask = live->room - 1, hole = (size_t)(object - live->places), at = hole, own;

	for (;;) {
		at = (at + 1) & mask;
		if (!live->places[at].samples)
			break;
		own = place_of(live, live->places[at].id);
		/* It may stand in the hole if its own place is not behind it. */
		if (((at - own) & mask) >= ((at - hole) & mask)) {
			live->places[hole] = live->places[at];
			hole = at;
		}
	}
	live->places[hole].samples = 0;
	live->n--;
}
