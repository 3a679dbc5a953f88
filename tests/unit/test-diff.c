/*
 * Comparison of a good run with a bad run: models made by hand, random programs that are recorded
 * twice, and hostile models. tests/integration/diff.py checks the explanation of the ARP reply and
 * of recorded traces.
 */
#include <stdlib.h>

#include <mprof/diff.h>
#include <mprof/ids.h>

#include "check.h"
#include "diff-state.h"
#include "line.h"
#include "scarce.h"

#define COUNTS(t, thread, value, name) {t, MPROF_EVENT_counter, thread, value, 0, name}
#define FAILS(t, by, thread, text)     {t, MPROF_EVENT_fails, by, thread, 0, text}

static struct mprof_model *begin(uint32_t streams)
{
	struct mprof_model *m = mprof_model_new(&(struct mprof_model_options){.seed = 1});
	uint32_t i, stream;

	for (i = 0; i < streams; i++)
		CHECK_EQ_INT(mprof_model_stream(m, &(struct mprof_model_source){.guest = i}, &stream), MPROF_OK);
	return m;
}

static struct mprof_model *tell(const struct line *lines, size_t n)
{
	struct mprof_model *m = begin(1);
	size_t i;

	for (i = 0; i < n; i++)
		line_add(m, 0, &lines[i]);
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	return m;
}

#define TELL(lines) tell(lines, sizeof(lines) / sizeof((lines)[0]))

/* Two models, and the comparison of them. */
struct two {
	struct mprof_model *good, *bad;
	const struct mprof_model_view *g, *b;
	struct mprof_diff *d;
	const struct mprof_diff_view *v;
};

static void two_make(struct two *t, struct mprof_model *good, struct mprof_model *bad,
		     const struct mprof_diff_options *options)
{
	static const struct mprof_diff_options none = {.seed = 99};

	*t = (struct two){.good = good, .bad = bad, .g = mprof_model_view(good), .b = mprof_model_view(bad)};
	t->d = mprof_diff_new(t->g, t->b, options ? options : &none);
	t->v = t->d ? mprof_diff_view(t->d) : NULL;
	if (!CHECK(t->v != NULL))
		exit(check_done());
}

static void two_deinit(struct two *t)
{
	CHECK(mprof_diff_free(t->d) == NULL);
	if (t->bad != t->good)
		mprof_model_free(t->bad);
	mprof_model_free(t->good);
}

/* Return the index of the newest thread with the id ID. */
static uint32_t thread(const struct mprof_model_view *v, int64_t id)
{
	uint32_t i;

	for (i = v->n_threads; i-- > 0;)
		if (v->threads[i].id == id)
			return i;
	return MPROF_NONE;
}

/* Return the id of the thread in the bad run that matches thread ID of the good run, or -2. */
static int64_t match(const struct two *t, int64_t id)
{
	uint32_t i = t->v->good_match[thread(t->g, id)];

	return i == MPROF_NONE ? -2 : t->b->threads[i].id;
}

static void test_nothing(void)
{
	struct two t;

	two_make(&t, tell(NULL, 0), tell(NULL, 0), NULL);
	CHECK(t.v->alike);
	CHECK_EQ_UINT(t.v->first, MPROF_NONE);
	two_deinit(&t);
	CHECK(mprof_diff_free(NULL) == NULL);
}

/*
 * In the good run a thread waits on a condition and is woken. In the bad run the wake-up comes
 * before the wait.
 */
#define STORY                                                                                          \
	DOES(1, switch, 0, 0), SAYS(1, 0, "main"), CREATES(10, 0, 9, Condition), SAYS(10, 9, "reply"), \
		CREATES(11, 0, 5, Task), SAYS(11, 5, "network")
#define STORY_WAITS(t)                                                                          \
	DOES((t) + 1, signal, 9, 0), CREATES((t) + 2, 9, 2, Task), DOES((t) + 3, switch, 0, 0), \
		CREATES((t) + 4, 0, 1, Bind), MARKS((t) + 4, 1), DOES((t) + 5, try_read, 1, 2)
#define STORY_ANSWER(t) DOES((t) + 1, switch, 5, 0), DOES((t) + 2, signal, 9, 5)

static void test_missed_signal(void)
{
	static const struct line good[] = {
		STORY,
		STORY_WAITS(20),
		STORY_ANSWER(30),
		DOES(33, fulfills, 9, 2),
		DOES(34, read, 1, 2),
		DOES(35, fulfills, 1, 1),
		DOES(900, switch, 0, 0),
	};
	static const struct line bad[] = { STORY, STORY_ANSWER(15), STORY_WAITS(20), DOES(900, switch, 0, 0) };
	const struct mprof_diff_outcome *o;
	const struct mprof_diff_divergence *p;
	struct two t;

	two_make(&t, TELL(good), TELL(bad), NULL);
	CHECK(!t.v->alike);
	CHECK_EQ_UINT(t.v->matched, 5);
	CHECK_EQ_UINT(t.v->n_outcomes, 1);
	o = &t.v->outcomes[0];
	CHECK_EQ_UINT(o->kind, MPROF_DIFF_BAD_WAITS);
	CHECK_EQ_INT(t.b->threads[o->bad].id, 1);
	CHECK_EQ_INT(t.g->threads[o->good].id, 1);
	CHECK_EQ_UINT(o->threads, 2);
	CHECK_EQ_UINT(o->should_resolve, 1);
	CHECK_EQ_UINT(o->good_ns, 11);
	CHECK_EQ_UINT(o->bad_ns, 900 - 24);
	CHECK_EQ_UINT(o->verdict, MPROF_WHY_MISSED_SIGNAL);
	CHECK_EQ_INT(t.b->threads[o->root].id, 2);
	CHECK_EQ_UINT(o->root_match, thread(t.g, 2));
	CHECK_EQ_INT(t.b->threads[o->condition].id, 9);
	CHECK_EQ_UINT(t.b->interactions[o->lost_signal].time, 17);
	if (CHECK(o->divergence < t.v->n_divergences)) {
		p = &t.v->divergences[o->divergence];
		CHECK_EQ_INT(t.g->threads[p->good].id, 9);
		CHECK_EQ_UINT(t.v->steps[p->good_common].kind, MPROF_STEP_LABEL);
		CHECK_EQ_UINT(p->ns, 16);
		CHECK_EQ_UINT(p->good_n, 4);
		CHECK_EQ_UINT(p->bad_n, 3);
		CHECK_EQ_UINT(t.v->steps[p->good_next].kind, MPROF_STEP_SIGNALLED);
		CHECK_EQ_INT(t.g->threads[t.v->steps[p->good_next].other].id, 0);
		CHECK_EQ_INT(t.b->threads[t.v->steps[p->bad_next].other].id, 5);
		/* "Later" is the time at which one run does what the other run does now. */
		CHECK_EQ_UINT(t.v->steps[p->good_later].time, 32);
		CHECK_EQ_UINT(t.v->steps[p->bad_later].time, 21);
	}
	CHECK_EQ_UINT(t.v->not_due, 0);
	two_deinit(&t);
}

/*
 * A thread is unresolved only because its trace ends earlier. This is neither a different outcome
 * nor a divergence.
 */
static void test_undue(void)
{
	static const struct line good[] = {
		DOES(1, switch, 0, 0),
		CREATES(10, 0, 1, Task),
		DOES(500, fulfills, 0, 1),
		DOES(501, switch, 0, 0),
	};
	static const struct line bad[] = { DOES(1, switch, 0, 0), CREATES(10, 0, 1, Task), DOES(100, switch, 0, 0) };
	struct two t;

	two_make(&t, TELL(good), TELL(bad), NULL);
	CHECK_EQ_UINT(t.v->n_outcomes, 0);
	CHECK_EQ_UINT(t.v->not_due, 1);
	CHECK_EQ_UINT(t.v->all_divergences, 0);
	CHECK(!t.v->alike);
	two_deinit(&t);
}

/*
 * A failure that other threads pass on is one outcome, reported for the first of these threads that
 * has a label. A failure of a thread that the other run does not have is another outcome.
 */
static void test_failures(void)
{
#define WORK                                                                                           \
	CREATES(1, 0, 1, Task), CREATES(2, 0, 2, Bind), CREATES(3, 0, 3, Bind), SAYS(4, 2, "request"), \
		SAYS(4, 1, "read")
	static const struct line good[] = {
		WORK,
		DOES(5, fulfills, 0, 1),
		DOES(6, fulfills, 2, 2),
		DOES(7, fulfills, 3, 3),
		DOES(99, switch, 0, 0),
	};
	static const struct line bad[] = {
		WORK,
		FAILS(5, 0, 1, "End_of_file"),
		FAILS(6, 2, 2, "End_of_file"),
		FAILS(7, 3, 3, "End_of_file"),
		CREATES(8, 0, 4, Ignore_result),
		SAYS(8, 4, "panic"),
		FAILS(9, 4, 4, "Out_of_memory"),
		DOES(99, switch, 0, 0),
	};
	struct two t;

	two_make(&t, TELL(good), TELL(bad), NULL);
	CHECK_EQ_UINT(t.v->n_outcomes, 2);
	CHECK_EQ_UINT(t.v->outcomes[0].kind, MPROF_DIFF_BAD_FAILS);
	CHECK_EQ_UINT(t.v->outcomes[0].threads, 3);
	CHECK_EQ_INT(t.b->threads[t.v->outcomes[0].bad].id, 1);
	CHECK_EQ_UINT(t.v->outcomes[1].good, MPROF_NONE);
	CHECK_EQ_INT(t.b->threads[t.v->outcomes[1].bad].id, 4);
	two_deinit(&t);
	two_make(&t, TELL(bad), TELL(good), NULL);
	CHECK_EQ_UINT(t.v->n_outcomes, 2);
	CHECK_EQ_UINT(t.v->outcomes[0].kind, MPROF_DIFF_GOOD_FAILS);
	CHECK_EQ_UINT(t.v->outcomes[1].bad, MPROF_NONE);
	two_deinit(&t);
}

/*
 * A thread becomes another thread in one run only. Its outcome there is the outcome of the other
 * thread.
 */
static void test_becomes_in_one(void)
{
#define REQUEST DOES(1, switch, 0, 0), CREATES(2, 0, 1, Task), SAYS(3, 1, "request"), CREATES(4, 1, 2, Task)
	static const struct line good[] = {
		REQUEST,
		DOES(5, becomes, 1, 2),
		DOES(10, fulfills, 0, 2),
		DOES(99, switch, 0, 0),
	};
	static const struct line bad[] = {
		REQUEST,
		DOES(9, fulfills, 0, 2),
		FAILS(10, 0, 1, "Out_of_memory"),
		DOES(99, switch, 0, 0),
	};
	struct two t;

	two_make(&t, TELL(good), TELL(bad), NULL);
	if (CHECK_EQ_UINT(t.v->n_outcomes, 1)) {
		CHECK_EQ_UINT(t.v->outcomes[0].kind, MPROF_DIFF_BAD_FAILS);
		CHECK_EQ_INT(t.b->threads[t.v->outcomes[0].bad].id, 1);
		CHECK_EQ_INT(t.g->threads[t.v->outcomes[0].good].id, 1);
	}
	two_deinit(&t);
}

static void test_slower(void)
{
#define SLOW(took)                                                                                            \
	CREATES(1, 0, 1, Task), SAYS(1, 1, "read"), CREATES(2, 0, 2, Bind), CREATES(3, 0, 3, Bind),           \
		DOES(4, try_read, 2, 1), CREATES(5, 0, 4, Task), DOES(7, fulfills, 0, 4),                     \
		DOES((took), fulfills, 0, 1), DOES((took) + 1, read, 2, 1), DOES((took) + 1, fulfills, 2, 2), \
		DOES((took) + 2, read, 3, 2), DOES((took) + 2, fulfills, 3, 3)
	static const struct line good[] = {SLOW(1000000)};
	static const struct line bad[] = {SLOW(9000000)};
	struct mprof_diff_options options = {.seed = 1, .slower_percent = 1000, .slower_ns = 1};
	struct two t;

	two_make(&t, TELL(good), TELL(bad), NULL);
	CHECK(t.v->alike);
	CHECK_EQ_UINT(t.v->slower_percent, 200);
	CHECK_EQ_UINT(t.v->n_slower, 1);
	CHECK_EQ_UINT(t.v->all_slower, 1);
	CHECK_EQ_INT(t.b->threads[t.v->slower[0].bad].id, 1);
	CHECK_EQ_UINT(t.v->slower[0].followers, 2);
	CHECK_EQ_UINT(t.v->slower[0].good_ns, 999999);
	CHECK_EQ_UINT(t.v->slower[0].bad_ns, 8999999);
	two_deinit(&t);
	two_make(&t, TELL(good), TELL(bad), &options);
	CHECK_EQ_UINT(t.v->n_slower, 0);
	two_deinit(&t);
}

static void test_counters(void)
{
	static const struct line good[] = {
		COUNTS(1, 0, 5, "a"),	COUNTS(2, 0, 50, "b"), COUNTS(3, 0, 1, "same"),
		COUNTS(4, 0, 100, "c"), COUNTS(5, 0, 40, "c"),
	};
	static const struct line bad[] = {
		COUNTS(1, 0, 6, "a"),
		COUNTS(2, 0, 1, "d"),
		COUNTS(3, 0, 1, "same"),
		COUNTS(4, 0, 40, "c"),
	};
	struct two t;
	uint32_t i;
	char names[5] = "";

	two_make(&t, TELL(good), TELL(bad), NULL);
	CHECK_EQ_UINT(t.v->n_counters, 4);
	for (i = 0; i < t.v->n_counters; i++) {
		const struct mprof_diff_counter *c = &t.v->counters[i];
		const struct mprof_model_view *v = c->good == MPROF_NONE ? t.b : t.g;

		names[i] = v->text[v->strings[v->counters[c->good == MPROF_NONE ? c->bad : c->good].name].offset];
	}
	/*
	 * Counters that one run does not have come first, then the counter whose largest value fell
	 * by more than half.
	 */
	CHECK_EQ_STR(names, "bdca");
	CHECK(!t.v->alike);
	two_deinit(&t);
}

/*
 * Many threads of one kind, some of them in one run only. As many as possible are matched, and the
 * others are listed by kind.
 */
static void test_numbers(void)
{
	struct mprof_model *m[2];
	struct two t;
	int side, i;

	for (side = 0; side < 2; side++) {
		m[side] = begin(1);
		for (i = 0; i < 100 + side * 3; i++) {
			line_add(m[side], 0, &(struct line)CREATES((uint64_t)i, 0, 1000 * side + i + 1, Task));
			line_add(m[side], 0,
				 &(struct line)SAYS((uint64_t)i, 1000 * side + i + 1, i % 10 ? "worker" : "tenth"));
		}
		if (side)
			line_add(m[side], 0, &(struct line)CREATES(200, 0, 9000, Choose));
		CHECK_EQ_INT(mprof_model_finish(m[side]), MPROF_OK);
	}
	two_make(&t, m[0], m[1], NULL);
	CHECK_EQ_UINT(t.v->matched, 101);
	CHECK_EQ_UINT(t.v->n_unmatched, 3);
	CHECK_EQ_UINT(t.v->unmatched[0].bad_n, 2);
	CHECK_EQ_UINT(t.v->unmatched[0].good, MPROF_NONE);
	CHECK_EQ_UINT(t.v->unmatched[1].bad_n, 1);
	CHECK_EQ_UINT(t.b->threads[t.v->unmatched[2].bad].type, MPROF_THREAD_Choose);
	two_deinit(&t);
}

/*
 * A number in a label counts as an id and may differ between the runs. If both runs have the
 * number, labels with other numbers do not match it.
 */
static void test_numbers_in_labels(void)
{
	static const struct line good[] = {
		CREATES(1, 0, 1, Task),	     SAYS(1, 1, "request 12"), CREATES(2, 0, 2, Task),
		SAYS(2, 2, "request 13, 7"), SAYS(3, 1, "sector 1"),   FAILS(9, 0, 1, "bad sector 1"),
	};
	static const struct line bad[] = {
		CREATES(1, 0, 1, Task),	     SAYS(1, 1, "request 7012"), CREATES(2, 0, 2, Task),
		SAYS(2, 2, "request 1, 24"), SAYS(3, 1, "sector 777"),	 FAILS(9, 0, 1, "bad sector 777"),
	};
	static const struct line shifted[] = {
		CREATES(1, 0, 3, Task),	  SAYS(1, 3, "request 11"), CREATES(1, 0, 1, Task),
		SAYS(1, 1, "request 12"), CREATES(2, 0, 2, Task),   SAYS(2, 2, "request"),
	};
	struct two t;

	two_make(&t, TELL(good), TELL(bad), NULL);
	CHECK(t.v->alike);
	two_deinit(&t);
	two_make(&t, TELL(good), TELL(shifted), NULL);
	CHECK_EQ_INT(match(&t, 1), 1);
	CHECK_EQ_INT(match(&t, 2), -2);
	two_deinit(&t);
}

/* In the bad run a thread's creator is a thread of another kind. */
static void test_moved(void)
{
	static const struct line good[] = {
		CREATES(1, 0, 1, Task), CREATES(2, 1, 2, Task), SAYS(2, 2, "listener"),
		CREATES(3, 2, 3, Task), CREATES(4, 0, 4, Bind), CREATES(5, 0, 5, Join),
	};
	static const struct line bad[] = {
		CREATES(1, 0, 7, Bind), CREATES(2, 7, 8, Task), SAYS(2, 8, "listener"),
		CREATES(3, 8, 9, Task), CREATES(4, 0, 6, Task), CREATES(5, 0, 10, Join),
	};
	struct two t;

	two_make(&t, TELL(good), TELL(bad), NULL);
	CHECK_EQ_INT(match(&t, 2), 8);
	CHECK_EQ_INT(match(&t, 3), 9);
	CHECK_EQ_INT(match(&t, 5), 10);
	CHECK_EQ_INT(match(&t, 1), 6);
	CHECK_EQ_INT(match(&t, 4), 7);
	two_deinit(&t);
}

/* ---- random programs */

struct random {
	uint64_t state;
};

static uint32_t pick(struct random *r, uint32_t n)
{
	r->state = r->state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(r->state >> 33) % n;
}

#define PROGRAM 400

/*
 * Make a program of N events. Its threads have the ids 1 and up, and each is created by an older
 * thread.
 */
static size_t program(struct random *r, struct line *lines)
{
	static const char *const labels[] = {"request", "read", "write", "timer", "retry"};
	int64_t threads = 1;
	uint64_t time = 1000;
	size_t n;

	lines[0] = (struct line)CREATES(time, 0, 1, Task);
	for (n = 1; n < PROGRAM; n++) {
		int64_t some = 1 + pick(r, (uint32_t)threads), other = 1 + pick(r, (uint32_t)threads);

		time += 1 + pick(r, 50);
		switch (pick(r, 7)) {
		case 0:
		case 1:
			lines[n] = (struct line)CREATES(time, some, ++threads, Task);
			lines[n].type = (uint8_t)pick(r, 12);
			break;
		case 2:
			lines[n] = (struct line)SAYS(time, some, labels[pick(r, 5)]);
			break;
		case 3:
			lines[n] = (struct line)DOES(time, signal, some, other);
			break;
		case 4:
			lines[n] = (struct line)DOES(time, read, some, other);
			break;
		case 5:
			lines[n] = (struct line)DOES(time, try_read, some, other);
			break;
		default:
			lines[n] = (struct line)DOES(time, fulfills, some, other);
		}
	}
	return n;
}

/* Change the program's ids and times, and nothing else. */
static void retell(struct line *lines, size_t n, uint64_t shift, uint64_t factor)
{
	size_t i;

	for (i = 0; i < n; i++) {
		lines[i].time = shift + lines[i].time * factor;
		lines[i].context = (int64_t)((uint64_t)lines[i].context * 0x9e3779b97f4a7c15);
		if (lines[i].id != MPROF_EVENT_label)
			lines[i].number = (int64_t)((uint64_t)lines[i].number * 0x9e3779b97f4a7c15);
	}
}

/* Two runs that differ only in ids and times are alike: every thread matches its counterpart. */
static void test_other_ids(void)
{
	static struct line lines[PROGRAM];
	struct random r = {7};
	struct mprof_model *good;
	struct two t;
	uint32_t i;
	int round;

	for (round = 0; round < 60; round++) {
		program(&r, lines);
		good = tell(lines, PROGRAM);
		retell(lines, PROGRAM, 77000, round % 2 ? 1 : 900000);
		two_make(&t, good, tell(lines, PROGRAM), NULL);
		CHECK(t.v->alike);
		for (i = 0; i < t.g->n_threads; i++)
			CHECK_EQ_UINT(t.v->good_match[i], i);
		CHECK_EQ_UINT(t.v->n_slower > 0, round % 2 == 0);
		two_deinit(&t);
	}
}

/*
 * In one run each task has an id of its own; in the other run all tasks use the same id, one after
 * the other.
 */
static void test_ids_used_again(void)
{
	struct mprof_model *m[2];
	struct two t;
	int side;
	int64_t i;

	for (side = 0; side < 2; side++) {
		m[side] = begin(1);
		for (i = 0; i < 500; i++) {
			int64_t id = side ? 1 : i + 1;
			uint64_t time = (uint64_t)i * 10;

			line_add(m[side], 0, &(struct line)CREATES(time, 0, id, Task));
			line_add(m[side], 0, &(struct line)SAYS(time + 1, id, i % 3 ? "a" : "b"));
			line_add(m[side], 0, &(struct line)DOES(time + 2, fulfills, id, id));
		}
		CHECK_EQ_INT(mprof_model_finish(m[side]), MPROF_OK);
	}
	two_make(&t, m[0], m[1], NULL);
	CHECK(t.v->alike);
	CHECK_EQ_UINT(t.v->matched, 501);
	two_deinit(&t);
}

/* Check the matches: if A matches B, B matches A; a root matches only a root and is not counted. */
static void check_matches(const struct two *t)
{
	uint32_t i, n = 0, bad;

	for (i = 0; i < t->g->n_threads; i++) {
		bad = t->v->good_match[i];
		if (bad == MPROF_NONE)
			continue;
		n += !(t->g->threads[i].flags & MPROF_THREAD_ROOT);
		CHECK(bad < t->b->n_threads && t->v->bad_match[bad] == i);
		CHECK_EQ_UINT(t->g->threads[i].flags & MPROF_THREAD_ROOT, t->b->threads[bad].flags & MPROF_THREAD_ROOT);
	}
	CHECK_EQ_UINT(t->v->matched, n);
}

/*
 * Record a server for the requests FROM to TO - 1: an accept loop creates a task for each request,
 * and each task creates one part. Ids begin at BASE.
 */
static void serve(struct mprof_model *m, int from, int to, int64_t base)
{
	static char names[200][16];
	int i;

	for (i = from; i < to; i++) {
		uint64_t time = 1000 + (uint64_t)i * 100;
		int64_t task = base + i * 2 + 10;

		snprintf(names[i], sizeof(names[i]), "request %d", i);
		line_add(m, 0, &(struct line)CREATES(time, 3, task, Task));
		line_add(m, 0, &(struct line)SAYS(time + 1, task, names[i]));
		line_add(m, 0, &(struct line)CREATES(time + 2, task, task + 1, Bind));
		line_add(m, 0, &(struct line)DOES(time + 5, fulfills, task, task + 1));
		line_add(m, 0, &(struct line)DOES(time + 9, fulfills, 3, task));
	}
}

/* The bad trace lacks its beginning, as a ring does that has wrapped. */
static void test_cut(void)
{
	struct mprof_model *good = begin(1), *bad = begin(1);
	struct two t;
	uint32_t i;

	line_add(good, 0, &(struct line)CREATES(1, 0, 2, Task));
	line_add(good, 0, &(struct line)SAYS(1, 2, "main"));
	line_add(good, 0, &(struct line)CREATES(2, 2, 3, Task));
	line_add(good, 0, &(struct line)SAYS(3, 3, "accept"));
	serve(good, 0, 200, 0);
	serve(bad, 120, 200, 5000);
	CHECK_EQ_INT(mprof_model_finish(good), MPROF_OK);
	CHECK_EQ_INT(mprof_model_finish(bad), MPROF_OK);
	two_make(&t, good, bad, NULL);
	check_matches(&t);
	CHECK_EQ_INT(match(&t, 3), 3);
	for (i = 120; i < 200; i++) {
		CHECK_EQ_INT(match(&t, i * 2 + 10), 5000 + i * 2 + 10);
		CHECK_EQ_INT(match(&t, i * 2 + 11), 5000 + i * 2 + 11);
	}
	CHECK_EQ_UINT(t.v->bad_threads, 161);
	CHECK_EQ_UINT(t.v->matched, 161);
	CHECK_EQ_UINT(t.v->n_outcomes, 0);
	CHECK_EQ_UINT(t.v->all_divergences, 0);
	two_deinit(&t);
}

/* The bad trace ends earlier than the good one. */
static void test_short(void)
{
	static struct line lines[PROGRAM];
	struct random r = {5};
	struct two t;
	int round;

	for (round = 0; round < 40; round++) {
		program(&r, lines);
		two_make(&t, tell(lines, PROGRAM), tell(lines, PROGRAM - 40 - (size_t)round), NULL);
		check_matches(&t);
		CHECK_EQ_UINT(t.v->matched, t.v->bad_threads);
		CHECK_EQ_UINT(t.v->n_outcomes, 0);
		two_deinit(&t);
	}
}

static void test_circles(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 1, Bind),
		CREATES(1, 1, 2, Bind),
		CREATES(1, 2, 3, Bind),
		DOES(2, becomes, 1, 2),
		DOES(3, becomes, 2, 3),
		DOES(4, becomes, 3, 1),
		DOES(5, try_read, 3, 4),
		DOES(6, try_read, 4, 5),
		DOES(7, try_read, 5, 4),
		CREATES(8, 5, 5, Task),
		MARKS(8, 5),
		DOES(9, try_read, 5, 5),
		FAILS(10, 4, 4, "x"),
		DOES(90, becomes, 5, -1),
	};
	struct two t;

	two_make(&t, TELL(lines), TELL(lines), NULL);
	CHECK(t.v->alike);
	two_deinit(&t);
	two_make(&t, TELL(lines), tell(lines, 9), NULL);
	check_matches(&t);
	two_deinit(&t);
	two_make(&t, tell(lines, 11), TELL(lines), NULL);
	check_matches(&t);
	two_deinit(&t);
}

/*
 * Two guests in one model. The options say which guest of the good run matches which guest of the
 * bad run.
 */
static void test_streams(void)
{
	static const uint32_t crossed[] = {1, 0}, none[] = {MPROF_NONE, 0};
	static const char *const names[] = {"web", "disk"};
	struct mprof_model *m[2];
	struct two t;
	uint32_t i, side;

	for (side = 0; side < 2; side++) {
		m[side] = begin(2);
		for (i = 0; i < 2; i++) {
			line_add(m[side], i, &(struct line)CREATES(1, 0, 1, Task));
			line_add(m[side], i, &(struct line)SAYS(2, 1, names[i ^ side]));
			line_add(m[side], i, &(struct line)COUNTS(3, 1, (i ^ side) + 5, "n"));
		}
		CHECK_EQ_INT(mprof_model_finish(m[side]), MPROF_OK);
	}
	two_make(&t, m[0], m[1], &(struct mprof_diff_options){.streams = crossed});
	CHECK(t.v->alike);
	mprof_diff_free(t.d);
	two_make(&t, m[0], m[1], &(struct mprof_diff_options){.streams = none});
	CHECK_EQ_UINT(t.v->matched, 2);
	CHECK_EQ_UINT(t.v->all_unmatched, 2);
	CHECK_EQ_UINT(t.v->n_counters, 2);
	mprof_diff_free(t.d);
	two_make(&t, m[0], m[1], NULL);
	CHECK_EQ_UINT(t.v->matched, 2);
	CHECK_EQ_UINT(t.v->n_counters, 2);
	two_deinit(&t);
}

/*
 * At most results_max outcomes are listed, only those after the times of the options, and all of
 * them are counted.
 */
static void test_told(void)
{
	struct mprof_model *m[2];
	struct two t;
	int side;
	int64_t i;

	for (side = 0; side < 2; side++) {
		m[side] = begin(1);
		line_add(m[side], 0, &(struct line)DOES(1, switch, 0, 0));
		for (i = 1; i <= 300; i++) {
			line_add(m[side], 0, &(struct line)CREATES((uint64_t)i, 0, i, Task));
			if (side == 0)
				line_add(m[side], 0, &(struct line)DOES((uint64_t)i, fulfills, 0, i));
		}
		line_add(m[side], 0, &(struct line)DOES(5000, switch, 0, 0));
		CHECK_EQ_INT(mprof_model_finish(m[side]), MPROF_OK);
	}
	two_make(&t, m[0], m[1], NULL);
	CHECK_EQ_UINT(t.v->all_outcomes, 300);
	CHECK_EQ_UINT(t.v->n_outcomes, MPROF_DIFF_RESULTS_MAX);
	CHECK_EQ_UINT(t.v->all_divergences, 301);
	mprof_diff_free(t.d);
	two_make(&t, m[0], m[1], &(struct mprof_diff_options){.results_max = 3, .good_from = 291, .bad_from = 291});
	CHECK_EQ_UINT(t.v->n_outcomes, 3);
	CHECK_EQ_UINT(t.v->all_outcomes, 10);
	CHECK_EQ_UINT(t.v->all_divergences, 10);
	two_deinit(&t);
}

#define ALL                                                                                        \
	(MPROF_DECLARES_KINDS | MPROF_DECLARES_FIRST | MPROF_WRITES_SIGNALS | MPROF_WRITES_WAKES | \
	 MPROF_WRITES_STOPS | MPROF_WRITES_ENDS)

/* A run whose recorder declares FLAGS (0: nothing), in which thread 1 ENDS or not, with a packet missing before its end if it LACKS one. */
static struct mprof_model *declared(unsigned flags, bool ends, bool lacks)
{
	static const struct line lines[] = {
		CREATES(1, -1, 1, Task),
		SAYS(2, 1, "one"),
		DOES(3, switch, 1, 0),
		DOES(9, fulfills, 1, 1),
		DOES(90, switch, -1, 0),
		DOES(95, switch, -1, 0)
	};
	struct mprof_raw_event e = {
		.id = MPROF_EVENT_extra, .type = MPROF_EXTRA_RECORDER, .number = (int64_t)(257 | flags << 16)};
	struct mprof_model *m = begin(1);

	if (flags)
		CHECK_EQ_INT(mprof_model_add(m, 0, &e), MPROF_OK);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (i == 3 && lacks)
			CHECK_EQ_INT(mprof_model_gap(m, 0, 1), MPROF_OK);
		if (i != 3 || ends)
			line_add(m, 0, &lines[i]);
	}
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	return m;
}

/* Each run, and each outcome, has the hole of its trace. */
static void test_holes(void)
{
	static const struct {
		unsigned good, bad; /* flags of the recorders */
		bool lacks;	    /* the bad run lacks a packet */
		enum mprof_hole of_good, of_bad, of_end;
	} cases[] = {
		{ALL, ALL, false, MPROF_HOLE_NONE, MPROF_HOLE_NONE, MPROF_HOLE_NONE},
		{ALL, ALL, true, MPROF_HOLE_NONE, MPROF_HOLE_GAP, MPROF_HOLE_GAP},
		{ALL, ALL & ~MPROF_DECLARES_FIRST, false, MPROF_HOLE_NONE, MPROF_HOLE_BEGIN, MPROF_HOLE_NONE},
		{ALL, ALL & ~MPROF_WRITES_SIGNALS, false, MPROF_HOLE_NONE, MPROF_HOLE_KIND, MPROF_HOLE_NONE},
		{ALL, ALL & ~MPROF_WRITES_ENDS, false, MPROF_HOLE_NONE, MPROF_HOLE_KIND, MPROF_HOLE_KIND},
		{ALL, 0, false, MPROF_HOLE_NONE, MPROF_HOLE_UNSAID, MPROF_HOLE_UNSAID},
		{ALL & ~MPROF_WRITES_STOPS, ALL, false, MPROF_HOLE_NONE, MPROF_HOLE_NONE, MPROF_HOLE_NONE},
		{0, 0, false, MPROF_HOLE_NONE, MPROF_HOLE_NONE, MPROF_HOLE_UNSAID},
	};
	struct two t;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		two_make(&t, declared(cases[i].good, true, false), declared(cases[i].bad, false, cases[i].lacks), NULL);
		CHECK_EQ_STR(mprof_hole_name(t.v->good_coverage.hole), mprof_hole_name(cases[i].of_good));
		CHECK_EQ_STR(mprof_hole_name(t.v->bad_coverage.hole), mprof_hole_name(cases[i].of_bad));
		CHECK_EQ_UINT(t.v->n_outcomes, 1);
		CHECK_EQ_UINT(t.v->outcomes[0].kind, MPROF_DIFF_BAD_WAITS);
		CHECK_EQ_STR(mprof_hole_name(t.v->outcomes[0].coverage.hole), mprof_hole_name(cases[i].of_end));
		two_deinit(&t);
	}
}

/* A ring that declares nothing lacks its beginning if it has a thread without its creation. */
static void test_beginnings(void)
{
	static const struct line earlier[] = { DOES(1, switch, 7, 0), DOES(9, switch, -1, 0) };
	struct two t;

	two_make(&t, declared(0, true, false), TELL(earlier), NULL);
	CHECK_EQ_UINT(t.v->good_coverage.hole, MPROF_HOLE_NONE);
	CHECK_EQ_UINT(t.v->bad_coverage.hole, MPROF_HOLE_BEGIN);
	CHECK_EQ_UINT(t.v->bad_coverage.to, 1);
	two_deinit(&t);
}

static void test_without_memory(void)
{
	static struct line lines[PROGRAM];
	struct random r = {3};
	struct mprof_model *good, *bad;
	struct mprof_diff *d = NULL, *whole;
	long i;

	program(&r, lines);
	good = tell(lines, PROGRAM);
	program(&r, lines);
	bad = tell(lines, PROGRAM);
	for (i = 0; !d && i < 100000; i++) {
		fail_in = i;
		d = mprof_diff_new(mprof_model_view(good), mprof_model_view(bad), NULL);
	}
	fail_in = -1;
	CHECK(i > 60);
	/* A result that is not NULL is complete. */
	whole = mprof_diff_new(mprof_model_view(good), mprof_model_view(bad), NULL);
	if (CHECK(d && whole)) {
		CHECK_EQ_UINT(mprof_diff_view(d)->n_divergences, mprof_diff_view(whole)->n_divergences);
		CHECK_EQ_UINT(mprof_diff_view(d)->n_steps, mprof_diff_view(whole)->n_steps);
		CHECK_EQ_UINT(mprof_diff_view(d)->n_unmatched, mprof_diff_view(whole)->n_unmatched);
	}
	mprof_diff_free(whole);
	mprof_diff_free(d);
	mprof_model_free(good);
	mprof_model_free(bad);
}

/* ---- matching two lists */

static uint32_t common(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b)
{
	uint32_t best[41][41] = {0}, i, k;

	for (i = 1; i <= n_a; i++)
		for (k = 1; k <= n_b; k++) {
			uint32_t one = best[i - 1][k] > best[i][k - 1] ? best[i - 1][k] : best[i][k - 1];

			best[i][k] = a[i - 1] == b[k - 1] ? best[i - 1][k - 1] + 1 : one;
		}
	return best[n_a][n_b];
}

/*
 * diff_align keeps the order of both lists, and finds as many matches as any matching in order can
 * have.
 */
static void test_align(void)
{
	uint64_t a[40], b[40], work = 0;
	uint32_t found[40], n_a, n_b, i, n, round, kinds, last;
	struct random r = {11};
	bool ordered, fine;

	for (round = 0; round < 20000; round++) {
		n_a = pick(&r, 31);
		n_b = pick(&r, 31);
		kinds = 1 + pick(&r, 6);
		for (i = 0; i < 40; i++) {
			a[i] = pick(&r, kinds);
			b[i] = pick(&r, kinds);
		}
		if (!CHECK(diff_align(a, n_a, b, n_b, found, &ordered, &work)) || !CHECK(ordered))
			return;
		for (i = n = 0, last = 0, fine = true; i < n_a; i++) {
			if (found[i] == MPROF_NONE)
				continue;
			fine = fine && found[i] < n_b && a[i] == b[found[i]] && (!n || found[i] > last);
			last = found[i];
			n++;
		}
		if (!CHECK(fine) || !CHECK_EQ_UINT(n, common(a, n_a, b, n_b)))
			return;
	}
}

/*
 * Make 58 siblings. With SWAPPED, the last six are in another order. With MORE, nearly all of them
 * do something more.
 */
static struct mprof_model *siblings(bool swapped, bool more)
{
	static const char *const names[] = {"left", "right", "up", "down", "here", "there"};
	static char letters[40][3];
	struct mprof_model *m = begin(1);
	int id;

	line_add(m, 0, &(struct line)SAYS(0, 0, "main"));
	for (id = 1; id <= 58; id++) {
		int i = id - 13, k = id - 53;
		const char *name = "same";

		if (k >= 0) {
			name = names[swapped ? k ^ 1 : k];
		} else if (i >= 0) {
			letters[i][0] = (char)('a' + i / 20);
			letters[i][1] = (char)('a' + i % 20);
			name = letters[i];
		}
		line_add(m, 0, &(struct line)CREATES((uint64_t)id, 0, id, Task));
		line_add(m, 0, &(struct line)SAYS((uint64_t)id, id, name));
		if (more && i >= 0)
			line_add(m, 0, &(struct line)SAYS((uint64_t)id, id, "more"));
	}
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	return m;
}

/*
 * Nearly all siblings differ between the runs, some are equal, and some are in another order. Each
 * sibling has at most one match.
 */
static void test_swapped(void)
{
	struct two t;
	int64_t id;

	two_make(&t, siblings(false, true), siblings(true, false), NULL);
	check_matches(&t);
	CHECK_EQ_UINT(t.v->matched, 59);
	for (id = 53; id <= 58; id++)
		CHECK_EQ_INT(match(&t, id), 53 + ((id - 53) ^ 1));
	two_deinit(&t);
}

/*
 * A million siblings on each side that are all equal, or alternate, or are random, or are in
 * reverse order. The test limits steps, not seconds.
 */
static void test_many_siblings(void)
{
	const uint32_t n = 1000000;
	uint64_t *a = malloc(n * sizeof(*a)), *b = malloc(n * sizeof(*b)), work;
	uint32_t *found = malloc(n * sizeof(*found)), i, k;
	struct random r = {1};
	bool ordered;

	for (k = 0; k < 5; k++) {
		for (i = 0; i < n; i++) {
			a[i] = k == 0 ? 1 : k == 1 ? i % 2 : k == 2 ? pick(&r, 2) : i;
			b[i] = k == 0 ? 1 : k == 1 ? (i + 1) % 2 : k == 2 ? pick(&r, 2) : k == 3 ? n - i : i + 1;
		}
		work = 0;
		CHECK(diff_align(a, n, b, k == 0 ? n - 7 : n, found, &ordered, &work));
		CHECK(work < 150ull * n);
		CHECK_EQ_UINT(ordered, k != 2 && k != 3);
	}
	free(a);
	free(b);
	free(found);
}

/* The number of steps for whole models is proportional to their size. */
static void test_work(void)
{
	struct mprof_model *m[2];
	struct random r = {1};
	struct two t;
	uint64_t work[2];
	uint32_t size, side, i, n;

	for (size = 0; size < 2; size++) {
		n = size ? 40000 : 10000;
		for (side = 0; side < 2; side++) {
			m[side] = begin(1);
			for (i = 1; i <= n; i++) {
				line_add(m[side], 0,
					 &(struct line)CREATES(i, pick(&r, 2) ? 0 : (int64_t)pick(&r, i), i, Task));
				line_add(m[side], 0, &(struct line)SAYS(i, pick(&r, i), pick(&r, 2) ? "a" : "b"));
				line_add(m[side], 0, &(struct line)DOES(i, signal, pick(&r, i), pick(&r, i)));
			}
			CHECK_EQ_INT(mprof_model_finish(m[side]), MPROF_OK);
		}
		two_make(&t, m[0], m[1], NULL);
		check_matches(&t);
		work[size] = t.v->work;
		CHECK(work[size] < 300ull * n);
		two_deinit(&t);
	}
	CHECK(work[1] < 6 * work[0]);
}

/* Add LINES to a run that has its beginning, or LACKS it. Return the run. */
static struct mprof_model *begun(const struct line *lines, size_t n, bool lacks)
{
	struct mprof_model *m = begin(1);

	CHECK_EQ_INT(mprof_model_packet(m, 0, lacks), MPROF_OK);
	line_add(m, 0, &(struct line)DOES(1, switch, 0, 0));
	for (size_t i = 0; i < n; i++)
		line_add(m, 0, &lines[i]);
	line_add(m, 0, &(struct line)DOES(900, switch, 0, 0));
	CHECK_EQ_INT(mprof_model_finish(m), MPROF_OK);
	return m;
}

/* A part that a run with a hole shows, and the other one has not, is a difference. */
static void test_proof(void)
{
	static const struct line some[] = {CREATES(10, 0, 1, Task), SAYS(11, 1, "request 1")};
	static const struct line more[] = {CREATES(10, 0, 1, Task), SAYS(11, 1, "request 1"), CREATES(20, 0, 2, Bind)};
	static const struct line counted[] = {CREATES(10, 0, 1, Task), SAYS(11, 1, "request 1"), COUNTS(20, 0, 5, "n")};
	static const struct line early[] = {CREATES(10, 0, 1, Task), SAYS(11, 1, "request 1"), SAYS(20, 7, "old")};
	static const struct line again[] = {CREATES(10, 0, 1, Task), SAYS(11, 1, "request 1"), CREATES(20, 0, 2, Task),
					    SAYS(21, 2, "request 2")};
	static const struct {
		const struct line *lines;
		size_t n;
		bool good_lacks, bad_lacks;
		uint32_t differs;
	} cases[] = {
		{more, 3, true, false, 1},   {more, 3, true, true, 0},	 {counted, 3, true, false, 1},
		{counted, 3, true, true, 0}, {early, 3, true, false, 0}, /* it was not created in the trace */
		{again, 4, true, false, 0},				 /* the other run has this kind */
		{some, 2, true, false, 0},
	};
	struct two t;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		two_make(&t, begun(cases[i].lines, cases[i].n, cases[i].good_lacks), begun(some, 2, cases[i].bad_lacks),
			 NULL);
		CHECK_EQ_UINT(t.v->differs, cases[i].differs);
		two_deinit(&t);
		two_make(&t, begun(some, 2, cases[i].bad_lacks), begun(cases[i].lines, cases[i].n, cases[i].good_lacks),
			 NULL);
		CHECK_EQ_UINT(t.v->differs, cases[i].differs);
		two_deinit(&t);
	}
}

/*
 * An end that differs is a difference of the runs, if the two threads must be the same one: the run with a hole may have more
 * threads of the kind there.
 */
static void test_proof_by_end(void)
{
	static const struct line ends[] = {CREATES(10, 0, 1, Task), MARKS(10, 1), SAYS(11, 1, "request 1"),
					   DOES(20, fulfills, 0, 1)};
	static const struct line waits[] = {
		CREATES(10, 0, 1, Task),
		MARKS(10, 1),
		SAYS(11, 1, "request 1"),
		DOES(20, switch, 0, 0)
	};
	static const struct line both[] = {CREATES(10, 0, 1, Task),  MARKS(10, 1),
					   SAYS(11, 1, "request 1"), CREATES(12, 0, 2, Task),
					   SAYS(13, 2, "request 2"), DOES(20, fulfills, 0, 2)};
	static const struct line none[] = {SAYS(10, 7, "old")};
	static const struct {
		const struct line *lines;
		size_t n;
		bool lacks;
		const struct line *other;
		size_t n_other;
		bool other_lacks;
		uint32_t differs;
	} cases[] = {
		{ends, 4, false, waits, 4, false, 1},
		{ends, 4, true, waits, 4, false, 1},
		{ends, 4, false, waits, 4, true, 1},
		{ends, 4, true, waits, 4, true, 0}, /* each may have one more before its beginning */
		{ends, 4, true, both, 6, false, 0}, /* this is the second thread of the other run */
		{both, 6, false, ends, 4, true, 0},
		{none, 1, true, waits, 4, false, 0}, /* the thread of the other run may be before the beginning */
	};
	struct two t;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		two_make(&t, begun(cases[i].lines, cases[i].n, cases[i].lacks),
			 begun(cases[i].other, cases[i].n_other, cases[i].other_lacks), NULL);
		CHECK(t.v->n_outcomes > 0);
		CHECK_EQ_UINT(t.v->differs, cases[i].differs);
		two_deinit(&t);
	}
}

/* The beginning of a ring cannot hide a step behind one that it has; a gap behind that can. */
static void test_nothing_more(void)
{
	static const struct line more[] = {CREATES(10, 0, 1, Task), SAYS(11, 1, "one"), SAYS(12, 1, "two")};
	const struct mprof_diff_divergence *p;
	struct mprof_model *bad;
	struct two t;

	for (int gap = 0; gap < 2; gap++) {
		bad = begin(1);
		CHECK_EQ_INT(mprof_model_packet(bad, 0, 1), MPROF_OK);
		line_add(bad, 0, &(struct line)DOES(1, switch, 0, 0));
		line_add(bad, 0, &more[0]);
		line_add(bad, 0, &more[1]);
		if (gap)
			CHECK_EQ_INT(mprof_model_gap(bad, 0, 1), MPROF_OK);
		line_add(bad, 0, &(struct line)DOES(900, switch, 0, 0));
		CHECK_EQ_INT(mprof_model_finish(bad), MPROF_OK);
		two_make(&t, begun(more, 3, true), bad, NULL);
		CHECK(t.v->bad_coverage.hole != MPROF_HOLE_NONE);
		if (CHECK_EQ_UINT(t.v->n_divergences, 1)) {
			p = &t.v->divergences[0];
			CHECK_EQ_UINT(p->bad_n, 0);
			CHECK_EQ_UINT(p->bad_unknown, (unsigned)gap);
			CHECK_EQ_UINT(p->good_unknown, 0);
		}
		two_deinit(&t);
	}
}

int main(void)
{
	CHECK_RUN(test_nothing);
	CHECK_RUN(test_missed_signal);
	CHECK_RUN(test_undue);
	CHECK_RUN(test_failures);
	CHECK_RUN(test_becomes_in_one);
	CHECK_RUN(test_slower);
	CHECK_RUN(test_counters);
	CHECK_RUN(test_numbers);
	CHECK_RUN(test_numbers_in_labels);
	CHECK_RUN(test_moved);
	CHECK_RUN(test_other_ids);
	CHECK_RUN(test_ids_used_again);
	CHECK_RUN(test_cut);
	CHECK_RUN(test_short);
	CHECK_RUN(test_circles);
	CHECK_RUN(test_streams);
	CHECK_RUN(test_told);
	CHECK_RUN(test_holes);
	CHECK_RUN(test_beginnings);
	CHECK_RUN(test_proof);
	CHECK_RUN(test_proof_by_end);
	CHECK_RUN(test_nothing_more);
	CHECK_RUN(test_without_memory);
	CHECK_RUN(test_align);
	CHECK_RUN(test_swapped);
	CHECK_RUN(test_many_siblings);
	CHECK_RUN(test_work);
	return check_done();
}
