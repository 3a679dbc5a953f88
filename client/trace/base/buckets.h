/* Items in the order of their keys, 32-bit numbers both: who belongs to whom, without a chain in the item. */
#ifndef TRACE_BUCKETS_H
#define TRACE_BUCKETS_H

#include <stdbool.h>
#include <stdint.h>

struct buckets {
	uint32_t *start; /* of each key, and the end of the last */
	uint32_t *items; /* of one key in their own order */
};

/*
 * Sort ITEMS items of DATA by what KEY says of each: a number below KEYS, or MPROF_NONE for one that is left out.  False without memory.
 * Deinit in any case.
 */
bool buckets_init(struct buckets *b, const void *data, uint32_t items, uint32_t keys,
		  uint32_t (*key)(const void *data, uint32_t i));
void buckets_deinit(struct buckets *b);

/* Those of KEY: *N of them, lent. */
static inline const uint32_t *buckets_of(const struct buckets *b, uint32_t key, uint32_t *n)
{
	*n = b->start[key + 1] - b->start[key];
	return b->items + b->start[key];
}

#endif
