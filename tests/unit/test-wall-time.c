/* Wall times as text, and text as wall times: zones, the change to and from summer time, extremes. */
#include <stdlib.h>

#include "check.h"
#include "wall-time.h"

#define S   INT64_C(1000000000)
#define DAY (86400 * S)

#define BERLIN	"CET-1CEST,M3.5.0,M10.5.0/3"
#define KOLKATA "IST-5:30"

static struct wall_zone zone(const char *name)
{
	setenv("TZ", name ? name : "UTC0", 1);
	return (struct wall_zone){.utc = !name};
}

static void check_text(const char *name, int64_t ns, const char *want)
{
	struct wall_zone z = zone(name);
	char text[WALL_TEXT_MAX];

	CHECK_EQ_INT(wall_text(&z, ns, true, text), strlen(want));
	CHECK_EQ_STR(text, want);
	wall_text(&z, ns, false, text);
	CHECK_EQ_STR(text, want + 11);
}

static void test_text(void)
{
	check_text(NULL, 0, "1970-01-01T00:00:00.000000000Z");
	check_text(NULL, -1, "1969-12-31T23:59:59.999999999Z");
	check_text(KOLKATA, 1, "1970-01-01T05:30:00.000000001+05:30");
	check_text("XXX3:30", 1, "1969-12-31T20:30:00.000000001-03:30");
	check_text("XXX0:53:28", 0, "1969-12-31T23:06:32.000000000-00:53:28");
	check_text("UTC0", 0, "1970-01-01T00:00:00.000000000+00:00");
	/* Summer time ends at 01:00 UTC, so 02:30 comes twice. */
	check_text(BERLIN, 1792888200 * S, "2026-10-25T02:30:00.000000000+02:00");
	check_text(BERLIN, 1792891800 * S, "2026-10-25T02:30:00.000000000+01:00");
	/* Summer time begins at 01:00 UTC. */
	check_text(BERLIN, 1774745999 * S, "2026-03-29T01:59:59.000000000+01:00");
	check_text(BERLIN, 1774746000 * S, "2026-03-29T03:00:00.000000000+02:00");
	check_text(NULL, INT64_MIN, "1677-09-21T00:12:43.145224192Z");
	check_text(NULL, INT64_MAX, "2262-04-11T23:47:16.854775807Z");
}

static void test_day(void)
{
	struct wall_zone z = zone(BERLIN);
	int64_t midnight = 1792879200 * S; /* 2026-10-25T00:00:00+02:00 */

	CHECK(wall_day(&z, midnight - 1) != wall_day(&z, midnight));
	CHECK_EQ_INT(wall_day(&z, midnight), wall_day(&z, midnight + 25 * 3600 * S - 1));
	CHECK(wall_day(&z, midnight) != wall_day(&z, midnight + 25 * 3600 * S));
	CHECK(wall_day(&z, 0) != wall_day(&z, 366 * DAY));
}

static void check_moment(const char *name, const char *text, bool later, int64_t want)
{
	struct wall_zone z = zone(name);
	struct wall_moment m;

	if (!CHECK_EQ_INT(wall_parse(&m, text, &z, later), WALL_OK))
		fprintf(stderr, "%s\n", text);
	CHECK(!m.of_day);
	CHECK_EQ_INT(m.ns, want);
}

static void test_moments(void)
{
	check_moment(NULL, "1970-01-01T00:00:00Z", false, 0);
	check_moment(BERLIN, "1970-01-01T00:00:00.5Z", false, S / 2);
	check_moment(BERLIN, "2026-11-23T03:12:44", false, 1795399964 * S);
	check_moment(BERLIN, "2026-11-23 03:12:44.123456789", false, 1795399964 * S + 123456789);
	check_moment(BERLIN, "2026-11-23 03:12:44.1234567899", false, 1795399964 * S + 123456789);
	check_moment(BERLIN, "2026-11-23 03:12", false, 1795399920 * S);
	check_moment(BERLIN, "2026-11-23T03:12:44+05:30", false, 1795383764 * S);
	check_moment(NULL, "2026-11-23T03:12:44-05:30", false, 1795423364 * S);
	check_moment(NULL, "2026-11-23T03:12:44", false, 1795403564 * S);
	check_moment(KOLKATA, "2026-11-23T03:12:44", false, 1795383764 * S);
	check_moment(BERLIN, "2026-10-25T02:30:00", false, 1792888200 * S);
	check_moment(BERLIN, "2026-10-25T02:30:00", true, 1792891800 * S);
	check_moment(BERLIN, "2026-03-29T03:00:00", false, 1774746000 * S);
	check_moment(NULL, "2262-04-11T23:47:16.854775807", false, INT64_MAX);
	check_moment(NULL, "1677-09-21T00:12:44", false, -9223372036 * S);
}

static void test_no_moments(void)
{
	static const char *const others[] = {"",
					     "x",
					     "1",
					     "1.5",
					     "2026",
					     "2026-11-23",
					     "2026-11-23T",
					     "2026-11-23_03:12:44",
					     "2026-1-23T03:12:44",
					     "3:12:44",
					     "03:12:4",
					     "03:12:",
					     "03:12:44.",
					     "03:12:60",
					     "24:00:00",
					     "03:60:00",
					     "03:12:44 ",
					     " 03:12:44",
					     "03:12:44z",
					     "03:12:44+1",
					     "03:12:44+01",
					     "03:12:44+0100",
					     "03:12:44+24:00",
					     "03:12:44+01:60",
					     "03:12:44+01:00x",
					     "03-12-44"};
	static const char *const skipped[] = {"2026-03-29T02:30:00", "2026-02-30T03:12:44", "2026-13-01T03:12:44",
					      "2026-00-01T03:12:44", "2026-01-00T03:12:44", "9999-12-31T03:12:44",
					      "0000-01-01T03:12:44", "2262-04-12T23:47:16"};
	struct wall_zone z = zone(BERLIN);
	struct wall_moment m;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!CHECK_EQ_INT(wall_parse(&m, others[i], &z, false), WALL_OTHER))
			fprintf(stderr, "%s\n", others[i]);
	for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
		if (!CHECK_EQ_INT(wall_parse(&m, skipped[i], &z, false), WALL_SKIPPED))
			fprintf(stderr, "%s\n", skipped[i]);
}

/* Check the latest time at TEXT up to AT, and the first one from AT on; 0 = none. */
static void check_of_day(const char *name, const char *text, int64_t at, int64_t latest, int64_t next)
{
	struct wall_zone z = zone(name);
	struct wall_moment m;
	int64_t ns;

	CHECK_EQ_INT(wall_parse(&m, text, &z, false), WALL_OK);
	CHECK(m.of_day);
	CHECK_EQ_INT(wall_latest(&m, &z, at, &ns) ? ns : 0, latest);
	CHECK_EQ_INT(wall_next(&m, &z, at, &ns) ? ns : 0, next);
}

static void test_of_day(void)
{
	int64_t at = 1795399964 * S;	  /* 2026-11-23T02:12:44Z, 03:12:44+01:00 */
	int64_t october = 1792879200 * S; /* 2026-10-25T00:00:00+02:00 */
	int64_t march = 1774738800 * S;	  /* 2026-03-28T23:00:00Z, midnight of the 29th */

	check_of_day(NULL, "02:12:44", at, at, at);
	check_of_day(BERLIN, "03:12:44", at, at, at);
	check_of_day(BERLIN, "03:12:44", at - 1, at - DAY, at);
	check_of_day(BERLIN, "03:12:44", at + 1, at, at + DAY);
	check_of_day(BERLIN, "03:12:44.000000001", at, at + 1 - DAY, at + 1);
	check_of_day(BERLIN, "23:50", at, at - 12164 * S, at - 12164 * S + DAY);
	/* A time with an offset does not depend on the zone. */
	check_of_day(BERLIN, "07:42:44+05:30", at, at, at);
	check_of_day(KOLKATA, "03:12:44+01:00", at + 5, at, at + DAY);
	check_of_day(BERLIN, "23:12:44-03:00", at + 5, at, at + DAY);
	/* 02:30 comes twice on the day on which summer time ends, and not on the day on which it begins. */
	check_of_day(BERLIN, "02:30", october + 20 * 3600 * S, october + 12600 * S, october + 12600 * S + DAY);
	check_of_day(BERLIN, "02:30", october + 12599 * S, october + 9000 * S, october + 12600 * S);
	check_of_day(BERLIN, "02:30", march + 10 * 3600 * S, march - 77400 * S, march + 23 * 3600 * S + 9000 * S);
	/* The ends of the range. */
	check_of_day(NULL, "12:00", INT64_MAX, INT64_MAX - 854775807 - 42436 * S, 0);
	check_of_day(NULL, "12:00", INT64_MIN, 0, -9223329600 * S);
}

int main(void)
{
	CHECK_RUN(test_text);
	CHECK_RUN(test_day);
	CHECK_RUN(test_moments);
	CHECK_RUN(test_no_moments);
	CHECK_RUN(test_of_day);
	return check_done();
}
