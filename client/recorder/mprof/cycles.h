/*
 * The time of CLOCK_MONOTONIC from the processor's time stamp counter, for Linux on x86: reading the
 * counter costs less than half of clock_gettime(). The functions read CLOCK_MONOTONIC itself if the counter
 * cannot be trusted, or may not be read.
 *
 * The counter is used if Linux's own clock source is `tsc`, or if Xen says that the counter is reliable
 * and not emulated, and if prctl(PR_SET_TSC) does not forbid it. A program that forbids it later must
 * use another clock.
 *
 *	static struct mprof_cycles cycles;
 *
 *	mprof_cycles_init(&cycles);
 *	mprof_recorder_init(&recorder, memory, size, 0, mprof_cycles_now, &cycles);
 */
#ifndef MPROF_CYCLES_H
#define MPROF_CYCLES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The state, which any number of threads share. The caller allocates it and leaves the fields alone. */
struct mprof_cycles {
	uint32_t version; /* odd: a thread changes the fields below */
	bool counter;	  /* the counter is used */
	bool forbidden;	  /* the counter may not be read, so clock_gettime() may not be called either */
	uint64_t at;	  /* the counter when NS was right */
	uint64_t ns;
	uint64_t rate;	/* nanoseconds of a cycle, times 2^32 */
	uint64_t slope; /* the rate at which the time goes on: below RATE while NS is ahead of the clock */
	uint64_t limit; /* cycles after AT from which on the clock must be asked again */
	uint64_t exact; /* time of CLOCK_MONOTONIC at AT; NS may be a little later */
	uint64_t other; /* rate that was seen last and differed much from RATE; 0 = none */
	uint64_t floor; /* no time that was returned before NS is later */
};

/*
 * Find out whether the counter can be used, and how fast it is; this takes two milliseconds. Return
 * whether it is used.
 */
bool mprof_cycles_init(struct mprof_cycles *cycles);

/*
 * Return the time in nanoseconds: that of CLOCK_MONOTONIC within a microsecond. In one thread it never
 * goes back. CYCLES is a struct mprof_cycles that mprof_cycles_init() has initialised. Any thread and
 * any signal handler may call it.
 */
uint64_t mprof_cycles_now(void *cycles);

#ifdef __cplusplus
}
#endif

#endif
