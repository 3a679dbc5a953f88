/*
 * Explanations of waits: models made by hand, one situation each, and hostile models.
 * tests/integration/why.py checks the explanation of the ARP reply and of recorded traces.
 */
#include <stdlib.h>

#include <mprof/explanation.h>

#include "check.h"
#include "scarce.h"
#include "story.h"

static int64_t id_of(const struct story *s, uint32_t i)
{
	return i == MPROF_NONE ? -2 : s->v->threads[i].id;
}

static uint64_t time_of(const struct story *s, uint32_t interaction)
{
	return interaction == MPROF_NONE ? 0 : s->v->interactions[interaction].time;
}

static struct mprof_why_answer ask(const struct story *s, int64_t id)
{
	struct mprof_why_answer a;

	mprof_why_ask(s->w, thread(s, id), &a);
	return a;
}

/* Put the lines of the explanation of thread ID into TEXT, which has SIZE bytes. */
static void explain(const struct story *s, int64_t id, char *text, size_t size)
{
	struct mprof_explanation *e = mprof_explanation_new(s->v, s->w, NULL);
	const struct mprof_explanation_piece *pieces;
	size_t used = 0;
	uint32_t n;

	CHECK_EQ_INT(mprof_explanation_why(e, thread(s, id)), MPROF_OK);
	pieces = mprof_explanation_pieces(e, &n);
	for (uint32_t i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%.*s",
					 i && pieces[i].line != pieces[i - 1].line ? "\n" : "", (int)pieces[i].bytes,
					 mprof_explanation_text(e) + pieces[i].offset);
	mprof_explanation_free(e);
}

/*
 * Thread 1 waits on thread 2. The condition 9 creates thread 2 at 20, after a signal event that
 * says that the wait begins.
 */
#define WAIT_ON_CONDITION \
	CREATES(20, 9, 2, Task), DOES(21, switch, 0, 0), CREATES(22, 0, 1, Bind), MARKS(22, 1), DOES(23, try_read, 1, 2)

static void test_missed_signal(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 9, Condition),
		DOES(10, signal, 9, 5),
		DOES(12, signal, 9, 6),
		DOES(20, signal, 9, 0),
		WAIT_ON_CONDITION,
		DOES(90, switch, 7, 0),
	};
	struct mprof_why_answer a;
	struct story s;

	TELL(&s, lines);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_IDLE_OR_MISSED);
	CHECK_EQ_INT(id_of(&s, a.root), 2);
	CHECK_EQ_INT(id_of(&s, a.condition), 9);
	CHECK_EQ_UINT(a.links, 1);
	CHECK_EQ_UINT(a.since, 20);
	CHECK_EQ_UINT(time_of(&s, a.lost_signal), 12);
	CHECK_EQ_UINT(a.lost_signals, 2);
	CHECK_EQ_UINT(a.signals, 2);
	CHECK_EQ_UINT(a.signals_since, 0);
	CHECK_EQ_UINT(time_of(&s, mprof_why_link(s.w, thread(&s, 1))), 23);
	CHECK_EQ_UINT(mprof_why_link(s.w, thread(&s, 2)), MPROF_NONE);
	story_deinit(&s);
}

/*
 * Thread 1 waits on thread 2. The condition 9 creates thread 2 at 20. No signal event says that the
 * wait begins.
 */
#define WAIT_UNSAID \
	CREATES(20, 9, 2, Task), DOES(21, switch, 4, 0), CREATES(22, 4, 1, Bind), MARKS(22, 1), DOES(23, try_read, 1, 2)

static void check_lost(const struct line *lines, size_t n, uint64_t lost, uint32_t signals,
		       enum mprof_why_verdict verdict)
{
	struct mprof_why_answer a;
	struct story s;

	story_tell(&s, lines, n);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, lost ? verdict : MPROF_WHY_NEVER_SIGNALLED);
	CHECK_EQ_INT(id_of(&s, a.condition), 9);
	CHECK_EQ_UINT(time_of(&s, a.lost_signal), lost);
	CHECK_EQ_UINT(a.lost_signals, signals);
	CHECK_EQ_UINT(a.signals, signals);
	story_deinit(&s);
}

#define CHECK_MISSED(lines, lost, signals) \
	check_lost(lines, sizeof(lines) / sizeof((lines)[0]), lost, signals, MPROF_WHY_MISSED_SIGNAL)
#define CHECK_IDLE(lines, lost, signals) \
	check_lost(lines, sizeof(lines) / sizeof((lines)[0]), lost, signals, MPROF_WHY_IDLE_OR_MISSED)

/*
 * Some recorders write no signal event when a wait begins. Then the last signal before the wait is
 * a wake-up.
 */
static void test_wait_unsaid(void)
{
	static const struct line switched[] = {
		CREATES(1, 0, 9, Condition),
		DOES(10, signal, 9, 5),
		DOES(11, switch, 5, 0),
		DOES(18, switch, 4, 0),
		DOES(19, switch, 9, 0),
		WAIT_UNSAID,
	};
	static const struct line never_switched[] = {
		CREATES(1, 0, 9, Condition),
		DOES(10, signal, 9, 5),
		WAIT_UNSAID,
	};
	static const struct line by_the_waiter[] = {
		CREATES(1, 0, 9, Condition),
		DOES(10, signal, 9, 4),
		DOES(11, switch, 4, 0),
		DOES(19, switch, 9, 0),
		WAIT_UNSAID,
	};
	static const struct line then_said[] = {
		CREATES(1, 0, 9, Condition),
		DOES(10, signal, 9, 4),
		DOES(11, switch, 4, 0),
		DOES(20, signal, 9, 4),
		WAIT_UNSAID,
	};
	static const struct line at_once[] = {
		CREATES(1, 0, 9, Condition),
		DOES(20, signal, 9, 5),
		DOES(20, switch, 4, 0),
		DOES(20, switch, 9, 0),
		WAIT_UNSAID,
	};
	static const struct line fibre[] = {
		CREATES(1, 0, 9, Condition),
		DOES(10, signal_noswitch, 9, 5),
		DOES(19, switch, 9, 0),
		WAIT_UNSAID,
	};
	static const struct line from_before[] = {
		DOES(10, signal, 9, 5),
		DOES(11, switch, 5, 0),
		DOES(19, switch, 9, 0),
		WAIT_UNSAID,
	};

	static const struct line interrupted[] = {
		CREATES(1, 0, 9, Condition),
		DOES(3, signal, 9, 5),
		DOES(4, switch, 5, 0),
		DOES(10, signal, 9, 4),
		CREATES(10, 9, 3, Task),
		DOES(11, switch, 4, 0),
		DOES(12, signal, 9, 5),
		DOES(13, fulfills, 9, 3),
		DOES(13, switch, 5, 0),
		DOES(15, signal, 9, 6),
		DOES(15, switch, 6, 0),
		DOES(19, switch, 9, 0),
		WAIT_UNSAID,
	};
	struct story s;

	CHECK_MISSED(switched, 10, 1);
	CHECK_MISSED(never_switched, 10, 1);
	CHECK_MISSED(by_the_waiter, 10, 1);
	CHECK_MISSED(then_said, 10, 1);
	CHECK_MISSED(at_once, 20, 1);
	CHECK_MISSED(fibre, 10, 1);
	CHECK_IDLE(from_before, 10, 1);
	/* The second of three signals woke a thread, so only the third signal was missed. */
	TELL(&s, interrupted);
	CHECK_EQ_UINT(ask(&s, 1).lost_signals, 1);
	CHECK_EQ_UINT(ask(&s, 1).signals, 3);
	story_deinit(&s);
}

/*
 * The signal event with which a thread begins to wait is no wake-up, even if the trace ends
 * right behind it.
 */
static void test_wait_said(void)
{
	static const struct line looks[] = {
		CREATES(1, 0, 9, Condition),
		DOES(20, signal, 9, 1),
		CREATES(20, 9, 2, Task),
		DOES(21, try_read, 1, 2),
		DOES(22, switch, 7, 0),
	};
	static const struct line looks_of_another[] = {
		CREATES(1, 0, 9, Condition),
		DOES(20, signal, 9, 1),
		CREATES(20, 9, 2, Task),
		DOES(21, try_read, 3, 2),
		DOES(22, switch, 1, 0),
		DOES(23, try_read, 1, 2),
	};
	static const struct line becomes[] = {
		CREATES(1, 0, 9, Condition),
		DOES(20, signal, 9, 3),
		CREATES(20, 9, 2, Task),
		DOES(21, becomes, 3, 1),
		DOES(22, switch, 1, 0),
		DOES(23, try_read, 1, 2),
	};
	static const struct line ends[] = {DOES(1, try_read, 1, 2), CREATES(2, 0, 9, Condition), DOES(20, signal, 9, 4),
					   CREATES(20, 9, 1, Task)};
	static const struct line two[] = {
		CREATES(1, 0, 9, Condition), DOES(10, signal, 9, 3), CREATES(10, 9, 5, Task),
		DOES(12, fulfills, 0, 5),    DOES(20, signal, 9, 4), WAIT_UNSAID,
	};

	CHECK_MISSED(looks, 0, 0);
	CHECK_MISSED(looks_of_another, 0, 0);
	CHECK_MISSED(becomes, 0, 0);
	CHECK_MISSED(ends, 0, 0);
	CHECK_MISSED(two, 0, 0);
}

/* The condition is older than the trace, and its first signal comes while a thread waits. */
static void test_signalled_first_since(void)
{
	static const struct line lines[] = {
		DOES(19, switch, 9, 0),
		WAIT_UNSAID,
		DOES(30, signal, 9, 5),
		DOES(31, switch, 5, 0)
	};
	struct mprof_why_answer a;
	struct story s;

	TELL(&s, lines);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_SIGNALLED_SINCE);
	CHECK_EQ_UINT(time_of(&s, a.first_signal_since), 30);
	story_deinit(&s);
}

/*
 * A signal that woke another thread is not missed, nor is a signal that comes after the wait began.
 */
static void test_signals_that_are_not_missed(void)
{
	static const struct line served[] = {
		CREATES(1, 0, 9, Condition),
		DOES(3, signal, 9, 5),
		DOES(10, signal, 9, 5),
		CREATES(10, 9, 3, Task),
		DOES(12, signal, 9, 6),
		DOES(13, fulfills, 9, 3),
		DOES(20, signal, 9, 0),
		WAIT_ON_CONDITION,
		DOES(90, switch, 7, 0),
	};
	static const struct line later[] = {
		CREATES(1, 0, 9, Condition), DOES(3, signal, 9, 5),  DOES(20, signal, 9, 0),
		WAIT_ON_CONDITION,	     DOES(30, signal, 9, 6), DOES(40, signal, 9, 7),
	};
	static const struct line silent[] = {
		CREATES(1, 0, 9, Condition),
		DOES(20, signal, 9, 0),
		WAIT_ON_CONDITION,
		DOES(90, switch, 7, 0),
	};
	struct mprof_why_answer a;
	struct story s;

	TELL(&s, served);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_NEVER_SIGNALLED);
	CHECK_EQ_UINT(a.signals, 2);
	CHECK_EQ_UINT(time_of(&s, a.last_signal), 12);
	CHECK_EQ_UINT(a.lost_signal, MPROF_NONE);
	CHECK_EQ_INT(id_of(&s, a.similar), 3);
	story_deinit(&s);
	TELL(&s, later);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_SIGNALLED_SINCE);
	CHECK_EQ_UINT(a.signals_since, 2);
	CHECK_EQ_UINT(time_of(&s, a.first_signal_since), 30);
	story_deinit(&s);
	TELL(&s, silent);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_NEVER_SIGNALLED);
	CHECK_EQ_UINT(a.signals, 0);
	story_deinit(&s);
}

/*
 * Several events have the same time: the thread that was woken, the thread that looked, and the
 * later of two threads are still found in the order of the events.
 */
static void test_equal_times(void)
{
	static const struct line served[] = {
		CREATES(1, 0, 9, Condition),
		DOES(10, signal, 9, 5),
		CREATES(10, 9, 3, Task),
		DOES(11, switch, 5, 0),
		DOES(12, signal, 9, 6),
		DOES(12, fulfills, 9, 3),
		DOES(13, switch, 6, 0),
		DOES(19, switch, 9, 0),
		WAIT_UNSAID,
	};
	static const struct line looked[] = {
		CREATES(1, 0, 9, Semaphore),	 CREATES(2, 0, 3, Async),  DOES(10, try_read, 3, 9),
		DOES(10, signal_noswitch, 9, 5), CREATES(20, 0, 1, Async), DOES(25, try_read, 1, 9),
	};
	static const struct line resolved[] = {CREATES(1, 0, 2, Wait), CREATES(3, 0, 4, Bind), DOES(6, fulfills, 0, 2),
					       DOES(6, try_read, 4, 2)};
	static const struct line alike[] = {
		CREATES(1, 8, 2, Wait),	 CREATES(1, 8, 3, Wait),  CREATES(1, 8, 4, Wait),  CREATES(1, 0, 5, Task),
		SAYS(1, 5, "a"),	 CREATES(1, 0, 6, Task),  SAYS(1, 6, "a"),	   CREATES(1, 0, 7, Task),
		SAYS(1, 7, "a"),	 DOES(9, fulfills, 0, 3), DOES(9, fulfills, 0, 2), DOES(9, fulfills, 0, 5),
		DOES(9, fulfills, 0, 6),
	};
	static const struct line ran[] = {
		DOES(1, switch, 1, 0),
		DOES(5, switch, 2, 0),
		DOES(5, switch, 3, 0),
		DOES(5, switch, -1, 0)
	};
	struct story s;

	TELL(&s, served);
	CHECK_EQ_INT(ask(&s, 1).verdict, MPROF_WHY_NEVER_SIGNALLED);
	CHECK_EQ_UINT(ask(&s, 1).signals, 1);
	story_deinit(&s);
	TELL(&s, looked);
	CHECK_EQ_INT(ask(&s, 1).verdict, MPROF_WHY_NEVER_SIGNALLED);
	story_deinit(&s);
	TELL(&s, resolved);
	CHECK_EQ_INT(ask(&s, 4).verdict, MPROF_WHY_MISSED_RESOLVE);
	story_deinit(&s);
	/*
	 * Among threads of one creator, and among threads with one label, the last before the asked
	 * one is similar.
	 */
	TELL(&s, alike);
	CHECK_EQ_INT(id_of(&s, ask(&s, 4).similar), 3);
	CHECK_EQ_INT(id_of(&s, ask(&s, 7).similar), 6);
	story_deinit(&s);
	TELL(&s, ran);
	CHECK_EQ_INT(id_of(&s, s.v->activations[mprof_why_last(s.w, 0, true)].thread), 3);
	story_deinit(&s);
}

/*
 * A condition older than the trace has no type. mprof_why_ask recognises it by its signals. Before the trace another thread may
 * have waited for it, so no wake-up is surely missed.
 */
static void test_condition_from_before(void)
{
	static const struct line lines[] = {
		DOES(10, signal, 9, 5),
		DOES(20, signal, 9, 0),
		WAIT_ON_CONDITION,
		DOES(90, switch, 7, 0),
	};
	struct mprof_why_answer a;
	struct story s;

	TELL(&s, lines);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_IDLE_OR_MISSED);
	CHECK_EQ_INT(id_of(&s, a.condition), 9);
	story_deinit(&s);
}

/* A fibre reads the condition itself; no other thread represents the wait. */
static void test_looked_at_itself(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 9, Semaphore),
		DOES(10, signal_noswitch, 9, 5),
		CREATES(20, 0, 1, Async),
		DOES(25, try_read, 1, 9),
		DOES(90, switch, 7, 0),
	};
	struct mprof_why_answer a;
	struct story s;

	TELL(&s, lines);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_IDLE_OR_MISSED);
	CHECK_EQ_INT(id_of(&s, a.root), 9);
	CHECK_EQ_INT(id_of(&s, a.condition), 9);
	CHECK_EQ_UINT(a.since, 25);
	story_deinit(&s);
}

/*
 * A signal reaches a thread that waits for it. Another thread begins to wait later: the answer must
 * not say that it missed that signal.
 */
static void test_looked_for_by_another(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 9, Semaphore),	 CREATES(2, 0, 3, Async),  DOES(5, try_read, 3, 9),
		DOES(10, signal_noswitch, 9, 5), CREATES(20, 0, 1, Async), DOES(25, try_read, 1, 9),
	};
	struct story s;

	TELL(&s, lines);
	CHECK_EQ_INT(ask(&s, 1).verdict, MPROF_WHY_NEVER_SIGNALLED);
	story_deinit(&s);
}

/*
 * A semaphore keeps a signal that no thread waited for. A thread that the semaphore itself resolves
 * takes one.
 */
#define TAKES(time, id) CREATES(time, 9, id, Wait), DOES((time) + 1, switch, 9, 0), DOES((time) + 2, fulfills, 9, id)

static void test_semaphore_keeps_signals(void)
{
	static const struct line taken[] = {
		CREATES(1, 0, 9, Semaphore),
		DOES(5, signal_noswitch, 9, 5),
		DOES(6, signal_noswitch, 9, 6),
		TAKES(7, 20),
		TAKES(11, 21),
		WAIT_UNSAID,
		DOES(90, switch, 7, 0),
	};
	static const struct line one_left[] = {
		CREATES(1, 0, 9, Semaphore),
		TAKES(2, 20), /* the semaphore began with a count of 1 */
		DOES(5, signal_noswitch, 9, 5),
		DOES(6, signal_noswitch, 9, 6),
		TAKES(7, 21),
		WAIT_UNSAID,
		TAKES(40, 22), /* too late for the wait */
		DOES(90, switch, 7, 0),
	};
	struct mprof_why_answer a;
	struct story s;

	TELL(&s, taken);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_NEVER_SIGNALLED);
	CHECK_EQ_UINT(a.lost_signal, MPROF_NONE);
	CHECK_EQ_UINT(a.lost_signals, 0);
	CHECK_EQ_UINT(a.signals, 2);
	story_deinit(&s);

	TELL(&s, one_left);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_IDLE_OR_MISSED);
	CHECK_EQ_UINT(time_of(&s, a.lost_signal), 6);
	CHECK_EQ_UINT(a.lost_signals, 1);
	story_deinit(&s);
}

/*
 * If a thread was woken through the condition before, this one or another worker may have seen what the last signal
 * was for: the thread that waits is idle, or has missed that signal.
 */
static void test_woken_before(void)
{
#define WOKEN(reader)                                                                                    \
	CREATES(1, 0, 9, Condition), CREATES(2, 0, 1, Task), MARKS(2, 1), CREATES(3, 9, 20, Task),       \
		DOES(4, try_read, reader, 20), DOES(5, signal_noswitch, 9, 5), DOES(6, fulfills, 5, 20), \
		DOES(7, read, reader, 20), DOES(10, signal_noswitch, 9, 5), DOES(12, signal_noswitch, 9, 6)
	static const struct line itself[] = {WOKEN(1), CREATES(20, 9, 2, Task), DOES(23, try_read, 1, 2)};
	static const struct line another[] = {WOKEN(3), CREATES(20, 9, 2, Task), DOES(23, try_read, 1, 2)};
	struct mprof_why_answer a;
	char text[2000];
	struct story s;

	TELL(&s, itself);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_IDLE_OR_MISSED);
	CHECK_EQ_UINT(time_of(&s, a.lost_signal), 12);
	CHECK_EQ_UINT(a.lost_signals, 2);
	explain(&s, 1, text, sizeof(text));
	CHECK(strstr(text,
		     "\nidle, or missed: the last 2 signals, the last one by 6 (Unknown) at 0.000000012, came while "
		     "nobody waited for them. The trace does not say whether 1 (Task) has seen what they were "
		     "for."));
	CHECK(!strstr(text, "missed wake-up"));
	story_deinit(&s);
	TELL(&s, another);
	CHECK_EQ_INT(ask(&s, 1).verdict, MPROF_WHY_IDLE_OR_MISSED);
	story_deinit(&s);
#undef WOKEN
}

/* A lock whose holder the trace names: the holder waits, has ended, or is the waiting thread itself. */
static void test_holders(void)
{
#define HELD(holder)                                                                          \
	CREATES(1, 0, 1, Task), CREATES(1, 0, 3, Task), CREATES(2, 0, 9, Mutex), MARKS(3, 1), \
		DOES(10, try_read, 9, holder), DOES(10, try_read, 1, 9)
	static const struct line waits[] = {HELD(3), CREATES(20, 3, 4, Wait), DOES(21, try_read, 3, 4)};
	static const struct line ended[] = {HELD(3), DOES(12, fulfills, 3, 3)};
	static const struct line released[] = {HELD(3), DOES(12, fulfills, 3, 3), DOES(13, read_later, 9, 3)};
	static const struct line itself[] = {HELD(1)};
	struct mprof_why_answer a;
	char text[2000];
	struct story s;

	TELL(&s, waits);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_NEVER_RESOLVED);
	CHECK_EQ_INT(id_of(&s, a.held), 9);
	CHECK_EQ_INT(id_of(&s, a.holder), 3);
	explain(&s, 1, text, sizeof(text));
	CHECK(strstr(text, "  waits on 9 (Mutex)\n  0.000000010  which is held by 3 (Task)\n"));
	story_deinit(&s);
	TELL(&s, ended);
	CHECK_EQ_INT(ask(&s, 1).verdict, MPROF_WHY_HOLDER_ENDED);
	explain(&s, 1, text, sizeof(text));
	CHECK(strstr(text,
		     "\n9 (Mutex) is not released: its holder 3 (Task) ended at 0.000000012 without releasing it."));
	story_deinit(&s);
	TELL(&s, released);
	CHECK_EQ_INT(ask(&s, 1).verdict, MPROF_WHY_NEVER_SIGNALLED);
	CHECK_EQ_UINT(ask(&s, 1).holder, MPROF_NONE);
	story_deinit(&s);
	TELL(&s, itself);
	a = ask(&s, 1);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_CYCLE);
	CHECK_EQ_INT(id_of(&s, a.holder), 1);
	explain(&s, 1, text, sizeof(text));
	CHECK(strstr(text, "\ndeadlock: 1 (Task) waits for itself: it holds 9 (Mutex) already."));
	story_deinit(&s);
#undef HELD
}

/*
 * A similar thread has the same label and was resolved by another thread. If a thread has no label,
 * a thread of the same creator and type is similar.
 */
static void test_likes(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 2, Task),	    SAYS(1, 2, "sleep"),     CREATES(2, 0, 3, Task),  SAYS(2, 3, "sleep"),
		CREATES(3, 0, 4, Task),	    SAYS(3, 4, "sleep"),     CREATES(4, 0, 5, Task),  SAYS(4, 5, "else"),
		CREATES(5, 8, 6, Wait),	    CREATES(5, 8, 7, Wait),  CREATES(5, 8, 10, Task), CREATES(5, 8, 11, Wait),
		DOES(6, fulfills, 9, 2),    DOES(7, fulfills, 3, 3), DOES(8, fulfills, 9, 6), DOES(9, fulfills, 9, 10),
		DOES(10, fulfills, 11, 11),
	};
	struct story s;

	TELL(&s, lines);
	CHECK_EQ_INT(id_of(&s, ask(&s, 4).similar), 2);
	CHECK_EQ_UINT(ask(&s, 5).similar, MPROF_NONE);
	CHECK_EQ_INT(id_of(&s, ask(&s, 7).similar), 6);
	story_deinit(&s);
}

static void test_resolutions(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 2, Wait),
		CREATES(2, 0, 3, Wait),
		CREATES(3, 0, 4, Bind),
		DOES(5, fulfills, 0, 2),
		DOES(6, try_read, 4, 2),
		CREATES(7, 0, 5, Bind),
		DOES(8, try_read, 5, 3),
		DOES(9, fulfills, 0, 3),
		CREATES(10, 0, 6, Bind),
		DOES(11, try_read, 6, 3),
		DOES(12, read, 6, 3),
		CREATES(13, 0, 7, Bind),
		DOES(14, fulfills, 0, 7),
		DOES(20, switch, 0, 0),
	};
	struct mprof_why_answer a;
	struct story s;

	TELL(&s, lines);
	CHECK_EQ_INT(ask(&s, 4).verdict, MPROF_WHY_MISSED_RESOLVE);
	CHECK_EQ_INT(ask(&s, 5).verdict, MPROF_WHY_NOT_WOKEN);
	CHECK_EQ_INT(ask(&s, 7).verdict, MPROF_WHY_RESOLVED);
	a = ask(&s, 6);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_NEVER_RESOLVED);
	CHECK_EQ_UINT(a.links, 0);
	CHECK_EQ_INT(id_of(&s, a.root), 6);
	story_deinit(&s);
}

/*
 * A join waits on its unresolved parts. A thread that became another waits on what the other waits
 * on.
 */
static void test_joins_and_becomes(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 2, Task),	  CREATES(1, 0, 3, Task),   CREATES(1, 0, 4, Task),  CREATES(2, 0, 5, Join),
		DOES(3, try_read, 5, 2),  DOES(3, try_read, 5, 3),  DOES(3, try_read, 5, 4), CREATES(4, 0, 6, Bind),
		DOES(5, try_read, 6, 5),  DOES(6, fulfills, 0, 2),  DOES(7, read, 5, 2),     DOES(8, fulfills, 0, 4),
		CREATES(9, 0, 7, Bind),	  DOES(10, try_read, 7, 6), DOES(11, becomes, 6, 7), CREATES(12, 0, 8, Bind),
		DOES(13, try_read, 8, 6),
	};
	struct mprof_why_answer a;
	struct story s;

	TELL(&s, lines);
	a = ask(&s, 5);
	CHECK_EQ_INT(id_of(&s, a.root), 3);
	CHECK_EQ_UINT(a.links, 1);
	/* Thread 6 became thread 7, and thread 7 waits on thread 6: it waits on itself. */
	CHECK_EQ_INT(id_of(&s, mprof_why_final(s.w, thread(&s, 6))), 7);
	a = ask(&s, 6);
	CHECK_EQ_INT(id_of(&s, a.thread), 7);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_CYCLE);
	CHECK_EQ_UINT(a.links, 0);
	CHECK_EQ_UINT(a.cycle, 1);
	a = ask(&s, 8);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_CYCLE);
	CHECK_EQ_UINT(a.links, 1);
	CHECK_EQ_INT(id_of(&s, a.root), 7);
	story_deinit(&s);
}

/* A becomes B, and B becomes C. */
static void test_finals(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 1, Bind),	 CREATES(1, 0, 2, Bind), CREATES(1, 0, 3, Bind), CREATES(1, 0, 4, Bind),
		DOES(2, try_read, 4, 1), DOES(3, becomes, 1, 2), DOES(4, becomes, 2, 3),
	};
	struct story s;

	TELL(&s, lines);
	CHECK_EQ_UINT(mprof_why_final(s.w, thread(&s, 1)), thread(&s, 3));
	CHECK_EQ_UINT(mprof_why_final(s.w, thread(&s, 2)), thread(&s, 3));
	CHECK_EQ_INT(id_of(&s, ask(&s, 1).thread), 3);
	CHECK_EQ_INT(id_of(&s, ask(&s, 4).root), 3);
	story_deinit(&s);
}

static void test_circle(void)
{
	static const struct line lines[] = {
		DOES(1, try_read, 4, 5), DOES(2, try_read, 1, 2), DOES(3, try_read, 2, 3),
		DOES(4, try_read, 3, 1), DOES(5, try_read, 5, 2), DOES(6, try_read, 6, 3),
	};
	struct mprof_why_answer a;
	struct story s;
	int64_t id;

	TELL(&s, lines);
	for (id = 1; id <= 6; id++) {
		uint32_t t, i;

		a = ask(&s, id);
		CHECK_EQ_INT(a.verdict, MPROF_WHY_CYCLE);
		CHECK_EQ_UINT(a.cycle, 3);
		for (t = a.thread, i = 0; i < a.links; i++)
			t = mprof_why_final(s.w, s.v->interactions[mprof_why_link(s.w, t)].other);
		CHECK_EQ_UINT(t, a.root);
	}
	story_deinit(&s);
}

static void test_labels_and_last(void)
{
	static const struct line lines[] = {
		DOES(1, switch, 1, 0),
		SAYS(2, 1, "first"),
		SAYS(5, 1, "second"),
		DOES(6, switch, 2, 0),
		SAYS(7, 2, "other"),
		DOES(9, switch, -1, 0),
		DOES(20, gc, 0, 1),
	};
	struct story s;
	uint32_t one;

	TELL(&s, lines);
	one = thread(&s, 1);
	CHECK_EQ_UINT(s.v->labels[mprof_why_label(s.w, one, 0)].time, 2);
	CHECK_EQ_UINT(s.v->labels[mprof_why_label(s.w, one, 4)].time, 2);
	CHECK_EQ_UINT(s.v->labels[mprof_why_label(s.w, one, 5)].time, 5);
	CHECK_EQ_UINT(s.v->labels[mprof_why_label(s.w, one, UINT64_MAX)].time, 5);
	CHECK_EQ_UINT(mprof_why_label(s.w, s.v->streams[0].root, 5), MPROF_NONE);
	CHECK_EQ_INT(id_of(&s, s.v->activations[mprof_why_last(s.w, 0, true)].thread), 2);
	CHECK_EQ_INT(id_of(&s, s.v->activations[mprof_why_last(s.w, 0, false)].thread), -1);
	story_deinit(&s);
}

/* Events that were published a little late are of a clock that did not go back: their times say what ran last. */
static void test_last_of_late_events(void)
{
	static const struct line lines[] = {
		DOES(1000000000, switch, 1, 0),
		DOES(1020000000, switch, -1, 0),
		DOES(1017000000, switch, 2, 0),
		DOES(1018000000, switch, -1, 0),
		DOES(1030000000, gc, 0, 1),
	};
	static const struct line back[] = {
		DOES(8000000000, switch, 1, 0),
		DOES(9000000000, switch, -1, 0),
		DOES(1000000000, switch, 2, 0),
		DOES(1100000000, switch, -1, 0),
		DOES(1200000000, gc, 0, 1),
	};
	struct story s;

	TELL(&s, lines);
	CHECK_EQ_INT(id_of(&s, s.v->activations[mprof_why_last(s.w, 0, true)].thread), 1);
	story_deinit(&s);
	TELL(&s, back);
	CHECK_EQ_INT(id_of(&s, s.v->activations[mprof_why_last(s.w, 0, true)].thread), 2);
	story_deinit(&s);
}

static void test_empty(void)
{
	struct story s;

	story_begin(&s);
	story_end(&s);
	CHECK_EQ_UINT(mprof_why_last(s.w, 0, false), MPROF_NONE);
	CHECK_EQ_UINT(mprof_why_last(s.w, 0, true), MPROF_NONE);
	CHECK_EQ_INT(ask(&s, -1).verdict, MPROF_WHY_NEVER_RESOLVED);
	story_deinit(&s);
	CHECK(mprof_why_free(NULL) == NULL);
}

/*
 * Half a million threads that each wait on the next, and a chain whose last thread waits on the
 * first: all can be explained in linear time.
 */
static void test_long_chains(void)
{
	enum { LONG = 500000 };
	struct mprof_why_answer a;
	struct story s;
	int64_t i;

	story_begin(&s);
	for (i = 0; i < LONG; i++)
		line_add(s.m, 0, &(struct line)DOES((uint64_t)i + 1, try_read, i, i + 1));
	story_end(&s);
	a = ask(&s, 0);
	CHECK_EQ_UINT(a.links, LONG);
	CHECK_EQ_INT(id_of(&s, a.root), LONG);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_NEVER_RESOLVED);
	story_deinit(&s);
	story_begin(&s);
	for (i = 0; i < LONG; i++)
		line_add(s.m, 0, &(struct line)DOES((uint64_t)i + 1, try_read, i, (i + 1) % LONG));
	story_end(&s);
	a = ask(&s, 77);
	CHECK_EQ_INT(a.verdict, MPROF_WHY_CYCLE);
	CHECK_EQ_UINT(a.cycle, LONG);
	story_deinit(&s);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (*state * 0x2545f4914f6cdd1dull) >> 33;
}

/* Check the answer for each thread of a random trace: the chain of the answer leads to its root. */
static void check_answers(const struct story *s)
{
	struct mprof_why_answer a;
	uint32_t i, k, t;

	for (i = 0; i < s->v->n_threads; i++) {
		mprof_why_ask(s->w, i, &a);
		for (t = a.thread, k = 0; k < a.links; k++)
			t = mprof_why_final(s->w, s->v->interactions[mprof_why_link(s->w, t)].other);
		CHECK_EQ_UINT(t, a.root);
		CHECK((a.verdict == MPROF_WHY_CYCLE || a.since_coverage.hole != MPROF_HOLE_NONE) >= (a.cycle > 0));
		CHECK((a.verdict == MPROF_WHY_CYCLE) <= (a.cycle > 0));
		CHECK((a.verdict == MPROF_WHY_MISSED_SIGNAL) <= (a.lost_signal != MPROF_NONE));
		for (k = 0; k < a.cycle; k++)
			t = mprof_why_final(s->w, s->v->interactions[mprof_why_link(s->w, t)].other);
		CHECK_EQ_UINT(t, a.root);
	}
}

/*
 * Check that each signal that is flagged as the begin of a wait made its receiver create a thread.
 */
static void check_flags(const struct story *s)
{
	uint32_t i, k;

	for (i = 0; i < s->v->n_interactions; i++) {
		const struct mprof_interaction *it = &s->v->interactions[i];

		if (!it->flags)
			continue;
		CHECK_EQ_UINT(it->kind, MPROF_INTERACTION_SIGNAL);
		for (k = 0; k < s->v->n_threads && s->v->threads[k].creator != it->other;)
			k++;
		CHECK(k < s->v->n_threads);
	}
}

static void test_nonsense(void)
{
	static const uint8_t ids[] = {
		MPROF_EVENT_creates,  MPROF_EVENT_read,	  MPROF_EVENT_fulfills,	  MPROF_EVENT_becomes,
		MPROF_EVENT_try_read, MPROF_EVENT_signal, MPROF_EVENT_read_later, MPROF_EVENT_switch,
	};
	uint64_t random = 88172645463325252u;
	struct story s;
	int round, i;

	for (round = 0; round < 200; round++) {
		story_begin(&s);
		for (i = 0; i < 300; i++) {
			struct line l = {
				.time = random_next(&random) % 500,
				.id = ids[random_next(&random) % sizeof(ids)],
				.context = (int64_t)(random_next(&random) % 40) - 1,
				.number = (int64_t)(random_next(&random) % 40) - 1,
				.type = (uint8_t)(random_next(&random) % 22),
			};

			line_add(s.m, 0, &l);
		}
		story_end(&s);
		check_answers(&s);
		check_flags(&s);
		story_deinit(&s);
	}
}

/*
 * A program that waits on conditions, wakes threads and resolves threads at random. One recorder
 * writes a signal event for each wait, another writes none. The test compares every answer with the
 * program's own list of wake-ups.
 */
enum { CONDITIONS = 3, WAITS = 40, WAKES = 60 };

struct program {
	struct story s;
	uint64_t random, now;
	uint64_t wakes[CONDITIONS][WAKES]; /* times of the wake-up signals of each condition */
	uint32_t n_wakes[CONDITIONS];
	struct {
		uint64_t since;
		int condition;
		bool resolved;
	} waits[WAITS];
	uint32_t n_waits;
};

/*
 * Record an event. The threads that run have the ids 1 to 5, conditions 10 and up, threads that are
 * waited on 100 and up, and threads that read them 200 and up.
 */
static void program_does(struct program *p, uint8_t id, int64_t context, int64_t number, uint8_t type)
{
	line_add(p->s.m, 0, &(struct line){p->now, id, context, number, type, NULL});
	p->now += random_next(&p->random) % 3;
}

static void program_wait(struct program *p, bool said)
{
	int64_t waiter = 1 + (int64_t)(random_next(&p->random) % 5);
	int condition = (int)(random_next(&p->random) % CONDITIONS);

	program_does(p, MPROF_EVENT_switch, waiter, 0, 0);
	if (said)
		program_does(p, MPROF_EVENT_signal, 10 + condition, waiter, 0);
	else
		program_does(p, MPROF_EVENT_switch, 10 + condition, 0, 0);
	p->waits[p->n_waits].since = p->now;
	p->waits[p->n_waits].condition = condition;
	program_does(p, MPROF_EVENT_creates, 10 + condition, 100 + p->n_waits, MPROF_THREAD_Task);
	program_does(p, MPROF_EVENT_switch, waiter, 0, 0);
	program_does(p, MPROF_EVENT_creates, waiter, 200 + p->n_waits, MPROF_THREAD_Bind);
	program_does(p, MPROF_EVENT_try_read, 200 + p->n_waits, 100 + p->n_waits, 0);
	p->n_waits++;
}

static void program_wake(struct program *p)
{
	int64_t sender = 1 + (int64_t)(random_next(&p->random) % 5);
	int condition = (int)(random_next(&p->random) % CONDITIONS);
	uint32_t i;

	program_does(p, MPROF_EVENT_switch, sender, 0, 0);
	p->wakes[condition][p->n_wakes[condition]++] = p->now;
	program_does(p, MPROF_EVENT_signal, 10 + condition, sender, 0);
	for (i = 0; i < p->n_waits; i++) {
		if (p->waits[i].condition != condition || p->waits[i].resolved || random_next(&p->random) % 3)
			continue;
		p->waits[i].resolved = true;
		program_does(p, MPROF_EVENT_fulfills, 10 + condition, 100 + i, 0);
	}
	/* Some recorders write a switch when the sender continues. */
	if (random_next(&p->random) % 2)
		program_does(p, MPROF_EVENT_switch, sender, 0, 0);
}

static void program_check(struct program *p, uint32_t i)
{
	struct mprof_why_answer a = ask(&p->s, 200 + i);
	const uint64_t *wakes = p->wakes[p->waits[i].condition];
	uint32_t n = p->n_wakes[p->waits[i].condition], before = 0;

	while (before < n && wakes[before] <= p->waits[i].since)
		before++;
	CHECK_EQ_INT(id_of(&p->s, a.root), 100 + i);
	CHECK_EQ_UINT(a.signals, n);
	CHECK_EQ_UINT(a.signals_since, n - before);
	CHECK_EQ_UINT(time_of(&p->s, a.last_signal), n ? wakes[n - 1] : 0);
	CHECK_EQ_UINT(time_of(&p->s, a.first_signal_since), before < n ? wakes[before] : 0);
	CHECK((a.verdict == MPROF_WHY_SIGNALLED_SINCE) == (before < n));
	CHECK((a.verdict == MPROF_WHY_MISSED_SIGNAL) <= (before == n && before > 0));
	if (a.lost_signal != MPROF_NONE)
		CHECK_EQ_UINT(time_of(&p->s, a.lost_signal), wakes[before - 1]);
	CHECK(a.verdict == MPROF_WHY_SIGNALLED_SINCE || a.verdict == MPROF_WHY_MISSED_SIGNAL ||
	      a.verdict == MPROF_WHY_NEVER_SIGNALLED || a.verdict == MPROF_WHY_IDLE_OR_MISSED);
}

static bool says(const char *text, size_t bytes, const char *words)
{
	return memmem(text, bytes, words, strlen(words)) != NULL;
}

/*
 * The explanation of a resolved thread says what it waited for longest, what that waited for, and so
 * on. Threads that read each other in turns are not told without end.
 */
static void test_waited(void)
{
	static const struct line lines[] = {
		CREATES(1000, 0, 2, Task),   CREATES(2000, 2, 3, Try),	  CREATES(3000, 3, 4, Task),
		DOES(5000, fulfills, 4, 4),  DOES(5000, read, 3, 4),	  CREATES(6000, 3, 5, Task),
		DOES(50000, fulfills, 5, 5), DOES(50000, read, 3, 5),	  DOES(60000, fulfills, 3, 3),
		DOES(60000, read, 2, 3),     DOES(61000, fulfills, 2, 2), CREATES(62000, 0, 6, Task),
		CREATES(62000, 0, 7, Task),  DOES(63000, read, 6, 7),	  DOES(64000, read, 7, 6),
		DOES(65000, read, 6, 7),     DOES(66000, read, 7, 6),	  DOES(67000, fulfills, 6, 6),
		DOES(67000, fulfills, 7, 7),
	};
	static const char *const told = "  waited longest for 3 (Try), for 59.000 µs, up to 0.000060000\n"
					"  which waited longest for 5 (Task), for 45.000 µs, up to 0.000050000\n"
					"  was resolved by 2 (Task)";
	const struct mprof_explanation_piece *pieces;
	struct mprof_explanation *e;
	uint32_t n, i, waits = 0;
	char text[2000] = "";
	struct story s;

	TELL(&s, lines);
	e = mprof_explanation_new(s.v, s.w, NULL);
	CHECK_EQ_INT(mprof_explanation_why(e, thread(&s, 2)), MPROF_OK);
	pieces = mprof_explanation_pieces(e, &n);
	for (i = 0; i < n; i++) {
		if (i && pieces[i].line != pieces[i - 1].line)
			strcat(text, "\n");
		strncat(text, mprof_explanation_text(e) + pieces[i].offset, pieces[i].bytes);
	}
	CHECK(strstr(text, told) != NULL);
	CHECK_EQ_INT(mprof_explanation_why(e, thread(&s, 7)), MPROF_OK);
	pieces = mprof_explanation_pieces(e, &n);
	for (i = 0; i < n; i++)
		waits += says(mprof_explanation_text(e) + pieces[i].offset, pieces[i].bytes, "waited longest");
	CHECK(waits >= 2 && waits <= 8);
	mprof_explanation_free(e);
	story_deinit(&s);
}

/* One signal is one, and two are two. */
static void test_numbers_of_signals(void)
{
	static const struct line once[] = {
		CREATES(1, 0, 9, Condition),
		DOES(19, switch, 9, 0),
		WAIT_UNSAID,
		DOES(30, signal, 9, 5),
		DOES(31, switch, 5, 0)
	};
	static const struct line twice[] = {
		CREATES(1, 0, 9, Condition),
		DOES(19, switch, 9, 0),
		WAIT_UNSAID,
		DOES(30, signal, 9, 5),
		DOES(31, switch, 5, 0),
		DOES(40, signal, 9, 5),
	};
	char text[2000];
	struct story s;

	TELL(&s, once);
	explain(&s, 1, text, sizeof(text));
	CHECK(strstr(text, ". Signalled once since, by 5 (Unknown) at 0.000000030, it was still not resolved."));
	story_deinit(&s);
	TELL(&s, twice);
	explain(&s, 1, text, sizeof(text));
	CHECK(strstr(text, ". Signalled 2 times since, the first time by 5 (Unknown) at 0.000000030, it was still not "
			   "resolved."));
	story_deinit(&s);
}

/* Tell the N lines LINES, with a missing packet before line GAP. */
static void tell_with_gap(struct story *s, const struct line *lines, size_t n, size_t gap)
{
	story_begin(s);
	for (size_t i = 0; i < n; i++) {
		if (i == gap)
			CHECK_EQ_INT(mprof_model_gap(s->m, 0, 1), MPROF_OK);
		line_add(s->m, 0, &lines[i]);
	}
	story_end(s);
}

/* Check that the explanation of thread 1 says WORDS, and not DENIED, when a packet is missing before line GAP. */
static void check_gap(const struct line *lines, size_t n, size_t gap, const char *words, const char *denied)
{
	char text[2000];
	struct story s;

	tell_with_gap(&s, lines, n, gap);
	explain(&s, 1, text, sizeof(text));
	CHECK(strstr(text, words));
	CHECK(!strstr(text, denied));
	CHECK(ask(&s, 1).since_coverage.hole == MPROF_HOLE_GAP);
	story_deinit(&s);
	story_tell(&s, lines, n);
	explain(&s, 1, text, sizeof(text));
	CHECK(strstr(text, denied));
	story_deinit(&s);
}

#define CHECK_GAP(lines, ...) check_gap(lines, sizeof(lines) / sizeof((lines)[0]), __VA_ARGS__)

/* The end of a wait may be in a missing packet: a run of the thread, a release by a holder that ended, a resolution. */
static void test_gaps(void)
{
	static const struct line not_woken[] = {
		CREATES(1, 0, 2, Task),
		CREATES(2, 0, 1, Task),
		CREATES(3, 0, 3, Task),
		MARKS(3, 1),
		DOES(5, try_read, 3, 2),
		DOES(6, read, 3, 2),
		DOES(9, try_read, 1, 2),
		DOES(10, fulfills, 3, 2),
		DOES(20, switch, 3, 0),
	};
	static const struct line holder[] = {
		CREATES(1, 0, 1, Task),
		CREATES(1, 0, 3, Task),
		CREATES(2, 0, 9, Mutex),
		MARKS(3, 1),
		DOES(10, try_read, 9, 3),
		DOES(10, try_read, 1, 9),
		DOES(12, fulfills, 3, 3),
		DOES(13, switch, 4, 0),
	};
	static const struct line signalled[] = {
		CREATES(1, 0, 9, Condition),
		CREATES(1, 0, 1, Task),
		MARKS(1, 1),
		CREATES(20, 9, 2, Task),
		DOES(23, try_read, 1, 2),
		DOES(30, signal_noswitch, 9, 5),
		DOES(40, switch, 5, 0),
	};

	CHECK_GAP(
		not_woken, 8,
		"2 (Task) was resolved by 3 (Task) at 0.000000010, and the trace has no run of what waits on it since "
		"then. It would not be here: the trace lacks packets from 0.000000010 to 0.000000020.",
		"has not run since");
	CHECK_GAP(holder, 6,
		  "3 (Task) was resolved by 3 (Task) at 0.000000012, and the trace has no release of 9 (Mutex). It "
		  "would not be "
		  "here: the trace lacks packets from 0.000000010 to 0.000000012.",
		  "without releasing it");
	static const struct line cycle[] = {
		CREATES(100, 0, 1, Task),
		CREATES(100, 0, 2, Task),
		MARKS(101, 1),
		DOES(102, try_read, 1, 2),
		DOES(103, try_read, 2, 1),
		DOES(110, switch, 5, 0),
	};

	CHECK_GAP(cycle, 5, "would not be here: the trace lacks packets from 0.000000103 to 0.000000110.", "deadlock");
	CHECK_GAP(signalled, 6,
		  "Signalled once since, by 5 (Unknown) at 0.000000030, and the trace has no resolution of it. It "
		  "would not "
		  "be here: the trace lacks packets from 0.000000030 to 0.000000040.",
		  "it was still not resolved");
}

/* Add another ring to the program of S, and LINES to its end. */
static void add_ring(struct story *s, const struct line *lines, size_t n)
{
	uint32_t stream;

	CHECK_EQ_INT(mprof_model_stream(s->m, &(struct mprof_model_source){0}, &stream), MPROF_OK);
	for (size_t i = 0; i < n; i++)
		line_add(s->m, stream, &lines[i]);
}

/* If a clock went back, the order of several rings is unknown: a cycle is no deadlock. One ring has its order. */
static void test_cycle_back(void)
{
	static const struct line lines[] = {
		CREATES(100, 0, 1, Task),
		CREATES(100, 0, 2, Task),
		MARKS(101, 1),
		DOES(102, try_read, 1, 2),
		DOES(103, try_read, 2, 1),
		DOES(90, switch, 5, 0),
	};
	static const struct line other[] = { DOES(95, switch, 6, 0) };
	char text[2000];
	struct story s;

	TELL(&s, lines);
	CHECK_EQ_INT(ask(&s, 1).verdict, MPROF_WHY_CYCLE);
	explain(&s, 1, text, sizeof(text));
	CHECK(strstr(text, "thread 1 (Task) should resolve and never did\n"));
	story_deinit(&s);
	/* A packet that is missing behind the step may have an earlier time than the cycle. */
	story_begin(&s);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		line_add(s.m, 0, &lines[i]);
	CHECK_EQ_INT(mprof_model_gap(s.m, 0, 1), MPROF_OK);
	line_add(s.m, 0, &(struct line)DOES(95, gc, 0, 1));
	story_end(&s);
	CHECK_EQ_INT(ask(&s, 1).verdict, MPROF_WHY_NEVER_RESOLVED);
	CHECK_EQ_STR(mprof_hole_name(ask(&s, 1).since_coverage.hole), "clock");
	story_deinit(&s);
	story_begin(&s);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		line_add(s.m, 0, &lines[i]);
	add_ring(&s, other, 1);
	story_end(&s);
	CHECK_EQ_INT(ask(&s, 1).verdict, MPROF_WHY_NEVER_RESOLVED);
	explain(&s, 1, text, sizeof(text));
	CHECK(!strstr(text, "deadlock"));
	CHECK(strstr(text,
		     "and the trace has no resolution of it. Another resolution would not be here: the clock of a "
		     "ring went back from 0.000000103 to 0.000000090."));
	story_deinit(&s);
}

/* Declare the flags of a recorder that gives each thread its ring. */
static void declare(struct story *s, uint32_t stream)
{
	const unsigned flags = MPROF_DECLARES_KINDS | MPROF_WRITES_WAKES | MPROF_WRITES_STOPS | MPROF_WRITES_ENDS;
	struct mprof_raw_event e = {
		.id = MPROF_EVENT_extra, .type = MPROF_EXTRA_RECORDER, .number = (int64_t)(257 | flags << 16)};

	CHECK_EQ_INT(mprof_model_add(s->m, stream, &e), MPROF_OK);
}

/* The threads 1 and 2 wait for each other's lock, each in its ring, and a third thread has a ring, too. LATE lacks a packet. */
static void tell_cycle(struct story *s, uint32_t late)
{
	static const struct line lines[] = {
		CREATES(1, -1, 1, Task),
		CREATES(1, -1, 2, Task),
		CREATES(1, -1, 3, Task),
		CREATES(2, -1, 8, Place),
		CREATES(2, -1, 11, Mutex),
		CREATES(2, -1, 12, Mutex),
		CREATES(10, 8, -5, Wait),
		DOES(10, try_read, -5, 12),
		DOES(10, try_read, 12, 2),
		DOES(10, try_read, 1, -5),
		DOES(10, switch, -1, 0),
		CREATES(11, 8, -6, Wait),
		DOES(11, try_read, -6, 11),
		DOES(11, try_read, 11, 1),
		DOES(11, try_read, 2, -6),
		DOES(11, switch, -1, 0),
		DOES(12, switch, 3, 0),
	};
	static const uint32_t ring[] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3};
	uint32_t stream;

	story_begin(s);
	for (int i = 0; i < 3; i++)
		CHECK_EQ_INT(mprof_model_stream(s->m, &(struct mprof_model_source){0}, &stream), MPROF_OK);
	for (uint32_t i = 0; i < 4; i++)
		declare(s, i);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		line_add(s->m, ring[i], &lines[i]);
	CHECK_EQ_INT(mprof_model_gap(s->m, late, 1), MPROF_OK);
	line_add(s->m, late, &(struct line)DOES(30, gc, 0, 1));
	story_end(s);
}

/* A packet that is missing in the ring of a thread outside of a cycle cannot have the end of a wait of the cycle. */
static void test_cycle_of_rings(void)
{
	struct story s;

	for (uint32_t late = 0; late < 4; late++) {
		bool inside = late == 1 || late == 2;

		tell_cycle(&s, late);
		CHECK_EQ_INT(ask(&s, 1).verdict, inside ? MPROF_WHY_NEVER_RESOLVED : MPROF_WHY_CYCLE);
		CHECK_EQ_STR(mprof_hole_name(ask(&s, 1).since_coverage.hole), inside ? "gap" : "none");
		story_deinit(&s);
	}
}

/* A thread that ended before it began, by a clock that went back, has no time of its end that could be said. */
static void test_clock_back(void)
{
	static const struct line lines[] = {
		CREATES(100, 0, 1, Task),  CREATES(101, 0, 2, Task), SAYS(101, 2, "sleep"),
		DOES(102, try_read, 1, 2), DOES(50, fulfills, 9, 2), DOES(51, read, 1, 2),
		CREATES(60, 0, 3, Task),   SAYS(60, 3, "sleep"),     DOES(61, try_read, 1, 3),
	};
	static const struct line resolved[] = {
		CREATES(100, 0, 1, Task),
		CREATES(101, 0, 2, Task),
		DOES(102, switch, 5, 0),
		DOES(50, fulfills, 2, 2),
		DOES(51, try_read, 1, 2),
		DOES(60, switch, 5, 0),
	};
	char text[2000];
	struct story s;

	TELL(&s, lines);
	CHECK_EQ_UINT(ask(&s, 1).similar, MPROF_NONE);
	story_deinit(&s);
	TELL(&s, resolved);
	CHECK_EQ_INT(ask(&s, 1).verdict, MPROF_WHY_NOT_WOKEN);
	CHECK(ask(&s, 1).since_coverage.hole == MPROF_HOLE_CLOCK);
	explain(&s, 1, text, sizeof(text));
	CHECK(strstr(
		text,
		"2 (Task) was resolved by 2 (Task), at an unknown time, because the clock went back, and the trace "
		"has no run of what waits on it since then. It would not be here: the clock of the trace went back "
		"from 0.000000102 to 0.000000050."));
	explain(&s, 2, text, sizeof(text));
	CHECK(strstr(text, "was resolved by 2 (Task), at an unknown time, because the clock went back"));
	story_deinit(&s);
}

/* A thread that waited at the last signal may have been woken by it, or its wait may just have been too long. */
static void test_signal_to_a_waiter(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 9, Condition),
		CREATES(1, 0, 1, Task),
		CREATES(2, 9, 3, Wait),
		DOES(3, try_read, 1, 3),
		DOES(5, signal_noswitch, 9, 5),
		{6, MPROF_EVENT_fails, 1, 3, 0, "timed out"},
		DOES(6, read, 1, 3),
		CREATES(20, 9, 2, Task),
		DOES(23, try_read, 1, 2),
	};
	char text[2000];
	struct story s;

	TELL(&s, lines);
	explain(&s, 1, text, sizeof(text));
	CHECK(strstr(text, "; the last one before, by 5 (Unknown) at 0.000000005, came while a thread waited for it."));
	story_deinit(&s);
}

/* The time that a guest's vCPUs ran during a wait tells "slow" from "not run". */
static void test_vcpus(void)
{
	static const int64_t first = MPROF_THREAD_VCPU, second = MPROF_THREAD_VCPU - 1;
	static const struct line waits[] = {
		CREATES(1000, 0, 2, Task),
		CREATES(2000, 2, 3, Task),
		DOES(9000, fulfills, 3, 3),
		DOES(9000, read, 2, 3),
		DOES(9500, fulfills, 2, 2),
		CREATES(20000, 0, 4, Task),
		MARKS(20000, 4),
		DOES(29000, switch, 0, 7),
	};
	static const struct {
		uint64_t time;
		int64_t thread, ns;
		const char *name;
	} did[] = {
		/* 4 us before the wait do not count. */
		{6000, first, 9000, "waiting"}, {9000, first, 3000, "running"},	 {9000, second, 8000, "blocked"},
		{19000, first, 1000, "other"},	{29000, first, 5000, "waiting"}, {29000, second, 8000, "not running"},
		{29000, 7, 9000, "running"},
	};
	char text[4000];
	struct story s;

	for (unsigned with = 0; with < 2; with++) {
		story_begin(&s);
		for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
			line_add(s.m, 0, &waits[i]);
		for (size_t i = 0; with && i < sizeof(did) / sizeof(did[0]); i++)
			line_add(s.m, 0,
				 &(struct line){did[i].time, MPROF_EVENT_extra, did[i].thread, did[i].ns, 0,
						did[i].name});
		story_end(&s);
		explain(&s, 2, text, sizeof(text));
		CHECK(!strstr(text, "vCPUs") == !with);
		if (with)
			CHECK(strstr(text, "\n  in that time the guest's vCPUs ran for 3.000 µs, waited for a "
					   "processor for 5.000 µs "
					   "and were blocked for 8.000 µs\n"));
		explain(&s, 4, text, sizeof(text));
		if (with)
			CHECK(strstr(
				text,
				"\n  in that time the guest was not run: its vCPUs waited for a processor for 5.000 µs "
				"and waited or were blocked for 8.000 µs"));
		/* A thread of the program ran last. */
		if (mprof_why_last(s.w, 0, true) != MPROF_NONE)
			CHECK(id_of(&s, s.v->activations[mprof_why_last(s.w, 0, true)].thread) >= 0);
		story_deinit(&s);
	}
}

/* Check that the sentences of the explanation deny a signal only if there was none. */
static void program_check_words(struct program *p, uint32_t i)
{
	struct mprof_explanation *explanation = mprof_explanation_new(p->s.v, p->s.w, NULL);
	const uint64_t *wakes = p->wakes[p->waits[i].condition];
	uint32_t n = p->n_wakes[p->waits[i].condition];
	bool since = n && wakes[n - 1] > p->waits[i].since;
	const struct mprof_explanation_piece *pieces;
	const char *text;
	uint32_t n_pieces;
	size_t bytes;

	CHECK_EQ_INT(mprof_explanation_why(explanation, thread(&p->s, 200 + i)), MPROF_OK);
	text = mprof_explanation_text(explanation);
	pieces = mprof_explanation_pieces(explanation, &n_pieces);
	bytes = pieces[n_pieces - 1].offset + pieces[n_pieces - 1].bytes;
	CHECK(says(text, bytes, "nor any before") == !n);
	CHECK((says(text, bytes, "None came") || says(text, bytes, "no signal came")) == !since);
	mprof_explanation_free(explanation);
}

static void program_run(struct program *p, bool said)
{
	uint32_t i;

	story_begin(&p->s);
	for (i = 0; i < CONDITIONS; i++)
		program_does(p, MPROF_EVENT_creates, 0, 10 + i, MPROF_THREAD_Condition);
	for (i = 0; i < WAITS; i++) {
		if (random_next(&p->random) % 2)
			program_wake(p);
		else
			program_wait(p, said);
	}
	story_end(&p->s);
	for (i = 0; i < p->n_waits; i++) {
		if (p->waits[i].resolved)
			continue;
		program_check(p, i);
		program_check_words(p, i);
	}
	story_deinit(&p->s);
}

static void test_no_signal_is_denied(void)
{
	uint64_t random = 88172645463325252u;
	int round;

	for (round = 0; round < 400; round++) {
		struct program p = {.random = random_next(&random) | 1, .now = 5};

		program_run(&p, round % 2);
	}
}

static void test_no_memory(void)
{
	static const struct line lines[] = {DOES(2, try_read, 1, 2), DOES(3, signal, 1, 2)};
	struct mprof_why *w;
	struct story s;
	long at;

	TELL(&s, lines);
	for (at = 0, w = NULL; !w && at < 100; at++) {
		fail_in = at;
		w = mprof_why_new(s.v);
	}
	fail_in = -1;
	CHECK(w != NULL);
	CHECK(at > 10);
	mprof_why_free(w);
	story_deinit(&s);
}

int main(void)
{
	CHECK_RUN(test_waited);
	CHECK_RUN(test_woken_before);
	CHECK_RUN(test_holders);
	CHECK_RUN(test_numbers_of_signals);
	CHECK_RUN(test_gaps);
	CHECK_RUN(test_clock_back);
	CHECK_RUN(test_cycle_back);
	CHECK_RUN(test_cycle_of_rings);
	CHECK_RUN(test_signal_to_a_waiter);
	CHECK_RUN(test_vcpus);
	CHECK_RUN(test_missed_signal);
	CHECK_RUN(test_wait_unsaid);
	CHECK_RUN(test_equal_times);
	CHECK_RUN(test_wait_said);
	CHECK_RUN(test_signalled_first_since);
	CHECK_RUN(test_signals_that_are_not_missed);
	CHECK_RUN(test_condition_from_before);
	CHECK_RUN(test_looked_at_itself);
	CHECK_RUN(test_looked_for_by_another);
	CHECK_RUN(test_semaphore_keeps_signals);
	CHECK_RUN(test_likes);
	CHECK_RUN(test_finals);
	CHECK_RUN(test_resolutions);
	CHECK_RUN(test_joins_and_becomes);
	CHECK_RUN(test_circle);
	CHECK_RUN(test_labels_and_last);
	CHECK_RUN(test_last_of_late_events);
	CHECK_RUN(test_empty);
	CHECK_RUN(test_long_chains);
	CHECK_RUN(test_nonsense);
	CHECK_RUN(test_no_signal_is_denied);
	CHECK_RUN(test_no_memory);
	return check_done();
}
