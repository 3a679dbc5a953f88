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
	CHECK(ok(LINES({"Expect", "100-continue"}, {"Content-Length", "1"}), false));
	CHECK(ok(LINES({"Expect", "100-continue"}, {"Transfer-Encoding", "chunked"}), false));
}

/* A header with Expect has a body. */
static void test_expect(void)
{
	CHECK(!ok(LINES({"Expect", "100-continue"}), false));
	CHECK(!ok(LINES({"Content-Length", "00"}, {"expect", "x"}), false));
}

static void test_body(void)
{
	struct request_framing f = {0};

	request_framing_add(&f, "Content-Length", 14, "18446744073709551614", 20);
	CHECK_EQ_UINT(f.body, UINT64_MAX - 1);
	request_framing_add(&f, "Content-Length", 14, "18446744073709551616", 20);
	CHECK_EQ_UINT(f.body, UINT64_MAX);
	request_framing_add(&f, "Content-Length", 14, "184467440737095516140", 21);
	CHECK_EQ_UINT(f.body, UINT64_MAX);
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

/*
 * Take TEXT, a header of BYTES, apart as libmicrohttpd 0.9.75 does, in its buffer: a line ends at CR LF or LF,
 * and a part at the first NUL. Return whether it has one meaning.
 */
static bool in_place(const char *text, size_t bytes)
{
	struct request_framing f = {0};
	struct request_line line = {0};
	char buffer[512] = "", *at = buffer, *end, *part;

	memcpy(buffer, text, bytes);
	for (unsigned lines = 0; (end = memchr(at, '\n', bytes - (size_t)(at - buffer))); lines++, at = end + 1) {
		*end = '\0';
		if (end > at && end[-1] == '\r')
			end[-1] = '\0';
		if (*at == '\0') { /* the empty line, or one that begins with NUL */
			request_framing_end(&f, buffer, (size_t)(end + 1 - buffer));
			break;
		}
		part = strpbrk(at, lines ? ":" : " ");
		if (!part)
			return false;
		*part++ = '\0';
		if (lines) {
			part += strspn(part, " \t");
			request_framing_add(&f, at, strlen(at), part, strlen(part));
			continue;
		}
		part += strspn(part, " ");
		line = (struct request_line){.method = at, .target = part, .target_bytes = strcspn(part, " ")};
		part += line.target_bytes;
		line.version = *part ? part + 1 : part;
		*part = '\0';
		request_framing_place(&f, &line);
	}
	return request_framing_ok(&f, false);
}

static void test_places(void)
{
#define IN_PLACE(text) in_place(text, sizeof(text) - 1)
	CHECK(IN_PLACE("GET / HTTP/1.1\r\n\r\n"));
	CHECK(IN_PLACE("GET /a?b HTTP/1.1\r\nHost:a\r\nX: \t b \r\nY:\r\nZ: \r\n\r\n"));
	/* LF alone ends the request line, a line, the last line, and the header. */
	CHECK(!IN_PLACE("GET / HTTP/1.1\n\r\n"));
	CHECK(!IN_PLACE("GET / HTTP/1.1\r\nX: a\nContent-Length: 2\r\n\r\n"));
	CHECK(!IN_PLACE("GET / HTTP/1.1\r\nX: a\n\r\n"));
	CHECK(!IN_PLACE("GET / HTTP/1.1\r\nX: a\r\n\n"));
	CHECK(!IN_PLACE("GET / HTTP/1.1\r\nX: a\r\n\nGET / HTTP/1.1\r\n\r\n"));
	/* A NUL in each part, and a line that begins with one. */
	CHECK(!IN_PLACE("G\0ET / HTTP/1.1\r\n\r\n"));
	CHECK(!IN_PLACE("GET /\0/../b HTTP/1.1\r\n\r\n"));
	CHECK(!IN_PLACE("GET / HTTP/1.1\0x\r\n\r\n"));
	CHECK(!IN_PLACE("GET / HTTP/1.1\r\nHost: a\0.evil\r\n\r\n"));
	CHECK(!IN_PLACE("GET / HTTP/1.1\r\nX: a\0\r\nY: b\r\n\r\n"));
	CHECK(!IN_PLACE("GET / HTTP/1.1\r\nX: \0a\r\nY: b\r\n\r\n"));
	CHECK(!IN_PLACE("GET / HTTP/1.1\r\nX: a\r\n\0Content-Length: 5\r\n\r\n"));
	/* A NUL and an LF alone that outweigh each other in the size of the header. */
	CHECK(!IN_PLACE("GET / HTTP/1.1\r\nX: a\0b\r\nY: c\nZ: d\n\r\n"));
	CHECK(!IN_PLACE("GET  / HTTP/1.1\r\n\r\n"));
}

int main(void)
{
	CHECK_RUN(test_good);
	CHECK_RUN(test_expect);
	CHECK_RUN(test_body);
	CHECK_RUN(test_two_meanings);
	CHECK_RUN(test_values);
	CHECK_RUN(test_bytes);
	CHECK_RUN(test_places);
	return check_done();
}
