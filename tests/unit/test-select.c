/* Options that a person types: patterns, times, filters, and suggestions for misspelt words. */
#include <stdlib.h>

#include "check.h"
#include "cleanup.h"
#include "ctl.h"
#include "filter.h"
#include "options.h"

static bool matches(const char *pattern, const char *text)
{
	return glob_match(pattern, text, strlen(text));
}

static void test_glob(void)
{
	char many[2001];

	CHECK(matches("", "") && matches("*", "") && matches("*", "abc") && matches("a*c", "abbc"));
	CHECK(matches("a?c", "abc") && !matches("a?c", "ac") && !matches("?", "") && matches("**", "x"));
	CHECK(matches("*net*", "a net b") && !matches("*net", "a net b") && matches("*ab*ab", "abxabyab"));
	CHECK(matches("\\*", "*") && !matches("\\*", "x") && matches("a\\?", "a?") && matches("\\\\", "\\"));
	CHECK(!matches("abc", "ab") && !matches("ab", "abc") && !matches("a", ""));
	CHECK(glob_match("a*", "a\0b", 3) && !glob_match("a", "a\0", 2));
	/* A simple matcher would need very long for this pattern. */
	memset(many, 'a', sizeof(many) - 1);
	many[sizeof(many) - 1] = 0;
	CHECK(!matches("a*a*a*a*a*a*a*a*a*a*a*a*b", many));
}

static int parse(struct period *p, const char *from, const char *to)
{
	return period_parse(p, from, to, "dump");
}

static void test_period(void)
{
	static const char *const bad[] = {"",	  "x",
					  "+",	  "1.",
					  ".5",	  "1x",
					  "-1",	  "1e3",
					  "1..2", "99999999999999999999",
					  "+ 1",  "18446744073.709551616"};
	struct period p;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ_INT(parse(&p, bad[i], NULL), CTL_USAGE);
	CHECK_EQ_INT(parse(&p, "2", "1"), CTL_USAGE);
	/* A period may be one moment. */
	CHECK_EQ_INT(parse(&p, "2", "2"), CTL_OK);
	CHECK(!period_holds(&p, 1999999999) && period_holds(&p, 2000000000) && !period_holds(&p, 2000000001));
	CHECK_EQ_INT(parse(&p, "18446744073.709551615", NULL), CTL_OK);
	CHECK(!period_holds(&p, UINT64_MAX - 1) && period_holds(&p, UINT64_MAX));
	CHECK_EQ_INT(parse(&p, NULL, NULL), CTL_OK);
	CHECK(period_holds(&p, 0) && period_holds(&p, UINT64_MAX));
	CHECK_EQ_INT(parse(&p, "2363.936157894", "2363.936157896"), CTL_OK);
	CHECK(!period_holds(&p, 2363936157893) && period_holds(&p, 2363936157894));
	CHECK(period_holds(&p, 2363936157896) && !period_holds(&p, 2363936157897));
	CHECK_EQ_INT(parse(&p, "+250ms", "+1.5s"), CTL_OK);
	CHECK(!period_holds(&p, 1000000000) && !period_holds(&p, 1249999999) && period_holds(&p, 1250000000));
	CHECK(period_holds(&p, 2500000000) && !period_holds(&p, 2500000001));
	CHECK_EQ_INT(parse(&p, "+0", "+1us"), CTL_OK);
	CHECK(period_holds(&p, 5) && period_holds(&p, 1005) && !period_holds(&p, 1006));
	/* A relative time that exceeds the largest time counts as the largest time. */
	CHECK_EQ_INT(parse(&p, NULL, "+18446744073.709551615"), CTL_OK);
	CHECK(period_holds(&p, 5) && period_holds(&p, UINT64_MAX));
	CHECK_EQ_INT(parse(&p, "1", "+1h"), CTL_OK);
	CHECK(!period_holds(&p, 5) && period_holds(&p, 3600000000005) && !period_holds(&p, 3600000000006));
}

static struct mprof_raw_event event(uint8_t id, int64_t context, int64_t number, const char *text)
{
	return (struct mprof_raw_event){
		.id = id, .context = context, .number = number, .text = text, .text_bytes = text ? strlen(text) : 0};
}

static bool takes(struct filter *f, uint8_t id, int64_t context, int64_t number, const char *text)
{
	struct mprof_raw_event e = event(id, context, number, text);

	return filter_takes(f, 0, &e);
}

static void test_filter_words(void)
{
	CLEANUP(filter_deinit) struct filter f = {0};

	CHECK_EQ_INT(filter_parse(&f, "label,fails", "-1,7", NULL, "dump"), CTL_OK);
	CHECK(takes(&f, MPROF_EVENT_fails, 7, 3, "x") && takes(&f, MPROF_EVENT_fails, 3, 7, "x"));
	CHECK(!takes(&f, MPROF_EVENT_read, 7, 3, NULL) && !takes(&f, MPROF_EVENT_label, 3, 0, "x"));
	CHECK(takes(&f, MPROF_EVENT_label, -1, 0, "x"));
	CHECK_EQ_INT(filter_parse(&f, "labels", NULL, NULL, "dump"), CTL_USAGE);
	CHECK_EQ_INT(filter_parse(&f, "label,", NULL, NULL, "dump"), CTL_USAGE);
	CHECK_EQ_INT(filter_parse(&f, NULL, "7x", NULL, "dump"), CTL_USAGE);
	CHECK_EQ_INT(filter_parse(&f, NULL, "7,,8", NULL, "dump"), CTL_USAGE);
}

/* The value of a counter is no thread id, and neither is the duration of a collection. */
static void test_filter_threads(void)
{
	CLEANUP(filter_deinit) struct filter f = {0};

	CHECK_EQ_INT(filter_parse(&f, NULL, "0,5", NULL, "dump"), CTL_OK);
	CHECK(!takes(&f, MPROF_EVENT_counter, 1, 5, "c") && takes(&f, MPROF_EVENT_counter, 5, 1, "c"));
	CHECK(!takes(&f, MPROF_EVENT_gc, 0, 5, NULL) && takes(&f, MPROF_EVENT_switch, 0, 0, NULL));
	CHECK(takes(&f, MPROF_EVENT_creates, 1, 5, NULL) && !takes(&f, MPROF_EVENT_switch, 1, 0, NULL));
}

static void test_filter_label(void)
{
	CLEANUP(filter_deinit) struct filter f = {0};
	struct mprof_raw_event other = event(MPROF_EVENT_switch, 7, 0, NULL);
	int64_t id;

	CHECK_EQ_INT(filter_parse(&f, NULL, NULL, "net*", "dump"), CTL_OK);
	CHECK(!takes(&f, MPROF_EVENT_switch, 7, 0, NULL));
	CHECK(takes(&f, MPROF_EVENT_label, 7, 0, "network") && takes(&f, MPROF_EVENT_switch, 7, 0, NULL));
	CHECK(takes(&f, MPROF_EVENT_read, 1, 7, NULL) && !takes(&f, MPROF_EVENT_read, 1, 2, NULL));
	CHECK(!filter_takes(&f, 1, &other)); /* thread 7 of another stream */
	for (id = 100; id < 1100; id++)
		CHECK(takes(&f, MPROF_EVENT_label, id, 0, "net"));
	for (id = 0; id < 1200; id++)
		CHECK_EQ_INT(takes(&f, MPROF_EVENT_switch, id, 0, NULL), id == 7 || (id >= 100 && id < 1100));
}

/* A label that was set before the requested period counts inside the period. */
static void test_filter_time(void)
{
	CLEANUP(filter_deinit) struct filter f = {0};
	struct mprof_raw_event e = event(MPROF_EVENT_label, 7, 0, "net");

	CHECK_EQ_INT(period_parse(&f.period, "2", NULL, "dump"), CTL_OK);
	CHECK_EQ_INT(filter_parse(&f, NULL, NULL, "net", "dump"), CTL_OK);
	e.timestamp = 1;
	CHECK(!filter_takes(&f, 0, &e));
	e = event(MPROF_EVENT_switch, 7, 0, NULL);
	e.timestamp = 2000000000;
	CHECK(filter_takes(&f, 0, &e));
}

static const char *meant(const char *word)
{
	static const char *const words[] = {"dump", "domains", "captures", "--label", "--from"};
	struct suggestion suggestion = {.word = word};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		suggestion_consider(&suggestion, words[i]);
	return suggestion.best;
}

static void test_suggestion(void)
{
	CHECK_EQ_STR(meant("dmup"), "dump");
	CHECK_EQ_STR(meant("dum"), "dump");
	CHECK_EQ_STR(meant("domain"), "domains");
	CHECK_EQ_STR(meant("capturse"), "captures");
	CHECK_EQ_STR(meant("--lable=x"), "--label");
	CHECK_EQ_STR(meant("--form"), "--from");
	CHECK_EQ_STR(meant("list"), NULL);
	CHECK_EQ_STR(meant(""), NULL);
	CHECK_EQ_STR(meant("a word that is longer than any that there is"), NULL);
}

int main(void)
{
	CHECK_RUN(test_glob);
	CHECK_RUN(test_period);
	CHECK_RUN(test_filter_words);
	CHECK_RUN(test_filter_threads);
	CHECK_RUN(test_filter_label);
	CHECK_RUN(test_filter_time);
	CHECK_RUN(test_suggestion);
	return check_done();
}
