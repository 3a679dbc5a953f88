/*
 * Sessions of browsers: who has signed in with a token gets a cookie of 256 random bits.
 *
 * A session has no rights of its own: it stands for its token, and ends with it. Sessions are in
 * memory only, limited in number and in time; a restart of the server ends them all.
 */
#ifndef SERVE_SESSIONS_H
#define SERVE_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tokens.h"

#define SESSION_TEXT	   (SECRET_DIGITS + 1) /* bytes of a cookie's value, with NUL */
#define SESSIONS_MAX	   1024u
#define TOKEN_SESSIONS_MAX 16u /* sessions of one token; a further one ends the oldest */

struct session {
	uint8_t hash[SECRET_HASH]; /* of the cookie's value */
	char token[TOKEN_ID_TEXT]; /* the token with which it was begun */
	uint64_t serial;	   /* number of the session, from 1; 0 = the place is free */
	uint64_t expires;	   /* seconds since 1970 */
};

/* A zeroed struct has no sessions and is ready. */
struct sessions {
	struct session list[SESSIONS_MAX];
	uint64_t begun; /* number of sessions so far */
};

/*
 * Begin a session for the token ID that ends at EXPIRES. TEXT becomes the cookie's value. Return
 * the session, borrowed until it ends; or NULL without random bytes.
 */
const struct session *sessions_begin(struct sessions *s, const char *token, uint64_t expires, char text[SESSION_TEXT]);
/* Return the session whose cookie's value is TEXT, if it has not ended at NOW; else NULL. */
const struct session *sessions_check(const struct sessions *s, const char *text, uint64_t now);
/* Return the session SERIAL, if it has not ended at NOW; else NULL. */
const struct session *sessions_find(const struct sessions *s, uint64_t serial, uint64_t now);
/* End the session SERIAL, if there is one. */
void sessions_end(struct sessions *s, uint64_t serial);

#endif
