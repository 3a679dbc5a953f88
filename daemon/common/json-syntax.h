/* Check the syntax of JSON without memory. So the parser's lack of memory can be told from a fault of its text. */
#ifndef COMMON_JSON_SYNTAX_H
#define COMMON_JSON_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Return whether jansson takes BYTES bytes at TEXT without flags, as far as syntax and characters decide that: TEXT is an array or an object, its
 * strings are UTF-8 and have no NUL. This function does not look at the size of numbers, and refuses more than 2048 levels.
 */
bool json_syntax_is_right(const char *text, size_t bytes);

#endif
