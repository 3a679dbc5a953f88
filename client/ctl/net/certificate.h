/* Explain why TLS with a host failed: which certificate is wrong, how, and what to do. */
#ifndef CTL_CERTIFICATE_H
#define CTL_CERTIFICATE_H

#include <stdbool.h>

#include <curl/curl.h>

#include "host.h"

/*
 * The TLS connection to H failed with CODE. VERIFY is CURLINFO_SSL_VERIFYRESULT, and WHY libcurl's
 * message. Report the reason, and return true. Return false, and report nothing, if the failure has
 * nothing to do with certificates.
 */
bool certificate_complain(const struct host *h, CURLcode code, long verify, const char *why);

#endif
