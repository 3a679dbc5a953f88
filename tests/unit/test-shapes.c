/*
 * Traces of unusual shapes: the model of each is complete, and its processor time is O(n log n).
 *
 * The limit on the time allows for sanitizers and slow machines. Code that is quadratic exceeds it
 * many times over.
 */
#include <stdlib.h>
#include <time.h>

#include <mprof/model.h>

#include "check.h"

#define N	60000
#define SECONDS 10

struct shape {
	struct mprof_model *m;
	uint64_t time;
	uint64_t random;
};

static int64_t draw(struct shape *s, int64_t below)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (int64_t)((s->random >> 11) % (uint64_t)below);
}

static void add_at(struct shape *s, uint64_t time, uint8_t id, int64_t context, int64_t number, const char *text)
{
	struct mprof_raw_event e = {
		.timestamp = time,
		.id = id,
		.type = MPROF_THREAD_Bind,
		.context = context,
		.number = number,
		.text = text,
		.text_bytes = text ? strlen(text) : 0,
	};

	CHECK_EQ_INT(mprof_model_add(s->m, 0, &e), MPROF_OK);
}

static void add(struct shape *s, uint8_t id, int64_t context, int64_t number, const char *text)
{
	add_at(s, s->time++, id, context, number, text);
}

/* All threads live to the end, and are children of the same thread. */
static void wide(struct shape *s)
{
	int64_t i;

	for (i = 1; i <= N; i++) {
		add(s, MPROF_EVENT_creates, 0, i, NULL);
		add(s, MPROF_EVENT_label, i, 0, "__should_resolve");
	}
}

/* All threads live to the end, and each is a child of the previous one. */
static void deep(struct shape *s)
{
	int64_t i;

	for (i = 1; i <= N; i++) {
		add(s, MPROF_EVENT_creates, i - 1, i, NULL);
		add(s, MPROF_EVENT_label, i, 0, "__should_resolve");
	}
}

/* A chain in which each thread reads its creator. */
static void upwards(struct shape *s)
{
	int64_t i;

	for (i = 1; i <= N; i++)
		add(s, MPROF_EVENT_creates, i - 1, i, NULL);
	for (i = N; i > 0; i--)
		add(s, MPROF_EVENT_read, i, i - 1, NULL);
}

/* A chain in which each thread reads the thread that it created. */
static void downwards(struct shape *s)
{
	int64_t i;

	for (i = 1; i <= N; i++)
		add(s, MPROF_EVENT_creates, i - 1, i, NULL);
	for (i = 1; i < N; i++)
		add(s, MPROF_EVENT_read, i, i + 1, NULL);
}

/* Each thread reads a random one. */
static void tangled(struct shape *s)
{
	int64_t i;

	for (i = 1; i <= N; i++)
		add(s, MPROF_EVENT_creates, draw(s, i), i, NULL);
	for (i = 1; i <= N; i++)
		add(s, MPROF_EVENT_read, i, draw(s, N) + 1, NULL);
}

/* Rows that are taken at different times, and threads that live longer than those in the rows. */
static void combs(struct shape *s)
{
	int64_t i;

	for (i = 1; i <= N; i++) {
		uint64_t start = 2000 + (uint64_t)(i % 64) * 100;

		add_at(s, start, MPROF_EVENT_creates, i < 50 || i % 50 == 0 ? 0 : i - 1 - draw(s, 40), i, NULL);
		add_at(s, start + 99, MPROF_EVENT_fulfills, 0, i, NULL);
	}
	for (i = N + 1; i <= 2 * N; i++) {
		add_at(s, 1000, MPROF_EVENT_creates, 0, i, NULL);
		add_at(s, 10000, MPROF_EVENT_fulfills, 0, i, NULL);
	}
}

/* All events have the same time. */
static void instant(struct shape *s)
{
	int64_t i;

	for (i = 1; i <= N; i++) {
		add_at(s, 5, MPROF_EVENT_creates, draw(s, i), i, NULL);
		add_at(s, 5, MPROF_EVENT_fulfills, 0, i, NULL);
	}
}

/* A random tree of threads with random lives. */
static void random_lives(struct shape *s)
{
	int64_t i;

	for (i = 1; i <= N; i++)
		add_at(s, (uint64_t)draw(s, 1000000), MPROF_EVENT_creates, draw(s, i), i, NULL);
	for (i = 1; i <= N; i++)
		add_at(s, 1000000 + (uint64_t)draw(s, 1000000000), MPROF_EVENT_fulfills, 0, draw(s, N), NULL);
}

/* A chain of aliases with falling ids. Each thread is created by the previous one. */
static void aliases(struct shape *s)
{
	int64_t i;

	for (i = N; i > 0; i--)
		add(s, MPROF_EVENT_creates, i, i - 1, NULL);
	for (i = N; i > 0; i--)
		add(s, MPROF_EVENT_becomes, i, i - 1, NULL);
	for (i = 0; i < N; i++)
		add(s, MPROF_EVENT_switch, draw(s, N), 0, NULL);
}

/* A few ids that are created, read and aliased again and again. */
static void few_ids(struct shape *s)
{
	int64_t i;

	for (i = 0; i < N; i++) {
		add(s, MPROF_EVENT_creates, draw(s, 5), draw(s, 5), NULL);
		add(s, MPROF_EVENT_read, draw(s, 5), draw(s, 5), NULL);
		add(s, MPROF_EVENT_becomes, draw(s, 5), draw(s, 5), NULL);
	}
}

/* Each event has a new counter, a new scale and a new text. */
static void names(struct shape *s)
{
	char name[32];
	int64_t i;

	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "%" PRId64 "#counter", i);
		add(s, MPROF_EVENT_counter, 0, i, name);
	}
}

static void check_shape(const char *name, void (*make)(struct shape *s))
{
	struct shape s = {.time = 1000, .random = 88172645463325252};
	const struct mprof_model_view *v;
	clock_t began = clock();
	uint32_t stream, i, placed = 0;
	double seconds;

	s.m = mprof_model_new(&(struct mprof_model_options){.simplify = true});
	CHECK_EQ_INT(mprof_model_stream(s.m, &(struct mprof_model_source){0}, &stream), MPROF_OK);
	make(&s);
	CHECK_EQ_INT(mprof_model_finish(s.m), MPROF_OK);
	v = mprof_model_view(s.m);
	for (i = 0; i < v->n_threads; i++)
		placed += v->threads[i].row < v->rows;
	CHECK_EQ_UINT(placed, v->n_threads - 1);
	CHECK_EQ_UINT(v->notes.rows_not_first, 0);
	mprof_model_free(s.m);
	seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
	if (!CHECK(seconds < SECONDS))
		fprintf(stderr, "%s took %.1f s\n", name, seconds);
}

int main(void)
{
	check_shape("wide", wide);
	check_shape("deep", deep);
	check_shape("upwards", upwards);
	check_shape("downwards", downwards);
	check_shape("tangled", tangled);
	check_shape("combs", combs);
	check_shape("instant", instant);
	check_shape("random", random_lives);
	check_shape("aliases", aliases);
	check_shape("few ids", few_ids);
	check_shape("names", names);
	return check_done();
}
