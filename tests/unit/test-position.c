/*
 * The parsers of mprofd-http that work before the archive is read: positions, request targets,
 * headers and routes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "position.h"
#include "quantity.h"
#include "request.h"
#include "routes.h"
#include "tar.h"

static void test_positions(void)
{
	static const char *const bad[] = {"",
					  "1",
					  "1.0.0",
					  "1.0.0.30.1",
					  "1.0.0.30 ",
					  " 1.0.0.30",
					  "01.0.0.30",
					  "1.00.0.30",
					  "0.0.0.30",
					  "1.0.0.29",
					  "-1.0.0.30",
					  "1.0.0.",
					  ".0.0.30",
					  "1.4294967296.0.30",
					  "1.0.9223372036854775808.30",
					  "1.0.0.+30",
					  "1.0.0.0x20",
					  "1,0,0,30",
					  "9223372036854775808.0.0.30",
					  "1.0.0.268435457",
					  "1.0.0.99999999999999999999999999"};
	struct position p;
	char text[POSITION_TEXT];

	CHECK(position_parse(&p, "9223372036854775807.4294967295.9223372036854775807.268435456"));
	position_format(&p, text);
	CHECK_EQ_STR(text, "9223372036854775807.4294967295.9223372036854775807.268435456");
	CHECK(position_parse(&p, "7.1.4711.30"));
	CHECK_EQ_INT(p.run, 7);
	CHECK_EQ_UINT(p.stream, 1);
	CHECK_EQ_UINT(p.sequence, 4711);
	CHECK_EQ_UINT(p.offset, 30);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!CHECK(!position_parse(&p, bad[i])))
			fprintf(stderr, "taken: %s\n", bad[i]);
}

static void test_numbers(void)
{
	uint64_t v = 1;

	CHECK(quantity_whole("18446744073709551615", UINT64_MAX, &v));
	CHECK_EQ_UINT(v, UINT64_MAX);
	CHECK(quantity_whole("0", 9, &v) && v == 0);
	CHECK(!quantity_whole("18446744073709551616", UINT64_MAX, &v));
	CHECK(!quantity_whole("10", 9, &v));
	CHECK(!quantity_whole("", 9, &v));
	CHECK(!quantity_whole("1 ", 9, &v));
}

static void test_targets(void)
{
	static struct request r;
	char *text = malloc(REQUEST_TARGET_MAX + 3);

	CHECK_EQ_INT(request_parse(&r, "/"), REQUEST_OK);
	CHECK_EQ_UINT(r.n_segments, 0);
	CHECK_EQ_INT(request_parse(&r, "/a%2Fb/c+d/?x=1%262&y&&z=+"), REQUEST_OK);
	CHECK_EQ_UINT(r.n_segments, 3);
	CHECK_EQ_STR(r.segments[0], "a/b");
	CHECK_EQ_STR(r.segments[1], "c+d");
	CHECK_EQ_STR(r.segments[2], "");
	CHECK_EQ_STR(request_query(&r, "x"), "1&2");
	CHECK_EQ_STR(request_query(&r, "y"), "");
	CHECK_EQ_STR(request_query(&r, "z"), " ");
	CHECK_EQ_STR(request_query(&r, "w"), NULL);
	CHECK_EQ_INT(request_parse(&r, "a"), REQUEST_BAD);
	CHECK_EQ_INT(request_parse(&r, ""), REQUEST_BAD);
	CHECK_EQ_INT(request_parse(&r, "/%"), REQUEST_BAD);
	CHECK_EQ_INT(request_parse(&r, "/%0"), REQUEST_BAD);
	CHECK_EQ_INT(request_parse(&r, "/%00"), REQUEST_BAD);
	CHECK_EQ_INT(request_parse(&r, "/%ff"), REQUEST_BAD);
	CHECK_EQ_INT(request_parse(&r, "/%c3%a9"), REQUEST_OK);
	CHECK_EQ_INT(request_parse(&r, "/%ed%a0%80"), REQUEST_BAD);
	CHECK_EQ_INT(request_parse(&r, "/1/2/3/4/5/6/7/8/9"), REQUEST_BAD);
	/* As many query parameters as allowed, and then one more. */
	CHECK_EQ_INT(request_parse(&r, "/?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p"), REQUEST_OK);
	CHECK_EQ_UINT(r.n_queries, REQUEST_QUERIES_MAX);
	CHECK_EQ_STR(request_query(&r, "p"), "");
	CHECK_EQ_INT(request_parse(&r, "/?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q"), REQUEST_BAD);
	memset(text, 'a', REQUEST_TARGET_MAX + 2);
	text[0] = '/';
	text[REQUEST_TARGET_MAX + 1] = '\0';
	CHECK_EQ_INT(request_parse(&r, text), REQUEST_TOO_LONG);
	text[REQUEST_TARGET_MAX] = '\0';
	CHECK_EQ_INT(request_parse(&r, text), REQUEST_OK);
	free(text);
}

static void test_hosts(void)
{
	CHECK(request_host_ok("LocalHost:80", NULL) && request_host_ok("[::1]", NULL) &&
	      request_host_ok("dom0:1", "dom0"));
	CHECK(!request_host_ok(NULL, "dom0") && !request_host_ok("", "dom0") && !request_host_ok("dom0", NULL) &&
	      !request_host_ok("dom00", "dom0") && !request_host_ok("dom0:123456", "dom0") &&
	      !request_host_ok("localhost@evil", "dom0") && !request_host_ok("", ""));
	CHECK(!request_host_ok("localhostX", NULL) && !request_host_ok("localhost8", NULL) &&
	      !request_host_ok("localhost.80", NULL) && !request_host_ok("127.0.0.11", NULL) &&
	      !request_host_ok("localhost:8a", NULL) && request_host_ok("localhost:65535", NULL));
	CHECK(request_origin_ok("http://127.0.0.1:8080", "http://", "127.0.0.1:8080") &&
	      request_origin_ok("HTTP://Dom0", "http://", "dom0"));
	CHECK(request_origin_ok("http://[::1]:8080", "http://", "[::1]:8080") &&
	      request_origin_ok("http://localhost", "http://", "localhost:80"));
	CHECK(request_origin_ok("http://localhost:80", "http://", "localhost") &&
	      !request_origin_ok("http://:80", "http://", ":80"));
	CHECK(!request_origin_ok("https://dom0", "http://", "dom0") &&
	      !request_origin_ok("http://localhost:8081", "http://", "localhost:8080"));
	CHECK(!request_origin_ok("http://localhost", "http://", "localhost:8080") &&
	      !request_origin_ok("http://localhost:8080", "http://", "localhost"));
	CHECK(!request_origin_ok("http://127.0.0.1:8080", "http://", "localhost:8080") &&
	      !request_origin_ok("http://a:80", "http://", "a:8080"));
	CHECK(!request_origin_ok("null", "http://", "null") &&
	      !request_origin_ok("http://127.0.0.1.evil", "http://", "127.0.0.1") &&
	      !request_origin_ok("file://localhost", "http://", "localhost") &&
	      !request_origin_ok("http://", "http://", "localhost") &&
	      !request_origin_ok("http://localhost", "http://", NULL) && !request_origin_ok("http://", "http://", ""));
	CHECK(request_origin_ok("https://dom0:7443", "https://", "dom0:7443") &&
	      request_origin_ok("https://dom0", "https://", "dom0:443"));
	CHECK(!request_origin_ok("http://dom0:7443", "https://", "dom0:7443") &&
	      !request_origin_ok("https://dom0:80", "https://", "dom0") &&
	      !request_origin_ok("https://dom0", "http://", "dom0"));
}

static void test_encodings(void)
{
	static const struct {
		const char *value;
		bool accepted;
	} versions[] = {
		{"a/b", true},
		{"A/B;version=1.0.0", true},
		{"a/b; charset=utf-8 ; version=\"1.0.0\" ;q=0.5", true},
		{"a/b;version=0.0.1;q=0.75,text/plain;q=0.5,a/b;version=1.0.0;q=0.2", true},
		{"a/b;x=;;", true},
		{"a/b;version=1.0.0;q=0", false},
		{"a/b;version=1.0.01", false},
		{"a/b;version=0.0.1,a/bc", false},
		{"a/b;version=", false},
		{"*/*", false},
		{"", false},
		{NULL, false},
	};

	CHECK(request_accepts_zstd("zstd") && request_accepts_zstd("gzip, ZSTD ; q=0.001") &&
	      request_accepts_zstd("zstd;q=1"));
	CHECK(!request_accepts_zstd(NULL) && !request_accepts_zstd("") && !request_accepts_zstd("zstd;q=0") &&
	      !request_accepts_zstd("zstd;q=0.000") && !request_accepts_zstd("zstdx") && !request_accepts_zstd("*") &&
	      !request_accepts_zstd("zstd;x=1"));
	CHECK(request_accepts("application/json, text/html", "text/html") && !request_accepts("*/*", "text/html") &&
	      !request_accepts("text/html;q=0", "text/html"));
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		CHECK_EQ_INT(request_accepts_version(versions[i].value, "a/b", "1.0.0"), versions[i].accepted);
	CHECK(request_etag_matches("\"a\"", "\"a\"") && request_etag_matches("\"b\", W/\"a\"", "\"a\"") &&
	      request_etag_matches("*", "\"a\""));
	CHECK(!request_etag_matches(NULL, "\"a\"") && !request_etag_matches("\"ab\"", "\"a\"") &&
	      !request_etag_matches("a", "\"a\""));
}

static void test_ranges(void)
{
	uint64_t a = 0, b = 0;

	CHECK_EQ_INT(request_range("bytes=0-0", 10, &a, &b), RANGE_PART);
	CHECK(a == 0 && b == 0);
	CHECK_EQ_INT(request_range("bytes=-3", 10, &a, &b), RANGE_PART);
	CHECK(a == 7 && b == 9);
	CHECK_EQ_INT(request_range("bytes=4-18446744073709551615", 10, &a, &b), RANGE_NONE);
	CHECK_EQ_INT(request_range("bytes=4-9223372036854775807", 10, &a, &b), RANGE_PART);
	CHECK(a == 4 && b == 9);
	for (unsigned last = 8; last <= 11; last++) {
		char text[32];

		snprintf(text, sizeof(text), "bytes=4-%u", last);
		CHECK_EQ_INT(request_range(text, 10, &a, &b), RANGE_PART);
		CHECK(a == 4 && b == (last < 9 ? last : 9));
	}
	CHECK_EQ_INT(request_range("bytes=10-", 10, &a, &b), RANGE_UNSATISFIABLE);
	CHECK_EQ_INT(request_range("bytes=-0", 10, &a, &b), RANGE_UNSATISFIABLE);
	CHECK_EQ_INT(request_range("bytes=0-", 0, &a, &b), RANGE_UNSATISFIABLE);
	CHECK_EQ_INT(request_range("bytes=0-1,3-4", 10, &a, &b), RANGE_NONE);
	CHECK_EQ_INT(request_range("bytes=-", 10, &a, &b), RANGE_NONE);
	CHECK_EQ_INT(request_range("items=0-1", 10, &a, &b), RANGE_NONE);
}

static void test_routes(void)
{
	static struct request r;
	const struct route *route;
	const char *parameter;
	char allow[64];

	request_parse(&r, "/v1/domains/a%2Fb/trace?stream=1&run=2");
	route = route_find(&api_routes, &r, &parameter);
	if (!CHECK(route != NULL))
		return;
	CHECK_EQ_STR(route->path, "/v1/domains/{domain}/trace");
	CHECK_EQ_STR(parameter, "a/b");
	CHECK_EQ_STR(route_unknown_query(route, &r), NULL);
	request_parse(&r, "/v1/domains/a/trace?stream=1&strea=2");
	CHECK_EQ_STR(route_unknown_query(route, &r), "strea");
	request_parse(&r, "/v1/domains/a/trace?run=1&run=1");
	CHECK_EQ_STR(route_unknown_query(route, &r), "run");
	request_parse(&r, "/v1/domains/a/trace?=1");
	CHECK_EQ_STR(route_unknown_query(route, &r), "");
	request_parse(&r, "/v1/captures/3");
	route = route_find(&api_routes, &r, &parameter);
	if (CHECK(route != NULL)) {
		route_allow(route, allow);
		CHECK_EQ_STR(allow, "GET, HEAD, PATCH, DELETE");
	}
	request_parse(&r, "/v1/captures/");
	CHECK(!route_find(&api_routes, &r, &parameter));
}

static void test_tar_header(void)
{
	char block[TAR_BLOCK];
	unsigned sum = 0;

	tar_header(block, "web/metadata", 0123, 1);
	CHECK_EQ_STR(block, "web/metadata");
	CHECK_EQ_STR(block + 124, "00000000123");
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : (unsigned char)block[i];
	CHECK_EQ_UINT(strtoul(block + 148, NULL, 8), sum);
	tar_header(block, "x", 1ull << 40, 1);
	CHECK_EQ_INT((unsigned char)block[124], 0x80);
	CHECK_EQ_INT(block[130], 1);
	CHECK_EQ_UINT(tar_padding(0) + tar_padding(512), 0);
	CHECK_EQ_UINT(tar_padding(1), 511);
}

int main(void)
{
	CHECK_RUN(test_positions);
	CHECK_RUN(test_numbers);
	CHECK_RUN(test_targets);
	CHECK_RUN(test_hosts);
	CHECK_RUN(test_encodings);
	CHECK_RUN(test_ranges);
	CHECK_RUN(test_routes);
	CHECK_RUN(test_tar_header);
	return check_done();
}
