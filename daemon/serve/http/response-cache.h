/*
 * Responses to GET requests, kept until an archive changes.
 *
 * A response is kept only if the archives and the request determine all of it. Each entry holds the
 * whole key, so no two requests can share an entry by their hash. The cache is bounded in entries
 * and in bytes.
 */
#ifndef SERVE_RESPONSE_CACHE_H
#define SERVE_RESPONSE_CACHE_H

#include <microhttpd.h>

#include "memtraces-reader.h"
#include "reader.h"
#include "request.h"

#define RESPONSE_CACHE_ENTRIES 256u
#define RESPONSE_CACHE_BYTES   (16u << 20)
#define RESPONSE_BYTES_MOST    (1u << 20) /* a longer body is not kept */
#define RESPONSE_KEY_MAX       (REQUEST_TARGET_MAX + REQUEST_QUERIES_MAX + REQUEST_SEGMENTS_MAX + 8u)

/* The state of both archives that an answer was made from. */
struct archive_state {
	struct reader_version traces;
	struct memtraces_version profiles;
	bool has_profiles; /* a memory profile was ever recorded */
};

/* Everything else that the answer depends on. */
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
	struct archive_state state; /* of all entries */
	size_t bytes;		    /* of all keys and bodies; at most RESPONSE_CACHE_BYTES */
	struct response_entry entries[RESPONSE_CACHE_ENTRIES];
};

/* Release all entries. */
void response_cache_clear(struct response_cache *c);

/*
 * Read the archives' STATE. False: one of them cannot be read now. A host that recorded no memory
 * profile has none of these; that is a state too.
 */
bool archive_state_read(struct reader *traces, struct memtraces_reader *profiles, struct archive_state *state);
bool archive_state_equal(const struct archive_state *a, const struct archive_state *b);

/* Make the key of R, and of the flags that its headers set: ZSTD is accepted, HTTP10. */
void response_key_make(struct response_key *key, const struct request *r, bool zstd, bool http10);

/*
 * Find the response to KEY in STATE, or NULL. Borrowed until the next call. A STATE other than that
 * of the entries clears the cache.
 */
struct MHD_Response *response_cache_find(struct response_cache *c, const struct archive_state *state,
					 const struct response_key *key);

/*
 * Keep RESPONSE, whose body of BYTES bytes lies in memory, for KEY in STATE. Take over the caller's
 * reference, also if the response is not kept.
 */
void response_cache_add(struct response_cache *c, const struct archive_state *state, const struct response_key *key,
			struct MHD_Response *response, size_t bytes);

#endif
