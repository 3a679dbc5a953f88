/* Cache responses to GET requests until an archive changes. */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "cleanup.h"
#include "response-cache.h"

static void entry_clear(struct response_cache *c, struct response_entry *e)
{
	if (!e->key)
		return;
	c->bytes -= e->key_bytes + e->bytes;
	free(e->key);
	MHD_destroy_response(e->response); /* connections that are sending it have references of their own */
	*e = (struct response_entry){0};
}

void response_cache_clear(struct response_cache *c)
{
	for (size_t i = 0; i < RESPONSE_CACHE_ENTRIES; i++)
		entry_clear(c, &c->entries[i]);
}

bool archive_state_read(struct reader *traces, struct memtraces_reader *profiles, struct archive_state *state)
{
	int rc;

	*state = (struct archive_state){0};
	rc = memtraces_version(profiles, &state->profiles);
	state->has_profiles = rc == 0;
	return (rc == 0 || rc == ARCHIVE_E_ABSENT) && reader_version(traces, &state->traces) == 0;
}

bool archive_state_equal(const struct archive_state *a, const struct archive_state *b)
{
	return a->traces.commits == b->traces.commits && a->traces.archives == b->traces.archives &&
	       a->has_profiles == b->has_profiles && a->profiles.commits == b->profiles.commits &&
	       a->profiles.archives == b->profiles.archives;
}

/*
 * Append TEXT and its NUL to the key. TEXT has no NUL inside, so two different keys never get the
 * same bytes.
 */
static void key_put(struct response_key *key, const char *text)
{
	size_t n = strlen(text) + 1;

	memcpy(key->text + key->bytes, text, n);
	key->bytes += n;
}

void response_key_make(struct response_key *key, const struct request *r, bool zstd, bool http10, const char *sees)
{
	key->text[0] = (char)('A' + (zstd ? 1 : 0) + (http10 ? 2 : 0));
	key->text[1] = (char)('A' + (int)r->n_segments);
	key->bytes = 2;
	key_put(key, sees);
	for (size_t i = 0; i < r->n_segments; i++)
		key_put(key, r->segments[i]);
	for (size_t i = 0; i < r->n_queries; i++) {
		key_put(key, r->queries[i].key);
		key_put(key, r->queries[i].value);
	}
}

static struct response_entry *entry_of(struct response_cache *c, const struct response_key *key)
{
	return &c->entries[XXH3_64bits(key->text, key->bytes) % RESPONSE_CACHE_ENTRIES];
}

struct MHD_Response *response_cache_find(struct response_cache *c, const struct archive_state *state,
					 const struct response_key *key)
{
	const struct response_entry *e = entry_of(c, key);

	if (!archive_state_equal(&c->state, state)) {
		response_cache_clear(c);
		c->state = *state;
		return NULL;
	}
	if (!e->key || e->key_bytes != key->bytes || memcmp(e->key, key->text, key->bytes) != 0)
		return NULL;
	return e->response;
}

void response_cache_add(struct response_cache *c, const struct archive_state *state, const struct response_key *key,
			struct MHD_Response *response, size_t bytes)
{
	struct response_entry *e = entry_of(c, key);
	char *text = NULL;

	if (bytes <= RESPONSE_BYTES_MOST && archive_state_equal(&c->state, state))
		text = malloc(key->bytes);
	if (!text) {
		MHD_destroy_response(response);
		return;
	}
	entry_clear(c, e);
	if (c->bytes + key->bytes + bytes > RESPONSE_CACHE_BYTES)
		response_cache_clear(c);
	memcpy(text, key->text, key->bytes);
	*e = (struct response_entry){.key = text, .key_bytes = key->bytes, .bytes = bytes, .response = response};
	c->bytes += key->bytes + bytes;
}
