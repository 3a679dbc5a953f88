/* The cache of responses, which are kept until an archive changes. */
#include <string.h>

#include "check.h"
#include "response-cache.h"

static const struct archive_state state = {.traces = {.commits = 5, .archives = 1}};

static struct response_key key_of(const char *target, bool zstd, bool http10)
{
	static struct request r;
	struct response_key key;

	CHECK_EQ_INT(request_parse(&r, target), REQUEST_OK);
	response_key_make(&key, &r, zstd, http10, "");
	return key;
}

static struct MHD_Response *response(void)
{
	static char text[] = "text";

	return MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_PERSISTENT);
}

static void add(struct response_cache *c, const char *target, size_t bytes)
{
	struct response_key key = key_of(target, false, false);

	response_cache_add(c, &state, &key, response(), bytes);
}

static bool has(struct response_cache *c, const struct archive_state *s, const char *target, bool zstd, bool http10)
{
	struct response_key key = key_of(target, zstd, http10);

	return response_cache_find(c, s, &key) != NULL;
}

static void test_keys(void)
{
	static struct response_cache c;

	/* From here on the cache is for STATE. */
	CHECK(!has(&c, &state, "/v1/domains?limit=5", false, false));
	add(&c, "/v1/domains?limit=5", 4);
	CHECK(has(&c, &state, "/v1/domains?limit=5", false, false));
	CHECK(has(&c, &state, "/v1/%64omains?limit=%35", false, false));
	CHECK(!has(&c, &state, "/v1/domains?limit=5", true, false));
	CHECK(!has(&c, &state, "/v1/domains?limit=5", false, true));
	CHECK(!has(&c, &state, "/v1/domains?limit=6", false, false));
	CHECK(!has(&c, &state, "/v1/domains?limit", false, false));
	CHECK(!has(&c, &state, "/v1/domains", false, false));
	CHECK(!has(&c, &state, "/v1/domains/limit/5", false, false));
	CHECK(!has(&c, &state, "/v1/domains/limit?5", false, false));
	CHECK(!has(&c, &state, "/v1%2fdomains?limit=5", false, false));
	response_cache_clear(&c);
	CHECK(!has(&c, &state, "/v1/domains?limit=5", false, false));
	CHECK_EQ_INT(c.bytes, 0);
}

/* If any member of the archives' state changes, the responses are dropped. */
static void test_states(void)
{
	static const struct archive_state others[] = {
		{.traces = {.commits = 6, .archives = 1}},
		{.traces = {.commits = 5, .archives = 2}},
		{.traces = {.commits = 5, .archives = 1}, .has_profiles = true},
		{.traces = {.commits = 5, .archives = 1}, .profiles = {.commits = 1}},
		{.traces = {.commits = 5, .archives = 1}, .profiles = {.archives = 1}},
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		static struct response_cache c;

		CHECK(!has(&c, &state, "/a", false, false));
		add(&c, "/a", 4);
		CHECK(has(&c, &state, "/a", false, false));
		CHECK(!has(&c, &others[i], "/a", false, false));
		add(&c, "/a", 4); /* this response was made from an older state, so it is not kept */
		CHECK(!has(&c, &others[i], "/a", false, false));
		CHECK_EQ_INT(c.bytes, 0);
		response_cache_clear(&c);
	}
}

/* An asker who sees fewer guests gets no answer that was made for somebody else. */
static void test_sees(void)
{
	static const char *const sees[] = {"", "read=web*;context=;write=;metrics=no",
					   "read=web1;context=;write=;metrics=no"};
	static struct response_cache c;
	static struct request r;
	struct response_key keys[3];

	CHECK_EQ_INT(request_parse(&r, "/v1/domains"), REQUEST_OK);
	for (size_t i = 0; i < 3; i++)
		response_key_make(&keys[i], &r, false, false, sees[i]);
	for (size_t i = 0; i < 3; i++) {
		for (size_t k = i; k < 3; k++)
			CHECK(!response_cache_find(&c, &state, &keys[k]));
		response_cache_add(&c, &state, &keys[i], response(), 4);
		CHECK(response_cache_find(&c, &state, &keys[i]) != NULL);
	}
	response_cache_clear(&c);
}

static void test_bounds(void)
{
	static struct response_cache c;
	char target[64];
	bool all = true;

	CHECK(!has(&c, &state, "/a", false, false));
	add(&c, "/a", RESPONSE_BYTES_MOST + 1);
	CHECK(!has(&c, &state, "/a", false, false));
	add(&c, "/a", RESPONSE_BYTES_MOST);
	CHECK(has(&c, &state, "/a", false, false));
	add(&c, "/a", RESPONSE_BYTES_MOST / 2); /* replaces the first response of /a */
	CHECK_EQ_INT(c.bytes, RESPONSE_BYTES_MOST / 2 + 5);
	for (int i = 0; i < 3000; i++) {
		snprintf(target, sizeof(target), "/a?cursor=%d", i);
		add(&c, target, RESPONSE_BYTES_MOST);
		all &= c.bytes <= RESPONSE_CACHE_BYTES && has(&c, &state, target, false, false);
	}
	CHECK(all);
	response_cache_clear(&c);
	CHECK_EQ_INT(c.bytes, 0);
}

int main(void)
{
	test_keys();
	test_sees();
	test_states();
	test_bounds();
	return check_done();
}
