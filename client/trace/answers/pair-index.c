#include "pair-index.h"

#include <stdlib.h>

#include <mprof/model.h>

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int r = compare(x->key, y->key);

	r = r ? r : compare(x->value, y->value);
	r = r ? r : compare(x->rank, y->rank);
	return r ? r : compare(x->item, y->item);
}

bool pair_index_init(struct pair_index *x, uint32_t n)
{
	x->n = 0;
	x->pairs = malloc(((size_t)n + 1) * sizeof(*x->pairs));
	return x->pairs != NULL;
}

void pair_index_deinit(struct pair_index *x)
{
	free(x->pairs);
	*x = (struct pair_index){0};
}

void pair_index_add(struct pair_index *x, struct pair pair)
{
	x->pairs[x->n++] = pair;
}

void pair_index_sort(struct pair_index *x)
{
	qsort(x->pairs, x->n, sizeof(*x->pairs), compare_pairs);
}

uint32_t pair_index_last(const struct pair_index *x, uint32_t key, uint64_t value)
{
	uint32_t low = 0, high = x->n, middle;

	/* Find the first pair behind those of KEY and VALUE. */
	while (low < high) {
		middle = low + (high - low) / 2;
		if (x->pairs[middle].key < key || (x->pairs[middle].key == key && x->pairs[middle].value <= value))
			low = middle + 1;
		else
			high = middle;
	}
	return low && x->pairs[low - 1].key == key && x->pairs[low - 1].value == value ? x->pairs[low - 1].item
										       : MPROF_NONE;
}
