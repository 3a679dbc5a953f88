/* Texts: copies of them, and names from outside made fit to be shown, logged and sent as JSON. */
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

/*
 * Copy the texts of N variables into one allocation, and set each variable to its copy. NULL stays
 * NULL. Return the allocation, which the caller frees, or NULL without memory; then the variables
 * are unchanged.
 */
char *texts_copy(const char **const texts[], size_t n);

#endif
