/* Groups of threads that wait: which are causes, their order, the threads that stand for them, and the sentences behind them. */
#include <stdlib.h>

#include <mprof/explanation.h>

#include "scarce.h"
#include "story.h"

#define ALL (MPROF_DECLARES_KINDS | MPROF_WRITES_SIGNALS | MPROF_WRITES_WAKES | MPROF_WRITES_STOPS | MPROF_WRITES_ENDS)

static struct mprof_waits *waits;
static const struct mprof_waits_group *groups;
static uint32_t n_groups;

/* Make a model of N lines, and its groups. FLAGS are what the writer declares, or 0. */
static void tell(struct story *s, unsigned flags, const struct line *lines, size_t n)
{
	struct mprof_raw_event e = {
		.id = MPROF_EVENT_extra, .type = MPROF_EXTRA_RECORDER, .number = (int64_t)(257 | flags << 16)};

	story_begin(s);
	if (flags)
		CHECK_EQ_INT(mprof_model_add(s->m, 0, &e), MPROF_OK);
	for (size_t i = 0; i < n; i++)
		line_add(s->m, 0, &lines[i]);
	story_end(s);
	waits = mprof_waits_new(s->v, s->w);
	CHECK(waits != NULL);
	groups = mprof_waits_groups(waits, &n_groups);
}

static void end(struct story *s)
{
	CHECK(mprof_waits_free(waits) == NULL);
	story_deinit(s);
}

#define GROUP(s, flags, lines) tell(s, flags, lines, sizeof(lines) / sizeof((lines)[0]))

static void check_group(const struct story *s, uint32_t i, int64_t id, uint32_t threads, const char *cause)
{
	const char *name = i < n_groups ? mprof_waits_name(groups[i].kind) : NULL;

	CHECK(i < n_groups);
	if (i >= n_groups)
		return;
	CHECK_EQ_INT(s->v->threads[groups[i].thread].id, id);
	CHECK_EQ_UINT(groups[i].threads, threads);
	CHECK_EQ_STR(name ? name : "none", cause);
}

/* Check whether the text after the groups, or with GROUP that of the group, has WORDS. */
static void check_words(const struct story *s, const struct mprof_waits_group *group, const char *words)
{
	struct mprof_explanation *e = mprof_explanation_new(s->v, s->w, NULL);
	const struct mprof_explanation_piece *pieces;
	char text[4000];
	size_t used = 0;
	uint32_t n;

	CHECK_EQ_INT(group ? mprof_explanation_group(e, group) : mprof_explanation_rest(e, waits), MPROF_OK);
	pieces = mprof_explanation_pieces(e, &n);
	text[0] = '\0';
	for (uint32_t i = 0; i < n && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%.*s", (int)pieces[i].bytes,
					 mprof_explanation_text(e) + pieces[i].offset);
	CHECK(strstr(text, words) != NULL);
	if (!strstr(text, words))
		fprintf(stderr, "%s\n", text);
	mprof_explanation_free(e);
}

/* A cycle with others behind it, a missed signal, and two idle threads: the cycle first, each once. */
static void test_order(void)
{
	static const struct line lines[] = {
		/* 12 waits behind a missed signal of 9. */
		CREATES(1, 0, 9, Condition),
		DOES(2, signal, 9, 5),
		DOES(3, signal, 9, 0),
		CREATES(3, 9, 11, Task),
		DOES(3, switch, 0, 0),
		CREATES(4, 0, 12, Bind),
		SAYS(4, 12, "late"),
		DOES(5, try_read, 12, 11),
		/* 20 and 21 wait for each other, and 22 to 24 behind them. */
		DOES(10, try_read, 20, 21),
		DOES(11, try_read, 21, 20),
		DOES(12, try_read, 22, 20),
		DOES(13, try_read, 23, 22),
		DOES(14, try_read, 24, 21),
		/* 30 waits longer than 31. */
		CREATES(14, 0, 32, Task),
		CREATES(15, 0, 33, Task),
		SAYS(15, 31, "second"),
		DOES(15, try_read, 31, 33),
		SAYS(16, 30, "first"),
		DOES(16, try_read, 30, 32),
		/* Nobody knows what this is. */
		DOES(17, try_read, 40, 41),
	};
	struct story s;

	GROUP(&s, 0, lines);
	CHECK_EQ_UINT(n_groups, 5);
	check_group(&s, 0, 20, 5, "deadlock");
	check_group(&s, 1, 12, 1, "missed-wakeup");
	check_group(&s, 2, 30, 1, "none");
	check_group(&s, 3, 31, 1, "none");
	check_group(&s, 4, 40, 1, "none");
	CHECK_EQ_UINT(mprof_waits_shown(waits), 4); /* the last one has no name */
	check_words(&s, &groups[0], "3 more threads wait for the same, or behind it");
	check_words(&s, NULL, "");
	end(&s);
}

/* In a trace with marks only marked threads and causes are shown. The nearest marked thread stands for its group. */
static void test_marked(void)
{
	static const struct line lines[] = {
		CREATES(1, 0, 1, Task),
		MARKS(1, 1),
		CREATES(2, 0, 2, Task),
		MARKS(2, 2),
		DOES(3, try_read, 2, 3),
		DOES(4, try_read, 1, 2),
		DOES(5, try_read, 4, 1),
		SAYS(6, 5, "unmarked"),
		DOES(6, try_read, 5, 6),
		CREATES(7, 0, 7, Task),
		MARKS(7, 7),
		DOES(8, try_read, 8, 9),
		DOES(9, try_read, 9, 8),
	};
	struct story s;

	GROUP(&s, 0, lines);
	CHECK_EQ_UINT(n_groups, 4);
	check_group(&s, 0, 8, 2, "deadlock");
	check_group(&s, 1, 2, 3, "none");
	CHECK_EQ_UINT(groups[1].marked, 2);
	check_group(&s, 2, 7, 1, "none");
	check_group(&s, 3, 5, 1, "none");
	CHECK_EQ_UINT(mprof_waits_shown(waits), 3);
	end(&s);
}

/* A thread of the parent process holds a lock of the child. */
static void test_outside(void)
{
	static const struct line lines[] = {
		CREATES(1, -1, 1, Task),
		MARKS(1, 1),
		DOES(2, switch, 1, 0),
		CREATES(3, -1, 8, Place),
		CREATES(3, -1, 9, Mutex),
		CREATES(4, 8, -5, Wait),
		DOES(4, try_read, -5, 9),
		DOES(4, try_read, 9, 77),
		DOES(4, try_read, 1, -5),
		DOES(4, switch, -1, 0),
		DOES(50, switch, -1, 0),
	};
	struct mprof_why_answer a;
	struct story s;

	GROUP(&s, ALL | MPROF_DECLARES_FIRST, lines);
	CHECK_EQ_UINT(n_groups, 1);
	/* Another process may share the lock: no cause, but it is shown, although no thread is marked. */
	check_group(&s, 0, 1, 1, "none");
	CHECK_EQ_UINT(mprof_waits_shown(waits), 1);
	check_words(&s, &groups[0], "77 (Unknown), which is no thread of this process: fork left it behind");
	mprof_why_ask(s.w, thread(&s, 1), &a);
	CHECK_EQ_UINT(a.outside, 1);
	end(&s);
	/* The ring lost its beginning, in which the thread may have been created. */
	GROUP(&s, ALL, lines);
	check_group(&s, 0, 1, 1, "none");
	mprof_why_ask(s.w, thread(&s, 1), &a);
	CHECK_EQ_UINT(a.outside, 0);
	end(&s);
}

/* A thread waits to read the descriptor -1003; -7 is its other end, which CREATOR has. */
#define WAIT_FOR_DESCRIPTOR(creator)                                                                  \
	CREATES(1, -1, 1, Task), MARKS(1, 1), DOES(2, switch, 1, 0), CREATES(3, -1, 8, Place),        \
		CREATES(3, -1, -1003, Stream), CREATES(4, 8, -5, Wait), DOES(4, try_read, -5, -1003), \
		DOES(4, try_read, 1, -5), DOES(4, switch, -1, 0), CREATES(20, creator, -7, Stream),   \
		DOES(20, try_read, -1003, -7)

static void test_far_process(void)
{
	static const struct line lines[] = {
		CREATES(1, -1, 60, Process),
		WAIT_FOR_DESCRIPTOR(60),
		DOES(50, switch, -1, 0),
	};
	static const struct line over[] = {
		CREATES(1, -1, 60, Process),
		WAIT_FOR_DESCRIPTOR(60),
		DOES(40, read_later, -1003, -7),
		DOES(50, switch, -1, 0),
	};
	struct mprof_why_answer a;
	struct story s;

	GROUP(&s, ALL | MPROF_DECLARES_FIRST, lines);
	CHECK_EQ_UINT(n_groups, 1);
	check_group(&s, 0, 1, 1, "none");
	mprof_why_ask(s.w, thread(&s, 1), &a);
	CHECK_EQ_UINT(a.far_end, thread(&s, -7));
	CHECK_EQ_UINT(a.far_process, thread(&s, 60));
	CHECK_EQ_UINT(a.far_found, 20);
	CHECK_EQ_UINT(a.since, 4);
	CHECK_EQ_UINT(a.far_main, MPROF_NONE);
	check_words(&s, &groups[0],
		    "its other end was -7 (Stream) of 60 (Process), whose events are not in this trace.");
	end(&s);
	/* The recorder takes back what it found. */
	GROUP(&s, ALL | MPROF_DECLARES_FIRST, over);
	mprof_why_ask(s.w, thread(&s, 1), &a);
	CHECK_EQ_UINT(a.far_end, MPROF_NONE);
	check_words(&s, &groups[0], "The other end is not in this trace: what makes it ready is not recorded.");
	end(&s);
}

static void test_far_end_here(void)
{
	static const struct line lines[] = {
		WAIT_FOR_DESCRIPTOR(-1004),
		CREATES(21, -1, 2, Task),
		CREATES(22, -1, 9, Place),
		CREATES(22, 9, -6, Wait),
		DOES(22, try_read, -6, -1004),
		DOES(22, try_read, 2, -6),
		DOES(50, switch, -1, 0),
	};
	static const struct line watched[] = { WAIT_FOR_DESCRIPTOR(-1003), DOES(50, switch, -1, 0) };
	struct mprof_why_answer a;
	struct story s;

	GROUP(&s, ALL | MPROF_DECLARES_FIRST, lines);
	mprof_why_ask(s.w, thread(&s, 1), &a);
	CHECK_EQ_UINT(a.far_here, 1);
	CHECK_EQ_UINT(a.far_user, thread(&s, 2));
	check_words(&s, &groups[0], "its other end was -7 (Stream) of this process, at which 2 (Task) waits, too.");
	end(&s);
	GROUP(&s, ALL | MPROF_DECLARES_FIRST, watched);
	check_words(&s, &groups[0], " it watched -7 (Stream).");
	end(&s);
}

/* A wait that tries to read a process waits for its end; a thread of that number in the same rings is another. */
static void test_far_child(void)
{
	static const struct line lines[] = {
		CREATES(1, -1, 1, Task),
		MARKS(1, 1),
		DOES(2, switch, 1, 0),
		CREATES(3, -1, 8, Place),
		CREATES(4, 8, -5, Wait),
		DOES(4, try_read, 1, -5),
		DOES(4, switch, -1, 0),
		CREATES(20, -1, 60, Process),
		DOES(20, try_read, -5, 60),
		DOES(50, switch, -1, 0),
	};
	struct mprof_why_answer a;
	struct story s;

	GROUP(&s, ALL | MPROF_DECLARES_FIRST, lines);
	CHECK_EQ_UINT(n_groups, 1);
	mprof_why_ask(s.w, thread(&s, 1), &a);
	CHECK_EQ_UINT(a.root, thread(&s, -5));
	CHECK_EQ_UINT(a.far_end, thread(&s, 60));
	CHECK_EQ_UINT(a.far_process, thread(&s, 60));
	check_words(&s, &groups[0], " it waited for the end of 60 (Process), whose events are not in this trace.");
	end(&s);
}

/* That nothing is stuck needs a ring that has each wait. */
static void test_nothing(void)
{
	static const struct line read[] = {
		CREATES(1, 0, 2, Task),	 CREATES(1, 0, 3, Task), DOES(2, try_read, 3, 2),
		DOES(3, fulfills, 2, 2), DOES(3, read, 3, 2),	 DOES(4, fulfills, 3, 3),
	};
	static const struct line open[] = { CREATES(1, 0, 2, Task), DOES(2, switch, 2, 0) };
	struct story s;

	GROUP(&s, ALL | MPROF_DECLARES_FIRST, read);
	CHECK_EQ_UINT(n_groups, 0);
	check_words(&s, NULL, "nothing here is stuck: no thread waits at the end of the trace");
	end(&s);
	GROUP(&s, ALL, read);
	check_words(&s, NULL, "A wait would not be here: the trace begins at 0.000000001.");
	end(&s);
	GROUP(&s, ALL | MPROF_DECLARES_FIRST, open);
	check_words(&s, NULL,
		    "1 thread is not resolved, and the trace has no thread that waits for another at its end");
	end(&s);
	GROUP(&s, 0, (struct line[]){DOES(5, try_read, 40, 41)});
	check_words(&s, NULL, "neither they nor what they wait for has a name");
	end(&s);
	tell(&s, 0, NULL, 0);
	check_words(&s, NULL, "the trace has no event");
	end(&s);
}

/*
 * A wait for a lock ended because it lasted too long. The recorder writes no release that nobody waits for, so the holder may have
 * released the lock since: that it ended is no cause, and neither is it for another wait whose holder is not known.
 */
static void test_lock_that_nobody_waits_for(void)
{
#define TIMED                                                                                                      \
	CREATES(1, -1, 1, Task), CREATES(1, -1, 2, Task), CREATES(1, -1, 8, Place), CREATES(1, -1, 9, Mutex),      \
		DOES(2, switch, 2, 0), CREATES(4, 8, -5, Wait), DOES(4, try_read, -5, 9), DOES(4, try_read, 9, 1), \
		DOES(4, try_read, 2, -5), DOES(4, switch, -1, 0), DOES(20, fails, 9, -5), DOES(20, read, 2, -5)
	static const struct line ended[] = {TIMED, DOES(30, fulfills, 1, 1), DOES(31, fulfills, 2, 2)};
	static const struct line again[] = {
		TIMED,
		CREATES(25, 8, -6, Wait),
		DOES(25, try_read, -6, 9),
		DOES(25, try_read, 2, -6),
		DOES(25, switch, -1, 0),
		DOES(30, fulfills, 1, 1),
	};
	static const struct line still[] = {
		TIMED,
		CREATES(25, 8, -6, Wait),
		DOES(25, try_read, -6, 9),
		DOES(25, try_read, 9, 1),
		DOES(25, try_read, 2, -6),
		DOES(25, switch, -1, 0),
		DOES(30, fulfills, 1, 1),
	};
	struct story s;

	GROUP(&s, ALL | MPROF_DECLARES_FIRST, ended);
	CHECK_EQ_UINT(n_groups, 0);
	end(&s);
	GROUP(&s, ALL | MPROF_DECLARES_FIRST, again);
	CHECK_EQ_UINT(n_groups, 1);
	check_group(&s, 0, 2, 1, "none");
	end(&s);
	GROUP(&s, ALL | MPROF_DECLARES_FIRST, still);
	CHECK_EQ_UINT(n_groups, 1);
	check_group(&s, 0, 2, 1, "holder-ended");
	end(&s);
	/* A recorder that writes each release has none here. */
	GROUP(&s, ALL | MPROF_DECLARES_FIRST | MPROF_WRITES_RELEASES, again);
	check_group(&s, 0, 2, 1, "holder-ended");
	end(&s);
#undef TIMED
}

static void test_no_memory(void)
{
	static const struct line lines[] = {DOES(2, try_read, 1, 2), DOES(3, try_read, 2, 1)};
	struct mprof_waits *w = NULL;
	struct story s;
	long at;

	TELL(&s, lines);
	for (at = 0; !w && at < 100; at++) {
		fail_in = at;
		w = mprof_waits_new(s.v, s.w);
	}
	fail_in = -1;
	CHECK(w != NULL);
	CHECK(at > 5);
	mprof_waits_free(w);
	story_deinit(&s);
}

int main(void)
{
	CHECK_RUN(test_order);
	CHECK_RUN(test_marked);
	CHECK_RUN(test_outside);
	CHECK_RUN(test_far_process);
	CHECK_RUN(test_far_end_here);
	CHECK_RUN(test_far_child);
	CHECK_RUN(test_nothing);
	CHECK_RUN(test_lock_that_nobody_waits_for);
	CHECK_RUN(test_no_memory);
	return check_done();
}
