/* The meaning of an absent event: rings of one program that declare, begin late, lack packets, or step back. */
#include <mprof/coverage.h>

#include "check.h"
#include "line.h"

#define ALL (MPROF_DECLARES_ORDER | MPROF_DECLARES_KINDS | MPROF_WRITES_SIGNALS | MPROF_WRITES_STOPS)

static struct mprof_model *model;

static void declare(uint32_t stream, unsigned flags)
{
	struct mprof_raw_event e = {
		.id = MPROF_EVENT_extra, .type = MPROF_EXTRA_RECORDER, .number = (int64_t)(257 | flags << 16)};

	CHECK_EQ_INT(mprof_model_add(model, stream, &e), MPROF_OK);
}

static void does(uint32_t stream, uint64_t time, enum mprof_event_id id, int64_t context, int64_t number)
{
	line_add(model, stream, &(struct line){time, (uint8_t)id, context, number, 0, NULL});
}

/* Begin a model of N rings of one program. */
static void begin(unsigned n)
{
	uint32_t stream;

	model = mprof_model_new(&(struct mprof_model_options){.seed = 1});
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ_INT(mprof_model_stream(model, &(struct mprof_model_source){0}, &stream), MPROF_OK);
}

static void finish(void)
{
	CHECK_EQ_INT(mprof_model_finish(model), MPROF_OK);
}

static struct mprof_coverage ask(enum mprof_coverage_kind kind, uint64_t from, uint64_t to)
{
	struct mprof_coverage c;

	mprof_coverage_ask(mprof_model_view(model), 0, kind, from, to, from, &c);
	return c;
}

#define CHECK_HOLE(kind, from, to, name) CHECK_EQ_STR(mprof_hole_name(ask(MPROF_COVERAGE_##kind, from, to).hole), name)

static void test_declared(void)
{
	begin(2);
	declare(0, ALL | MPROF_DECLARES_FIRST);
	does(0, 10, MPROF_EVENT_switch, 1, 0);
	declare(0, ALL);
	does(0, 50, MPROF_EVENT_switch, -1, 0);
	declare(1, ALL);
	does(1, 30, MPROF_EVENT_switch, 2, 0);
	does(1, 40, MPROF_EVENT_switch, -1, 0);
	finish();
	CHECK_HOLE(SIGNAL, 30, 50, "none");
	CHECK_HOLE(SIGNAL, 29, 50, "begin"); /* the second ring lost its beginning, the first one has it */
	CHECK_EQ_UINT(ask(MPROF_COVERAGE_SIGNAL, 29, 50).stream, 1);
	CHECK_EQ_UINT(ask(MPROF_COVERAGE_SIGNAL, 29, 50).to, 30);
	CHECK_HOLE(RELEASE, 30, 50, "kind");
	CHECK_HOLE(INPUT, 30, 50, "kind");
	CHECK_HOLE(RESOLVE, 30, 50, "kind");
	CHECK_EQ_UINT(mprof_coverage_asleep(mprof_model_view(model), 0), 50);
	CHECK_EQ_UINT(mprof_model_view(model)->streams[0].events, 2);
	mprof_model_free(model);
}

/* A ring declares only what all its packets declare; only the packet of its first event tells that it is the first. */
static void test_packets_differ(void)
{
	begin(1);
	declare(0, ALL);
	does(0, 10, MPROF_EVENT_switch, 1, 0);
	declare(0, (ALL | MPROF_DECLARES_FIRST) & ~MPROF_WRITES_SIGNALS);
	does(0, 20, MPROF_EVENT_switch, 1, 0);
	finish();
	CHECK_HOLE(SIGNAL, 15, 20, "kind");
	CHECK_EQ_UINT(mprof_model_view(model)->streams[0].declares, ALL & ~MPROF_WRITES_SIGNALS);
	mprof_model_free(model);
}

/* A ring that declares nothing has the kinds that it has shown before. */
static void test_undeclared(void)
{
	begin(1);
	does(0, 10, MPROF_EVENT_switch, 1, 0);
	does(0, 20, MPROF_EVENT_signal_noswitch, 1, 2);
	does(0, 40, MPROF_EVENT_switch, 1, 0);
	finish();
	CHECK_HOLE(SIGNAL, 19, 40, "unsaid");
	CHECK_HOLE(SIGNAL, 20, 40, "none");
	CHECK_HOLE(READ, 30, 40, "unsaid");
	CHECK_HOLE(RESOLVE, 30, 40, "unsaid");
	CHECK_EQ_UINT(mprof_coverage_asleep(mprof_model_view(model), 0), UINT64_MAX);
	mprof_model_free(model);
}

static void test_gap(void)
{
	begin(1);
	declare(0, ALL | MPROF_DECLARES_FIRST);
	does(0, 10, MPROF_EVENT_switch, 1, 0);
	CHECK_EQ_INT(mprof_model_gap(model, 0, 1), MPROF_OK);
	does(0, 20, MPROF_EVENT_switch, -1, 0);
	does(0, 30, MPROF_EVENT_switch, -1, 0);
	finish();
	CHECK_HOLE(SIGNAL, 21, 30, "none");
	CHECK_HOLE(SIGNAL, 15, 30, "gap");
	CHECK_HOLE(SIGNAL, 0, 9, "none");
	mprof_model_free(model);
	/* A gap at the end has no end, and whether the program slept there is unknown. */
	begin(1);
	declare(0, ALL | MPROF_DECLARES_FIRST);
	does(0, 10, MPROF_EVENT_switch, 1, 0);
	does(0, 20, MPROF_EVENT_switch, -1, 0);
	CHECK_EQ_INT(mprof_model_gap(model, 0, 1), MPROF_OK);
	finish();
	CHECK_HOLE(SIGNAL, 20, 30, "gap");
	CHECK_EQ_UINT(mprof_coverage_asleep(mprof_model_view(model), 0), UINT64_MAX);
	mprof_model_free(model);
}

static void test_clock(void)
{
	begin(1);
	declare(0, ALL | MPROF_DECLARES_FIRST);
	does(0, 100, MPROF_EVENT_switch, 1, 0);
	does(0, 50, MPROF_EVENT_switch, 2, 0);
	does(0, 200, MPROF_EVENT_switch, 1, 0);
	finish();
	CHECK_HOLE(SIGNAL, 60, 200, "clock");
	CHECK_HOLE(SIGNAL, 101, 200, "none");
	CHECK_EQ_UINT(ask(MPROF_COVERAGE_SIGNAL, 60, 200).from, 50);
	CHECK_EQ_UINT(ask(MPROF_COVERAGE_SIGNAL, 60, 200).to, 100);
	mprof_model_free(model);
	/* The last time of the second ring may be before the first one's, or behind it: since when they sleep is unknown. */
	begin(2);
	declare(0, ALL | MPROF_DECLARES_FIRST);
	does(0, 100, MPROF_EVENT_switch, 1, 0);
	does(0, 50, MPROF_EVENT_switch, -1, 0);
	declare(1, ALL | MPROF_DECLARES_FIRST);
	does(1, 90, MPROF_EVENT_switch, 2, 0);
	does(1, 95, MPROF_EVENT_switch, -1, 0);
	finish();
	CHECK_EQ_UINT(mprof_coverage_asleep(mprof_model_view(model), 0), UINT64_MAX);
	mprof_model_free(model);
}

/* The end of a thread may be in a gap of its ring, also if another ring lost its beginning. */
static void test_unresolved(void)
{
	const struct mprof_model_view *v;

	begin(3);
	declare(0, ALL | MPROF_WRITES_ENDS | MPROF_DECLARES_FIRST);
	line_add(model, 0, &(struct line)CREATES(10, 1, 7, Task));
	line_add(model, 0, &(struct line)MARKS(10, 7));
	declare(1, ALL | MPROF_WRITES_ENDS);
	does(1, 30, MPROF_EVENT_switch, 2, 0);
	declare(2, ALL | MPROF_WRITES_ENDS | MPROF_DECLARES_FIRST);
	does(2, 11, MPROF_EVENT_switch, 7, 0);
	CHECK_EQ_INT(mprof_model_gap(model, 2, 1), MPROF_OK);
	does(2, 40, MPROF_EVENT_switch, 2, 0);
	finish();
	v = mprof_model_view(model);
	for (uint32_t i = 0; i < v->n_threads; i++)
		if (v->threads[i].id == 7)
			CHECK((v->threads[i].flags & MPROF_THREAD_END_UNSEEN) != 0);
	CHECK_EQ_UINT(v->n_expectations, 1);
	mprof_model_free(model);
}

static void test_dropped(void)
{
	begin(1);
	declare(0, ALL | MPROF_DECLARES_FIRST);
	does(0, 10, MPROF_EVENT_switch, 1, 0);
	line_add(model, 0, &(struct line){20, MPROF_EVENT_counter, -1, 0, 0, "mprof-dropped"});
	line_add(model, 0, &(struct line){30, MPROF_EVENT_counter, -1, 4, 0, "mprof-dropped"});
	line_add(model, 0, &(struct line){40, MPROF_EVENT_counter, -1, 4, 0, "mprof-dropped"});
	finish();
	CHECK_HOLE(SIGNAL, 15, 40, "dropped");
	CHECK_HOLE(SIGNAL, 31, 40, "none");
	CHECK_HOLE(SIGNAL, 15, 21, "dropped");
	/* They were dropped behind the end. */
	CHECK_HOLE(SIGNAL, 15, 20, "none");
	mprof_model_free(model);
}

/* A program sleeps only if no ring of it has a thread that runs. */
static void test_asleep(void)
{
	begin(2);
	declare(0, ALL);
	does(0, 10, MPROF_EVENT_switch, 1, 0);
	does(0, 20, MPROF_EVENT_switch, -1, 0);
	declare(1, ALL);
	does(1, 15, MPROF_EVENT_switch, 2, 0);
	finish();
	CHECK_EQ_UINT(mprof_coverage_asleep(mprof_model_view(model), 0), UINT64_MAX);
	CHECK_EQ_INT(mprof_model_view(model)->threads[mprof_model_view(model)->streams[1].running].id, 2);
	CHECK_EQ_UINT(mprof_model_view(model)->streams[1].since, 15);
	mprof_model_free(model);
	/* Threads that share a ring: the last one of them stopped, the others are unknown. */
	begin(1);
	declare(0, ALL & ~MPROF_WRITES_STOPS);
	does(0, 10, MPROF_EVENT_switch, 1, 0);
	does(0, 20, MPROF_EVENT_switch, -1, 0);
	finish();
	CHECK_EQ_UINT(mprof_coverage_asleep(mprof_model_view(model), 0), UINT64_MAX);
	mprof_model_free(model);
}

/* Return the BEGIN of a ring whose first event is in the packet COUNT, or in one without a number. STRANGER: thread 2 was not created. */
static uint32_t begins(bool counted, uint16_t count, bool stranger, unsigned flags)
{
	uint32_t said;

	begin(1);
	if (counted)
		CHECK_EQ_INT(mprof_model_packet(model, 0, count), MPROF_OK);
	if (flags)
		declare(0, flags);
	does(0, 10, MPROF_EVENT_switch, 0, 0);
	CHECK_EQ_INT(mprof_model_packet(model, 0, 7), MPROF_OK); /* the next events are in another one */
	line_add(model, 0, &(struct line)CREATES(20, 0, 1, Task));
	does(0, 30, MPROF_EVENT_switch, stranger ? 2 : 1, 0);
	CHECK_EQ_INT(mprof_model_packet(model, 1, 0), MPROF_CORRUPT);
	finish();
	CHECK_EQ_INT(mprof_model_packet(model, 0, 0), MPROF_END);
	said = mprof_model_view(model)->streams[0].begin;
	mprof_model_free(model);
	return said;
}

/* A writer that declares nothing does not write the creation of its first thread. */
static void test_begins(void)
{
	CHECK_EQ_UINT(begins(true, 0, false, 0), MPROF_BEGIN_FIRST);
	CHECK_EQ_UINT(begins(true, 1, false, 0), MPROF_BEGIN_LATER);
	CHECK_EQ_UINT(begins(true, 0, true, 0), MPROF_BEGIN_LATER); /* the count may have come to 0 again */
	CHECK_EQ_UINT(begins(false, 0, false, 0), MPROF_BEGIN_LATER);
	CHECK_EQ_UINT(begins(true, 0, false, ALL), MPROF_BEGIN_UNSAID);
	/* The second ring of a program has its beginning, and begins later. */
	begin(2);
	for (uint32_t i = 0; i < 2; i++) {
		CHECK_EQ_INT(mprof_model_packet(model, i, 0), MPROF_OK);
		does(i, 10 + 10 * i, MPROF_EVENT_signal_noswitch, i, 2);
	}
	finish();
	CHECK_EQ_UINT(mprof_model_view(model)->streams[1].begin, MPROF_BEGIN_FIRST);
	mprof_model_free(model);
}

int main(void)
{
	CHECK_RUN(test_begins);
	CHECK_RUN(test_declared);
	CHECK_RUN(test_packets_differ);
	CHECK_RUN(test_undeclared);
	CHECK_RUN(test_gap);
	CHECK_RUN(test_clock);
	CHECK_RUN(test_unresolved);
	CHECK_RUN(test_dropped);
	CHECK_RUN(test_asleep);
	return check_done();
}
