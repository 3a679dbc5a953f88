/*
 * This file converts between times and texts.
 *
 * libc converts seconds since 1970 to a date and a time of day of the zone, and says the zone's
 * offset at that second. The other direction uses only that: a time of day has the offset of the day
 * before or of the day after. The offset that leads back to the same time of day is right; both are
 * if the zone has that time twice, and none is if its clocks go forward over it.
 */
#include <stdio.h>
#include <string.h>

#include "wall-time.h"

#define SECOND INT64_C(1000000000)
#define DAY_S  86400
#define DAYS   3 /* days to search for a time of day, in both directions */

/* Store the seconds of NS, rounded down, in *SECONDS. Return the rest, ns. */
static int64_t split(int64_t ns, int64_t *seconds)
{
	int64_t rest = ns % SECOND;

	*seconds = ns / SECOND - (rest < 0);
	return rest < 0 ? rest + SECOND : rest;
}

static bool join(int64_t seconds, int64_t rest, int64_t *ns)
{
	return !__builtin_mul_overflow(seconds, SECOND, ns) && !__builtin_add_overflow(*ns, rest, ns);
}

static void broken_down(bool utc, int64_t second, struct tm *tm)
{
	time_t t = (time_t)second;

	*tm = (struct tm){.tm_mday = 1, .tm_year = 70};
	if (utc)
		gmtime_r(&t, tm);
	else
		localtime_r(&t, tm);
}

/* Write the offset from UTC, EAST seconds, to TEXT. Return its length. */
static size_t offset_text(bool utc, long east, char *text, size_t size)
{
	long most = east < 0 ? -east : east;

	if (utc)
		return (size_t)snprintf(text, size, "Z");
	if (most % 60)
		return (size_t)snprintf(text, size, "%c%02ld:%02ld:%02ld", east < 0 ? '-' : '+', most / 3600,
					most / 60 % 60, most % 60);
	return (size_t)snprintf(text, size, "%c%02ld:%02ld", east < 0 ? '-' : '+', most / 3600, most / 60 % 60);
}

/* Write the N digits of VALUE, with zeros in front. Return the end. */
static char *put_digits(char *out, uint32_t value, unsigned int n)
{
	for (char *at = out + n; at > out; value /= 10)
		*--at = (char)('0' + value % 10);
	return out + n;
}

/* Write `2026-11-23T03:12:44`, the years from 0 to 9999. */
static void put_date_time(char *out, const struct tm *tm)
{
	out = put_digits(out, (uint32_t)(tm->tm_year + 1900), 4);
	*out++ = '-';
	out = put_digits(out, (uint32_t)tm->tm_mon + 1, 2);
	*out++ = '-';
	out = put_digits(out, (uint32_t)tm->tm_mday, 2);
	*out++ = 'T';
	out = put_digits(out, (uint32_t)tm->tm_hour, 2);
	*out++ = ':';
	out = put_digits(out, (uint32_t)tm->tm_min, 2);
	*out++ = ':';
	put_digits(out, (uint32_t)tm->tm_sec, 2);
}

/* Set the fields of Z to those of SECOND. A trace has many events in a second, so they are kept. */
static void zone_at(struct wall_zone *z, int64_t second)
{
	if (z->cached && z->second == second)
		return;
	if (!z->cached && !z->utc)
		tzset(); /* localtime_r() need not do this */
	broken_down(z->utc, second, &z->tm);
	z->second = second;
	z->cached = true;
	z->day = z->tm.tm_year * 366 + z->tm.tm_yday;
	put_date_time(z->date_time, &z->tm);
	z->offset_bytes = (uint8_t)offset_text(z->utc, z->tm.tm_gmtoff, z->offset, sizeof(z->offset));
}

#define DATE_TIME_BYTES 19u
#define DATE_BYTES	11u /* the date and the T */

size_t wall_text(struct wall_zone *z, int64_t ns, bool dated, char *text)
{
	int64_t second, rest = split(ns, &second);
	size_t skip = dated ? 0 : DATE_BYTES;
	char *out = text + DATE_TIME_BYTES - skip;

	zone_at(z, second);
	memcpy(text, z->date_time + skip, DATE_TIME_BYTES - skip);
	*out++ = '.';
	out = put_digits(out, (uint32_t)rest, 9);
	memcpy(out, z->offset, z->offset_bytes);
	out += z->offset_bytes;
	*out = 0;
	return (size_t)(out - text);
}

int wall_day(struct wall_zone *z, int64_t ns)
{
	int64_t second;

	split(ns, &second);
	zone_at(z, second);
	return z->day;
}

int64_t wall_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

/* ---- text to time */

/* The parts of a text. */
struct parts {
	struct tm tm; /* the date, if DATED, and the time of day */
	bool dated;
	int64_t rest; /* fraction of the second, ns */
};

/* Read exactly N digits at *S and move *S behind them. Return false if there are fewer. */
static bool digits(const char **s, int n, int *value)
{
	*value = 0;
	for (int i = 0; i < n; i++, ++*s) {
		if (**s < '0' || **s > '9')
			return false;
		*value = *value * 10 + (**s - '0');
	}
	return true;
}

static bool character(const char **s, const char *wanted)
{
	if (!**s || !strchr(wanted, **s))
		return false;
	++*s;
	return true;
}

/* Read a date and the character behind it, if *S begins with one. Return false if it is wrong. */
static bool take_date(struct parts *p, const char **s)
{
	const char *at = *s;
	int year, month, day;

	if (!digits(&at, 4, &year))
		return true;
	if (!character(&at, "-") || !digits(&at, 2, &month) || !character(&at, "-") || !digits(&at, 2, &day) ||
	    !character(&at, "T "))
		return false;
	p->tm.tm_year = year - 1900;
	p->tm.tm_mon = month - 1;
	p->tm.tm_mday = day;
	p->dated = true;
	*s = at;
	return true;
}

static bool take_fraction(struct parts *p, const char **s)
{
	int64_t unit = SECOND / 10;

	if (!character(s, "."))
		return true;
	if (**s < '0' || **s > '9')
		return false;
	for (; **s >= '0' && **s <= '9'; ++*s, unit /= 10)
		p->rest += (**s - '0') * unit;
	return true;
}

static bool take_time(struct parts *p, const char **s)
{
	if (!digits(s, 2, &p->tm.tm_hour) || !character(s, ":") || !digits(s, 2, &p->tm.tm_min))
		return false;
	if (character(s, ":") && (!digits(s, 2, &p->tm.tm_sec) || !take_fraction(p, s)))
		return false;
	return p->tm.tm_hour < 24 && p->tm.tm_min < 60 && p->tm.tm_sec < 60;
}

/* Read the offset from UTC at the end of a text. */
static bool take_offset(struct wall_moment *m, const char *s)
{
	bool west = *s == '-';
	int hours, minutes;

	m->zoned = *s;
	if (!*s || strcmp(s, "Z") == 0)
		return true;
	if (!character(&s, "+-") || !digits(&s, 2, &hours) || !character(&s, ":") || !digits(&s, 2, &minutes) || *s ||
	    hours > 23 || minutes > 59)
		return false;
	m->offset_s = (hours * 60 + minutes) * 60 * (west ? -1 : 1);
	return true;
}

static bool same_time(const struct tm *a, const struct tm *b)
{
	return a->tm_year == b->tm_year && a->tm_mon == b->tm_mon && a->tm_mday == b->tm_mday &&
	       a->tm_hour == b->tm_hour && a->tm_min == b->tm_min && a->tm_sec == b->tm_sec;
}

/*
 * Store in FOUND the seconds since 1970 at which a clock on the wall shows FLAT (its date and time,
 * as if they were UTC), ascending. A zone that M names comes first. Return their number.
 */
static int seconds_at(const struct wall_moment *m, const struct wall_zone *z, int64_t flat, int64_t found[2])
{
	struct tm wanted, tm;
	int n = 0;

	if (m->zoned || z->utc) {
		found[0] = flat - m->offset_s;
		return 1;
	}
	broken_down(true, flat, &wanted);
	for (int64_t near = flat - DAY_S; near <= flat + DAY_S; near += 2 * DAY_S) {
		broken_down(false, near, &tm);
		found[n] = flat - tm.tm_gmtoff;
		broken_down(false, found[n], &tm);
		n += same_time(&tm, &wanted) && !(n && found[0] == found[n]);
	}
	if (n == 2 && found[0] > found[1]) {
		int64_t first = found[1];

		found[1] = found[0];
		found[0] = first;
	}
	return n;
}

enum wall_status wall_parse(struct wall_moment *m, const char *text, struct wall_zone *z, bool later)
{
	struct parts p = {.tm = {.tm_mday = 1, .tm_year = 70}};
	int64_t flat, found[2];
	struct tm normal;
	int n;

	*m = (struct wall_moment){0};
	if (!take_date(&p, &text) || !take_time(&p, &text) || !take_offset(m, text))
		return WALL_OTHER;
	if (!z->utc)
		tzset();
	normal = p.tm;
	flat = timegm(&normal);
	if (!same_time(&normal, &p.tm))
		return WALL_SKIPPED;
	if (!p.dated) {
		m->of_day = true;
		m->day_ns = flat * SECOND + p.rest;
		return WALL_OK;
	}
	n = seconds_at(m, z, flat, found);
	if (!n || !join(found[later ? n - 1 : 0], p.rest, &m->ns))
		return WALL_SKIPPED;
	return WALL_OK;
}

/*
 * Find the time at M's time of day that is next to AT: the first one from AT on if FORWARD, else the
 * last one up to AT.
 */
static bool next_to(const struct wall_moment *m, struct wall_zone *z, int64_t at, bool forward, int64_t *ns)
{
	int64_t second, midnight, found[2], one;
	bool any = false;
	struct tm tm;

	split(at, &second);
	zone_at(z, second);
	tm = z->tm;
	if (m->zoned)
		broken_down(true, second + m->offset_s, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	midnight = timegm(&tm);
	for (int day = -DAYS; day <= DAYS; day++) {
		int64_t rest = split(m->day_ns, &second);
		int n = seconds_at(m, z, midnight + (int64_t)day * DAY_S + second, found);

		for (int i = 0; i < n; i++) {
			if (!join(found[i], rest, &one) || (forward ? one < at : one > at))
				continue;
			if (!any || (forward ? one < *ns : one > *ns))
				*ns = one;
			any = true;
		}
	}
	return any;
}

bool wall_latest(const struct wall_moment *m, struct wall_zone *z, int64_t end, int64_t *ns)
{
	return next_to(m, z, end, false, ns);
}

bool wall_next(const struct wall_moment *m, struct wall_zone *z, int64_t from, int64_t *ns)
{
	return next_to(m, z, from, true, ns);
}
