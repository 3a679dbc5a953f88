/* Scopes as the API writes and reads them. */
#ifndef SERVE_SCOPES_JSON_H
#define SERVE_SCOPES_JSON_H

#include <jansson.h>

#include "scopes.h"

/* Return S as an object Scopes of the API, or NULL without memory. The caller owns it. */
json_t *json_scopes(const struct scopes *s);
/*
 * Return the scopes in OBJECT, an object Scopes, with one reference; or NULL, with a sentence in
 * SENTENCE (SIZE bytes).
 */
struct scopes *scopes_of_json(const json_t *object, char *sentence, size_t size);

#endif
