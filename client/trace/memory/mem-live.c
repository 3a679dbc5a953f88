/*
 * Hash map of older objects, by open addressing with linear probing, at most two thirds full.
 *
 * A place of the map is small and holds 32 hashed bits of its object's id. So most places are in
 * the cache, and only the right object is read. An object's *own place* is the one at which a
 * search for it begins. When an object is removed, later objects that may move to the free place
 * are moved there, so searches stay short.
 *
 * Invariant: between an object's own place and the place where it is there is no free place.
 */
#include "mem-live.h"

#include <stdlib.h>
#include <string.h>

#include "map.h"

#define FIRST_ROOM  1024u
#define FREE	    UINT32_MAX
#define OBJECTS_MAX (UINT32_MAX / 4)

struct mem_live_place {
	uint32_t mixed;	 /* hash of the id; its low bits are the index of the own place */
	uint32_t object; /* index of the object; FREE: the place is free */
};

void mem_live_init(struct mem_live *live, uint64_t seed, bool detailed)
{
	*live = (struct mem_live){.seed = seed, .unused = FREE, .top = INT64_MIN, .detailed = detailed};
}

void mem_live_deinit(struct mem_live *live)
{
	free(live->young);
	free(live->young_details);
	free(live->places);
	free(live->objects);
	free(live->details);
	mem_live_init(live, live->seed, live->detailed);
}

static uint32_t mixed_of(const struct mem_live *live, int64_t id)
{
	return (uint32_t)map_mix((uint64_t)id, live->seed);
}

struct mem_object *mem_live_find_old(struct mem_live *live, int64_t id)
{
	uint32_t mixed = mixed_of(live, id);
	size_t mask = live->room - 1;

	for (size_t at = mixed & mask; live->places[at].object != FREE; at = (at + 1) & mask)
		if (live->places[at].mixed == mixed && live->objects[live->places[at].object].id == id)
			return &live->objects[live->places[at].object];
	return NULL;
}

void mem_live_prefetch_old(const struct mem_live *live, int64_t id)
{
	uint32_t mixed = mixed_of(live, id);
	const struct mem_live_place *place = &live->places[mixed & (live->room - 1)];

	/* Mostly the first place has the object. */
	if (place->object != FREE)
		__builtin_prefetch(&live->objects[place->object]);
}

static void place_take(struct mem_live *live, uint32_t mixed, uint32_t object)
{
	size_t at = mixed & (live->room - 1);

	while (live->places[at].object != FREE)
		at = (at + 1) & (live->room - 1);
	live->places[at] = (struct mem_live_place){.mixed = mixed, .object = object};
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
	/* Set all places to FREE. */
	memset(larger.places, 0xff, larger.room * sizeof(*larger.places));
	for (size_t i = 0; i < live->room; i++)
		if (live->places[i].object != FREE)
			place_take(&larger, live->places[i].mixed, live->places[i].object);
	free(live->places);
	*live = larger;
	return true;
}

static bool objects_reserve(struct mem_live *live)
{
	uint32_t room = live->objects_room + live->objects_room / 2 + FIRST_ROOM;
	struct mem_object *objects;
	struct mem_details *details;

	if (live->unused != FREE || live->used < live->objects_room)
		return true;
	if (live->used >= OBJECTS_MAX)
		return false;
	if (live->detailed) {
		details = realloc(live->details, room * sizeof(*details));
		if (!details)
			return false;
		live->details = details;
	}
	objects = realloc(live->objects, room * sizeof(*objects));
	if (!objects)
		return false;
	live->objects = objects;
	live->objects_room = room;
	return true;
}

static void add_old(struct mem_live *live, const struct mem_object *object)
{
	uint32_t i = live->unused;

	/* Take the object that was freed last: it is still in the cache. */
	if (i != FREE)
		live->unused = live->objects[i].epoch;
	else
		i = live->used++;
	live->objects[i] = *object;
	if (live->detailed)
		live->details[i] = *mem_live_details(live, object);
	place_take(live, mixed_of(live, object->id), i);
	live->n++;
	live->top = object->id > live->top ? object->id : live->top;
}

/* Allocate an empty ring. Return false without memory. */
static bool young_make(struct mem_live *live)
{
	if (live->detailed && !live->young_details)
		live->young_details = malloc(MEM_LIVE_YOUNG * sizeof(*live->young_details));
	if (live->detailed && !live->young_details)
		return false;
	live->young = calloc(MEM_LIVE_YOUNG, sizeof(*live->young));
	return live->young;
}

bool mem_live_make_free(struct mem_live *live, int64_t id)
{
	struct mem_object *object;

	if (!live->young && !young_make(live))
		return false;
	object = mem_live_place(live, id);
	if (!object->samples)
		return true;
	if (!places_reserve(live) || !objects_reserve(live))
		return false;
	add_old(live, object);
	object->samples = 0;
	return true;
}

void mem_live_remove_old(struct mem_live *live, struct mem_object *object)
{
	size_t mask = live->room - 1, at = mixed_of(live, object->id) & mask, hole, own;
	uint32_t i = (uint32_t)(object - live->objects);

	while (live->places[at].object != i)
		at = (at + 1) & mask;
	object->samples = 0;
	object->epoch = live->unused;
	live->unused = i;
	for (hole = at;;) {
		at = (at + 1) & mask;
		if (live->places[at].object == FREE)
			break;
		own = live->places[at].mixed & mask;
		/* An entry may move to the hole if its own place is not after the hole. */
		if (((at - own) & mask) >= ((at - hole) & mask)) {
			live->places[hole] = live->places[at];
			hole = at;
		}
	}
	live->places[hole].object = FREE;
	live->n--;
}

struct mem_details *mem_live_details(const struct mem_live *live, const struct mem_object *object)
{
	if (object == mem_live_place(live, object->id))
		return &live->young_details[object - live->young];
	return &live->details[object - live->objects];
}

uint32_t mem_live_end(const struct mem_live *live)
{
	return live->used + (live->young ? MEM_LIVE_YOUNG : 0);
}

const struct mem_object *mem_live_at(const struct mem_live *live, uint32_t i)
{
	const struct mem_object *object = i < live->used ? &live->objects[i] : &live->young[i - live->used];

	return object->samples ? object : NULL;
}
