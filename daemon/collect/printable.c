/* Make strings from outside printable. A name from outside may have any byte but NUL. */
#include "printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Return the length of the printable UTF-8 character at P, or 0 if the bytes there are none. LEFT
 * bytes are valid.
 */
static size_t character(const uint8_t *p, size_t left)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
	uint32_t c;

	if (n == 1)
		return *p >= 0x20 && *p != 0x7f && *p != '\\';
	if (n == 0 || n > left)
		return 0;
	c = *p & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || c < 0xa0)
		return 0;
	/* Control characters that change the direction of the text behind them. */
	if (c == 0x61c || (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
		return 0;
	return n;
}

static size_t line_end(const uint8_t *p, size_t left)
{
	if (*p == '\n')
		return 1;
	return left > 1 && p[0] == '\r' && p[1] == '\n' ? 2 : 0;
}

char *text_printable_bytes(const char *text, size_t len, bool lines)
{
	const uint8_t *p = (const uint8_t *)text, *end = p + len;
	char *copy = malloc(4 * len + 1), *to = copy;

	if (!copy)
		return NULL;
	while (p < end) {
		size_t left = (size_t)(end - p), n = character(p, left);

		if (!n && lines)
			n = line_end(p, left);
		if (n) {
			memcpy(to, p, n);
			to += n;
			p += n;
		} else if (*p == '\\') {
			*to++ = '\\';
			*to++ = '\\';
			p++;
		} else {
			to += sprintf(to, "\\x%02x", *p++);
		}
	}
	*to = '\0';
	return copy;
}

char *text_printable(const char *text)
{
	return text_printable_bytes(text, strlen(text), false);
}

char *texts_copy(const char **const texts[], size_t n)
{
	size_t bytes = 0;
	char *copy, *to;

	for (size_t i = 0; i < n; i++)
		bytes += *texts[i] ? strlen(*texts[i]) + 1 : 0;
	copy = to = malloc(bytes + !bytes);
	for (size_t i = 0; copy && i < n; i++) {
		size_t len = *texts[i] ? strlen(*texts[i]) + 1 : 0;

		if (len == 0)
			continue;
		*texts[i] = memcpy(to, *texts[i], len);
		to += len;
	}
	return copy;
}
