/* Options that a person types: patterns, times, filters, and suggestions for misspelt words. */
#include <stdlib.h>

#include "check.h"
#include "cleanup.h"
#include "ctl.h"
#include "filter.h"
#include "options.h"
#include "suggestion.h"

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

#define S   INT64_C(1000000000)
#define NOW (1795399964 * S) /* 2026-11-23T02:12:44Z */

static int parse(struct period *p, const char *from, const char *to)
{
	struct wall_zone zone = {.utc = true};

	return period_parse(p, from, to, &zone, NOW, "dump");
}

static void test_period(void)
{
	static const char *const bad[] = {"",
					  "x",
					  "+",
					  "1.",
					  ".5",
					  "1x",
					  "-1",
					  "1e3",
					  "1..2",
					  "99999999999999999999",
					  "+ 1",
					  "18446744073.709551616",
					  "ago",
					  "10 ago",
					  "10 min",
					  "10 x ago",
					  "10 min  ago",
					  "10 min ago ",
					  "min ago",
					  "1e3 s ago",
					  "9999999999 d ago",
					  "10 s agone",
					  "24:00",
					  "2026-02-30T01:00"};
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

/* Parse a period and convert its wall times for a guest that began at NOW - 1000 s. */
static int settled(struct period *p, const char *from, const char *to)
{
	const struct clock_offset c = {.known = true, .ns = NOW - 1000 * S, .ends = true, .end_ns = NOW + 5};
	struct wall_zone zone = {.utc = true};
	int r = parse(p, from, to);

	return r ? r : period_settle(p, &c, &zone, "test");
}

static void check_settled(const char *from, const char *to, uint64_t first, uint64_t last)
{
	struct period p;

	if (!CHECK_EQ_INT(settled(&p, from, to), CTL_OK))
		return;
	CHECK(!period_is_wall(&p));
	CHECK(period_holds(&p, first) && period_holds(&p, last));
	CHECK(!first || !period_holds(&p, first - 1));
	CHECK(last == UINT64_MAX || !period_holds(&p, last + 1));
}

static void test_wall_period(void)
{
	struct wall_zone zone = {.utc = true};
	struct clock_offset c = {.known = true, .ns = NOW};
	struct period p;

	CHECK_EQ_INT(parse(&p, "02:12", "2026-11-23T02:12:44"), CTL_OK);
	CHECK(period_is_wall(&p));
	CHECK_EQ_INT(parse(&p, "5", NULL), CTL_OK);
	CHECK(!period_is_wall(&p));
	check_settled("02:12:44", NULL, 1000000000000, UINT64_MAX);
	check_settled(NULL, "02:12:44", 0, 1000000000000);
	check_settled("02:00", "02:10", 236000000000, 836000000000);
	check_settled("2026-11-23T02:12:34Z", "2026-11-23 03:12:44.000000001+01:00", 990000000000, 1000000000001);
	check_settled("10 s ago", "5s ago", 990000000000, 995000000000);
	check_settled("1.5 min ago", "1m ago", 910000000000, 940000000000);
	check_settled("1 h ago", "1 min ago", 0, 940000000000);
	check_settled("10min ago", NULL, 400000000000, UINT64_MAX);
	check_settled("2 d ago", NULL, 0, UINT64_MAX);
	/* The end is the first such time behind the begin, even behind the end of the trace. */
	check_settled("02:12:30", "02:13:00", 986000000000, 1016000000000);
	/* A wall time goes with a guest time. */
	check_settled("02:12:34", "995.5", 990000000000, 995500000000);
	/* Before the guest's clock began there is nothing. */
	CHECK_EQ_INT(settled(&p, NULL, "2026-11-22T02:12:44"), CTL_OK);
	CHECK(!period_holds(&p, 0) && !period_holds(&p, 1) && !period_holds(&p, UINT64_MAX));
	CHECK_EQ_INT(settled(&p, "2026-11-22T02:12:44", "2026-11-22T02:12:45"), CTL_OK);
	CHECK(!period_holds(&p, 0) && !period_holds(&p, 1));
	/* The end is before the begin. */
	CHECK_EQ_INT(settled(&p, "2026-11-23T02:12:44", "2026-11-23T02:12:43"), CTL_USAGE);
	CHECK_EQ_INT(settled(&p, "5 s ago", "10 s ago"), CTL_USAGE);
	CHECK_EQ_INT(settled(&p, "02:12:34", "980"), CTL_USAGE);
	/* Without the end of the trace the day of a time of day is unknown. */
	CHECK_EQ_INT(parse(&p, "02:12", NULL), CTL_OK);
	CHECK_EQ_INT(period_settle(&p, &c, &zone, "test"), CTL_FAILED);
	c = (struct clock_offset){.known = true, .ns = INT64_MIN, .ends = true, .end_ns = INT64_MIN};
	CHECK_EQ_INT(parse(&p, "02:12", NULL), CTL_OK);
	CHECK_EQ_INT(period_settle(&p, &c, &zone, "test"), CTL_FAILED);
}

/* The extremes of the offset. */
static void test_extremes(void)
{
	struct wall_zone zone = {.utc = true};
	struct clock_offset c = {.known = true, .ns = INT64_MIN};
	struct period p;
	int64_t ns;

	CHECK_EQ_INT(parse(&p, "2026-11-23T02:12:44", NULL), CTL_OK);
	CHECK_EQ_INT(period_settle(&p, &c, &zone, "test"), CTL_OK);
	CHECK(period_holds(&p, (uint64_t)INT64_MAX + 1 + (uint64_t)NOW) && !period_holds(&p, INT64_MAX));
	CHECK(clock_offset_wall(&c, UINT64_MAX, &ns) && ns == INT64_MAX);
	CHECK(clock_offset_wall(&c, 0, &ns) && ns == INT64_MIN);
	c.ns = INT64_MAX;
	CHECK(clock_offset_wall(&c, 0, &ns) && ns == INT64_MAX);
	CHECK(!clock_offset_wall(&c, 1, &ns) && !clock_offset_wall(&c, UINT64_MAX, &ns));
	CHECK_EQ_INT(parse(&p, "2026-11-23T02:12:44", "1 s ago"), CTL_USAGE);
	CHECK_EQ_INT(parse(&p, NULL, "2026-11-23T02:12:44"), CTL_OK);
	CHECK_EQ_INT(period_settle(&p, &c, &zone, "test"), CTL_OK);
	CHECK(!period_holds(&p, 0) && !period_holds(&p, 1));
	c.known = false;
	CHECK(!clock_offset_wall(&c, 0, &ns));
}

static bool takes(struct filter *f, uint8_t id, int64_t context, int64_t number, const char *text)
{
	struct mprof_raw_event e = event(id, context, number, text);

	return filter_takes(f, 0, &e);
}

static void test_filter_words(void)
{
	struct period period = {0};
	CLEANUP(filter_deinit) struct filter f = {.period = &period};

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
	struct period period = {0};
	CLEANUP(filter_deinit) struct filter f = {.period = &period};

	CHECK_EQ_INT(filter_parse(&f, NULL, "0,5", NULL, "dump"), CTL_OK);
	CHECK(!takes(&f, MPROF_EVENT_counter, 1, 5, "c") && takes(&f, MPROF_EVENT_counter, 5, 1, "c"));
	CHECK(!takes(&f, MPROF_EVENT_gc, 0, 5, NULL) && takes(&f, MPROF_EVENT_switch, 0, 0, NULL));
	CHECK(takes(&f, MPROF_EVENT_creates, 1, 5, NULL) && !takes(&f, MPROF_EVENT_switch, 1, 0, NULL));
}

static void test_filter_label(void)
{
	struct period period = {0};
	CLEANUP(filter_deinit) struct filter f = {.period = &period};
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
	struct period period = {0};
	CLEANUP(filter_deinit) struct filter f = {.period = &period};
	struct mprof_raw_event e = event(MPROF_EVENT_label, 7, 0, "net");

	CHECK_EQ_INT(parse(&period, "2", NULL), CTL_OK);
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
	CHECK_RUN(test_wall_period);
	CHECK_RUN(test_extremes);
	CHECK_RUN(test_filter_words);
	CHECK_RUN(test_filter_threads);
	CHECK_RUN(test_filter_label);
	CHECK_RUN(test_filter_time);
	CHECK_RUN(test_suggestion);
	return check_done();
}
