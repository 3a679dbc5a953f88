/* Readings: each length, number and text is checked. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "reader-process.h"
#include "reading-result.h"
#include "reading.h"

static uint8_t bytes[65536];
static size_t used;

static void begin(void)
{
	mprof_reading_begin(bytes);
	used = MPROF_READING_HEADER_BYTES;
}

static void add(uint32_t kind, const void *content, size_t n)
{
	mprof_reading_section(bytes + used, (enum mprof_reading_kind)kind, (uint32_t)n);
	memcpy(bytes + used + MPROF_READING_SECTION_BYTES, content, n);
	used += MPROF_READING_SECTION_BYTES + n;
}

static void add_text(uint32_t kind, const char *text)
{
	add(kind, text, strlen(text));
}

static bool take(struct reading_result *r)
{
	return reading_result_take(bytes, used, r);
}

/* Return whether a reading with one section is taken. */
static bool take_one(uint32_t kind, const char *text)
{
	struct reading_result r;
	bool taken;

	begin();
	add_text(kind, text);
	taken = take(&r);
	reading_result_deinit(&r);
	return taken;
}

static void test_accepted(void)
{
	struct reading_result r, again;

	begin();
	add_text(MPROF_READING_CAUSE, "deadlock\nTask a");
	add_text(MPROF_READING_SENTENCE, "deadlock: x");
	add_text(99, "a kind of a later version\xff");
	add_text(MPROF_READING_LAST, "last: y");
	add_text(MPROF_READING_EXCEPTION, "Not_found");
	CHECK(take(&r));
	CHECK_EQ_UINT(strlen(r.cause), strlen("deadlock-") + 24);
	CHECK(strncmp(r.cause, "deadlock-", 9) == 0);
	CHECK_EQ_STR(r.sentence, "deadlock: x");
	CHECK_EQ_STR(r.last, "last: y");
	CHECK_EQ_STR(r.exception, "Not_found");
	CHECK_EQ_STR(r.failure, "");
	begin();
	add_text(MPROF_READING_CAUSE, "deadlock\nTask a");
	CHECK(take(&again));
	CHECK_EQ_STR(again.cause, r.cause);
	begin();
	add_text(MPROF_READING_CAUSE, "deadlock\nTask b");
	CHECK(take(&again));
	CHECK(strcmp(again.cause, r.cause) != 0);
	begin();
	CHECK(take(&r));
	CHECK_EQ_STR(r.cause, "");
	CHECK(take_one(MPROF_READING_FAILURE, "it failed"));
}

static void test_damage(void)
{
	struct reading_result r;
	uint8_t numbers[MPROF_READING_DAMAGE_BYTES + 1];

	begin();
	CHECK(take(&r) && !r.damage_known); /* an earlier version wrote it */
	for (unsigned i = 0; i < 3; i++)
		mprof_store64(numbers + (size_t)8 * i, i + 5);
	add(MPROF_READING_DAMAGE, numbers, MPROF_READING_DAMAGE_BYTES);
	CHECK(take(&r) && r.damage_known);
	CHECK_EQ_UINT(r.damages, 5);
	CHECK_EQ_UINT(r.skipped, 6);
	CHECK_EQ_UINT(r.unproven, 7);
	add(MPROF_READING_DAMAGE, numbers, MPROF_READING_DAMAGE_BYTES);
	CHECK(!take(&r));
	for (unsigned n = MPROF_READING_DAMAGE_BYTES - 1; n <= MPROF_READING_DAMAGE_BYTES + 1; n += 2) {
		begin();
		add(MPROF_READING_DAMAGE, numbers, n);
		CHECK(!take(&r));
	}
	mprof_store64(numbers + 8, UINT64_MAX);
	begin();
	add(MPROF_READING_DAMAGE, numbers, MPROF_READING_DAMAGE_BYTES);
	CHECK(!take(&r));
}

/* The main thread failed: a section without content, at most once, and not beside a failure of the reader. */
static void test_main_failed(void)
{
	struct reading_result r;

	begin();
	add_text(MPROF_READING_EXCEPTION, "Not_found");
	CHECK(take(&r) && !r.main_failed && !r.whole_end);
	add(MPROF_READING_MAIN_FAILED, "", 0);
	CHECK(take(&r) && r.main_failed);
	CHECK_EQ_STR(r.exception, "Not_found");
	add(MPROF_READING_MAIN_FAILED, "", 0);
	CHECK(!take(&r));
	begin();
	add(MPROF_READING_MAIN_FAILED, "x", 1);
	CHECK(!take(&r));
	begin();
	add(MPROF_READING_MAIN_FAILED, "", 0);
	CHECK(take(&r) && r.main_failed); /* an exception without a text */
	add(MPROF_READING_WHOLE_END, "", 0);
	CHECK(take(&r) && r.main_failed && r.whole_end);
	add_text(MPROF_READING_FAILURE, "a failure");
	CHECK(!take(&r));
	begin();
	add(MPROF_READING_WHOLE_END, "", 0);
	CHECK(take(&r) && !r.main_failed && r.whole_end);
	add(MPROF_READING_WHOLE_END, "", 0);
	CHECK(!take(&r));
	begin();
	add(MPROF_READING_WHOLE_END, "x", 1);
	CHECK(!take(&r));
	begin();
	add_text(MPROF_READING_FAILURE, "a failure");
	add(MPROF_READING_WHOLE_END, "", 0);
	CHECK(!take(&r));
}

static void test_refused(void)
{
	struct reading_result r;
	char text[5000];

	begin();
	add_text(MPROF_READING_CAUSE, "last\nTask a");
	add_text(MPROF_READING_LAST, "last");
	for (size_t i = 0; i < used; i++) /* two of these end between sections */
		CHECK_EQ_INT(reading_result_take(bytes, i, &r), i == 8 || i == 8 + 8 + 11);
	CHECK(!reading_result_take(bytes, used + 1, &r));
	add_text(MPROF_READING_LAST, "twice");
	CHECK(!take(&r));
	CHECK(!take_one(MPROF_READING_SENTENCE, "sen\xfftence"));
	CHECK(!take_one(MPROF_READING_LAST, "l\xc0\x80"));
	CHECK(!take_one(MPROF_READING_CAUSE, "LAST\nTask"));
	CHECK(!take_one(MPROF_READING_CAUSE, "\nTask"));
	CHECK(!take_one(MPROF_READING_CAUSE, "a-name-that-is-far-too-long-for-a-cause"));
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (uint32_t kind = MPROF_READING_FAILURE; kind <= MPROF_READING_EXCEPTION; kind++) {
		CHECK(!take_one(kind, text));
		CHECK(!take_one(kind, ""));
	}
	begin();
	add_text(MPROF_READING_FAILURE, "a failure");
	add_text(MPROF_READING_CAUSE, "last");
	CHECK(!take(&r));
	begin();
	add(MPROF_READING_LAST, "a\0b", 3);
	CHECK(!take(&r));
	begin();
	bytes[0] ^= 1;
	CHECK(!take(&r));
	begin();
	bytes[4]++;
	CHECK(!take(&r));
}

static struct reading_cut cuts[] = {{12, 47, 0}, {20, 64, 98}};
static const struct reading_tail example = {.stream = 5,
					    .begin_sequence = 10,
					    .begin_offset = 98,
					    .n_cuts = 2,
					    .next = 40,
					    .newest = 700,
					    .not_after = UINT64_MAX,
					    .cuts = cuts};

/* Put T behind the header. Return whether it is taken. */
static bool take_tail(const struct reading_tail *t, struct reading_result *r)
{
	size_t n = MPROF_READING_HEADER_BYTES;
	uint8_t *p = malloc(n);
	bool taken;

	mprof_reading_begin(p);
	CHECK_EQ_INT(reading_add_tail(&p, &n, t), 0);
	taken = reading_result_take(p, n, r);
	free(p);
	return taken;
}

static void test_tails(void)
{
	struct reading_tail t = example;
	struct reading_result r;

	CHECK(take_tail(&t, &r));
	CHECK_EQ_UINT(r.n_tails, 1);
	CHECK(r.tails[0].stream == 5 && r.tails[0].begin_sequence == 10 && r.tails[0].begin_offset == 98);
	CHECK(r.tails[0].next == 40 && r.tails[0].newest == 700 && r.tails[0].not_after == UINT64_MAX);
	CHECK(r.tails[0].n_cuts == 2 && r.tails[0].cuts[1].sequence == 20 && r.tails[0].cuts[1].end == 64);
	CHECK(r.tails[0].cuts[0].resume == 0 && r.tails[0].cuts[1].resume == 98);
	reading_result_deinit(&r);
	t.next = 20;
	CHECK(!take_tail(&t, &r)); /* a cut is not before it */
	t = example;
	t.begin_sequence = 13;
	CHECK(!take_tail(&t, &r));
	t = example;
	cuts[1].sequence = 12;
	CHECK(!take_tail(&t, &r)); /* they do not ascend */
	cuts[1].sequence = 20;
	cuts[1].end = 29;
	CHECK(!take_tail(&t, &r)); /* inside a header */
	cuts[1].end = 64;
	cuts[1].resume = 64;
	CHECK(!take_tail(&t, &r)); /* nothing is cut */
	cuts[1].resume = UINT32_MAX;
	CHECK(!take_tail(&t, &r)); /* no ring is so large */
	cuts[1].resume = 98;
	CHECK(take_tail(&t, &r));
	reading_result_deinit(&r);
}

/* A stream has one tail. A reading that would be too long does not grow. */
/* A reader says nothing of tails. */
static void test_no_tails(void)
{
	const struct reading_tail t = {.stream = 1, .begin_offset = 30, .next = 1};
	size_t n = MPROF_READING_HEADER_BYTES;
	uint8_t *p = malloc(n);
	struct reading_result r;

	mprof_reading_begin(p);
	CHECK(reader_process_answered(p, n, &r));
	CHECK_EQ_INT(reading_add_tail(&p, &n, &t), 0);
	CHECK(reading_result_take(p, n, &r) && r.n_tails == 1);
	reading_result_deinit(&r);
	CHECK(!reader_process_answered(p, n, &r));
	CHECK(!r.n_tails && !r.tails);
	free(p);
}

static void test_many_tails(void)
{
	size_t n = MPROF_READING_HEADER_BYTES;
	struct reading_tail t = example;
	struct reading_result r;
	uint8_t *p = malloc(n);

	mprof_reading_begin(p);
	CHECK_EQ_INT(reading_add_tail(&p, &n, &t), 0);
	CHECK_EQ_INT(reading_add_tail(&p, &n, &t), 0);
	CHECK(!reading_result_take(p, n, &r));
	n = MPROF_READING_HEADER_BYTES;
	for (t.stream = 0; t.stream < (int64_t)READING_TAILS_MAX; t.stream++)
		CHECK_EQ_INT(reading_add_tail(&p, &n, &t), 0);
	CHECK(reading_result_take(p, n, &r));
	CHECK_EQ_UINT(r.n_tails, READING_TAILS_MAX);
	reading_result_deinit(&r);
	CHECK_EQ_INT(reading_add_tail(&p, &n, &t), 0);
	CHECK(!reading_result_take(p, n, &r));
	t.n_cuts = MPROF_READING_BYTES_MAX / MPROF_READING_CUT_BYTES;
	CHECK_EQ_INT(reading_add_tail(&p, &n, &t), -E2BIG);
	free(p);
}

/* ---- a machine without room for a process ---------------------------------------------------- */

static unsigned asked; /* calls that name a process */
static bool is_ending; /* there is a process that SIGKILL ends: it is gone only for a call that waits */

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
/* They stand before those of the C library: no process is made, none is ended, and none is waited for. */
pid_t fork(void)
{
	errno = EAGAIN;
	return -1;
}

int kill(pid_t pid, int number)
{
	(void)pid;
	(void)number;
	asked++;
	return 0;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	asked++;
	if (is_ending) {
		*status = SIGKILL;
		return options & WNOHANG ? 0 : pid;
	}
	errno = ECHILD;
	return -1;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

/* A reader that could not begin is no process, and ending it touches no other: to kill() -1 is every process. */
static void test_no_process(void)
{
	const struct reader_limits limits = {.memory = 1 << 20, .seconds = 1};
	struct reader_process process = {.pid = 77, .out = 77};
	struct reading_result r = {0};

	CHECK_EQ_INT(reader_process_begin(0, &limits, &process), -EAGAIN);
	CHECK_EQ_INT(process.pid, 0);
	CHECK_EQ_INT(process.out, -1);
	for (int pid = -1; pid < 1; pid++) {
		process.pid = pid;
		CHECK_EQ_INT(reader_process_end(&process, &limits, true, NULL, 0, &r), 0);
		CHECK_EQ_INT(process.pid, 0);
		reading_result_deinit(&r);
	}
	CHECK_EQ_UINT(asked, 0);
}

/* Return whether ending a reader that SIGKILL ends, and whose answer has N bytes, says nothing of the capture. LATE: its time is over. */
static bool says_nothing(bool late, size_t n)
{
	static const uint8_t answer[READER_ANSWER_MAX];
	const struct reader_limits limits = {.memory = 1 << 20, .seconds = 1};
	struct reader_process process = {.pid = 77, .out = -1};
	struct reading_result r = {0};

	CHECK_EQ_INT(reader_process_end(&process, &limits, late, answer, n, &r), 0);
	CHECK(*r.failure);
	reading_result_deinit(&r);
	return process.was_killed;
}

/* A machine without memory kills a reader, which needs long to end; or the reader was late. A reader that writes too much ends by its own fault. */
static void test_killed(void)
{
	is_ending = true;
	CHECK(says_nothing(false, 0));
	CHECK(says_nothing(true, 0));
	CHECK(!says_nothing(false, READER_ANSWER_MAX));
	is_ending = false;
}

int main(void)
{
	CHECK_RUN(test_accepted);
	CHECK_RUN(test_damage);
	CHECK_RUN(test_main_failed);
	CHECK_RUN(test_refused);
	CHECK_RUN(test_tails);
	CHECK_RUN(test_many_tails);
	CHECK_RUN(test_no_tails);
	CHECK_RUN(test_no_process);
	CHECK_RUN(test_killed);
	return check_done();
}
