/*
 * This file explains failures of TLS.
 *
 * libcurl tells that a certificate is wrong, but not which one. So a second connection, which
 * verifies nothing, gets the certificates. It sends no request, no token and no certificate, and its
 * result is only printed. By then the connection that matters has failed.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "certificate.h"
#include "cleanup.h"

/* Reasons, as OpenSSL numbers them (X509_V_ERR_*, a stable interface of its library). */
enum verify {
	VERIFY_OK = 0,
	VERIFY_UNSPECIFIED = 1, /* libcurl compared the name, not OpenSSL */
	VERIFY_NOT_YET = 9,
	VERIFY_EXPIRED = 10,
	VERIFY_SELF_SIGNED = 18,
	VERIFY_SELF_SIGNED_IN_CHAIN = 19,
	VERIFY_NO_ISSUER = 20,
	VERIFY_NO_LEAF_SIGNATURE = 21,
	VERIFY_PURPOSE = 26,
};

#define TEXT_MAX  256u
#define CHAIN_MAX 8 /* certificates of a chain that are examined */

struct shown_certificate {
	char subject[TEXT_MAX], issuer[TEXT_MAX], names[TEXT_MAX];
	time_t from, to; /* -1 = unknown */
};

/* A chain as the server sent it, its own certificate first. */
struct chain {
	struct shown_certificate at[CHAIN_MAX];
	int n;
};

static void easyp(CURL **easy)
{
	curl_easy_cleanup(*easy);
	*easy = NULL;
}

/* Parse a time as libcurl prints it for OpenSSL ("Nov 25 03:28:00 2026 GMT") or for GnuTLS. */
static time_t time_of(const char *text)
{
	struct tm tm = {0};

	if (strptime(text, "%b %d %H:%M:%S %Y", &tm) || strptime(text, "%Y-%m-%d %H:%M:%S", &tm))
		return timegm(&tm);
	return -1;
}

/* Take LINE, "KEY:VALUE" of libcurl's description of a certificate. */
static void take_line(struct shown_certificate *c, const char *line)
{
	static const char *const keys[] = {
		"Subject:", "Issuer:", "X509v3 Subject Alternative Name:", "Start date:", "Expire date:"};
	const char *value = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys) && !value; i++)
		if (strncmp(line, keys[i], strlen(keys[i])) == 0)
			value = line + strlen(keys[i]);
	if (!value)
		return;
	switch (i - 1) {
	case 0:
		snprintf(c->subject, sizeof(c->subject), "%s", value);
		break;
	case 1:
		snprintf(c->issuer, sizeof(c->issuer), "%s", value);
		break;
	case 2:
		snprintf(c->names, sizeof(c->names), "%s", value);
		break;
	case 3:
		c->from = time_of(value);
		break;
	default:
		c->to = time_of(value);
		break;
	}
}

/* Ask H for its chain. Without an answer the chain is empty. */
static void chain_ask(struct chain *chain, const struct host *h)
{
	CLEANUP(easyp) CURL *easy = curl_easy_init();
	struct curl_certinfo *info = NULL;

	*chain = (struct chain){0};
	if (!easy)
		return;
	curl_easy_setopt(easy, CURLOPT_URL, h->base);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	curl_easy_setopt(easy, CURLOPT_CERTINFO, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, 10L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT, 10L);
	if (curl_easy_perform(easy) != CURLE_OK || curl_easy_getinfo(easy, CURLINFO_CERTINFO, &info) != CURLE_OK ||
	    !info)
		return;
	for (; chain->n < info->num_of_certs && chain->n < CHAIN_MAX; chain->n++) {
		chain->at[chain->n].from = chain->at[chain->n].to = -1;
		for (const struct curl_slist *line = info->certinfo[chain->n]; line; line = line->next)
			take_line(&chain->at[chain->n], line->data);
	}
}

/* Write NS seconds since 1970 to BUF of SIZE bytes, or "?" if they are -1. */
static const char *date_text(time_t seconds, char *buf, size_t size)
{
	struct tm tm;

	if (seconds == -1 || !gmtime_r(&seconds, &tm) || !strftime(buf, size, "%Y-%m-%d %H:%M UTC", &tm))
		snprintf(buf, size, "?");
	return buf;
}

/* Return the first certificate of CHAIN that is not valid at NOW by its dates, or NULL. */
static const struct shown_certificate *outdated(const struct chain *chain, time_t now, bool expired)
{
	for (int i = 0; i < chain->n; i++) {
		const struct shown_certificate *c = &chain->at[i];

		if (expired ? c->to != -1 && c->to < now : c->from != -1 && c->from > now)
			return c;
	}
	return NULL;
}

/*
 * Return the reason of a failure; VERIFY_OK stands for a wrong name. Another TLS library than OpenSSL
 * has other numbers; then the certificates themselves show it.
 */
static long reason_of(const struct chain *chain, long verify, const char *why, time_t now)
{
	const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;
	const struct shown_certificate *own = &chain->at[0];

	if (verify <= VERIFY_UNSPECIFIED && strstr(why, "name"))
		return VERIFY_OK;
	if (library && strncmp(library, "OpenSSL", 7) == 0)
		return verify;
	if (outdated(chain, now, true))
		return VERIFY_EXPIRED;
	if (outdated(chain, now, false))
		return VERIFY_NOT_YET;
	return chain->n && strcmp(own->subject, own->issuer) == 0 ? VERIFY_SELF_SIGNED : VERIFY_NO_ISSUER;
}

/* Report the failure: HOW the certificate C (NULL = unknown) is wrong, and what to DO. */
static void report(const struct host *h, const struct shown_certificate *c, const char *how, const char *what)
{
	char from[32], to[32];

	if (c)
		say("%s: the certificate %s: subject \"%s\", issuer \"%s\", valid from %s to %s; %s", h->label, how,
		    c->subject, c->issuer, date_text(c->from, from, sizeof(from)), date_text(c->to, to, sizeof(to)),
		    what);
	else
		say("%s: the certificate %s; %s", h->label, how, what);
}

/* Report that a certificate has expired, or is not yet valid. */
static void report_dates(const struct host *h, const struct chain *chain, bool expired, time_t now)
{
	const struct shown_certificate *c = outdated(chain, now, expired);
	char text[32], what[160];
	bool own = !chain->n || c == &chain->at[0];

	snprintf(what, sizeof(what), "%s, or set the clock of this machine if it is wrong: it says %s",
		 expired ? "let the host's administrator renew it" : "wait until then",
		 date_text(now, text, sizeof(text)));
	if (c)
		report(h, c,
		       expired ? own ? "has expired" : "of a CA between has expired"
		       : own   ? "is not yet valid"
			       : "of a CA between is not yet valid",
		       what);
	else
		report(h, chain->n ? &chain->at[0] : NULL,
		       expired ? "is issued by a CA whose own certificate has expired"
			       : "is issued by a CA whose own certificate is not yet valid",
		       what);
}

/* Report that the certificate is for other names. */
static void report_name(const struct host *h, const struct chain *chain)
{
	const struct shown_certificate *c = chain->n ? &chain->at[0] : NULL;
	char how[TEXT_MAX + 64];

	snprintf(how, sizeof(how), "is not for this address, but for %s",
		 !c	       ? "other names"
		 : c->names[0] ? c->names
			       : c->subject);
	report(h, c, how, "use one of its names in --host, or let the host's administrator add this name");
}

static void report_ca(const struct host *h, const struct chain *chain)
{
	char how[512];

	if (h->ca)
		snprintf(how, sizeof(how), "is issued by an unknown CA, which is not in %s", h->ca);
	else
		snprintf(how, sizeof(how), "is issued by an unknown CA, which this system does not trust");
	report(h, chain->n ? &chain->at[0] : NULL, how, "give the certificate of the host's CA with --ca FILE");
}

/* Report that the certificate that the server showed is wrong. */
static void report_server(const struct host *h, long verify, const char *why)
{
	struct chain chain;
	time_t now = time(NULL);

	chain_ask(&chain, h);
	switch (reason_of(&chain, verify, why, now)) {
	case VERIFY_OK:
		report_name(h, &chain);
		break;
	case VERIFY_EXPIRED:
		report_dates(h, &chain, true, now);
		break;
	case VERIFY_NOT_YET:
		report_dates(h, &chain, false, now);
		break;
	case VERIFY_SELF_SIGNED:
		report(h, chain.n ? &chain.at[0] : NULL, "is self-signed, and not trusted here",
		       "if the host's administrator confirms that it is the right one, give it with --ca FILE");
		break;
	case VERIFY_SELF_SIGNED_IN_CHAIN:
	case VERIFY_NO_ISSUER:
	case VERIFY_NO_LEAF_SIGNATURE:
		report_ca(h, &chain);
		break;
	case VERIFY_PURPOSE:
		report(h, chain.n ? &chain.at[0] : NULL, "is not for servers",
		       "let the host's administrator install one with the purpose serverAuth");
		break;
	default:
		report(h, chain.n ? &chain.at[0] : NULL, "is refused", why);
		break;
	}
}

/*
 * Report what the server says about the certificate of mprofctl, by an alert of TLS in WHY. Return
 * false if WHY has no such alert.
 */
static bool report_client(const struct host *h, const char *why)
{
	const char *alert = strstr(why, "alert ");

	if (!alert)
		return false;
	if (strstr(alert, "certificate required") || (strstr(alert, "handshake failure") && !h->cert)) {
		say("%s: the host asks for a certificate of yours: give one with --cert FILE and --key FILE%s",
		    h->label, h->cert ? "; it does not take the one given" : "");
		return true;
	}
	if (!h->cert ||
	    (!strstr(alert, "certificate") && !strstr(alert, "unknown ca") && !strstr(alert, "access denied")))
		return false;
	say("%s: the host refuses the certificate %s (\"%s\"): give one of its client CA that is valid now with --cert "
	    "FILE and --key FILE",
	    h->label, h->cert, alert);
	return true;
}

bool certificate_complain(const struct host *h, CURLcode code, long verify, const char *why)
{
	if (h->kind != HOST_HTTPS)
		return false;
	switch (code) {
	case CURLE_PEER_FAILED_VERIFICATION:
		report_server(h, verify, why);
		return true;
	case CURLE_SSL_CACERT_BADFILE:
		say("%s: %s has no CA's certificate in PEM format: %s", h->label,
		    h->ca ? h->ca : "the system's CA file", why);
		return true;
	case CURLE_SSL_CERTPROBLEM:
		say("%s: cannot use %s with %s: %s; both are in PEM format, and the key is the certificate's", h->label,
		    h->cert ? h->cert : "no certificate", h->key ? h->key : "the key in it", why);
		return true;
	case CURLE_SSL_CONNECT_ERROR:
		if (!strstr(why, "wrong version number") && !strstr(why, "unexpected message"))
			return report_client(h, why);
		say("%s: no TLS answers on that port: is it the port of an http:// address?", h->label);
		return true;
	default:
		return report_client(h, why);
	}
}
