/* Strings: copy them, and make strings from outside fit to be shown, logged and sent as JSON. */
#ifndef COLLECT_TEXT_H
#define COLLECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Return a copy of TEXT in which every byte that is not part of a printable UTF-8 character is
 * \xNN, and \ is \\. Return NULL without memory. The caller frees the copy.
 */
char *text_printable(const char *text);
/* Do the same for LEN bytes, which may include NULs. LINES: keep line ends (\n and \r\n). */
char *text_printable_bytes(const char *text, size_t len, bool lines);

/*
 * Copy the strings of N variables into one allocation, and point each variable to its copy. A NULL
 * stays NULL. Return the allocation, which the caller frees; or NULL without memory, and the
 * variables are unchanged.
 */
char *texts_copy(const char **const texts[], size_t n);

#endif
