/*
 * Cache responses to GET requests until an archive changes.
 *
 * A response is cached only if it depends on nothing but the archives and the request. Each entry
 * has the whole key, not only its hash, so two requests never share an entry by accident. The
 * number of entries and their bytes are limited.
 */
#ifndef SERVE_RESPONSE_CACHE_H
#define SERVE_RESPONSE_CACHE_H

#include <microhttpd.h>

#include "memtraces-reader.h"
#include "reader.h"
#include "request.h"
#include "scopes.h"

#define RESPONSE_CACHE_ENTRIES 256u
#define RESPONSE_CACHE_BYTES   (16u << 20)
#define RESPONSE_BYTES_MOST    (1u << 20) /* a longer body is not cached */
#define RESPONSE_KEY_MAX       (REQUEST_TARGET_MAX + REQUEST_QUERIES_MAX + REQUEST_SEGMENTS_MAX + 8u + SCOPES_TEXT_MAX)

/* The state of both archives from which an answer was made. */
struct archive_state {
	struct reader_version traces;
	struct memtraces_version profiles;
	bool has_profiles; /* a memory profile was ever recorded */
};

/* Everything else on which the answer depends. */
struct response_key {
	size_t bytes;
	char text[RESPONSE_KEY_MAX];
};

struct response_entry {
	char *key; /* owned; NULL = the entry is free */
	size_t key_bytes, bytes;
	struct MHD_Response *response; /* one reference, owned */
};

struct response_cache {
	struct archive_state state; /* state of the archives for all entries */
	size_t bytes;		    /* bytes of all keys and bodies; at most RESPONSE_CACHE_BYTES */
	struct response_entry entries[RESPONSE_CACHE_ENTRIES];
};

/* Release all entries. */
void response_cache_clear(struct response_cache *c);

/*
 * Set *STATE to the state of the archives. Return false if one of them cannot be read now. If no
 * memory profile was ever recorded, that archive does not exist; HAS_PROFILES is then false.
 */
bool archive_state_read(struct reader *traces, struct memtraces_reader *profiles, struct archive_state *state);
bool archive_state_equal(const struct archive_state *a, const struct archive_state *b);

/*
 * Set *KEY for the request R. ZSTD: the client accepts zstd. HTTP10: the request is HTTP/1.0. SEES is
 * the text of the scopes if they hide a guest, else "".
 */
void response_key_make(struct response_key *key, const struct request *r, bool zstd, bool http10, const char *sees);

/*
 * Return the response for KEY in STATE, or NULL. Borrowed until the next call. If STATE differs
 * from the cache's state, the cache is cleared.
 */
struct MHD_Response *response_cache_find(struct response_cache *c, const struct archive_state *state,
					 const struct response_key *key);

/*
 * Store RESPONSE for KEY in STATE. Its body of BYTES is in memory. The caller's reference is taken
 * over, also if the response is not stored.
 */
void response_cache_add(struct response_cache *c, const struct archive_state *state, const struct response_key *key,
			struct MHD_Response *response, size_t bytes);

#endif
