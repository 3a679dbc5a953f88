/*
 * The reader of the logs of 2014: each operation, input in pieces of any size, and invalid lines.
 */
#include <stdlib.h>

#include <mprof/trace.h>

#include "check.h"

struct log {
	char text[1 << 16];
	size_t used;
};

static void log_next(struct log *log, const struct mprof_sexp *s, enum mprof_status status,
		     const struct mprof_event *event)
{
	char line[MPROF_TEXT_FIXED_MAX];
	size_t n;

	if (log->used + 4096 > sizeof(log->text))
		return;
	if (status == MPROF_CORRUPT) {
		log->used += mprof_damage_text(mprof_sexp_damage(s), log->text + log->used, 300);
	} else {
		n = mprof_event_text(&event->raw, line);
		log->used += (size_t)snprintf(log->text + log->used, 2000, "@%zu %.*s%s", (size_t)event->offset, (int)n,
					      line, event->raw.text ? event->raw.text : "");
	}
	log->text[log->used++] = '\n';
}

static void drain(struct mprof_sexp *s, struct log *log, enum mprof_status stop)
{
	struct mprof_event event;
	enum mprof_status status;

	while ((status = mprof_sexp_next(s, &event)) != stop) {
		if (!CHECK(status == MPROF_OK || status == MPROF_CORRUPT))
			return;
		log_next(log, s, status, &event);
	}
}

/*
 * Read TEXT in pieces of STEP bytes, each of them in memory of its own. Return what was read as
 * text.
 */
static const char *read_by(struct log *log, const char *text, size_t len, size_t step)
{
	struct mprof_sexp *s = mprof_sexp_new();
	size_t at, n;

	log->used = 0;
	for (at = 0; at < len; at += n) {
		char *piece;

		n = len - at < step ? len - at : step;
		piece = malloc(n);
		memcpy(piece, text + at, n);
		mprof_sexp_feed(s, piece, n);
		drain(s, log, MPROF_MORE);
		free(piece);
	}
	mprof_sexp_finish(s);
	drain(s, log, MPROF_END);
	mprof_sexp_free(s);
	log->text[log->used] = 0;
	return log->text;
}

/* Check that TEXT is read as WANT, in pieces of any size. */
static void check(const char *text, const char *want)
{
	static struct log log;
	size_t step, len = strlen(text);

	for (step = 1; step <= len + 1; step++)
		if (!CHECK_EQ_STR(read_by(&log, text, len, step), want))
			return;
}

static void test_operations(void)
{
	check("((time 8249.521319)(op(Creates 0 1 Task)))\n", "@0 8249.521319000 creates parent=0 child=1 type=Task\n");
	check("((time 1)(op(Creates 0 1)))\n", "@0 1.000000000 creates parent=0 child=1 type=Unknown\n");
	check("((time 1)(op(Creates 0 1 Strange)))", "@0 1.000000000 creates parent=0 child=1 type=Unknown\n");
	check("((time 1.5)(op(Reads 3 -1)))", "@0 1.500000000 read reader=3 source=-1\n");
	check("((time 1)(op(Resolves 3 4())))", "@0 1.000000000 fulfills resolver=3 resolvee=4\n");
	check("((time 1)(op(Resolves 3 4(Not_found))))",
	      "@0 1.000000000 fails resolver=3 resolvee=4 exn=\"Not_found\n");
	check("((time 1)(op(Resolves 3 4(\"E(\\\"x\\\")\"))))",
	      "@0 1.000000000 fails resolver=3 resolvee=4 exn=\"E(\"x\")\n");
	check("((time 1)(op(Resolves 3 4((Failure \"a)b\")))))",
	      "@0 1.000000000 fails resolver=3 resolvee=4 exn=\"(Failure \"a)b\")\n");
	check("((time 1)(op(Becomes 5 6)))", "@0 1.000000000 becomes thread=5 main=6\n");
	check("((time 1)(op(Label 7 sleep)))", "@0 1.000000000 label thread=7 label=\"sleep\n");
	check("((time 1)(op(Label 7\"a \\065\\x42\\n\\\\\")))", "@0 1.000000000 label thread=7 label=\"a AB\n\\\n");
	check("((time 1)(op(Switch -1)))", "@0 1.000000000 switch thread=-1\n");
	check("((time 1)(op(Gc 0.000012)))", "@0 1.000000000 gc duration=0.000012000\n");
	check("((time 1)(op(Gc 1.2e-05)))", "@0 1.000000000 gc duration=0.000012000\n");
	check("((time 1)(op(Increases 7 gntref -3)))", "@0 1.000000000 increase thread=7 amount=-3 counter=\"gntref\n");
}

static void test_times(void)
{
	check("((time 1413637708.833401)(op(Switch 0)))", "@0 1413637708.833401000 switch thread=0\n");
	check("((time 1.123456789499999)(op(Switch 0)))", "@0 1.123456789 switch thread=0\n");
	check("((time 1.123456789500000)(op(Switch 0)))", "@0 1.123456790 switch thread=0\n");
	check("((time 1.9999999999)(op(Switch 0)))", "@0 2.000000000 switch thread=0\n");
	check("((time 18000000000)(op(Switch 0)))", "@0 18000000000.000000000 switch thread=0\n");
}

static void test_lines(void)
{
	check("", "");
	check("\n  \n", "");
	check("((time 1)(op(Switch 0)))\n\n ( (time 2) (op (Switch 1)) ) \r\n",
	      "@0 1.000000000 switch thread=0\n@26 2.000000000 switch thread=1\n");
	check("((time 1)(op(Switch 0)))\nnonsense\n((time 2)(op(Switch 1)))",
	      "@0 1.000000000 switch thread=0\nline 2 at byte 25: not an event; 9 bytes skipped\n"
	      "@34 2.000000000 switch thread=1\n");
}

/* None of these lines is an event. No byte behind their end is read. */
static void test_damaged(void)
{
	static const char *const bad[] = {
		"(",
		"((time",
		"((time 1)",
		"((time 1)(op(Switch 0))",
		"((time 1)(op(Switch 0))))",
		"((time 1)(op(Switch)))",
		"((time 1)(op(Switch 0 1)))",
		"((time 1)(op(Swatch 0)))",
		"((time -1)(op(Switch 0)))",
		"((time x)(op(Switch 0)))",
		"((time nan)(op(Switch 0)))",
		"((time 99999999999999999999)(op(Switch 0)))",
		"((time 1)(op(Switch 99999999999999999999)))",
		"((time 1)(op(Switch 1x)))",
		"((time 1)(op(Label 1)))",
		"((time 1)(op(Label 1 a b)))",
		"((time 1)(op(Label 1(a))))",
		"((time 1)(op(Label 1\"a)))",
		"((time 1)(op(Label 1\"a\\",
		"((time 1)(op(Label 1\"\\9\")))",
		"((time 1)(op(Label 1\"\\999\")))",
		"((time 1)(op(Label 1\"\\xg0\")))",
		"((time 1)(op(Resolves 1 2)))",
		"((time 1)(op(Resolves 1 2(a)))",
		"((time 1)(op(Resolves 1 2 a)))",
		"((time 1)(op(Creates 1 2 3 4 5 6)))",
		"((time 1)(op(Gc)))",
		"((time 1)(op(Increases 1 2)))",
		"((time 1)(op(Increases 1 a b)))",
		"((time 1e999)(op(Switch 0)))",
	};
	size_t i;
	char want[100];

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(want, sizeof(want), "line 1 at byte 0: not an event; %zu bytes skipped\n", strlen(bad[i]));
		check(bad[i], want);
	}
}

static void test_long_line(void)
{
	static struct log log;
	size_t len = (3u << 20) + 26;
	char *text = malloc(len);

	memset(text, 'x', len);
	text[(3u << 20) - 1] = '\n';
	memcpy(text + (3u << 20), "((time 1)(op(Switch 0)))\n\n", 26);
	CHECK_EQ_STR(read_by(&log, text, len, len),
		     "line 1 at byte 0: not an event; 3145728 bytes skipped\n@3145728 1.000000000 switch thread=0\n");
	CHECK_EQ_STR(read_by(&log, text, len, 4096),
		     "line 1 at byte 0: not an event; 3145728 bytes skipped\n@3145728 1.000000000 switch thread=0\n");
	free(text);
}

static void test_begins(void)
{
	CHECK(mprof_sexp_begins("((time", 6));
	CHECK(mprof_sexp_begins(" \n((time", 8));
	CHECK(!mprof_sexp_begins("", 0));
	CHECK(!mprof_sexp_begins("\xc1\x1f\xfc\xc1", 4));
	CHECK(mprof_sexp_free(NULL) == NULL);
}

int main(void)
{
	CHECK_RUN(test_operations);
	CHECK_RUN(test_times);
	CHECK_RUN(test_lines);
	CHECK_RUN(test_damaged);
	CHECK_RUN(test_long_line);
	CHECK_RUN(test_begins);
	return check_done();
}
