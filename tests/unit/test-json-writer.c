/* The writer of JSON: its forms, what it escapes, and the wall times of an object. */
#include <mprof/json-writer.h>

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

struct output {
	char text[8192];
	size_t n;
};

static void put(void *context, const char *text, size_t n)
{
	struct output *o = context;

	CHECK(o->n + n < sizeof(o->text));
	memcpy(o->text + o->n, text, n);
	o->n += n;
	o->text[o->n] = 0;
}

static size_t put_wall(void *clock, uint64_t ns, char *text)
{
	(void)clock;
	return (size_t)sprintf(text, "\"wall of %" PRIu64 "\"", ns);
}

static void test_forms(void)
{
	static const char *const wanted[] = {
		"{\"a\":[],\"b\":{},\"c\":[1,null,true],\"d\":\"18446744073709551615\",\"e\":\"x\",\"f\":null}",
		"{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    null,\n    true\n  ],\n"
		"  \"d\": \"18446744073709551615\",\n  \"e\": \"x\",\n  \"f\": null\n}",
	};

	for (int pretty = 0; pretty < 2; pretty++) {
		struct output o = {0};
		struct mprof_json j = {.put = put, .context = &o, .pretty = pretty};

		mprof_json_open(&j, NULL, '{');
		mprof_json_open(&j, "a", '[');
		mprof_json_close(&j, ']');
		mprof_json_open(&j, "b", '{');
		mprof_json_close(&j, '}');
		mprof_json_open(&j, "c", '[');
		mprof_json_number(&j, NULL, 1);
		mprof_json_null(&j, NULL);
		mprof_json_boolean(&j, NULL, true);
		mprof_json_close(&j, ']');
		mprof_json_time(&j, "d", UINT64_MAX);
		mprof_json_word(&j, "e", "x");
		mprof_json_word(&j, "f", NULL);
		mprof_json_close(&j, '}');
		CHECK_EQ_STR(o.text, wanted[pretty]);
	}
}

/* A list in rows has each item on a line, also if it has none. */
static void test_rows(void)
{
	struct output o = {0};
	struct mprof_json j = {.put = put, .wall = put_wall, .context = &o, .rows = true};

	mprof_json_open(&j, NULL, '{');
	mprof_json_open(&j, "none", '[');
	mprof_json_close(&j, ']');
	mprof_json_open(&j, "list", '[');
	for (int i = 0; i < 2; i++) {
		mprof_json_open(&j, NULL, '{');
		mprof_json_time(&j, "end_ns", 7);
		mprof_json_open(&j, "in", '[');
		mprof_json_number(&j, NULL, 1);
		mprof_json_number(&j, NULL, 2);
		mprof_json_close(&j, ']');
		mprof_json_open(&j, "of", '{');
		mprof_json_time(&j, "time_ns", 5);
		mprof_json_close(&j, '}');
		mprof_json_close(&j, '}');
	}
	mprof_json_close(&j, ']');
	mprof_json_number(&j, "n", 3);
	mprof_json_close(&j, '}');
	CHECK_EQ_STR(o.text, "{\"none\": [\n], \"list\": [\n"
			     "  {\"end_ns\": \"7\", \"in\": [1, 2], \"of\": {\"time_ns\": \"5\", \"wall\": \"wall of "
			     "5\"}, \"end_wall\": \"wall of 7\"},\n"
			     "  {\"end_ns\": \"7\", \"in\": [1, 2], \"of\": {\"time_ns\": \"5\", \"wall\": \"wall of "
			     "5\"}, \"end_wall\": \"wall of 7\"}\n"
			     "], \"n\": 3}");
}

/* Return TEXT of N bytes as JSON. */
static const char *text_of(struct output *o, const char *text, size_t n, bool shown)
{
	struct mprof_json j = {.put = put, .context = o, .shown = shown};

	o->n = 0;
	mprof_json_text(&j, NULL, text, n);
	return o->text;
}

static void test_texts(void)
{
	static const char odd[] = "a\"\\\n\x1b\x7f\xff"
				  "ü\0z";
	static char longer[2 * MPROF_JSON_SHOWN_MAX];
	struct output o = {0};

	CHECK_EQ_STR(text_of(&o, odd, sizeof(odd) - 1, false), "\"a\\\"\\\\\\n\\u001B\\u007f\xef\xbf\xbdü\\u0000z\"");
	CHECK_EQ_STR(text_of(&o, odd, sizeof(odd) - 1, true), "\"a\\\"\\\\\\\\x0a\\\\x1b\\\\x7f\\\\xffü\\\\x00z\"");
	memset(longer, 'x', sizeof(longer));
	CHECK_EQ_UINT(strlen(text_of(&o, longer, 4000, false)), 4002);
	CHECK_EQ_UINT(strlen(text_of(&o, longer, sizeof(longer), true)), MPROF_JSON_SHOWN_MAX + 2 + strlen("…"));
}

/* JavaScript's numbers have 53 bits: a page gets a greater one as a string. */
static void test_numbers(void)
{
	static const struct {
		int64_t value;
		const char *plain, *shown;
	} cases[] = {
		{-5, "-5", "-5"},
		{(1LL << 53) - 1, "9007199254740991", "9007199254740991"},
		{1LL << 53, "9007199254740992", "\"9007199254740992\""},
		{INT64_MIN, "-9223372036854775808", "\"-9223372036854775808\""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int shown = 0; shown < 2; shown++) {
			struct output o = {0};
			struct mprof_json j = {.put = put, .context = &o, .shown = shown};

			mprof_json_number(&j, NULL, cases[i].value);
			CHECK_EQ_STR(o.text, shown ? cases[i].shown : cases[i].plain);
		}
}

/* Reals keep all their digits, and are never taken for integers; where a locale has a decimal comma, they have a point. */
static void test_reals(void)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{0, "0.0"},
		{-3, "-3.0"},
		{0.1, "0.10000000000000001"},
		{1e-7, "9.9999999999999995e-8"},
		{1e20, "1e20"},
		{-2.5e120, "-2.5000000000000001e120"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int comma = 0; comma < 2; comma++) {
			struct output o = {0};
			struct mprof_json j = {.put = put, .context = &o};

			setlocale(LC_NUMERIC, comma ? "de_DE.UTF-8" : "C"); /* if it is installed */
			mprof_json_real(&j, NULL, cases[i].value);
			CHECK_EQ_STR(o.text, cases[i].text);
		}
	setlocale(LC_NUMERIC, "C");
}

/* A key of any bytes is written as a text is. */
static void test_named(void)
{
	struct output o = {0};
	struct mprof_json j = {.put = put, .context = &o};

	mprof_json_open(&j, NULL, '{');
	mprof_json_open_named(&j, NULL, "a\"\xff", 3);
	mprof_json_close(&j, '}');
	mprof_json_open_named(&j, "r\n", "b", 1);
	mprof_json_number(&j, "n", 1);
	mprof_json_close(&j, '}');
	mprof_json_close(&j, '}');
	CHECK_EQ_STR(o.text, "{\"a\\\"\xef\xbf\xbd\":{},\"r\\n: b\":{\"n\":1}}");
}

/* The wall times of an object stand at its end, in an order of their own, and each object has its own. */
static void test_walls(void)
{
	struct output o = {0};
	struct mprof_json j = {.put = put, .wall = put_wall, .context = &o};

	mprof_json_open(&j, NULL, '{');
	mprof_json_time(&j, "end_ns", 7);
	mprof_json_time(&j, "time_ns", 5);
	mprof_json_open(&j, "in", '{');
	mprof_json_time(&j, "lasted_ns", 3);
	mprof_json_close(&j, '}');
	mprof_json_close(&j, '}');
	CHECK_EQ_STR(o.text, "{\"end_ns\":\"7\",\"time_ns\":\"5\",\"in\":{\"lasted_ns\":\"3\"},"
			     "\"wall\":\"wall of 5\",\"end_wall\":\"wall of 7\"}");
}

int main(void)
{
	CHECK_RUN(test_forms);
	CHECK_RUN(test_rows);
	CHECK_RUN(test_texts);
	CHECK_RUN(test_numbers);
	CHECK_RUN(test_reals);
	CHECK_RUN(test_named);
	CHECK_RUN(test_walls);
	return check_done();
}
