/*
 * Read certificates and keys, and judge the certificates of clients.
 *
 * GnuTLS would verify a client's certificate only against the files with which its session began.
 * So it only asks for the certificate; tls_verify() judges it for each request, against the newest
 * authority and revocation list, before anybody believes the name in it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <gnutls/x509.h>

#include "file-state.h"
#include "regular.h"
#include "tls.h"

#define FILE_MOST  (1u << 20) /* bytes of a file */
#define CHAIN_MOST 16u	      /* certificates of a chain */

/*
 * Limits of what a client offers. The server has one thread, and to check a signature of an RSA key
 * of 16,384 bits with an exponent as long would take it half a second.
 */
#define HANDSHAKE_MOST (16u << 10) /* bytes of a message: a chain of certificates is the longest */
#define MODULUS_MOST   1024u	   /* bytes of an RSA key's modulus */
#define EXPONENT_MOST  8u	   /* bytes of its public exponent */

enum { CERTIFICATE, KEY, CLIENT_CA, CLIENT_CRL, FILES };
static const char *const file_names[FILES] = {"certificate", "key", "client-ca", "client-crl"};

struct tls_generation {
	unsigned references;
	gnutls_certificate_credentials_t credentials;
	gnutls_x509_crt_t certificate;
	gnutls_x509_trust_list_t clients; /* NULL = no client needs a certificate */
	uint64_t lists_end; /* the first revocation list runs out then, wall clock, s; UINT64_MAX = never */
};

struct tls {
	const char *files[FILES];
	struct stat seen[FILES];
	struct tls_generation *newest;
	uint64_t reads;
};

/* ---- generations ---- */

struct tls_generation *tls_generation_unref(struct tls_generation *g)
{
	if (!g || --g->references)
		return NULL;
	if (g->credentials)
		gnutls_certificate_free_credentials(g->credentials);
	if (g->certificate)
		gnutls_x509_crt_deinit(g->certificate);
	if (g->clients)
		gnutls_x509_trust_list_deinit(g->clients, 1);
	free(g);
	return NULL;
}
CLEANUP_DEFINE(struct tls_generation, tls_generation_unref)

struct tls_generation *tls_generation_ref(struct tls *t)
{
	t->newest->references++;
	return t->newest;
}

uint64_t tls_reads(const struct tls *t)
{
	return t->reads;
}

/* ---- files ---- */

/* Write the path of FILE to PATH. Return false if it is a credential and the unit passes none. */
static bool file_path(const char *file, char *path, size_t size)
{
	const char *directory = getenv("CREDENTIALS_DIRECTORY");

	if (strncmp(file, "credential:", 11) != 0)
		return (size_t)snprintf(path, size, "%s", file) < size;
	return directory && (size_t)snprintf(path, size, "%s/%s", directory, file + 11) < size;
}

static int fail(char *sentence, size_t size, int rc, const char *name, const char *file, const char *why)
{
	snprintf(sentence, size, "[access] %s = %s: %s", name, file, why);
	return rc;
}

/* Read file number WHICH into *DATA, which the caller frees with free(DATA->data). */
static int file_read(struct tls *t, int which, gnutls_datum_t *data, char *sentence, size_t size)
{
	CLEANUP(fclosep) FILE *file = NULL;
	const char *name = file_names[which];
	char path[4096];
	size_t n;
	int rc;

	*data = (gnutls_datum_t){0};
	if (!file_path(t->files[which], path, sizeof(path)))
		return fail(sentence, size, -ENOENT, name, t->files[which],
			    "the unit passes no such credential: add LoadCredential= to it");
	rc = regular_open(path, &file);
	if (rc == 0 && fstat(fileno(file), &t->seen[which]) < 0)
		rc = -errno;
	if (rc != 0)
		return fail(sentence, size, rc < 0 ? rc : -EINVAL, name, t->files[which], regular_words(rc));
	data->data = malloc(FILE_MOST);
	if (!data->data)
		return fail(sentence, size, -ENOMEM, name, t->files[which], "no memory left");
	n = fread(data->data, 1, FILE_MOST, file);
	if (ferror(file) || n == FILE_MOST)
		return fail(sentence, size, -EINVAL, name, t->files[which],
			    ferror(file) ? "it cannot be read to its end" : "it is larger than a mebibyte");
	data->size = (unsigned)n;
	return 0;
}

bool tls_changed(struct tls *t)
{
	struct stat now;
	char path[4096];

	for (int i = 0; i < FILES; i++) {
		if (!*t->files[i] || !file_path(t->files[i], path, sizeof(path)) || stat(path, &now) < 0)
			continue;
		if (!file_state_same(&now, &t->seen[i]))
			return true;
	}
	return false;
}

/* ---- reading ---- */

/* Give G the server's certificate and key. Return 0 or -errno with a sentence. */
static int load_own(struct tls *t, struct tls_generation *g, char *sentence, size_t size)
{
	CLEANUP(freep) unsigned char *certificate = NULL;
	CLEANUP(freep) unsigned char *key = NULL;
	gnutls_datum_t c, k = {0};
	gnutls_x509_crt_t *chain = NULL;
	unsigned n = 0;
	int rc = file_read(t, CERTIFICATE, &c, sentence, size), result;

	certificate = c.data;
	if (rc == 0)
		rc = file_read(t, KEY, &k, sentence, size);
	key = k.data;
	if (rc < 0)
		return rc;
	result = gnutls_x509_crt_list_import2(&chain, &n, &c, GNUTLS_X509_FMT_PEM, GNUTLS_X509_CRT_LIST_SORT);
	if (result < 0)
		return fail(sentence, size, -EINVAL, "certificate", t->files[CERTIFICATE], gnutls_strerror(result));
	g->certificate = chain[0];
	for (unsigned i = 1; i < n; i++)
		gnutls_x509_crt_deinit(chain[i]);
	gnutls_free(chain);
	result = gnutls_certificate_set_x509_key_mem2(g->credentials, &c, &k, GNUTLS_X509_FMT_PEM, NULL, 0);
	gnutls_memset(k.data, 0, k.size);
	if (result == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		return fail(sentence, size, -EINVAL, "key", t->files[KEY], "it is not the key of the certificate");
	if (result < 0)
		return fail(sentence, size, -EINVAL, "key", t->files[KEY], gnutls_strerror(result));
	return 0;
}

/* Return true if an authority in CA has signed each of N revocation lists, whatever the time is. */
static bool lists_signed(gnutls_x509_crl_t *lists, unsigned n, const gnutls_datum_t *ca)
{
	gnutls_x509_crt_t *authorities = NULL;
	unsigned n_authorities = 0, status = 0;
	const unsigned times = GNUTLS_CERT_REVOCATION_DATA_SUPERSEDED | GNUTLS_CERT_REVOCATION_DATA_ISSUED_IN_FUTURE;
	bool good = gnutls_x509_crt_list_import2(&authorities, &n_authorities, ca, GNUTLS_X509_FMT_PEM, 0) >= 0;

	for (unsigned i = 0; i < n && good; i++) {
		good = gnutls_x509_crl_verify(lists[i], authorities, n_authorities, 0, &status) >= 0;
		good = good && (status == 0 || (status & times && !(status & ~(times | GNUTLS_CERT_INVALID))));
	}
	for (unsigned i = 0; i < n_authorities; i++)
		gnutls_x509_crt_deinit(authorities[i]);
	gnutls_free(authorities);
	return good;
}

/*
 * Give G the revocation lists in DATA, which an authority in CA must have signed. Return false if
 * there are none. With a list that has run out the server goes on, and judge() believes no client.
 */
static bool add_lists(struct tls_generation *g, const gnutls_datum_t *data, const gnutls_datum_t *ca)
{
	gnutls_x509_crl_t *lists = NULL;
	unsigned n = 0;
	bool taken = false;

	if (gnutls_x509_crl_list_import2(&lists, &n, data, GNUTLS_X509_FMT_PEM, 0) < 0)
		return false;
	for (unsigned i = 0; i < n; i++) {
		time_t end = gnutls_x509_crl_get_next_update(lists[i]);

		if (end >= 0 && (uint64_t)end < g->lists_end)
			g->lists_end = (uint64_t)end;
	}
	if (n && lists_signed(lists, n, ca))
		taken = gnutls_x509_trust_list_add_crls(g->clients, lists, n, 0, 0) == (int)n;
	/* The trust list owns those that it took. */
	for (unsigned i = 0; i < n && !taken; i++)
		gnutls_x509_crl_deinit(lists[i]);
	gnutls_free(lists);
	return taken;
}

/* Give G the authority of the clients and its revocation list. Return 0 or -errno with a sentence. */
static int load_clients(struct tls *t, struct tls_generation *g, char *sentence, size_t size)
{
	CLEANUP(freep) unsigned char *ca = NULL;
	CLEANUP(freep) unsigned char *crl = NULL;
	gnutls_datum_t data, lists;
	int rc = file_read(t, CLIENT_CA, &data, sentence, size);

	ca = data.data;
	if (rc < 0)
		return rc;
	if (gnutls_x509_trust_list_init(&g->clients, 0) < 0)
		return fail(sentence, size, -ENOMEM, "client-ca", t->files[CLIENT_CA], "no memory left");
	if (gnutls_x509_trust_list_add_trust_mem(g->clients, &data, NULL, GNUTLS_X509_FMT_PEM, 0, 0) < 1)
		return fail(sentence, size, -EINVAL, "client-ca", t->files[CLIENT_CA], "it has no certificate in PEM");
	/* So the client learns which certificates to offer. */
	if (gnutls_certificate_set_x509_trust_mem(g->credentials, &data, GNUTLS_X509_FMT_PEM) < 1)
		return fail(sentence, size, -EINVAL, "client-ca", t->files[CLIENT_CA], "it has no certificate in PEM");
	if (!*t->files[CLIENT_CRL])
		return 0;
	rc = file_read(t, CLIENT_CRL, &lists, sentence, size);
	crl = lists.data;
	if (rc < 0)
		return rc;
	if (!add_lists(g, &lists, &data))
		return fail(sentence, size, -EINVAL, "client-crl", t->files[CLIENT_CRL],
			    "it has no revocation list in PEM that client-ca has signed");
	return 0;
}

int tls_reload(struct tls *t, char *sentence, size_t size)
{
	CLEANUP(tls_generation_unrefp) struct tls_generation *g = calloc(1, sizeof(*g));
	int rc;

	if (g)
		*g = (struct tls_generation){.references = 1, .lists_end = UINT64_MAX};
	if (!g || gnutls_certificate_allocate_credentials(&g->credentials) < 0) {
		snprintf(sentence, size, "no memory left to read the certificate");
		return -ENOMEM;
	}
	rc = load_own(t, g, sentence, size);
	if (rc == 0 && *t->files[CLIENT_CA])
		rc = load_clients(t, g, sentence, size);
	if (rc < 0)
		return rc;
	tls_generation_unref(t->newest);
	t->newest = TAKE_PTR(g);
	t->reads++;
	return 0;
}

int tls_new(struct tls **tp, const struct tls_files *files, char *sentence, size_t size)
{
	CLEANUP(tls_freep) struct tls *t = calloc(1, sizeof(*t));
	int rc;

	if (!t) {
		snprintf(sentence, size, "no memory left to read the certificate");
		return -ENOMEM;
	}
	t->files[CERTIFICATE] = files->certificate;
	t->files[KEY] = files->key;
	t->files[CLIENT_CA] = files->client_ca;
	t->files[CLIENT_CRL] = files->client_crl;
	rc = tls_reload(t, sentence, size);
	if (rc == 0)
		*tp = TAKE_PTR(t);
	return rc;
}

struct tls *tls_free(struct tls *t)
{
	if (!t)
		return NULL;
	tls_generation_unref(t->newest);
	free(t);
	return NULL;
}

/* ---- sessions ---- */

bool tls_is_host(const struct tls *t, const char *host)
{
	return gnutls_x509_crt_check_hostname(t->newest->certificate, host) != 0;
}

uint64_t tls_expires(const struct tls *t)
{
	time_t end = gnutls_x509_crt_get_expiration_time(t->newest->certificate);

	return end < 0 ? 0 : (uint64_t)end;
}

static const char *why_wrong(unsigned status)
{
	if (status & GNUTLS_CERT_REVOKED)
		return "it is revoked";
	if (status & GNUTLS_CERT_EXPIRED)
		return "it has expired";
	if (status & GNUTLS_CERT_NOT_ACTIVATED)
		return "it is not valid yet";
	if (status & GNUTLS_CERT_REVOCATION_DATA_SUPERSEDED)
		return "client-crl has run out: renew it";
	if (status & GNUTLS_CERT_PURPOSE_MISMATCH)
		return "it is not for clients";
	return "the authority of the clients has not signed it";
}

/* Copy the only common name of CERTIFICATE to NAME. Return false if it has none, several, or a bad one. */
static bool common_name(gnutls_x509_crt_t certificate, char name[TLS_NAME])
{
	size_t size = TLS_NAME, second = 0;

	if (gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 1, 0, NULL, &second) !=
	    GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
		return false;
	if (gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &size) < 0)
		return false;
	return size > 0 && size < TLS_NAME && strlen(name) == size;
}

/* Import the chain that the client of SESSION has sent. Return the number of its certificates. */
static unsigned import_chain(gnutls_session_t session, gnutls_x509_crt_t chain[CHAIN_MOST])
{
	unsigned n = 0, sent = 0;
	const gnutls_datum_t *peers = gnutls_certificate_get_peers(session, &sent);

	for (; peers && n < sent && n < CHAIN_MOST; n++) {
		if (gnutls_x509_crt_init(&chain[n]) < 0)
			break;
		if (gnutls_x509_crt_import(chain[n], &peers[n], GNUTLS_X509_FMT_DER) < 0) {
			gnutls_x509_crt_deinit(chain[n]);
			break;
		}
	}
	return n;
}

/* Return the bytes of the number in D without leading zeros, and free D. */
static unsigned number_bytes(gnutls_datum_t *d)
{
	unsigned at = 0;

	while (at < d->size && !d->data[at])
		at++;
	at = d->size - at;
	gnutls_free(d->data);
	return at;
}

/* Return true if it costs little to check a signature of the key in CERTIFICATE. */
static bool is_cheap(gnutls_x509_crt_t certificate)
{
	gnutls_datum_t modulus, exponent;
	bool short_modulus, short_exponent;

	switch (gnutls_x509_crt_get_pk_algorithm(certificate, NULL)) {
	case GNUTLS_PK_ECDSA:
	case GNUTLS_PK_EDDSA_ED25519:
	case GNUTLS_PK_EDDSA_ED448:
		return true;
	case GNUTLS_PK_RSA:
	case GNUTLS_PK_RSA_PSS:
		if (gnutls_x509_crt_get_pk_rsa_raw(certificate, &modulus, &exponent) < 0)
			return false;
		short_modulus = number_bytes(&modulus) <= MODULUS_MOST;
		short_exponent = number_bytes(&exponent) <= EXPONENT_MOST;
		return short_modulus && short_exponent;
	default:
		return false;
	}
}

/*
 * GnuTLS calls this before it checks the signature that the client has made with the key of its
 * certificate. Return 0, or an error of GnuTLS to end the handshake.
 */
static int on_signature(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
			const gnutls_datum_t *message)
{
	gnutls_x509_crt_t chain[CHAIN_MOST];
	unsigned sent = 0, n;
	bool cheap;

	(void)type;
	(void)when;
	(void)message;
	if (!incoming || !gnutls_certificate_get_peers(session, &sent))
		return 0;
	n = import_chain(session, chain);
	cheap = n == sent;
	for (unsigned i = 0; i < n; i++) {
		cheap = cheap && is_cheap(chain[i]);
		gnutls_x509_crt_deinit(chain[i]);
	}
	return cheap ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

int tls_session_begin(struct tls_generation *g, gnutls_session_t session)
{
	if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, g->credentials) < 0)
		return -EIO;
	gnutls_certificate_server_set_request(session, g->clients ? GNUTLS_CERT_REQUEST : GNUTLS_CERT_IGNORE);
	gnutls_handshake_set_max_packet_length(session, HANDSHAKE_MOST);
	gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_CERTIFICATE_VERIFY, GNUTLS_HOOK_PRE, on_signature);
	return 0;
}

/* Judge CHAIN of N certificates. */
static struct tls_verdict judge(const struct tls_generation *g, gnutls_x509_crt_t *chain, unsigned n, uint64_t now)
{
	gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
					 .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
	struct tls_verdict v = {.client = TLS_CLIENT_WRONG};
	unsigned status = 0;
	time_t end;

	if (gnutls_x509_trust_list_verify_crt2(g->clients, chain, n, &purpose, 1,
					       GNUTLS_PROFILE_TO_VFLAGS(GNUTLS_PROFILE_MEDIUM), &status, NULL) < 0)
		status = GNUTLS_CERT_INVALID;
	end = gnutls_x509_crt_get_expiration_time(chain[0]);
	v.expires = end < 0 ? 0 : (uint64_t)end;
	if (status == 0 && v.expires <= now)
		status = GNUTLS_CERT_EXPIRED;
	/* GnuTLS compares no list with the time. */
	if (status == 0 && g->lists_end <= now)
		status = GNUTLS_CERT_REVOCATION_DATA_SUPERSEDED;
	v.why = status ? why_wrong(status) : "its subject has no common name, or more than one";
	if (status == 0 && common_name(chain[0], v.name))
		v.client = TLS_CLIENT_GOOD;
	return v;
}

struct tls_verdict tls_verify(const struct tls *t, gnutls_session_t session, uint64_t now)
{
	struct tls_verdict v = {.client = TLS_CLIENT_NONE};
	gnutls_x509_crt_t chain[CHAIN_MOST];
	unsigned n;

	if (!t->newest->clients || gnutls_certificate_type_get2(session, GNUTLS_CTYPE_PEERS) != GNUTLS_CRT_X509)
		return v;
	n = import_chain(session, chain);
	if (n)
		v = judge(t->newest, chain, n, now);
	for (unsigned i = 0; i < n; i++)
		gnutls_x509_crt_deinit(chain[i]);
	return v;
}
