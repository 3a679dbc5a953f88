/*
 * Fuzz the parsers of HTTP requests. The input has lines with the target, Host, Origin,
 * Accept-Encoding, Range, If-None-Match and a position. Results must refer only to bytes of the
 * input's copy. A position that is accepted must be the same when it is written and parsed again.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "position.h"
#include "request.h"
#include "routes.h"

static void check_text(const struct request *r, const char *text)
{
	require(text >= r->text && text + strlen(text) < r->text + sizeof(r->text));
}

static void try_target(const char *target)
{
	static struct request r;
	const struct route *route;
	const char *parameter, *foreign;
	char allow[64];

	if (request_parse(&r, target) != REQUEST_OK)
		return;
	require(target[0] == '/' && r.n_segments <= REQUEST_SEGMENTS_MAX && r.n_queries <= REQUEST_QUERIES_MAX);
	for (size_t i = 0; i < r.n_segments; i++)
		check_text(&r, r.segments[i]);
	for (size_t i = 0; i < r.n_queries; i++) {
		require(request_query(&r, r.queries[i].key) != NULL);
		if (*r.queries[i].value)
			check_text(&r, r.queries[i].value);
	}
	route = route_find(&api_routes, &r, &parameter);
	if (!route)
		return;
	require((parameter != NULL) == (strchr(route->path, '{') != NULL) && (!parameter || *parameter));
	foreign = route_unknown_query(route, &r);
	if (foreign)
		check_text(&r, foreign);
	route_allow(route, allow);
	require(strlen(allow) < sizeof(allow) && *allow);
}

static void try_headers(const char *host, const char *origin, const char *encoding, const char *etag)
{
	bool ok = request_host_ok(host, "dom0");

	require(!ok || strlen(host) <= strlen("localhost:65535") + 1);
	require(!request_origin_ok(origin, "http://", host) || strlen(origin) > strlen("http://"));
	require(!request_accepts_zstd(encoding) || strlen(encoding) >= 4);
	require(!request_accepts_version(encoding, "zstd", "1.0.0") || strlen(encoding) >= 4);
	require(!request_etag_matches(etag, "\"0-0\"") || strchr(etag, '*') || strstr(etag, "\"0-0\""));
}

static void try_range(const char *range)
{
	static const uint64_t totals[] = {0, 1, 4096, UINT64_MAX};
	uint64_t first, last;

	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
		if (request_range(range, totals[i], &first, &last) == RANGE_PART)
			require(first <= last && last < totals[i]);
}

static void try_position(const char *text)
{
	struct position p;
	char again[POSITION_TEXT];

	if (!position_parse(&p, text))
		return;
	position_format(&p, again);
	require(strcmp(text, again) == 0); /* there is only one way to write a position */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *next = text, *lines[7];

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t i = 0; i < 7; i++) {
		char *line = strsep(&next, "\n");

		lines[i] = line ? line : text + strlen(text);
	}
	try_target(lines[0]);
	try_headers(lines[1], lines[2], lines[3], lines[5]);
	try_range(lines[4]);
	try_position(lines[6]);
	free(text);
	return 0;
}
