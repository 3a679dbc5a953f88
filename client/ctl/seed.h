/*
 * A random seed for hash tables whose keys come from a trace. The writer of a trace cannot guess
 * it.
 */
#ifndef CTL_SEED_H
#define CTL_SEED_H

#include <stdint.h>
#include <sys/random.h>

/* Return a random number, or the address of OWNER if the system has none. Any value is correct. */
static inline uint64_t seed_new(const void *owner)
{
	uint64_t seed;

	return getrandom(&seed, sizeof(seed), 0) == sizeof(seed) ? seed : (uintptr_t)owner;
}

#endif
