/*
 * A tree with eight children per node.
 *
 * Invariant: entry I of level L, for a key, is the first place with the smallest key among the 8^(L
 * + 1) places from I * 8^(L + 1) on, as far as they exist.
 */
#include <stdlib.h>

#include "scene-pyramid.h"

#define SHIFT 3u
#define EIGHT (1u << SHIFT)

static uint32_t entries(uint32_t n, unsigned level)
{
	return (uint32_t)(((uint64_t)n + (UINT64_C(1) << (SHIFT * (level + 1))) - 1) >> (SHIFT * (level + 1)));
}

/*
 * Return the place that entry I of level LEVEL - 1 names for key WAY; for LEVEL 0 the place I
 * itself.
 */
static uint32_t place_at(const struct pyramid *p, uint32_t way, unsigned level, uint32_t i)
{
	return level ? p->levels[level - 1][(size_t)i * p->ways + way] : i;
}

static uint64_t key_of(const struct pyramid *p, uint32_t way, uint32_t place)
{
	uint64_t keys[PYRAMID_WAYS];

	p->keys(p->context, place, keys);
	return keys[way];
}

static uint64_t look(struct pyramid *p, uint32_t way, uint32_t place)
{
	p->steps++;
	return key_of(p, way, place);
}

/*
 * Fill entry I of the lowest level for all keys at once, because accessing a place costs more than
 * comparing.
 */
static void fill_lowest(struct pyramid *p, uint32_t i)
{
	uint32_t way, k, end = p->n - i * EIGHT < EIGHT ? p->n : i * EIGHT + EIGHT,
			 *best = p->levels[0] + (size_t)i * p->ways;
	uint64_t least[PYRAMID_WAYS], keys[PYRAMID_WAYS];

	for (k = i * EIGHT; k < end; k++) {
		p->keys(p->context, k, keys);
		for (way = 0; way < p->ways; way++)
			if (k == i * EIGHT || keys[way] < least[way]) {
				least[way] = keys[way];
				best[way] = k;
			}
	}
}

static void fill(struct pyramid *p, unsigned level, uint32_t i, uint32_t below)
{
	uint32_t end = below - i * EIGHT < EIGHT ? below : i * EIGHT + EIGHT;

	for (uint32_t way = 0; way < p->ways; way++) {
		uint32_t best = place_at(p, way, level, i * EIGHT);
		uint64_t least = key_of(p, way, best);

		for (uint32_t k = i * EIGHT + 1; k < end; k++) {
			uint32_t place = place_at(p, way, level, k);
			uint64_t key = key_of(p, way, place);

			if (key < least) {
				least = key;
				best = place;
			}
		}
		p->levels[level][(size_t)i * p->ways + way] = best;
	}
}

bool pyramid_init(struct pyramid *p, uint32_t n, uint32_t ways,
		  void (*keys)(const void *context, uint32_t place, uint64_t *keys), const void *context)
{
	uint32_t below = n, count;

	*p = (struct pyramid){.n = n, .ways = ways, .keys = keys, .context = context};
	for (unsigned level = 0; below > EIGHT; level++, below = count) {
		count = entries(n, level);
		p->levels[level] = malloc((size_t)count * ways * sizeof(uint32_t));
		if (!p->levels[level])
			return false;
		for (uint32_t i = 0; i < count; i++)
			if (level)
				fill(p, level, i, below);
			else
				fill_lowest(p, i);
	}
	return true;
}

void pyramid_deinit(struct pyramid *p)
{
	for (unsigned level = 0; level < PYRAMID_LEVELS; level++)
		free(p->levels[level]);
	*p = (struct pyramid){0};
}

/*
 * Return 1 + the highest level with an entry that begins at place FROM and does not reach beyond
 * TO; 0 if there is none.
 */
static unsigned level_at(const struct pyramid *p, uint32_t from, uint32_t to)
{
	unsigned level = 0;

	while (level < PYRAMID_LEVELS && p->levels[level] && !(from & ((UINT64_C(1) << (SHIFT * (level + 1))) - 1)) &&
	       (uint64_t)from + (UINT64_C(1) << (SHIFT * (level + 1))) <= to)
		level++;
	return level;
}

uint32_t pyramid_least(struct pyramid *p, uint32_t way, uint32_t from, uint32_t to)
{
	uint32_t best = from, place;
	uint64_t least = look(p, way, from), key;
	unsigned level;

	for (; from < to; from += UINT32_C(1) << (SHIFT * level)) {
		level = level_at(p, from, to);
		place = place_at(p, way, level, from >> (SHIFT * level));
		key = look(p, way, place);
		if (key < least) {
			least = key;
			best = place;
		}
	}
	return best;
}
