/* Strings of a trace as valid UTF-8, for formats whose readers refuse anything else. */
#ifndef CTL_UTF8_H
#define CTL_UTF8_H

#include <stddef.h>

struct utf8 {
	char *text;   /* not NULL once it was set */
	size_t bytes; /* without the NUL at the end */
	size_t room;
};

/*
 * Set U to LEN bytes at TEXT, with the replacement character for each byte that is not UTF-8.
 * Return 0 or -ENOMEM.
 */
int utf8_set(struct utf8 *u, const char *text, size_t len);
void utf8_deinit(struct utf8 *u);

/* Return how many of the LEN bytes of valid UTF-8 at TEXT, at most MOST, are whole characters. */
size_t utf8_cut(const char *text, size_t len, size_t most);

#endif
