/*
 * The server's side of TLS: its certificate and key, and the certificate authority of its clients.
 *
 * The files are read again when they change. Each version that was read is a *generation*; a
 * connection keeps the generation with which it began, so a reload breaks no connection. If new
 * files are wrong, the old generation goes on.
 */
#ifndef SERVE_TLS_H
#define SERVE_TLS_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

#define TLS_NAME 256u /* bytes of the name in a client's certificate, with NUL */

/*
 * Only TLS 1.2 and 1.3, with the algorithms of GnuTLS's profile SECURE128 that have forward secrecy
 * and authenticate what they encrypt: SECURE128 alone also has CBC with SHA-1, and RSA without forward
 * secrecy. Finite-field groups are left out because one handshake with the largest would cost the
 * server as much as a hundred with a curve.
 */
#define TLS_PRIORITIES                                                                                         \
	"SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-DHE-RSA:-MAC-ALL:+AEAD:-GROUP-ALL:+GROUP-X25519:" \
	"+GROUP-SECP256R1:+GROUP-SECP384R1:+GROUP-SECP521R1:%SERVER_PRECEDENCE"

/* Paths, or credential:NAME for the unit's credential NAME; CLIENT_CA and CLIENT_CRL may be "". */
struct tls_files {
	const char *certificate, *key, *client_ca, *client_crl; /* borrowed for good */
};

struct tls;
struct tls_generation;

/*
 * Read FILES. Return 0, with the TLS state in *TP; or -errno, with a sentence in SENTENCE (SIZE
 * bytes) that says which file is wrong, and how.
 */
int tls_new(struct tls **tp, const struct tls_files *files, char *sentence, size_t size);
struct tls *tls_free(struct tls *t);
CLEANUP_DEFINE(struct tls, tls_free)

/* Return whether a file is another one than at the last read. */
bool tls_changed(struct tls *t);
/* Read the files again. Return as tls_new(); after an error the generation stays. */
int tls_reload(struct tls *t, char *sentence, size_t size);

/* Return the newest generation with a new reference. */
struct tls_generation *tls_generation_ref(struct tls *t);
/* Return how often the files were read: a verdict of an earlier number may not hold any more. */
uint64_t tls_reads(const struct tls *t);
/* Drop a reference. Return NULL. G may be NULL. */
struct tls_generation *tls_generation_unref(struct tls_generation *g);

/*
 * Let SESSION, whose handshake has not begun, use the certificate of G, and ask its client for a
 * certificate if there is an authority. G must live as long as SESSION. Return 0 or -EIO.
 */
int tls_session_begin(struct tls_generation *g, gnutls_session_t session);

/* Return whether the certificate is valid for the name or address HOST, without a port. */
bool tls_is_host(const struct tls *t, const char *host);
/* Return when the certificate ends, seconds since 1970. */
uint64_t tls_expires(const struct tls *t);

/* A client's certificate, as the newest authority and revocation list judge it. */
enum tls_client {
	TLS_CLIENT_NONE,  /* it has sent none */
	TLS_CLIENT_GOOD,  /* NAME is its name */
	TLS_CLIENT_WRONG, /* WHY says what is wrong */
};
struct tls_verdict {
	enum tls_client client;
	char name[TLS_NAME]; /* the subject's common name */
	uint64_t expires;    /* seconds since 1970 */
	const char *why;     /* constant */
};
/* Judge the certificate that the client of SESSION has sent, at NOW (seconds since 1970). */
struct tls_verdict tls_verify(const struct tls *t, gnutls_session_t session, uint64_t now);

#endif
