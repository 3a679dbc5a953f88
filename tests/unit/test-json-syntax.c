/* The syntax of JSON, compared with jansson; and a parser without memory. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "check.h"
#include "json-parse.h"

#define CHANGES 20000

static uint64_t state = 88172645463325252;

static size_t draw(size_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state >> 11) % below;
}

static const char *const texts[] = {
	"[{\"from\":\"1\",\"to\":\"2\",\"text\":\"caf\xc3\xa9 \xf0\x9f\x90\xab\"},{}]",
	" { \"a\" : [ 1 , -0.5e+7, 0, 1E2 ,true,false , null ] , \"b\":{\"c\":[[],[{}]]} } ",
	"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\ud83d\\udc2B\\uFFFF\", \"\", [\"\\u00e9\"]]",
	"[]",
};

/* jansson's verdict of syntax and characters. Numbers that are too large have a code of their own. jansson skips a NUL behind a number. */
static bool verdict(const char *text, size_t n)
{
	json_error_t error;
	json_t *json = json_loadb(text, n, 0, &error);
	enum json_error_code code = json ? json_error_unknown : json_error_code(&error);

	json_decref(json);
	return (json || code == json_error_numeric_overflow) && !memchr(text, 0, n);
}

/* Change a byte, a bit, or the length, at a random place. */
static size_t spoil(char *text, size_t n)
{
	static const char bytes[] = "\"\\/[]{}:,-+.0e1u \n\x1f\x7f\xed\xa0tn";
	size_t at = draw(n);

	switch (draw(4)) {
	case 0:
		text[at] = bytes[draw(sizeof(bytes))];
		return n;
	case 1:
		text[at] = (char)(text[at] ^ 1 << draw(8));
		return n;
	case 2:
		memmove(text + at, text + at + 1, n - at - 1);
		return n - 1;
	default:
		return at + 1;
	}
}

static void test_like_jansson(void)
{
	size_t right = 0, wrong = 0;

	for (size_t i = 0; i < CHANGES; i++) {
		const char *from = texts[i % ARRAY_SIZE(texts)];
		size_t n = strlen(from);
		char *text = malloc(n), *exact;

		memcpy(text, from, n);
		for (size_t changes = draw(3); changes && n; changes--)
			n = spoil(text, n);
		exact = malloc(n ? n : 1); /* a sanitizer detects a read behind it */
		memcpy(exact, text, n);
		if (!CHECK_EQ_INT(json_syntax_is_right(exact, n), verdict(exact, n)))
			fprintf(stderr, "text: %.*s\n", (int)n, exact);
		right += json_syntax_is_right(exact, n);
		wrong += !json_syntax_is_right(exact, n);
		free(exact);
		free(text);
	}
	CHECK(right > CHANGES / 10 && wrong > CHANGES / 10);
}

static void test_depth(void)
{
	static char text[2 * 4096];

	memset(text, '[', 4096);
	memset(text + 4096, ']', 4096);
	CHECK(json_syntax_is_right(text + 4096 - 2048, 2 * 2048));
	CHECK(!json_syntax_is_right(text + 4096 - 2049, 2 * 2049));
	CHECK(!json_syntax_is_right(text, sizeof(text)));
	CHECK(!json_syntax_is_right(text, 4096));
}

static long fail_from = -1; /* number of allocations that succeed; -1 = all */
static bool failed;

/* jansson takes no notice if the text of a token cannot grow, and reads behind it; those sizes are powers of two. */
static void *scarce_malloc(size_t n)
{
	bool grows = n >= 16 && (n & (n - 1)) == 0;

	failed = failed || (!grows && fail_from >= 0 && fail_from-- == 0);
	return failed && !grows ? NULL : malloc(n);
}

/* Whatever allocation fails first, and all behind it: a lack of memory is no fault of the text, and a fault none of memory. */
static void test_no_memory(void)
{
	static const struct {
		const char *text;
		int r;
	} cases[] = {
		{"{\"a\":[1,\"a text of a capture, which is long\",true,{\"b\":null}],\"c\":{}}", 0},
		{"{\"a\":[1,\"\xff\"]}", -EINVAL},
		{"{\"a\":[1,\"\\u0000\"]}", -EINVAL},
		{"{\"a\":[1,\"x\"],}", -EINVAL},
		{"{\"a\":1,\"a\":[1,2,3]}", -EINVAL},
		{"[1] x", -EINVAL},
		{"7", -EINVAL},
	};
	size_t lacks = 0;

	json_set_alloc_funcs(scarce_malloc, free);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (long n = 0; n < 40; n++) {
			json_error_t error;
			json_t *json;
			int r;

			memset(&error, json_error_duplicate_key, sizeof(error));
			fail_from = n;
			failed = false;
			r = json_parse(&json, cases[i].text, strlen(cases[i].text), JSON_REJECT_DUPLICATES, &error);
			lacks += r == -ENOMEM;
			CHECK(r == (cases[i].r || !failed ? cases[i].r : -ENOMEM) || (failed && r == -ENOMEM));
			CHECK((json != NULL) == (r == 0));
			fail_from = -1;
			failed = false;
			json_decref(json);
		}
	}
	json_set_alloc_funcs(malloc, free);
	CHECK(lacks >= 10);
}

int main(void)
{
	CHECK_RUN(test_like_jansson);
	CHECK_RUN(test_depth);
	CHECK_RUN(test_no_memory);
	return check_done();
}
