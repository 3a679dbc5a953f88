/*
 * A random seed for hash tables whose keys come from a trace. Nobody can write a trace whose keys
 * collide, because the seed is not known.
 */
#ifndef CTL_SEED_H
#define CTL_SEED_H

#include <stdint.h>
#include <sys/random.h>

/*
 * Return a random number. If the system has none, return the address of OWNER. Hash tables work
 * with any value.
 */
static inline uint64_t seed_new(const void *owner)
{
	uint64_t seed;

	return getrandom(&seed, sizeof(seed), 0) == sizeof(seed) ? seed : (uintptr_t)owner;
}

#endif
