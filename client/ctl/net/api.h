/* Values of the HTTP API: domain names, ids, times. */
#ifndef CTL_API_H
#define CTL_API_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "http.h"

#define API_ID_MAX 160u /* bytes of a capture's id on a hub, HOST.ARCHIVE.NUMBER, with its NUL */

/*
 * Return the part of DOMAIN after the prefix "domain:". Without this prefix return DOMAIN itself.
 */
const char *domain_name(const char *domain);
/*
 * Return "/v1/domains/DOMAIN/WHAT" with DOMAIN percent-encoded. The prefix "domain:" is left out.
 * The caller frees the path. Return NULL without memory.
 */
char *domain_path(struct http *h, const char *domain, const char *what);

/* Return whether TEXT is a whole number of at most 18 digits. */
bool api_is_number(const char *text);
/*
 * Return whether TEXT can be the id of a capture: a number, or on a hub HOST.ARCHIVE.NUMBER, with the first 8
 * hexadecimal digits of the archive's UUID or all of it. With RECORDING: the id of a memory profile, which ends in
 * another number on a hub.
 */
bool api_is_id(const char *text, bool recording);

/*
 * Return the name HOST/GUEST of JSON, a guest or a capture of a hub. The caller frees it. Return NULL if
 * JSON is of a host, or without memory.
 */
char *api_hub_guest(const json_t *json);

/*
 * Parse times of the API. VALUE may be NULL. Each function returns false if VALUE is no valid time;
 * the result is then undefined.
 */

/* Parse a string of decimal digits: nanoseconds of a guest's or dom0's clock. */
bool api_ns(const json_t *value, uint64_t *ns);
/*
 * Parse an RFC 3339 time in UTC with up to nine fractional digits. *NS is in nanoseconds since
 * 1970.
 */
bool api_real(const json_t *value, uint64_t *ns);

#endif
