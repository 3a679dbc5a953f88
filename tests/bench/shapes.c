/*
 * Shapes of traces that could make a model slow. Each event is computed from its number, which
 * costs little, so a shape can have any size.
 */
#include "shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIRST 1000u /* time of the first event */

static uint64_t scatter(uint64_t i)
{
	i *= UINT64_C(0x9e3779b97f4a7c15);
	i = (i ^ (i >> 32)) * UINT64_C(0xbf58476d1ce4e5b9);
	return i ^ (i >> 29);
}

static void set(struct mprof_raw_event *e, uint64_t time, uint8_t id, uint64_t context, uint64_t number)
{
	*e = (struct mprof_raw_event){
		.timestamp = FIRST + time,
		.id = id,
		.type = MPROF_THREAD_Bind,
		.context = (int64_t)context,
		.number = (int64_t)number,
	};
}

/* All threads are children of one thread, which reads each of them once. No thread is resolved. */
static void children(uint64_t i, uint32_t k, uint64_t n, struct mprof_raw_event *e, char *text)
{
	(void)n;
	(void)text;
	if (k == 0)
		set(e, i, MPROF_EVENT_creates, 1, i + 2);
	else
		set(e, i, MPROF_EVENT_try_read, 1, i + 2);
}

/* Each thread becomes the next one, and further events are about the first thread. */
static void becomes(uint64_t i, uint32_t k, uint64_t n, struct mprof_raw_event *e, char *text)
{
	(void)n;
	(void)text;
	if (k == 0)
		set(e, 3 * i, MPROF_EVENT_creates, i + 1, i + 2);
	else if (k == 1)
		set(e, 3 * i + 1, MPROF_EVENT_becomes, i + 1, i + 2);
	else
		set(e, 3 * i + 2, MPROF_EVENT_switch, 1, 0);
}

/* Each event has a new counter, a new scale and a new text. */
static void counters(uint64_t i, uint32_t k, uint64_t n, struct mprof_raw_event *e, char *text)
{
	(void)k;
	(void)n;
	set(e, i, MPROF_EVENT_counter, 1, i);
	e->text = text;
	e->text_bytes = (size_t)snprintf(text, 32, "%" PRIu64 "#counter", i);
}

/*
 * Half of the threads fill 64 groups of rows at 64 different times. The other half live longer than
 * these and need rows below them.
 */
static void combs(uint64_t i, uint32_t k, uint64_t n, struct mprof_raw_event *e, char *text)
{
	bool lasting = i >= n / 2;
	uint64_t start = lasting ? 0 : 1000 + i % 64 * 100, end = lasting ? 10000 : start + 99;
	uint64_t parent = lasting || i < 50 || i % 50 == 0 ? 0 : i - scatter(i) % 40;

	(void)text;
	if (k == 0)
		set(e, start, MPROF_EVENT_creates, parent, i + 1);
	else
		set(e, end, MPROF_EVENT_fulfills, 0, i + 1);
}

/* A thousand threads live at each time: when one begins, the oldest ends. */
static void staircase(uint64_t i, uint32_t k, uint64_t n, struct mprof_raw_event *e, char *text)
{
	(void)n;
	(void)text;
	if (k == 0)
		set(e, 2 * i, MPROF_EVENT_creates, 0, i + 1);
	else
		set(e, 2 * i + 1, MPROF_EVENT_fulfills, 0, i < 1000 ? i + 1 : i - 999);
}

/* All threads live to the end, and each is a child of the previous one. */
static void deep(uint64_t i, uint32_t k, uint64_t n, struct mprof_raw_event *e, char *text)
{
	(void)n;
	set(e, 2 * i + k, k ? MPROF_EVENT_label : MPROF_EVENT_creates, k ? i + 1 : i, k ? 0 : i + 1);
	if (k) {
		e->text = strcpy(text, "__should_resolve");
		e->text_bytes = strlen(text);
	}
}

/* A random tree of threads with random lives. */
static void anyhow(uint64_t i, uint32_t k, uint64_t n, struct mprof_raw_event *e, char *text)
{
	(void)text;
	if (k == 0)
		set(e, scatter(i) % (1000 * n), MPROF_EVENT_creates, scatter(~i) % (i + 1), i + 1);
	else
		set(e, 1000 * n + scatter(i + n) % (1000 * n), MPROF_EVENT_fulfills, 0, i + 1);
}

static const struct shape shapes[] = {
	{"children", 2, children},   {"becomes", 3, becomes}, {"counters", 1, counters}, {"combs", 2, combs},
	{"staircase", 2, staircase}, {"deep", 2, deep},	      {"anyhow", 2, anyhow},
};

const struct shape *shape_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (strcmp(shapes[i].name, name) == 0)
			return &shapes[i];
	return NULL;
}
