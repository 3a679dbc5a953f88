/* Numbers of a seed: the same on every machine. */
#ifndef JUDGE_RANDOM_H
#define JUDGE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15u);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Return a number below N, which is at least 1. */
static inline unsigned random_below(struct random *r, unsigned n)
{
	return (unsigned)(random_next(r) % n);
}

/* Return a number from LEAST to MOST. */
static inline unsigned random_from(struct random *r, unsigned least, unsigned most)
{
	return least + random_below(r, most - least + 1);
}

/* Return true in PERCENT of 100 calls. */
static inline bool random_chance(struct random *r, unsigned percent)
{
	return random_below(r, 100) < percent;
}

#endif
