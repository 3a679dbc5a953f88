/* Make names from outside fit to be shown, logged and sent as JSON. */
#ifndef COLLECT_TEXT_H
#define COLLECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Return a heap copy of TEXT in which every byte that is not part of a printable UTF-8 character is
 * written \xNN, and \ is \\. Return NULL without memory.
 */
char *text_printable(const char *text);
/* Do the same for LEN bytes, NULs among them. With LINES keep line ends (\n, \r\n). */
char *text_printable_bytes(const char *text, size_t len, bool lines);

#endif
