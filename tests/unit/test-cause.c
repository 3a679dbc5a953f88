/* Causes of ends: one situation each, with other ids, times and numbers in labels. */
#include <mprof/cause.h>

#include "story.h"

#define FIND(lines, base, cause) find(lines, sizeof(lines) / sizeof((lines)[0]), base, cause)

/* Find the cause of LINES with ids that are greater by BASE, and times that are later by it. */
static void find(const struct line *lines, size_t n, int64_t base, struct mprof_cause *cause)
{
	struct story s;

	story_begin(&s);
	for (size_t i = 0; i < n; i++) {
		struct line l = lines[i];

		l.time += (uint64_t)base;
		l.context += l.context < 0 ? 0 : base;
		l.number += l.number < 0 ? 0 : base;
		line_add(s.m, 0, &l);
	}
	story_end(&s);
	CHECK_EQ_INT(mprof_cause_find(s.v, s.w, cause), MPROF_OK);
	CHECK(cause->thread == MPROF_NONE || cause->thread < s.v->n_threads);
	CHECK_EQ_UINT(cause->bytes, strlen(cause->text));
	story_deinit(&s);
}

/* Two threads wait on each other; a third one waits on both, and another one should resolve. */
static void test_deadlock(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 1, Task),	  SAYS(1, 1, "worker 17 at 0x7f00ab"),
		CREATES(2, 0, 2, Task),	  SAYS(2, 2, "lock b"),
		CREATES(3, 0, 3, Task),	  MARKS(3, 3),
		DOES(10, try_read, 1, 2), DOES(11, try_read, 2, 1),
		DOES(12, try_read, 3, 1),
	};
	static const struct line other[] = {
		CREATES(1, 0, 2, Task),	  SAYS(1, 2, "lock b"),
		CREATES(2, 0, 1, Task),	  SAYS(2, 1, "worker 3 at 0xc0ffee"),
		DOES(10, try_read, 2, 1), DOES(15, try_read, 1, 2),
	};
	struct mprof_cause a, b, c;

	FIND(lines, 0, &a);
	CHECK_EQ_INT(a.kind, MPROF_CAUSE_DEADLOCK);
	CHECK_EQ_STR(a.text, "deadlock\nTask lock b\nTask worker # at #");
	FIND(lines, 5000, &b);
	CHECK_EQ_STR(a.text, b.text);
	FIND(other, 77, &c);
	CHECK_EQ_STR(a.text, c.text);
}

/* The cycle that closed first is the cause. */
static void test_two_deadlocks(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 1, Task),	  SAYS(1, 1, "late"),	    CREATES(2, 0, 2, Task),   CREATES(3, 0, 3, Task),
		SAYS(3, 3, "early"),	  CREATES(4, 0, 4, Task),   DOES(10, try_read, 3, 4), DOES(11, try_read, 4, 3),
		DOES(12, try_read, 1, 2), DOES(13, try_read, 2, 1),
	};
	struct mprof_cause a;

	FIND(lines, 0, &a);
	CHECK_EQ_STR(a.text, "deadlock\nTask \nTask early");
}

/* A thread that waits on itself is a cycle of one. */
static void test_itself(void)
{
	static const struct line lines[] = {CREATES(1, 0, 1, Task), SAYS(1, 1, "own"), DOES(10, try_read, 1, 1)};
	struct mprof_cause a;

	FIND(lines, 0, &a);
	CHECK_EQ_STR(a.text, "deadlock\nTask own");
}

static void test_missed(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 9, Condition),
		SAYS(1, 9, "answer"),
		DOES(10, signal, 9, 5),
		DOES(20, signal, 9, 0),
		CREATES(20, 9, 2, Task),
		DOES(21, switch, 0, 0),
		CREATES(22, 0, 1, Bind),
		SAYS(22, 1, "connection 4"),
		MARKS(22, 1),
		DOES(23, try_read, 1, 2),
	};
	struct mprof_cause a, b;

	FIND(lines, 0, &a);
	CHECK_EQ_INT(a.kind, MPROF_CAUSE_MISSED);
	CHECK_EQ_STR(a.text, "missed-wakeup\nsignal\nBind connection #\nTask \nCondition answer");
	FIND(lines, 1000, &b);
	CHECK_EQ_STR(a.text, b.text);
}

/* A failure counts when it came in the last activation, not one that the program survived. */
static void test_failed(void)
{
	static const struct line died[] = {
		CREATES(1, 0, 1, Task),
		SAYS(1, 1, "main"),
		DOES(2, switch, 1, 0),
		{10, MPROF_EVENT_fails, 1, 1, 0, "Not_found at line 12"},
	};
	static const struct line survived[] = {
		CREATES(1, 0, 1, Task),
		SAYS(1, 1, "main"),
		CREATES(1, 0, 2, Task),
		SAYS(1, 2, "next"),
		DOES(2, switch, 1, 0),
		{10, MPROF_EVENT_fails, 1, 1, 0, "Not_found"},
		DOES(11, switch, 2, 0),
		DOES(20, switch, 2, 0),
	};
	struct mprof_cause a;

	FIND(died, 0, &a);
	CHECK_EQ_STR(a.text, "failed\nNot_found at line #\nTask main");
	FIND(survived, 0, &a);
	CHECK_EQ_STR(a.text, "last\nTask next");
}

/* A thread that waits as it always does is a cause only when the program slept. */
static void test_waits(void)
{
	static const struct line asleep[] = {
		CREATES(1, 0, 1, Task),
		SAYS(1, 1, "main"),
		MARKS(1, 1),
		CREATES(2, 0, 2, Task),
		SAYS(2, 2, "timer"),
		DOES(3, try_read, 1, 2),
		DOES(4, switch, 2, 0),
		DOES(9, switch, -1, 0),
	};
	static const struct line awake[] = {
		CREATES(1, 0, 1, Task),
		SAYS(1, 1, "main"),
		MARKS(1, 1),
		CREATES(2, 0, 2, Task),
		SAYS(2, 2, "timer"),
		DOES(3, try_read, 1, 2),
		DOES(4, switch, 2, 0),
		SAYS(9, 2, "tick"),
	};
	struct mprof_cause a;

	FIND(asleep, 0, &a);
	CHECK_EQ_STR(a.text, "waits\nnot resolved\nTask main\nTask timer");
	FIND(awake, 0, &a);
	CHECK_EQ_STR(a.text, "last\nTask timer");
}

static void test_nothing(void)
{
	struct mprof_cause a;

	find(NULL, 0, 0, &a);
	CHECK_EQ_INT(a.kind, MPROF_CAUSE_NONE);
	CHECK(a.thread == MPROF_NONE);
	CHECK_EQ_STR(a.text, "none");
}

/* Texts of any length and bytes stay in their room, on one line each. */
static void test_long(void)
{
	char text[5000];
	struct line lines[60];
	struct mprof_cause a;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[3] = '\n';
	for (int i = 0; i < 20; i++) {
		lines[2 * i] = (struct line)CREATES(1, 0, i + 1, Task);
		lines[2 * i + 1] = (struct line)SAYS(1, i + 1, text);
		lines[40 + i] = (struct line)DOES((uint64_t)i + 5, try_read, i + 1, (i + 1) % 20 + 1);
	}
	FIND(lines, 0, &a);
	CHECK_EQ_INT(a.kind, MPROF_CAUSE_DEADLOCK);
	CHECK(a.bytes < MPROF_CAUSE_BYTES && a.bytes > 800);
	CHECK(strstr(a.text, "\nTask xxx xxx") != NULL);
}

int main(void)
{
	CHECK_RUN(test_deadlock);
	CHECK_RUN(test_two_deadlocks);
	CHECK_RUN(test_itself);
	CHECK_RUN(test_missed);
	CHECK_RUN(test_failed);
	CHECK_RUN(test_waits);
	CHECK_RUN(test_nothing);
	CHECK_RUN(test_long);
	return check_done();
}
