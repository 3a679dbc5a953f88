/* Strings of a trace as UTF-8 that is surely valid, for formats whose readers refuse anything else. */
#ifndef CTL_UTF8_H
#define CTL_UTF8_H

#include <stddef.h>

struct utf8 {
	char *text;   /* not NULL once it was set */
	size_t bytes; /* a NUL stands behind them */
	size_t room;
};

/* LEN bytes at TEXT, each byte that is no UTF-8 as the replacement character; what was there before goes.  0 or -ENOMEM. */
int utf8_set(struct utf8 *u, const char *text, size_t len);
void utf8_deinit(struct utf8 *u);

/* The most of LEN bytes of valid UTF-8 at TEXT, up to MOST, that are whole characters. */
size_t utf8_cut(const char *text, size_t len, size_t most);

#endif
