/*
 * Scenes: the number of steps that a picture takes for any model, the picture's marks, and
 * allocations that fail. tests/integration/scene-oracles.py checks the pictures of recorded traces.
 */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "scene-state.h"

/* Number of allocations of the library that succeed before one fails. Below 0 none fails. */
static long fail_in = -1;
static size_t held; /* bytes that the library holds */

static bool fails(void)
{
	return fail_in >= 0 && fail_in-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);

static void *hold(void *p)
{
	held += p ? malloc_usable_size(p) : 0;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : hold(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : hold(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (fails())
		return NULL;
	held -= p ? malloc_usable_size(p) : 0;
	return hold(__real_realloc(p, size));
}

void __wrap_free(void *p)
{
	held -= p ? malloc_usable_size(p) : 0;
	__real_free(p);
}

/* ---- models */

struct drawing {
	struct mprof_model *m;
	const struct mprof_model_view *v;
	struct mprof_scene *s;
	uint64_t events;
};

static void begin(struct drawing *t, uint32_t streams)
{
	uint32_t i, stream;

	*t = (struct drawing){.m = mprof_model_new(&(struct mprof_model_options){.simplify = true, .seed = 1})};
	for (i = 0; i < streams; i++)
		CHECK_EQ_INT(mprof_model_stream(t->m, &(struct mprof_model_source){.guest = i}, &stream), MPROF_OK);
}

static void add_to(struct drawing *t, uint32_t stream, uint64_t time, uint8_t id, int64_t context, int64_t number,
		   const char *text)
{
	struct mprof_raw_event e = {
		.timestamp = time,
		.id = id,
		.type = MPROF_THREAD_Task,
		.context = context,
		.number = number,
		.text = text,
		.text_bytes = text ? strlen(text) : 0,
	};

	CHECK(mprof_model_add(t->m, stream, &e) == MPROF_OK);
	t->events++;
}

static void add(struct drawing *t, uint64_t time, uint8_t id, int64_t context, int64_t number, const char *text)
{
	add_to(t, 0, time, id, context, number, text);
}

static void end(struct drawing *t)
{
	CHECK_EQ_INT(mprof_model_finish(t->m), MPROF_OK);
	t->v = mprof_model_view(t->m);
	t->s = mprof_scene_new(t->v);
	CHECK(t->s != NULL);
}

static void drawing_deinit(struct drawing *t)
{
	CHECK(mprof_scene_free(t->s) == NULL);
	mprof_model_free(t->m);
}

/* Return the next pseudo-random number, the same in each run. */
static uint64_t any(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

/* ---- the cost of a picture */

#define ITEMS 300000
#define WIDE  120
#define HIGH  80
/*
 * Upper limit of a picture's steps, which are accesses to items (scene-state.h): a few per pixel,
 * log n per column and row, and those of looking into finer levels of the row index (CLOSER in
 * scene.c). The limit is below the number of items of each model here, so a picture that visits
 * every item fails.
 */
#define COST_MAX (10 * WIDE * HIGH + 600 * (WIDE + HIGH))

static const struct mprof_window base = {
	.width = WIDE, .height = HIGH, .letter_width = 6, .flags = 7 | MPROF_WINDOW_DENSE};

/* Return the steps of the more expensive of two pictures: one with shades, and one without. */
static uint64_t cost(struct drawing *t, uint64_t from, uint64_t to, double focus, uint32_t *marks)
{
	struct mprof_window w = base;
	struct mprof_picture p;
	uint64_t steps;

	w.from = from;
	w.to = to;
	w.focus = focus;
	if (!CHECK(t->s != NULL) || !CHECK_EQ_INT(mprof_scene_draw(t->s, &w, &p), MPROF_OK))
		return 0;
	*marks = p.n_marks;
	steps = t->s->steps;
	w.flags |= MPROF_WINDOW_SHADED;
	CHECK_EQ_INT(mprof_scene_draw(t->s, &w, &p), MPROF_OK);
	*marks = p.n_marks > *marks ? p.n_marks : *marks;
	return t->s->steps > steps ? t->s->steps : steps;
}

/*
 * Draw pictures of all zoom levels at three times and three rows. Check the steps of the most
 * expensive one.
 */
static void check_cost(struct drawing *t, const char *name)
{
	uint64_t start = t->v->streams[0].start, span = t->v->streams[0].end - start, part, at, most = 0, its;
	uint32_t marks = 0, most_marks = 0, place, row;

	for (part = span; part > 0; part /= 3)
		for (place = 0; place < 3; place++)
			for (row = 0; row < 3; row++) {
				at = start + (span - part) / 2 * place;
				its = cost(t, at, at + part, t->v->rows / 2.0 * row, &marks);
				most = its > most ? its : most;
				most_marks = marks > most_marks ? marks : most_marks;
			}
	if (!CHECK(most <= COST_MAX) || !CHECK(most_marks <= COST_MAX / 4) || getenv("SCENE_SHOW"))
		fprintf(stderr, "%s: %" PRIu64 " steps at most, %" PRIu32 " marks, %" PRIu32 " rows\n", name, most,
			most_marks, t->v->rows);
}

/*
 * Finish the model, make its scene, check that the scene needs at most 16 bytes per event (and 320
 * kB), and check the cost of its pictures.
 */
static void weigh(struct drawing *t, const char *name)
{
	size_t before;

	CHECK_EQ_INT(mprof_model_finish(t->m), MPROF_OK);
	t->v = mprof_model_view(t->m);
	before = held;
	t->s = mprof_scene_new(t->v);
	CHECK(t->s != NULL);
	if (!CHECK(held - before <= 16 * t->events + 320000) || getenv("SCENE_SHOW"))
		fprintf(stderr, "%s: %.1f bytes an event\n", name, (double)(held - before) / (double)t->events);
	check_cost(t, name);
	drawing_deinit(t);
}

/* Many short threads in one row. */
static void test_one_row(void)
{
	struct drawing t;
	int64_t i;

	begin(&t, 1);
	for (i = 0; i < ITEMS; i++) {
		add(&t, (uint64_t)i * 1000 + 1, MPROF_EVENT_creates, 0, 10 + i, NULL);
		add(&t, (uint64_t)i * 1000 + 500, i % 2 ? MPROF_EVENT_fulfills : MPROF_EVENT_fails, 0, 10 + i, "x");
	}
	weigh(&t, "one row");
}

/* As many rows as threads, because all threads live at once. */
static void test_all_rows(void)
{
	struct drawing t;
	int64_t i;

	begin(&t, 1);
	for (i = 0; i < ITEMS; i++)
		add(&t, 1 + (uint64_t)i, MPROF_EVENT_creates, 0, 10 + i, NULL);
	for (i = 0; i < ITEMS; i++)
		add(&t, 2 * ITEMS + (uint64_t)i, MPROF_EVENT_fulfills, 0, 10 + i, NULL);
	weigh(&t, "all rows");
}

/*
 * Many rows with many threads each. The pauses of the rows are at different times, so a group of
 * rows never has threads for all of its time.
 */
static void test_ragged_rows(void)
{
	const uint64_t rows = 3000;
	uint64_t seed = 7, time = 1, lap, i;
	struct drawing t;
	int64_t id = 10;

	begin(&t, 1);
	for (lap = 0; lap < ITEMS / rows; lap++) {
		for (i = 0; i < rows; i++)
			add(&t, time + i, MPROF_EVENT_creates, 0, id + (int64_t)i, NULL);
		for (i = 0; i < rows; i++)
			add(&t, time + rows + i * 3, MPROF_EVENT_fulfills, 0, id + (int64_t)((i * 7 + lap) % rows),
			    NULL);
		time += rows * 4 + (any(&seed) % 16 ? any(&seed) % 100 : 1000000);
		id += (int64_t)rows;
	}
	weigh(&t, "ragged rows");
}

/* Arrows between all kinds of threads, near and far, while other threads run. */
static void test_arrows(void)
{
	static const uint8_t kinds[] = {MPROF_EVENT_signal, MPROF_EVENT_read, MPROF_EVENT_try_read};
	uint64_t seed = 3, time = 1;
	struct drawing t;
	int64_t i;

	begin(&t, 1);
	for (i = 0; i < 1000; i++)
		add(&t, time++, MPROF_EVENT_creates, 0, 10 + i, NULL);
	for (i = 0; i < 300; i++)
		add(&t, time++, MPROF_EVENT_fulfills, 0, 10 + i, NULL);
	for (i = 0; i < ITEMS; i++) {
		time += any(&seed) % 64 ? 1 : any(&seed) % 100000;
		add(&t, time, kinds[any(&seed) % 3], 10 + (int64_t)(any(&seed) % 1000),
		    10 + (int64_t)(any(&seed) % 1000), NULL);
		if (i % 16 == 0)
			add(&t, time, MPROF_EVENT_switch, -1, 0, NULL);
	}
	weigh(&t, "arrows");
}

/*
 * Threads run alternately, with sleeps of any length between. A group of rows never has one thread
 * that runs all the time, however many rows are drawn as one.
 */
static void test_turns(void)
{
	uint64_t seed = 11, time = 1;
	struct drawing t;
	int64_t i;

	begin(&t, 1);
	for (i = 0; i < 3000; i++)
		add(&t, time++, MPROF_EVENT_creates, 0, 10 + i, NULL);
	for (i = 0; i < ITEMS / 2; i++) {
		time += 1 + (any(&seed) & ((1u << any(&seed) % 20) - 1));
		add(&t, time, MPROF_EVENT_switch, 10 + (int64_t)(any(&seed) % 3000), 0, NULL);
		time += 1 + (any(&seed) & ((1u << any(&seed) % 20) - 1));
		add(&t, time, MPROF_EVENT_switch, -1, 0, NULL);
	}
	for (i = 0; i < 3000; i++)
		add(&t, time++, MPROF_EVENT_fulfills, 0, 10 + i, NULL);
	weigh(&t, "turns");
}

/* One thread has very many labels; one of the labels is long. */
static void test_labels(void)
{
	static char text[10000001];
	struct drawing t;
	int64_t i;

	memset(text, 'x', sizeof(text) - 1);
	begin(&t, 1);
	add(&t, 1, MPROF_EVENT_creates, 0, 10, NULL);
	for (i = 0; i < ITEMS; i++)
		add(&t, 2 + (uint64_t)i * 10, MPROF_EVENT_label, 10, 0, i == ITEMS / 2 ? text : "a label");
	add(&t, 10 * ITEMS + 10, MPROF_EVENT_fulfills, 0, 10, NULL);
	weigh(&t, "labels");
}

/* One counter with many samples, and then many counters. */
static void test_counters(void)
{
	uint64_t seed = 5;
	char name[32];
	struct drawing t;
	int64_t i;

	begin(&t, 1);
	for (i = 0; i < ITEMS / 2; i++)
		add(&t, 1 + (uint64_t)i * 10, MPROF_EVENT_counter, 10, (int64_t)any(&seed) % 1000, "a");
	for (i = 0; i < ITEMS / 2; i++) {
		snprintf(name, sizeof(name), "counter %" PRId64, i);
		add(&t, 5 * ITEMS + (uint64_t)i, MPROF_EVENT_counter, 10, i, name);
	}
	weigh(&t, "counters");
}

/* Overlapping garbage collections of any length, gaps, and times that go back. */
static void test_bands(void)
{
	uint64_t seed = 9, time = 1000000;
	struct drawing t;
	int64_t i;

	begin(&t, 1);
	for (i = 0; i < ITEMS; i++) {
		time += any(&seed) % 100;
		add(&t, any(&seed) % 1000 ? time : time / 2, i % 2 ? MPROF_EVENT_gc : MPROF_EVENT_switch,
		    i % 4 ? 5 : -1, (int64_t)(any(&seed) % 1000), NULL);
		if (i % 100 == 0)
			mprof_model_gap(t.m, 0, 3);
	}
	weigh(&t, "bands");
}

/* More streams than the picture has pixels. */
static void test_streams(void)
{
	const uint32_t streams = 5000;
	struct drawing t;
	uint32_t i, k;

	begin(&t, streams);
	for (k = 0; k < 20; k++)
		for (i = 0; i < streams; i++) {
			add_to(&t, i, 1 + k * 1000 + i, MPROF_EVENT_creates, 0, 10 + k, NULL);
			add_to(&t, i, 2 + k * 1000 + i, MPROF_EVENT_switch, -1, 0, NULL);
			add_to(&t, i, 300 + k * 1000 + i, MPROF_EVENT_fulfills, 0, 10 + k, NULL);
		}
	weigh(&t, "streams");
}

/* ---- the marks of a picture */

static struct mprof_picture picture(struct drawing *t, struct mprof_window w)
{
	struct mprof_picture p = {0};

	CHECK_EQ_INT(mprof_scene_draw(t->s, &w, &p), MPROF_OK);
	return p;
}

/* Return mark number I of the kind KIND, or NULL. */
static const struct mprof_mark *mark(const struct mprof_picture *p, enum mprof_mark_kind kind, uint32_t i)
{
	uint32_t k;

	for (k = 0; k < p->n_marks; k++)
		if (p->marks[k].kind == kind && i-- == 0)
			return &p->marks[k];
	return NULL;
}

static bool says(const struct mprof_picture *p, const struct mprof_mark *m, const char *text)
{
	return m && m->bytes == strlen(text) && !memcmp(p->text + m->text, text, m->bytes);
}

static const struct mprof_window whole = {
	.from = 0, .to = 1000, .width = 1000, .height = 300, .letter_width = 7, .flags = 7};

static void tell(struct drawing *t)
{
	begin(t, 1);
	add(t, 0, MPROF_EVENT_switch, 1, 0, NULL);
	add(t, 100, MPROF_EVENT_creates, 1, 2, NULL);
	add(t, 100, MPROF_EVENT_label, 2, 0, "a \"quote\"\x1b[31m\xff");
	add(t, 200, MPROF_EVENT_creates, 1, 3, NULL);
	add(t, 210, MPROF_EVENT_label, 3, 0, "__should_resolve");
	add(t, 300, MPROF_EVENT_try_read, 3, 2, NULL);
	add(t, 400, MPROF_EVENT_switch, -1, 0, NULL);
	add(t, 600, MPROF_EVENT_switch, 1, 0, NULL);
	add(t, 650, MPROF_EVENT_gc, 0, 50, NULL);
	add(t, 700, MPROF_EVENT_fails, 1, 2, "no luck");
	add(t, 800, MPROF_EVENT_counter, 1, 5, "n");
	add(t, 900, MPROF_EVENT_creates, 1, 4, NULL);
	add(t, 950, MPROF_EVENT_becomes, 4, 3, NULL);
	add(t, 1000, MPROF_EVENT_switch, 1, 0, NULL);
	end(t);
}

static void test_story(void)
{
	struct mprof_picture p;
	const struct mprof_mark *m;
	struct drawing t;

	tell(&t);
	p = picture(&t, whole);
	m = mark(&p, MPROF_MARK_SLEEPING, 0);
	CHECK(m && m->x0 == 400 && m->x1 == 600 && m->y0 == 0 && m->y1 == 300 && m->shade == 65535);
	m = mark(&p, MPROF_MARK_COLLECTION, 0);
	CHECK(m && m->x0 == 600 && m->x1 == 650);
	CHECK(says(&p, mark(&p, MPROF_MARK_BAND_NAME, 0), "sleeping"));
	CHECK(says(&p, mark(&p, MPROF_MARK_BAND_NAME, 1), "GC"));
	m = mark(&p, MPROF_MARK_FAILED, 1);
	CHECK(m && m->x0 == 200 && m->x1 == 1000);
	m = mark(&p, MPROF_MARK_FAILED, 0);
	CHECK(m && m->x0 == 100 && m->x1 == 700);
	m = mark(&p, MPROF_MARK_TRY_READ, 0);
	CHECK(m && m->x0 == 300 && m->x1 == 300 && m->y0 != m->y1 && m->shade == 65535);
	m = mark(&p, MPROF_MARK_RESOLVE, 0);
	CHECK(m && m->x1 == 700);
	m = mark(&p, MPROF_MARK_BECOMES, 0);
	CHECK(m && m->x0 == 950);
	CHECK(says(&p, mark(&p, MPROF_MARK_COUNTER_NAME, 0), "n"));
	m = mark(&p, MPROF_MARK_OPEN_END, 0);
	CHECK(m && m->x0 == 1000 && t.v->threads[m->item].id == 3 && !mark(&p, MPROF_MARK_OPEN_END, 1));
	CHECK(says(&p, mark(&p, MPROF_MARK_GRID, 1), "0.1 µs"));
	CHECK_EQ_UINT(p.grid_ns, 100);
	/* A thread's end within the leftmost pixel is drawn. */
	p = picture(&t, (struct mprof_window){.from = 999, .to = 1999, .width = 500, .height = 300, .letter_width = 7});
	m = mark(&p, MPROF_MARK_OPEN_END, 1);
	CHECK(m && m->x0 == 0.5f && t.v->threads[m->item].id == 3);
	drawing_deinit(&t);
}

/* Grid line I of the picture of WINDOW: its place, its text, and if it is at a rounder time. */
static void check_line(struct drawing *t, struct mprof_window window, uint32_t i, float x, const char *text, bool round)
{
	struct mprof_picture p = picture(t, window);
	const struct mprof_mark *m = mark(&p, MPROF_MARK_GRID, i);

	CHECK(m && fabsf(m->x0 - x) < 0.01f && m->item == round);
	CHECK(says(&p, m, text));
}

#define S  1000000000ull
#define MS 1000000ull

/* The grid counts from the first event, from 0, or in times of day. */
static void test_grid(void)
{
	struct mprof_window w = {.to = 1000, .width = 1000, .height = 300, .letter_width = 7};
	struct drawing t;

	begin(&t, 1);
	add(&t, 130, MPROF_EVENT_switch, 1, 0, NULL);
	add(&t, 1000, MPROF_EVENT_switch, -1, 0, NULL);
	end(&t);
	check_line(&t, w, 0, 30, "-100 ns", false);
	w.flags = MPROF_WINDOW_GRID_ORIGIN;
	check_line(&t, w, 1, 100, "0.1 µs", false);
	w.origin = 55;
	check_line(&t, w, 0, 55, "0 ns", true);
	w.origin = -30;
	check_line(&t, w, 0, 70, "0.1 µs", false);
	/* 03:12:44.25 at the time 0; 1 ms a pixel, so a line each 100 ms. */
	w = (struct mprof_window){.to = 1000 * MS,
				  .width = 1000,
				  .height = 300,
				  .letter_width = 7,
				  .flags = MPROF_WINDOW_GRID_DAY,
				  .day_shift = 20000ull * 86400 * S + (3 * 3600 + 12 * 60 + 44) * S + 250 * MS};
	check_line(&t, w, 0, 50, "03:12:44.3", false);
	check_line(&t, w, 7, 750, "03:12:45.0", true);
	/* A second a pixel: lines at whole minutes. */
	w.to = 1000 * S;
	check_line(&t, w, 0, 15.75f, "03:13", false);
	w.day_shift -= 14 * 60 * S;
	check_line(&t, w, 1, 75.75f, "03:00", true);
	/* A day in view: lines at even hours, and midnight is a rounder time. */
	w.to = 86400 * S;
	w.day_shift = 22 * 3600 * S;
	check_line(&t, w, 0, 0, "22:00", false);
	check_line(&t, w, 1, 1000.f / 12, "00:00", true);
	/* Twenty days in view: lines at midnights only. */
	w.to = 20 * 86400 * S;
	check_line(&t, w, 0, 1000.f / 20 / 12, "00:00", false);
	check_line(&t, w, 1, 1000.f / 20 / 12 * 13, "00:00", false);
	/* A negative offset, the last time, and a shift that wraps, are no error. */
	w = (struct mprof_window){.from = MPROF_TIME_MAX - 10,
				  .to = MPROF_TIME_MAX,
				  .width = 1000,
				  .height = 300,
				  .letter_width = 7,
				  .flags = MPROF_WINDOW_GRID_DAY,
				  .day_shift = UINT64_MAX - 4};
	picture(&t, w);
	w.from = 0;
	w.day_shift = UINT64_MAX - MPROF_TIME_MAX / 2;
	picture(&t, w);
	w.day_shift = UINT64_MAX;
	picture(&t, w);
	drawing_deinit(&t);
}

/* Each label is printable in the picture, also if it is cut. */
static void test_texts(void)
{
	bool quoted = false, sentence = false, failed = false;
	struct mprof_picture p;
	struct drawing t;
	uint32_t i, k;

	tell(&t);
	p = picture(&t, whole);
	CHECK(mprof_text_is_utf8(p.text, p.text_bytes));
	for (i = 0; i < p.n_marks; i++) {
		CHECK(p.marks[i].text + p.marks[i].bytes <= p.text_bytes);
		for (k = 0; k < p.marks[i].bytes; k++)
			CHECK((uint8_t)p.text[p.marks[i].text + k] >= 0x20);
		quoted = quoted || says(&p, &p.marks[i], "a \"quote\"\\x1b[31m\\xff");
		failed = failed || says(&p, &p.marks[i], "no luck");
		sentence = sentence || says(&p, &p.marks[i], "should-resolve thread never resolved");
	}
	CHECK(quoted);
	CHECK(failed);
	CHECK(sentence);
	drawing_deinit(&t);
}

/* Times that need more than 53 bits and differ by single nanoseconds. */
static void test_late_times(void)
{
	const uint64_t zero = UINT64_C(9000000000000000001);
	struct mprof_window w = whole;
	struct mprof_picture p;
	const struct mprof_mark *m;
	struct drawing t;
	uint32_t i;

	begin(&t, 1);
	add(&t, zero, MPROF_EVENT_creates, 0, 1, NULL);
	add(&t, zero + 1, MPROF_EVENT_creates, 0, 2, NULL);
	add(&t, zero + 2, MPROF_EVENT_fulfills, 0, 1, NULL);
	add(&t, zero + 3, MPROF_EVENT_fulfills, 0, 2, NULL);
	end(&t);
	w.from = zero;
	w.to = zero + 10;
	p = picture(&t, w);
	for (i = 0; (m = mark(&p, MPROF_MARK_THREAD, i)) && t.v->threads[m->item].id != 2; i++) {
	}
	CHECK(m && m->x0 == 100 && m->x1 == 300);
	CHECK(says(&p, mark(&p, MPROF_MARK_GRID, 1), "1 ns"));
	drawing_deinit(&t);
}

static void test_windows(void)
{
	struct mprof_window bad[] = {whole, whole, whole, whole, whole, whole};
	struct mprof_picture p;
	struct drawing t;
	size_t i;

	tell(&t);
	bad[0].to = bad[0].from;
	bad[1].width = 0;
	bad[2].height = NAN;
	bad[3].focus = INFINITY;
	bad[4].letter_width = 0;
	bad[5].to = UINT64_MAX;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ_INT(mprof_scene_draw(t.s, &bad[i], &p), MPROF_CORRUPT);
	drawing_deinit(&t);
	begin(&t, 0);
	end(&t);
	CHECK_EQ_INT(mprof_scene_draw(t.s, &whole, &p), MPROF_OK);
	drawing_deinit(&t);
}

static void test_near(void)
{
	struct drawing t;
	uint32_t i;
	float y;

	tell(&t);
	for (i = 1; i < t.v->n_threads; i++) {
		const struct mprof_thread *th = &t.v->threads[i];

		y = mprof_scene_y(t.s, &whole, th->row);
		CHECK_EQ_UINT(mprof_scene_near(t.s, &whole, (float)(th->start + th->end) / 2, y + 2, 16), i);
	}
	CHECK_EQ_UINT(mprof_scene_near(t.s, &whole, 500, 299, 3), MPROF_NONE);
	drawing_deinit(&t);
}

/*
 * The fisheye keeps the order of the rows and the places of the first and the last row, and gives
 * rows at the focus more than 15 pixels. fisheye_row inverts fisheye_y.
 */
static void test_fisheye(void)
{
	struct mprof_window w = {.from = 0, .to = 1, .width = 100, .height = 600, .letter_width = 7};
	struct fisheye f;
	double last, y, focus;
	uint32_t i, row;

	for (i = 0; i <= 8; i++) {
		w.focus = focus = i * 125.0;
		fisheye_init(&f, &w, 1001, NULL);
		CHECK(fabs(fisheye_y(&f, 0) - 30) < 1e-6 && fabs(fisheye_y(&f, 1000) - 570) < 1e-6);
		last = -1;
		for (row = 0; row <= 1000; row++) {
			y = fisheye_y(&f, row);
			CHECK(y >= last);
			last = y;
		}
		CHECK(fisheye_y(&f, fmin(focus + 1, 1000)) - fisheye_y(&f, fmin(focus, 999)) > 15);
		CHECK(fabs(fisheye_row(&f, fisheye_y(&f, focus)) - focus) < 0.01);
	}
}

/*
 * In a picture that has room for the labels of all rows, each row has that room, wherever the focus
 * is. A row more never makes a row at the focus jump by more than a few pixels.
 */
static void test_fisheye_of_few_rows(void)
{
	struct mprof_window w = {
		.from = 0, .to = 1, .width = 100, .height = 600, .letter_width = 7, .flags = MPROF_WINDOW_DENSE};
	double room = LABEL_ABOVE * w.letter_width, last = 540, apart;
	struct fisheye f;

	for (uint32_t rows = 2; rows < 100; rows++) {
		for (uint32_t focus = 0; focus <= rows; focus++) {
			w.focus = focus;
			fisheye_init(&f, &w, rows, NULL);
			CHECK(fabs(fisheye_y(&f, 0) - 30) < 1e-6 && fabs(fisheye_y(&f, rows - 1) - 570) < 1e-6);
			for (uint32_t row = 1; row < rows && 540 / (rows - 1.0) >= 1.25 * room; row++)
				CHECK(fisheye_y(&f, row) - fisheye_y(&f, row - 1) >= room);
			CHECK(fabs(fisheye_row(&f, fisheye_y(&f, fmin(focus, rows - 1.0))) - fmin(focus, rows - 1.0)) <
			      0.01);
		}
		w.focus = 0;
		fisheye_init(&f, &w, rows, NULL);
		apart = fisheye_y(&f, 1) - fisheye_y(&f, 0);
		CHECK(rows < 30 || fabs(apart - last) < 4);
		last = apart;
	}
}

static uint32_t count_highlights(struct drawing *t)
{
	struct mprof_picture p = picture(t, whole);
	uint32_t n = 0;

	while (mark(&p, MPROF_MARK_HIGHLIGHT, n))
		n++;
	return n;
}

/* Return the number of marks of KIND in P whose item is ITEM. */
static uint32_t marks_of(const struct mprof_picture *p, enum mprof_mark_kind kind, uint32_t item)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_marks; i++)
		n += p->marks[i].kind == kind && p->marks[i].item == item;
	return n;
}

/* Fifty threads on fifty rows. Thread I ends at 20 * I. */
static void tell_steps(struct drawing *t)
{
	begin(t, 1);
	for (int64_t i = 1; i <= 50; i++)
		add(t, (uint64_t)i, MPROF_EVENT_creates, 0, i, NULL);
	for (int64_t i = 4; i <= 50; i++)
		add(t, 20 * (uint64_t)i, MPROF_EVENT_fulfills, 0, i, NULL);
	add(t, 2000, MPROF_EVENT_gc, 1, 0, NULL);
	end(t);
	CHECK(t->v->rows >= 50);
}

/* Rows without a thread in the window take no height, the others are in their order. */
static void test_dense(void)
{
	struct mprof_window w = {.from = 901, .to = 1000, .width = 900, .height = 600, .focus = 47, .letter_width = 7};
	struct mprof_picture p;
	const struct mprof_mark *m;
	uint32_t i, n_plain;
	struct drawing t;
	float y, last = 0;

	tell_steps(&t);
	w.flags = MPROF_WINDOW_DENSE;
	p = picture(&t, w);
	for (i = 0; (m = mark(&p, MPROF_MARK_THREAD, i)); i++) {
		CHECK(m->y0 >= last + (i ? 40 : 0));
		CHECK_EQ_INT(m->y0 == mprof_scene_y(t.s, &w, t.v->threads[m->item].row), 1);
		CHECK(fabs(mprof_scene_row(t.s, &w, m->y0) - t.v->threads[m->item].row) < 0.01);
		CHECK_EQ_UINT(mprof_scene_near(t.s, &w, fmaxf(m->x0, 0) + 2, m->y0 + 2, 16), m->item);
		y = (float)mprof_scene_focus(t.s, &w, t.v->threads[m->item].row, m->y0);
		CHECK(y >= 0 && y <= (float)t.v->rows);
		last = m->y0;
	}
	CHECK_EQ_UINT(i, 9);
	CHECK(mark(&p, MPROF_MARK_THREAD, 0)->y0 == 30 && last == 570);
	/* A row before all shown rows, and one behind them, is drawn at an edge. */
	CHECK(mprof_scene_y(t.s, &w, 0) <= 30 && mprof_scene_y(t.s, &w, t.v->rows - 1.0) >= 570);
	/* All rows have a thread in the whole trace. */
	w.from = 0;
	n_plain = picture(&t, w).n_marks;
	w.flags = 0;
	CHECK_EQ_UINT(picture(&t, w).n_marks, n_plain);
	/* Nothing is drawn if nothing is in view. */
	w.flags = MPROF_WINDOW_DENSE;
	w.from = 5000;
	w.to = 6000;
	p = picture(&t, w);
	CHECK(!mark(&p, MPROF_MARK_THREAD, 0));
	drawing_deinit(&t);
}

/* Each of several streams keeps a row. */
static void test_dense_streams(void)
{
	struct mprof_window w = {.from = 10, .to = 20, .width = 900, .height = 600, .letter_width = 7};
	struct mprof_picture p;
	struct drawing t;

	begin(&t, 3);
	for (uint32_t stream = 0; stream < 3; stream++)
		for (int64_t i = 1; i <= 20; i++)
			add_to(&t, stream, 100 * stream + (uint64_t)i / 2, MPROF_EVENT_creates, 0, i, NULL);
	add_to(&t, 0, 400, MPROF_EVENT_gc, 1, 0, NULL);
	end(&t);
	w.flags = MPROF_WINDOW_DENSE;
	w.from = 200;
	w.to = 300;
	p = picture(&t, w);
	CHECK(mark(&p, MPROF_MARK_THREAD, 0));
	for (uint32_t stream = 1; stream < 3; stream++)
		CHECK(mprof_scene_y(t.s, &w, t.v->streams[stream].first_row) >
		      mprof_scene_y(t.s, &w, t.v->streams[stream - 1].first_row) + 5);
	drawing_deinit(&t);
}

static struct mprof_picture filtered(struct drawing *t, const struct mprof_thread_filter *filter)
{
	CHECK_EQ_INT(mprof_scene_filter(t->s, filter), MPROF_OK);
	return picture(t, whole);
}

/* Return the number of threads of P's picture, each on a line of its own. */
static uint32_t threads_in(const struct drawing *t, const struct mprof_picture *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->v->n_threads; i++)
		n += marks_of(p, MPROF_MARK_THREAD, i) || marks_of(p, MPROF_MARK_FAILED, i);
	return n;
}

/* Each condition of a filter, and two together. */
static void test_filter(void)
{
	struct mprof_thread_filter f = {.depends = MPROF_NONE};
	struct mprof_picture p;
	struct drawing t;
	uint32_t n;

	begin(&t, 1);
	/*
	 * 2 reads 1, which 3 resolved after 4 had signalled it, and 0 resolves 2; 5 has nothing to
	 * do with them.
	 */
	for (int64_t i = 1; i <= 5; i++)
		add(&t, 10 * (uint64_t)i, MPROF_EVENT_creates, 0, i, NULL);
	add(&t, 60, MPROF_EVENT_label, 3, 0, "Read sector 12");
	add(&t, 61, MPROF_EVENT_label, 5, 0, "write");
	add(&t, 100, MPROF_EVENT_signal, 3, 4, NULL);
	add(&t, 200, MPROF_EVENT_fulfills, 3, 1, NULL);
	add(&t, 300, MPROF_EVENT_read, 2, 1, NULL);
	add(&t, 400, MPROF_EVENT_fulfills, 0, 2, NULL);
	add(&t, 900, MPROF_EVENT_switch, -1, 0, NULL);
	end(&t);
	p = picture(&t, whole);
	n = threads_in(&t, &p);
	CHECK_EQ_UINT(n, 6);
	f.depends = 3; /* the index of thread 2: the root and thread 0 come first */
	CHECK_EQ_INT(t.v->threads[3].id, 2);
	p = filtered(&t, &f);
	CHECK_EQ_UINT(threads_in(&t, &p), 5);
	CHECK_EQ_UINT(marks_of(&p, MPROF_MARK_THREAD, 6), 0);
	CHECK(mark(&p, MPROF_MARK_SIGNAL, 0));
	CHECK(mark(&p, MPROF_MARK_READ, 0));
	f.unresolved = 1;
	p = filtered(&t, &f);
	CHECK_EQ_UINT(threads_in(&t, &p), 3);
	CHECK(!mark(&p, MPROF_MARK_READ, 0));
	f = (struct mprof_thread_filter){.depends = MPROF_NONE, .label = "rEAD*1", .bytes = 6};
	p = filtered(&t, &f);
	CHECK_EQ_UINT(threads_in(&t, &p), 1);
	CHECK_EQ_UINT(marks_of(&p, MPROF_MARK_THREAD, 4), 1);
	f.label = "rea*w";
	f.bytes = 5;
	p = filtered(&t, &f);
	CHECK_EQ_UINT(threads_in(&t, &p), 0);
	f.bytes = MPROF_FILTER_LABEL_MAX + 1;
	CHECK_EQ_INT(mprof_scene_filter(t.s, &f), MPROF_CORRUPT);
	p = picture(&t, whole);
	CHECK_EQ_UINT(threads_in(&t, &p), 0);
	f = (struct mprof_thread_filter){.depends = MPROF_NONE, .types = 1u << MPROF_THREAD_Bind};
	p = filtered(&t, &f);
	CHECK_EQ_UINT(threads_in(&t, &p), 0);
	f.types |= 1u << MPROF_THREAD_Task;
	p = filtered(&t, &f);
	CHECK_EQ_UINT(threads_in(&t, &p), 5);
	p = filtered(&t, NULL);
	CHECK_EQ_UINT(threads_in(&t, &p), n);
	drawing_deinit(&t);
}

static void test_highlights(void)
{
	struct drawing t;
	uint32_t i;

	tell(&t);
	CHECK_EQ_UINT(count_highlights(&t), 0);
	for (i = 1; t.v->threads[i].id != 4; i++) {
	}
	mprof_scene_highlight(t.s, i);
	CHECK_EQ_UINT(count_highlights(&t), 1);
	mprof_scene_highlight_none(t.s);
	CHECK_EQ_UINT(count_highlights(&t), 0);
	mprof_scene_highlight_aliases(t.s, i);
	/* Thread 4, thread 3, and the distance between their rows. */
	CHECK_EQ_UINT(count_highlights(&t), 3);
	mprof_scene_highlight(t.s, MPROF_NONE);
	drawing_deinit(&t);
}

static void test_find(void)
{
	const uint32_t *found;
	struct drawing t;
	uint32_t n;

	tell(&t);
	CHECK_EQ_INT(mprof_scene_find(t.s, "QUOTE", 5, &found, &n), MPROF_OK);
	CHECK(n == 1 && t.v->threads[found[0]].id == 2);
	CHECK_EQ_INT(mprof_scene_find(t.s, "never", 5, &found, &n), MPROF_OK);
	CHECK(n == 1 && t.v->threads[found[0]].id == 3);
	CHECK_EQ_INT(mprof_scene_find(t.s, "n+5", 3, &found, &n), MPROF_OK);
	CHECK(n == 1 && t.v->threads[found[0]].id == 1);
	CHECK_EQ_INT(mprof_scene_find(t.s, "4", 1, &found, &n), MPROF_OK);
	CHECK(n == 1 && t.v->threads[found[0]].id == 4);
	CHECK_EQ_INT(mprof_scene_find(t.s, "", 0, &found, &n), MPROF_OK);
	CHECK_EQ_UINT(n, 0);
	/* The root's id is no thread's id, so a search for the id finds nothing. */
	CHECK_EQ_INT(mprof_scene_find(t.s, "-1", 2, &found, &n), MPROF_OK);
	CHECK_EQ_UINT(n, 0);
	drawing_deinit(&t);
}

static void test_density(void)
{
	uint32_t parts[11], sum = 0, i;
	struct drawing t;

	tell(&t);
	mprof_scene_density(t.s, 0, 1100, parts, 11);
	for (i = 0; i < 11; i++)
		sum += parts[i];
	CHECK_EQ_UINT(sum, t.v->n_labels + t.v->n_interactions + t.v->n_activations + t.v->n_samples);
	for (i = 0, sum = 0; i < t.v->n_interactions; i++)
		sum += t.v->interactions[i].time == 300;
	for (i = 0; i < t.v->n_activations; i++)
		sum += t.v->activations[i].start >= 300 && t.v->activations[i].start < 400;
	CHECK_EQ_UINT(parts[3], sum);
	CHECK_EQ_UINT(parts[5], 0);
	drawing_deinit(&t);
}

static void test_tail(void)
{
	struct mprof_picture p;
	const struct mprof_mark *m;
	struct drawing t;

	tell(&t);
	CHECK(!mprof_scene_tail(t.s, 1, 0));
	CHECK(mprof_scene_tail(t.s, 0, 900));
	p = picture(&t, whole);
	m = mark(&p, MPROF_MARK_TAIL, 0);
	CHECK(m && m->x0 == 900 && m->x1 == 1000);
	for (uint32_t i = 0; i < p.n_marks; i++)
		CHECK(p.marks[i].kind != MPROF_MARK_BAND_NAME || p.marks[i].x0 != m->x0);
	drawing_deinit(&t);
}

/* Return mark number WHICH of the kind KIND in a picture of TRACKS. */
static const struct mprof_mark *track_mark(struct drawing *t, uint64_t to, const struct mprof_track *tracks, uint32_t n,
					   enum mprof_mark_kind kind, uint32_t which)
{
	static struct mprof_picture p;
	struct mprof_window w = whole;

	w.to = to;
	CHECK_EQ_INT(mprof_scene_tracks(t->s, &w, tracks, n, &p), MPROF_OK);
	return mark(&p, kind, which);
}

static void test_processor(void)
{
	static const struct mprof_track track = {MPROF_TRACK_PROCESSOR, 0, 2, 16};
	static const char *const names[] = {"running", "sleeping", "GC", "running"};
	struct mprof_window w = whole;
	const struct mprof_mark *m;
	struct mprof_picture p;
	struct drawing t;

	tell(&t);
	m = track_mark(&t, 2000, &track, 1, MPROF_MARK_BUSY, 0);
	CHECK(m && m->x0 == 0 && m->x1 == 500 && m->y0 == 2 && m->y1 == 18);
	m = track_mark(&t, 1000, &track, 1, MPROF_MARK_SLEEPING, 0);
	CHECK(m && m->x0 == 400 && m->x1 == 600 && m->y0 == 2 && m->y1 == 18);
	m = track_mark(&t, 1000, &track, 1, MPROF_MARK_COLLECTION, 0);
	CHECK(m && m->x0 == 600 && m->x1 == 650);
	CHECK_EQ_INT(mprof_scene_tracks(t.s, &w, &track, 1, &p), MPROF_OK);
	for (uint32_t i = 0; i < 4; i++)
		CHECK(says(&p, mark(&p, MPROF_MARK_BAND_NAME, i), names[i]));
	m = mark(&p, MPROF_MARK_BAND_NAME, 3);
	CHECK(m && m->x0 == 650 && m->x1 == 1000 && !mark(&p, MPROF_MARK_BAND_NAME, 4));
	m = track_mark(&t, 1000, &track, 1, MPROF_MARK_DURATION, 0);
	CHECK(!m);
	/* A track of an absent stream, or of a time outside of the stream, has no marks. */
	CHECK(!track_mark(&t, 1000, &(struct mprof_track){MPROF_TRACK_PROCESSOR, 1, 0, 16}, 1, MPROF_MARK_BUSY, 0));
	w.from = 1001;
	w.to = 1200;
	CHECK_EQ_INT(mprof_scene_tracks(t.s, &w, &track, 1, &p), MPROF_OK);
	CHECK(!mark(&p, MPROF_MARK_BUSY, 0) && mark(&p, MPROF_MARK_GRID, 0));
	drawing_deinit(&t);
}

/* At each moment a track shows the innermost duration, with its name. */
static void test_durations(void)
{
	static const struct mprof_track track = {MPROF_TRACK_PROCESSOR, 0, 2, 16};
	static const char *const names[] = {"request", "read\\x0a", "request"};
	static const float edges[][2] = {{100, 300}, {300, 500}, {500, 900}};
	const struct mprof_mark *m;
	struct mprof_picture p;
	struct drawing t;

	begin(&t, 1);
	add(&t, 0, MPROF_EVENT_switch, 1, 0, NULL);
	add(&t, 500, MPROF_EVENT_extra, 1, 200, "read\n");
	add(&t, 900, MPROF_EVENT_extra, 1, 800, "request");
	add(&t, 1000, MPROF_EVENT_switch, 1, 0, NULL);
	end(&t);
	m = track_mark(&t, 1000, &track, 1, MPROF_MARK_BUSY, 0);
	CHECK(m != NULL);
	CHECK_EQ_INT(mprof_scene_tracks(t.s, &whole, &track, 1, &p), MPROF_OK);
	for (uint32_t i = 0; i < 3; i++) {
		m = mark(&p, MPROF_MARK_DURATION, i);
		CHECK(m && m->x0 == edges[i][0] && m->x1 == edges[i][1] && m->item == (i != 1));
		CHECK(says(&p, mark(&p, MPROF_MARK_BAND_NAME, i + 1), names[i]));
	}
	CHECK(!mark(&p, MPROF_MARK_DURATION, 3));
	/* The picture of the threads has none. */
	p = picture(&t, whole);
	CHECK(!mark(&p, MPROF_MARK_DURATION, 0));
	drawing_deinit(&t);
}

static void test_lanes(void)
{
	static const struct mprof_track tracks[] = {
		{MPROF_TRACK_COUNTER, 0, 20, 20}, {MPROF_TRACK_COUNTER, 1, 50, 20}, {MPROF_TRACK_COUNTER, 7, 0, 9}};
	struct mprof_window w = whole;
	const struct mprof_mark *m;
	struct mprof_picture p;
	struct drawing t;

	tell(&t);
	w.to = 2000;
	CHECK_EQ_INT(mprof_scene_tracks(t.s, &w, tracks, 3, &p), MPROF_OK);
	m = mark(&p, MPROF_MARK_LANE, 0);
	CHECK(says(&p, m, "n") && m->y0 == 20 && m->y1 == 40 && !mark(&p, MPROF_MARK_LANE, 1));
	/*
	 * The line begins at the first sample and ends at the stream's end. The value 5 is in the
	 * middle of the scale from 0 to 10.
	 */
	m = mark(&p, MPROF_MARK_COUNTER, 0);
	CHECK(m && m->x0 == 400 && m->x1 == 500 && m->y0 == 30 && m->y1 == 30 && !mark(&p, MPROF_MARK_COUNTER, 1));
	w.to = 700;
	CHECK_EQ_INT(mprof_scene_tracks(t.s, &w, tracks, 3, &p), MPROF_OK);
	CHECK(mark(&p, MPROF_MARK_LANE, 0) && !mark(&p, MPROF_MARK_COUNTER, 0));
	w.to = 0;
	CHECK_EQ_INT(mprof_scene_tracks(t.s, &w, tracks, 3, &p), MPROF_CORRUPT);
	drawing_deinit(&t);

	/*
	 * Several samples within one pixel are drawn as a band. A counter that only has increases
	 * begins at the start of its stream.
	 */
	begin(&t, 1);
	add(&t, 0, MPROF_EVENT_creates, 0, 1, NULL);
	for (uint64_t i = 0; i < 100; i++)
		add(&t, 5000 + i, MPROF_EVENT_counter, 1, (int64_t)(i % 11), "a");
	add(&t, 9000, MPROF_EVENT_increase, 1, 4, "b");
	add(&t, 10000, MPROF_EVENT_label, 1, 0, "end");
	end(&t);
	w.to = 10000;
	CHECK_EQ_INT(mprof_scene_tracks(t.s, &w, tracks, 2, &p), MPROF_OK);
	m = mark(&p, MPROF_MARK_ENVELOPE, 9);
	CHECK(m && m->y0 == 20 && m->y1 == 40 && m->x1 == m->x0 + 1 && !mark(&p, MPROF_MARK_ENVELOPE, 10));
	for (uint32_t i = 0; (m = mark(&p, MPROF_MARK_COUNTER, i)) && m->item == 0; i++)
		CHECK(m->y0 == m->y1 && m->x1 > 508);
	CHECK(m && m->item == 1 && m->x0 == 0 && m->x1 == 900 && m->y0 == 70);
	drawing_deinit(&t);
}

/* The number of steps for tracks depends only on the tracks' pixels. */
static void test_tracks_cost(void)
{
	struct mprof_track tracks[] = {{MPROF_TRACK_PROCESSOR, 0, 0, 20}, {MPROF_TRACK_COUNTER, 0, 20, 20}};
	struct mprof_window w = base;
	struct mprof_picture p;
	uint64_t seed = 5;
	struct drawing t;

	begin(&t, 1);
	for (uint64_t i = 0; i < ITEMS; i++) {
		add(&t, 1 + i * 20, MPROF_EVENT_switch, i % 2 ? 10 : -1, 0, NULL);
		add(&t, 11 + i * 20, MPROF_EVENT_counter, 10, (int64_t)any(&seed) % 1000, "a");
	}
	end(&t);
	for (w.to = 20 * ITEMS; w.to > 100; w.to /= 3) {
		CHECK_EQ_INT(mprof_scene_tracks(t.s, &w, tracks, 2, &p), MPROF_OK);
		CHECK(t.s->steps < COST_MAX && p.n_marks < 10 * WIDE);
	}
	drawing_deinit(&t);
}

static void test_counter_switch(void)
{
	struct mprof_picture p;
	struct drawing t;

	tell(&t);
	mprof_scene_counter(t.s, 0, false);
	p = picture(&t, whole);
	CHECK(!mark(&p, MPROF_MARK_COUNTER, 0));
	mprof_scene_counter(t.s, 0, true);
	mprof_scene_counter(t.s, 0, true);
	mprof_scene_counter(t.s, 7, true);
	p = picture(&t, whole);
	CHECK(mark(&p, MPROF_MARK_COUNTER, 0) && !mark(&p, MPROF_MARK_COUNTER_NAME, 1));
	drawing_deinit(&t);
}

/* If an allocation fails, no scene or no picture is made, and nothing else changes. */
static void test_no_memory(void)
{
	struct mprof_picture p;
	struct mprof_scene *s = NULL;
	struct drawing t;
	long i, left;

	tell(&t);
	/*
	 * A failed call that would only have shrunk memory does not make mprof_scene_new fail, so
	 * look at fail_in, not at the result.
	 */
	for (i = 0, left = -1; left < 0; i++) {
		fail_in = i;
		s = mprof_scene_new(t.v);
		left = fail_in;
		fail_in = -1;
		if (left < 0)
			mprof_scene_free(s);
	}
	CHECK(i > 30);
	mprof_scene_highlight_aliases(s, 1);
	for (i = 0;; i++) {
		fail_in = i;
		if (mprof_scene_draw(s, &whole, &p) == MPROF_OK)
			break;
		fail_in = -1;
		CHECK_EQ_UINT(p.n_marks, 0);
	}
	fail_in = -1;
	CHECK(i > 3);
	mprof_scene_free(s);
	drawing_deinit(&t);
}

/* Many arrows on one column of three pixels are a shade over the rows that they cross. */
static void test_shades(void)
{
	struct mprof_window w = whole;
	struct mprof_picture p;
	const struct mprof_mark *m, *arrow;
	struct drawing t;

	begin(&t, 1);
	for (int64_t i = 1; i <= 4; i++)
		add(&t, 100, MPROF_EVENT_creates, 0, i, NULL);
	for (uint64_t i = 0; i < 64; i++)
		add(&t, 100000 + i, MPROF_EVENT_signal, 2, 3, NULL);
	for (uint64_t i = 0; i < 7; i++)
		add(&t, 500000 + i, MPROF_EVENT_signal, 2, 4, NULL);
	add(&t, 1000000, MPROF_EVENT_label, 1, 0, "end");
	end(&t);
	w.from = 100;
	w.to = 1000100;
	w.flags = MPROF_WINDOW_ARROWS;
	p = picture(&t, w);
	CHECK(!mark(&p, MPROF_MARK_SHADE, 0));
	m = mark(&p, MPROF_MARK_SIGNAL, 0);
	CHECK(m && m->shade == 65535);
	w.flags |= MPROF_WINDOW_SHADED;
	p = picture(&t, w);
	m = mark(&p, MPROF_MARK_SHADE, 0);
	arrow = mark(&p, MPROF_MARK_SIGNAL, 0);
	if (CHECK(m && arrow)) {
		CHECK(m->item == MPROF_MARK_SIGNAL && m->shade == 4 * 65535 / 8);
		CHECK(m->x0 == 3 * floorf(0.0999f * w.width / 3) && m->x1 == m->x0 + 3);
		CHECK(fabsf(m->y0 - fminf(arrow->y0, arrow->y1)) <= 6.1f);
		CHECK(fabsf(m->y1 - fmaxf(arrow->y0, arrow->y1)) <= 6.1f);
	}
	/* The arrows of such a column are fainter. Up to 21 are drawn as before, without a shade. */
	CHECK(!mark(&p, MPROF_MARK_SHADE, 1));
	m = mark(&p, MPROF_MARK_SIGNAL, 0);
	CHECK(m && m->shade == 65535 * 21 / 64);
	for (uint32_t i = 0, full = 0; i < p.n_marks; i++) {
		full += p.marks[i].kind == MPROF_MARK_SIGNAL && p.marks[i].shade == 65535;
		CHECK(i + 1 < p.n_marks || full == 7);
	}
	drawing_deinit(&t);
}

/* A line of at least two pixels is drawn by itself, also where sixteen of them follow each other. */
static void test_lines_alone(void)
{
	struct mprof_window w = whole;
	struct mprof_picture p;
	struct drawing t;
	uint32_t lines = 0;

	begin(&t, 1);
	/*
	 * Thread I lives for three pixels, and the next one begins a pixel later, on the same row. Some
	 * are shorter: a walk begins a line there, and then finds groups of sixteen that are not.
	 */
	for (int64_t i = 1; i <= 240; i++) {
		add(&t, (uint64_t)i * 4000 + (i % 17 == 3 ? 2000 : 0), MPROF_EVENT_creates, 0, i, NULL);
		add(&t, (uint64_t)i * 4000 + 3000, MPROF_EVENT_fulfills, 0, i, NULL);
	}
	end(&t);
	w.from = 0;
	w.to = 1000 * (uint64_t)w.width;
	w.flags = MPROF_WINDOW_SHADED;
	p = picture(&t, w);
	for (uint32_t i = 0; i < p.n_marks; i++)
		lines += p.marks[i].kind == MPROF_MARK_THREAD && p.marks[i].x1 - p.marks[i].x0 < 3.5f;
	CHECK_EQ_INT(lines, 240);
	drawing_deinit(&t);
}

/* No place is shaded twice for one kind, though a column may be drawn with links of the next one. */
static void test_shades_once(void)
{
	struct mprof_window w = whole;
	struct mprof_picture p;
	struct drawing t;
	uint32_t shades = 0;

	begin(&t, 1);
	for (int64_t i = 1; i <= 4; i++)
		add(&t, 100, MPROF_EVENT_creates, 0, i, NULL);
	for (uint64_t i = 0; i < 10000; i++)
		add(&t, 1000 + i * 97, MPROF_EVENT_signal, 2, 3, NULL);
	end(&t);
	w.from = 100;
	w.to = 1000100;
	w.flags = MPROF_WINDOW_ARROWS | MPROF_WINDOW_SHADED;
	p = picture(&t, w);
	for (uint32_t i = 0; i < p.n_marks; i++) {
		const struct mprof_mark *a = &p.marks[i], *b;

		if (a->kind != MPROF_MARK_SHADE)
			continue;
		shades++;
		for (b = a + 1; b < p.marks + p.n_marks && b->kind == MPROF_MARK_SHADE; b++)
			CHECK(a->item != b->item || a->x1 <= b->x0 || b->x1 <= a->x0 || a->y1 <= b->y0 ||
			      b->y1 <= a->y0);
	}
	CHECK(shades);
	drawing_deinit(&t);
}

/* Many labels on one column of six pixels are a shade at the row of their thread. */
static void test_shades_of_labels(void)
{
	struct mprof_window w = whole;
	struct mprof_thread_filter filter = {.depends = MPROF_NONE};
	struct mprof_picture p;
	const struct mprof_mark *m, *line;
	struct drawing t;

	begin(&t, 1);
	for (int64_t i = 1; i <= 4; i++)
		add(&t, 100, MPROF_EVENT_creates, 0, i, NULL);
	for (uint64_t i = 0; i < 64; i++)
		add(&t, 100000 + i, MPROF_EVENT_label, 3, 0, "word");
	for (uint64_t i = 0; i < 42; i++)
		add(&t, 500000 + i, MPROF_EVENT_label, 2, 0, "word");
	add(&t, 1000000, MPROF_EVENT_label, 1, 0, "end");
	end(&t);
	w.from = 100;
	w.to = 1000100;
	w.flags = MPROF_WINDOW_LABELS;
	p = picture(&t, w);
	CHECK(!mark(&p, MPROF_MARK_SHADE, 0));
	w.flags |= MPROF_WINDOW_SHADED;
	p = picture(&t, w);
	m = mark(&p, MPROF_MARK_SHADE, 0);
	line = NULL;
	for (uint32_t i = 0; i < p.n_marks; i++)
		if (p.marks[i].kind == MPROF_MARK_THREAD && t.v->threads[p.marks[i].item].id == 3)
			line = &p.marks[i];
	if (CHECK(m && line)) {
		CHECK(m->item == MPROF_MARK_LABEL && m->shade == 4 * 65535 / 8);
		CHECK(m->x0 == 6 * floorf(0.0999f * w.width / 6) && m->x1 == m->x0 + 6);
		CHECK(m->y0 <= line->y0 && m->y1 >= line->y0 && m->y1 - m->y0 <= 6.5f);
	}
	/* Up to 42 labels are no shade. */
	CHECK(!mark(&p, MPROF_MARK_SHADE, 1));
	/* Labels of hidden threads do not count. */
	for (uint32_t hide = 0; line && hide < 2; hide++) {
		filter.types = 1u << (t.v->threads[line->item].type + hide);
		CHECK_EQ_INT(mprof_scene_filter(t.s, &filter), MPROF_OK);
		p = picture(&t, w);
		CHECK(!mark(&p, MPROF_MARK_SHADE, 0) == (hide == 1));
		line = mark(&p, MPROF_MARK_THREAD, 0);
	}
	drawing_deinit(&t);
}

/* If many rows are drawn at one height, the line says which share of them have a thread. */
static void test_shares_of_rows(void)
{
	enum { ROWS = 8192 };
	struct mprof_window w = whole;
	struct mprof_picture p;
	const struct mprof_mark *m;
	struct drawing t;
	uint32_t full = 0, quarter = 0, other = 0;

	begin(&t, 1);
	for (int64_t i = 1; i <= ROWS; i++)
		add(&t, 1, MPROF_EVENT_creates, 0, i, NULL);
	for (int64_t i = 1; i <= ROWS; i++)
		if (i % 4)
			add(&t, 500000, MPROF_EVENT_fulfills, 0, i, NULL);
	for (int64_t i = 4; i <= ROWS; i += 4)
		add(&t, 1000000, MPROF_EVENT_fulfills, 0, i, NULL);
	end(&t);
	w.from = 0;
	w.to = 1000000;
	w.focus = ROWS / 2.0;
	w.flags = MPROF_WINDOW_SHADED;
	p = picture(&t, w);
	for (uint32_t i = 0; (m = mark(&p, MPROF_MARK_THREAD, i)) != NULL; i++) {
		if (!m->count && m->x1 - m->x0 > w.width - 20)
			continue; /* a row of its own */
		full += m->x1 < w.width / 2 + 20 && m->shade == 65535;
		quarter += m->x0 > w.width / 2 - 20 && m->shade >= 65535 / 8 && m->shade <= 65535 * 3 / 8;
		other += m->x0 < w.width / 2 - 20 && m->x1 > w.width / 2 + 20;
	}
	CHECK(full > 10 && quarter >= full / 2);
	CHECK_EQ_UINT(other, 0);
	w.flags = 0;
	p = picture(&t, w);
	for (uint32_t i = 0; (m = mark(&p, MPROF_MARK_THREAD, i)) != NULL; i++)
		CHECK_EQ_UINT(m->shade, 65535);
	drawing_deinit(&t);
}

/* A line of many short activations says in which share of its time the thread ran. */
static void test_shares(void)
{
	struct mprof_window w = whole;
	struct mprof_picture p;
	const struct mprof_mark *m;
	struct drawing t;
	uint32_t n = 0;

	begin(&t, 1);
	add(&t, 0, MPROF_EVENT_creates, 0, 1, NULL);
	for (uint64_t i = 0; i < 10000; i++) {
		add(&t, 1 + i * 100, MPROF_EVENT_switch, 1, 0, NULL);
		add(&t, 1 + i * 100 + (i < 5000 ? 20 : 90), MPROF_EVENT_switch, -1, 0, NULL);
	}
	end(&t);
	w.from = 0;
	w.to = 1000000;
	w.flags = 0;
	p = picture(&t, w);
	m = mark(&p, MPROF_MARK_RUNNING, 0);
	CHECK(m && m->count == 9999 && m->shade == 65535 && !mark(&p, MPROF_MARK_RUNNING, 1));
	w.flags = MPROF_WINDOW_SHADED;
	p = picture(&t, w);
	for (uint32_t i = 0; (m = mark(&p, MPROF_MARK_RUNNING, i)) != NULL; i++) {
		n += m->count + 1u;
		if (m->x1 < w.width / 2 - 4)
			CHECK(m->shade == 2 * 65535 / 8);
		if (m->x0 > w.width / 2 + 4 && m->x1 < w.width - 4)
			CHECK(m->shade == 65535);
		CHECK(i == 0 || m->x0 == m[-1].x1);
	}
	CHECK_EQ_UINT(n, 10000);
	/* Each part but the first and the last has whole areas of four pixels. */
	for (w.to = 999000; w.to < 999100; w.to++) {
		p = picture(&t, w);
		for (uint32_t i = 1; mark(&p, MPROF_MARK_RUNNING, i + 1); i++) {
			m = mark(&p, MPROF_MARK_RUNNING, i);
			CHECK(m->x1 - m->x0 > 3.9f);
		}
	}
	drawing_deinit(&t);
}

/* The last sample of a counter at a time or before it. */
static void test_sample(void)
{
	struct drawing t;

	begin(&t, 1);
	add(&t, 100, MPROF_EVENT_counter, 1, 5, "a");
	add(&t, 150, MPROF_EVENT_counter, 1, 50, "b");
	add(&t, 200, MPROF_EVENT_counter, 1, 6, "a");
	add(&t, 200, MPROF_EVENT_counter, 1, 7, "a");
	end(&t);
	CHECK_EQ_UINT(mprof_scene_sample(t.s, 0, 99), MPROF_NONE);
	CHECK_EQ_INT(t.v->samples[mprof_scene_sample(t.s, 0, 100)].value, 5);
	CHECK_EQ_INT(t.v->samples[mprof_scene_sample(t.s, 0, 199)].value, 5);
	CHECK_EQ_INT(t.v->samples[mprof_scene_sample(t.s, 0, 200)].value, 7);
	CHECK_EQ_INT(t.v->samples[mprof_scene_sample(t.s, 1, UINT64_MAX)].value, 50);
	CHECK_EQ_UINT(mprof_scene_sample(t.s, 2, 200), MPROF_NONE);
	CHECK_EQ_INT(t.v->samples[mprof_scene_sample_after(t.s, 0, 0)].value, 5);
	CHECK_EQ_INT(t.v->samples[mprof_scene_sample_after(t.s, 0, 100)].value, 6);
	CHECK_EQ_UINT(mprof_scene_sample_after(t.s, 1, UINT64_MAX), MPROF_NONE);
	CHECK_EQ_UINT(mprof_scene_sample_after(t.s, 2, 0), MPROF_NONE);
	drawing_deinit(&t);
}

int main(void)
{
	CHECK_RUN(test_story);
	CHECK_RUN(test_grid);
	CHECK_RUN(test_texts);
	CHECK_RUN(test_late_times);
	CHECK_RUN(test_windows);
	CHECK_RUN(test_near);
	CHECK_RUN(test_fisheye);
	CHECK_RUN(test_fisheye_of_few_rows);
	CHECK_RUN(test_dense);
	CHECK_RUN(test_dense_streams);
	CHECK_RUN(test_filter);
	CHECK_RUN(test_highlights);
	CHECK_RUN(test_find);
	CHECK_RUN(test_density);
	CHECK_RUN(test_lines_alone);
	CHECK_RUN(test_shades);
	CHECK_RUN(test_shades_once);
	CHECK_RUN(test_shades_of_labels);
	CHECK_RUN(test_shares_of_rows);
	CHECK_RUN(test_shares);
	CHECK_RUN(test_tail);
	CHECK_RUN(test_counter_switch);
	CHECK_RUN(test_sample);
	CHECK_RUN(test_processor);
	CHECK_RUN(test_durations);
	CHECK_RUN(test_lanes);
	CHECK_RUN(test_tracks_cost);
	CHECK_RUN(test_no_memory);
	CHECK_RUN(test_one_row);
	CHECK_RUN(test_all_rows);
	CHECK_RUN(test_ragged_rows);
	CHECK_RUN(test_arrows);
	CHECK_RUN(test_turns);
	CHECK_RUN(test_labels);
	CHECK_RUN(test_counters);
	CHECK_RUN(test_bands);
	CHECK_RUN(test_streams);
	return check_done();
}
