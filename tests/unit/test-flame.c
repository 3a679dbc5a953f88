/*
 * Flame graphs, hotspots and leaks of a memory profile: trees in both directions, recursion, hidden
 * functions, callers.
 */
#include "mem-make.h"

static struct mprof_profile *profile_new(void)
{
	return mprof_profile_new(&(struct mprof_profile_options){.tree = true, .seed = 5});
}

/*
 * Write the tree as text to OUT: "f1 10/0(f2 4/4,f3 6/6)", with each function's total and own
 * samples.
 */
static size_t show(const struct mprof_mem *d, const struct mprof_flame_node *nodes, uint32_t at, char *out, size_t room)
{
	const struct mprof_flame_node *node = &nodes[at];
	size_t bytes = 3, n;
	const char *name = node->name != MPROF_NONE		? mprof_mem_string(d, node->name, &bytes)
			   : node->code == MPROF_CODE_TRUNCATED ? "cut"
			   : node->location != MPROF_NONE	? "at."
								: "all";

	n = (size_t)snprintf(out, room, "%.*s %" PRIu64 "/%" PRIu64, (int)bytes, name, node->total, node->self);
	for (uint32_t i = node->first_child; i != MPROF_NONE; i = nodes[i].next_sibling) {
		out[n++] = i == node->first_child ? '(' : ',';
		n += show(d, nodes, i, out + n, room - n);
		if (nodes[i].next_sibling == MPROF_NONE)
			out[n++] = ')';
	}
	out[n] = 0;
	return n;
}

static void check_tree(const struct mprof_flame *f, const struct mprof_mem *d, const char *want)
{
	char text[1000];
	uint32_t n;

	show(d, mprof_flame_nodes(f, &n), 0, text, sizeof(text));
	CHECK_EQ_STR(text, want);
}

static void stacks_make(struct made *m)
{
	made_begin(m, 2);
	made_alloc(m, 1, 4, MPROF_MEM_MAJOR, STACK(1, 2));
	made_alloc(m, 2, 6, MPROF_MEM_MAJOR, STACK(1, 3));
	made_alloc(m, 3, 1, MPROF_MEM_MAJOR, STACK(1, 2, 3, 2, 1));
	made_finish(m);
}

static void check_flame(const struct mprof_flame_options *options, bool callers, const char *want)
{
	struct made m = {0};
	struct mprof_profile *p = profile_new();
	struct mprof_mem *d;
	struct mprof_flame *f, *turned;

	stacks_make(&m);
	d = made_read(&m, p, NULL);
	f = mprof_flame_new(p, d, options);
	turned = mprof_flame_callers(f, d);
	check_tree(callers ? turned : f, d, want);
	mprof_flame_free(turned);
	mprof_flame_free(f);
	mprof_mem_free(d);
	mprof_profile_free(p);
	made_free(&m);
}

static void test_trees(void)
{
	const struct mprof_mem_clause hidden = {.name = "f3", .whole = true};

	check_flame(&(struct mprof_flame_options){0}, false, "all 11/0(f1 11/0(f3 6/6,f2 5/4(f3 1/1)))");
	check_flame(&(struct mprof_flame_options){.recursion = true}, false,
		    "all 11/0(f1 11/0(f3 6/6,f2 5/4(f3 1/0(f2 1/0(f1 1/1)))))");
	check_flame(&(struct mprof_flame_options){.hidden = &hidden, .n_hidden = 1}, false,
		    "all 11/0(f1 11/6(f2 5/5))");
	check_flame(&(struct mprof_flame_options){.sites = true}, false,
		    "all 11/0(f1 11/0(f3 6/0(at. 6/6),f2 5/0(at. 4/4,f3 1/0(at. 1/1))))");
	check_flame(&(struct mprof_flame_options){0}, true, "all 11/0(f3 7/0(f1 6/6,f2 1/0(f1 1/1)),f2 4/0(f1 4/4))");
}

/*
 * One code address stands for two functions, one inlined into the other. If the inner function is
 * hidden, its allocations are not counted for the outer one.
 */
static void test_hidden_inside(void)
{
	const struct mprof_mem_clause hidden = {.name = "f6", .whole = true};
	const struct mprof_flame_options options = {.sites = true, .hidden = &hidden, .n_hidden = 1};
	struct mprof_profile *p = profile_new();
	struct mprof_flame *f;
	struct made m = {0};
	struct mprof_mem *d;

	made_begin(&m, 2);
	m.codes[5].locations = 2;
	made_alloc(&m, 1, 4, MPROF_MEM_MAJOR, STACK(1, 5));
	made_finish(&m);
	d = made_read(&m, p, NULL);
	f = mprof_flame_new(p, d, &options);
	check_tree(f, d, "all 4/0(f1 4/0(f5 4/4))");
	mprof_flame_free(f);
	mprof_mem_free(d);
	mprof_profile_free(p);
	made_free(&m);
}

static const struct mprof_hotspot *spot_find(const struct mprof_hotspots *h, const struct mprof_mem *d,
					     const char *name)
{
	uint32_t n;
	const struct mprof_hotspot *list = mprof_hotspots_list(h, &n);

	for (uint32_t i = 0; i < n; i++) {
		size_t bytes;
		const char *text = list[i].name == MPROF_NONE ? "" : mprof_mem_string(d, list[i].name, &bytes);

		if (list[i].name != MPROF_NONE && bytes == strlen(name) && memcmp(text, name, bytes) == 0)
			return &list[i];
	}
	return NULL;
}

static void test_hotspots(void)
{
	struct made m = {0};
	struct mprof_profile *p = profile_new();
	struct mprof_mem *d;
	struct mprof_hotspots *h;
	const struct mprof_hotspot *spot;
	uint32_t n;

	stacks_make(&m);
	d = made_read(&m, p, NULL);
	h = mprof_hotspots_new(p, d, MPROF_WEIGHT_ALL);
	spot = spot_find(h, d, "f1");
	CHECK(spot);
	/* A function that is twice on a stack counts once. */
	CHECK_EQ_UINT(spot->self, 1);
	CHECK_EQ_UINT(spot->total, 11);
	CHECK_EQ_UINT(spot->n_callers, 2);
	spot = spot_find(h, d, "f3");
	CHECK_EQ_UINT(spot->self, 6);
	CHECK_EQ_UINT(spot->total, 7);
	CHECK_EQ_UINT(spot->n_callers, 1);
	CHECK_EQ_UINT(mprof_hotspots_callers(h, &n)[spot->first_caller].samples, 6);
	CHECK(mprof_hotspots_list(h, &n) == spot);
	mprof_hotspots_free(h);
	mprof_mem_free(d);
	mprof_profile_free(p);
	made_free(&m);
}

/* Return the pair of the functions CALLEE and CALLER, or zeros if there is none. */
static struct mprof_hotspot_caller pair_find(const struct mprof_hotspots *h, const struct mprof_mem *d,
					     const char *callee, const char *caller)
{
	uint32_t n;
	const struct mprof_hotspot_caller *list = mprof_hotspots_callers(h, &n);
	const struct mprof_hotspot *spots = mprof_hotspots_list(h, &n), *of = spot_find(h, d, callee);

	for (uint32_t i = of->first_caller; i < of->first_caller + of->n_callers; i++)
		if (&spots[list[i].caller] == spot_find(h, d, caller))
			return list[i];
	return (struct mprof_hotspot_caller){0};
}

/*
 * f4 allocates below f1 and f2, which call it directly or through each other. A function that calls
 * itself is called directly by the function before it.
 */
static void test_direct_callers(void)
{
	struct mprof_profile *p = profile_new();
	struct made m = {0};
	struct mprof_hotspots *h;
	struct mprof_mem *d;

	made_begin(&m, 2);
	made_alloc(&m, 1, 16, MPROF_MEM_MAJOR, STACK(1, 2, 4));
	made_alloc(&m, 2, 8, MPROF_MEM_MAJOR, STACK(1, 2, 4, 4));
	made_alloc(&m, 3, 4, MPROF_MEM_MAJOR, STACK(1, 4));
	made_alloc(&m, 4, 2, MPROF_MEM_MAJOR, STACK(2, 1, 2, 1, 4));
	made_alloc(&m, 5, 1, MPROF_MEM_MAJOR, STACK(4));
	made_finish(&m);
	d = made_read(&m, p, NULL);
	h = mprof_hotspots_new(p, d, MPROF_WEIGHT_ALL);
	CHECK_EQ_UINT(pair_find(h, d, "f4", "f1").samples, 30);
	CHECK_EQ_UINT(pair_find(h, d, "f4", "f1").direct, 6);
	CHECK_EQ_UINT(pair_find(h, d, "f4", "f2").samples, 26);
	CHECK_EQ_UINT(pair_find(h, d, "f4", "f2").direct, 24);
	CHECK_EQ_UINT(pair_find(h, d, "f4", "f4").samples, 0);
	mprof_hotspots_free(h);
	mprof_mem_free(d);
	mprof_profile_free(p);
	made_free(&m);
}

/* A function allocates at four places. The list has the three largest places, the largest first. */
static void test_places(void)
{
	struct mprof_profile *p = profile_new();
	struct made m = {0};
	struct mprof_hotspots *h;
	const struct mprof_hotspot *spot;
	struct mprof_mem *d;

	made_begin(&m, 2);
	for (uint32_t i = 5; i <= 7; i++) {
		m.locations[i].function = 4;
		m.locations[i].file = MADE_PLACES + 4;
	}
	made_alloc(&m, 1, 10, MPROF_MEM_MAJOR, STACK(1, 4));
	made_alloc(&m, 2, 8, MPROF_MEM_MAJOR, STACK(1, 5));
	made_alloc(&m, 3, 2, MPROF_MEM_MAJOR, STACK(1, 6));
	made_alloc(&m, 4, 5, MPROF_MEM_MAJOR, STACK(1, 7));
	made_finish(&m);
	d = made_read(&m, p, NULL);
	h = mprof_hotspots_new(p, d, MPROF_WEIGHT_ALL);
	spot = spot_find(h, d, "f4");
	if (CHECK(spot) && CHECK_EQ_UINT(spot->n_places, 4)) {
		CHECK_EQ_UINT(mprof_mem_location(d, spot->places[0])->line, 4);
		CHECK_EQ_UINT(mprof_mem_location(d, spot->places[1])->line, 5);
		CHECK_EQ_UINT(mprof_mem_location(d, spot->places[2])->line, 7);
	}
	mprof_hotspots_free(h);
	mprof_mem_free(d);
	mprof_profile_free(p);
	made_free(&m);
}

/*
 * A code without a name takes the name of the frame before it, and so does a second one. A third
 * does not. Each named frame begins a new count.
 */
static void test_borrowed_names(void)
{
	struct mprof_profile *p = profile_new();
	struct made m = {0};
	struct mprof_hotspots *h;
	struct mprof_mem *d;

	made_begin(&m, 2);
	for (uint32_t i = 7; i <= 10; i++)
		m.codes[i].locations = 0;
	made_alloc(&m, 1, 4, MPROF_MEM_MAJOR, STACK(1, 7, 8));
	made_alloc(&m, 2, 2, MPROF_MEM_MAJOR, STACK(1, 7, 8, 9));
	made_alloc(&m, 3, 1, MPROF_MEM_MAJOR, STACK(1, 7, 8, 2, 10));
	made_finish(&m);
	d = made_read(&m, p, NULL);
	h = mprof_hotspots_new(p, d, MPROF_WEIGHT_ALL);
	CHECK_EQ_UINT(spot_find(h, d, "f1")->self, 4);
	CHECK_EQ_UINT(spot_find(h, d, "f2")->self, 1);
	mprof_hotspots_free(h);
	mprof_mem_free(d);
	mprof_profile_free(p);
	made_free(&m);
}

/* If a stack was cut off, a frame stands for the part that is missing. */
static void test_truncated(void)
{
	struct mprof_profile *p = profile_new();
	struct mprof_mem *d = mprof_mem_new(&(struct mprof_mem_options){.stacks = true, .seed = 1});
	struct mprof_mem_event e = {.kind = MPROF_MEM_ALLOC, .samples = 3, .flags = MPROF_MEM_TRUNCATED};
	struct mprof_flame *f;

	CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	e = (struct mprof_mem_event){.kind = MPROF_MEM_ALLOC, .id = 1, .samples = 2, .flags = MPROF_MEM_NO_STACK};
	CHECK_EQ_INT(mprof_profile_add(p, &e), MPROF_OK);
	f = mprof_flame_new(p, d, &(struct mprof_flame_options){0});
	check_tree(f, d, "all 5/0(cut 3/3,all 2/2)");
	mprof_flame_free(f);
	mprof_mem_free(d);
	mprof_profile_free(p);
}

/*
 * An allocation at the last moment belongs to the last part of the run, also if the run has no
 * length. If two stacks have equal samples, the first is shown.
 */
static void test_leaks_at_the_end(void)
{
	struct made m = {0};
	struct mprof_profile *p = profile_new();
	const struct mprof_profile_node *nodes;
	const struct mprof_leak *list;
	struct mprof_leaks *l;
	struct mprof_mem *d;
	uint32_t n;

	made_begin(&m, 2);
	made_alloc(&m, 0, 5, MPROF_MEM_MAJOR, STACK(1, 2));
	made_alloc(&m, 0, 5, MPROF_MEM_MAJOR, STACK(3, 2));
	made_alloc(&m, 800, 2, MPROF_MEM_MAJOR, STACK(1, 4));
	made_finish(&m);
	d = made_read(&m, p, NULL);
	l = mprof_leaks_new(p, d, MADE_START, MADE_START + 800);
	list = mprof_leaks_list(l, &n);
	nodes = mprof_profile_nodes(p, &n);
	for (uint32_t i = 0; i < 2; i++) {
		bool late = list[i].live == 2;

		CHECK_EQ_UINT(list[i].parts[MPROF_LEAK_PARTS - 1], late ? 2 : 0);
		CHECK_EQ_UINT(list[i].parts[0], late ? 0 : 10);
		if (!late)
			CHECK_EQ_UINT(mprof_mem_code(d, nodes[nodes[list[i].node].parent].code)->code, 16);
	}
	mprof_leaks_free(l);
	l = mprof_leaks_new(p, d, MADE_START + 800, MADE_START + 800);
	list = mprof_leaks_list(l, &n);
	CHECK_EQ_UINT(n, 2);
	mprof_leaks_free(l);
	mprof_mem_free(d);
	mprof_profile_free(p);
	made_free(&m);
}

/*
 * Two places allocate. One keeps objects of all times and is a leak. The other keeps most of its
 * objects from the start.
 */
static void test_leaks(void)
{
	struct made m = {0};
	struct mprof_profile *p = profile_new();
	const struct mprof_leak *list;
	struct mprof_leaks *l;
	struct mprof_mem *d;
	uint32_t n;

	made_begin(&m, 2);
	for (uint64_t us = 0; us < 800; us += 10) {
		made_alloc(&m, us, 1, MPROF_MEM_MAJOR, STACK(1, 2));
		if (us < 100 || us > 700)
			made_alloc(&m, us, 9, MPROF_MEM_MAJOR, STACK(1, 3));
		made_end(&m, us, MPROF_MEM_COLLECT, made_alloc(&m, us, 5, MPROF_MEM_MINOR, STACK(1, 2)));
	}
	made_finish(&m);
	d = made_read(&m, p, NULL);
	l = mprof_leaks_new(p, d, MADE_START, MADE_START + 800);
	list = mprof_leaks_list(l, &n);
	CHECK_EQ_UINT(n, 2);
	CHECK_EQ_UINT(mprof_mem_code(d, list[0].code)->code, 2 * 16);
	CHECK_EQ_UINT(list[0].steady, 7);
	CHECK_EQ_UINT(list[0].growth, 60);
	CHECK_EQ_UINT(list[0].live, 80);
	CHECK_EQ_UINT(list[0].at_node, 80);
	for (uint32_t i = 0; i < MPROF_LEAK_PARTS; i++)
		CHECK_EQ_UINT(list[0].parts[i], 10);
	CHECK_EQ_UINT(list[1].steady, 1);
	CHECK_EQ_UINT(list[1].growth, 0);
	mprof_leaks_free(l);
	mprof_mem_free(d);
	mprof_profile_free(p);
	made_free(&m);
}

/* An empty profile is a root without children, and has no hotspots. */
static void test_empty(void)
{
	struct mprof_profile *p = profile_new();
	struct mprof_mem *d = mprof_mem_new(&(struct mprof_mem_options){.stacks = true, .seed = 1});
	struct mprof_flame *f = mprof_flame_new(p, d, &(struct mprof_flame_options){0});
	struct mprof_flame *turned = mprof_flame_callers(f, d);
	struct mprof_hotspots *h = mprof_hotspots_new(p, d, MPROF_WEIGHT_PEAK);
	struct mprof_leaks *l = mprof_leaks_new(p, d, 0, 0);
	uint32_t n;

	check_tree(turned, d, "all 0/0");
	mprof_hotspots_list(h, &n);
	CHECK_EQ_UINT(n, 0);
	mprof_leaks_list(l, &n);
	CHECK_EQ_UINT(n, 0);
	mprof_leaks_free(l);
	mprof_hotspots_free(h);
	mprof_flame_free(turned);
	mprof_flame_free(f);
	mprof_mem_free(d);
	mprof_profile_free(p);
}

int main(void)
{
	CHECK_RUN(test_trees);
	CHECK_RUN(test_hidden_inside);
	CHECK_RUN(test_hotspots);
	CHECK_RUN(test_direct_callers);
	CHECK_RUN(test_places);
	CHECK_RUN(test_borrowed_names);
	CHECK_RUN(test_truncated);
	CHECK_RUN(test_leaks);
	CHECK_RUN(test_leaks_at_the_end);
	CHECK_RUN(test_empty);
	return check_done();
}
