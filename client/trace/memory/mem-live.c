/*
 * Places are small and found by open addressing, with linear steps over at most two thirds of the room; what is known of an object stands elsewhere,
 * so that a search passes few lines of the cache.  What is removed leaves no mark: those behind it that may stand further to the front are moved
 * there, so that a search is never longer than what lives makes it.
 *
 * Invariant: from an object's own place up to where it stands no place is free.
 */
#include "mem-live.h"

#include <stdlib.h>
#include <string.h>

#include "map.h"

#define FIRST_ROOM  1024u
#define FREE	    UINT32_MAX
#define OBJECTS_MAX (UINT32_MAX / 2)

struct mem_live_place {
	int64_t id;
	uint32_t object; /* FREE: none */
};

void mem_live_init(struct mem_live *live, uint64_t seed)
{
	*live = (struct mem_live){.seed = seed, .unused = FREE};
}

void mem_live_deinit(struct mem_live *live)
{
	free(live->places);
	free(live->objects);
	mem_live_init(live, live->seed);
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
	for (at = place_of(live, id); live->places[at].object != FREE; at = (at + 1) & (live->room - 1))
		if (live->places[at].id == id)
			return &live->objects[live->places[at].object];
	return NULL;
}

static void place_take(struct mem_live *live, int64_t id, uint32_t object)
{
	size_t at = place_of(live, id);

	while (live->places[at].object != FREE)
		at = (at + 1) & (live->room - 1);
	live->places[at] = (struct mem_live_place){.id = id, .object = object};
}

void mem_live_add(struct mem_live *live, const struct mem_object *object)
{
	uint32_t i = live->unused;

	/* What was used last is in the cache still. */
	if (i != FREE)
		live->unused = live->objects[i].node;
	else
		i = live->used++;
	live->objects[i] = *object;
	place_take(live, object->id, i);
	live->n++;
}

static bool places_reserve(struct mem_live *live)
{
	struct mem_live larger = *live;

	if (live->n + 1 <= live->room / 3 * 2)
		return true;
	larger.room = live->room ? live->room * 2 : FIRST_ROOM;
	larger.places = malloc(larger.room * sizeof(*larger.places));
	if (!larger.places)
		return false;
	/* All of them FREE. */
	memset(larger.places, 0xff, larger.room * sizeof(*larger.places));
	for (size_t i = 0; i < live->room; i++)
		if (live->places[i].object != FREE)
			place_take(&larger, live->places[i].id, live->places[i].object);
	free(live->places);
	*live = larger;
	return true;
}

bool mem_live_reserve(struct mem_live *live)
{
	uint32_t room = live->objects_room + live->objects_room / 2 + FIRST_ROOM;
	struct mem_object *objects;

	if (!places_reserve(live))
		return false;
	if (live->unused != FREE || live->used < live->objects_room)
		return true;
	objects = live->used < OBJECTS_MAX ? realloc(live->objects, room * sizeof(*objects)) : NULL;
	if (!objects)
		return false;
	live->objects = objects;
	live->objects_room = room;
	return true;
}

void mem_live_remove(struct mem_live *live, struct mem_object *object)
{
	size_t mask = live->room - 1, at = place_of(live, object->id), hole, own;

	while (live->places[at].object == FREE || live->places[at].id != object->id)
		at = (at + 1) & mask;
	object->samples = 0;
	object->node = live->unused;
	live->unused = live->places[at].object;
	for (hole = at;;) {
		at = (at + 1) & mask;
		if (live->places[at].object == FREE)
			break;
		own = place_of(live, live->places[at].id);
		/* It may stand in the hole if its own place is not behind it. */
		if (((at - own) & mask) >= ((at - hole) & mask)) {
			live->places[hole] = live->places[at];
			hole = at;
		}
	}
	live->places[hole].object = FREE;
	live->n--;
}
