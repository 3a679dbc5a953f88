/* Errors as application/problem+json (RFC 9457). */
#ifndef SERVE_PROBLEM_H
#define SERVE_PROBLEM_H

#include <jansson.h>

#define PROBLEM_TYPE "application/problem+json"

/* What an HTTP status is called. */
const char *problem_title(unsigned status);

/* The object; MORE (stolen, NULL = none) has further members.  NULL: no memory. */
json_t *problem_json(unsigned status, const char *detail, json_t *more);

#endif
