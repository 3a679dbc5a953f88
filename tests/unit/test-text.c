/*
 * Events as text: bytes of guests that are escaped, exact times, the largest and smallest numbers,
 * JSON.
 */
#include <stdlib.h>

#include <mprof/trace.h>

#include "check.h"

static char out[4096];

static const char *escaped(const char *text, size_t len)
{
	size_t n = mprof_text_escape(out, sizeof(out) - 1, &text, &len);

	CHECK_EQ_UINT(len, 0);
	out[n] = 0;
	return out;
}

#define ESCAPED(literal) escaped(literal, sizeof(literal) - 1)

static void test_printable(void)
{
	CHECK_EQ_STR(ESCAPED("plain ~ text"), "plain ~ text");
	CHECK_EQ_STR(ESCAPED("a\"b\\c"), "a\\\"b\\\\c");
	CHECK_EQ_STR(ESCAPED("λ → 🐫 ü"), "λ → 🐫 ü");
	CHECK_EQ_STR(ESCAPED("\xf4\x8f\xbf\xbd"), "\xf4\x8f\xbf\xbd"); /* U+10FFFD */
	CHECK_EQ_STR(ESCAPED("\xc2\xa0"), "\xc2\xa0");
}

static void test_controls(void)
{
	CHECK_EQ_STR(ESCAPED("\t\n\x1b[31m\x7f"), "\\x09\\x0a\\x1b[31m\\x7f");
	CHECK_EQ_STR(ESCAPED("\xc2\x9b"), "\\xc2\\x9b");				     /* C1: CSI */
	CHECK_EQ_STR(ESCAPED("\xe2\x80\xa8\xe2\x80\xae"), "\\xe2\\x80\\xa8\\xe2\\x80\\xae"); /* U+2028, U+202E */
	CHECK_EQ_STR(ESCAPED("\xe2\x81\xa6\xd8\x9c"), "\\xe2\\x81\\xa6\\xd8\\x9c");	     /* U+2066, U+061C */
	CHECK_EQ_STR(ESCAPED("\xe2\x80\x8e\xef\xbb\xbf"), "\\xe2\\x80\\x8e\\xef\\xbb\\xbf"); /* U+200E, U+FEFF */
	CHECK_EQ_STR(ESCAPED("\xef\xbf\xbe\xef\xb7\x90"), "\\xef\\xbf\\xbe\\xef\\xb7\\x90"); /* U+FFFE, U+FDD0 */
	CHECK_EQ_STR(ESCAPED("\xf0\x9f\xbf\xbf"), "\\xf0\\x9f\\xbf\\xbf");		     /* U+1FFFF */
}

static void test_ill_formed(void)
{
	CHECK_EQ_STR(ESCAPED("\x80\xff"), "\\x80\\xff");
	CHECK_EQ_STR(ESCAPED("\xc0\x80\xc1\xbf"), "\\xc0\\x80\\xc1\\xbf"); /* overlong */
	CHECK_EQ_STR(ESCAPED("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");	   /* overlong */
	CHECK_EQ_STR(ESCAPED("\xed\xa0\x80"), "\\xed\\xa0\\x80");	   /* surrogate */
	CHECK_EQ_STR(ESCAPED("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"); /* above U+10FFFF */
	CHECK_EQ_STR(ESCAPED("\xf0\x9f\x90"), "\\xf0\\x9f\\x90");	   /* cut */
	CHECK_EQ_STR(ESCAPED("\xe2\x86"
			     "a\xce\xbb"),
		     "\\xe2\\x86"
		     "aλ"); /* a cut character, and then a valid one */
}

/* A text that is longer than the buffer comes in pieces, which together are the same text. */
static void test_pieces(void)
{
	static const char source[] = "λ\x01 long \"text\" that does not fit into the room \xf0\x9f\x90\xab\xff at once";
	const char *text = source;
	size_t left = sizeof(source) - 1, used = 0, rounds = 0;
	char piece[4096];

	while (left && rounds++ < 100)
		used += mprof_text_escape(piece + used, 32, &text, &left);
	piece[used] = 0;
	CHECK(rounds > 2);
	CHECK_EQ_STR(piece, ESCAPED(source));
}

static const char *json(const char *text, size_t len)
{
	size_t n = mprof_text_json(out, sizeof(out) - 1, &text, &len);

	out[n] = 0;
	return out;
}

static void test_json(void)
{
	struct mprof_raw_event e = {.timestamp = UINT64_MAX, .id = MPROF_EVENT_gc, .number = -1};
	char line[MPROF_TEXT_FIXED_MAX + 1];

	CHECK_EQ_STR(json("a\"\\\n\x7f", 5), "a\\\"\\\\\\u000a\\u007f");
	CHECK_EQ_STR(json("\xff\xf0\x9f\xbf\xbf", 5), "\xef\xbf\xbd\\ud83f\\udfff");
	CHECK(mprof_text_is_utf8("λ\n", 3));
	CHECK(!mprof_text_is_utf8("\xce", 1));
	line[mprof_event_json(&e, line)] = 0;
	CHECK_EQ_STR(
		line,
		"{\"time_ns\":\"18446744073709551615\",\"event\":\"gc\",\"duration_ns\":\"18446744073709551615\"}");
	e = (struct mprof_raw_event){.timestamp = 1, .id = MPROF_EVENT_label, .context = -1};
	line[mprof_event_json(&e, line)] = 0;
	CHECK_EQ_STR(line, "{\"time_ns\":\"1\",\"event\":\"label\",\"thread\":-1,\"label\":\"");
	CHECK_EQ_STR(mprof_event_text_key(&e), "label");
}

static void test_extremes(void)
{
	struct mprof_raw_event e = {
		.timestamp = UINT64_MAX, .id = MPROF_EVENT_signal_noswitch, .context = INT64_MIN, .number = INT64_MAX};
	char line[MPROF_TEXT_FIXED_MAX + 1];

	line[mprof_event_text(&e, line)] = 0;
	CHECK_EQ_STR(line,
		     "18446744073.709551615 signal_noswitch sender=9223372036854775807 receiver=-9223372036854775808");
	e = (struct mprof_raw_event){.timestamp = 999999999, .id = MPROF_EVENT_gc, .number = 7730};
	line[mprof_event_text(&e, line)] = 0;
	CHECK_EQ_STR(line, "0.999999999 gc duration=0.000007730");
	e = (struct mprof_raw_event){
		.id = MPROF_EVENT_fails, .context = INT64_MIN, .number = INT64_MIN, .timestamp = UINT64_MAX};
	CHECK(mprof_event_json(&e, line) < MPROF_TEXT_FIXED_MAX);
}

/* Numbers on both sides of each power of ten. */
static void test_numbers(void)
{
	struct mprof_raw_event e = {.id = MPROF_EVENT_read};
	char line[MPROF_TEXT_FIXED_MAX + 1], want[MPROF_TEXT_FIXED_MAX];
	uint64_t power = 1;
	int i, k;

	for (i = 0; i < 20; i++, power *= 10) {
		for (k = -1; k <= 1; k++) {
			e.timestamp = power + (uint64_t)(int64_t)k;
			e.context = (int64_t)e.timestamp;
			e.number = (int64_t)(0 - e.timestamp);
			line[mprof_event_text(&e, line)] = 0;
			snprintf(want, sizeof(want),
				 "%" PRIu64 ".%09" PRIu64 " read reader=%" PRId64 " source=%" PRId64,
				 e.timestamp / 1000000000, e.timestamp % 1000000000, e.context, e.number);
			CHECK_EQ_STR(line, want);
			line[mprof_event_json(&e, line)] = 0;
			snprintf(want, sizeof(want),
				 "{\"time_ns\":\"%" PRIu64 "\",\"event\":\"read\",\"reader\":%" PRId64
				 ",\"source\":%" PRId64 "}",
				 e.timestamp, e.context, e.number);
			CHECK_EQ_STR(line, want);
		}
	}
}

/* Each type of the format has a name. A number that is no type of the format has none. */
static void test_thread_types(void)
{
	struct mprof_raw_event e = {.id = MPROF_EVENT_creates};
	char line[MPROF_TEXT_FIXED_MAX + 1];
	int type;

	for (type = 0; type < 256; type++) {
		e.type = (uint8_t)type;
		line[mprof_event_text(&e, line)] = 0;
		CHECK((strstr(line, "type=Unknown") != NULL) == (type > 21));
	}
	e.type = 18;
	line[mprof_event_text(&e, line)] = 0;
	CHECK_EQ_STR(line, "0.000000000 creates parent=0 child=0 type=Stream");
	e.type = 19;
	line[mprof_event_text(&e, line)] = 0;
	CHECK_EQ_STR(line, "0.000000000 creates parent=0 child=0 type=Mutex");
	e.type = 21;
	line[mprof_event_text(&e, line)] = 0;
	CHECK_EQ_STR(line, "0.000000000 creates parent=0 child=0 type=Process");
}

int main(void)
{
	CHECK_RUN(test_printable);
	CHECK_RUN(test_controls);
	CHECK_RUN(test_ill_formed);
	CHECK_RUN(test_pieces);
	CHECK_RUN(test_json);
	CHECK_RUN(test_extremes);
	CHECK_RUN(test_numbers);
	CHECK_RUN(test_thread_types);
	return check_done();
}
