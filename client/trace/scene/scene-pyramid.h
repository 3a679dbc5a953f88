/*
 * A pyramid finds the smallest item of any range of a list in log n, by one or several keys. An
 * item is named by its place in the list, from 0.
 */
#ifndef TRACE_SCENE_PYRAMID_H
#define TRACE_SCENE_PYRAMID_H

#include <stdbool.h>
#include <stdint.h>

#define PYRAMID_WAYS   4u  /* largest number of keys of an item */
#define PYRAMID_LEVELS 11u /* 8^11 > 2^32 */

struct pyramid {
	/*
	 * Level 0 has an entry for each eight places of the list, every other level for each eight
	 * entries of the level below. An entry has, for each of the WAYS keys, the place with the
	 * smallest key.
	 */
	uint32_t *levels[PYRAMID_LEVELS];
	uint32_t n;
	uint32_t ways;
	void (*keys)(const void *context, uint32_t place, uint64_t *keys);
	const void *context;
	uint64_t steps; /* number of accesses to a place so far */
};

/*
 * Build a pyramid over N places. KEYS stores the WAYS keys of a place; KEYS and CONTEXT must
 * outlive P. Return false without memory. Call pyramid_deinit() in any case.
 */
bool pyramid_init(struct pyramid *p, uint32_t n, uint32_t ways,
		  void (*keys)(const void *context, uint32_t place, uint64_t *keys), const void *context);
void pyramid_deinit(struct pyramid *p);

/*
 * Return the place from FROM up to, but not including, TO with the smallest key number WAY; the
 * first one if several have it. FROM < TO.
 */
uint32_t pyramid_least(struct pyramid *p, uint32_t way, uint32_t from, uint32_t to);

#endif
