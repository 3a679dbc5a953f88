/* Names from outside, made fit to be shown, logged and sent as JSON. */
#ifndef COLLECT_TEXT_H
#define COLLECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A heap copy of TEXT in which every byte that is not part of a printable UTF-8 character is written \xNN, and \ is \\.  NULL: no memory. */
char *text_printable(const char *text);
/* The same of LEN bytes, NULs among them.  With LINES its line ends (\n, \r\n) stay as they are. */
char *text_printable_bytes(const char *text, size_t len, bool lines);

#endif
