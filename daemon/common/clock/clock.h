/* Read the clocks, in nanoseconds. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t); /* cannot fail for the clocks below */
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_mono(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_real(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/* The same moment on two clocks of this machine, in nanoseconds. */
struct moment {
	uint64_t mono;
	uint64_t real;
};

static inline struct moment moment_now(void)
{
	return (struct moment){.mono = clock_mono(), .real = clock_real()};
}

#endif
