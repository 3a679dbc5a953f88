/*
 * Print the answer of the verb `diff` as sentences. The input is the JSON answer, so both outputs
 * agree.
 *
 * The reader is a person on call. So threads that never resolved come first, with the step at
 * which the two runs diverge. Each list is short and gives the number of omitted entries. By
 * default times count from the first event of each trace, because the guests' clocks cannot be
 * compared.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "diff-answer.h"
#include "json.h"
#include "table.h"
#include "thread-json.h"

/* Print threads, their counterparts in the other run, and the steps at which the two diverge. */

/* Print the duration under KEY of OBJECT. */
static void put_ns(const json_t *object, const char *key)
{
	print_span(0, answer_time(object, key));
}

/*
 * Write the time of OBJECT, which is of RUN, to TEXT (TIMING_TEXT_MAX bytes). By default it counts
 * from the first event of the trace.
 */
static void time_text_of(const struct diff_run *run, const json_t *object, char *text)
{
	char span[SPAN_TEXT_MAX];

	if (run->timing->kind != TIME_RELATIVE)
		timing_text(run->timing, answer_time(object, "time_ns"), text);
	else
		snprintf(text, TIMING_TEXT_MAX, "+%s",
			 span_text(answer_time(object, "since_start_ns"), span, sizeof(span)));
}

static void put_when(const struct diff_run *run, const json_t *object)
{
	char text[TIMING_TEXT_MAX];

	time_text_of(run, object, text);
	fputs(text, stdout);
}

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = answer_get(a, key), *y = answer_get(b, key);

	return (!x && !y) || json_equal(x, y);
}

/*
 * Print a thread of the good run and its counterpart in the bad run. If both look the same, print
 * one. One of the two may be JSON null.
 */
static void put_both(const json_t *good, const json_t *bad)
{
	if (!json_object_size(bad) || !json_object_size(good)) {
		print_thread(json_object_size(good) ? good : bad);
		fputs(json_object_size(good) ? ", which the bad run does not have"
					     : ", which the good run does not have",
		      stdout);
		return;
	}
	print_thread(good);
	if (same_text(good, bad, "thread") && same_text(good, bad, "type") && same_text(good, bad, "label") &&
	    same_text(good, bad, "stream"))
		return;
	fputs(", in the bad run ", stdout);
	print_thread(bad);
}

static void put_step(const json_t *step)
{
	static const struct {
		const char *name, *words, *self;
	} steps[] = {
		{"creates", "creates ", NULL},		 {"signals", "signals ", "signals itself"},
		{"signalled", "is signalled by ", NULL}, {"resolves", "resolves ", "is resolved"},
		{"resolved", "is resolved by ", NULL},	 {"fails", "lets fail ", "fails"},
		{"failed", "is failed by ", NULL},	 {"reads", "reads ", "reads itself"},
		{"read", "is read by ", NULL},		 {"awaits", "waits on ", "waits on itself"},
		{"awaited", "is waited on by ", NULL},	 {"becomes", "goes on as ", NULL},
	};
	const char *name = answer_string(step, "step");
	size_t i;

	if (strcmp(name, "label") == 0) {
		fputs("gets the label \"", stdout);
		print_safe(answer_string(step, "label"));
		putchar('"');
		return;
	}
	for (i = 0; i < ARRAY_SIZE(steps) && strcmp(name, steps[i].name) != 0; i++)
		;
	if (i == ARRAY_SIZE(steps))
		return;
	if (steps[i].self && json_is_true(answer_get(step, "self"))) {
		fputs(steps[i].self, stdout);
		return;
	}
	fputs(steps[i].words, stdout);
	print_thread(answer_get(step, "other"));
}

/* Print STEP of RUN as a line that begins with HEAD. */
static void show_step(const char *head, const struct diff_run *run, const json_t *step)
{
	char when[TIMING_TEXT_MAX];

	time_text_of(run, step, when);
	printf("    %-6s%12s  ", head, when);
	put_step(step);
	putchar('\n');
}

/*
 * Print the steps of SIDE, those that RUN takes after the two runs differ. If the run OTHER takes the
 * first of these steps later, LATER is that step of OTHER; else LATER is empty. Print the time of
 * LATER, and the step itself if it names another thread.
 */
static void show_next(const struct diff_run *run, const json_t *side, const json_t *later, const struct diff_run *other)
{
	const json_t *next = answer_get(side, "next");

	if (!json_array_size(next))
		printf("    %-6s nothing more\n", run->side);
	for (size_t i = 0; i < json_array_size(next); i++) {
		show_step(i ? "" : run->side, run, json_array_get(next, i));
		if (i || !json_object_size(later))
			continue;
		printf("    %-6s%13s  (in the %s run at ", "", "", other->side);
		put_when(other, later);
		if (!json_equal(answer_get(later, "other"), answer_get(json_array_get(next, 0), "other"))) {
			fputs(": ", stdout);
			put_step(later);
		}
		puts(")");
	}
}

/*
 * Print where two counterparts diverge. Complete the current line with both threads, then print a
 * line for each step.
 */
static void show_divergence(const struct diff_run *runs, const json_t *divergence)
{
	const json_t *good = answer_get(divergence, "good"), *bad = answer_get(divergence, "bad");
	const json_t *common = answer_get(good, "common");

	put_both(answer_get(good, "thread"), answer_get(bad, "thread"));
	puts(":");
	if (json_object_size(common)) {
		show_step("both", &runs[0], common);
		if (!same_text(common, answer_get(bad, "common"), "since_start_ns")) {
			printf("    %-6s%13s  (in the bad run at ", "", "");
			put_when(&runs[1], answer_get(bad, "common"));
			puts(")");
		}
	}
	show_next(&runs[0], good, answer_get(bad, "later"), &runs[1]);
	show_next(&runs[1], bad, answer_get(good, "later"), &runs[0]);
}

/* Most entries that are printed of each kind. */
#define OUTCOMES_MAX 5u
#define OTHERS_MAX   8u

/* ---- outcomes */

/* Print how a thread ended in RUN. */
static void show_end(const struct diff_run *run, const json_t *life)
{
	const json_t *end = answer_get(life, "end");
	const char *failure = json_string_value(answer_get(end, "failure"));

	printf("  in the %s run it %s ", run->side, failure ? "failed" : "was resolved");
	put_ns(life, "lasted_ns");
	fputs(" after its creation, at ", stdout);
	put_when(run, end);
	if (json_object_size(answer_get(end, "by")) &&
	    answer_count(answer_get(end, "by"), "thread") != answer_count(life, "thread")) {
		fputs(", by ", stdout);
		print_thread(answer_get(end, "by"));
	}
	if (failure) {
		fputs(", with \"", stdout);
		print_safe(failure);
		putchar('"');
	}
	putchar('\n');
}

/* Print what a thread waits on in RUN, and how the same wait ended in the run OTHER. */
static void show_wait(const struct diff_run *run, const struct diff_run *other, const json_t *outcome,
		      const json_t *life)
{
	const json_t *root = answer_get(outcome, "root"), *like = answer_get(outcome, "root_counterpart");
	const json_t *end = answer_get(like, "end"), *missed = answer_get(outcome, "missed");

	printf("  in the %s run it waits", run->side);
	if (json_object_size(root) && answer_count(root, "thread") != answer_count(life, "thread")) {
		fputs(" on ", stdout);
		print_thread(root);
	}
	fputs(", for the ", stdout);
	put_ns(life, "lasted_ns");
	puts(" to the end of the trace");
	if (json_object_size(end) && answer_count(root, "thread") != answer_count(life, "thread")) {
		printf("  in the %s run that was resolved at ", other->side);
		put_when(other, end);
		fputs(", by ", stdout);
		print_thread(answer_get(end, "by"));
		putchar('\n');
	}
	if (json_object_size(missed)) {
		fputs("  missed wake-up: ", stdout);
		print_thread(answer_get(outcome, "condition"));
		fputs(" was signalled by ", stdout);
		print_thread(answer_get(missed, "by"));
		fputs(" at ", stdout);
		put_when(run, missed);
		fputs(", when nobody waited for it yet\n", stdout);
	}
}

/* Print WHAT happened, the thread to which it happened, and the number of other such threads. */
static void show_victim(const json_t *outcome, const char *what)
{
	json_int_t threads = answer_count(outcome, "threads"), should = answer_count(outcome, "should_resolve");

	printf("%s: ", what);
	put_both(answer_get(outcome, "good"), answer_get(outcome, "bad"));
	if (should)
		fputs(", which should resolve", stdout);
	if (threads > 1) {
		fputs(", and for the same reason ", stdout);
		print_count(threads - 1, "thread");
		fputs(" more", stdout);
		if (should > 1)
			printf(" (%" JSON_INTEGER_FORMAT " that should)", should - 1);
	}
	putchar('\n');
}

static void show_outcome(const struct diff_run *runs, const json_t *outcome)
{
	static const struct {
		const char *name, *what;
	} kinds[] = {
		{"bad-waits", "never resolved in the bad run"},
		{"bad-fails", "failed in the bad run only"},
		{"good-waits", "never resolved in the good run"},
		{"good-fails", "failed in the good run only"},
	};
	const json_t *good = answer_get(outcome, "good"), *bad = answer_get(outcome, "bad");
	const json_t *divergence = answer_get(outcome, "parting");

	for (size_t i = 0; i < 4; i++)
		if (strcmp(answer_string(outcome, "outcome"), kinds[i].name) == 0)
			show_victim(outcome, kinds[i].what);
	if (json_object_size(answer_get(good, "end")))
		show_end(&runs[0], good);
	else if (json_object_size(good))
		show_wait(&runs[0], &runs[1], outcome, good);
	if (json_object_size(answer_get(bad, "end")))
		show_end(&runs[1], bad);
	else if (json_object_size(bad))
		show_wait(&runs[1], &runs[0], outcome, bad);
	if (json_object_size(divergence)) {
		fputs("  the runs part at ", stdout);
		show_divergence(runs, divergence);
	}
	putchar('\n');
}

/* ---- omitted entries and other differences */

static void show_rest(json_int_t n, const char *noun)
{
	if (n <= 0)
		return;
	fputs("  and ", stdout);
	print_count(n, noun);
	puts("; see --json");
}

static json_int_t left_out(const json_t *json, const char *key, size_t shown)
{
	return answer_count(answer_get(json, "left_out"), key) + (json_int_t)json_array_size(answer_get(json, key)) -
	       (json_int_t)shown;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void show_outcomes(const struct diff_run *runs, const json_t *json)
{
	const json_t *outcomes = answer_get(json, "outcomes");
	size_t n = least(json_array_size(outcomes), OUTCOMES_MAX);
	json_int_t rest = left_out(json, "outcomes", n);

	for (size_t i = 0; i < n; i++)
		show_outcome(runs, json_array_get(outcomes, i));
	if (rest > 0) {
		fputs("threads end differently for ", stdout);
		print_count(rest, "other reason");
		puts("; see --json\n");
	}
}

/* Print the first divergence, unless one of the printed outcomes contains it. */
static void show_first(const struct diff_run *runs, const json_t *json)
{
	const json_t *first = answer_get(json, "first_parting"), *outcomes = answer_get(json, "outcomes");

	if (!json_object_size(first))
		return;
	for (size_t i = 0; i < least(json_array_size(outcomes), OUTCOMES_MAX); i++)
		if (json_equal(first, answer_get(json_array_get(outcomes, i), "parting")))
			return;
	fputs(json_array_size(outcomes) ? "the first step that differs at all, which may not be the cause, is of "
					: "the order of steps first parts at ",
	      stdout);
	show_divergence(runs, first);
	if (answer_count(json, "partings") > 1) {
		fputs("  in all ", stdout);
		print_count(answer_count(json, "partings"), "thread");
		puts(" part from their counterparts");
	}
	putchar('\n');
}

static void show_slower(const json_t *json)
{
	const json_t *slower = answer_get(json, "slower");
	size_t n = least(json_array_size(slower), OTHERS_MAX);
	double times = (double)answer_count(json, "slower_percent") / 100;

	if (!n)
		return;
	printf("took much longer in the bad run (%g times as long or more, and ", times);
	put_ns(json, "slower_ns");
	puts(" or more):");
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(slower, i);

		fputs("  ", stdout);
		put_ns(answer_get(one, "good"), "lasted_ns");
		fputs(", then ", stdout);
		put_ns(answer_get(one, "bad"), "lasted_ns");
		fputs(": ", stdout);
		put_both(answer_get(one, "good"), answer_get(one, "bad"));
		if (answer_count(one, "followers")) {
			fputs("; with it ", stdout);
			print_count(answer_count(one, "followers"), "thread");
			fputs(" that read it", stdout);
		}
		putchar('\n');
	}
	show_rest(left_out(json, "slower", n), "other");
	putchar('\n');
}

static void show_unmatched(const json_t *json)
{
	const json_t *unmatched = answer_get(json, "lone");
	size_t n = least(json_array_size(unmatched), OTHERS_MAX);

	if (!n)
		return;
	puts("threads without a counterpart, good and bad:");
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(unmatched, i);
		const char *label = json_string_value(answer_get(one, "label"));

		printf("  %6" JSON_INTEGER_FORMAT " %6" JSON_INTEGER_FORMAT "  %s", answer_count(one, "good"),
		       answer_count(one, "bad"), answer_string(one, "type"));
		if (label) {
			fputs(", \"", stdout);
			print_safe(label);
			putchar('"');
		}
		putchar('\n');
	}
	show_rest(left_out(json, "lone", n), "other kind");
	putchar('\n');
}

static void put_value(const json_t *counter, const char *key)
{
	if (json_object_size(counter))
		printf("%" JSON_INTEGER_FORMAT, answer_count(counter, key));
	else
		putchar('-');
}

static void show_counters(const json_t *json)
{
	const json_t *counters = answer_get(json, "counters");
	size_t n = least(json_array_size(counters), OTHERS_MAX);

	if (!n)
		return;
	puts("counters, good and bad:");
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(counters, i), *good = answer_get(one, "good");
		const json_t *bad = answer_get(one, "bad");
		const char *final;

		fputs("  ", stdout);
		print_safe(answer_string(one, "counter"));
		final = json_object_get(good, "sum") || json_object_get(bad, "sum") ? "sum" : "last";
		printf(": %s ", final);
		put_value(good, final);
		fputs(" and ", stdout);
		put_value(bad, final);
		fputs(", largest ", stdout);
		put_value(good, "max");
		fputs(" and ", stdout);
		put_value(bad, "max");
		putchar('\n');
	}
	show_rest(left_out(json, "counters", n), "other");
	putchar('\n');
}

static void show_run(const struct diff_run *side, const json_t *run)
{
	printf("%-5s ", side->side);
	print_safe(answer_string(run, "trace"));
	fputs(": ", stdout);
	print_count(answer_count(run, "threads"), "thread");
	fputs(" in ", stdout);
	print_span(answer_time(run, "first_ns"), answer_time(run, "last_ns"));
	if (side->timing->kind != TIME_RELATIVE) {
		fputs(" from ", stdout);
		timing_print(side->timing, answer_time(run, "first_ns"));
	}
	if (answer_count(run, "lost_packets")) {
		fputs("; ", stdout);
		print_missing(answer_count(run, "lost_packets"));
		fputs(", and what happened there is unknown", stdout);
	}
	putchar('\n');
}

/* Return whether packets of one of the runs are missing, so that the runs can differ in these. */
static bool lacks_packets(const json_t *json)
{
	return answer_count(answer_get(json, "good"), "lost_packets") ||
	       answer_count(answer_get(json, "bad"), "lost_packets");
}

static void show_verdict(const json_t *json)
{
	if (json_is_true(answer_get(json, "alike")) && lacks_packets(json))
		puts("no difference is in the traces; the two may differ in the missing packets");
	else if (json_is_true(answer_get(json, "alike")) && !json_array_size(answer_get(json, "slower")))
		puts("the two are alike: the same threads, each with the same steps in the same order");
	else if (json_is_true(answer_get(json, "alike")))
		puts("the two are alike but for the time that they took");
	else if (!json_array_size(answer_get(json, "outcomes")))
		puts("no thread ended differently in the two runs, as far as the traces go");
	if (answer_count(json, "undue")) {
		print_count(answer_count(json, "undue"), "thread");
		puts(" were not resolved in one run because its trace ended first; that is not counted");
	}
}

int diff_show(const json_t *json, const struct diff_run runs[2])
{
	show_run(&runs[0], answer_get(json, "good"));
	show_run(&runs[1], answer_get(json, "bad"));
	printf("      ");
	print_count(answer_count(json, "counterparts"), "thread");
	puts(" are in both\n");
	show_outcomes(runs, json);
	show_first(runs, json);
	show_slower(json);
	show_unmatched(json);
	show_counters(json);
	show_verdict(json);
	return stdout_verdict();
}
