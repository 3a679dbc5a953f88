/*
 * Check and repair UTF-8. A character is valid as in table 3-7 of the Unicode standard: it is no
 * surrogate, has no overlong form, and is not above U+10FFFF.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

#define REPLACEMENT	  "\xef\xbf\xbd"
#define REPLACEMENT_BYTES 3u

static size_t follows(const uint8_t *p, size_t left, size_t n, uint8_t least, uint8_t most)
{
	if (left <= n || p[1] < least || p[1] > most)
		return 0;
	for (size_t i = 2; i <= n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n + 1;
}

/*
 * Return the length in bytes of the character at P, or 0 if it is invalid. LEFT is the number of
 * bytes from P to the end of the text.
 */
static size_t character(const uint8_t *p, size_t left)
{
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		return follows(p, left, 1, 0x80, 0xbf);
	if (p[0] >= 0xe0 && p[0] <= 0xef)
		return follows(p, left, 2, p[0] == 0xe0 ? 0xa0 : 0x80, p[0] == 0xed ? 0x9f : 0xbf);
	if (p[0] >= 0xf0 && p[0] <= 0xf4)
		return follows(p, left, 3, p[0] == 0xf0 ? 0x90 : 0x80, p[0] == 0xf4 ? 0x8f : 0xbf);
	return 0;
}

static int reserve(struct utf8 *u, size_t room)
{
	char *text;

	if (room <= u->room)
		return 0;
	text = realloc(u->text, room);
	if (!text)
		return -ENOMEM;
	u->text = text;
	u->room = room;
	return 0;
}

int utf8_set(struct utf8 *u, const char *text, size_t len)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t n, bad = 0;

	for (size_t i = 0; i < len; i += n ? n : 1) {
		n = character(p + i, len - i);
		bad += !n;
	}
	u->bytes = 0;
	/* Each invalid byte becomes REPLACEMENT_BYTES bytes. One more byte is for the NUL. */
	if (reserve(u, len + bad * (REPLACEMENT_BYTES - 1) + 1))
		return -ENOMEM;
	for (size_t i = 0; i < len; i += n ? n : 1) {
		n = character(p + i, len - i);
		memcpy(u->text + u->bytes, n ? text + i : REPLACEMENT, n ? n : REPLACEMENT_BYTES);
		u->bytes += n ? n : REPLACEMENT_BYTES;
	}
	u->text[u->bytes] = 0;
	return 0;
}

int utf8_copy(struct utf8 *u, const char *text, size_t len)
{
	if (reserve(u, len + 1))
		return -ENOMEM;
	memcpy(u->text, text, len);
	u->text[len] = 0;
	u->bytes = len;
	return 0;
}

void utf8_deinit(struct utf8 *u)
{
	free(u->text);
	*u = (struct utf8){0};
}

size_t utf8_cut(const char *text, size_t len, size_t most)
{
	if (len <= most)
		return len;
	while (most && ((uint8_t)text[most] & 0xc0) == 0x80)
		most--;
	return most;
}
