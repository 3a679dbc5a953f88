/* The person or program that has sent a request, and its rights. */
#ifndef SERVE_IDENTITY_H
#define SERVE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "scopes.h"
#include "tls.h"
#include "tokens.h"

enum identity_kind {
	IDENTITY_NOBODY, /* no credentials */
	IDENTITY_OPEN,	 /* there is no access control */
	IDENTITY_USER,	 /* a user of the host, on a Unix socket */
	IDENTITY_CERTIFICATE,
	IDENTITY_TOKEN,
	IDENTITY_SESSION, /* a browser that has signed in with a token */
	IDENTITY_REMOTE,  /* --stdio --as NAME */
};

struct identity {
	enum identity_kind kind;
	char name[TLS_NAME];	   /* of the user, certificate, token or remote; "" = none */
	struct scopes *scopes;	   /* a reference; NULL only for IDENTITY_NOBODY */
	uint64_t expires;	   /* seconds since 1970; 0 = never */
	char token[TOKEN_ID_TEXT]; /* of a token or a session */
	uint64_t session;	   /* serial of a session of the host */
	uint8_t hash[SECRET_HASH]; /* of the token's secret or the session's cookie; set by the fleet's registry */
};

/* Return the word of the API for KIND. */
const char *identity_word(enum identity_kind kind);
/* Return whether A and B are the same person or program, for limits. */
bool identity_same(const struct identity *a, const struct identity *b);
/* Release what I owns, and make it nobody. */
void identity_deinit(struct identity *i);

#endif
