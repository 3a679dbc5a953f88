/* A thread and its counterpart, and where they part, as lines made of the JSON. */
#include "diff-words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "span.h"
#include "words.h"

void put_ns(const json_t *object, const char *key)
{
	put_span(0, words_time(object, key));
}

void put_since(const json_t *object)
{
	putchar('+');
	put_ns(object, "since_start_ns");
}

void put_count(json_int_t n, const char *noun)
{
	printf("%" JSON_INTEGER_FORMAT " %s%s", n, noun, n == 1 ? "" : "s");
}

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = words_get(a, key), *y = words_get(b, key);

	return (!x && !y) || json_equal(x, y);
}

void put_both(const json_t *good, const json_t *bad)
{
	if (!json_object_size(bad) || !json_object_size(good)) {
		put_who(json_object_size(good) ? good : bad);
		fputs(json_object_size(good) ? ", which the bad run does not have"
					     : ", which the good run does not have",
		      stdout);
		return;
	}
	put_who(good);
	if (same_text(good, bad, "thread") && same_text(good, bad, "type") && same_text(good, bad, "label") &&
	    same_text(good, bad, "stream"))
		return;
	fputs(", in the bad run ", stdout);
	put_who(bad);
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
	const char *name = words_string(step, "step");
	size_t i;

	if (strcmp(name, "label") == 0) {
		fputs("gets the label \"", stdout);
		put_safe(words_string(step, "label"));
		putchar('"');
		return;
	}
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]) && strcmp(name, steps[i].name) != 0; i++)
		;
	if (i == sizeof(steps) / sizeof(steps[0]))
		return;
	if (steps[i].self && json_is_true(words_get(step, "self"))) {
		fputs(steps[i].self, stdout);
		return;
	}
	fputs(steps[i].words, stdout);
	put_who(words_get(step, "other"));
}

/* A line for a step; HEAD stands before it. */
static void show_step(const char *head, const json_t *step)
{
	char span[SPAN_TEXT_MAX];

	span_text(words_time(step, "since_start_ns"), span, sizeof(span));
	printf("    %-6s%*s+%s  ", head, (int)(11 - (int)strlen(span)), "", span);
	put_step(step);
	putchar('\n');
}

/* What one run does next; where the other one does the first of it later, that. */
static void show_next(const char *name, const json_t *run, const json_t *later, const char *other)
{
	const json_t *next = words_get(run, "next");
	size_t i;

	if (!json_array_size(next))
		printf("    %-6s nothing more\n", name);
	for (i = 0; i < json_array_size(next); i++) {
		show_step(i ? "" : name, json_array_get(next, i));
		if (i || !json_object_size(later))
			continue;
		printf("    %-6s%13s  (in the %s run at ", "", "", other);
		put_since(later);
		if (!json_equal(words_get(later, "other"), words_get(json_array_get(next, 0), "other"))) {
			fputs(": ", stdout);
			put_step(later);
		}
		puts(")");
	}
}

void show_parting(const json_t *parting)
{
	const json_t *good = words_get(parting, "good"), *bad = words_get(parting, "bad");
	const json_t *common = words_get(good, "common");

	put_both(words_get(good, "thread"), words_get(bad, "thread"));
	puts(":");
	if (json_object_size(common)) {
		show_step("both", common);
		if (!same_text(common, words_get(bad, "common"), "since_start_ns")) {
			printf("    %-6s%13s  (in the bad run at ", "", "");
			put_since(words_get(bad, "common"));
			puts(")");
		}
	}
	show_next("good", good, words_get(bad, "later"), "bad");
	show_next("bad", bad, words_get(good, "later"), "good");
}
