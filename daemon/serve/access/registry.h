/*
 * The registry of tokens and sessions, of which there are two kinds: the host's (host-registry.h), a
 * file and this process's memory; and the fleet's (daemon/serve/registry), the hub's database.
 *
 * No call blocks. A registry that does not know yet answers REGISTRY_LATER, and tells the caller of
 * its constructor when it knows; the caller then asks again.
 */
#ifndef SERVE_REGISTRY_H
#define SERVE_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "identity.h"
#include "sessions.h"

enum registry_answer {
	REGISTRY_YES,
	REGISTRY_NO,
	REGISTRY_LATER, /* it is being found out */
	REGISTRY_AWAY,	/* the database does not answer, so nobody can tell */
};

/* A session that begins or ends. A zeroed one has not been asked for. */
struct registry_change {
	uint64_t ticket;	   /* 0 = it was not asked for yet */
	char cookie[SESSION_TEXT]; /* of the session that begins; the answer REGISTRY_YES makes it valid */
};

/* CONTEXT is that of struct registry, in each call. */
struct registry_calls {
	/*
	 * Find the token TEXT, or the session with the cookie COOKIE. REGISTRY_YES: *WHO, which was
	 * nobody, is who presents it.
	 */
	enum registry_answer (*token)(void *context, const char *text, struct identity *who);
	enum registry_answer (*session)(void *context, const char *cookie, struct identity *who);
	/* Return whether WHO, a token or a session of the calls above, is valid with the same rights. */
	enum registry_answer (*holds)(void *context, const struct identity *who);
	/* Return whether NAME of KIND, a certificate or a user, is not revoked. */
	enum registry_answer (*admits)(void *context, enum identity_kind kind, const char *name);
	/*
	 * Begin a session of WHO, a token, that ends at EXPIRES (seconds since 1970). After
	 * REGISTRY_LATER call it again with the same C. REGISTRY_YES: *WHO is the session.
	 */
	enum registry_answer (*begin)(void *context, struct registry_change *c, struct identity *who, uint64_t expires);
	/* End the session WHO. Call it again as above. */
	enum registry_answer (*end)(void *context, struct registry_change *c, const struct identity *who);
	/* Do what is due each second. */
	void (*refresh)(void *context);
	/* Return whether the database answers. NULL: the registry has none. */
	bool (*connected)(void *context);
};

struct registry {
	const struct registry_calls *calls;
	void *context;
};

#endif
