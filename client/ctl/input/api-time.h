/* Times as the API has them.  Each returns false, and the time means nothing, where VALUE (NULL allowed) is anything else. */
#ifndef CTL_API_TIME_H
#define CTL_API_TIME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A decimal string: nanoseconds of a guest's or dom0's clock. */
bool api_ns(const json_t *value, uint64_t *ns);
/* RFC 3339 in UTC, with up to nine digits of a second: nanoseconds since 1970. */
bool api_real(const json_t *value, uint64_t *ns);

#endif
