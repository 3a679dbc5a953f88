/* Parse amounts as people write them. */
#include "quantity.h"

#include <string.h>

#include "array.h"

/*
 * Parse the decimal number in the LEN bytes at TEXT, multiply it by UNIT and round down. Return
 * false if the text is no number, or if the product does not fit in 64 bits.
 */
static bool scale_number(const char *text, size_t len, uint64_t unit, uint64_t *value)
{
	size_t whole = strspn(text, "0123456789"), end = whole;
	uint64_t v = 0, fraction = 0;

	if (whole == 0 || whole > len)
		return false;
	for (size_t i = 0; i < whole; i++)
		if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v))
			return false;
	if (text[whole] == '.') {
		end = whole + 1 + strspn(text + whole + 1, "0123456789");
		if (end == whole + 1)
			return false;
		/* Start at the last digit, so no intermediate value exceeds ten times UNIT. */
		for (size_t i = end - 1; i > whole; i--)
			fraction = ((uint64_t)(text[i] - '0') * unit + fraction) / 10;
	}
	if (end != len || __builtin_mul_overflow(v, unit, &v))
		return false;
	return !__builtin_add_overflow(v, fraction, value);
}

struct unit {
	const char *name;
	uint64_t size;
};

static bool parse_unit(const char *text, const struct unit *units, size_t n_units, uint64_t *value)
{
	size_t len = strspn(text, "0123456789.");

	for (size_t i = 0; i < n_units; i++)
		if (strcmp(text + len, units[i].name) == 0)
			return scale_number(text, len, units[i].size, value);
	return false;
}

bool quantity_duration(const char *text, uint64_t *ns)
{
	static const struct unit units[] = {
		{"ns", 1},	 {"us", NS_PER_US},    {"ms", NS_PER_MS},
		{"s", NS_PER_S}, {"m", 60 * NS_PER_S}, {"h", 3600 * NS_PER_S},
		{"d", DAY},
	};

	if (strcmp(text, "0") == 0) {
		*ns = 0;
		return true;
	}
	return parse_unit(text, units, ARRAY_SIZE(units), ns);
}

bool quantity_bytes(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {
		{"", 1}, {"B", 1}, {"K", KIB}, {"KB", KIB}, {"M", MIB}, {"MB", MIB}, {"G", GIB}, {"GB", GIB},
	};

	return parse_unit(text, units, ARRAY_SIZE(units), bytes);
}

bool quantity_number(const char *text, uint64_t unit, uint64_t *value)
{
	return scale_number(text, strlen(text), unit, value);
}

bool quantity_digits(const char **p, uint64_t max, uint64_t *value)
{
	const char *from = *p;
	uint64_t v = 0;

	for (; **p >= '0' && **p <= '9'; (*p)++) {
		unsigned digit = (unsigned)(**p - '0');

		if (v > (max - digit) / 10 || (*p > from && *from == '0'))
			return false;
		v = v * 10 + digit;
		if (v > max)
			return false;
	}
	*value = v;
	return *p > from;
}

bool quantity_whole(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t v;

	if (max < 9 || !quantity_digits(&text, max, &v) || *text)
		return false;
	*value = v;
	return true;
}
