/* Patterns for labels. */
#ifndef CTL_GLOB_H
#define CTL_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Does all of TEXT match PATTERN: * is any bytes, ? one byte, a backslash takes the next one as it is?  At most their lengths' product of
 * steps, whatever a guest and a person write. */
bool glob_match(const char *pattern, const char *text, size_t len);

#endif
