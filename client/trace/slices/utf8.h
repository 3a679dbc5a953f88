/* Strings of a trace as valid UTF-8, for formats whose readers refuse anything else. */
#ifndef TRACE_UTF8_H
#define TRACE_UTF8_H

#include <stddef.h>

struct utf8 {
	char *text;   /* NULL before the first utf8_set(); owned */
	size_t bytes; /* length without the NUL at the end */
	size_t room;
};

/*
 * Set U to a copy of LEN bytes at TEXT. Each byte that is not UTF-8 becomes the replacement
 * character. Return 0 or -ENOMEM.
 */
int utf8_set(struct utf8 *u, const char *text, size_t len);
/* Set U to a copy of LEN bytes at TEXT as they are, UTF-8 or not. Return 0 or -ENOMEM. */
int utf8_copy(struct utf8 *u, const char *text, size_t len);
void utf8_deinit(struct utf8 *u);

/*
 * Cut the LEN bytes of valid UTF-8 at TEXT to at most MOST bytes. Return the length of the whole
 * characters that fit.
 */
size_t utf8_cut(const char *text, size_t len, size_t most);

#endif
