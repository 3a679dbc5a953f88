/*
 * Profiles, which sum up the events of a memory profile: peaks, promotions, events that contradict
 * each other, filters, and events out of order. tests/integration/mem-oracles.py checks real
 * profiles.
 */
#include "mem-make.h"

#define NEW(...) mprof_profile_new(&(struct mprof_profile_options){.seed = 5, __VA_ARGS__})

static void test_sums(void)
{
	struct made m = {0};
	struct mprof_profile *p = NEW(.tree = true);
	const struct mprof_profile_sums *s = mprof_profile_sums(p);
	struct mprof_mem *d;
	int64_t a, b;

	made_begin(&m, 2);
	a = made_alloc(&m, 10, 1, MPROF_MEM_MINOR, STACK(1, 2));
	b = made_alloc(&m, 20, 300, MPROF_MEM_MAJOR, STACK(1, 3));
	made_alloc(&m, 30, 5, MPROF_MEM_EXTERNAL, STACK(1));
	made_end(&m, 40, MPROF_MEM_PROMOTE, a);
	made_end(&m, 50, MPROF_MEM_COLLECT, b);
	made_end(&m, 60, MPROF_MEM_COLLECT, a);
	made_finish(&m);
	d = made_read(&m, p, NULL);
	CHECK_EQ_UINT(s->samples[MPROF_MEM_MINOR], 1);
	CHECK_EQ_UINT(s->samples[MPROF_MEM_MAJOR], 300);
	CHECK_EQ_UINT(s->samples[MPROF_MEM_EXTERNAL], 5);
	CHECK_EQ_UINT(s->promoted, 1);
	CHECK_EQ_UINT(s->collected, 301);
	CHECK_EQ_UINT(s->collected_major, 301);
	CHECK_EQ_UINT(s->max_length, 300);
	CHECK_EQ_UINT(s->small[0], 1);
	CHECK_EQ_UINT(s->small[1], 6);
	CHECK_EQ_UINT(s->live, 5);
	CHECK_EQ_UINT(s->peak, 306);
	CHECK_EQ_UINT(s->peak_objects, 3);
	CHECK_EQ_UINT(s->peak_us, MADE_START + 30);
	CHECK_EQ_UINT(s->last_us, MADE_START + 60);
	mprof_mem_free(d);
	mprof_profile_free(p);
	made_free(&m);
}

/* Each node has its live objects at the peak, also if a higher peak follows a lower one. */
static void test_peak(void)
{
	struct made m = {0};
	struct mprof_profile *p = NEW(.tree = true);
	const struct mprof_profile_node *nodes;
	struct mprof_mem *d;
	uint64_t peak[8] = {0}, live[8] = {0};
	int64_t a, b, c;
	uint32_t n;

	made_begin(&m, 2);
	a = made_alloc(&m, 1, 4, MPROF_MEM_MINOR, STACK(1, 2));
	made_end(&m, 2, MPROF_MEM_COLLECT, a);
	b = made_alloc(&m, 3, 3, MPROF_MEM_MINOR, STACK(1, 3));
	c = made_alloc(&m, 4, 3, MPROF_MEM_MINOR, STACK(1, 4));
	made_end(&m, 5, MPROF_MEM_COLLECT, b);
	made_alloc(&m, 6, 2, MPROF_MEM_MINOR, STACK(1, 5));
	made_end(&m, 7, MPROF_MEM_COLLECT, c);
	made_finish(&m);
	d = made_read(&m, p, NULL);
	nodes = mprof_profile_nodes(p, &n);
	CHECK_EQ_UINT(n, 6);
	for (uint32_t i = 1; i < n; i++) {
		uint64_t place = mprof_mem_code(d, nodes[i].code)->code / 16;

		CHECK(nodes[i].parent < i && place < 8);
		peak[place] = nodes[i].peak;
		live[place] = nodes[i].live;
	}
	CHECK_EQ_UINT(mprof_profile_sums(p)->peak, 6);
	CHECK_EQ_UINT(peak[2], 0);
	CHECK_EQ_UINT(peak[3], 3);
	CHECK_EQ_UINT(peak[4], 3);
	CHECK_EQ_UINT(peak[5], 0);
	CHECK_EQ_UINT(live[5], 2);
	CHECK_EQ_UINT(live[4], 0);
	mprof_mem_free(d);
	mprof_profile_free(p);
	made_free(&m);
}

/* Events that no valid writer makes are counted, and change nothing else. */
static void test_contradictions(void)
{
	struct mprof_profile *p = NEW(.tree = false);
	const struct mprof_profile_sums *s = mprof_profile_sums(p);
	struct mprof_mem_event e = {.kind = MPROF_MEM_COLLECT, .id = 9, .time_us = 5};

	CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	e.kind = MPROF_MEM_PROMOTE;
	CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	CHECK_EQ_UINT(s->unknown, 2);
	e = (struct mprof_mem_event){.kind = MPROF_MEM_ALLOC, .id = 9, .samples = 2, .length = 2, .time_us = 6};
	CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	CHECK_EQ_UINT(s->repeated, 1);
	CHECK_EQ_UINT(s->live, 2);
	e = (struct mprof_mem_event){.kind = MPROF_MEM_PROMOTE, .id = 9, .time_us = 7};
	CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	CHECK_EQ_UINT(s->unknown, 3);
	CHECK_EQ_UINT(s->promoted, 2);
	e.kind = MPROF_MEM_COLLECT;
	CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	CHECK_EQ_UINT(s->unknown, 4);
	CHECK_EQ_UINT(s->live, 0);
	CHECK_EQ_UINT(s->live_objects, 0);
	/* No sample hit this object, so the profile does not follow it. */
	e = (struct mprof_mem_event){.kind = MPROF_MEM_ALLOC, .id = 10, .time_us = 8};
	CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	CHECK_EQ_UINT(s->repeated, 2);
	CHECK_EQ_UINT(s->live_objects, 0);
	mprof_profile_free(p);
}

/*
 * Allocate many objects and end most of them. The map of live objects finds each live object, and
 * no other. STEP is the difference between ids.
 */
static void many(int64_t step)
{
	struct mprof_profile *p = NEW(.tree = false);
	const struct mprof_profile_sums *s = mprof_profile_sums(p);
	const int64_t n = 50000;

	for (int64_t i = 0; i < n; i++) {
		struct mprof_mem_event e = {
			.kind = MPROF_MEM_ALLOC, .id = i * step, .samples = 1, .time_us = (uint64_t)i};

		mprof_profile_add(p, &e);
		if (i < 100 || i % 10 == 0)
			continue;
		e = (struct mprof_mem_event){.kind = MPROF_MEM_COLLECT, .id = i * step, .time_us = (uint64_t)i};
		mprof_profile_add(p, &e);
	}
	CHECK_EQ_UINT(s->unknown + s->repeated, 0);
	CHECK_EQ_UINT(s->live, 100 + (uint64_t)n / 10 - 10);
	for (int64_t i = 0; i < n; i++) {
		struct mprof_mem_event e = {.kind = MPROF_MEM_COLLECT, .id = i * step, .time_us = (uint64_t)n};

		mprof_profile_add(p, &e);
	}
	CHECK_EQ_UINT(s->live, 0);
	CHECK_EQ_UINT(s->collects - s->unknown, (uint64_t)n);
	mprof_profile_free(p);
}

/* Ids that count up by one, and ids that collide in the map. */
static void test_many(void)
{
	many(1);
	many(4095);
	many(1 << 20);
	many(-3);
}

/*
 * A profile that only sums keeps its objects in another way than a profile with a tree. Add the same
 * events to both: ids count up by STEP, and change by JUMP after every 5,000 allocs.
 */
static void both(int64_t step, int64_t jump)
{
	struct mprof_profile *p[] = {NEW(.tree = false), NEW(.tree = true)};
	const struct mprof_profile_sums *s = mprof_profile_sums(p[0]);
	static int64_t ids[300000];
	uint32_t random = 7, n = 0;
	int64_t id = 0;

	for (uint32_t i = 0; i < 400000; i++) {
		struct mprof_mem_event e = {.time_us = i, .kind = MPROF_MEM_ALLOC, .samples = 1, .length = 2};
		uint32_t what;

		random = random * 1664525 + 1013904223;
		what = random >> 24;
		if (!n || what < 140) {
			e.id = what ? id : ids[n / 2];
			e.source = (uint8_t)(what % 3);
			e.samples = what % 32 ? 1 : what / 32;
			ids[n++] = e.id;
			id = (int64_t)((uint64_t)id + (uint64_t)(n % 5000 ? step : step + jump));
		} else {
			uint32_t back = what < 230 ? (random >> 8) % 40 : (random >> 3) % n;

			e.kind = what & 1 ? MPROF_MEM_COLLECT : MPROF_MEM_PROMOTE;
			e.id = ids[back < n ? n - 1 - back : 0] + (what == 255);
		}
		for (int k = 0; k < 2; k++)
			CHECK_EQ_INT(mprof_profile_add(p[k], &e), MPROF_OK);
	}
	CHECK(memcmp(s, mprof_profile_sums(p[1]), sizeof(*s)) == 0);
	CHECK(s->live_objects > 1000 && s->unknown > 1000 && s->repeated > 100 && s->collects > 1000);
	mprof_profile_free(p[0]);
	mprof_profile_free(p[1]);
}

/* Ids inside of the window, ids that leave it, and ids far from each other, forwards and backwards. */
static void test_window(void)
{
	both(1, 0);
	both(1, 16384);
	both(33, -100000);
	both(7, 1 << 20);
	both(16384, 0);
	both(1, (1 << 20) - 5000);
	both(-1, 0);
	both(1, (int64_t)1 << 61);
}

/* A second recording finds no object of the first one, at whatever id. */
static void test_window_joined(void)
{
	struct mprof_profile *p = NEW(.tree = false);
	struct mprof_mem_event e = {.samples = 1};

	for (int64_t first = 0; first <= 3 << 20; first += 1 << 20) {
		e.kind = MPROF_MEM_BEGIN;
		CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
		e.kind = MPROF_MEM_ALLOC;
		for (e.id = first; e.id < first + (2 << 20); e.id += 1000)
			CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
		CHECK_EQ_UINT(mprof_profile_sums(p)->repeated, 0);
		CHECK_EQ_UINT(mprof_profile_sums(p)->live, 2098);
	}
	mprof_profile_free(p);
}

/* An object keeps its details when it moves from the table of young objects to the map. */
static void test_many_selected(void)
{
	const struct mprof_mem_filter filter = {
		.bytes = {.least = 24, .most = 24, .has_least = true, .has_most = true}};
	struct mprof_selection *s = mprof_selection_new(&filter, MADE_START + 10000, 3);
	struct made m = {0};
	uint64_t objects, samples;

	made_begin(&m, 2);
	for (unsigned i = 0; i < 10000; i++)
		made_alloc(&m, i, i < 10 ? 3 : 1, MPROF_MEM_MAJOR, STACK(1, 2));
	made_finish(&m);
	mprof_mem_free(made_read(&m, NULL, s));
	mprof_selection_count(s, &objects, &samples);
	CHECK_EQ_UINT(objects, 10);
	CHECK_EQ_UINT(samples, 30);
	mprof_selection_free(s);
	made_free(&m);
}

/* Make a stream with deep stacks, large blocks, a long life, and ends of unknown objects. */
static void any_stream(struct made *m)
{
	uint32_t random = 1, stack[41];
	uint64_t us = 0;

	made_begin(m, 3);
	for (int64_t i = 0; i < 30000; i++) {
		uint32_t n, what;

		random = random * 1664525 + 1013904223;
		what = random >> 24;
		n = (random >> 16) % 40;
		us += what % 3;
		for (uint32_t k = 0; k < n; k++)
			stack[k] = 1 + (k < 5 ? k : (random >> (k % 20)) % (MADE_PLACES - 1));
		stack[n] = 0;
		if (what < 130)
			made_alloc(m, us, what < 120 ? 1 : 70000 * (uint64_t)n, what % 3, stack);
		else
			made_end(m, us, what & 1 ? MPROF_MEM_PROMOTE : MPROF_MEM_COLLECT,
				 mem_encoder_next_id(m->encoder) - 1 -
					 (what < 250 ? what : (int64_t)(random >> 12) % 9000));
	}
	made_finish(m);
}

/*
 * mprof_profile_read gives the same sums as mprof_profile_add for single events, with any options.
 */
static void test_read(void)
{
	const struct mprof_profile_options options[] = {
		{.seed = 3}, {.seed = 3, .tree = true}, {.seed = 3, .tree = true, .sort = true}};
	uint64_t lines[2][50];
	struct made m = {0};
	uint32_t n[2];

	any_stream(&m);
	for (size_t i = 0; i < 6; i++) {
		const struct mprof_profile_options *o = &options[i / 2];
		struct mprof_profile *p[] = {mprof_profile_new(o), mprof_profile_new(o)};
		struct mprof_mem *d = mprof_mem_new(&(struct mprof_mem_options){.stacks = o->tree, .seed = 11});
		const struct mprof_profile_node *nodes[2];

		for (int k = 0; k < 2 && i % 2; k++)
			mprof_profile_timeline(p[k], MADE_START, 30000, lines[k], 50);
		mprof_mem_free(made_read(&m, p[0], NULL));
		mprof_mem_feed(d, m.bytes, m.n);
		mprof_mem_finish(d);
		CHECK_EQ_INT(mprof_profile_read(p[1], d), MPROF_END);
		CHECK_EQ_INT(mprof_profile_finish(p[1]), MPROF_OK);
		mprof_mem_free(d);
		CHECK(mprof_profile_sums(p[0])->live_objects > 5000 && mprof_profile_sums(p[0])->unknown > 1000);
		CHECK(memcmp(mprof_profile_sums(p[0]), mprof_profile_sums(p[1]), sizeof(struct mprof_profile_sums)) ==
		      0);
		for (int k = 0; k < 2; k++)
			nodes[k] = mprof_profile_nodes(p[k], &n[k]);
		CHECK_EQ_UINT(n[0], n[1]);
		CHECK(!o->tree || n[0] > 1000);
		for (uint32_t k = 0; k < n[0] && k < n[1]; k++)
			CHECK(nodes[0][k].code == nodes[1][k].code && nodes[0][k].peak == nodes[1][k].peak &&
			      nodes[0][k].samples == nodes[1][k].samples && nodes[0][k].live == nodes[1][k].live);
		CHECK(i % 2 == 0 || memcmp(lines[0], lines[1], sizeof(lines[0])) == 0);
		mprof_profile_free(p[0]);
		mprof_profile_free(p[1]);
	}
	made_free(&m);
}

/*
 * Events of two domains are not in the order of time. If the profile sorts them, the peak differs.
 */
static void test_sort(void)
{
	static const struct mprof_mem_event events[] = {
		{.kind = MPROF_MEM_ALLOC, .id = 0, .samples = 1, .time_us = 10},
		{.kind = MPROF_MEM_COLLECT, .id = 0, .time_us = 30},
		{.kind = MPROF_MEM_ALLOC, .id = 1, .samples = 1, .time_us = 20, .domain = 1},
	};
	uint64_t line[4];

	for (int sort = 0; sort < 2; sort++) {
		struct mprof_profile *p = NEW(.sort = sort);

		mprof_profile_timeline(p, 0, 40, line, 4);
		for (size_t i = 0; i < 3; i++)
			CHECK_EQ_INT(mprof_profile_add(p, &events[i]), MPROF_OK);
		CHECK_EQ_INT(mprof_profile_finish(p), MPROF_OK);
		CHECK_EQ_UINT(mprof_profile_sums(p)->peak, sort ? 2 : 1);
		CHECK_EQ_UINT(mprof_profile_sums(p)->domains, 2);
		if (sort) {
			CHECK_EQ_UINT(line[0], 1);
			CHECK_EQ_UINT(line[1], 2);
			CHECK_EQ_UINT(line[2], 1);
		}
		mprof_profile_free(p);
	}
}

/* ---- selections ---- */

/*
 * Make a stream of three objects: a young object that ends, an object that is promoted and ends,
 * and a large object that never ends.
 */
static void objects_make(struct made *m)
{
	int64_t young, old;

	made_begin(m, 2);
	young = made_alloc(m, 100, 1, MPROF_MEM_MINOR, STACK(1, 2));
	old = made_alloc(m, 200, 2, MPROF_MEM_MINOR, STACK(1, 3));
	made_alloc(m, 300, 400, MPROF_MEM_MAJOR, STACK(4, 5));
	made_end(m, 400, MPROF_MEM_PROMOTE, old);
	made_end(m, 400, MPROF_MEM_COLLECT, young);
	made_end(m, 500, MPROF_MEM_COLLECT, old);
	made_finish(m);
}

/*
 * Return the number of samples that FILTER selects. Store the most samples that lived at one time
 * in *PEAK.
 */
static uint64_t selected(struct mprof_mem_filter filter, uint64_t *peak)
{
	struct made m = {0};
	struct mprof_selection *s = mprof_selection_new(&filter, MADE_START + 500, 3);
	struct mprof_profile *p;
	uint64_t objects, samples;

	objects_make(&m);
	mprof_mem_free(made_read(&m, NULL, s));
	mprof_selection_count(s, &objects, &samples);
	p = NEW(.tree = true, .selection = s);
	mprof_mem_free(made_read(&m, p, NULL));
	CHECK_EQ_UINT(mprof_profile_sums(p)->samples[0] + mprof_profile_sums(p)->samples[1], samples);
	*peak = mprof_profile_sums(p)->peak;
	mprof_profile_free(p);
	mprof_selection_free(s);
	made_free(&m);
	return samples;
}

static uint64_t chosen(struct mprof_mem_filter filter)
{
	uint64_t peak;

	return selected(filter, &peak);
}

#define FROM(v)	      {.least = (v), .has_least = true}
#define TO(v)	      {.most = (v), .has_most = true}
#define BETWEEN(a, b) {.least = (a), .most = (b), .has_least = true, .has_most = true}
#define FILTER(...)   ((struct mprof_mem_filter){__VA_ARGS__})

static void test_filters(void)
{
	CHECK_EQ_UINT(chosen(FILTER(.heaps = 0)), 403);
	CHECK_EQ_UINT(chosen(FILTER(.allocated = TO(200))), 3);
	CHECK_EQ_UINT(chosen(FILTER(.allocated = BETWEEN(200, 200))), 2);
	CHECK_EQ_UINT(chosen(FILTER(.live = BETWEEN(400, 400))), 402);
	CHECK_EQ_UINT(chosen(FILTER(.live = BETWEEN(399, 399))), 403);
	CHECK_EQ_UINT(chosen(FILTER(.collected = FROM(500))), 402);
	CHECK_EQ_UINT(chosen(FILTER(.never_collected = true)), 400);
	CHECK_EQ_UINT(chosen(FILTER(.bytes = BETWEEN(9, 16))), 2);
	CHECK_EQ_UINT(chosen(FILTER(.lifetime = FROM(300))), 3);
	CHECK_EQ_UINT(chosen(FILTER(.lifetime = TO(200))), 400);
	CHECK_EQ_UINT(chosen(FILTER(.n_clauses = 1, .clauses = {{.name = "f1"}})), 3);
	CHECK_EQ_UINT(chosen(FILTER(.n_clauses = 1, .clauses = {{.name = "f1", .outside = true}})), 400);
	CHECK_EQ_UINT(chosen(FILTER(.n_clauses = 1, .clauses = {{.name = "f", .whole = true}})), 0);
	CHECK_EQ_UINT(chosen(FILTER(.n_clauses = 2, .clauses = {{.name = "1"}, {.name = "3", .whole = false}})), 2);
}

/* A promotion ends an object's life in the minor heap and begins its life in the major heap. */
static void test_heaps(void)
{
	uint64_t peak;

	CHECK_EQ_UINT(selected(FILTER(.heaps = MPROF_HEAP_MINOR), &peak), 3);
	CHECK_EQ_UINT(peak, 3);
	CHECK_EQ_UINT(selected(FILTER(.heaps = MPROF_HEAP_MAJOR), &peak), 402);
	CHECK_EQ_UINT(peak, 402);
	CHECK_EQ_UINT(selected(FILTER(.heaps = MPROF_HEAP_EXTERNAL), &peak), 0);
	CHECK_EQ_UINT(peak, 0);
	/* If both heaps are selected, a promotion does not end the life. */
	CHECK_EQ_UINT(chosen(FILTER(.heaps = MPROF_HEAP_MINOR | MPROF_HEAP_MAJOR, .lifetime = FROM(300))), 3);
	/* The promoted object's life in the major heap begins at 400. */
	CHECK_EQ_UINT(chosen(FILTER(.heaps = MPROF_HEAP_MAJOR, .allocated = TO(350))), 400);
	CHECK_EQ_UINT(chosen(FILTER(.heaps = MPROF_HEAP_MINOR, .lifetime = TO(200))), 2);
}

/* A second recording in the same stream begins anew, in profiles and in selections. */
static void test_joined(void)
{
	struct made m = {0};
	struct mprof_mem_filter filter = FILTER(.never_collected = true);
	struct mprof_selection *s = mprof_selection_new(&filter, MADE_START + 500, 3);
	struct mprof_profile *p;
	uint64_t objects, samples;

	made_begin(&m, 2);
	made_alloc(&m, 5, 50, MPROF_MEM_MAJOR, STACK(6));
	made_finish(&m);
	objects_make(&m);
	mprof_mem_free(made_read(&m, NULL, s));
	mprof_selection_count(s, &objects, &samples);
	CHECK_EQ_UINT(objects, 1);
	CHECK_EQ_UINT(samples, 400);
	p = NEW(.selection = s);
	mprof_mem_free(made_read(&m, p, NULL));
	CHECK_EQ_UINT(mprof_profile_sums(p)->live, 400);
	mprof_profile_free(p);
	mprof_selection_free(s);
	made_free(&m);
}

/* A selection of the first recording's objects selects none of the second recording. */
static void test_joined_selected(void)
{
	const struct mprof_mem_filter filter = FILTER(.bytes = TO(8));
	struct mprof_selection *s = mprof_selection_new(&filter, MADE_START + 500, 3);
	struct mprof_profile *p;
	struct made m = {0};
	int64_t small;

	made_begin(&m, 2);
	small = made_alloc(&m, 5, 1, MPROF_MEM_MAJOR, STACK(6));
	made_end(&m, 10, MPROF_MEM_COLLECT, small);
	made_finish(&m);
	made_begin(&m, 2);
	made_alloc(&m, 20, 50, MPROF_MEM_MAJOR, STACK(6));
	made_finish(&m);
	mprof_mem_free(made_read(&m, NULL, s));
	p = NEW(.selection = s);
	mprof_mem_free(made_read(&m, p, NULL));
	CHECK_EQ_UINT(mprof_profile_sums(p)->live, 0);
	mprof_profile_free(p);
	mprof_selection_free(s);
	made_free(&m);
}

/*
 * A stack of 200,000 frames that each event shares. The work per event is proportional to its new
 * frames.
 */
static void test_deep(void)
{
	enum { DEEP = 200000, EVENTS = 20000 };
	uint32_t *stack = calloc(DEEP, sizeof(*stack));
	struct mprof_profile *p = NEW(.tree = true);
	uint32_t n;

	for (uint32_t i = 0; i < DEEP; i++)
		stack[i] = i % 7;
	for (int64_t i = 0; i < EVENTS; i++) {
		struct mprof_mem_event e = {.kind = MPROF_MEM_ALLOC,
					    .id = i,
					    .samples = 1,
					    .stack = stack,
					    .frames = DEEP,
					    .common = i ? DEEP : 0};

		CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	}
	mprof_profile_nodes(p, &n);
	CHECK_EQ_UINT(n, DEEP + 1);
	mprof_profile_free(p);
	free(stack);
}

/* If several moments have the same peak, the first of them is reported. */
static void test_first_peak(void)
{
	struct made m = {0};
	struct mprof_profile *p = mprof_profile_new(&(struct mprof_profile_options){.tree = true, .seed = 3});
	struct mprof_mem *d;

	made_begin(&m, 2);
	for (uint64_t us = 10; us <= 30; us += 10)
		made_end(&m, us, MPROF_MEM_COLLECT, made_alloc(&m, us, 5, MPROF_MEM_MAJOR, STACK(1, 2)));
	made_finish(&m);
	d = made_read(&m, p, NULL);
	CHECK_EQ_UINT(mprof_profile_sums(p)->peak, 5);
	CHECK_EQ_UINT(mprof_profile_sums(p)->peak_us, MADE_START + 10);
	mprof_mem_free(d);
	mprof_profile_free(p);
	made_free(&m);
}

int main(void)
{
	CHECK_RUN(test_sums);
	CHECK_RUN(test_peak);
	CHECK_RUN(test_contradictions);
	CHECK_RUN(test_many);
	CHECK_RUN(test_window);
	CHECK_RUN(test_window_joined);
	CHECK_RUN(test_many_selected);
	CHECK_RUN(test_read);
	CHECK_RUN(test_sort);
	CHECK_RUN(test_filters);
	CHECK_RUN(test_heaps);
	CHECK_RUN(test_joined);
	CHECK_RUN(test_joined_selected);
	CHECK_RUN(test_deep);
	CHECK_RUN(test_first_peak);
	return check_done();
}
