/* Codes of a memory profile as text: `Function@file.ml:10:3-20`. */
#ifndef CTL_MEM_PLACES_H
#define CTL_MEM_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/memtrace.h>

struct mem_place {
	char *text; /* owned; NULL: not asked for yet */
	size_t bytes;
};

/* The texts of a decoder's codes, made once.  Zeroed it is empty, and its texts are safe for a terminal. */
struct mem_places {
	bool raw; /* names as they are in the profile, for a writer that escapes them itself; stays at deinit */
	struct mem_place *list;
	uint32_t room;
};

void mem_places_deinit(struct mem_places *places);
/*
 * All locations of code I, the outermost first, each behind a blank; ` $NUMBER` where the trace knows none, ` ?NUMBER` where it never said.
 * Lent; NULL without memory.
 */
const struct mem_place *mem_places_at(struct mem_places *places, const struct mprof_mem *d, uint32_t i);

#endif
