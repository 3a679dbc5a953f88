/* Answers of readers of captures: each length and text is checked. */
#include "check.h"
#include "reader-process.h"

static uint8_t bytes[16384];

/* Make an answer of these texts; N_CAUSE and so on are the lengths that it tells. */
static size_t make(const char *cause, const char *sentence, const char *last, uint32_t failed)
{
	struct reading_answer a = {READING_MAGIC, failed, (uint32_t)strlen(cause), (uint32_t)strlen(sentence),
				   (uint32_t)strlen(last)};
	uint8_t *at = bytes + sizeof(a);

	memcpy(bytes, &a, sizeof(a));
	memcpy(at, cause, a.cause);
	memcpy(at + a.cause, sentence, a.sentence);
	memcpy(at + a.cause + a.sentence, last, a.last);
	return sizeof(a) + a.cause + a.sentence + a.last;
}

static bool take(size_t n, struct reader_result *r)
{
	return reader_answer_take(bytes, n, r);
}

static void test_accepted(void)
{
	struct reader_result r, again;

	CHECK(take(make("deadlock\nTask a", "deadlock: x", "last: y", 0), &r));
	CHECK_EQ_UINT(strlen(r.cause), strlen("deadlock-") + 24);
	CHECK(strncmp(r.cause, "deadlock-", 9) == 0);
	CHECK_EQ_STR(r.sentence, "deadlock: x");
	CHECK_EQ_STR(r.last, "last: y");
	CHECK_EQ_STR(r.failure, "");
	CHECK(take(make("deadlock\nTask a", "other", "", 0), &again));
	CHECK_EQ_STR(again.cause, r.cause);
	CHECK(take(make("deadlock\nTask b", "other", "", 0), &again));
	CHECK(strcmp(again.cause, r.cause) != 0);
	CHECK(take(make("", "the capture has no events", "", 0), &r));
	CHECK_EQ_STR(r.cause, "");
	CHECK(take(make("", "it failed", "", 1), &r));
	CHECK_EQ_STR(r.failure, "it failed");
	CHECK_EQ_STR(r.sentence, "");
}

static void test_refused(void)
{
	struct reader_result r;
	size_t n = make("last\nTask a", "sentence", "last", 0);
	char text[5000];

	for (size_t i = 0; i < n; i++)
		CHECK(!take(i, &r));
	CHECK(!take(n + 1, &r));
	CHECK(!take(make("last", "sen\xfftence", "", 0), &r));
	CHECK(!take(make("", "sentence", "l\xc0\x80", 0), &r));
	CHECK(!take(make("LAST\nTask", "sentence", "", 0), &r));
	CHECK(!take(make("\nTask", "sentence", "", 0), &r));
	CHECK(!take(make("a-name-that-is-far-too-long-for-a-cause", "sentence", "", 0), &r));
	CHECK(!take(make("last", "sentence", "", 2), &r));
	CHECK(!take(make("last", "a failure with a cause", "", 1), &r));
	CHECK(!take(make("", "", "", 1), &r));
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK(!take(make("last", "", text, 0), &r));
	CHECK(!take(make("last", text, "", 0), &r));
	CHECK(!take(make(text, "", "", 0), &r));
	n = make("last", "sentence", "", 0);
	bytes[0] ^= 1;
	CHECK(!take(n, &r));
	n = make("last", "sen tence", "", 0);
	((char *)bytes)[sizeof(struct reading_answer) + 4 + 3] = '\0';
	CHECK(!take(n, &r));
}

int main(void)
{
	CHECK_RUN(test_accepted);
	CHECK_RUN(test_refused);
	return check_done();
}
