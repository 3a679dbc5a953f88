/*
 * The client's end of the HTTP API: one host, one request at a time.
 *
 * Everything a server sends is checked for size here: a header value is at most 8 KiB, a problem 64 KiB, a JSON answer 64 MiB.
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

/* Conditions of a request; 0 is an answer, of whatever status. */
enum http_condition {
	HTTP_E_UNREACHABLE = 1, /* no connection came about: nothing was sent */
	HTTP_E_BROKEN,		/* the connection broke, or nothing came for too long */
	HTTP_E_SLOW,		/* the answer came slower than the limits allow */
	HTTP_E_RATIO,		/* a compressed body unpacked to more than HTTP_RATIO_MAX times what came */
	HTTP_E_REFUSED,		/* the sink refused the body */
	HTTP_E_STOPPED,		/* SIGINT or SIGTERM, after http_catch_signals() */
	HTTP_E_MEMORY,
};

/* A compressed body may unpack to so many bytes, and beyond that to so many times what came. */
#define HTTP_UNPACKED_FREE (16u << 20)
#define HTTP_RATIO_MAX	   1000u

struct http {
	CURLM *multi;
	CURL *easy;
	char *base;	 /* "http://host:port", no slash at the end */
	char *unix_path; /* NULL = TCP */
	char *host;	 /* as given, for sentences */
	int signals;	 /* a signalfd, or -1 */
	struct limits limits;
	char error[CURL_ERROR_SIZE];
};

/* The headers of an answer that the verbs ask for, each NULL where it did not come.  Owned by the answer. */
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
	char *problem; /* the body of anything but a 2xx */
	size_t problem_bytes;
};

struct http_request {
	const char *method; /* NULL = GET */
	const char *path;   /* with the query, escaped */
	const char *json;   /* a body, or NULL */
	bool unending;	    /* silence is no fault, once the headers came */
	bool zstd;	    /* offer to take it compressed; the sink gets the plain bytes */
	uint64_t resume_at; /* with if_range: the body from this byte on */
	const char *if_range;
	/* Takes the body of a 2xx, NULL drops it; anything but true ends the request.  ANSWER has all headers. */
	bool (*body)(void *data, const struct http_answer *answer, const uint8_t *bytes, size_t len);
	void *data;
};

/* On HOST ("unix:PATH", a URL, or NULL for the default).  Returns an exit code, having said why. */
int http_open(struct http *h, const char *host);
void http_close(struct http *h);

/* From now on SIGINT and SIGTERM end requests and sleeps and not the program.  False without a descriptor. */
bool http_catch_signals(struct http *h);
/* Sleep MS milliseconds; false where a signal ended it. */
bool http_sleep(struct http *h, int ms);

/* Perform one request.  ANSWER is filled as far as it came; deinit it in any case. */
int http_perform(struct http *h, const struct http_request *request, struct http_answer *answer);
void http_answer_deinit(struct http_answer *answer);

/* Is STATUS what is meant by EXPECTED, which may be HTTP_ABSENT? */
bool http_is(long status, long expected);

/* Say why a request did not do what it should, CONDITION from http_perform(); returns the exit code. */
int http_complain(struct http *h, int condition, const struct http_answer *answer);

/* One JSON answer of a 2xx into *JSON, to be decref'd.  Returns an exit code, having said why. */
int http_json(struct http *h, const char *method, const char *path, const char *body, json_t **json);
#define HTTP_ABSENT (-1L) /* as STATUS below: 404 or 410, it is not there, or not any more */
/* As http_json() of a GET, but an answer of STATUS is CTL_OK too: *JSON is NULL then. */
int http_json_unless(struct http *h, const char *path, long status, json_t **json);
/* All pages of a list, joined into one array under KEY of an object.  PATH has no query.  As http_json(). */
int http_list(struct http *h, const char *path, const char *key, json_t **json);

/* SEGMENT percent-encoded, to be freed with curl_free(); NULL without memory. */
char *http_escape(struct http *h, const char *segment);

#endif
