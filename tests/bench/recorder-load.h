/* Shared by the programs that record the same event many times: ours, compiled out, and LTTng's. */
#ifndef RECORDER_LOAD_H
#define RECORDER_LOAD_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* A tenth of the events comes first, without being measured: caches, pages, first calls. */
#define WARM 10

/*
 * Define the function NAME, which runs RECORD for each i from FIRST to before END. Callgrind counts its
 * instructions.
 */
#define LOOP(name, record)                                              \
	void name(int64_t first, int64_t end);                          \
	__attribute__((noinline)) void name(int64_t first, int64_t end) \
	{                                                               \
		for (int64_t i = first; i < end; i++) {                 \
			record;                                         \
			__asm__ volatile("" : "+r"(i) : : "memory");    \
		}                                                       \
	}

/* recorder-load-off.c: with MPROF_RECORDER_OFF */
void loop_off(int64_t first, int64_t end);

/* Return the processor time of the thread, ns: other programs do not count. */
static inline uint64_t load_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Let LOOP record EVENTS events, numbered from 0. Print the nanoseconds of one. */
static inline void measure(void (*loop)(int64_t first, int64_t end), int64_t events)
{
	int64_t first = events / WARM;
	uint64_t began;

	loop(0, first);
	began = load_now();
	loop(first, events);
	printf("%.3f\n", (double)(load_now() - began) / (double)(events - first));
}

#endif
