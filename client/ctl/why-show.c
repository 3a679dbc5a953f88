/* Sentences made of the JSON, so that both say the same. */
#include <stdio.h>
#include <string.h>

#include "table.h"
#include "why-show.h"
#include "words.h"

static void show_resolved(const json_t *answer)
{
	const json_t *resolution = words_get(answer, "resolution");
	const char *failure = json_string_value(words_get(resolution, "failure"));

	fputs(failure ? "  failed by " : "  was resolved by ", stdout);
	put_deed(resolution);
	fputs(", ", stdout);
	put_span(words_time(answer, "created_ns"), words_time(resolution, "time_ns"));
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
	bool resolved = strcmp(words_string(answer, "verdict"), "resolved") == 0;

	fputs("thread ", stdout);
	put_who(answer);
	if (words_count(answer, "asked") != words_count(answer, "thread"))
		printf(", which %" JSON_INTEGER_FORMAT " has become,", words_count(answer, "asked"));
	if (!resolved)
		fputs(json_is_true(words_get(answer, "should_resolve")) ? " should resolve and never did"
									: " is not resolved",
		      stdout);
	putchar('\n');
	fputs("  ", stdout);
	put_time(words_time(answer, "created_ns"));
	if (json_is_true(words_get(answer, "preexisting"))) {
		puts("  was there before");
	} else if (json_is_null(words_get(answer, "creator"))) {
		puts("  was created");
	} else {
		fputs("  was created by ", stdout);
		put_who(words_get(answer, "creator"));
		putchar('\n');
	}
}

static void show_chain(const json_t *answer)
{
	const json_t *chain = words_get(answer, "chain");
	size_t i, n = json_array_size(chain);

	for (i = 0; i < n; i++) {
		const json_t *link = json_array_get(chain, i);

		fputs("  ", stdout);
		put_time(words_time(link, "since_ns"));
		fputs(i ? "  which waits on " : "  waits on ", stdout);
		put_who(link);
		putchar('\n');
	}
	if ((size_t)words_count(answer, "links") > n)
		printf("  and so on over %" JSON_INTEGER_FORMAT " threads\n",
		       words_count(answer, "links") - (json_int_t)n);
}

static void say_missed_signal(const json_t *answer)
{
	const json_t *root = words_get(answer, "root"), *missed = words_get(answer, "missed");

	fputs("missed wake-up: ", stdout);
	put_who(words_get(answer, "condition"));
	fputs(" was signalled by ", stdout);
	put_deed(missed);
	fputs(", when nobody waited for it. ", stdout);
	put_who(root);
	fputs(" began to wait at ", stdout);
	put_time(words_time(root, "time_ns"));
	fputs(", ", stdout);
	put_span(words_time(missed, "time_ns"), words_time(root, "time_ns"));
	fputs(" too late, and no signal came in the ", stdout);
	put_span(words_time(root, "time_ns"), words_time(answer, "end_ns"));
	puts(" from then to the end of the trace.");
	if (words_count(answer, "missed_signals") > 1)
		printf("It was the last of %" JSON_INTEGER_FORMAT " signals in a row that nobody waited for.\n",
		       words_count(answer, "missed_signals"));
}

static void say_missed_resolution(const json_t *answer)
{
	const json_t *root = words_get(answer, "root");

	fputs("missed wake-up: ", stdout);
	put_who(root);
	fputs(" was resolved by ", stdout);
	put_deed(words_get(root, "resolution"));
	fputs(", before it was looked at, and nobody has read it since.\n", stdout);
}

static void say_not_woken(const json_t *answer)
{
	const json_t *root = words_get(answer, "root");

	put_who(root);
	fputs(" was resolved by ", stdout);
	put_deed(words_get(root, "resolution"));
	fputs(", and what waits on it has not run since, up to ", stdout);
	put_time(words_time(answer, "end_ns"));
	puts(".");
}

/* From when to the end it waits for what. */
static void say_waits(const json_t *answer)
{
	const json_t *root = words_get(answer, "root"), *condition = words_get(answer, "condition");

	put_who(root);
	if (!json_is_null(condition) && words_count(condition, "thread") != words_count(root, "thread")) {
		fputs(" waits for a signal of ", stdout);
		put_who(condition);
		fputs(" since ", stdout);
	} else {
		fputs(" is open since ", stdout);
	}
	put_time(words_time(root, "time_ns"));
	fputs(", for the ", stdout);
	put_span(words_time(root, "time_ns"), words_time(answer, "end_ns"));
	fputs(" to the end of the trace", stdout);
}

static void say_signalled_since(const json_t *answer)
{
	say_waits(answer);
	printf(". Signalled %" JSON_INTEGER_FORMAT " times since, it was still not resolved; the first was by ",
	       words_count(answer, "signals_since"));
	put_deed(words_get(answer, "first_since"));
	puts(".");
}

static void say_never_signalled(const json_t *answer)
{
	say_waits(answer);
	fputs(". None came", stdout);
	if (words_count(answer, "signals")) {
		fputs("; the last one before, by ", stdout);
		put_deed(words_get(answer, "last_signal"));
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
	put_who(words_get(answer, "root"));
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
	const json_t *like = words_get(answer, "like"), *missed = words_get(answer, "missed"),
		     *root = words_get(answer, "root");

	if (json_object_size(missed)) {
		fputs("could have resolved it: ", stdout);
		put_who(missed);
		puts(", by a signal after that time");
	}
	if (json_object_size(like)) {
		fputs("the last one like it, ", stdout);
		put_who(like);
		fputs(", was resolved by ", stdout);
		put_deed(words_get(like, "resolution"));
		putchar('\n');
	}
	if (json_is_true(words_get(root, "preexisting")))
		puts("it is older than the trace: what was done to it before is not known");
}

static void show_answer(const json_t *answer)
{
	const char *verdict = words_string(answer, "verdict");
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
	const json_t *thread = words_get(last, "thread");
	const char *stream = json_string_value(words_get(last, "stream"));

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
	put_time(words_time(thread, "from_ns"));
	fputs(" to ", stdout);
	put_time(words_time(thread, "to_ns"));
	if (json_is_string(words_get(last, "sleeping_from_ns")) &&
	    words_time(last, "sleeping_from_ns") < words_time(last, "end_ns")) {
		fputs(", then the program slept for ", stdout);
		put_span(words_time(last, "sleeping_from_ns"), words_time(last, "end_ns"));
	}
	fputs(", to the end of the trace at ", stdout);
	put_time(words_time(last, "end_ns"));
	putchar('\n');
}

int why_show(const json_t *json)
{
	const json_t *answers = words_get(json, "answers"), *last = words_get(json, "last");
	json_int_t marked = words_count(json, "should_resolve");
	size_t i;

	for (i = 0; i < json_array_size(answers); i++) {
		show_answer(json_array_get(answers, i));
		putchar('\n');
	}
	if (words_count(json, "left_out"))
		printf("note: %" JSON_INTEGER_FORMAT " more threads are left out\n", words_count(json, "left_out"));
	if (!json_array_size(answers) && !marked)
		puts("no thread is marked as one that should resolve; name one to ask for it");
	else if (!json_array_size(answers))
		printf("all threads that should resolve did, %" JSON_INTEGER_FORMAT " of them\n", marked);
	for (i = 0; i < json_array_size(last); i++)
		show_last(json_array_get(last, i));
	if (words_count(json, "lost_packets"))
		printf("note: %" JSON_INTEGER_FORMAT
		       " packets are missing; what was signalled or resolved there is not known\n",
		       words_count(json, "lost_packets"));
	return stdout_verdict();
}
