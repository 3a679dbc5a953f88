/*
 * Time from a time stamp counter: within a microsecond of the clock while that is slewed, never backward,
 * right again after a suspension and after a migration to another host, and from several threads. And
 * Xen's system time.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <mprof/pvclock.h>

#include "check.h"

#define CYCLES_TEST

/* A simulated machine: the moment NOW (ns of an ideal clock), a counter and a clock. */
static struct {
	double now;
	double counter, counter_rate; /* cycles, and cycles of a nanosecond */
	double clock, clock_rate;     /* what CLOCK_MONOTONIC says, and its nanoseconds of a nanosecond */
	double noise;		      /* a look takes up to this, ns */
	bool good, real;	      /* REAL: the machine's own counter and clock */
	uint64_t seed;
} machine;

static uint32_t any(void)
{
	machine.seed = machine.seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(machine.seed >> 33);
}

static void pass(double ns)
{
	machine.now += ns;
	machine.counter += ns * machine.counter_rate;
	machine.clock += ns * machine.clock_rate;
}

static uint64_t real_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t clock_load(void)
{
	if (machine.real)
		return real_clock();
	pass(machine.noise * (any() % 100) / 100);
	return (uint64_t)machine.clock;
}

static uint64_t counter_load(void)
{
#ifdef __x86_64__
	if (machine.real)
		return __builtin_ia32_rdtsc();
#endif
	pass(machine.noise * (any() % 100) / 100);
	return (uint64_t)machine.counter;
}

static bool counter_is_good(void)
{
	return machine.good;
}

#include "../../client/recorder/cycles.c" /* NOLINT(bugprone-suspicious-include) */

static struct mprof_cycles cycles;
static uint64_t last;

static void begin(double rate)
{
	machine.now = 0;
	machine.counter = 5e11;
	machine.counter_rate = rate;
	machine.clock = 7e12;
	machine.clock_rate = 1;
	machine.noise = 20;
	machine.good = true;
	machine.real = false;
	machine.seed = 1;
	CHECK(mprof_cycles_init(&cycles));
	last = 0;
}

/*
 * Read the time, and check that it does not go back. Return how far it is outside of what the clock said before
 * and after that, ns.
 */
static double error(void)
{
	double before = machine.clock;
	uint64_t ns = mprof_cycles_now(&cycles);

	CHECK(ns >= last);
	last = ns;
	if ((double)ns < before)
		return before - (double)ns;
	return (double)ns > machine.clock ? (double)ns - machine.clock : 0;
}

/* Nothing waits for the rate. Until it is known, the time is the clock's, also if the guest is suspended meanwhile. */
static void test_first(void)
{
	double e;

	for (unsigned i = 0; i < 2000; i++) {
		begin(0.5 + (any() % 500) / 100.0);
		CHECK_EQ_INT(machine.now == 0, 1);
		machine.seed = i;
		for (unsigned k = 0; k < 40; k++) {
			if (any() % 8 == 0)
				machine.counter = any();
			if (any() % 16 == 0)
				machine.counter_rate = 0.5 + (any() % 500) / 100.0;
			pass(any() % 1000000);
			e = error();
			if (cycles.rate)
				break;
			CHECK(e < 1);
		}
		/* Events follow each other closely when the counter begins to be used. */
		begin(0.5 + (any() % 500) / 100.0);
		for (unsigned k = 0; k < 3000; k++) {
			pass(any() % 4000);
			CHECK(error() <= 100);
		}
		CHECK(cycles.rate != 0);
	}
}

/* A program that has no event for long has no rate from that time. */
static void test_rare(void)
{
	begin(3);
	for (unsigned i = 0; i < 100; i++) {
		pass(3e9);
		CHECK(error() < 1);
		CHECK_EQ_UINT(cycles.rate, 0);
	}
}

/* An hour with NTP that slews the clock by up to 500 parts in a million, at any moment. */
static void test_slewed(void)
{
	static const double rates[] = {0.5, 1, 2.9, 5.1};
	double worst = 0, e;

	for (unsigned i = 0; i < 4; i++) {
		begin(rates[i]);
		for (double until = 3600e9; machine.now < until;) {
			if (any() % 50 == 0)
				machine.clock_rate = 1 + ((int)(any() % 1001) - 500) / 1e6;
			/* Events come in bursts and after pauses of up to a second. */
			pass(any() % 200 ? any() % 3000000 : any() % 1000000000);
			e = error();
			worst = e > worst ? e : worst;
			for (unsigned k = 0; k < any() % 8; k++)
				pass(any() % 400);
		}
	}
	printf("worst error %.0f ns\n", worst);
	CHECK(worst <= 1000);
}

/* After a suspension the clock or the counter has jumped, or both; the counter may begin anew. */
static void test_jumps(void)
{
	begin(2.5);
	for (unsigned i = 0; i < 500; i++) {
		for (unsigned k = 0; k < 20; k++) {
			pass(any() % 500000);
			error();
		}
		switch (any() % 4) {
		case 0:
			machine.clock += any();
			break;
		case 1:
			machine.counter += (double)any() * 1e3;
			break;
		case 2:
			machine.counter = any();
			break;
		default:
			machine.counter = any();
			machine.counter_rate = 1 + (any() % 300) / 100.0;
			machine.clock += any();
		}
		/* Three looks are enough. */
		for (unsigned k = 0; k < 30; k++) {
			pass(1000000);
			error();
		}
		CHECK(error() <= 1000);
	}
}

/* The clock never goes back, but a look may be wrong by an interruption. The time does not run away. */
static void test_interrupted(void)
{
	double worst = 0, e;

	begin(3);
	for (unsigned i = 0; i < 200000; i++) {
		machine.noise = any() % 20 ? 20 : 5000; /* another guest runs in between */
		pass(any() % 2000000);
		e = error();
		worst = e > worst ? e : worst;
	}
	printf("worst error of a busy machine %.0f ns\n", worst);
	CHECK(worst < 20000);
}

static void test_no_counter(void)
{
	begin(3);
	machine.good = false;
	CHECK(!mprof_cycles_init(&cycles));
	pass(12345);
	machine.noise = 0;
	CHECK_EQ_UINT(mprof_cycles_now(&cycles), (uint64_t)machine.clock);
}

/* A zeroed clock is the system's, and so is one that may not read the counter any more. */
static void test_forbidden(void)
{
	uint64_t before, ns, after;

	begin(3);
	before = real_clock();
	mprof_cycles_forbid(&cycles);
	ns = mprof_cycles_now(&cycles);
	after = real_clock();
	CHECK(before <= ns && ns <= after);
	cycles = (struct mprof_cycles){0};
	machine.noise = 0;
	CHECK_EQ_UINT(mprof_cycles_now(&cycles), (uint64_t)machine.clock);
	mprof_cycles_begin(&cycles, false);
	CHECK_EQ_UINT(mprof_cycles_now(&cycles), (uint64_t)machine.clock);
}

#ifdef __x86_64__
static void *reader(void *context)
{
	uint64_t before = 0, ns, worst = 0;

	(void)context;
	for (unsigned i = 0; i < 300000; i++) {
		uint64_t from = real_clock(), to;

		ns = mprof_cycles_now(&cycles);
		to = real_clock();
		if (ns < before)
			worst = UINT32_MAX; /* it went back */
		before = ns;
		if (ns < from && from - ns > worst)
			worst = from - ns;
		else if (ns > to && ns - to > worst)
			worst = ns - to;
	}
	return (void *)(uintptr_t)worst;
}
#endif

/* The real counter, by several threads. Skipped where Linux does not use it. */
static void test_real(void)
{
#ifdef __x86_64__
	pthread_t threads[4];
	void *worst;

	machine.real = machine.good = true;
	if (!mprof_cycles_init(&cycles))
		return;
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ_INT(pthread_create(&threads[i], NULL, reader, NULL), 0);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], &worst);
		CHECK((uintptr_t)worst != UINT32_MAX);
		printf("outside of the clock's two looks by at most %lu ns\n", (unsigned long)(uintptr_t)worst);
	}
#endif
}

/* ---- Xen ---- */

static volatile struct mprof_pvclock shared;
static uint64_t counter;
static unsigned changes;

/* Xen changes the record while the guest reads it. */
static uint64_t changing(void)
{
	if (changes) {
		changes--;
		shared.version++;
		shared.tsc_timestamp = counter;
		shared.system_time = shared.system_time + 1000;
	}
	return counter;
}

static void test_pvclock(void)
{
	/* 2.5 GHz: a cycle is 0.4 ns, as a fraction of 2^32, of counts that are not shifted. */
	const struct mprof_pvclock t = {.tsc_timestamp = 1000, .system_time = 500, .tsc_to_system_mul = 1717986918};
	struct mprof_pvclock u = t;

	CHECK_EQ_UINT(mprof_pvclock_ns(&t, 1000), 500);
	CHECK_EQ_UINT(mprof_pvclock_ns(&t, 3500), 500 + 999);
	CHECK_EQ_UINT(mprof_pvclock_ns(&t, 900), 500); /* the counter of another processor */
	CHECK_EQ_UINT(mprof_pvclock_ns(&t, 1000 + (UINT64_C(1) << 50)), 500 + (UINT64_C(1717986918) << 18));
	u.tsc_shift = 1;
	CHECK_EQ_UINT(mprof_pvclock_ns(&u, 3500), 500 + 1999);
	u.tsc_shift = -1;
	CHECK_EQ_UINT(mprof_pvclock_ns(&u, 3500), 500 + 499);
	u.tsc_shift = 127;
	mprof_pvclock_ns(&u, 3500);
	u.tsc_shift = -128;
	CHECK_EQ_UINT(mprof_pvclock_ns(&u, 3500), 500);

	/* A reader repeats until one version stands on both sides. */
	for (unsigned n = 0; n < 8; n += 2) {
		shared.version = 2;
		shared.tsc_timestamp = 0;
		shared.tsc_shift = 0;
		shared.tsc_to_system_mul = 1u << 31;
		shared.system_time = 0;
		counter = 100;
		changes = n;
		CHECK_EQ_UINT(mprof_pvclock_read(&shared, changing), n ? n * 1000 : 50);
		CHECK_EQ_UINT(changes, 0);
	}
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK_RUN(test_first);
	CHECK_RUN(test_rare);
	CHECK_RUN(test_slewed);
	CHECK_RUN(test_jumps);
	CHECK_RUN(test_interrupted);
	CHECK_RUN(test_no_counter);
	CHECK_RUN(test_forbidden);
	CHECK_RUN(test_real);
	CHECK_RUN(test_pvclock);
	return check_done();
}
