/*
 * The syntax of JSON (RFC 8259). Containers need no recursion: a bit for each open one says whether it is an object.
 */
#include "json-syntax.h"

#include <stdint.h>
#include <string.h>

#include "message.h"

#define DEPTH_MOST 2048u /* that of jansson */

struct syntax {
	const char *at, *end;
	unsigned depth;			 /* number of open containers */
	uint8_t objects[DEPTH_MOST / 8]; /* bit of each open container: it is an object */
};

/* Return the next byte, or -1 at the end. */
static int peek(const struct syntax *s)
{
	return s->at < s->end ? (unsigned char)*s->at : -1;
}

/* Take the next byte if it is C. */
static bool take(struct syntax *s, char c)
{
	if (peek(s) != c)
		return false;
	s->at++;
	return true;
}

static void spaces(struct syntax *s)
{
	while (s->at < s->end && memchr(" \t\n\r", *s->at, 4))
		s->at++;
}

/* Take decimal digits. Return whether there was one. */
static bool digits(struct syntax *s)
{
	const char *from = s->at;

	while (peek(s) >= '0' && peek(s) <= '9')
		s->at++;
	return s->at > from;
}

static bool number(struct syntax *s)
{
	take(s, '-');
	if (!take(s, '0') && !digits(s))
		return false;
	if (take(s, '.') && !digits(s))
		return false;
	if (take(s, 'e') || take(s, 'E')) {
		if (!take(s, '+'))
			take(s, '-');
		return digits(s);
	}
	return true;
}

static bool word(struct syntax *s, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(s->end - s->at) < n || memcmp(s->at, text, n) != 0)
		return false;
	s->at += n;
	return true;
}

/* Take the four digits of a \u escape into *UNIT. */
static bool unit_take(struct syntax *s, unsigned *unit)
{
	static const char hex[] = "0123456789abcdefABCDEF";

	*unit = 0;
	for (int i = 0; i < 4; i++) {
		const char *digit = s->at < s->end && *s->at ? strchr(hex, *s->at) : NULL;
		unsigned value = digit ? (unsigned)(digit - hex) : 0;

		if (!digit)
			return false;
		*unit = *unit << 4 | (value < 16 ? value : value - 6);
		s->at++;
	}
	return true;
}

/* Take an escape behind its backslash. A surrogate has its other half behind it, and no escape means NUL. */
static bool escape(struct syntax *s)
{
	unsigned unit, low;
	int c = peek(s);

	if (c <= 0 || !strchr("\"\\/bfnrtu", c))
		return false;
	s->at++;
	if (c != 'u')
		return true;
	if (!unit_take(s, &unit) || unit == 0 || (unit >= 0xdc00 && unit < 0xe000))
		return false;
	if (unit < 0xd800 || unit >= 0xe000)
		return true;
	return word(s, "\\u") && unit_take(s, &low) && low >= 0xdc00 && low < 0xe000;
}

static bool string(struct syntax *s)
{
	if (!take(s, '"'))
		return false;
	while (!take(s, '"'))
		if (peek(s) < 0x20 || (*s->at++ == '\\' && !escape(s)))
			return false;
	return true;
}

/* Take the key of a member, and the colon. */
static bool key(struct syntax *s)
{
	spaces(s);
	if (!string(s))
		return false;
	spaces(s);
	return take(s, ':');
}

/* Take a value up to its first scalar, or up to the end of the first container that has nothing. */
static bool value_begin(struct syntax *s)
{
	for (;;) {
		bool object;

		spaces(s);
		object = peek(s) == '{';
		if (!object && peek(s) != '[')
			return peek(s) == '"' ? string(s)
					      : word(s, "true") || word(s, "false") || word(s, "null") || number(s);
		if (s->depth == DEPTH_MOST)
			return false;
		s->at++;
		s->objects[s->depth / 8] &= (uint8_t)~(1u << s->depth % 8);
		s->objects[s->depth / 8] |= (uint8_t)(object << s->depth % 8);
		s->depth++;
		spaces(s);
		if (peek(s) == (object ? '}' : ']'))
			return true;
		if (object && !key(s))
			return false;
	}
}

/* Take what is behind a value: the ends of containers, then a comma, with the key behind it, if a container is still open. */
static bool value_end(struct syntax *s)
{
	while (s->depth) {
		bool object = s->objects[(s->depth - 1) / 8] >> (s->depth - 1) % 8 & 1;

		spaces(s);
		if (take(s, ','))
			return !object || key(s);
		if (!take(s, object ? '}' : ']'))
			return false;
		s->depth--;
	}
	return true;
}

bool json_syntax_is_right(const char *text, size_t bytes)
{
	struct syntax s = {.at = text, .end = text + bytes};

	spaces(&s);
	if (!message_is_text(text, bytes) || (peek(&s) != '[' && peek(&s) != '{'))
		return false;
	do
		if (!value_begin(&s) || !value_end(&s))
			return false;
	while (s.depth);
	spaces(&s);
	return s.at == s.end;
}
