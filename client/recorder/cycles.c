/*
 * Time from the time stamp counter.
 *
 * For at most LIMIT_NS after a look at CLOCK_MONOTONIC the time is extrapolated from the counter. The
 * first call after that looks at the clock again, and takes the counter's rate from both looks. So the
 * error is that of a rate over a millisecond: NTP changes the clock's rate by at most 500 parts in a
 * million, which is half a microsecond. After a suspension or a migration, or if no event came for a
 * long time, the look tells the time, however far it has gone.
 *
 * No value that was returned before a look is later than the extrapolation to LIMIT_NS. So the time after
 * a look begins there, if the clock is behind, and then runs more slowly until the clock has met it.
 *
 * At first the rate is not known, and each call asks the clock. Looks that are FIRST_NS apart tell the rate, and
 * the counter is used when two of them agree: between two looks the guest may have been suspended. Nothing
 * waits for that, because a program may be short.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mprof/cycles.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS   1000000u
#define LIMIT_NS    NS_PER_MS
#define FIRST_NS    (2 * NS_PER_MS) /* between the first looks */
#define LOOKS	    8u		    /* attempts to look at both clocks without an interruption */
#define CLOSE_NS    200u	    /* a look that took no longer was not interrupted */
#define RATE_NS_MAX 100u	    /* nanoseconds of a cycle: a slower counter is not used */
#define STEP_MAX    100000u	    /* cycles by which the counter may seem to go back between two processors */
#define TRIES	    100u
#define SOURCE	    "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* A test replaces these. */
#ifndef CYCLES_TEST

static uint64_t clock_load(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

static inline uint64_t counter_load(void)
{
	return __builtin_ia32_rdtsc();
}

/* Return whether Xen says that the counter is reliable, and passes reads of it to the processor. */
static bool xen_is_reliable(void)
{
	uint32_t a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31 & 1))
		return false;
	for (uint32_t base = 0x40000000; base < 0x40010000; base += 0x100) {
		__cpuid(base, a, b, c, d);
		/* "XenVMMXenVMM"; leaf 3 has in EAX bit 0: emulated, bit 1: reliable. */
		if (b != 0x566e6558 || c != 0x65584d4d || d != 0x4d4d566e || a < base + 3)
			continue;
		__cpuid_count(base + 3, 0, a, b, c, d);
		return (a & 3) == 2;
	}
	return false;
}

static bool counter_is_good(void)
{
	char name[8] = "";
	int fd;
	ssize_t n;

	fd = open(SOURCE, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, name, sizeof(name));
	if (fd >= 0)
		close(fd);
	return (n >= 4 && memcmp(name, "tsc\n", 4) == 0) || xen_is_reliable();
}

#else

static inline uint64_t counter_load(void)
{
	return 0;
}

static bool counter_is_good(void)
{
	return false;
}

#endif

#endif

/* Return whether the program has forbidden itself to read the counter. */
static bool counter_is_forbidden(void)
{
	int mode = 0, error = errno;
	bool forbidden = prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_SIGSEGV;

	errno = error;
	return forbidden;
}

/* Return CLOCK_MONOTONIC by a system call: clock_gettime() would read the counter. */
static uint64_t clock_ask(void)
{
#ifdef SYS_clock_gettime64
	struct {
		int64_t tv_sec, tv_nsec;
	} ts = {0};

	syscall(SYS_clock_gettime64, CLOCK_MONOTONIC, &ts);
#else
	struct timespec ts = {0};

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
#endif
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Return the nanoseconds of N cycles at RATE. */
static inline uint64_t cycles_ns(uint64_t n, uint64_t rate)
{
#ifdef __SIZEOF_INT128__
	__extension__ typedef unsigned __int128 wide;

	return (uint64_t)((wide)n * rate >> 32);
#else
	return (n >> 32) * rate + ((n & UINT32_MAX) * (rate >> 32)) + ((n & UINT32_MAX) * (rate & UINT32_MAX) >> 32);
#endif
}

/* Both clocks at one moment. */
struct look {
	uint64_t counter, ns;
	uint64_t width; /* cycles between the readings of the counter before and after that of the clock */
};

/*
 * Look at both clocks, several times if something came between. RATE is the counter's, 0 if it is not
 * known.
 */
static struct look look_at(uint64_t rate)
{
	struct look best = {0};
	uint64_t before, after, least = UINT64_MAX, ns;

	for (unsigned i = 0; i < LOOKS; i++) {
		before = counter_load();
		ns = clock_load();
		after = counter_load();
		if (after - before >= least)
			continue;
		least = after - before;
		best = (struct look){before + least / 2, ns, least};
		if (rate && cycles_ns(least, rate) <= CLOSE_NS)
			break;
	}
	return best;
}

/* Return the rate from the look FROM to the look TO; OLD if it is not plausible. */
static uint64_t rate_of(const struct look *from, const struct look *to, uint64_t old)
{
	uint64_t ns = to->ns - from->ns, cycles = to->counter - from->counter;

	if (to->ns <= from->ns || to->counter <= from->counter || ns > 2000 * (uint64_t)NS_PER_MS || ns >> 31 ||
	    (ns << 32) / cycles == 0 || (ns << 32) / cycles > (uint64_t)RATE_NS_MAX << 32)
		return old;
	return (ns << 32) / cycles;
}

bool mprof_cycles_usable(void)
{
	return counter_is_good();
}

void mprof_cycles_begin(struct mprof_cycles *c, bool usable)
{
	*c = (struct mprof_cycles){.forbidden = counter_is_forbidden()};
	c->counter = usable && !c->forbidden;
}

bool mprof_cycles_init(struct mprof_cycles *c)
{
	mprof_cycles_begin(c, counter_is_good());
	return c->counter;
}

void mprof_cycles_forbid(struct mprof_cycles *c)
{
	__atomic_store_n(&c->forbidden, true, __ATOMIC_RELAXED);
	__atomic_store_n(&c->counter, false, __ATOMIC_RELEASE);
}

/* A copy of the fields that one version has. */
struct state {
	uint32_t version;
	uint64_t at, ns, rate, slope, limit, exact, other;
};

/* Load the state. Return false if a thread changes it now. */
static inline bool state_load(const struct mprof_cycles *c, struct state *s)
{
	s->version = __atomic_load_n(&c->version, __ATOMIC_ACQUIRE);
	s->at = __atomic_load_n(&c->at, __ATOMIC_RELAXED);
	s->ns = __atomic_load_n(&c->ns, __ATOMIC_RELAXED);
	s->rate = __atomic_load_n(&c->rate, __ATOMIC_RELAXED);
	s->slope = __atomic_load_n(&c->slope, __ATOMIC_RELAXED);
	s->limit = __atomic_load_n(&c->limit, __ATOMIC_RELAXED);
	s->exact = __atomic_load_n(&c->exact, __ATOMIC_RELAXED);
	s->other = __atomic_load_n(&c->other, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !(s->version & 1) && __atomic_load_n(&c->version, __ATOMIC_RELAXED) == s->version;
}

/* Replace the version OLD by S. Return false if another thread has replaced it, or does it now. */
static bool state_store(struct mprof_cycles *c, uint32_t old, const struct state *s, uint64_t floor)
{
	if (!__atomic_compare_exchange_n(&c->version, &old, old + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&c->floor, floor, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&c->at, s->at, __ATOMIC_RELAXED);
	__atomic_store_n(&c->ns, s->ns, __ATOMIC_RELAXED);
	__atomic_store_n(&c->rate, s->rate, __ATOMIC_RELAXED);
	__atomic_store_n(&c->slope, s->slope, __ATOMIC_RELAXED);
	__atomic_store_n(&c->limit, s->limit, __ATOMIC_RELAXED);
	__atomic_store_n(&c->exact, s->exact, __ATOMIC_RELAXED);
	__atomic_store_n(&c->other, s->other, __ATOMIC_RELAXED);
	__atomic_store_n(&c->version, old + 2, __ATOMIC_RELEASE);
	return true;
}

static bool are_near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= b / 64;
}

/*
 * Set the rate of NEXT. RATE is what the last two looks say. If it differs much from that of the state
 * S, the counter was set, or the guest has moved to another host, or it is the first one: it counts only
 * when two looks agree. A rate that is not known, 0, has no cycles before its limit.
 */
static void take_rate(struct state *next, const struct state *s, uint64_t rate)
{
	bool good = are_near(rate, s->rate) || are_near(rate, s->other);

	next->rate = good ? rate : s->rate;
	next->other = good ? 0 : rate;
	next->limit = next->rate ? ((uint64_t)LIMIT_NS << 32) / next->rate : 0;
}

/*
 * The counter is beyond the limit of S: look at the clock. Return whether the state is new; then *NS is the
 * time.
 */
static bool look_again(struct mprof_cycles *c, const struct state *s, uint64_t *ns)
{
	const struct look from = {s->at, s->exact, 0};
	struct look to = look_at(s->rate);
	uint64_t floor = s->ns + cycles_ns(s->limit, s->slope), ahead;
	struct state next = {.at = to.counter, .exact = to.ns, .ns = to.ns > floor ? to.ns : floor};

	take_rate(&next, s, rate_of(&from, &to, s->rate));
	/* The times until now were the clock's, and this look may be early by half of its width. */
	if (!s->rate && next.rate)
		next.ns += cycles_ns(to.width, next.rate) + 1;
	/* If the time is ahead of the clock, let the clock meet it at the next look, or come half as near. */
	ahead = next.ns - to.ns;
	next.slope = next.rate - (ahead < LIMIT_NS / 2 ? next.rate * ahead / LIMIT_NS : next.rate / 2);
	*ns = next.ns;
	return state_store(c, s->version, &next, floor);
}

/*
 * The rate is not known yet: ask the clock, and look at both clocks if it is time for that. Return whether
 * *NS is the time; false if the state is another one meanwhile, because its times may begin earlier.
 */
static bool clock_now(struct mprof_cycles *c, const struct state *s, uint64_t *ns)
{
	*ns = clock_load();
	if (*ns - s->exact >= FIRST_NS)
		return look_again(c, s, ns);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&c->version, __ATOMIC_RELAXED) == s->version;
}

/* Return the time when the state is about to change, beyond its limit, or without a rate. */
static __attribute__((noinline, cold)) uint64_t slow_now(struct mprof_cycles *c)
{
	struct state s;
	uint64_t n, ns, floor;

	for (unsigned i = 0; i < TRIES; i++) {
		if (!state_load(c, &s))
			continue;
		if (!s.rate) {
			if (clock_now(c, &s, &ns))
				return ns;
			continue;
		}
		n = counter_load() - s.at;
		if (n < s.limit)
			return s.ns + cycles_ns(n, s.slope);
		/* Counters of two processors may differ by some cycles. */
		if (n > UINT64_MAX - STEP_MAX)
			return s.ns;
		if (look_again(c, &s, &ns))
			return ns;
	}
	/* A thread that changes the state waits for a processor, or is the caller of this signal handler. */
	ns = clock_load();
	floor = __atomic_load_n(&c->floor, __ATOMIC_RELAXED);
	return ns > floor ? ns : floor;
}

uint64_t mprof_cycles_now(void *cycles)
{
	struct mprof_cycles *c = cycles;
	uint32_t version = __atomic_load_n(&c->version, __ATOMIC_ACQUIRE);
	uint64_t at, ns, slope, limit, n;

	if (!__atomic_load_n(&c->counter, __ATOMIC_ACQUIRE))
		return __atomic_load_n(&c->forbidden, __ATOMIC_RELAXED) ? clock_ask() : clock_load();
	/* As state_load() and slow_now(), for the fields that most calls need. */
	at = __atomic_load_n(&c->at, __ATOMIC_RELAXED);
	ns = __atomic_load_n(&c->ns, __ATOMIC_RELAXED);
	slope = __atomic_load_n(&c->slope, __ATOMIC_RELAXED);
	limit = __atomic_load_n(&c->limit, __ATOMIC_RELAXED);
	n = counter_load() - at;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__builtin_expect(n < limit && !(version & 1) && __atomic_load_n(&c->version, __ATOMIC_RELAXED) == version,
			     1))
		return ns + cycles_ns(n, slope);
	return slow_now(c);
}
