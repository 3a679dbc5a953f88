/* Scopes: their text in one form, what they allow, and which texts are refused. */
#include "check.h"
#include "scopes.h"

static struct scopes *parse(const char *text)
{
	char sentence[256] = "";
	struct scopes *s = scopes_parse(text, sentence, sizeof(sentence));

	CHECK_EQ_STR(s ? "" : sentence, "");
	return s;
}

static void test_text(void)
{
	static const char *const texts[][2] = {
		{"", "read=;context=;write=;metrics=no"},
		{"read=web*", "read=web*;context=;write=;metrics=no"},
		{"read=b a  b;metrics=yes", "read=a b;context=;write=;metrics=yes"},
		{" write=x , read=a\tb ;; read=c", "read=a b c;context=;write=x;metrics=no"},
		{"metrics=yes;metrics=no", "read=;context=;write=;metrics=yes"},
		{"read=[ab]* []] [!]x]", "read=[!]x] []] [ab]*;context=;write=;metrics=no"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct scopes *s = parse(texts[i][0]), *again;

		if (!s)
			continue;
		CHECK_EQ_STR(scopes_text(s), texts[i][1]);
		again = parse(scopes_text(s));
		CHECK_EQ_STR(scopes_text(again), texts[i][1]);
		scopes_unref(again);
		scopes_unref(s);
	}
}

static void test_refused(void)
{
	static const char *const texts[][2] = {
		{"read", "\"read\" is no scope"},
		{"raed=x", "\"raed=x\" is no scope"},
		{"metrics=maybe", "\"metrics=maybe\" is no scope"},
		{"=x", "\"=x\" is no scope"},
		{"read=a[b", "a [ without its ]"},
		{"read=a\nb", "control character"},
	};
	char sentence[256], many[2048] = "read=", *at = many + 5;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CHECK(!scopes_parse(texts[i][0], sentence, sizeof(sentence)));
		CHECK(strstr(sentence, texts[i][1]) && !strchr(sentence, '\n'));
	}
	for (int i = 0; i < 65; i++)
		at += sprintf(at, "g%d ", i);
	CHECK(!scopes_parse(many, sentence, sizeof(sentence)) && strstr(sentence, "more than 64 globs"));
	memset(many + 5, 'a', 1100);
	many[1105] = '\0';
	CHECK(!scopes_parse(many, sentence, sizeof(sentence)) && strstr(sentence, "longer than 1023 bytes"));
}

static void test_allow(void)
{
	struct scopes *s = parse("read=web* db-?;context=*;write=web1 db-1 other");

	CHECK(scopes_allow(s, SCOPE_READ, "web") && scopes_allow(s, SCOPE_READ, "web1"));
	CHECK(scopes_allow(s, SCOPE_READ, "db-1") && !scopes_allow(s, SCOPE_READ, "db-10"));
	CHECK(!scopes_allow(s, SCOPE_READ, "aweb") && !scopes_allow(s, SCOPE_READ, ""));
	/* Whoever may not read a guest may do nothing else to it. */
	CHECK(scopes_allow(s, SCOPE_CONTEXT, "web2") && !scopes_allow(s, SCOPE_CONTEXT, "other"));
	CHECK(scopes_allow(s, SCOPE_WRITE, "web1") && !scopes_allow(s, SCOPE_WRITE, "web2"));
	CHECK(!scopes_allow(s, SCOPE_WRITE, "other"));
	/* Only * matches a guest without a name. */
	CHECK(!scopes_allow(s, SCOPE_READ, NULL) && !scopes_all(s, SCOPE_CONTEXT) && !scopes_metrics(s));
	scopes_unref(s);
	s = parse("read=*;context=*");
	CHECK(scopes_allow(s, SCOPE_READ, NULL) && scopes_all(s, SCOPE_READ) && scopes_all(s, SCOPE_CONTEXT));
	CHECK(!scopes_all(s, SCOPE_WRITE) && !scopes_everything(s));
	scopes_unref(s);
	s = parse("read=*;context=*;write=*;metrics=yes");
	CHECK(scopes_everything(s));
	scopes_unref(s);
}

static void test_join(void)
{
	struct scopes *a = parse("read=web*;write=web*"), *b = parse("read=db web*;metrics=yes"), *both, *second;
	char sentence[256];

	both = scopes_join(a, b, sentence, sizeof(sentence));
	second = scopes_ref(both);
	scopes_unref(a);
	scopes_unref(b);
	scopes_unref(both);
	CHECK_EQ_STR(scopes_text(second), "read=db web*;context=;write=web*;metrics=yes");
	CHECK_EQ_STR(scopes_globs(second, SCOPE_READ), "db web*");
	CHECK(scopes_unref(second) == NULL);
}

int main(void)
{
	CHECK_RUN(test_text);
	CHECK_RUN(test_refused);
	CHECK_RUN(test_allow);
	CHECK_RUN(test_join);
	return check_done();
}
