/* A map from 64-bit keys to 32-bit values, which a writer of keys who does not know the seed cannot slow down. */
#ifndef TRACE_MAP_H
#define TRACE_MAP_H

#include <stdbool.h>
#include <stdint.h>

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
/* Room for EXTRA keys more; false without memory, with nothing changed. */
bool map_reserve(struct map *map, uint32_t extra);
/* The value of KEY, or MPROF_NONE. */
uint32_t map_get(const struct map *map, uint64_t key);
/* Add KEY, which is not there and for which room was reserved.  VALUE is not MPROF_NONE. */
void map_put(struct map *map, uint64_t key, uint32_t value);

/* Mix KEY with SEED so that without it nobody can tell which keys come together. */
static inline uint64_t map_mix(uint64_t key, uint64_t seed)
{
	key = (key ^ seed) * 0x9e3779b97f4a7c15;
	key = (key ^ (key >> 32)) * (seed | 1);
	key = (key ^ (key >> 29)) * 0xbf58476d1ce4e5b9;
	return key ^ (key >> 32);
}

#endif
