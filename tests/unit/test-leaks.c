/*
 * Leaks of generated programs: each place of a program allocates after a known shape, alone or beside all other
 * places. No leak may be denied, and nothing healthy may be called sure.
 */
#include <mprof/flame.h>

#include "mem-make.h"

#define STEPS	4000u
#define STEP_US 1000u /* 4 s in all */
#define JUMP_US (3600ull * 24 * 365 * 1000000)

enum shape {
	STEADY = 1, /* leaks all the time */
	BURST,	    /* leaks in one fortieth of the run */
	TWICE,	    /* leaks in the first and in the last tenth */
	STOPPED,    /* leaks in the first half; nothing happens in the second */
	HALF,	    /* leaks half of what it makes, and frees the rest soon */
	SAWTOOTH,   /* frees everything a few times, and has not yet done so again */
	CACHE,	    /* fills, then replaces an object for each new one */
	FILLED,	    /* fills over half of the run, then keeps everything */
	STARTUP,    /* makes all at the beginning, and keeps it */
	SHORT,	    /* makes objects that live for a moment */
	SHAPES,
};

#define LEAKS(shape) ((shape) <= HALF)

static const char *const names[] = {"",		"steady", "burst",  "twice",	"stopped", "half",
				    "sawtooth", "cache",  "filled", "start-up", "short"};

struct program {
	struct mprof_profile *profile;
	int64_t next; /* the next id */
	uint64_t us;
	uint64_t seed;
	int64_t held[SHAPES][STEPS]; /* objects that the shape may free later, the oldest first */
	uint32_t n[SHAPES];
};

static uint64_t draw(struct program *p)
{
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return p->seed >> 33;
}

static void make(struct program *p, enum shape shape)
{
	/* The decoder has the code of place I as number I - 1. */
	const uint32_t stack[] = {(uint32_t)shape - 1};
	const struct mprof_mem_event e = {.kind = MPROF_MEM_ALLOC,
					  .time_us = p->us,
					  .id = p->next++,
					  .length = 1,
					  .samples = 1,
					  .source = MPROF_MEM_MAJOR,
					  .stack = stack,
					  .frames = 1};

	CHECK_EQ_INT(mprof_profile_add(p->profile, &e), MPROF_OK);
	p->held[shape][p->n[shape]++] = e.id;
}

static void drop(struct program *p, enum shape shape, uint32_t i)
{
	const struct mprof_mem_event e = {.kind = MPROF_MEM_COLLECT, .time_us = p->us, .id = p->held[shape][i]};

	CHECK_EQ_INT(mprof_profile_add(p->profile, &e), MPROF_OK);
	memmove(&p->held[shape][i], &p->held[shape][i + 1], (--p->n[shape] - i) * sizeof(p->held[0][0]));
}

static void step_leak(struct program *p, enum shape shape, uint32_t step)
{
	if (shape == STEADY && step % 20 == 0)
		make(p, shape);
	if (shape == BURST && step >= STEPS / 4 && step < STEPS / 4 + STEPS / 40)
		make(p, shape);
	if (shape == TWICE && (step < STEPS / 10 || step >= STEPS - STEPS / 10) && step % 4 == 0)
		make(p, shape);
	if (shape == STOPPED && step < STEPS / 2 && step % 10 == 0)
		make(p, shape);
	if (shape == HALF && step % 10 == 0) {
		make(p, shape);
		if (step % 20 == 0)
			drop(p, shape, p->n[shape] - 1);
	}
}

static void step_healthy(struct program *p, enum shape shape, uint32_t step)
{
	if (shape == SAWTOOTH) {
		make(p, shape);
		while (step % 600 == 0 && p->n[shape])
			drop(p, shape, 0);
	}
	if (shape == CACHE && step % 3 == 0) {
		if (p->n[shape] == 300)
			drop(p, shape, (uint32_t)(draw(p) % 300));
		make(p, shape);
	}
	if (shape == FILLED && step < STEPS / 2 && step % 8 == 0)
		make(p, shape);
	if (shape == STARTUP && step < STEPS / 20)
		make(p, shape);
	if (shape == SHORT) {
		make(p, shape);
		if (p->n[shape] > 5)
			drop(p, shape, 0);
	}
}

/* Return a decoder that has a code for each shape. */
static struct mprof_mem *codes(void)
{
	struct made m = {0};
	struct mprof_mem *d;

	made_begin(&m, 2);
	for (uint32_t i = 1; i < SHAPES; i++)
		made_alloc(&m, i, 1, MPROF_MEM_MAJOR, STACK(i));
	made_finish(&m);
	d = made_read(&m, NULL, NULL);
	made_free(&m);
	return d;
}

/*
 * Run the shapes of the set WANTED with the random numbers of SEED, in time; from the step JUMP on the clock is JUMP_US
 * later. Check what is said of each.
 */
static void run(uint32_t wanted, uint64_t seed, uint32_t jump)
{
	struct program *p = calloc(1, sizeof(*p));
	struct mprof_mem *d = codes();
	enum mprof_sureness sureness[SHAPES] = {0};
	const struct mprof_leak *list;
	struct mprof_leaks *leaks;
	uint32_t n;

	p->profile = mprof_profile_new(&(struct mprof_profile_options){.tree = true, .seed = seed});
	p->seed = seed;
	for (uint32_t step = 0; step < STEPS; step++) {
		p->us = MADE_START + step * STEP_US + (step >= jump ? JUMP_US : 0);
		for (uint32_t shape = 1; shape < SHAPES; shape++)
			if (wanted & 1u << shape) {
				step_leak(p, (enum shape)shape, step);
				step_healthy(p, (enum shape)shape, step);
			}
	}
	CHECK_EQ_INT(mprof_profile_finish(p->profile), MPROF_OK);
	leaks = mprof_leaks_new(p->profile, d, MADE_START, p->us);
	list = mprof_leaks_list(leaks, &n);
	for (uint32_t i = 0; i < n; i++)
		sureness[list[i].code + 1] = (enum mprof_sureness)list[i].sureness;
	for (uint32_t shape = 1; shape < SHAPES; shape++) {
		if (!(wanted & 1u << shape))
			continue;
		CHECK(LEAKS(shape) ? sureness[shape] != MPROF_LEAK_NONE : sureness[shape] != MPROF_LEAK_SURE);
		if (LEAKS(shape) ? sureness[shape] == MPROF_LEAK_NONE : sureness[shape] == MPROF_LEAK_SURE)
			fprintf(stderr, "%s of the set %x, seed %" PRIu64 ", jump %u: %d\n", names[shape], wanted, seed,
				jump, (int)sureness[shape]);
	}
	if (jump == STEPS && wanted & 1u << STEADY)
		CHECK_EQ_INT(sureness[STEADY], MPROF_LEAK_SURE);
	if (jump == STEPS && wanted & 1u << SHORT)
		CHECK_EQ_INT(sureness[SHORT], MPROF_LEAK_NONE);
	if (wanted & 1u << CACHE)
		CHECK(sureness[CACHE] <= MPROF_LEAK_POSSIBLE);
	mprof_leaks_free(leaks);
	mprof_profile_free(p->profile);
	mprof_mem_free(d);
	free(p);
}

static void test_alone(void)
{
	for (uint32_t shape = 1; shape < SHAPES; shape++)
		run(1u << shape, 1, STEPS);
}

static void test_pairs(void)
{
	for (uint32_t a = 1; a < SHAPES; a++)
		for (uint32_t b = a + 1; b < SHAPES; b++)
			run(1u << a | 1u << b, 2, STEPS);
}

static void test_together(void)
{
	for (uint64_t seed = 1; seed <= 5; seed++)
		run((1u << SHAPES) - 2, seed, STEPS);
}

/* A clock that is set, early, in the middle, or late, makes no leak of a cache, and hides none. */
static void test_clock(void)
{
	for (uint32_t jump = STEPS / 8; jump < STEPS; jump += STEPS / 8) {
		run((1u << SHAPES) - 2, 1, jump);
		for (uint32_t shape = 1; shape < SHAPES; shape++)
			run(1u << shape, 3, jump);
	}
}

int main(void)
{
	CHECK_RUN(test_alone);
	CHECK_RUN(test_pairs);
	CHECK_RUN(test_together);
	CHECK_RUN(test_clock);
	return check_done();
}
