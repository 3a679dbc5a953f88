/* Samples of threads: which the model takes, whether the program slept, and the sentences that they carry. */
#include <mprof/explanation.h>

#include "story.h"

#define ALL (MPROF_DECLARES_KINDS | MPROF_WRITES_STOPS)
#define S   UINT64_C(1000000000)

/* At T the thread has used NS of processor time, and is in the state TEXT. */
#define IS(t, thread, ns, text) {t, MPROF_EVENT_extra, thread, ns, MPROF_EXTRA_STATE, text}

/* Two threads: 1 stops to run at 2 s, and waits for 2, which ran before. */
#define BEGIN                                                                                                    \
	CREATES(S, -1, 1, Task), CREATES(S, -1, 2, Task), MARKS(S, 1), SAYS(S, 2, "two"), DOES(S, switch, 2, 0), \
		DOES(S + 1, switch, 1, 0), DOES(2 * S, try_read, 1, 2), DOES(2 * S, switch, -1, 0)

static void tell(struct story *s, const struct line *lines, size_t n)
{
	struct mprof_raw_event e = {
		.id = MPROF_EVENT_extra, .type = MPROF_EXTRA_RECORDER, .number = (int64_t)(257 | (unsigned)ALL << 16)};

	story_begin(s);
	CHECK_EQ_INT(mprof_model_add(s->m, 0, &e), MPROF_OK);
	for (size_t i = 0; i < n; i++)
		line_add(s->m, 0, &lines[i]);
	story_end(s);
}

#define STORY(s, lines) tell(s, lines, sizeof(lines) / sizeof((lines)[0]))

static char text[4096];

/* Return the last text of E, its lines behind each other. */
static const char *text_of(struct mprof_explanation *e)
{
	const struct mprof_explanation_piece *pieces;
	size_t used = 0;
	uint32_t n;

	pieces = mprof_explanation_pieces(e, &n);
	for (uint32_t i = 0; i < n && used + pieces[i].bytes < sizeof(text); i++) {
		memcpy(text + used, mprof_explanation_text(e) + pieces[i].offset, pieces[i].bytes);
		used += pieces[i].bytes;
	}
	text[used] = 0;
	mprof_explanation_free(e);
	return text;
}

/* Return the sentences on why the thread ID waits. */
static const char *why(const struct story *s, int64_t id)
{
	struct mprof_explanation *e = mprof_explanation_new(s->v, s->w, NULL);

	CHECK_EQ_INT(mprof_explanation_why(e, thread(s, id)), MPROF_OK);
	return text_of(e);
}

/* Return the history of the thread ID. */
static const char *history(const struct story *s, int64_t id)
{
	struct mprof_explanation *e = mprof_explanation_new(s->v, s->w, NULL);

	CHECK_EQ_INT(mprof_explanation_thread(e, thread(s, id)), MPROF_OK);
	return text_of(e);
}

/* Return the sentence on what ran last. */
static const char *last(const struct story *s)
{
	struct mprof_explanation *e = mprof_explanation_new(s->v, s->w, NULL);

	CHECK_EQ_INT(mprof_explanation_last(e, 0), MPROF_OK);
	return text_of(e);
}

#define CHECK_SAYS(said, words)                              \
	do {                                                 \
		if (!strstr(said, words))                    \
			fprintf(stderr, "said: %s\n", text); \
		CHECK(strstr(text, words) != NULL);          \
	} while (0)

/* A state is no event, has no time, and makes no thread. */
static void test_no_event(void)
{
	static const struct line lines[] = {
		IS(0, 1, 0, "runs"),	      BEGIN,
		IS(9 * S, 2, 1, "runs"),      IS(3 * S, 3, 1, "runs"),
		IS(3 * S, -1, 1, "runs"),     IS(3 * S, 1, 1, ""),
		IS(3 * S, 1, 1, "dreams of"),
	};
	struct mprof_why_state state;
	struct story s;

	STORY(&s, lines);
	CHECK_EQ_UINT(s.v->streams[0].events, 8);
	CHECK_EQ_UINT(s.v->streams[0].start, S);
	CHECK_EQ_UINT(s.v->streams[0].end, 2 * S);
	CHECK_EQ_UINT(s.v->n_states, 3);
	CHECK_EQ_UINT(s.v->n_threads, 3);
	CHECK_EQ_UINT(s.v->notes.late, 0);
	CHECK_EQ_UINT(s.v->states[2].previous, 1);
	CHECK_EQ_UINT(s.v->states[2].kind, MPROF_STATE_KINDS);
	CHECK(!mprof_why_state(s.w, thread(&s, 1), 0, &state));
	CHECK(mprof_why_state(s.w, thread(&s, 2), 9 * S, &state));
	CHECK(!mprof_why_state(s.w, thread(&s, 2), 9 * S + 1, &state));
	story_deinit(&s);
}

/* The program sleeps, unless a sample says that a thread ran since. */
static void test_asleep(void)
{
	static const struct line none[] = {BEGIN, SAYS(6 * S, 1, "end")};
	static const struct line before[] = {BEGIN, IS(2 * S, 2, 5, "runs"), SAYS(6 * S, 1, "end")};
	static const struct line runs[] = {BEGIN, IS(3 * S, 2, 5, "runs"), SAYS(6 * S, 1, "end")};
	static const struct line used[] = {BEGIN, IS(2 * S, 2, 5, "futex"), IS(3 * S, 2, 6, "futex"),
					   SAYS(6 * S, 1, "end")};
	static const struct line back[] = {BEGIN, IS(2 * S, 2, 6, "futex"), IS(3 * S, 2, 5, "futex"),
					   SAYS(6 * S, 1, "end")};
	static const struct {
		const struct line *lines;
		size_t n;
		uint64_t asleep;
	} rows[] = {
#define ROW(name, asleep) {name, sizeof(name) / sizeof((name)[0]), asleep}
		ROW(none, 2 * S), ROW(before, 2 * S), ROW(runs, UINT64_MAX), ROW(used, UINT64_MAX), ROW(back, 2 * S),
	};
	struct story s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tell(&s, rows[i].lines, rows[i].n);
		CHECK_EQ_UINT(mprof_coverage_asleep(s.v, 0), rows[i].asleep);
		if (rows[i].asleep != UINT64_MAX)
			CHECK_SAYS(last(&s), ", then the program slept for 4.000 s, to the end");
		story_deinit(&s);
	}
}

static void test_sentences(void)
{
	static const struct line ran[] = {BEGIN, IS(3 * S, 2, 500000000, "runs"), IS(4 * S, 2, 1500000000, "runs"),
					  IS(5 * S, 2, 2470000000, "runs"), SAYS(6 * S, 1, "end")};
	static const struct line some[] = {BEGIN, IS(3 * S, 2, 0, "runs"), IS(5 * S, 2, 20000000, "runs"),
					   SAYS(6 * S, 1, "end")};
	static const struct line once[] = {BEGIN, IS(3 * S, 2, 0, "stopped"), IS(5 * S, 2, 0, "runs"),
					   SAYS(6 * S, 1, "end")};
	static const struct line futex[] = {BEGIN, IS(3 * S, 2, 0, "futex"), IS(4 * S, 2, 0, "futex"),
					    SAYS(6 * S, 1, "end")};
	static const struct line sleeps[] = {BEGIN, IS(3 * S, 2, 0, "sleeps hrtimer_nanosleep"), SAYS(6 * S, 1, "end")};
	static const struct line blocked[] = {BEGIN, IS(3 * S, 2, 0, "blocked io_\x1bx"), SAYS(6 * S, 1, "end")};
	static const struct line traced[] = {BEGIN, IS(3 * S, 2, 0, "traced"), SAYS(6 * S, 1, "end")};
	static const struct line asked[] = {BEGIN, IS(3 * S, 1, 0, "blocked "), SAYS(6 * S, 1, "end")};
	static const struct line over[] = {BEGIN, IS(3 * S, 2, 0, "futex"), IS(4 * S, 2, 0, "waits"),
					   SAYS(6 * S, 1, "end")};
	struct story s;

	STORY(&s, ran);
	CHECK_SAYS(why(&s, 1),
		   "  2 (Task, \"two\") ran on a processor: 1.970 s of processor time in 2.000 s, in 3 samples from "
		   "3.000000000 to 5.000000000");
	CHECK_SAYS(last(&s),
		   "; 2 (Task, \"two\") ran on a processor: 1.970 s of processor time in 2.000 s, in 3 samples from "
		   "3.000000000 to 5.000000000; the trace ends at 6.0");
	story_deinit(&s);
	STORY(&s, some);
	CHECK_SAYS(why(&s, 1),
		   " ran, or waited for a processor: 20.000 ms of processor time in 2.000 s, in 2 samples from ");
	story_deinit(&s);
	STORY(&s, once);
	CHECK_SAYS(why(&s, 1), " ran, or waited for a processor, in 1 sample at 5.000000000");
	story_deinit(&s);
	STORY(&s, futex);
	CHECK_SAYS(why(&s, 1),
		   " waited in the kernel's futex, by no call that its recorder writes, in 2 samples from ");
	CHECK_SAYS(last(&s), ", then the program slept for 4.000 s");
	story_deinit(&s);
	STORY(&s, sleeps);
	CHECK_SAYS(
		why(&s, 1),
		" slept in the kernel in hrtimer_nanosleep, by no call that its recorder writes, in 1 sample at 3.0");
	story_deinit(&s);
	STORY(&s, blocked);
	CHECK_SAYS(why(&s, 1), " was blocked in the kernel (state D) in io_\\x1bx, in 1 sample at 3.0");
	story_deinit(&s);
	STORY(&s, traced);
	CHECK_SAYS(why(&s, 1), " was stopped by a debugger or another tracer, in 1 sample at 3.0");
	story_deinit(&s);
	STORY(&s, asked);
	CHECK_SAYS(why(&s, 1), "  1 (Task, \"end\") was blocked in the kernel (state D), in 1 sample at 3.0");
	story_deinit(&s);
	STORY(&s, over);
	CHECK(!strstr(why(&s, 1), "sample"));
	story_deinit(&s);
}

/* A signal stops the whole program, and a sample from before its last wait says nothing. */
static void test_stopped(void)
{
	static const struct line stopped[] = {BEGIN, IS(3 * S, 1, 0, "stopped"), IS(4 * S, 1, 0, "stopped"),
					      IS(5 * S, 2, 0, "runs"), SAYS(6 * S, 1, "end")};
	static const struct line goes_on[] = {BEGIN, IS(3 * S, 1, 0, "stopped"), IS(4 * S, 1, 0, "waits"),
					      SAYS(6 * S, 1, "end")};
	static const struct line earlier[] = {BEGIN, IS(S, 1, 0, "stopped"), SAYS(6 * S, 1, "end")};
	struct story s;

	STORY(&s, stopped);
	CHECK_SAYS(last(&s), "; the program was stopped by a signal, in 2 samples from 3.000000000 to 4.000000000; the "
			     "trace ends at 6.0");
	CHECK(!strstr(text, "slept"));
	story_deinit(&s);
	STORY(&s, goes_on);
	CHECK_SAYS(last(&s), ", then the program slept for 4.000 s");
	story_deinit(&s);
	STORY(&s, earlier);
	CHECK_SAYS(last(&s), ", then the program slept for 4.000 s");
	CHECK(!strstr(why(&s, 1), "sample"));
	story_deinit(&s);
}

/* The history of a thread that waits by its ring has no sample but of a stop since the wait began. */
static void test_history(void)
{
	static const struct line waits[] = {BEGIN, IS(S + 2, 1, 0, "futex"), IS(3 * S, 1, 0, "futex"),
					    SAYS(6 * S, 1, "end")};
	static const struct line earlier[] = {BEGIN, IS(S + 2, 1, 0, "stopped"), SAYS(6 * S, 1, "end")};
	static const struct line stopped[] = {BEGIN, IS(S + 2, 1, 0, "stopped"), IS(3 * S, 1, 0, "stopped"),
					      IS(3 * S, 2, 0, "futex"), SAYS(6 * S, 1, "end")};
	struct story s;

	STORY(&s, waits);
	CHECK(!strstr(history(&s, 1), "sample"));
	story_deinit(&s);
	STORY(&s, earlier);
	CHECK(!strstr(history(&s, 1), "sample"));
	story_deinit(&s);
	STORY(&s, stopped);
	CHECK_SAYS(history(&s, 1), "By the last samples of the system it was stopped by a signal, in 1 sample at 3.0");
	CHECK_SAYS(history(&s, 2), "By the last samples of the system it waited in the kernel's futex, ");
	story_deinit(&s);
}

int main(void)
{
	CHECK_RUN(test_no_event);
	CHECK_RUN(test_asleep);
	CHECK_RUN(test_sentences);
	CHECK_RUN(test_stopped);
	CHECK_RUN(test_history);
	return check_done();
}
