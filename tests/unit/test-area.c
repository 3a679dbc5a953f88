/* Areas: groups, times and waits of a model made by hand, and of random models counted another way. */
#include <stdlib.h>
#include <string.h>

#include <mprof/area-report.h>
#include <mprof/ids.h>

#include "array.h"
#include "check.h"

/* Number of allocations that succeed before one fails. Below 0 none fails. */
static long fail_in = -1;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static bool fails(void)
{
	return fail_in >= 0 && fail_in-- == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

#define THREADS 60u
#define RUNS	200u

/* A model of few threads, whose arrays the tests fill. */
struct fake {
	struct mprof_thread threads[THREADS];
	struct mprof_activation runs[RUNS];
	struct mprof_label labels[THREADS];
	struct mprof_string strings[4];
	struct mprof_gap gaps[2];
	struct mprof_model_stream streams[2];
	struct mprof_model_view v;
};

static void fake_init(struct fake *f)
{
	static const char text[] = "GETPUTget";

	memset(f, 0, sizeof(*f));
	f->strings[0] = (struct mprof_string){0, 3};
	f->strings[1] = (struct mprof_string){3, 3};
	f->strings[2] = (struct mprof_string){6, 3};
	f->streams[0] = (struct mprof_model_stream){.events = 1, .rows = 9, .silent = MPROF_NONE};
	f->streams[1] = (struct mprof_model_stream){.guest = 1, .events = 1, .first_row = 9, .silent = MPROF_NONE};
	f->v = (struct mprof_model_view){
		.threads = f->threads,
		.activations = f->runs,
		.labels = f->labels,
		.strings = f->strings,
		.gaps = f->gaps,
		.streams = f->streams,
		.text = text,
		.n_streams = 1,
		.n_strings = 3,
		.text_bytes = 9,
	};
}

/* Add a thread that lives from START to END on ROW with the label of STRING, or MPROF_NONE. */
static uint32_t add(struct fake *f, uint64_t start, uint64_t end, uint32_t row, uint32_t string, uint8_t type)
{
	uint32_t i = f->v.n_threads++, label = MPROF_NONE;

	if (string != MPROF_NONE) {
		label = f->v.n_labels++;
		f->labels[label] =
			(struct mprof_label){.thread = i, .next = MPROF_NONE, .text = string, .sample = MPROF_NONE};
	}
	f->threads[i] = (struct mprof_thread){.start = start,
					      .end = end,
					      .row = row,
					      .type = type,
					      .first_label = label,
					      .first_activation = MPROF_NONE};
	return i;
}

/* THREAD runs from START to END, after its earlier runs. */
static void run(struct fake *f, uint32_t thread, uint64_t start, uint64_t end)
{
	uint32_t i = f->v.n_activations++, *last = &f->threads[thread].first_activation;

	while (*last != MPROF_NONE)
		last = &f->runs[*last].next;
	f->runs[i] = (struct mprof_activation){.start = start, .end = end, .thread = thread, .next = MPROF_NONE};
	*last = i;
}

static struct mprof_area *area(struct fake *f, uint64_t from, uint64_t to, uint32_t first, uint32_t last)
{
	struct mprof_area *a = mprof_area_new(&f->v, &(struct mprof_area_place){from, to, first, last});

	CHECK(a);
	return a;
}

/* Group I of the list sorted by KEY. */
static const struct mprof_area_group *listed(struct mprof_area *a, enum mprof_area_key key, bool down, uint32_t i)
{
	CHECK(mprof_area_list(a, key, down, "", 0) > i);
	return &mprof_area_groups(a)[mprof_area_order(a)[i]];
}

static void test_times(void)
{
	struct mprof_area_thread threads[2];
	const struct mprof_area_totals *all;
	const struct mprof_area_group *g;
	struct mprof_area *a;
	struct fake f;
	uint32_t get;

	fake_init(&f);
	add(&f, 0, 1000, MPROF_NONE, MPROF_NONE, 0);
	f.threads[0].flags = MPROF_THREAD_ROOT;
	run(&f, 0, 0, 100);
	get = add(&f, 100, 500, 0, 0, 1);
	run(&f, get, 100, 150);
	run(&f, get, 300, 310);
	add(&f, 200, 260, 1, 0, 1);
	add(&f, 200, 1000, 2, 0, 2);
	add(&f, 0, 199, 3, MPROF_NONE, 1);
	add(&f, 901, 950, 3, 1, 1);
	f.gaps[0] = (struct mprof_gap){.from = 200, .to = 250, .packets = 7};
	f.gaps[1] = (struct mprof_gap){.from = 950, .to = 990, .packets = 9};
	f.v.n_gaps = 2;
	a = area(&f, 0, 900, 0, UINT32_MAX);
	all = mprof_area_totals(a);
	CHECK(all->threads == 4 && all->groups == 3 && all->lost_packets == 7);
	CHECK(all->alive.total_ns == 400 + 60 + 700 + 199 && all->alive.longest_ns == 700);
	CHECK(all->running.total_ns == 60 && all->waiting.total_ns == 340 + 60 + 700 + 199 && all->waits == 5);
	g = listed(a, MPROF_AREA_WAITING, true, 1);
	CHECK(g->label == 0 && g->type == 1 && g->threads == 2 && g->first == get);
	CHECK(g->alive.total_ns == 460 && g->alive.longest_ns == 400 && g->running.total_ns == 60);
	CHECK(g->waiting.total_ns == 400 && g->waiting.longest_ns == 340);
	CHECK_EQ_UINT(mprof_area_threads(a, (uint32_t)(g - mprof_area_groups(a)), threads, 2), 2);
	CHECK(threads[0].thread == get && threads[0].alive_ns == 400 && threads[0].running_ns == 60);
	CHECK(threads[0].waiting_ns == 340 && threads[1].waiting_ns == 60);
	CHECK_EQ_UINT(mprof_area_threads(a, (uint32_t)(g - mprof_area_groups(a)), threads, 1), 1);
	CHECK(threads[0].thread == get);
	CHECK_EQ_UINT(mprof_area_threads(a, (uint32_t)(g - mprof_area_groups(a)), threads, 0), 0);
	mprof_area_free(a);
	/* Only a part of the time and of the rows. */
	a = area(&f, 305, 400, 0, 1);
	all = mprof_area_totals(a);
	CHECK(all->threads == 1 && all->alive.total_ns == 95 && all->running.total_ns == 5);
	CHECK(all->waiting.total_ns == 90 && all->waits == 1 && all->lost_packets == 0);
	mprof_area_free(a);
	a = area(&f, 0, 1000, 2, 2);
	CHECK(mprof_area_totals(a)->threads == 1 && mprof_area_groups(a)[0].type == 2);
	mprof_area_free(a);
	a = area(&f, 2000, 3000, 0, UINT32_MAX);
	CHECK(mprof_area_totals(a)->groups == 0 && mprof_area_list(a, MPROF_AREA_LABEL, false, "", 0) == 0);
	CHECK(!mprof_area_free(a) && !mprof_area_free(NULL));
}

/* The runs of a thread are not in the order of time where a guest's clock went back. */
static void test_order(void)
{
	const struct mprof_area_totals *all;
	struct mprof_area *a;
	struct fake f;
	uint32_t thread;

	fake_init(&f);
	thread = add(&f, 0, 1000, 0, 0, 1);
	run(&f, thread, 600, 700);
	run(&f, thread, 100, 150);
	a = area(&f, 0, 400, 0, UINT32_MAX);
	all = mprof_area_totals(a);
	CHECK(all->running.total_ns == 50 && all->waiting.total_ns == 350);
	mprof_area_free(a);
}

static void test_waits(void)
{
	static const struct {
		uint64_t ns;
		unsigned bucket;
	} cases[] = {{1, 0},  {2, 1},	{4, 1},	   {5, 2},	    {9, 2},
		     {10, 3}, {999, 8}, {1000, 9}, {INT64_MAX, 56}, {UINT64_MAX, MPROF_AREA_WAITS - 1}};
	struct mprof_area *a;
	struct fake f;

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		fake_init(&f);
		add(&f, 0, cases[i].ns, 0, MPROF_NONE, 1);
		a = area(&f, 0, UINT64_MAX, 0, 0);
		CHECK_EQ_UINT(mprof_area_waits(a)[cases[i].bucket], 1);
		CHECK_EQ_UINT(mprof_area_totals(a)->waits, 1);
		mprof_area_free(a);
	}
}

static void test_list(void)
{
	struct mprof_area *a;
	struct fake f;

	fake_init(&f);
	add(&f, 0, 10, 0, 1, 3);
	add(&f, 0, 30, 0, MPROF_NONE, 1);
	add(&f, 0, 20, 0, 2, 2);
	add(&f, 0, 5, 0, 0, 1);
	add(&f, 0, 5, 0, 0, 1);
	a = area(&f, 0, 100, 0, 0);
	CHECK(listed(a, MPROF_AREA_LABEL, false, 0)->label == 0 && listed(a, MPROF_AREA_LABEL, false, 1)->label == 1);
	CHECK(listed(a, MPROF_AREA_LABEL, false, 2)->label == 2);
	CHECK(listed(a, MPROF_AREA_LABEL, false, 3)->label == MPROF_NONE);
	CHECK(listed(a, MPROF_AREA_LABEL, true, 0)->label == MPROF_NONE);
	CHECK(listed(a, MPROF_AREA_THREADS, true, 0)->label == 0 && listed(a, MPROF_AREA_THREADS, true, 1)->label == 1);
	CHECK(listed(a, MPROF_AREA_TYPE, true, 0)->type == 3 && listed(a, MPROF_AREA_TYPE, false, 0)->first == 1);
	CHECK(listed(a, MPROF_AREA_ALIVE, true, 0)->label == MPROF_NONE);
	CHECK(listed(a, MPROF_AREA_ALIVE_LONGEST, false, 0)->label == 0);
	CHECK(listed(a, MPROF_AREA_WAITING_LONGEST, true, 1)->label == 2);
	/* A text is found in labels and in names of types, in any case. */
	CHECK_EQ_UINT(mprof_area_list(a, MPROF_AREA_ALIVE, true, "gEt", 3), 2);
	CHECK(mprof_area_groups(a)[mprof_area_order(a)[0]].label == 2);
	CHECK_EQ_UINT(mprof_area_list(a, MPROF_AREA_ALIVE, true, "GETS", 4), 0);
	CHECK_EQ_UINT(mprof_area_list(a, MPROF_AREA_ALIVE, true, "TPU", 3), 0);
	CHECK(mprof_area_list(a, MPROF_AREA_ALIVE, true, mprof_thread_type_name(3),
			      (uint32_t)strlen(mprof_thread_type_name(3))) == 1);
	mprof_area_free(a);
}

struct output {
	char text[8192];
	size_t n;
};

static void put(void *context, const char *text, size_t n)
{
	struct output *o = context;

	CHECK(o->n + n < sizeof(o->text));
	memcpy(o->text + o->n, text, n);
	o->n += n;
	o->text[o->n] = 0;
}

/* Return the answer of R about the groups, or about the threads of GROUP, until the next call. */
static const char *answer(const struct mprof_area_report *r, uint32_t group)
{
	static struct output o;
	struct mprof_json j = {.put = put, .context = &o, .shown = true};

	o.n = 0;
	mprof_json_open(&j, NULL, '{');
	if (group == MPROF_NONE)
		CHECK_EQ_INT(mprof_area_write(r, &j), MPROF_OK);
	else
		mprof_area_write_threads(r, group, &j);
	mprof_json_close(&j, '}');
	return o.text;
}

static void test_answer(void)
{
	static const char *const groups =
		"{\"groups\":["
		"{\"group\":1,\"label\":null,\"type\":\"Bind\",\"threads\":1,\"first\":1,\"alive_ns\":\"30\","
		"\"alive_longest_ns\":\"30\",\"running_ns\":\"0\",\"running_longest_ns\":\"0\",\"waiting_ns\":\"30\","
		"\"waiting_longest_ns\":\"30\"},"
		"{\"group\":0,\"label\":\"PUT\",\"type\":\"Bind\",\"threads\":2,\"first\":0,\"alive_ns\":\"15\","
		"\"alive_longest_ns\":\"10\",\"running_ns\":\"3\",\"running_longest_ns\":\"3\",\"waiting_ns\":\"12\","
		"\"waiting_longest_ns\":\"7\"}],\"listed\":3,"
		"\"totals\":{\"groups\":3,\"threads\":4,\"alive_ns\":\"45\",\"alive_longest_ns\":\"30\",\"running_ns\":"
		"\"3\","
		"\"running_longest_ns\":\"3\",\"waiting_ns\":\"42\",\"waiting_longest_ns\":\"30\",\"waits\":4,"
		"\"lost_packets\":0},"
		"\"waits\":[{\"least_ns\":\"2\",\"waits\":1},{\"least_ns\":\"5\",\"waits\":2},{\"least_ns\":\"10\","
		"\"waits\":0},"
		"{\"least_ns\":\"20\",\"waits\":1}],\"coverage\":null}";
	static const char *const threads =
		"{\"threads\":[{\"index\":0,\"thread\":7,\"start_ns\":\"0\",\"alive_ns\":\"10\",\"running_ns\":\"3\","
		"\"waiting_ns\":\"7\"},{\"index\":2,\"thread\":0,\"start_ns\":\"0\",\"alive_ns\":\"5\",\"running_ns\":"
		"\"0\","
		"\"waiting_ns\":\"5\"}]}";
	struct mprof_area_report r = {.key = MPROF_AREA_WAITING, .descending = true, .most = 2, .text = ""};
	struct fake f;

	fake_init(&f);
	add(&f, 0, 10, 0, 1, MPROF_THREAD_Bind);
	add(&f, 0, 30, 0, MPROF_NONE, MPROF_THREAD_Bind);
	add(&f, 0, 5, 0, 1, MPROF_THREAD_Bind);
	add(&f, 0, 0, 0, 2, MPROF_THREAD_Bind);
	run(&f, 0, 2, 5);
	f.threads[0].id = 7;
	r.view = &f.v;
	r.area = area(&f, 0, 100, 0, 0);
	CHECK_EQ_STR(answer(&r, MPROF_NONE), groups);
	CHECK_EQ_STR(answer(&r, 0), threads);
	mprof_area_free(r.area);
}

/* Return whether the answer about the area of F from FROM to TO, and the rows from FIRST on, has TEXT. */
static bool says(struct fake *f, uint64_t from, uint64_t to, uint32_t first, const char *text)
{
	struct mprof_area_report r = {.view = &f->v, .area = area(f, from, to, first, 20), .text = "", .most = 9};
	const char *said = answer(&r, MPROF_NONE);
	bool has = strstr(said, text);

	if (!has)
		fprintf(stderr, "%s\n", said);
	mprof_area_free(r.area);
	return has;
}

/* A 0 needs evidence. */
static void test_hole(void)
{
	struct fake f;

	fake_init(&f);
	add(&f, 10, 40, 0, 0, MPROF_THREAD_Bind);
	run(&f, 0, 12, 15);
	add(&f, 10, 40, 1, 1, MPROF_THREAD_Bind);
	f.streams[0].start = 10;
	f.v.n_streams = 2;
	CHECK(says(&f, 10, 40, 0, "\"running_ns\":\"0\",\"running_longest_ns\":\"0\",\"waiting_ns\":\"30\""));
	CHECK(says(&f, 10, 40, 0, "\"lost_packets\":0}"));
	CHECK(says(&f, 10, 40, 0, "\"coverage\":null"));
	CHECK(says(&f, 60, 90, 0, "\"totals\":{\"groups\":0,\"threads\":0,\"alive_ns\":\"0\""));
	CHECK(says(&f, 60, 90, 0, "\"waits\":0,\"lost_packets\":0},\"waits\":[],"));
	f.gaps[0] = (struct mprof_gap){.from = 20, .to = 25, .packets = (1ull << 53) + 1};
	f.gaps[1] = (struct mprof_gap){.from = 80, .to = 80, .packets = 0};
	f.v.n_gaps = 2;
	CHECK(says(&f, 10, 40, 0, "\"running_ns\":null,\"running_longest_ns\":null,\"waiting_ns\":\"30\""));
	CHECK(says(&f, 10, 40, 0, "\"running_ns\":\"3\""));
	CHECK(says(&f, 10, 40, 0, "\"lost_packets\":\"9007199254740993\"}"));
	CHECK(says(&f, 10, 40, 0, "\"coverage\":{\"hole\":\"gap\",\"from_ns\":\"20\",\"to_ns\":\"25\"}"));
	CHECK(says(&f, 30, 40, 0, "\"coverage\":null"));
	CHECK(says(&f, 5, 15, 0, "\"coverage\":{\"hole\":\"begin\",\"from_ns\":\"5\",\"to_ns\":\"10\"}"));
	/* Nothing is in the area, but it could be. */
	CHECK(says(&f, 60, 90, 0,
		   "\"groups\":[],\"listed\":0,\"totals\":{\"groups\":null,\"threads\":null,\"alive_ns\":null"));
	CHECK(says(&f, 60, 90, 0,
		   "\"waits\":null,\"lost_packets\":null},\"waits\":null,\"coverage\":{\"hole\":\"gap\""));
	/* The rows of another program, whose ring has no hole. */
	CHECK(says(&f, 60, 90, 9, "\"totals\":{\"groups\":0,\"threads\":0,"));
}

/* A ring that lacks its beginning has all that was done in the area, but not a thread that does nothing since. */
static void test_beginning(void)
{
	static const char behind[] = "\"coverage\":{\"hole\":\"begin\",\"from_ns\":\"10\",\"to_ns\":\"10\"}";
	struct fake f;

	fake_init(&f);
	add(&f, 10, 40, 0, 0, MPROF_THREAD_Bind);
	run(&f, 0, 12, 15);
	add(&f, 10, 40, 1, 1, MPROF_THREAD_Bind);
	f.streams[0].start = 10;
	CHECK(says(&f, 10, 40, 0, "\"coverage\":null"));
	f.streams[0].begin = MPROF_BEGIN_LATER;
	CHECK(says(&f, 10, 40, 0, behind));
	CHECK(says(&f, 20, 40, 0, behind));
	CHECK(says(&f, 20, 40, 0, "\"running_ns\":\"0\",\"running_longest_ns\":\"0\",\"waiting_ns\":\"20\""));
	CHECK(says(&f, 60, 90, 0, "\"threads\":null,\"alive_ns\":null,\"alive_longest_ns\":null,\"running_ns\":\"0\""));
	CHECK(says(&f, 60, 90, 0, "\"waits\":null,\"lost_packets\":0}"));
	CHECK(says(&f, 5, 40, 0, "\"from_ns\":\"5\",\"to_ns\":\"10\"}"));
	f.streams[0].begin = MPROF_BEGIN_FIRST;
	CHECK(says(&f, 5, 40, 0, "\"coverage\":null"));
	f.streams[0].begin = MPROF_BEGIN_UNSAID;
	f.streams[0].declares = MPROF_DECLARES_KINDS;
	CHECK(says(&f, 10, 40, 0, behind));
	f.streams[0].declares |= MPROF_DECLARES_FIRST;
	CHECK(says(&f, 5, 40, 0, "\"coverage\":null"));
}

/* The ring of the vCPUs counts where their rows are in the area. */
static void test_vcpus(void)
{
	struct fake f;
	uint32_t vcpu;

	fake_init(&f);
	add(&f, 10, 40, 0, 0, MPROF_THREAD_Bind);
	f.streams[0].root = 0;
	f.threads[0].first_child = MPROF_NONE;
	vcpu = add(&f, 10, 40, 9, 1, MPROF_THREAD_Bind);
	f.threads[vcpu].id = -1986228341;
	f.threads[vcpu].first_child = vcpu;
	f.streams[1] =
		(struct mprof_model_stream){.events = 1, .first_row = 9, .rows = 1, .root = vcpu, .silent = MPROF_NONE};
	f.v.n_streams = 2;
	f.gaps[0] = (struct mprof_gap){.from = 20, .to = 30, .packets = 1, .stream = 1};
	f.v.n_gaps = 1;
	CHECK(says(&f, 10, 40, 0, "\"coverage\":{\"hole\":\"gap\""));
	CHECK(says(&f, 31, 40, 0, "\"coverage\":null"));
	f.streams[1].first_row = 30; /* below the area */
	CHECK(says(&f, 10, 40, 0, "\"coverage\":null"));
}

/* Nothing tells when a thread runs: its times are unknown, and those of other rings are not. */
static void test_untold(void)
{
	struct fake f;

	fake_init(&f);
	add(&f, 10, 40, 0, 0, MPROF_THREAD_Bind);
	CHECK(says(&f, 0, 40, 0, "\"alive_ns\":\"30\",\"alive_longest_ns\":\"30\",\"running_ns\":null"));
	CHECK(says(&f, 0, 40, 0, "\"waiting_longest_ns\":null,\"waits\":null,\"lost_packets\":0},\"waits\":null"));
	f.streams[0].declares = MPROF_DECLARES_KINDS | MPROF_WRITES_STOPS;
	CHECK(says(&f, 0, 40, 0, "\"running_ns\":\"0\""));
	f.streams[0].declares = 0;
	add(&f, 10, 40, 0, 1, MPROF_THREAD_Bind);
	run(&f, 1, 20, 22);
	CHECK(says(&f, 0, 40, 0, "\"running_ns\":\"0\""));
	f.v.n_streams = 2;
	f.threads[0].stream = 1;
	CHECK(says(&f, 0, 40, 0, "\"running_ns\":null"));
	CHECK(says(&f, 0, 40, 0, "\"running_ns\":\"2\""));
}

/* Count moment by moment what the area says of random threads. */
static void test_random(void)
{
	for (unsigned round = 0; round < 300; round++) {
		uint64_t alive = 0, running = 0, from = (uint64_t)rand() % 100, to = from + (uint64_t)rand() % 100;
		uint32_t rows = (uint32_t)rand() % 4, threads = 0;
		const struct mprof_area_totals *all;
		struct mprof_area *a;
		struct fake f;

		fake_init(&f);
		for (unsigned i = 0; i < 20; i++) {
			uint64_t start = (uint64_t)rand() % 150, end = start + (uint64_t)rand() % 60, at = start;
			uint32_t t = add(&f, start, end, i % 5, i % 3 ? i % 3 - 1 : MPROF_NONE, (uint8_t)(i % 2));
			bool in = i % 5 <= rows && start <= to && end >= from;

			threads += in;
			for (unsigned n = 0; n < 3 && at < end; n++) {
				uint64_t begin = at + (uint64_t)rand() % 10, stop = begin + (uint64_t)rand() % 10;

				stop = stop < end ? stop : end;
				if (begin >= stop)
					break;
				run(&f, t, begin, stop);
				for (uint64_t moment = begin; in && moment < stop; moment++)
					running += moment >= from && moment < to;
				at = stop;
			}
			for (uint64_t moment = start; in && moment < end; moment++)
				alive += moment >= from && moment < to;
		}
		a = area(&f, from, to, 0, rows);
		all = mprof_area_totals(a);
		CHECK_EQ_UINT(all->threads, threads);
		CHECK_EQ_UINT(all->alive.total_ns, alive);
		CHECK_EQ_UINT(all->running.total_ns, running);
		CHECK_EQ_UINT(all->waiting.total_ns, alive - running);
		mprof_area_free(a);
	}
}

/* Without memory there is no area, and nothing leaks (the sanitizer's run). */
static void test_no_memory(void)
{
	struct mprof_area *a = NULL;
	struct fake f;

	fake_init(&f);
	for (uint64_t i = 0; i < 40; i++)
		add(&f, 0, 9, 0, i % 3 ? (uint32_t)(i % 3) : MPROF_NONE, (uint8_t)i);
	for (long n = 0; !a; n++) {
		CHECK(n < 40);
		fail_in = n;
		a = mprof_area_new(&f.v, &(struct mprof_area_place){0, 9, 0, 0});
		CHECK(a || fail_in < 0);
	}
	/* The list needs no more: an empty one would say that nothing is there. */
	fail_in = 0;
	CHECK_EQ_UINT(mprof_area_list(a, MPROF_AREA_ALIVE, false, "", 0), 40);
	fail_in = -1;
	mprof_area_free(a);
}

int main(void)
{
	CHECK_RUN(test_times);
	CHECK_RUN(test_order);
	CHECK_RUN(test_waits);
	CHECK_RUN(test_list);
	CHECK_RUN(test_answer);
	CHECK_RUN(test_hole);
	CHECK_RUN(test_beginning);
	CHECK_RUN(test_vcpus);
	CHECK_RUN(test_untold);
	CHECK_RUN(test_random);
	CHECK_RUN(test_no_memory);
	return check_done();
}
