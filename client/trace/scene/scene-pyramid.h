/* Where in a part of a list the smallest is, by one or several measures, in log n. */
#ifndef TRACE_SCENE_PYRAMID_H
#define TRACE_SCENE_PYRAMID_H

#include <stdbool.h>
#include <stdint.h>

#define PYRAMID_WAYS   4u  /* at most */
#define PYRAMID_LEVELS 11u /* 8^11 > 2^32 */

struct pyramid {
	uint32_t *levels
		[PYRAMID_LEVELS]; /* for eight places of the list, or of the level below: in WAYS ways the smallest one's place */
	uint32_t n;
	uint32_t ways;
	void (*keys)(const void *data, uint32_t place, uint64_t *keys);
	const void *data;
	uint64_t steps; /* looks at a place */
};

/* Over N places, of which KEYS says how large each is in each way; KEYS and DATA are lent.  False without memory.  Deinit in any case. */
bool pyramid_init(struct pyramid *p, uint32_t n, uint32_t ways,
		  void (*keys)(const void *data, uint32_t place, uint64_t *keys), const void *data);
void pyramid_deinit(struct pyramid *p);

/* The place from FROM up to TO, exclusively, FROM < TO, where WAY's key is smallest: the first of them. */
uint32_t pyramid_least(struct pyramid *p, uint32_t way, uint32_t from, uint32_t to);
/* The first place from FROM up to TO, exclusively, where WAY's key is LIMIT at most; TO where there is none. */
uint32_t pyramid_next(struct pyramid *p, uint32_t way, uint32_t from, uint32_t to, uint64_t limit);

#endif
