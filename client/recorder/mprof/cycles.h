/*
 * The time of CLOCK_MONOTONIC from the processor's time stamp counter, for Linux on x86: reading the
 * counter costs less than half of clock_gettime(). The functions read CLOCK_MONOTONIC itself if the counter
 * cannot be trusted, or may not be read.
 *
 * The counter is used if Linux's own clock source is `tsc`, or if Xen says that the counter is reliable
 * and not emulated, and if prctl(PR_SET_TSC) does not forbid it. A program that forbids it later says so
 * before that (mprof_cycles_forbid()).
 *
 * The counter's rate is not known at first: until some calls over four milliseconds have found it, each call reads
 * CLOCK_MONOTONIC. Nothing here waits.
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
	uint64_t rate;	/* nanoseconds of a cycle, times 2^32; 0 = not known yet */
	uint64_t slope; /* the rate at which the time goes on: below RATE while NS is ahead of the clock */
	uint64_t limit; /* cycles after AT from which on the clock must be asked again */
	uint64_t exact; /* time of CLOCK_MONOTONIC at AT; NS may be a little later */
	uint64_t other; /* rate that was seen last and differed much from RATE; 0 = none */
	uint64_t floor; /* no time that was returned before NS is later */
};

/*
 * Find out whether the counter can be used, by reading a file of Linux and by asking Xen. Return whether it is
 * used.
 */
bool mprof_cycles_init(struct mprof_cycles *cycles);

/*
 * mprof_cycles_init() in two parts, for a program that asks once for many processes. mprof_cycles_usable()
 * returns whether Linux or Xen say that the counter can be trusted. mprof_cycles_begin() takes that answer as USABLE; the counter
 * is used if it is true and prctl(PR_SET_TSC) does not forbid it. It makes one system call and keeps errno. No
 * other thread may use CYCLES during the call.
 */
bool mprof_cycles_usable(void);
void mprof_cycles_begin(struct mprof_cycles *cycles, bool usable);

/*
 * The program is about to forbid a thread to read the counter, by prctl(PR_SET_TSC): from now on read
 * CLOCK_MONOTONIC, by a system call, because clock_gettime() reads the counter, too. The first such time may be earlier
 * than the last one before, by less than a microsecond. Any thread may call it.
 */
void mprof_cycles_forbid(struct mprof_cycles *cycles);

/*
 * Return the time in nanoseconds: that of CLOCK_MONOTONIC within a microsecond. In one thread it never
 * goes back. CYCLES is a struct mprof_cycles that mprof_cycles_init() or
 * mprof_cycles_begin() has initialised, or that is zeroed: then the counter is not used. Any thread and
 * any signal handler may call it.
 */
uint64_t mprof_cycles_now(void *cycles);

#ifdef __cplusplus
}
#endif

#endif
