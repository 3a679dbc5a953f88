/* Range minimum of a list, by one or several keys, in log n. */
#ifndef TRACE_SCENE_PYRAMID_H
#define TRACE_SCENE_PYRAMID_H

#include <stdbool.h>
#include <stdint.h>

#define PYRAMID_WAYS   4u  /* at most */
#define PYRAMID_LEVELS 11u /* 8^11 > 2^32 */

struct pyramid {
	/*
	 * For each eight places of the list, or of the level below: the place of the smallest, for
	 * each of WAYS keys.
	 */
	uint32_t *levels[PYRAMID_LEVELS];
	uint32_t n;
	uint32_t ways;
	void (*keys)(const void *context, uint32_t place, uint64_t *keys);
	const void *context;
	uint64_t steps; /* number of accesses to a place */
};

/*
 * Build over N places. KEYS returns the keys of a place; KEYS and CONTEXT must outlive P. Return false
 * without memory. Call pyramid_deinit() in any case.
 */
bool pyramid_init(struct pyramid *p, uint32_t n, uint32_t ways,
		  void (*keys)(const void *context, uint32_t place, uint64_t *keys), const void *context);
void pyramid_deinit(struct pyramid *p);

/*
 * Return the first place with the smallest key WAY from FROM up to, but not including, TO. FROM <
 * TO.
 */
uint32_t pyramid_least(struct pyramid *p, uint32_t way, uint32_t from, uint32_t to);

#endif
