/*
 * Parse what clients have sent. These functions allocate nothing, and check each length before they
 * use it.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "quantity.h"
#include "request.h"

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Return the length of the UTF-8 sequence at P, a string that ends with NUL; 0 if it is invalid. */
static size_t utf8_bytes(const unsigned char *p)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : 4;

	if (n == 4 && (p[0] < 0xf0 || p[0] > 0xf4))
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

/*
 * Decode percent encoding in place. PLUS: "+" means a blank. Return false if an encoding is
 * invalid, or the result has a NUL or is not UTF-8.
 */
static bool decode(char *text, bool plus)
{
	char *out = text;

	for (const char *in = text; *in; in++) {
		int high = -1, low = -1;

		if (*in == '%') {
			high = hex(in[1]);
			low = high < 0 ? -1 : hex(in[2]);
			if (low < 0 || (high == 0 && low == 0))
				return false;
			*out++ = (char)(high << 4 | low);
			in += 2;
		} else {
			*out++ = plus && *in == '+' ? ' ' : *in;
		}
	}
	*out = '\0';
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		size_t n = utf8_bytes(p);

		if (n == 0)
			return false;
		p += n;
	}
	return true;
}

static bool parse_path(struct request *r, char *path)
{
	char *save, *part = path;

	if (path[1] == '\0')
		return true;
	while (part) {
		if (r->n_segments == REQUEST_SEGMENTS_MAX)
			return false;
		save = strchr(part + 1, '/');
		if (save)
			*save = '\0';
		if (!decode(part + 1, false))
			return false;
		r->segments[r->n_segments++] = part + 1;
		part = save;
	}
	return true;
}

static bool parse_query(struct request *r, char *query)
{
	char *part, *value;

	while ((part = strsep(&query, "&"))) {
		if (!*part)
			continue;
		if (r->n_queries == REQUEST_QUERIES_MAX)
			return false;
		value = strchr(part, '=');
		if (value)
			*value++ = '\0';
		if (!decode(part, true) || (value && !decode(value, true)))
			return false;
		r->queries[r->n_queries].key = part;
		r->queries[r->n_queries++].value = value ? value : "";
	}
	return true;
}

/* Return whether TARGET has a blank or a control character, which others could take for its end. */
static bool has_blank(const char *target)
{
	for (const unsigned char *p = (const unsigned char *)target; *p; p++)
		if (*p <= ' ' || *p == 0x7f)
			return true;
	return false;
}

enum request_status request_parse(struct request *r, const char *target)
{
	size_t len = strnlen(target, REQUEST_TARGET_MAX + 1);
	char *query;

	r->n_segments = r->n_queries = 0;
	r->text[0] = '\0';
	if (len > REQUEST_TARGET_MAX)
		return REQUEST_TOO_LONG;
	/* No client sends a fragment, and a proxy could take it for a part of the path. */
	if (target[0] != '/' || has_blank(target) || strchr(target, '#'))
		return REQUEST_BAD;
	memcpy(r->text, target, len + 1);
	query = strchr(r->text, '?');
	if (query)
		*query++ = '\0';
	return parse_path(r, r->text) && (!query || parse_query(r, query)) ? REQUEST_OK : REQUEST_BAD;
}

const char *request_query(const struct request *r, const char *key)
{
	for (size_t i = 0; i < r->n_queries; i++)
		if (strcmp(r->queries[i].key, key) == 0)
			return r->queries[i].value;
	return NULL;
}

/* Return whether the LEN bytes at TEXT, HOST or HOST:PORT, have NAME as their host. */
static bool authority_is(const char *text, size_t len, const char *name)
{
	size_t n = name ? strlen(name) : 0;

	if (n == 0 || len < n || strncasecmp(text, name, n) != 0)
		return false;
	if (len == n)
		return true;
	if (text[n] != ':' || len > n + 6)
		return false;
	for (size_t i = n + 1; i < len; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return true;
}

static bool authority_ok(const char *text, size_t len, const char *name)
{
	return authority_is(text, len, "localhost") || authority_is(text, len, "127.0.0.1") ||
	       authority_is(text, len, "[::1]") || authority_is(text, len, name);
}

bool request_host_ok(const char *host, const char *name)
{
	return host && authority_ok(host, strlen(host), name);
}

bool request_host_name(const char *host, char name[REQUEST_HOST_MAX])
{
	bool bracket = host && *host == '[';
	size_t n = host ? strcspn(host + bracket, bracket ? "]" : ":") : 0;
	const char *port = host ? host + bracket + n : "";

	if (n == 0 || n >= REQUEST_HOST_MAX || (bracket && *port != ']'))
		return false;
	port += bracket;
	if (*port && (*port != ':' || strlen(port) > 6 || strspn(port + 1, "0123456789") != strlen(port + 1)))
		return false;
	memcpy(name, host + bracket, n);
	name[n] = '\0';
	return true;
}

/* Return the length of AUTHORITY without PORT, such as ":80", the default of its scheme. */
static size_t without_default_port(const char *authority, const char *port)
{
	size_t n = strlen(authority), p = strlen(port);

	return n >= p && strcmp(authority + n - p, port) == 0 ? n - p : n;
}

bool request_origin_ok(const char *origin, const char *scheme, const char *host)
{
	const char *port = strcmp(scheme, "https://") == 0 ? ":443" : ":80";
	size_t n = host ? without_default_port(host, port) : 0, s = strlen(scheme);

	return n && strncasecmp(origin, scheme, s) == 0 && without_default_port(origin + s, port) == n &&
	       strncasecmp(origin + s, host, n) == 0;
}

static const char *skip_blank(const char *p)
{
	return p + strspn(p, " \t");
}

/*
 * Return whether the quality at P, such as "; q=0.5" before a comma, is above 0. Without a quality
 * it is 1; an invalid quality counts as 0.
 */
static bool quality_positive(const char *p)
{
	p = skip_blank(p);
	if (*p == '\0' || *p == ',')
		return true;
	if (*p != ';')
		return false;
	p = skip_blank(p + 1);
	if ((*p != 'q' && *p != 'Q') || *(p = skip_blank(p + 1)) != '=')
		return false;
	p = skip_blank(p + 1);
	if (*p == '1')
		return true;
	if (*p != '0')
		return false;
	p += 1 + (p[1] == '.');
	p += strspn(p, "0");
	return *p >= '1' && *p <= '9';
}

bool request_accepts(const char *value, const char *what)
{
	size_t n = strlen(what);

	while (value) {
		value = skip_blank(value);
		if (strncasecmp(value, what, n) == 0 && strchr(" \t;,", value[n]))
			return quality_positive(value + n);
		value = strchr(value, ',');
		if (value)
			value++;
	}
	return false;
}

/*
 * Move P behind the parameters of a media type up to its quality, a comma or the end. Return
 * whether its version, if it has one, is VERSION.
 */
static bool version_is(const char **p, const char *version)
{
	size_t n = strlen(version);
	bool same = true;

	while (*(*p = skip_blank(*p)) == ';') {
		const char *name = skip_blank(*p + 1);

		if (strncasecmp(name, "q", 1) == 0 && *skip_blank(name + 1) == '=')
			break;
		if (strncasecmp(name, "version=", 8) == 0) {
			name += 8;
			name += *name == '"';
			same = strncmp(name, version, n) == 0 && strchr("\" \t;,", name[n]);
		}
		*p = name + strcspn(name, ";,");
	}
	return same;
}

bool request_accepts_version(const char *value, const char *what, const char *version)
{
	size_t n = strlen(what);

	while (value) {
		value = skip_blank(value);
		if (strncasecmp(value, what, n) == 0 && strchr(" \t;,", value[n])) {
			value += n;
			if (version_is(&value, version) && quality_positive(value))
				return true;
		}
		value = strchr(value, ',');
		if (value)
			value++;
	}
	return false;
}

bool request_accepts_zstd(const char *value)
{
	return request_accepts(value, "zstd");
}

/*
 * Read the digits at *P, at most 19, and move *P behind them. Return false if there are none or
 * more.
 */
static bool range_number(const char **p, uint64_t *value)
{
	char text[20];
	size_t n = strspn(*p, "0123456789");

	if (n == 0 || n > 19)
		return false;
	while (n > 1 && **p == '0')
		(*p)++, n--;
	memcpy(text, *p, n);
	text[n] = '\0';
	*p += n;
	return quantity_whole(text, UINT64_MAX, value);
}

bool request_range_parse(const char *value, struct request_range *range)
{
	bool has_first, has_last;
	uint64_t a = 0, b = 0;
	const char *p;

	if (!value || strncasecmp(value, "bytes", 5) != 0)
		return false;
	p = skip_blank(value + 5);
	if (*p != '=')
		return false;
	p = skip_blank(p + 1);
	has_first = range_number(&p, &a);
	if (*p != '-')
		return false;
	p++;
	has_last = range_number(&p, &b);
	if (*skip_blank(p) || (!has_first && !has_last) || (has_first && has_last && b < a))
		return false;
	*range = (struct request_range){.suffix = !has_first, .first = a, .last = has_last ? b : UINT64_MAX};
	return true;
}

enum range_status request_range(const char *value, uint64_t total, uint64_t *first, uint64_t *last)
{
	struct request_range range;

	if (!request_range_parse(value, &range))
		return RANGE_NONE;
	if (range.suffix ? range.last == 0 || total == 0 : range.first >= total)
		return RANGE_UNSATISFIABLE;
	*first = !range.suffix ? range.first : range.last >= total ? 0 : total - range.last;
	*last = !range.suffix && range.last < total ? range.last : total - 1;
	return RANGE_PART;
}

bool request_etag_matches(const char *value, const char *etag)
{
	size_t n = strlen(etag);

	while (value && *(value = skip_blank(value))) {
		if (*value == '*')
			return true;
		if (strncmp(value, "W/", 2) == 0)
			value += 2;
		if (strncmp(value, etag, n) == 0 && strchr(" \t,", value[n]))
			return true;
		value = strchr(value, ',');
		if (value)
			value++;
	}
	return false;
}
