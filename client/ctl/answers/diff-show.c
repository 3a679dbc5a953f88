/*
 * Sentences made of the JSON, so that both say the same.
 *
 * Read by somebody who was woken for it: what never resolved comes first, with the step at which the runs part; of everything there are
 * few, and the number of the rest.  Times are those since each trace's first event, because only these can be compared.
 */
#include <stdio.h>
#include <string.h>

#include "diff-show.h"
#include "diff-words.h"
#include "table.h"
#include "words.h"

/* So many of each kind are told. */
#define OUTCOMES_MAX 5u
#define OTHERS_MAX   8u

/* ---- outcomes */

/* How a thread ended in a run where it did. */
static void show_end(const char *run, const json_t *life)
{
	const json_t *end = words_get(life, "end");
	const char *failure = json_string_value(words_get(end, "failure"));

	printf("  in the %s run it %s ", run, failure ? "failed" : "was resolved");
	put_ns(life, "lasted_ns");
	fputs(" after its creation, at ", stdout);
	put_since(end);
	if (json_object_size(words_get(end, "by")) &&
	    words_count(words_get(end, "by"), "thread") != words_count(life, "thread")) {
		fputs(", by ", stdout);
		put_who(words_get(end, "by"));
	}
	if (failure) {
		fputs(", with \"", stdout);
		put_safe(failure);
		putchar('"');
	}
	putchar('\n');
}

/* On what it waits in a run where it does, and how that ended in the other. */
static void show_wait(const char *run, const char *other, const json_t *outcome, const json_t *life)
{
	const json_t *root = words_get(outcome, "root"), *like = words_get(outcome, "root_counterpart");
	const json_t *end = words_get(like, "end"), *missed = words_get(outcome, "missed");

	printf("  in the %s run it waits", run);
	if (json_object_size(root) && words_count(root, "thread") != words_count(life, "thread")) {
		fputs(" on ", stdout);
		put_who(root);
	}
	fputs(", for the ", stdout);
	put_ns(life, "lasted_ns");
	puts(" to the end of the trace");
	if (json_object_size(end) && words_count(root, "thread") != words_count(life, "thread")) {
		printf("  in the %s run that was resolved at ", other);
		put_since(end);
		fputs(", by ", stdout);
		put_who(words_get(end, "by"));
		putchar('\n');
	}
	if (json_object_size(missed)) {
		fputs("  missed wake-up: ", stdout);
		put_who(words_get(outcome, "condition"));
		fputs(" was signalled by ", stdout);
		put_who(words_get(missed, "by"));
		fputs(" at ", stdout);
		put_since(missed);
		fputs(", when nobody waited for it yet\n", stdout);
	}
}

/* What happened, to whom, and to how many others. */
static void show_victim(const json_t *outcome, const char *what)
{
	json_int_t threads = words_count(outcome, "threads"), should = words_count(outcome, "should_resolve");

	printf("%s: ", what);
	put_both(words_get(outcome, "good"), words_get(outcome, "bad"));
	if (should)
		fputs(", which should resolve", stdout);
	if (threads > 1) {
		fputs(", and for the same reason ", stdout);
		put_count(threads - 1, "thread");
		fputs(" more", stdout);
		if (should > 1)
			printf(" (%" JSON_INTEGER_FORMAT " that should)", should - 1);
	}
	putchar('\n');
}

static void show_outcome(const json_t *outcome)
{
	static const struct {
		const char *name, *what;
	} kinds[] = {
		{"bad-waits", "never resolved in the bad run"},
		{"bad-fails", "failed in the bad run only"},
		{"good-waits", "never resolved in the good run"},
		{"good-fails", "failed in the good run only"},
	};
	const json_t *good = words_get(outcome, "good"), *bad = words_get(outcome, "bad");
	const json_t *parting = words_get(outcome, "parting");
	size_t i;

	for (i = 0; i < 4; i++)
		if (strcmp(words_string(outcome, "outcome"), kinds[i].name) == 0)
			show_victim(outcome, kinds[i].what);
	if (json_object_size(words_get(good, "end")))
		show_end("good", good);
	else if (json_object_size(good))
		show_wait("good", "bad", outcome, good);
	if (json_object_size(words_get(bad, "end")))
		show_end("bad", bad);
	else if (json_object_size(bad))
		show_wait("bad", "good", outcome, bad);
	if (json_object_size(parting)) {
		fputs("  the runs part at ", stdout);
		show_parting(parting);
	}
	putchar('\n');
}

/* ---- the rest */

static void show_rest(json_int_t n, const char *noun)
{
	if (n <= 0)
		return;
	fputs("  and ", stdout);
	put_count(n, noun);
	puts("; see --json");
}

static json_int_t left_out(const json_t *json, const char *key, size_t shown)
{
	return words_count(words_get(json, "left_out"), key) + (json_int_t)json_array_size(words_get(json, key)) -
	       (json_int_t)shown;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void show_outcomes(const json_t *json)
{
	const json_t *outcomes = words_get(json, "outcomes");
	size_t n = least(json_array_size(outcomes), OUTCOMES_MAX), i;
	json_int_t rest = left_out(json, "outcomes", n);

	for (i = 0; i < n; i++)
		show_outcome(json_array_get(outcomes, i));
	if (rest > 0) {
		fputs("threads end otherwise for ", stdout);
		put_count(rest, "other reason");
		puts("; see --json\n");
	}
}

/* The first parting, where it was not told already. */
static void show_first(const json_t *json)
{
	const json_t *first = words_get(json, "first_parting"), *outcomes = words_get(json, "outcomes");
	size_t i;

	if (!json_object_size(first))
		return;
	for (i = 0; i < least(json_array_size(outcomes), OUTCOMES_MAX); i++)
		if (json_equal(first, words_get(json_array_get(outcomes, i), "parting")))
			return;
	fputs(json_array_size(outcomes) ? "the first step that differs at all, which need not be why, is of "
					: "the order of steps first parts at ",
	      stdout);
	show_parting(first);
	if (words_count(json, "partings") > 1) {
		fputs("  in all ", stdout);
		put_count(words_count(json, "partings"), "thread");
		puts(" part from their counterparts");
	}
	putchar('\n');
}

static void show_slower(const json_t *json)
{
	const json_t *slower = words_get(json, "slower");
	size_t n = least(json_array_size(slower), OTHERS_MAX), i;
	double times = (double)words_count(json, "slower_percent") / 100;

	if (!n)
		return;
	printf("took much longer in the bad run (%g times as long or more, and ", times);
	put_ns(json, "slower_ns");
	puts(" or more):");
	for (i = 0; i < n; i++) {
		const json_t *one = json_array_get(slower, i);

		fputs("  ", stdout);
		put_ns(words_get(one, "good"), "lasted_ns");
		fputs(", then ", stdout);
		put_ns(words_get(one, "bad"), "lasted_ns");
		fputs(": ", stdout);
		put_both(words_get(one, "good"), words_get(one, "bad"));
		if (words_count(one, "followers")) {
			fputs("; with it ", stdout);
			put_count(words_count(one, "followers"), "thread");
			fputs(" that read it", stdout);
		}
		putchar('\n');
	}
	show_rest(left_out(json, "slower", n), "other");
	putchar('\n');
}

static void show_lone(const json_t *json)
{
	const json_t *lone = words_get(json, "lone");
	size_t n = least(json_array_size(lone), OTHERS_MAX), i;

	if (!n)
		return;
	puts("threads without a counterpart, good and bad:");
	for (i = 0; i < n; i++) {
		const json_t *one = json_array_get(lone, i);
		const char *label = json_string_value(words_get(one, "label"));

		printf("  %6" JSON_INTEGER_FORMAT " %6" JSON_INTEGER_FORMAT "  %s", words_count(one, "good"),
		       words_count(one, "bad"), words_string(one, "type"));
		if (label) {
			fputs(", \"", stdout);
			put_safe(label);
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
		printf("%" JSON_INTEGER_FORMAT, words_count(counter, key));
	else
		putchar('-');
}

static void show_counters(const json_t *json)
{
	const json_t *counters = words_get(json, "counters");
	size_t n = least(json_array_size(counters), OTHERS_MAX), i;

	if (!n)
		return;
	puts("counters, good and bad:");
	for (i = 0; i < n; i++) {
		const json_t *one = json_array_get(counters, i), *good = words_get(one, "good");
		const json_t *bad = words_get(one, "bad");

		fputs("  ", stdout);
		put_safe(words_string(one, "counter"));
		fputs(": last ", stdout);
		put_value(good, "last");
		fputs(" and ", stdout);
		put_value(bad, "last");
		fputs(", largest ", stdout);
		put_value(good, "max");
		fputs(" and ", stdout);
		put_value(bad, "max");
		putchar('\n');
	}
	show_rest(left_out(json, "counters", n), "other");
	putchar('\n');
}

static void show_run(const char *name, const json_t *run)
{
	printf("%-5s ", name);
	put_safe(words_string(run, "trace"));
	fputs(": ", stdout);
	put_count(words_count(run, "threads"), "thread");
	fputs(" in ", stdout);
	put_span(words_time(run, "first_ns"), words_time(run, "last_ns"));
	if (words_count(run, "lost_packets"))
		printf("; %" JSON_INTEGER_FORMAT " packets are missing, and what happened there is not known",
		       words_count(run, "lost_packets"));
	putchar('\n');
}

static void show_verdict(const json_t *json)
{
	if (json_is_true(words_get(json, "alike")) && !json_array_size(words_get(json, "slower")))
		puts("the two are alike: the same threads, each with the same steps in the same order");
	else if (json_is_true(words_get(json, "alike")))
		puts("the two are alike but for the time that they took");
	else if (!json_array_size(words_get(json, "outcomes")))
		puts("no thread ended otherwise in one run than in the other, as far as the traces go");
	if (words_count(json, "undue")) {
		put_count(words_count(json, "undue"), "thread");
		puts(" were not resolved in one run because its trace ended first; that is not counted");
	}
}

int diff_show(const json_t *json)
{
	show_run("good", words_get(json, "good"));
	show_run("bad", words_get(json, "bad"));
	printf("      ");
	put_count(words_count(json, "counterparts"), "thread");
	puts(" are in both\n");
	show_outcomes(json);
	show_first(json);
	show_slower(json);
	show_lone(json);
	show_counters(json);
	show_verdict(json);
	return stdout_verdict();
}
