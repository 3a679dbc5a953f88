/*
 * A client of the HTTP API, for one host and one request at a time.
 *
 * The size of everything that a server sends is limited: a header value to 8 KiB, the body of an
 * error (a problem document) to 64 KiB, a JSON answer to 64 MiB.
 */
#ifndef CTL_HTTP_H
#define CTL_HTTP_H

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctl.h"
#include "host.h"
#include "http-limits.h"
#include "ssh.h"

/* Reasons why a request got no complete answer. 0 means that an answer came, of any status. */
enum http_condition {
	HTTP_E_UNREACHABLE = 1, /* no connection was made, or ssh ended before an answer came */
	HTTP_E_BROKEN,		/* the connection broke, or the server was silent for too long */
	HTTP_E_SLOW,		/* the answer was slower than the limits allow */
	/* A compressed body unpacked to more than HTTP_RATIO_MAX times its size. */
	HTTP_E_RATIO,
	HTTP_E_REFUSED, /* body() of the request returned false */
	HTTP_E_STOPPED, /* SIGINT or SIGTERM came; only after http_catch_signals() */
	HTTP_E_MEMORY,
	HTTP_E_LINE, /* a header has a line that libcurl does not take, or memory is lacking */
};

/*
 * Limits on a compressed body. It may unpack to HTTP_UNPACKED_FREE bytes in any case, and to more
 * bytes only up to HTTP_RATIO_MAX times its compressed size.
 */
#define HTTP_UNPACKED_FREE (16u << 20)
#define HTTP_RATIO_MAX	   1000u

struct http {
	CURLM *multi;
	CURL *easy;
	struct host at;
	const char *host; /* AT's label, for messages */
	struct ssh ssh;	  /* the ssh of a host of the kind HOST_SSH */
	int signals;	  /* a signalfd after http_catch_signals(), else -1 */
	struct limits limits;
	CURLcode code; /* result of the last request */
	long verify;   /* CURLINFO_SSL_VERIFYRESULT of the last request */
	char error[CURL_ERROR_SIZE];
};

/* A struct http that http_close() can close before http_open(). */
#define HTTP_CLOSED {.signals = -1, .ssh = SSH_NONE}

/*
 * The status, and the headers that mprofctl uses. A header is NULL if it is absent. The strings are
 * owned.
 */
struct http_answer {
	long status;
	char *etag;
	char *content_location;
	char *content_range;
	char *content_encoding;
	char *location;
	char *position; /* the header Mprof-Position */
	char *run_state;
	char *cut;
	char *lost;
	char *complete;
	char *retry_after;
	char *date;
	char *problem; /* body of an answer whose status is not 2xx */
	size_t problem_bytes;
};

struct http_request {
	const char *method; /* NULL = GET */
	const char *path;   /* path with the query, percent-encoded */
	const char *json;   /* JSON body to send, or NULL */
	bool unending;	    /* the server may be silent after the headers */
	bool zstd;	    /* accept zstd; body() still gets the unpacked bytes */
	uint64_t resume_at; /* with IF_RANGE: first byte of the body to fetch */
	const char *if_range;
	/*
	 * Take the next LEN bytes of the body of a 2xx answer. ANSWER already has all headers.
	 * Return false to end the request. If NULL, the body is dropped.
	 */
	bool (*body)(void *context, const struct http_answer *answer, const uint8_t *bytes, size_t len);
	void *context;
};

/* Prepare requests to HOSTS, which must be a single host. Return an exit code. */
int http_open(struct http *h, const struct hosts *hosts);
void http_close(struct http *h);

/*
 * From now on SIGINT and SIGTERM end the present request or sleep and not the program. Return false
 * if the signalfd cannot be opened.
 */
bool http_catch_signals(struct http *h);
/* Sleep MS milliseconds. Return false if a signal ended the sleep. */
bool http_sleep(struct http *h, int ms);

/*
 * Perform one request. Fill ANSWER with the part of the answer that came; the caller deinits it in
 * any case. Return 0 or an enum http_condition.
 */
int http_perform(struct http *h, const struct http_request *request, struct http_answer *answer);
void http_answer_deinit(struct http_answer *answer);

/* Return true if STATUS is EXPECTED. EXPECTED can be HTTP_ABSENT, which stands for 404 and 410. */
bool http_is(long status, long expected);

/*
 * Report why a request failed. CONDITION is the value that http_perform() returned, and ANSWER what
 * it filled. Return an exit code.
 */
int http_complain(struct http *h, int condition, const struct http_answer *answer);

/*
 * Send METHOD to PATH with the JSON text BODY (or NULL), and parse the answer into *JSON, which the
 * caller decrefs. Return an exit code.
 */
int http_json(struct http *h, const char *method, const char *path, const char *body, json_t **json);
#define HTTP_ABSENT (-1L) /* 404 or 410: the resource does not exist, or not any more */
/* Send METHOD to PATH, and drop the answer. Return an exit code. */
int http_do(struct http *h, const char *method, const char *path);
/* As http_json() with GET, but an answer of STATUS is no error: it sets *JSON to NULL. */
int http_json_unless(struct http *h, const char *path, long status, json_t **json);
/*
 * Read all pages of the list at PATH, which has no query. Set *JSON to an object with one array
 * under KEY, which the caller decrefs. Return an exit code.
 */
int http_list(struct http *h, const char *path, const char *key, json_t **json);

/*
 * Return SEGMENT percent-encoded for a URL. The caller frees it with curl_free(). Return NULL
 * without memory.
 */
char *http_escape(struct http *h, const char *segment);

#endif
