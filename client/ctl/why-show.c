/* Sentences made of the JSON, so that both say the same. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "scope.h"
#include "span.h"
#include "table.h"
#include "why-show.h"

static const json_t *get(const json_t *json, const char *key)
{
	return json_object_get(json, key);
}

static json_int_t count(const json_t *json, const char *key)
{
	return json_integer_value(get(json, key));
}

static const char *string(const json_t *json, const char *key)
{
	const char *text = json_string_value(get(json, key));

	return text ? text : "";
}

static uint64_t time_of(const json_t *json, const char *key)
{
	return strtoull(string(json, key), NULL, 10);
}

static void put_time(uint64_t ns)
{
	printf("%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static void put_span(uint64_t from, uint64_t to)
{
	char span[SPAN_TEXT_MAX];

	fputs(span_text(to > from ? to - from : 0, span, sizeof(span)), stdout);
}

static void put_safe(const char *text)
{
	SCOPED(freep) char *safe = printable(text, strlen(text));

	fputs(safe ? safe : "?", stdout);
}

/* `4453 (Condition, "Wait for ARP response")`; what is no thread has no id. */
static void put_who(const json_t *who)
{
	const char *label = json_string_value(get(who, "label")), *stream = json_string_value(get(who, "stream"));

	if (!get(who, "thread")) {
		fputs("the program itself", stdout);
		return;
	}
	printf("%" JSON_INTEGER_FORMAT " (%s", count(who, "thread"), string(who, "type"));
	if (label) {
		fputs(", \"", stdout);
		put_safe(label);
		putchar('"');
	}
	if (stream) {
		fputs(", of ", stdout);
		put_safe(stream);
	}
	putchar(')');
}

/* Who, and when. */
static void put_deed(const json_t *deed)
{
	put_who(deed);
	fputs(" at ", stdout);
	put_time(time_of(deed, "time_ns"));
}

static void show_resolved(const json_t *answer)
{
	const json_t *resolution = get(answer, "resolution");
	const char *failure = json_string_value(get(resolution, "failure"));

	fputs(failure ? "  failed by " : "  was resolved by ", stdout);
	put_deed(resolution);
	fputs(", ", stdout);
	put_span(time_of(answer, "created_ns"), time_of(resolution, "time_ns"));
	fputs(" after its creation", stdout);
	if (failure) {
		fputs(", with \"", stdout);
		put_safe(failure);
		putchar('"');
	}
	putchar('\n');
}

static void show_title(const json_t *answer)
{
	bool resolved = strcmp(string(answer, "verdict"), "resolved") == 0;

	fputs("thread ", stdout);
	put_who(answer);
	if (count(answer, "asked") != count(answer, "thread"))
		printf(", which %" JSON_INTEGER_FORMAT " has become,", count(answer, "asked"));
	if (!resolved)
		fputs(json_is_true(get(answer, "should_resolve")) ? " should resolve and never did"
								  : " is not resolved",
		      stdout);
	putchar('\n');
	fputs("  ", stdout);
	put_time(time_of(answer, "created_ns"));
	if (json_is_true(get(answer, "preexisting"))) {
		puts("  was there before");
	} else if (json_is_null(get(answer, "creator"))) {
		puts("  was created");
	} else {
		fputs("  was created by ", stdout);
		put_who(get(answer, "creator"));
		putchar('\n');
	}
}

static void show_chain(const json_t *answer)
{
	const json_t *chain = get(answer, "chain");
	size_t i, n = json_array_size(chain);

	for (i = 0; i < n; i++) {
		const json_t *link = json_array_get(chain, i);

		fputs("  ", stdout);
		put_time(time_of(link, "since_ns"));
		fputs(i ? "  which waits on " : "  waits on ", stdout);
		put_who(link);
		putchar('\n');
	}
	if ((size_t)count(answer, "links") > n)
		printf("  and so on over %" JSON_INTEGER_FORMAT " threads\n", count(answer, "links") - (json_int_t)n);
}

static void say_missed_signal(const json_t *answer)
{
	const json_t *root = get(answer, "root"), *missed = get(answer, "missed");

	fputs("missed wake-up: ", stdout);
	put_who(get(answer, "condition"));
	fputs(" was signalled by ", stdout);
	put_deed(missed);
	fputs(", when nobody waited for it. ", stdout);
	put_who(root);
	fputs(" began to wait at ", stdout);
	put_time(time_of(root, "time_ns"));
	fputs(", ", stdout);
	put_span(time_of(missed, "time_ns"), time_of(root, "time_ns"));
	fputs(" too late, and no signal came in the ", stdout);
	put_span(time_of(root, "time_ns"), time_of(answer, "end_ns"));
	puts(" from then to the end of the trace.");
	if (count(answer, "missed_signals") > 1)
		printf("It was the last of %" JSON_INTEGER_FORMAT " signals in a row that nobody waited for.\n",
		       count(answer, "missed_signals"));
}

static void say_missed_resolution(const json_t *answer)
{
	const json_t *root = get(answer, "root");

	fputs("missed wake-up: ", stdout);
	put_who(root);
	fputs(" was resolved by ", stdout);
	put_deed(get(root, "resolution"));
	fputs(", before it was looked at, and nobody has read it since.\n", stdout);
}

static void say_not_woken(const json_t *answer)
{
	const json_t *root = get(answer, "root");

	put_who(root);
	fputs(" was resolved by ", stdout);
	put_deed(get(root, "resolution"));
	fputs(", and what waits on it has not run since, up to ", stdout);
	put_time(time_of(answer, "end_ns"));
	puts(".");
}

/* From when to the end it waits for what. */
static void say_waits(const json_t *answer)
{
	const json_t *root = get(answer, "root"), *condition = get(answer, "condition");

	put_who(root);
	if (!json_is_null(condition) && count(condition, "thread") != count(root, "thread")) {
		fputs(" waits for a signal of ", stdout);
		put_who(condition);
		fputs(" since ", stdout);
	} else {
		fputs(" is open since ", stdout);
	}
	put_time(time_of(root, "time_ns"));
	fputs(", for the ", stdout);
	put_span(time_of(root, "time_ns"), time_of(answer, "end_ns"));
	fputs(" to the end of the trace", stdout);
}

static void say_signalled_since(const json_t *answer)
{
	say_waits(answer);
	printf(". Signalled %" JSON_INTEGER_FORMAT " times since, it was still not resolved; the first was by ",
	       count(answer, "signals_since"));
	put_deed(get(answer, "first_since"));
	puts(".");
}

static void say_never_signalled(const json_t *answer)
{
	say_waits(answer);
	fputs(". None came", stdout);
	if (count(answer, "signals")) {
		fputs("; the last one before, by ", stdout);
		put_deed(get(answer, "last_signal"));
		fputs(", woke another", stdout);
	} else {
		fputs(", nor any before", stdout);
	}
	puts(".");
}

static void say_never_resolved(const json_t *answer)
{
	say_waits(answer);
	puts(", and nothing has resolved it.");
}

static void say_circle(const json_t *answer)
{
	fputs("the chain is a circle: it comes back to ", stdout);
	put_who(get(answer, "root"));
	puts(", so that none of them can ever be resolved by another.");
}

static const struct {
	const char *name;
	void (*say)(const json_t *answer);
} verdicts[] = {
	{"missed-signal", say_missed_signal},
	{"missed-resolution", say_missed_resolution},
	{"not-woken", say_not_woken},
	{"signalled-since", say_signalled_since},
	{"never-signalled", say_never_signalled},
	{"never-resolved", say_never_resolved},
	{"circle", say_circle},
};

/* Who could have resolved it: who signalled, and who resolved the like of it. */
static void show_helpers(const json_t *answer)
{
	const json_t *like = get(answer, "like"), *missed = get(answer, "missed"), *root = get(answer, "root");

	if (json_object_size(missed)) {
		fputs("could have resolved it: ", stdout);
		put_who(missed);
		puts(", by a signal after that time");
	}
	if (json_object_size(like)) {
		fputs("the last one like it, ", stdout);
		put_who(like);
		fputs(", was resolved by ", stdout);
		put_deed(get(like, "resolution"));
		putchar('\n');
	}
	if (json_is_true(get(root, "preexisting")))
		puts("it is older than the trace: what was done to it before is not known");
}

static void show_answer(const json_t *answer)
{
	const char *verdict = string(answer, "verdict");
	size_t i;

	show_title(answer);
	if (strcmp(verdict, "resolved") == 0) {
		show_resolved(answer);
		return;
	}
	show_chain(answer);
	for (i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		if (strcmp(verdict, verdicts[i].name) == 0)
			verdicts[i].say(answer);
	show_helpers(answer);
}

static void show_last(const json_t *last)
{
	const json_t *thread = get(last, "thread");
	const char *stream = json_string_value(get(last, "stream"));

	fputs("last", stdout);
	if (stream) {
		fputs(" of ", stdout);
		put_safe(stream);
	}
	fputs(": ", stdout);
	if (json_is_null(thread)) {
		puts("no thread ran");
		return;
	}
	put_who(thread);
	fputs(" ran from ", stdout);
	put_time(time_of(thread, "from_ns"));
	fputs(" to ", stdout);
	put_time(time_of(thread, "to_ns"));
	if (json_is_string(get(last, "sleeping_from_ns")) &&
	    time_of(last, "sleeping_from_ns") < time_of(last, "end_ns")) {
		fputs(", then the program slept for ", stdout);
		put_span(time_of(last, "sleeping_from_ns"), time_of(last, "end_ns"));
	}
	fputs(", to the end of the trace at ", stdout);
	put_time(time_of(last, "end_ns"));
	putchar('\n');
}

int why_show(const json_t *json)
{
	const json_t *answers = get(json, "answers"), *last = get(json, "last");
	json_int_t marked = count(json, "should_resolve");
	size_t i;

	for (i = 0; i < json_array_size(answers); i++) {
		show_answer(json_array_get(answers, i));
		putchar('\n');
	}
	if (count(json, "left_out"))
		printf("note: %" JSON_INTEGER_FORMAT " more threads are left out\n", count(json, "left_out"));
	if (!json_array_size(answers) && !marked)
		puts("no thread is marked as one that should resolve; name one to ask for it");
	else if (!json_array_size(answers))
		printf("all threads that should resolve did, %" JSON_INTEGER_FORMAT " of them\n", marked);
	for (i = 0; i < json_array_size(last); i++)
		show_last(json_array_get(last, i));
	if (count(json, "lost_packets"))
		printf("note: %" JSON_INTEGER_FORMAT
		       " packets are missing; what was signalled or resolved there is not known\n",
		       count(json, "lost_packets"));
	return stdout_verdict();
}
