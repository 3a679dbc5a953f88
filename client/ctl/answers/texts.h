/* Strings of a trace, each kept once, in bounded memory. */
#ifndef CTL_TEXTS_H
#define CTL_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_NONE UINT32_MAX

struct text {
	uint64_t hash;
	uint32_t offset, len;
};

struct texts {
	struct text *list;
	uint32_t n, room, most;
	char *arena;
	uint32_t used, arena_room, arena_most;
	uint32_t *index; /* open addressing, TEXT_NONE = free */
	uint32_t index_room;
	uint64_t seed;	  /* of the hashes; odd */
	uint64_t refused; /* strings that there was no room for */
};

/* At most MOST strings, of BYTES in all. */
void texts_init(struct texts *t, uint32_t most, uint32_t bytes);
void texts_deinit(struct texts *t);

/* The number of the string, the same each time; TEXT_NONE where there is no room for it, or no memory. */
uint32_t texts_add(struct texts *t, const char *text, size_t len);
/* Lent until the next one is added. */
const char *texts_get(const struct texts *t, uint32_t i, size_t *len);

#endif
