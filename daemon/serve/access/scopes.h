/*
 * Scopes: what somebody may do, and to which guests. Written as text, in the token file and in
 * answers of the API:
 *
 *   read=web* db-?;context=web*;write=;metrics=yes
 *
 * Each of read, context and write has globs of guest names, separated by blanks. A person who may not read a
 * guest may do nothing else to it, because that would tell that the guest exists.
 */
#ifndef SERVE_SCOPES_H
#define SERVE_SCOPES_H

#include <stdbool.h>
#include <stddef.h>

#define SCOPES_TEXT_MAX 1024u /* bytes of the text of scopes, with its NUL */

enum scope { SCOPE_READ, SCOPE_CONTEXT, SCOPE_WRITE, SCOPES };

/* The names of enum scope, as users write them. */
extern const char *const scope_names[SCOPES];

/* Immutable after it was made, and shared by reference. */
struct scopes;

/*
 * Parse TEXT: items KEY=VALUE, separated by ';' or ','; a key may be missing and may be repeated,
 * its globs are then joined. Return the scopes with one reference; or NULL, with a sentence in
 * SENTENCE (SIZE bytes).
 */
struct scopes *scopes_parse(const char *text, char *sentence, size_t size);
/* Return scopes with all rights of A and B, or NULL as scopes_parse(). */
struct scopes *scopes_join(const struct scopes *a, const struct scopes *b, char *sentence, size_t size);
struct scopes *scopes_ref(struct scopes *s);
/* Drop a reference. Return NULL. S may be NULL. */
struct scopes *scopes_unref(struct scopes *s);

/* Return the text of S in one form: equal rights have equal texts. Borrowed. */
const char *scopes_text(const struct scopes *s);
/* Return the globs of SCOPE, separated by blanks. Borrowed. */
const char *scopes_globs(const struct scopes *s, enum scope scope);
bool scopes_metrics(const struct scopes *s);
/*
 * Return whether SCOPE is held for the guest NAME. NULL is a guest without a name, which only the
 * glob * matches.
 */
bool scopes_allow(const struct scopes *s, enum scope scope, const char *name);
/* Return whether SCOPE is held for every guest: one of its globs, and one of read's, is *. */
bool scopes_all(const struct scopes *s, enum scope scope);
/* Return whether S holds every right. */
bool scopes_everything(const struct scopes *s);

#endif
