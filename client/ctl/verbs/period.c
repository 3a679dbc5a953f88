/* Times as people write them.  Nanoseconds are exact: no floating point. */
#include <string.h>

#include "ctl.h"
#include "period.h"

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

/* Digits with a fraction of a unit of NS nanoseconds; false where it is none, or too large. */
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

static bool moment_parse(struct moment *m, const char *s)
{
	size_t i, len;

	m->given = true;
	m->relative = *s == '+';
	s += m->relative;
	len = strspn(s, "0123456789.");
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(s + len, units[i].name) == 0)
			return amount(s, len, units[i].ns, &m->ns);
	return false;
}

int period_parse(struct period *p, const char *from, const char *to, const char *verb)
{
	static const char wanted[] =
		"a time as dump prints it, nor + and a duration (1.5s, 250ms) behind the first event";

	*p = (struct period){0};
	if (from && !moment_parse(&p->from, from))
		return say_usage(verb, "--from %s is neither %s", from, wanted);
	if (to && !moment_parse(&p->to, to))
		return say_usage(verb, "--to %s is neither %s", to, wanted);
	if (from && to && p->from.relative == p->to.relative && p->from.ns > p->to.ns)
		return say_usage(verb, "--from %s is later than --to %s", from, to);
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
