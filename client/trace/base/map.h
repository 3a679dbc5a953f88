/*
 * A hash map from 64-bit keys to 32-bit values. A seed keeps the author of the keys from causing
 * collisions.
 */
#ifndef TRACE_MAP_H
#define TRACE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/model.h>

#include "grow.h"

struct map_entry {
	uint64_t key;
	uint32_t value; /* MPROF_NONE: empty */
};

struct map {
	struct map_entry *entries;
	uint64_t seed;
	uint32_t n;
	uint32_t room; /* a power of two, or 0 */
};

void map_init(struct map *map, uint64_t seed);
void map_deinit(struct map *map);
/* Reserve room for EXTRA more keys. Return false without memory, with nothing changed. */
bool map_reserve(struct map *map, uint32_t extra);
/* Return the value of KEY, or MPROF_NONE. */
uint32_t map_get(const struct map *map, uint64_t key);
/*
 * Add KEY, which the map does not have yet. VALUE is not MPROF_NONE. The caller has reserved room.
 */
void map_put(struct map *map, uint64_t key, uint32_t value);
/* Change the value of KEY to VALUE, which is not MPROF_NONE. Add KEY if the map does not have it; the caller has reserved room. */
void map_set(struct map *map, uint64_t key, uint32_t value);

/* Hash KEY with SEED. */
static inline uint64_t map_mix(uint64_t key, uint64_t seed)
{
	key = (key ^ seed) * 0x9e3779b97f4a7c15;
	key = (key ^ (key >> 32)) * (seed | 1);
	key = (key ^ (key >> 29)) * 0xbf58476d1ce4e5b9;
	return key ^ (key >> 32);
}

/* ---- interned strings ---- */

/*
 * Interned strings: each different text is stored once, in one arena, and has a number from 0 on.
 */

struct intern {
	struct grow list;  /* struct mprof_string */
	struct grow arena; /* char */
	/*
	 * From the hash of a text to its number in LIST. If two texts have the same hash, the
	 * second one is at the next free key.
	 */
	struct map map;
	uint64_t lost; /* texts that did not fit into an arena of 4 GiB */
};

void intern_init(struct intern *intern, uint64_t seed);
void intern_deinit(struct intern *intern);
/*
 * Add the text of BYTES bytes at TEXT, unless it is there already. Return its number, or MPROF_NONE
 * without memory. A text that does not fit gets the number of the empty text.
 */
uint32_t intern_add(struct intern *intern, const char *text, size_t bytes);

static inline const struct mprof_string *intern_at(const struct intern *intern, uint32_t i)
{
	return (const struct mprof_string *)intern->list.items + i;
}

static inline const char *intern_text(const struct intern *intern, uint32_t i)
{
	return (const char *)intern->arena.items + intern_at(intern, i)->offset;
}

#endif
