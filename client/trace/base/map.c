/*
 * Hash map with open addressing and linear probing, at most three quarters full.
 *
 * A recorder counts ids up. The entries of consecutive keys begin next to each other, so they share
 * cache lines.
 *
 * Invariant: an entry with the value MPROF_NONE is empty. There is always an empty entry, at which
 * a search ends.
 */
#include "map.h"

#include <stdlib.h>
#include <string.h>

#include <mprof/model.h>

#define MAP_FIRST 64u
#define MAP_MAX	  (1u << 31)

void map_init(struct map *map, uint64_t seed)
{
	*map = (struct map){.seed = seed};
}

void map_deinit(struct map *map)
{
	free(map->entries);
	*map = (struct map){0};
}

#define TOGETHER_BITS 2u

static uint32_t home_of(const struct map *map, uint64_t key)
{
	uint64_t mixed = map_mix(key >> TOGETHER_BITS, map->seed) << TOGETHER_BITS;

	return (uint32_t)(mixed | (key & ((1u << TOGETHER_BITS) - 1))) & (map->room - 1);
}

static void place(struct map *map, uint64_t key, uint32_t value)
{
	uint32_t mask = map->room - 1, at = home_of(map, key);

	while (map->entries[at].value != MPROF_NONE)
		at = (at + 1) & mask;
	map->entries[at] = (struct map_entry){.key = key, .value = value};
}

bool map_reserve(struct map *map, uint32_t extra)
{
	struct map old = *map;
	uint64_t need = (uint64_t)map->n + extra, room = map->room ? map->room : MAP_FIRST;

	while (need > room / 4 * 3)
		room *= 2;
	if (room == map->room)
		return true;
	if (room > MAP_MAX || room > SIZE_MAX / sizeof(*map->entries))
		return false;
	map->entries = malloc((size_t)room * sizeof(*map->entries));
	if (!map->entries) {
		map->entries = old.entries;
		return false;
	}
	map->room = (uint32_t)room;
	memset(map->entries, 0xff, (size_t)room * sizeof(*map->entries)); /* all values MPROF_NONE */
	for (uint32_t i = 0; i < old.room; i++)
		if (old.entries[i].value != MPROF_NONE)
			place(map, old.entries[i].key, old.entries[i].value);
	free(old.entries);
	return true;
}

uint32_t map_get(const struct map *map, uint64_t key)
{
	uint32_t mask = map->room - 1, at = home_of(map, key);

	if (!map->room)
		return MPROF_NONE;
	while (map->entries[at].value != MPROF_NONE && map->entries[at].key != key)
		at = (at + 1) & mask;
	return map->entries[at].value;
}

void map_put(struct map *map, uint64_t key, uint32_t value)
{
	place(map, key, value);
	map->n++;
}

void map_set(struct map *map, uint64_t key, uint32_t value)
{
	uint32_t mask = map->room - 1, at = home_of(map, key);

	while (map->entries[at].value != MPROF_NONE && map->entries[at].key != key)
		at = (at + 1) & mask;
	map->n += map->entries[at].value == MPROF_NONE;
	map->entries[at] = (struct map_entry){.key = key, .value = value};
}

/* ---- interned strings ---- */

/*
 * Interned strings.
 *
 * A trace repeats few texts very often (`gntref`, names of tasks). To compare two interned texts,
 * compare their numbers.
 *
 * Invariant: after the first intern_add() string 0 is the empty text. It also stands for a text
 * that does not fit.
 */

void intern_init(struct intern *intern, uint64_t seed)
{
	*intern = (struct intern){0};
	map_init(&intern->map, seed);
}

void intern_deinit(struct intern *intern)
{
	grow_deinit(&intern->list);
	grow_deinit(&intern->arena);
	map_deinit(&intern->map);
}

static uint64_t hash(const struct intern *intern, const char *text, size_t bytes)
{
	uint64_t h = map_mix(bytes, intern->map.seed), word;

	for (; bytes >= 8; text += 8, bytes -= 8) {
		memcpy(&word, text, 8);
		h = map_mix(h ^ word, intern->map.seed);
	}
	if (!bytes)
		return h;
	word = 0;
	memcpy(&word, text, bytes);
	return map_mix(h ^ word, intern->map.seed);
}

static bool equal(const struct intern *intern, uint32_t i, const char *text, size_t bytes)
{
	return intern_at(intern, i)->bytes == bytes && (!bytes || !memcmp(intern_text(intern, i), text, bytes));
}

static uint32_t append(struct intern *intern, uint64_t key, const char *text, size_t bytes)
{
	struct mprof_string *string;

	if (!map_reserve(&intern->map, 1) || !grow_reserve(&intern->list, sizeof(*string), 1) ||
	    !grow_reserve(&intern->arena, 1, (uint32_t)bytes))
		return MPROF_NONE;
	string = grow_take(&intern->list, sizeof(*string));
	*string = (struct mprof_string){.offset = intern->arena.n, .bytes = (uint32_t)bytes};
	if (bytes)
		memcpy((char *)intern->arena.items + intern->arena.n, text, bytes);
	intern->arena.n += (uint32_t)bytes;
	map_put(&intern->map, key, intern->list.n - 1);
	return intern->list.n - 1;
}

uint32_t intern_add(struct intern *intern, const char *text, size_t bytes)
{
	uint64_t key = hash(intern, text, bytes);
	uint32_t i;

	if (!intern->list.n && append(intern, hash(intern, "", 0), "", 0) == MPROF_NONE)
		return MPROF_NONE;
	while ((i = map_get(&intern->map, key)) != MPROF_NONE) {
		if (equal(intern, i, text, bytes))
			return i;
		key++;
	}
	if (bytes > UINT32_MAX - 1 - intern->arena.n) {
		intern->lost++;
		return 0;
	}
	return append(intern, key, text, bytes);
}
