/* Values of the HTTP API: domain names, times, end reasons. */
#ifndef CTL_API_H
#define CTL_API_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "http.h"
#include "trace-source.h"

/* Return the part of DOMAIN behind the prefix "domain:", if it has that prefix. */
const char *domain_name(const char *domain);
/*
 * Return "/v1/domains/DOMAIN/WHAT" for such a name. The caller frees it. Return NULL without
 * memory.
 */
char *domain_path(struct http *h, const char *domain, const char *what);

/*
 * Times of the API. VALUE may be NULL. Each function returns false if VALUE is not such a time; the
 * result is then undefined.
 */

/* Read a decimal string: nanoseconds of a guest's or dom0's clock. */
bool api_ns(const json_t *value, uint64_t *ns);
/* Read RFC 3339 in UTC with up to nine fractional digits: nanoseconds since 1970. */
bool api_real(const json_t *value, uint64_t *ns);

/*
 * Return true if the guest of the trace OPERAND, selected by S, crashed. Return true for a capture
 * of a crash, for a run that ended in one, and if the end is unknown: for a file, and for a guest
 * that was destroyed or went away. Return false for a run that goes on or shut down.
 */
bool end_reason_is_crash(const struct ctl *ctl, const char *operand, const struct selection *s);

#endif
