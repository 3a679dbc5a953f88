/* A guest, as a person calls it. */
#ifndef CTL_API_H
#define CTL_API_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "http.h"
#include "trace-source.h"

/* DOMAIN without the "domain:" that may stand before it: a part of it. */
const char *domain_name(const char *domain);
/* "/v1/domains/DOMAIN/WHAT" of such a name, to be freed; NULL without memory. */
char *domain_path(struct http *h, const char *domain, const char *what);

/* Times as the API has them.  Each returns false, and the time means nothing, where VALUE (NULL allowed) is anything else. */

/* A decimal string: nanoseconds of a guest's or dom0's clock. */
bool api_ns(const json_t *value, uint64_t *ns);
/* RFC 3339 in UTC, with up to nine digits of a second: nanoseconds since 1970. */
bool api_real(const json_t *value, uint64_t *ns);

/* How a trace came to its end. */

/*
 * Did the guest die of it?  True of a capture of a crash, of a run that ended in one, and where the end is not known: of files, and of guests
 * that were destroyed or went away.  False of what goes on, and of what ended as it should.  OPERAND was read with S before.
 */
bool end_reason_is_crash(const struct ctl *ctl, const char *operand, const struct selection *s);

#endif
