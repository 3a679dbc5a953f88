/* An array that grows by what is put in, at most 2^32 - 2 items: its indices are 32 bits and one of them means none. */
#ifndef TRACE_GROW_H
#define TRACE_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed it is empty. */
struct grow {
	void *items;
	uint32_t n;
	uint32_t room;
	size_t held; /* bytes, of a large one (grow.c); 0 on the heap */
};

/* Room for EXTRA items of SIZE bytes more; false without memory, with nothing changed. */
bool grow_reserve(struct grow *g, size_t size, uint32_t extra);
/* The same, and no more than that: for what is known to come.  Without memory nothing changes. */
void grow_expect(struct grow *g, size_t size, uint32_t extra);
/* N items of SIZE bytes, all zero, in an array without items; false without memory. */
bool grow_zeroed(struct grow *g, size_t size, uint32_t n);
/* Give back the room that is not used. */
void grow_trim(struct grow *g, size_t size);
/* Let the empty array TO, of items of SIZE bytes, have the memory of FROM where that is worth it; FROM is empty then. */
void grow_pass(struct grow *from, struct grow *to, size_t size);
void grow_deinit(struct grow *g);

/* One more item of SIZE bytes, not cleared, for which room was reserved.  Lent until the next reservation. */
static inline void *grow_take(struct grow *g, size_t size)
{
	return (char *)g->items + size * g->n++;
}

/* The same where no room was reserved: NULL without memory. */
static inline void *grow_add(struct grow *g, size_t size)
{
	return g->n < g->room || grow_reserve(g, size, 1) ? grow_take(g, size) : NULL;
}

#endif
