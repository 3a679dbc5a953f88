/* Everything that a guest wrote goes through put_safe(). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "scope.h"
#include "span.h"
#include "words.h"

const json_t *words_get(const json_t *json, const char *key)
{
	return json_object_get(json, key);
}

json_int_t words_count(const json_t *json, const char *key)
{
	return json_integer_value(words_get(json, key));
}

const char *words_string(const json_t *json, const char *key)
{
	const char *text = json_string_value(words_get(json, key));

	return text ? text : "";
}

uint64_t words_time(const json_t *json, const char *key)
{
	return strtoull(words_string(json, key), NULL, 10);
}

void put_time(uint64_t ns)
{
	printf("%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

void put_span(uint64_t from, uint64_t to)
{
	char span[SPAN_TEXT_MAX];

	fputs(span_text(to > from ? to - from : 0, span, sizeof(span)), stdout);
}

void put_safe(const char *text)
{
	SCOPED(freep) char *safe = printable(text, strlen(text));

	fputs(safe ? safe : "?", stdout);
}

void put_who(const json_t *who)
{
	const char *label = json_string_value(words_get(who, "label")),
		   *stream = json_string_value(words_get(who, "stream"));

	if (!words_get(who, "thread")) {
		fputs("the program itself", stdout);
		return;
	}
	printf("%" JSON_INTEGER_FORMAT " (%s", words_count(who, "thread"), words_string(who, "type"));
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

void put_deed(const json_t *deed)
{
	put_who(deed);
	fputs(" at ", stdout);
	put_time(words_time(deed, "time_ns"));
}
