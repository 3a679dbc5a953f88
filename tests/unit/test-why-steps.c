/*
 * How much work a question about a wait takes, of traces that are made to take much: the number of
 * basic blocks that run, which the compiler counts in the sources of the answers. No time is measured.
 */
#include <inttypes.h>
#include <stdlib.h>

#include <mprof/waits.h>

#include "story.h"

#define MANY	    200000u
#define ASKED	    500u  /* questions of each trace */
#define STEPS_MOST  2000u /* steps of a question; twenty for each halving of MANY items, and some */
#define INDEX_STEPS 1500u /* steps of the index for each event */

static uint64_t steps;

/* The compiler calls this at the beginning of each basic block. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	steps++;
}

/* Begin a model of one ring, whose writer declares FLAGS if they are not 0. */
static void begin(struct story *s, unsigned flags)
{
	struct mprof_raw_event e = {
		.id = MPROF_EVENT_extra, .type = MPROF_EXTRA_RECORDER, .number = (int64_t)(257 | flags << 16)};

	story_begin(s);
	if (flags)
		CHECK_EQ_INT(mprof_model_add(s->m, 0, &e), MPROF_OK);
}

static void does(struct story *s, struct line line)
{
	line_add(s->m, 0, &line);
}

/* Ask about some of the threads, and check that no question takes many steps, nor the index. */
static void check_steps(struct story *s, int64_t first)
{
	struct mprof_why_answer a;
	struct mprof_waits *waits;
	uint64_t most = 0;
	uint32_t thread0;

	steps = 0;
	story_end(s);
	CHECK(steps < (uint64_t)INDEX_STEPS * MANY);
	thread0 = thread(s, first);
	CHECK(thread0 != MPROF_NONE);
	for (uint32_t i = 0; i < ASKED; i++) {
		steps = 0;
		mprof_why_ask(s->w, thread0 + i * (MANY / ASKED), &a);
		most = steps > most ? steps : most;
		CHECK(a.verdict != MPROF_WHY_RESOLVED);
	}
	steps = 0;
	waits = mprof_waits_new(s->v, s->w);
	CHECK(waits != NULL);
	CHECK(steps > MANY && steps < (uint64_t)INDEX_STEPS * MANY);
	mprof_waits_free(waits);
	CHECK(most > 0);
	CHECK(most < STEPS_MOST);
	if (most >= STEPS_MOST)
		fprintf(stderr, "a question took %" PRIu64 " steps\n", most);
	story_deinit(s);
}

/* Many threads wait for one condition, which was signalled often, and each has missed a signal. */
static void test_missed(void)
{
	struct story s;

	begin(&s, MPROF_DECLARES_KINDS | MPROF_DECLARES_FIRST | MPROF_WRITES_SIGNALS);
	does(&s, (struct line)CREATES(1, 0, 1, Condition));
	does(&s, (struct line)CREATES(2, 0, 2, Place));
	for (uint32_t i = 0; i < MANY; i++)
		does(&s, (struct line)DOES(10 + i, signal, 1, 3));
	for (uint32_t i = 0; i < MANY; i++)
		does(&s, (struct line){3 * MANY + i, MPROF_EVENT_creates, 2, 10 + i, MPROF_THREAD_Task, NULL});
	for (uint32_t i = 0; i < MANY; i++) {
		does(&s, (struct line)DOES(4 * MANY + i, try_read, 10 + i, 1));
		does(&s, (struct line){4 * MANY + i, MPROF_EVENT_extra, 10 + i, 2 * MANY, 0, "missed"});
	}
	check_steps(&s, 10);
}

/* Many threads wait, without a place, for a condition through which many others were woken. */
static void test_woken(void)
{
	struct story s;

	begin(&s, 0);
	does(&s, (struct line)CREATES(1, 0, 1, Condition));
	for (uint32_t i = 0; i < MANY; i++) {
		does(&s, (struct line){10 + i, MPROF_EVENT_creates, 1, -10 - (int64_t)i, MPROF_THREAD_Task, NULL});
		does(&s, (struct line)DOES(10 + i, fulfills, 1, -10 - (int64_t)i));
	}
	for (uint32_t i = 0; i < MANY; i++)
		does(&s, (struct line)DOES(2 * MANY + i, signal, 1, 3));
	for (uint32_t i = 0; i < MANY; i++)
		does(&s, (struct line){3 * MANY + i, MPROF_EVENT_creates, 1, 10 + i, MPROF_THREAD_Task, NULL});
	check_steps(&s, 10);
}

/* Many threads took what a semaphore kept. */
static void test_taken(void)
{
	struct story s;

	begin(&s, 0);
	does(&s, (struct line)CREATES(1, 0, 1, Semaphore));
	for (uint32_t i = 0; i < MANY; i++)
		does(&s, (struct line)DOES(10 + i, signal, 1, 3));
	for (uint32_t i = 0; i < MANY; i++) {
		does(&s,
		     (struct line){2 * MANY + i, MPROF_EVENT_creates, 1, -10 - (int64_t)i, MPROF_THREAD_Task, NULL});
		does(&s, (struct line)DOES(2 * MANY + i, fulfills, 1, -10 - (int64_t)i));
	}
	for (uint32_t i = 0; i < MANY; i++)
		does(&s, (struct line){3 * MANY + i, MPROF_EVENT_creates, 1, 10 + i, MPROF_THREAD_Task, NULL});
	check_steps(&s, 10);
}

/* The ring lacks packets in many places, and its recorder said often that it dropped events. */
static void test_gaps(void)
{
	struct story s;

	begin(&s, 0);
	does(&s, (struct line)CREATES(1, 0, 1, Condition));
	does(&s, (struct line)DOES(2, signal, 1, 3));
	for (uint32_t i = 0; i < MANY; i++) {
		CHECK_EQ_INT(mprof_model_gap(s.m, 0, 1), MPROF_OK);
		does(&s, (struct line){10 + i, MPROF_EVENT_counter, 0, 1 + i, 0, "mprof-dropped"});
	}
	for (uint32_t i = 0; i < MANY; i++)
		does(&s, (struct line){3 * MANY + i, MPROF_EVENT_creates, 1, 10 + i, MPROF_THREAD_Task, NULL});
	check_steps(&s, 10);
}

/* A long chain of threads that wait for each other, which ends in a cycle. */
static void test_chain(void)
{
	struct mprof_waits *waits;
	struct story s;
	uint32_t n;

	begin(&s, 0);
	for (uint32_t i = 0; i < MANY; i++)
		does(&s, (struct line)DOES(10 + i, try_read, 10 + i, 11 + i));
	does(&s, (struct line)DOES(10 + MANY, try_read, 10 + MANY, MANY / 2));
	steps = 0;
	story_end(&s);
	waits = mprof_waits_new(s.v, s.w);
	CHECK(waits && steps < (uint64_t)INDEX_STEPS * MANY);
	CHECK_EQ_UINT(mprof_waits_groups(waits, &n)[0].threads, MANY + 1);
	CHECK_EQ_UINT(n, 1);
	mprof_waits_free(waits);
	story_deinit(&s);
}

int main(void)
{
	CHECK_RUN(test_missed);
	CHECK_RUN(test_woken);
	CHECK_RUN(test_taken);
	CHECK_RUN(test_gaps);
	CHECK_RUN(test_chain);
	return check_done();
}
