/*
 * bench-diff [--brief]: measure the comparison of two runs of two million events each, on one core.
 *
 * The first pair is a server that answers requests with a few threads each. Its second run has
 * other ids, fifty requests more, and one request that is never answered. The second pair is made
 * to be slow: all threads are siblings, of two kinds, in an order that differs between the runs.
 * Pairs of a quarter of the size serve for comparison: their rate shows that the time grows no
 * faster than n log n. The benchmark fails if the number of matches or the outcome is not as
 * generated.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mprof/diff.h>

struct run {
	struct mprof_model *m;
	uint64_t time;
	uint64_t state;
	uint64_t events;
	int64_t id;
};

static void die(const char *what)
{
	fprintf(stderr, "bench-diff: %s\n", what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint32_t pick(struct run *r, uint32_t n)
{
	r->state = r->state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(r->state >> 33) % n;
}

static void begin(struct run *r, uint64_t seed)
{
	uint32_t stream;

	*r = (struct run){.m = mprof_model_new(&(struct mprof_model_options){.seed = 1}), .state = seed, .id = 10};
	if (!r->m || mprof_model_stream(r->m, &(struct mprof_model_source){0}, &stream) != MPROF_OK)
		die("no memory");
}

static void add(struct run *r, uint8_t id, int64_t context, int64_t number, uint8_t type, const char *text)
{
	struct mprof_raw_event e = {.timestamp = r->time += 1 + pick(r, 100),
				    .id = id,
				    .type = type,
				    .context = context,
				    .number = number,
				    .text = text,
				    .text_bytes = text ? strlen(text) : 0};

	r->events++;
	if (mprof_model_add(r->m, 0, &e) != MPROF_OK)
		die("no memory");
}

/* Record one request: four threads, ten events. */
static void request(struct run *r, const char *name, bool answered)
{
	int64_t task = r->id, read = task + 1, reply = task + 2, done = task + 3;

	r->id += 4;
	add(r, MPROF_EVENT_creates, 1, task, MPROF_THREAD_Task, NULL);
	add(r, MPROF_EVENT_label, task, 0, 0, name);
	add(r, MPROF_EVENT_creates, task, read, MPROF_THREAD_Bind, NULL);
	add(r, MPROF_EVENT_creates, task, reply, MPROF_THREAD_Bind, NULL);
	add(r, MPROF_EVENT_creates, reply, done, MPROF_THREAD_Map, NULL);
	add(r, MPROF_EVENT_try_read, done, reply, 0, NULL);
	if (!answered)
		return;
	add(r, MPROF_EVENT_fulfills, 1, read, 0, NULL);
	add(r, MPROF_EVENT_fulfills, read, reply, 0, NULL);
	add(r, MPROF_EVENT_read, done, reply, 0, NULL);
	add(r, MPROF_EVENT_fulfills, done, done, 0, NULL);
}

static void serve(struct run *r, uint32_t requests, bool bad)
{
	static const char *const names[] = {"get /", "get /index", "put /a", "get /b", "post /c"};
	uint32_t i;

	r->id += bad ? 1000000 : 0;
	add(r, MPROF_EVENT_creates, 0, 1, MPROF_THREAD_Task, NULL);
	add(r, MPROF_EVENT_label, 1, 0, 0, "accept");
	for (i = 0; i < requests; i++) {
		request(r, names[i % 5], !bad || i != requests / 2);
		if (bad && i % (requests / 50) == 7)
			request(r, "retry", true);
	}
}

static void siblings(struct run *r, uint32_t events)
{
	while (r->events + 2 <= events) {
		add(r, MPROF_EVENT_creates, 0, ++r->id, MPROF_THREAD_Task, NULL);
		add(r, MPROF_EVENT_label, r->id, 0, 0, pick(r, 2) ? "a" : "b");
	}
}

static double measure(struct run *good, struct run *bad, bool served, uint32_t requests)
{
	const struct mprof_diff_view *v;
	struct mprof_diff *d;
	uint64_t began;
	double rate;

	if (mprof_model_finish(good->m) != MPROF_OK || mprof_model_finish(bad->m) != MPROF_OK)
		die("no memory");
	began = now_ns();
	d = mprof_diff_new(mprof_model_view(good->m), mprof_model_view(bad->m),
			   &(struct mprof_diff_options){.seed = began});
	rate = (double)(good->events + bad->events) / (double)(now_ns() - began) * 1e9;
	if (!d)
		die("no memory");
	v = mprof_diff_view(d);
	if (served &&
	    (v->matched != 4 * requests + 2 || v->all_outcomes < 1 || v->outcomes[0].kind != MPROF_DIFF_BAD_WAITS))
		die("wrong answer");
	if (!served && v->matched < v->good_threads / 10 * 9)
		die("wrong answer about siblings");
	mprof_diff_free(d);
	mprof_model_free(good->m);
	mprof_model_free(bad->m);
	return rate;
}

static double measure_served(uint32_t events)
{
	struct run good, bad;

	begin(&good, 1);
	begin(&bad, 2);
	serve(&good, events / 10, false);
	serve(&bad, events / 10, true);
	return measure(&good, &bad, true, events / 10);
}

static double measure_siblings(uint32_t events)
{
	struct run good, bad;

	begin(&good, 3);
	begin(&bad, 4);
	siblings(&good, events);
	siblings(&bad, events);
	return measure(&good, &bad, false, 0);
}

static void line(const char *name, double ours, double peer)
{
	printf("{\"name\": \"%s\", \"ours\": %.0f, \"peer\": %.0f, \"unit\": \"events/s\", \"ratio\": %.2f, \"aim\": "
	       "null, "
	       "\"met\": null}\n",
	       name, ours, peer, ours / peer);
}

int main(int argc, char **argv)
{
	uint32_t events = argc > 1 && strcmp(argv[1], "--brief") == 0 ? 100000 : 2000000;

	line("diff-speed", measure_served(events), measure_served(events / 4));
	line("diff-siblings", measure_siblings(events), measure_siblings(events / 4));
	return 0;
}
