/*
 * A counting sort.
 *
 * Invariant: START[k] up to START[k + 1] are the places of key k in ITEMS, and START[keys] is how many there are.
 */
#include <stdlib.h>

#include <mprof/model.h>

#include "buckets.h"

static void count(struct buckets *b, const void *data, uint32_t items, uint32_t keys,
		  uint32_t (*key)(const void *data, uint32_t i))
{
	uint32_t i, k, sum = 0, n;

	for (i = 0; i < items; i++) {
		k = key(data, i);
		if (k != MPROF_NONE)
			b->start[k]++;
	}
	for (k = 0; k <= keys; k++) {
		n = b->start[k];
		b->start[k] = sum;
		sum += n;
	}
}

bool buckets_init(struct buckets *b, const void *data, uint32_t items, uint32_t keys,
		  uint32_t (*key)(const void *data, uint32_t i))
{
	uint32_t i, k;

	b->start = calloc((size_t)keys + 1, sizeof(*b->start));
	b->items = malloc(((size_t)items + 1) * sizeof(*b->items));
	if (!b->start || !b->items)
		return false;
	count(b, data, items, keys, key);
	for (i = 0; i < items; i++) {
		k = key(data, i);
		if (k != MPROF_NONE)
			b->items[b->start[k]++] = i;
	}
	/* Each start stands where the next one was. */
	for (k = keys; k > 0; k--)
		b->start[k] = b->start[k - 1];
	b->start[0] = 0;
	return true;
}

void buckets_deinit(struct buckets *b)
{
	free(b->start);
	free(b->items);
	*b = (struct buckets){0};
}
