/*
 * Messages on control sockets: valid messages, messages that are refused, and messages that are
 * written and read back.
 */
#include <stdlib.h>

#include "check.h"
#include "message.h"

/*
 * Parse LEN bytes of TEXT. The copy in *BLOCK has room only for the bytes and a terminator, so that
 * a sanitizer detects an access behind them.
 */
static bool parse(struct message *m, char **block, const char *text, size_t len)
{
	free(*block);
	*block = malloc(len + 1);
	memcpy(*block, text, len);
	return message_parse(m, *block, len);
}

static void test_parse(void)
{
	struct message m;
	char *block = NULL;
	uint64_t n;

	CHECK(parse(&m, &block, "watch 7", 7));
	CHECK_EQ_STR(m.verb, "watch");
	CHECK_EQ_UINT(m.tag, 7);
	CHECK_EQ_UINT(m.n_pairs, 0);
	CHECK(parse(&m, &block, "capture 18446744073709551615\nrun=3\nnote=a%0Ab%25=c%0d\nempty=", 60));
	CHECK_EQ_UINT(m.tag, UINT64_MAX);
	CHECK_EQ_UINT(m.n_pairs, 3);
	CHECK(message_number(&m, "run", &n) && n == 3);
	CHECK_EQ_STR(message_value(&m, "note"), "a\nb%=c\r");
	CHECK_EQ_STR(message_value(&m, "empty"), "");
	CHECK(message_value(&m, "absent") == NULL);
	CHECK(!message_number(&m, "note", &n) && !message_number(&m, "absent", &n) && !message_number(&m, "empty", &n));
	CHECK(parse(&m, &block, "commit\nserial=1\n", 16));
	CHECK(m.tag == 0 && m.n_pairs == 1);
	CHECK(parse(&m, &block, "error 0\nstatus=400", 18));
	free(block);
}

static void test_refuse(void)
{
	static const struct {
		const char *text;
		size_t len;
		uint64_t tag;
	} bad[] = {
		{"", 0, 0},
		{" 7", 2, 0},
		{"Watch 7", 7, 0},
		{"watch x", 7, 0},
		{"watch -1", 8, 0},
		{"watch 18446744073709551616", 26, 0},
		{"watch 7 8", 9, 0},
		{"watch 7\nkey", 11, 7},
		{"watch 7\n=value", 14, 7},
		{"watch 7\n\nkey=1", 14, 7},
		{"watch 7\nkey=%", 13, 7},
		{"watch 7\nkey=%4", 14, 7},
		{"watch 7\nkey=%zz", 15, 7},
		{"watch 7\nkey=%00", 15, 7},
		{"watch 7\nkey=%ff", 15, 7},
		{"watch 7\nkey=a\0b", 15, 7},
		{"watch 7\nkey=\xff", 13, 7},
		{"watch 7\nkey=\xc0\x80", 14, 7},
		{"watch 7\nkey=\xed\xa0\x80", 15, 7},
		{"watch 7\nkey=\xe2\x82", 14, 7},
		{"watch 7\nKEY=1", 13, 7},
	};
	struct message m;
	char *block = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (!CHECK(!parse(&m, &block, bad[i].text, bad[i].len)) || !CHECK_EQ_UINT(m.tag, bad[i].tag))
			fprintf(stderr, "  in case %zu\n", i);
		CHECK(m.verb != NULL);
	}
	CHECK(parse(&m, &block, "watch 7\nkey=\xe2\x82\xac", 15));
	free(block);
}

static void test_limits(void)
{
	static char text[MESSAGE_BYTES_MAX + 2];
	size_t at = (size_t)snprintf(text, sizeof(text), "verb 1");
	struct message m;

	for (unsigned i = 0; i < MESSAGE_KEYS_MAX; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "\nk%u=%u", i, i);
	CHECK(message_parse(&m, text, at));
	CHECK_EQ_UINT(m.n_pairs, MESSAGE_KEYS_MAX);
	at = (size_t)snprintf(text, sizeof(text), "verb 1");
	for (unsigned i = 0; i <= MESSAGE_KEYS_MAX; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "\nk%u=%u", i, i);
	CHECK(!message_parse(&m, text, at));
	memset(text, 'a', sizeof(text));
	CHECK(message_parse(&m, text, MESSAGE_BYTES_MAX));
	memset(text, 'a', sizeof(text));
	CHECK(!message_parse(&m, text, MESSAGE_BYTES_MAX + 1));
}

static void test_write(void)
{
	struct message_writer w;
	struct message m;
	char text[128];
	size_t len;
	uint64_t n;

	message_begin(&w, text, sizeof(text) - 1, "patch-capture", 12);
	message_add(&w, "note", "100% \r\n of \xe2\x82\xac");
	message_add_number(&w, "capture", UINT64_MAX);
	len = message_end(&w);
	text[len] = '\0';
	CHECK_EQ_STR(text, "patch-capture 12\nnote=100%25 %0D%0A of \xe2\x82\xac\ncapture=18446744073709551615");
	CHECK(message_parse(&m, text, len));
	CHECK_EQ_STR(m.verb, "patch-capture");
	CHECK_EQ_UINT(m.tag, 12);
	CHECK_EQ_STR(message_value(&m, "note"), "100% \r\n of \xe2\x82\xac");
	CHECK(message_number(&m, "capture", &n) && n == UINT64_MAX);
	message_begin(&w, text, sizeof(text), "commit", 0);
	CHECK_EQ_UINT(message_end(&w), 6);
}

/*
 * A message that does not fit into its buffer gives the length 0, and nothing is written past the
 * buffer.
 */
static void test_overflow(void)
{
	for (size_t size = 0; size < 40; size++) {
		char *text = malloc(size ? size : 1);
		struct message_writer w;
		size_t len;

		message_begin(&w, text, size, "ok", 5);
		message_add(&w, "a", "1%2");
		message_add_number(&w, "b", 123);
		len = message_end(&w); /* the message is "ok 5 a=1%252 b=123" */
		CHECK_EQ_UINT(len, size >= 18 ? 18 : 0);
		free(text);
	}
}

int main(void)
{
	CHECK_RUN(test_parse);
	CHECK_RUN(test_refuse);
	CHECK_RUN(test_limits);
	CHECK_RUN(test_write);
	CHECK_RUN(test_overflow);
	return check_done();
}
