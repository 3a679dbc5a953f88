/* Headers that say in one way where a body ends, and headers that do not. */
#include <string.h>

#include "check.h"
#include "request-framing.h"

struct line {
	const char *name, *value;
};

/* Return whether the header of LINES, which end with a line without name, has one meaning. */
static bool ok(const struct line *lines, bool http10)
{
	struct request_framing f = {0};

	for (; lines->name; lines++)
		request_framing_add(&f, lines->name, strlen(lines->name), lines->value, strlen(lines->value));
	return request_framing_ok(&f, http10);
}

#define LINES(...) ((const struct line[]){__VA_ARGS__, {NULL, NULL}})

static void test_good(void)
{
	CHECK(ok(LINES({"Host", "a"}), false));
	CHECK(ok(LINES({"Host", "a"}, {"content-length", "0"}), false));
	CHECK(ok(LINES({"Content-Length", "00123"}, {"X-!#$%&'*+.^_`|~9", "a\tb \xc3\xa4"}), true));
	CHECK(ok(LINES({"Transfer-Encoding", "Chunked"}), false));
	CHECK(ok(LINES({"Cookie", "a=b"}, {"Cookie", ""}), false));
}

static void test_two_meanings(void)
{
	CHECK(!ok(LINES({"Host", "a"}, {"host", "a"}), false));
	CHECK(!ok(LINES({"Content-Length", "1"}, {"Content-Length", "1"}), false));
	CHECK(!ok(LINES({"Content-Length", "1"}, {"Transfer-Encoding", "chunked"}), false));
	CHECK(!ok(LINES({"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}), false));
	CHECK(!ok(LINES({"Transfer-Encoding", "chunked"}), true));
}

static void test_values(void)
{
	static const char *const lengths[] = {"", " ", "+1", "-1", "0x1", "1,1", "1 1", "1 "};
	static const char *const encodings[] = {
		"", "xchunked", "chunked, chunked", "gzip, chunked", "identity", "chunked ",
	};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		CHECK(!ok(LINES({"Content-Length", lengths[i]}), false));
	for (size_t i = 0; i < sizeof(encodings) / sizeof(*encodings); i++)
		CHECK(!ok(LINES({"Transfer-Encoding", encodings[i]}), false));
}

static void test_bytes(void)
{
	static const char *const names[] = {"", "a b", "Content-Length ", " a", "a\t", "a:", "\xc3\xa4", "a\x7f"};
	static const char *const values[] = {"a\rb", "a\nb", "\v", "\x7f"};
	struct request_framing f = {0};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		CHECK(!ok(LINES({names[i], "x"}), false));
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		CHECK(!ok(LINES({"X", values[i]}), false));
	request_framing_add(&f, "X", 1, "a\0b", 3);
	CHECK(!request_framing_ok(&f, false));
	f = (struct request_framing){0};
	request_framing_add(&f, "Content-\0Length", 15, "1", 1);
	CHECK(!request_framing_ok(&f, false));
}

int main(void)
{
	CHECK_RUN(test_good);
	CHECK_RUN(test_two_meanings);
	CHECK_RUN(test_values);
	CHECK_RUN(test_bytes);
	return check_done();
}
