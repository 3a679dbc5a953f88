/*
 * This file passes on the events inside of the period. A gap belongs to the event after it: the gap
 * is passed on if that event is. A gap at the end of a stream is passed on if the period has no
 * end. Damage has no time and is always passed on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "ctl.h"
#include "time-filter.h"

/* Times on the command line are read without floating point, so nanoseconds are exact. */

#define SECOND 1000000000u

struct unit {
	const char *name;
	uint64_t ns;
};

static const struct unit units[] = {
	{"", SECOND},
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", SECOND},
	{"m", 60ull * SECOND},
	{"h", 3600ull * SECOND},
	{"d", 86400ull * SECOND},
};

/*
 * Read digits with an optional fraction, of a unit of NS nanoseconds. Return false if the text is
 * no number or too large.
 */
static bool amount(const char *s, size_t len, uint64_t ns, uint64_t *out)
{
	uint64_t whole = 0, fraction = 0;
	size_t i;

	for (i = 0; i < len && s[i] >= '0' && s[i] <= '9'; i++)
		if (__builtin_mul_overflow(whole, (uint64_t)10, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(s[i] - '0'), &whole))
			return false;
	if (!i || __builtin_mul_overflow(whole, ns, &whole))
		return false;
	if (i < len && s[i] == '.') {
		if (++i == len)
			return false;
		for (; i < len && s[i] >= '0' && s[i] <= '9'; i++) {
			fraction += ns % 10 ? 0 : (uint64_t)(s[i] - '0') * (ns / 10);
			ns = ns % 10 ? 1 : ns / 10;
		}
	}
	*out = whole + fraction;
	return i == len && *out >= whole;
}

static bool unit_amount(const char *s, size_t len, const char *unit, uint64_t *ns)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(unit, units[i].name) == 0)
			return amount(s, len, units[i].ns, ns);
	return false;
}

static bool guest_parse(struct moment *m, const char *s)
{
	size_t len;

	m->relative = *s == '+';
	s += m->relative;
	len = strspn(s, "0123456789.");
	return unit_amount(s, len, s + len, &m->ns);
}

/* Parse "10 min ago" or "1.5h ago". */
static bool ago_parse(struct moment *m, const char *s, int64_t now_ns)
{
	size_t len = strspn(s, "0123456789."), gap = strspn(s + len, " ");
	size_t unit_len = strcspn(s + len + gap, " ");
	char unit[8];
	uint64_t ns;

	if (!unit_len || unit_len >= sizeof(unit) || strcmp(s + len + gap + unit_len, " ago") != 0)
		return false;
	memcpy(unit, s + len + gap, unit_len);
	unit[unit_len] = 0;
	if (!unit_amount(s, len, strcmp(unit, "min") == 0 ? "m" : unit, &ns))
		return false;
	m->wall = (struct wall_moment){0};
	return !__builtin_sub_overflow(now_ns, ns, &m->wall.ns);
}

static int moment_parse(struct moment *m, const char *option, const char *s, struct wall_zone *zone, int64_t now_ns,
			const char *verb)
{
	enum wall_status status;

	*m = (struct moment){.given = true, .text = s};
	if (guest_parse(m, s))
		return CTL_OK;
	m->relative = false;
	m->is_wall = true;
	if (ago_parse(m, s, now_ns))
		return CTL_OK;
	status = wall_parse(&m->wall, s, zone, strcmp(option, "--to") == 0);
	if (status == WALL_SKIPPED)
		return say_usage(
			verb,
			"%s %s: there is no such time; either the date does not exist, or the zone's clocks go "
			"forward over it",
			option, s);
	if (status == WALL_OTHER)
		return say_usage(verb,
				 "%s %s is no time; write one as dump prints it (12.5), a duration behind the first "
				 "event (+250ms), or a wall time (03:12:44, 2026-11-23T03:12:44, \"10 min ago\")",
				 option, s);
	return CTL_OK;
}

static int order_check(const struct period *p, const char *verb)
{
	const struct moment *from = &p->from, *to = &p->to;
	bool wrong = from->ns > to->ns;

	if (!from->given || !to->given || from->relative != to->relative || from->is_wall != to->is_wall)
		return CTL_OK;
	if (from->is_wall)
		wrong = !from->wall.of_day && !to->wall.of_day && from->wall.ns > to->wall.ns;
	return wrong ? say_usage(verb, "--from %s is later than --to %s", from->text, to->text) : CTL_OK;
}

int period_parse(struct period *p, const char *from, const char *to, struct wall_zone *zone, int64_t now_ns,
		 const char *verb)
{
	int r = CTL_OK;

	*p = (struct period){0};
	if (from)
		r = moment_parse(&p->from, "--from", from, zone, now_ns, verb);
	if (!r && to)
		r = moment_parse(&p->to, "--to", to, zone, now_ns, verb);
	return r ? r : order_check(p, verb);
}

bool period_is_wall(const struct period *p)
{
	return p->from.is_wall || p->to.is_wall;
}

/*
 * Find the moment that the time of day M, the value of OPTION, means. FROM is the begin of the
 * period, or NULL.
 */
static int find_day(struct moment *m, const char *option, const struct clock_offset *c, struct wall_zone *zone,
		    const int64_t *from, const char *name)
{
	int64_t ns;

	if (!c->ends) {
		say("%s %s: the day is unknown, because the end of %s is; write the date, too", option, m->text, name);
		return CTL_FAILED;
	}
	if (!wall_latest(&m->wall, zone, c->end_ns, &ns) ||
	    (from && ns < *from && !wall_next(&m->wall, zone, *from, &ns))) {
		say("%s %s: there is no such time before the end of %s; write the date, too", option, m->text, name);
		return CTL_FAILED;
	}
	m->wall.ns = ns;
	m->wall.of_day = false;
	return CTL_OK;
}

/*
 * Convert M to a time of the guest. Return -1 if it is before all times of the guest, 1 if it is
 * after them, else 0.
 */
static int moment_settle(struct moment *m, const struct clock_offset *c)
{
	bool outside = __builtin_sub_overflow(m->wall.ns, c->ns, &m->ns);

	m->is_wall = false;
	if (!outside)
		return 0;
	m->ns = m->wall.ns < c->ns ? 0 : UINT64_MAX;
	return m->ns ? 1 : -1;
}

int period_settle(struct period *p, const struct clock_offset *c, struct wall_zone *zone, const char *name)
{
	bool from = p->from.is_wall, to = p->to.is_wall;
	bool nothing = false;
	int r = CTL_OK;

	if (from && p->from.wall.of_day)
		r = find_day(&p->from, "--from", c, zone, NULL, name);
	if (!r && to && p->to.wall.of_day)
		r = find_day(&p->to, "--to", c, zone, from ? &p->from.wall.ns : NULL, name);
	if (r)
		return r;
	if (from)
		nothing = moment_settle(&p->from, c) > 0;
	if (to)
		nothing |= moment_settle(&p->to, c) < 0;
	if (!nothing && p->from.given && p->to.given && p->from.relative == p->to.relative && p->from.ns > p->to.ns) {
		say("--from %s is later than --to %s", p->from.text, p->to.text);
		return CTL_USAGE;
	}
	if (nothing) { /* a period without any time */
		p->from = (struct moment){.given = true, .ns = 1};
		p->to = (struct moment){.given = true, .ns = 0};
	}
	return CTL_OK;
}

static uint64_t moment_at(const struct period *p, const struct moment *m)
{
	uint64_t at;

	return !m->relative ? m->ns : __builtin_add_overflow(p->first, m->ns, &at) ? UINT64_MAX : at;
}

uint64_t period_from(const struct period *p)
{
	return p->from.given ? moment_at(p, &p->from) : 0;
}

uint64_t period_to(const struct period *p)
{
	return p->to.given ? moment_at(p, &p->to) : UINT64_MAX;
}

bool period_holds(struct period *p, uint64_t ns)
{
	if (!p->known) {
		p->known = true;
		p->first = ns;
	}
	return ns >= period_from(p) && ns <= period_to(p);
}

static int on_guests(void *context, const uint32_t *guests, unsigned int count)
{
	struct time_filter *f = context;

	return f->to.guests ? f->to.guests(f->to.context, guests, count) : 0;
}

static int on_streams(void *context, char *const *names, unsigned int count)
{
	struct time_filter *f = context;

	free(f->gaps);
	f->gaps = calloc(count, sizeof(*f->gaps));
	f->streams = count;
	if (!f->gaps)
		return -ENOMEM;
	return f->to.streams ? f->to.streams(f->to.context, names, count) : 0;
}

/* Prepare for a single stream, for which streams() is never called. */
static int reserve(struct time_filter *f)
{
	if (f->streams)
		return 0;
	f->gaps = calloc(1, sizeof(*f->gaps));
	f->streams = 1;
	return f->gaps ? 0 : -ENOMEM;
}

static int pass_gap(struct time_filter *f, unsigned int stream)
{
	uint64_t gap = f->gaps[stream];

	f->gaps[stream] = 0;
	return gap && f->to.gap ? f->to.gap(f->to.context, stream, gap) : 0;
}

static int pass(struct time_filter *f, unsigned int stream, const struct mprof_event *events, size_t n)
{
	int r = pass_gap(f, stream);

	f->events += n;
	return r ? r : f->to.events(f->to.context, stream, events, n);
}

static int on_events(void *context, unsigned int stream, const struct mprof_event *events, size_t n)
{
	struct time_filter *f = context;
	size_t from, i = 0;
	int r = reserve(f);

	while (!r && i < n) {
		for (from = i; i < n && period_holds(f->period, events[i].raw.timestamp); i++)
			;
		if (i > from)
			r = pass(f, stream, events + from, i - from);
		if (i < n) {
			f->gaps[stream] = 0;
			i++;
		}
	}
	return r;
}

static int on_packet(void *context, unsigned int stream, const struct mprof_packet *packet)
{
	struct time_filter *f = context;

	return f->to.packet ? f->to.packet(f->to.context, stream, packet) : 0;
}

static int on_gap(void *context, unsigned int stream, uint64_t packets)
{
	struct time_filter *f = context;
	int r = reserve(f);

	if (!r)
		f->gaps[stream] += packets;
	return r;
}

static int on_damage(void *context, unsigned int stream, const struct mprof_damage *damage)
{
	struct time_filter *f = context;

	return f->to.damage ? f->to.damage(f->to.context, stream, damage) : 0;
}

/* Pass on a tail, unless it begins after the end of the period. */
static int on_tail(void *context, unsigned int stream, uint64_t from_ns)
{
	struct time_filter *f = context;

	if (f->period->to.given && from_ns > period_to(f->period))
		return 0;
	return f->to.tail(f->to.context, stream, from_ns);
}

static int on_pause(void *context)
{
	struct time_filter *f = context;

	return f->to.pause ? f->to.pause(f->to.context) : 0;
}

void time_filter_init(struct time_filter *f, const struct consumer *to, struct period *period)
{
	*f = (struct time_filter){.to = *to, .period = period};
	f->consumer = (struct consumer){
		.guests = on_guests,
		.streams = on_streams,
		.events = on_events,
		.packet = on_packet,
		.gap = on_gap,
		.damage = on_damage,
		.tail = to->tail ? on_tail : NULL,
		.pause = on_pause,
		.context = f,
	};
}

void time_filter_deinit(struct time_filter *f)
{
	free(f->gaps);
	f->gaps = NULL;
}

int time_filter_end(struct time_filter *f)
{
	int r = 0;

	for (unsigned int i = 0; i < f->streams && !r && !f->period->to.given; i++)
		r = pass_gap(f, i);
	return r;
}
