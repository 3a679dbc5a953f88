/* Identities. */
#include <string.h>

#include "identity.h"

const char *identity_word(enum identity_kind kind)
{
	static const char *const words[] = {
		[IDENTITY_NOBODY] = "nobody",		[IDENTITY_OPEN] = "open",   [IDENTITY_USER] = "user",
		[IDENTITY_CERTIFICATE] = "certificate", [IDENTITY_TOKEN] = "token", [IDENTITY_SESSION] = "session",
		[IDENTITY_REMOTE] = "remote",
	};

	return words[kind];
}

bool identity_same(const struct identity *a, const struct identity *b)
{
	/* All sessions of a token are one person, with the token. */
	if (a->token[0] || b->token[0])
		return strcmp(a->token, b->token) == 0;
	return a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

void identity_deinit(struct identity *i)
{
	scopes_unref(i->scopes);
	*i = (struct identity){0};
}
