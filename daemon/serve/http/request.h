/*
 * Parse a request: its target, Host, Accept-Encoding, Range and If-None-Match. Pure functions over
 * untrusted bytes, which tests/fuzz checks.
 */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_TARGET_MAX   4096u /* bytes of path and query */
#define REQUEST_SEGMENTS_MAX 8u
#define REQUEST_QUERIES_MAX  16u

enum request_status {
	REQUEST_OK = 0,
	REQUEST_TOO_LONG,
	REQUEST_BAD, /* no path, a bad percent encoding, a NUL, not UTF-8, or too many parts */
};

/* Path and query of a request, decoded. All pointers point into TEXT. */
struct request {
	char text[REQUEST_TARGET_MAX + 1];
	size_t n_segments; /* 0 for "/"; a trailing slash adds an empty segment */
	const char *segments[REQUEST_SEGMENTS_MAX];
	size_t n_queries;
	struct {
		const char *key, *value;
	} queries[REQUEST_QUERIES_MAX];
};

/* Parse TARGET, the request target as it came, such as "/a/b?c=d". */
enum request_status request_parse(struct request *r, const char *target);

/* Return the value of the query parameter KEY, or NULL. */
const char *request_query(const struct request *r, const char *key);

/*
 * Return whether HOST, a Host header (NULL = absent), names this host: localhost, 127.0.0.1, [::1]
 * or NAME (this host's name; NULL = unknown), each with or without a port.
 */
bool request_host_ok(const char *host, const char *name);

#define REQUEST_HOST_MAX 256u
/*
 * Write HOST, a Host header (NULL = absent), to NAME without its port, and without the brackets of an
 * IPv6 address. Return false if it is malformed or too long.
 */
bool request_host_name(const char *host, char name[REQUEST_HOST_MAX]);

/*
 * Return whether ORIGIN, an Origin header, is this server: SCHEME ("http://" or "https://"), and host
 * and port of HOST, the Host header (NULL = absent).
 */
bool request_origin_ok(const char *origin, const char *scheme, const char *host);

/*
 * Return whether VALUE, an Accept or Accept-Encoding header (NULL = absent), has WHAT literally,
 * not by a wildcard, with a quality above 0.
 */
bool request_accepts(const char *value, const char *what);
/*
 * Return whether VALUE, an Accept header (NULL = absent), has the media type WHAT with a quality
 * above 0, and with the parameter version=VERSION or without a version. Other parameters are
 * ignored.
 */
bool request_accepts_version(const char *value, const char *what, const char *version);
bool request_accepts_zstd(const char *value);

enum range_status {
	/*
	 * No header, or a header to ignore: other units than bytes, several ranges, or invalid
	 * syntax.
	 */
	RANGE_NONE,
	RANGE_PART,	     /* bytes FIRST to LAST, both included */
	RANGE_UNSATISFIABLE, /* 416 */
};

/* A Range header, parsed. */
struct request_range {
	bool suffix;	      /* the range is the last LAST bytes */
	uint64_t first, last; /* else bytes FIRST to LAST, both included; LAST UINT64_MAX = to the end */
};

/* Parse VALUE, a Range header (NULL = absent). Return false if it must be ignored. */
bool request_range_parse(const char *value, struct request_range *range);
/*
 * Apply VALUE, a Range header (NULL = absent), to a body of TOTAL bytes, and set *FIRST and *LAST
 * for RANGE_PART.
 */
enum range_status request_range(const char *value, uint64_t total, uint64_t *first, uint64_t *last);

/*
 * Return whether VALUE, an If-None-Match header (NULL = absent), has ETAG, which includes its
 * quotes. The comparison is weak: a W/ before a tag is ignored.
 */
bool request_etag_matches(const char *value, const char *etag);

#endif
