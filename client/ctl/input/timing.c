/* This file shows times as the options --time and --utc ask. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "ctl.h"
#include "json-whole.h"
#include "timing.h"

int timing_parse(struct timing *t, const struct options *o, enum time_kind normal, const char *verb)
{
	static const char *const names[] = {[TIME_GUEST] = "guest", [TIME_WALL] = "wall", [TIME_RELATIVE] = "relative"};
	size_t i = normal;

	*t = (struct timing){0};
	t->zone.utc = o->utc;
	t->utc.utc = true;
	if (o->time)
		for (i = 0; i < ARRAY_SIZE(names) && strcmp(o->time, names[i]) != 0; i++)
			;
	if (i == ARRAY_SIZE(names))
		return say_usage(verb, "--time %s is none of wall, guest and relative", o->time);
	t->kind = (enum time_kind)i;
	return period_parse(&t->period, o->from, o->to, &t->zone, wall_now(), verb);
}

bool timing_needs_clock(const struct timing *t)
{
	return t->passed_on || t->kind == TIME_WALL || period_is_wall(&t->period);
}

int timing_settle(struct timing *t, const char *name)
{
	const struct moment *m = t->period.from.is_wall ? &t->period.from : &t->period.to;
	bool period = period_is_wall(&t->period);
	char consequence[160];

	if (t->kind != TIME_WALL && !period)
		return CTL_OK;
	snprintf(consequence, sizeof(consequence), "times are those of the guest's own clock");
	if (period)
		snprintf(consequence, sizeof(consequence), "write %.60s as a time that dump prints", m->text);
	clock_offset_report(&t->clock, name, consequence);
	if (!period)
		return CTL_OK;
	return t->clock.known ? period_settle(&t->period, &t->clock, &t->zone, name) : CTL_FAILED;
}

void timing_range(struct timing *t, uint64_t first, uint64_t last)
{
	int64_t from, to;

	t->first = first;
	t->dated = t->kind == TIME_WALL && clock_offset_wall(&t->clock, first, &from) &&
		   clock_offset_wall(&t->clock, last, &to) && wall_day(&t->zone, from) != wall_day(&t->zone, to);
}

static size_t seconds_text(const char *sign, uint64_t ns, char *text)
{
	return (size_t)sprintf(text, "%s%" PRIu64 ".%09" PRIu64, sign, ns / 1000000000, ns % 1000000000);
}

/* Return true if the wall time NS is to be shown with its date. */
static bool needs_date(struct timing *t, int64_t ns)
{
	int day;
	bool other;

	if (!t->by_lines)
		return t->dated;
	day = wall_day(&t->zone, ns);
	other = !t->begun || day != t->day;
	t->begun = true;
	t->day = day;
	return other;
}

size_t timing_text(struct timing *t, uint64_t ns, char *text)
{
	int64_t wall;

	if (t->kind == TIME_RELATIVE)
		return ns < t->first ? seconds_text("-", t->first - ns, text) : seconds_text("+", ns - t->first, text);
	if (t->kind == TIME_WALL && clock_offset_wall(&t->clock, ns, &wall))
		return wall_text(&t->zone, wall, needs_date(t, wall), text);
	return seconds_text("", ns, text);
}

void timing_print(struct timing *t, uint64_t ns)
{
	char text[TIMING_TEXT_MAX];

	timing_text(t, ns, text);
	fputs(text, stdout);
}

/* ---- JSON */

size_t timing_json_text(struct timing *t, uint64_t ns, char *text)
{
	int64_t wall;
	size_t n;

	if (!clock_offset_wall(&t->clock, ns, &wall))
		return (size_t)sprintf(text, "null");
	text[0] = '"';
	n = 1 + wall_text(&t->utc, wall, true, text + 1);
	text[n++] = '"';
	text[n] = 0;
	return n;
}

uint64_t timing_uncertainty(const struct timing *t)
{
	return t->clock.known ? t->clock.uncertainty_ns : UINT64_MAX;
}
