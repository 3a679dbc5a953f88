/*
 * Read the clocks, in nanoseconds, and wait. Only this file and timer.c of common call the system for a time
 * (tests/lint/arrows).
 *
 * In a build with the option test-clock a test can move all clocks of a daemon forward: they are then clock_ahead
 * ahead of the machine's. No other build has that. A unit test that is compiled with COMMON_OWN_CLOCK has clocks of its
 * own, which only it moves: what it simulates then does not depend on how fast the machine is.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/timex.h>
#include <time.h>

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

#ifdef COMMON_TEST_CLOCK
extern _Atomic uint64_t clock_ahead;
#define CLOCK_SLICE_NS (10 * NS_PER_MS) /* a wait looks for a moved clock again after this time */
#endif

#ifdef COMMON_OWN_CLOCK
#define CLOCK_LOOK_NS 100u /* a look at the clock takes this time */
extern uint64_t clock_own; /* all clocks of the test, ns */
#endif

/* Return how far the clocks of this process are ahead of the machine's, ns. */
static inline uint64_t clock_ahead_ns(void)
{
#ifdef COMMON_TEST_CLOCK
	return atomic_load_explicit(&clock_ahead, memory_order_relaxed);
#else
	return 0;
#endif
}

static inline uint64_t clock_ns(clockid_t id)
{
#ifdef COMMON_OWN_CLOCK
	(void)id;
	return clock_own += CLOCK_LOOK_NS;
#else
	struct timespec t;

	clock_gettime(id, &t); /* cannot fail for the clocks below */
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
#endif
}

static inline uint64_t clock_mono(void)
{
	return clock_ns(CLOCK_MONOTONIC) + clock_ahead_ns();
}

static inline uint64_t clock_real(void)
{
	return clock_ns(CLOCK_REALTIME) + clock_ahead_ns();
}

/* Return CLOCK_BOOTTIME: as CLOCK_MONOTONIC, and it also counts the time in which the machine was suspended. */
static inline uint64_t clock_boottime(void)
{
	return clock_ns(CLOCK_BOOTTIME) + clock_ahead_ns();
}

/* Return whether the kernel says that CLOCK_REALTIME is synchronised with other clocks, by NTP or PTP. */
static inline bool clock_is_synchronised(void)
{
	struct timex t = {0}; /* modes 0: only read */
	int state = adjtimex(&t);

	return state >= 0 && state != TIME_ERROR && !(t.status & STA_UNSYNC);
}

/* Return CLOCK_REALTIME in seconds. */
static inline uint64_t clock_real_seconds(void)
{
	return clock_real() / NS_PER_S;
}

/* Return how long this thread has used a processor, ns. */
static inline uint64_t clock_thread(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
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

/* Sleep for NS nanoseconds, or until a signal. */
static inline void clock_sleep(uint64_t ns)
{
#ifdef COMMON_TEST_CLOCK
	const struct timespec slice = {.tv_nsec = CLOCK_SLICE_NS};
	uint64_t until = clock_mono() + ns;

	while (clock_mono() + CLOCK_SLICE_NS < until)
		if (nanosleep(&slice, NULL) < 0)
			return;
	ns = until > clock_mono() ? until - clock_mono() : 0;
#endif
	nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)}, NULL);
}

/* Call poll() for one descriptor, until the time UNTIL (CLOCK_MONOTONIC ns). Return what poll() does. */
static inline int clock_poll(struct pollfd *fd, uint64_t until)
{
	uint64_t left, slice;
	int r;

	do {
		const uint64_t now = clock_mono();

		slice = left = until > now ? until - now : 0;
#ifdef COMMON_TEST_CLOCK
		slice = left < CLOCK_SLICE_NS ? left : CLOCK_SLICE_NS;
#endif
		r = poll(fd, 1, slice ? (int)(slice / NS_PER_MS) + 1 : 0);
	} while (r == 0 && slice < left);
	return r;
}

/* Initialise a condition for clock_wait(). */
static inline void clock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
}

/*
 * Wait for COND until the time UNTIL (CLOCK_MONOTONIC ns). It may return earlier, so the caller checks what it
 * waits for.
 */
static inline void clock_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until)
{
	struct timespec t;
	int r;

	do {
		uint64_t ahead = clock_ahead_ns(), at = until > ahead ? until - ahead : 0;

#ifdef COMMON_TEST_CLOCK
		uint64_t slice = clock_ns(CLOCK_MONOTONIC) + CLOCK_SLICE_NS;

		at = at < slice ? at : slice;
#endif
		t = (struct timespec){.tv_sec = (time_t)(at / NS_PER_S), .tv_nsec = (long)(at % NS_PER_S)};
		r = pthread_cond_timedwait(cond, mutex, &t);
	} while (r == ETIMEDOUT && clock_mono() < until);
}

#endif
