/* A number that nobody who writes a trace can know: the seed of tables whose keys come from one. */
#ifndef CTL_SEED_H
#define CTL_SEED_H

#include <stdint.h>
#include <sys/random.h>

/* Without random numbers it is where OWNER lies; all is right with any. */
static inline uint64_t seed_new(const void *owner)
{
	uint64_t seed;

	return getrandom(&seed, sizeof(seed), 0) == sizeof(seed) ? seed : (uintptr_t)owner;
}

#endif
