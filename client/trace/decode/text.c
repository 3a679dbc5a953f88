/*
 * Escape the strings of a trace, for text and for JSON.
 *
 * The strings of a trace are untrusted, and go to terminals and to parsers of other programs. This
 * file is the only place that makes them safe to print.
 *
 * Printable is well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF) except
 * - the controls U+0000 to U+001F and U+007F to U+009F,
 * - the line and paragraph separators U+2028 and U+2029,
 * - the direction marks and controls U+061C, U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069,
 * - the byte order mark U+FEFF, and the noncharacters U+FDD0 to U+FDEF and U+xxFFFE, U+xxFFFF.
 *
 * These exceptions can move the cursor, start a new line, or make a line look like another text.
 */
#include <string.h>

#include <mprof/trace.h>

static const char hex[] = "0123456789abcdef";

/*
 * Return the length of the well-formed UTF-8 character that begins at P, where LEFT bytes are, and
 * store the character in *C. Return 0 if there is none. The ranges are those of table 3-7 of the
 * Unicode Standard.
 */
static size_t utf8_load(const uint8_t *p, size_t left, uint32_t *c)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t n;

	*c = p[0];
	if (p[0] < 0x80)
		return 1;
	n = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
	if (!n || left < n)
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	*c = p[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if (p[i] < low || p[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
		*c = *c << 6 | (p[i] & 0x3fu);
	}
	return n;
}

static bool printable(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c <= 0x9f))
		return false;
	if (c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
		return false;
	return c != 0xfeff && !(c >= 0xfdd0 && c <= 0xfdef) && (c & 0xfffe) != 0xfffe;
}

/* Return how many bytes at P, at most LEN, are ASCII that needs no escape. */
static size_t plain_run(const uint8_t *p, size_t len)
{
	size_t i = 0;

	while (i < len && p[i] >= 0x20 && p[i] < 0x7f && p[i] != '"' && p[i] != '\\')
		i++;
	return i;
}

static char *put_bytes_escaped(char *out, const uint8_t *p, size_t n)
{
	for (; n; n--, p++) {
		*out++ = '\\';
		*out++ = 'x';
		*out++ = hex[*p >> 4];
		*out++ = hex[*p & 15];
	}
	return out;
}

static char *put_utf16_escaped(char *out, uint32_t c)
{
	if (c > 0xffff) {
		out = put_utf16_escaped(out, 0xd800 + ((c - 0x10000) >> 10));
		c = 0xdc00 + ((c - 0x10000) & 0x3ff);
	}
	*out++ = '\\';
	*out++ = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		*out++ = hex[c >> shift & 15];
	return out;
}

/*
 * Write the character C, whose N bytes are at P, escaped if necessary, in at most 16 bytes. N is 0
 * when the byte at P is not UTF-8. Return the end of the written bytes.
 */
static char *put_character(char *out, const uint8_t *p, size_t n, uint32_t c, bool json)
{
	if (n && printable(c)) {
		if (c == '"' || c == '\\')
			*out++ = '\\';
		memcpy(out, p, n);
		return out + n;
	}
	if (!json)
		return put_bytes_escaped(out, p, n ? n : 1);
	if (n)
		return put_utf16_escaped(out, c);
	memcpy(out, "\xef\xbf\xbd", 3);
	return out + 3;
}

static size_t escape(char *out, size_t room, const char **text, size_t *left, bool json)
{
	const uint8_t *p = (const uint8_t *)*text;
	char *start = out, *end = out + room;

	while (*left && end - out >= 16) {
		size_t room_left = (size_t)(end - out), n;
		uint32_t c = 0;

		n = plain_run(p, *left < room_left ? *left : room_left);
		if (n) {
			memcpy(out, p, n);
			out += n;
		} else {
			n = utf8_load(p, *left, &c);
			out = put_character(out, p, n, c, json);
			n = n ? n : 1;
		}
		p += n;
		*left -= n;
	}
	*text = (const char *)p;
	return (size_t)(out - start);
}

size_t mprof_text_escape(char *out, size_t room, const char **text, size_t *left)
{
	return escape(out, room, text, left, false);
}

size_t mprof_text_json(char *out, size_t room, const char **text, size_t *left)
{
	return escape(out, room, text, left, true);
}

size_t mprof_text_show(char *out, size_t room, const char **text, size_t *left)
{
	size_t n = escape(out, room, text, left, false), kept = 0;

	/* OUT ends with a complete escape, so a backslash is never its last byte. */
	for (size_t in = 0; in < n; in++) {
		if (out[in] == '\\' && (out[in + 1] == '"' || out[in + 1] == '\\'))
			in++;
		out[kept++] = out[in];
	}
	return kept;
}

bool mprof_text_is_utf8(const char *text, size_t len)
{
	const uint8_t *p = (const uint8_t *)text;
	uint32_t c;
	size_t n;

	for (; len; p += n, len -= n) {
		n = utf8_load(p, len, &c);
		if (!n)
			return false;
	}
	return true;
}
