/*
 * Access control: find out who has sent a request.
 *
 * Without a section [access] in the configuration everybody who reaches a socket may do all, and
 * only Unix sockets and loopback are served. With one, each request needs credentials: a bearer
 * token, the cookie of a session, a client's certificate, or a user of the host on a Unix socket.
 */
#ifndef SERVE_ACCESS_H
#define SERVE_ACCESS_H

#include <sys/types.h>

#include "cleanup.h"
#include "config.h"
#include "identity.h"
#include "peer.h"
#include "registry.h"
#include "sessions.h"
#include "throttle.h"
#include "tls.h"

#define ACCESS_AUDIT_ID "0c1d1f5f4d0e4f0f9a1b6a2b7d1c5e83" /* MESSAGE_ID of a change; mprofd-http(8) names it */

struct access;

/*
 * Create access control from C, which is borrowed for good. REMOTE is the NAME of --as, which a
 * grant must name, or NULL. REGISTRY knows the tokens and sessions, and lives as long; NULL: the host's,
 * in the file that C names. Return 0, with it in *AP; or -errno, with a sentence in SENTENCE (SIZE bytes).
 */
int access_new(struct access **ap, const struct config *c, const char *remote, const struct registry *registry,
	       char *sentence, size_t size);
struct access *access_free(struct access *a);
CLEANUP_DEFINE(struct access, access_free)

/* Return whether there is access control. */
bool access_is_on(const struct access *a);
/* Return the server's side of TLS, or NULL if no certificate is configured. */
struct tls *access_tls(const struct access *a);
/* Return the host's tokens; NULL: they are the fleet's, or there is no access control. */
struct tokens *access_tokens(const struct access *a);
/* Return whether a database has the tokens; *CONNECTED is then whether it answers. */
bool access_database(const struct access *a, bool *connected);
struct throttle *access_throttle(struct access *a);
/* Return the limits of one identity and of one peer. */
const struct config *access_limits(const struct access *a);

/* Return whether HOST, without a port, is a name or address of this server over TLS. */
bool access_is_host(const struct access *a, const char *host);

/*
 * Read certificates, keys, revocation list and tokens again if they have changed; NOW_: read the
 * certificates in any case. Log what changed and what is wrong. Call it about once a second.
 */
void access_refresh(struct access *a, bool now_);

/* The last verdict on the certificate of a connection. A zeroed one is none. */
struct kept_verdict {
	uint64_t reads; /* tls_reads() when it was made; 0 = there is none */
	uint64_t until; /* it is made again from then on, seconds since 1970 */
	struct tls_verdict verdict;
};
#define VERDICT_S 30u /* a revocation list may run out while a connection lasts */

/* The credentials that a request brings. Pointers are borrowed; NULL = it does not have that. */
struct credentials {
	const char *authorization; /* the header of that name */
	const char *cookie;	   /* the value of SESSION_COOKIE */
	gnutls_session_t session;  /* of TLS */
	struct kept_verdict *kept; /* of the connection, if it has a session */
	int unix_socket;	   /* descriptor of a Unix socket; -1 = it is none */
	bool remote;		   /* standard input and output */
	struct peer peer;
};
#define SESSION_COOKIE "__Host-mprofd"

enum access_status {
	ACCESS_OK,
	ACCESS_NONE,	 /* no credentials */
	ACCESS_WRONG,	 /* wrong credentials */
	ACCESS_TOO_MANY, /* the peer has sent too many wrong ones */
	ACCESS_LATER,	 /* it is being found out: ask again when the registry knows */
	ACCESS_AWAY,	 /* nobody can tell now */
};
/*
 * Find out who has sent C. *WHY is a sentence for the client if it is not ACCESS_OK. The caller
 * releases *WHO with identity_deinit() in all cases.
 */
enum access_status access_identify(struct access *a, const struct credentials *c, struct identity *who,
				   const char **why);
/*
 * Return whether WHO, whom access_identify() has returned for C, is still the same with the same
 * rights: nothing has expired, was revoked, or was signed out.
 */
bool access_holds(struct access *a, const struct credentials *c, const struct identity *who);

/*
 * Begin a session for the token TEXT. Return as access_identify(). After ACCESS_LATER call it again with
 * the same CHANGE, which was zeroed before the first call; after ACCESS_OK it has the cookie's value.
 */
enum access_status access_sign_in(struct access *a, const char *text, struct peer peer, struct registry_change *change,
				  struct identity *who, const char **why);
/* End the session WHO. Return ACCESS_OK, ACCESS_LATER (as above) or ACCESS_AWAY. */
enum access_status access_sign_out(struct access *a, struct registry_change *change, const struct identity *who,
				   const char **why);

/* Write PEER as text: an address, a network, or a user id. */
#define PEER_TEXT 64u
void access_peer_text(struct peer peer, char text[PEER_TEXT]);

#endif
