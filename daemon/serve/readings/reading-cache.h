/*
 * The files in which readings outlive the server (schema/reading.md). Nobody else writes to the directory, and still
 * each file is checked: a wrong one is as a missing one.
 */
#ifndef SERVE_READING_CACHE_H
#define SERVE_READING_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_KEY_BYTES	 32u
#define CACHE_FILES_MOST 4096u

struct reading_cache {
	int directory; /* owned; -1 = nothing is kept */
	unsigned writes;
	uint64_t bytes; /* of all files, when they were listed last, and of those that were written since */
};

/* Open the cache in the directory PATH; NULL = keep nothing. Return 0 or -errno; C is usable in both cases. */
int reading_cache_open(struct reading_cache *c, const char *path);
void reading_cache_close(struct reading_cache *c);

/* Read the file of KEY. Return a reading of *BYTES bytes, which the caller frees; NULL = there is none. */
uint8_t *reading_cache_get(const struct reading_cache *c, const uint8_t key[CACHE_KEY_BYTES], size_t *bytes);
/*
 * Write READING, of BYTES bytes, to the file of KEY, and now and then delete the oldest files. Return 0 or -errno. A
 * process that is killed meanwhile leaves no part of a file under its name.
 */
int reading_cache_put(struct reading_cache *c, const uint8_t key[CACHE_KEY_BYTES], const uint8_t *reading,
		      size_t bytes);

#endif
