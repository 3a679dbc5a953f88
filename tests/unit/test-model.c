/*
 * The functions that build a model: streams, gaps, clocks, refused input, pending events, and
 * allocations that fail. tests/integration/model-oracles.py and model-property.py check the models
 * of traces.
 */
#include <stdlib.h>

#include <mprof/model.h>

#include "check.h"
#include "scarce.h"

static struct mprof_raw_event event(uint64_t time, uint8_t id, int64_t context, int64_t number, const char *text)
{
	return (struct mprof_raw_event){
		.timestamp = time,
		.id = id,
		.type = MPROF_THREAD_Bind,
		.context = context,
		.number = number,
		.text = text,
		.text_bytes = text ? strlen(text) : 0,
	};
}

static enum mprof_status add(struct mprof_model *m, uint32_t stream, uint64_t time, uint8_t id, int64_t context,
			     int64_t number, const char *text)
{
	struct mprof_raw_event e = event(time, id, context, number, text);

	return mprof_model_add(m, stream, &e);
}

static struct mprof_model *fresh(uint32_t *stream)
{
	struct mprof_model *m = mprof_model_new(&(struct mprof_model_options){.simplify = true, .seed = 1});

	CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){0}, stream), MPROF_OK);
	return m;
}

/* Return the newest thread with the id ID. */
static const struct mprof_thread *thread(const struct mprof_model_view *v, uint32_t stream, int64_t id)
{
	uint32_t i;

	for (i = v->n_threads; i-- > 0;)
		if (v->threads[i].id == id && v->threads[i].stream == stream)
			return &v->threads[i];
	return NULL;
}

static bool text_is(const struct mprof_model_view *v, uint32_t string, const char *want)
{
	return v->strings[string].bytes == strlen(want) &&
	       !memcmp(v->text + v->strings[string].offset, want, strlen(want));
}

static void test_empty(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	uint32_t stream;

	m = fresh(&stream);
	CHECK(mprof_model_view(m) == NULL);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	CHECK_EQ_UINT(v->n_threads, 1);
	CHECK_EQ_UINT(v->rows, 0);
	CHECK_EQ_UINT(v->threads[0].flags, MPROF_THREAD_ROOT | MPROF_THREAD_PREEXISTING);
	CHECK(mprof_model_free(m) == NULL);
	CHECK(mprof_model_free(NULL) == NULL);
	m = mprof_model_new(&(struct mprof_model_options){0});
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	CHECK_EQ_UINT(mprof_model_view(m)->n_streams, 0);
	mprof_model_free(m);
}

/* A duration called running is time in which its thread ran, also beside other threads. */
static void test_ran_beside(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	uint32_t stream, ran = 0;

	m = fresh(&stream);
	CHECK_EQ_INT(add(m, stream, 100, MPROF_EVENT_extra, 7, 40, "running"), MPROF_OK);
	CHECK_EQ_INT(add(m, stream, 110, MPROF_EVENT_extra, 8, 60, "running"), MPROF_OK);
	CHECK_EQ_INT(add(m, stream, 120, MPROF_EVENT_extra, 7, 20, "runnings"), MPROF_OK);
	CHECK_EQ_INT(add(m, stream, 130, MPROF_EVENT_extra, MPROF_THREAD_NONE, 10, "running"), MPROF_OK);
	CHECK_EQ_INT(add(m, stream, 140, MPROF_EVENT_extra, 7, 500, "running"), MPROF_OK);
	CHECK_EQ_INT(add(m, stream, 9000, MPROF_EVENT_extra, 8, 5, "waiting"), MPROF_OK);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	for (uint32_t i = 0; i < v->n_threads; i++) {
		const struct mprof_thread *t = &v->threads[i];
		uint64_t sum = 0;

		for (uint32_t a = t->first_activation; a != MPROF_NONE; a = v->activations[a].next, ran++)
			sum += v->activations[a].end - v->activations[a].start;
		/* No thread is before the first event. */
		if (t->id == 7)
			CHECK_EQ_UINT(sum, 40);
		if (t->id == 8)
			CHECK_EQ_UINT(sum, 10);
		if (t->id == 8) /* it lives as long as what it does */
			CHECK(t->end >= 9000);
	}
	CHECK_EQ_UINT(ran, 2);
	mprof_model_free(m);
}

/* Return how long the thread ran, by its activations, which must be inside of it and must not overlap. */
static uint64_t running(const struct mprof_model_view *v, uint32_t stream, int64_t id)
{
	const struct mprof_thread *t = thread(v, stream, id);
	uint64_t sum = 0, at = t->start;

	for (uint32_t a = t->first_activation; a != MPROF_NONE; a = v->activations[a].next) {
		CHECK(v->activations[a].start >= at && v->activations[a].end <= t->end);
		at = v->activations[a].end;
		sum += at - v->activations[a].start;
	}
	return sum;
}

/* A duration called running adds no time before its thread, and none twice. */
static void test_ran_once(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	uint32_t s;

	m = fresh(&s);
	CHECK_EQ_INT(add(m, s, 100, MPROF_EVENT_switch, 1, 0, NULL), MPROF_OK);
	CHECK_EQ_INT(add(m, s, 150, MPROF_EVENT_extra, 1, 30, "running"), MPROF_OK);
	CHECK_EQ_INT(add(m, s, 200, MPROF_EVENT_switch, 2, 0, NULL), MPROF_OK);
	CHECK_EQ_INT(add(m, s, 220, MPROF_EVENT_extra, 1, 100, "running"), MPROF_OK);
	CHECK_EQ_INT(add(m, s, 240, MPROF_EVENT_extra, 1, 30, "running"), MPROF_OK);
	CHECK_EQ_INT(add(m, s, 240, MPROF_EVENT_extra, 1, 5, "running"), MPROF_OK);
	CHECK_EQ_INT(add(m, s, 250, MPROF_EVENT_creates, 1, 9, NULL), MPROF_OK);
	CHECK_EQ_INT(add(m, s, 270, MPROF_EVENT_extra, 9, 100, "running"), MPROF_OK);
	CHECK_EQ_INT(add(m, s, 280, MPROF_EVENT_extra, 2, 20, "running"), MPROF_OK);
	CHECK_EQ_INT(add(m, s, 400, MPROF_EVENT_switch, 5, 0, NULL), MPROF_OK);
	CHECK_EQ_INT(add(m, s, 420, MPROF_EVENT_extra, 5, 50, "running"), MPROF_OK);
	CHECK_EQ_INT(add(m, s, 430, MPROF_EVENT_switch, -1, 0, NULL), MPROF_OK);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	CHECK_EQ_UINT(running(v, s, 1), 140);
	CHECK_EQ_UINT(running(v, s, 2), 200);
	CHECK_EQ_UINT(running(v, s, 5), 60);
	CHECK_EQ_UINT(running(v, s, 9), 20);
	mprof_model_free(m);
}

/* At each moment, the piece of a stream's durations is the one that began last and has not ended. */
static void test_pieces(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	uint64_t seed = 1;
	uint32_t stream;

	for (unsigned round = 0; round < 300; round++) {
		unsigned n = 1 + round % 12;

		m = fresh(&stream);
		CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){.guest = 1}, &stream), MPROF_OK);
		for (unsigned i = 0; i < n; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			CHECK_EQ_INT(add(m, seed >> 40 & 1, (seed >> 33) % 100, MPROF_EVENT_extra, 1 + (int64_t)(i % 3),
					 (int64_t)((seed >> 50) % 60), "name"),
				     MPROF_OK);
		}
		CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
		v = mprof_model_view(m);
		CHECK_EQ_UINT(v->n_durations, n);
		CHECK(v->n_pieces <= 2 * n);
		for (uint32_t at = 0; at < 200; at++) { /* moments between two nanoseconds, of both streams */
			uint32_t found = MPROF_NONE, pieces = 0, of = at % 2;
			uint64_t moment = at / 2, latest = 0;

			for (uint32_t i = 0; i < n; i++) {
				const struct mprof_duration *d = &v->durations[i];
				uint64_t start = d->time > d->duration_ns ? d->time - d->duration_ns : 0;

				if (d->stream == of && start <= moment && d->time > moment) {
					found = 0;
					latest = start > latest ? start : latest;
				}
			}
			for (uint32_t i = 0; i < v->n_pieces; i++) {
				const struct mprof_piece *p = &v->pieces[i];
				const struct mprof_duration *d = &v->durations[p->duration];

				CHECK(p->start < p->end && d->stream == p->stream);
				if (p->stream != of || p->start > moment || p->end <= moment)
					continue;
				pieces++;
				CHECK((d->time > d->duration_ns ? d->time - d->duration_ns : 0) == latest &&
				      d->time > moment);
			}
			CHECK_EQ_UINT(pieces, found == 0);
		}
		mprof_model_free(m);
	}
}

static void test_misuse(void)
{
	struct mprof_model *m;
	uint32_t stream;

	m = fresh(&stream);
	CHECK_EQ_INT(add(m, 1, 1, MPROF_EVENT_switch, 0, 0, NULL), MPROF_CORRUPT);
	CHECK_EQ_INT(add(m, 0, 1, MPROF_EVENT_IDS, 0, 0, NULL), MPROF_CORRUPT);
	CHECK_EQ_INT(mprof_model_gap(m, 1, 1), MPROF_CORRUPT);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	CHECK_EQ_INT(add(m, 0, 1, MPROF_EVENT_switch, 0, 0, NULL), MPROF_END);
	CHECK_EQ_INT(mprof_model_gap(m, 0, 1), MPROF_END);
	CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){0}, &stream), MPROF_END);
	mprof_model_free(m);
}

/*
 * Two streams of one guest share their threads, and the threads of another guest are separate. Each
 * stream's time offset is added to its times.
 */
static void test_streams(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	uint32_t a, b, c;

	m = fresh(&a);
	CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){.offset_ns = -100}, &b), MPROF_OK);
	CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){.guest = 1, .offset_ns = 5000}, &c), MPROF_OK);
	add(m, a, 1000, MPROF_EVENT_creates, 0, 7, NULL);
	add(m, b, 1150, MPROF_EVENT_fulfills, 3, 7, NULL);
	add(m, b, 1200, MPROF_EVENT_switch, 3, 0, NULL);
	add(m, c, 1000, MPROF_EVENT_switch, 7, 0, NULL);
	add(m, c, 50, MPROF_EVENT_switch, -1, 0, NULL);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	CHECK_EQ_UINT(v->n_streams, 3);
	CHECK_EQ_UINT(thread(v, a, 7)->end, 1050);
	CHECK(thread(v, a, 7)->flags & MPROF_THREAD_RESOLVED);
	CHECK(thread(v, b, 7) == NULL);
	CHECK_EQ_UINT(v->threads[thread(v, a, 7)->resolver].stream, b);
	CHECK_EQ_UINT(thread(v, c, 7)->start, 6000);
	CHECK(thread(v, c, 7)->flags & MPROF_THREAD_PREEXISTING);
	CHECK_EQ_UINT(v->streams[b].start, 1050);
	CHECK_EQ_UINT(v->notes.late, 1);
	/* Each stream has its own rows. */
	CHECK_EQ_UINT(v->streams[a].first_row, 0);
	CHECK_EQ_UINT(v->streams[b].first_row, v->streams[a].rows);
	CHECK_EQ_UINT(v->streams[c].first_row, v->streams[b].first_row + v->streams[b].rows);
	CHECK_EQ_UINT(thread(v, c, 7)->row, v->streams[c].first_row);
	CHECK_EQ_UINT(v->rows, v->streams[c].first_row + v->streams[c].rows);
	mprof_model_free(m);
}

/* A thread that runs when a gap begins does not run during the gap. */
static void test_gap(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	uint32_t stream;

	m = fresh(&stream);
	CHECK_EQ_INT(mprof_model_gap(m, 0, 0), MPROF_OK);
	add(m, 0, 100, MPROF_EVENT_switch, 1, 0, NULL);
	add(m, 0, 150, MPROF_EVENT_label, 1, 0, "x");
	CHECK_EQ_INT(mprof_model_gap(m, 0, 5), MPROF_OK);
	CHECK_EQ_INT(mprof_model_gap(m, 0, 7), MPROF_OK);
	add(m, 0, 900, MPROF_EVENT_label, 1, 0, "y");
	add(m, 0, 950, MPROF_EVENT_switch, 1, 0, NULL);
	add(m, 0, 990, MPROF_EVENT_switch, -1, 0, NULL);
	CHECK_EQ_INT(mprof_model_gap(m, 0, 3), MPROF_OK);
	mprof_model_finish(m);
	v = mprof_model_view(m);
	CHECK_EQ_UINT(v->n_gaps, 3);
	CHECK(v->gaps[0].from == 100 && v->gaps[0].to == 100 && v->gaps[0].packets == 0);
	CHECK(v->gaps[1].from == 150 && v->gaps[1].to == 900 && v->gaps[1].packets == 12);
	CHECK(v->gaps[2].from == 990 && v->gaps[2].to == 990 && v->gaps[2].packets == 3);
	CHECK(v->activations[0].start == 100 && v->activations[0].end == 150);
	CHECK(v->activations[1].start == 950 && v->activations[1].end == 990);
	mprof_model_free(m);
}

/*
 * A time later than 2^63 - 1 ns is stored as that limit, whatever the offset. A counter's value
 * stops at the limits of 64 bits.
 */
static void test_limits(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	char text[64];
	uint32_t s;

	m = mprof_model_new(&(struct mprof_model_options){0});
	CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){.offset_ns = INT64_MIN}, &s), MPROF_OK);
	add(m, s, UINT64_MAX, MPROF_EVENT_switch, 1, 0, NULL);
	CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){.offset_ns = INT64_MAX}, &s), MPROF_OK);
	add(m, s, 5, MPROF_EVENT_increase, 1, INT64_MIN, "low");
	add(m, s, UINT64_MAX, MPROF_EVENT_increase, 1, -1, "low");
	add(m, s, UINT64_MAX, MPROF_EVENT_counter, 1, INT64_MAX, "low");
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	CHECK_EQ_UINT(v->streams[0].start, 0);
	CHECK_EQ_UINT(v->streams[1].end, MPROF_TIME_MAX);
	CHECK_EQ_UINT(thread(v, 0, 1)->end, MPROF_TIME_MAX);
	CHECK_EQ_INT(v->counters[0].min, INT64_MIN);
	CHECK_EQ_UINT(v->notes.counters_clipped, 1);
	CHECK_EQ_INT(v->scales[0].max, INT64_MAX);
	CHECK_EQ_UINT(mprof_label_text(v, 1, text, sizeof(text)), 5);
	CHECK_EQ_STR(text, "low+0");
	CHECK_EQ_UINT(mprof_label_text(v, 2, text, sizeof(text)), 24);
	CHECK_EQ_STR(text, "low+18446744073709551615");
	CHECK_EQ_UINT(mprof_label_text(v, 2, text, 6), 24);
	CHECK_EQ_STR(text, "low+1");
	CHECK_EQ_UINT(mprof_label_text(v, 2, text, 3), 24);
	CHECK_EQ_STR(text, "lo");
	CHECK_EQ_UINT(mprof_label_text(v, 2, NULL, 0), 24);
	mprof_model_free(m);
}

static void test_counters(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	uint32_t s;

	m = fresh(&s);
	add(m, s, 1, MPROF_EVENT_increase, 0, 3, "queue#2");
	add(m, s, 2, MPROF_EVENT_increase, 0, -5, "queue#2");
	add(m, s, 3, MPROF_EVENT_counter, 0, 40, "queue#1");
	add(m, s, 4, MPROF_EVENT_increase, 0, 1, "queue#1");
	add(m, s, 5, MPROF_EVENT_counter, 0, 2, "tcp-ackd-segs");
	add(m, s, 6, MPROF_EVENT_increase, 0, 1, "told late");
	add(m, s, 7, MPROF_EVENT_counter, 0, 9, "told late");
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	CHECK_EQ_UINT(v->n_counters, 4);
	CHECK(text_is(v, v->counters[0].name, "queue#1") && text_is(v, v->counters[1].name, "queue#2"));
	CHECK(!v->counters[0].relative && v->counters[1].relative);
	/* A counter has an absolute value from the first event that sets the value. */
	CHECK(!v->counters[3].relative);
	CHECK_EQ_UINT(v->counters[0].scale, v->counters[1].scale);
	CHECK(v->scales[v->counters[0].scale].min == -2 && v->scales[v->counters[0].scale].max == 41);
	CHECK(text_is(v, v->scales[v->counters[0].scale].name, "queue"));
	CHECK(text_is(v, v->scales[v->counters[2].scale].name, "tcp-to-ip"));
	CHECK_EQ_UINT(v->samples[v->counters[1].first].counter, 1);
	CHECK_EQ_INT(v->samples[v->counters[1].last].value, -2);
	CHECK_EQ_UINT(v->samples[v->counters[1].last].previous, v->counters[1].first);
	mprof_model_free(m);
}

/*
 * If a thread that should resolve becomes another thread, the other thread should resolve. If the
 * other thread never does, its wait lasts until the end of the trace.
 */
static void test_expectations(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	uint32_t s;

	m = fresh(&s);
	add(m, s, 10, MPROF_EVENT_creates, 0, 1, NULL);
	add(m, s, 11, MPROF_EVENT_creates, 0, 2, NULL);
	add(m, s, 12, MPROF_EVENT_label, 1, 0, "__should_resolve");
	add(m, s, 13, MPROF_EVENT_becomes, 1, 2, NULL);
	add(m, s, 14, MPROF_EVENT_label, -1, 0, "__should_resolve");
	add(m, s, 99, MPROF_EVENT_switch, 0, 0, NULL);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	CHECK_EQ_UINT(v->n_expectations, 1);
	CHECK_EQ_INT(v->threads[v->expectations[0].thread].id, 1);
	CHECK_EQ_INT(v->threads[v->expectations[0].final].id, 2);
	CHECK_EQ_UINT(thread(v, s, 2)->flags,
		      MPROF_THREAD_ENDED | MPROF_THREAD_SHOULD_RESOLVE | MPROF_THREAD_NEVER_RESOLVED);
	CHECK_EQ_UINT(thread(v, s, 2)->end, 99);
	CHECK(text_is(v, thread(v, s, 2)->failure, "should-resolve thread never resolved"));
	CHECK_EQ_UINT(thread(v, s, 1)->end, 13);
	CHECK_EQ_UINT(v->n_labels, 0);
	mprof_model_free(m);
}

/* A thread that was created in one ring and runs in another lasts until the guest's end, not until that of its ring. */
static void test_expectation_in_another_ring(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	uint32_t a, b, c;

	m = fresh(&a);
	CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){0}, &b), MPROF_OK);
	CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){.guest = 1}, &c), MPROF_OK);
	add(m, a, 10, MPROF_EVENT_creates, -1, 1, NULL);
	add(m, a, 11, MPROF_EVENT_label, 1, 0, "__should_resolve");
	add(m, b, 12, MPROF_EVENT_switch, 1, 0, NULL);
	add(m, b, 99, MPROF_EVENT_switch, -1, 0, NULL);
	add(m, c, 500, MPROF_EVENT_switch, 1, 0, NULL);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	CHECK_EQ_UINT(thread(v, a, 1)->end, 99);
	mprof_model_free(m);
}

/*
 * A hundred thousand threads each become the next, in linear time. Aliases that would close a cycle
 * are skipped and counted.
 */
static void test_long_chain(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	int64_t i;
	uint32_t s;

	m = fresh(&s);
	for (i = 0; i < 100000; i++)
		add(m, s, (uint64_t)i, MPROF_EVENT_becomes, 0, i + 1, NULL);
	for (i = 0; i < 1000; i++)
		add(m, s, 200000, MPROF_EVENT_becomes, 100000, i, NULL);
	for (i = 0; i < 1000; i++)
		add(m, s, 300000, MPROF_EVENT_switch, i, 0, NULL);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	CHECK_EQ_UINT(v->notes.alias_cycles, 1000);
	CHECK_EQ_UINT(v->n_threads, 100002);
	CHECK_EQ_UINT(v->n_activations, 1);
	mprof_model_free(m);
}

/*
 * A thread that ends at the time of its creation does not count as one that ends before it begins.
 */
static void test_backwards(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	uint32_t stream;

	m = fresh(&stream);
	add(m, stream, 5, MPROF_EVENT_creates, 0, 7, NULL);
	add(m, stream, 5, MPROF_EVENT_fulfills, 0, 7, NULL);
	add(m, stream, 9, MPROF_EVENT_creates, 0, 8, NULL);
	add(m, stream, 6, MPROF_EVENT_fulfills, 0, 8, NULL);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	CHECK_EQ_UINT(v->notes.backwards, 1);
	mprof_model_free(m);
	/*
	 * If times go back, a resolved thread's run interval ends at the earlier time of the next
	 * switch.
	 */
	m = fresh(&stream);
	add(m, stream, 2, MPROF_EVENT_switch, 7, 0, NULL);
	add(m, stream, 10, MPROF_EVENT_fulfills, 7, 7, NULL);
	add(m, stream, 8, MPROF_EVENT_switch, 1, 0, NULL);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	CHECK_EQ_UINT(v->activations[0].end, 8);
	mprof_model_free(m);
}

/* Two binds read each other. One of them is detached from its reader, so that both get a row. */
static void test_circle(void)
{
	const struct mprof_model_view *v;
	struct mprof_model *m;
	uint32_t s;

	m = fresh(&s);
	add(m, s, 1, MPROF_EVENT_creates, 0, 1, NULL);
	add(m, s, 2, MPROF_EVENT_creates, 0, 2, NULL);
	add(m, s, 3, MPROF_EVENT_read, 1, 2, NULL);
	add(m, s, 4, MPROF_EVENT_read, 2, 1, NULL);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	v = mprof_model_view(m);
	CHECK_EQ_UINT(v->notes.detached, 1);
	CHECK(thread(v, s, 1)->row != MPROF_NONE && thread(v, s, 2)->row != MPROF_NONE);
	mprof_model_free(m);
}

static void test_clock(void)
{
	struct mprof_model_source source = {0};
	struct mprof_clock clock = {0};

	mprof_clock_apply(&clock, &source);
	CHECK(source.offset_ns == 0 && source.uncertainty_ns == UINT64_MAX);
	mprof_clock_before(&clock, 1000, 900);
	mprof_clock_before(&clock, 2000, 1850);
	mprof_clock_before(&clock, 3000, 2950);
	mprof_clock_before(&clock, 0, UINT64_MAX);
	mprof_clock_apply(&clock, &source);
	CHECK(source.offset_ns == -150 && source.uncertainty_ns == UINT64_MAX);
	mprof_clock_after(&clock, 2500, 2100);
	mprof_clock_after(&clock, 2500, 2000);
	mprof_clock_apply(&clock, &source);
	CHECK(source.offset_ns == -150 && source.uncertainty_ns == 250);
	mprof_clock_after(&clock, 2500, 2499);
	mprof_clock_apply(&clock, &source);
	CHECK(source.offset_ns == -150 && source.uncertainty_ns == 0);
}

#define STORY 3000u

/* Make event number I of a trace that has every kind of event. Its text goes to TEXT. */
static struct mprof_raw_event story(uint32_t i, char *text)
{
	const int64_t id = (int64_t)i, old = (int64_t)(i / 2);
	struct mprof_raw_event e;

	sprintf(text, "text %u", i % 700);
	switch (i % 9) {
	case 0:
	case 1:
		return event(10 * i, MPROF_EVENT_creates, old, id * 1000, NULL);
	case 2:
		return event(10 * i, MPROF_EVENT_label, old, 0, text);
	case 3:
		return event(10 * i, MPROF_EVENT_counter, old, id, text);
	case 4:
		return event(10 * i, MPROF_EVENT_read, (id - 4) * 1000, (id - 3) * 1000, NULL);
	case 5:
		return event(10 * i, MPROF_EVENT_becomes, old * 1000, id, NULL);
	case 6:
		return event(10 * i, MPROF_EVENT_label, old, 0, "__should_resolve");
	case 7:
		return event(10 * i, MPROF_EVENT_gc, 0, 5, NULL);
	default:
		e = event(10 * i, MPROF_EVENT_fails, id, (id - 8) * 1000, text);
		return e;
	}
}

/*
 * Build a model of the story. Every EVERYth allocation fails; repeat each call that failed for that
 * reason.
 */
static struct mprof_model *build(long every)
{
	struct mprof_model *m;
	uint32_t i, s = 0, again = 0;
	char text[32];

	fail_in = -1;
	m = mprof_model_new(&(struct mprof_model_options){.simplify = true, .seed = 9});
	fail_in = every;
	while (mprof_model_stream(m, &(struct mprof_model_source){0}, &s) == MPROF_NOMEM)
		fail_in = every;
	for (i = 0; i < STORY; i++) {
		struct mprof_raw_event e = story(i, text);

		while (mprof_model_add(m, s, &e) == MPROF_NOMEM) {
			again++;
			fail_in = every;
		}
		if (i % 1000 == 500)
			while (mprof_model_gap(m, s, i) == MPROF_NOMEM)
				fail_in = every;
		fail_in = fail_in < 0 ? every : fail_in;
	}
	while (mprof_model_finish(m) == MPROF_NOMEM) {
		again++;
		/* Allow enough allocations for mprof_model_finish to make progress. */
		fail_in = again % 7 + every;
		if (again > 400)
			fail_in = -1;
	}
	fail_in = -1;
	CHECK(every < 0 || again > 5);
	return m;
}

#define SAME(field, n) CHECK(a->n == b->n && (!a->n || !memcmp(a->field, b->field, a->n * sizeof(*a->field))))

static void check_same(const struct mprof_model_view *a, const struct mprof_model_view *b)
{
	SAME(threads, n_threads);
	SAME(interactions, n_interactions);
	SAME(activations, n_activations);
	SAME(labels, n_labels);
	SAME(samples, n_samples);
	SAME(counters, n_counters);
	SAME(collections, n_collections);
	SAME(durations, n_durations);
	SAME(pieces, n_pieces);
	SAME(gaps, n_gaps);
	SAME(expectations, n_expectations);
	CHECK_EQ_UINT(b->rows, a->rows);
	CHECK_EQ_MEM(&b->notes, &a->notes, sizeof(a->notes));
}

static void test_no_memory(void)
{
	struct mprof_model *whole = build(-1), *m;
	long every;

	for (every = 1; every < 12; every++) {
		m = build(every);
		check_same(mprof_model_view(whole), mprof_model_view(m));
		mprof_model_free(m);
	}
	mprof_model_free(whole);
}

/*
 * Build a model of the story in batches of N events. Every EVERYth allocation fails; repeat the
 * rest of the batch.
 */
static struct mprof_model *build_batches(size_t n, long every)
{
	static struct mprof_event events[STORY];
	static char texts[STORY][32];
	struct mprof_model *m;
	size_t i, added;
	uint32_t s;

	m = mprof_model_new(&(struct mprof_model_options){.simplify = true, .seed = 9});
	CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){0}, &s), MPROF_OK);
	for (i = 0; i < STORY; i++)
		events[i].raw = story((uint32_t)i, texts[i]);
	for (i = 0; i < STORY; i += added) {
		const size_t left = STORY - i < n ? STORY - i : n;
		enum mprof_status status;

		fail_in = fail_in < 0 ? every : fail_in;
		status = mprof_model_add_batch(m, s, events + i, left, &added);
		CHECK(status == (added == left ? MPROF_OK : MPROF_NOMEM));
	}
	fail_in = -1;
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	return m;
}

static void test_batches(void)
{
	static const size_t sizes[] = {1, 7, 64, 65, STORY};
	struct mprof_model *batches, *single;
	struct mprof_event events[3] = {{.raw.id = MPROF_EVENT_gc}, {.raw.id = MPROF_EVENT_IDS}, {.raw.id = 0}};
	uint32_t s, i;
	size_t added;

	single = build_batches(1, -1);
	for (i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		batches = build_batches(sizes[i / 2], i % 2 ? 3 : -1);
		check_same(mprof_model_view(single), mprof_model_view(batches));
		mprof_model_free(batches);
	}
	CHECK_EQ_INT(mprof_model_add_batch(single, 0, events, 1, &added), MPROF_END);
	CHECK_EQ_UINT(added, 0);
	mprof_model_free(single);
	single = fresh(&s);
	CHECK_EQ_INT(mprof_model_add_batch(single, s, events, 3, &added), MPROF_CORRUPT);
	CHECK_EQ_UINT(added, 1);
	CHECK_EQ_INT(mprof_model_add_batch(single, s + 1, events, 1, &added), MPROF_CORRUPT);
	CHECK_EQ_INT(mprof_model_add_batch(single, s, events, 0, &added), MPROF_OK);
	CHECK_EQ_UINT(added, 0);
	mprof_model_free(single);
}

/* A model built in batches equals a model built event by event. */
static void test_batch_and_single(void)
{
	struct mprof_model *single, *batches = build_batches(100, -1);
	char text[32];
	uint32_t s, i;

	single = mprof_model_new(&(struct mprof_model_options){.simplify = true, .seed = 9});
	CHECK_EQ_INT(mprof_model_stream(single, &(struct mprof_model_source){0}, &s), MPROF_OK);
	for (i = 0; i < STORY; i++) {
		struct mprof_raw_event e = story(i, text);

		CHECK_EQ_INT(mprof_model_add(single, s, &e), MPROF_OK);
	}
	CHECK_EQ_INT(mprof_model_finish(single), MPROF_OK);
	check_same(mprof_model_view(single), mprof_model_view(batches));
	mprof_model_free(single);
	mprof_model_free(batches);
}

/*
 * Ids that are far from each other, so that no array can hold them: memory is proportional to the
 * number of events.
 */
static void test_crafted_ids(void)
{
	struct mprof_model *m;
	uint64_t now, most;
	uint32_t s, i;

	m = fresh(&s);
	for (i = 0; i < 50000; i++)
		add(m, s, i, MPROF_EVENT_creates, (int64_t)(i * UINT64_C(0x9e3779b97f4a7c15)),
		    (int64_t)(i * UINT64_C(0xbf58476d1ce4e5b9)), NULL);
	mprof_model_memory(m, &now, &most);
	CHECK(now < 50000 * 600 && most >= now);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	mprof_model_memory(m, &now, &most);
	CHECK(now < 50000 * 2 * 130);
	CHECK(most < 50000 * 2 * 400);
	mprof_model_free(m);
}

int main(void)
{
	CHECK_RUN(test_empty);
	CHECK_RUN(test_pieces);
	CHECK_RUN(test_ran_beside);
	CHECK_RUN(test_ran_once);
	CHECK_RUN(test_misuse);
	CHECK_RUN(test_streams);
	CHECK_RUN(test_gap);
	CHECK_RUN(test_limits);
	CHECK_RUN(test_counters);
	CHECK_RUN(test_expectations);
	CHECK_RUN(test_expectation_in_another_ring);
	CHECK_RUN(test_long_chain);
	CHECK_RUN(test_backwards);
	CHECK_RUN(test_circle);
	CHECK_RUN(test_clock);
	CHECK_RUN(test_no_memory);
	CHECK_RUN(test_batches);
	CHECK_RUN(test_batch_and_single);
	CHECK_RUN(test_crafted_ids);
	return check_done();
}
