/* The strings of a trace, each stored once, in bounded memory. */
#ifndef TRACE_TEXTS_H
#define TRACE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_NONE      UINT32_MAX
#define TEXT_CONSTANTS 64u

struct text {
	uint64_t hash;
	uint32_t offset, len;
};

struct texts {
	struct text *list;
	uint32_t n, room, most;
	char *arena;
	uint32_t used, arena_room, arena_most;
	uint32_t *index; /* hash table of the strings' numbers, open addressing; TEXT_NONE = free; owned */
	uint32_t index_room;
	uint64_t seed;	  /* random seed of the hash; odd */
	uint64_t refused; /* number of calls that added nothing because of the limits */
};

/*
 * Allow at most MOST strings, and at most BYTES bytes of all strings together. SEED is secret, so that no trace can be written
 * whose strings collide.
 */
void texts_init(struct texts *t, uint32_t most, uint32_t bytes, uint64_t seed);
void texts_deinit(struct texts *t);

/*
 * Return the number of the string TEXT of LEN bytes, and store the string if it is new. Equal
 * strings get the same number. Return TEXT_NONE beyond the limits or without memory.
 */
uint32_t texts_add(struct texts *t, const char *text, size_t len);

/*
 * The same in two steps, for a caller that knows several strings in advance: return the hash of a
 * string and fetch its place into the cache, then add the string by its hash.
 */
uint64_t texts_prepare(const struct texts *t, const char *text, size_t len);
uint32_t texts_add_hashed(struct texts *t, const char *text, size_t len, uint64_t hash);
/* Numbers of some constants, by their addresses. Set it to zero at first. */
struct text_constants {
	const char *at[TEXT_CONSTANTS];
	uint32_t number[TEXT_CONSTANTS];
};

/* As texts_add(). TEXT is a constant; it is mostly found by its address. */
uint32_t texts_add_constant(struct texts *t, struct text_constants *c, const char *text);

/* Return string I, which has *LEN bytes. The pointer is valid until the next texts_add(). */
const char *texts_get(const struct texts *t, uint32_t i, size_t *len);

#endif
