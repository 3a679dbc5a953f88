/*
 * The client side of the HTTP API: one host, one request at a time.
 *
 * This code limits the size of all that a server sends: a header value to 8 KiB, a problem to 64
 * KiB, a JSON answer to 64 MiB.
 */
#ifndef CTL_HTTP_H
#define CTL_HTTP_H

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctl.h"
#include "http-limits.h"

/* Why a request got no answer. 0 is an answer of any status. */
enum http_condition {
	HTTP_E_UNREACHABLE = 1, /* no connection was made; nothing was sent */
	HTTP_E_BROKEN,		/* the connection broke, or the server was silent for too long */
	HTTP_E_SLOW,		/* the answer was slower than the limits allow */
	/* A compressed body unpacked to more than HTTP_RATIO_MAX times its size. */
	HTTP_E_RATIO,
	HTTP_E_REFUSED, /* the request's body() refused the body */
	HTTP_E_STOPPED, /* SIGINT or SIGTERM came, after http_catch_signals() */
	HTTP_E_MEMORY,
};

/*
 * A compressed body may unpack to HTTP_UNPACKED_FREE bytes. Beyond that it may unpack to
 * HTTP_RATIO_MAX times its size.
 */
#define HTTP_UNPACKED_FREE (16u << 20)
#define HTTP_RATIO_MAX	   1000u

struct http {
	CURLM *multi;
	CURL *easy;
	char *base;	 /* "http://host:port", without a slash at the end */
	char *unix_path; /* NULL = TCP */
	char *host;	 /* as given, for messages */
	int signals;	 /* a signalfd, or -1 */
	struct limits limits;
	char error[CURL_ERROR_SIZE];
};

/* The headers of an answer that verbs use, NULL if absent. Owned by the answer. */
struct http_answer {
	long status;
	char *etag;
	char *content_location;
	char *content_range;
	char *content_encoding;
	char *location;
	char *position; /* Mprof-Position */
	char *run_state;
	char *cut;
	char *lost;
	char *retry_after;
	char *problem; /* the body of an answer that is not 2xx */
	size_t problem_bytes;
};

struct http_request {
	const char *method; /* NULL = GET */
	const char *path;   /* with the query, escaped */
	const char *json;   /* a body to send, or NULL */
	bool unending;	    /* silence is allowed once the headers came */
	bool zstd;	    /* accept zstd; body() gets the unpacked bytes */
	uint64_t resume_at; /* with if_range: fetch the body from this byte on */
	const char *if_range;
	/*
	 * Take the body of a 2xx; NULL drops it. ANSWER has all headers. Return false to end the
	 * request.
	 */
	bool (*body)(void *context, const struct http_answer *answer, const uint8_t *bytes, size_t len);
	void *context;
};

/* Open HOST: "unix:PATH", a URL, or NULL for the default. Return an exit code. */
int http_open(struct http *h, const char *host);
void http_close(struct http *h);

/*
 * Let SIGINT and SIGTERM end requests and sleeps instead of the program. Return false without a
 * descriptor.
 */
bool http_catch_signals(struct http *h);
/* Sleep MS milliseconds. Return false if a signal ended the sleep. */
bool http_sleep(struct http *h, int ms);

/*
 * Perform one request. Fill ANSWER as far as the answer came; the caller deinits it in any case.
 * Return 0 or a condition.
 */
int http_perform(struct http *h, const struct http_request *request, struct http_answer *answer);
void http_answer_deinit(struct http_answer *answer);

/* Return true if STATUS is EXPECTED, which may be HTTP_ABSENT. */
bool http_is(long status, long expected);

/* Report why a request failed, with the CONDITION of http_perform(). Return an exit code. */
int http_complain(struct http *h, int condition, const struct http_answer *answer);

/* Request one JSON answer into *JSON, which the caller decrefs. Return an exit code. */
int http_json(struct http *h, const char *method, const char *path, const char *body, json_t **json);
#define HTTP_ABSENT (-1L) /* 404 or 410: the thing is not there, or not any more */
/* As http_json() with GET, but accept an answer of STATUS too: then *JSON is NULL. */
int http_json_unless(struct http *h, const char *path, long status, json_t **json);
/*
 * Read all pages of a list into one array under KEY of an object. PATH has no query. As
 * http_json().
 */
int http_list(struct http *h, const char *path, const char *key, json_t **json);

/* Return SEGMENT percent-encoded, to be freed with curl_free(). Return NULL without memory. */
char *http_escape(struct http *h, const char *segment);

#endif
