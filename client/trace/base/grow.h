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

/* ---- large arrays ---- */

/* Memory for one large array that grows in place, where the system can promise addresses without giving memory. */

/* Smaller ones are better off on the heap. */
#define LARGE_MIN ((size_t)2 << 20)

/* An array of more bytes than that is refused. */
#define LARGE_MAX ((size_t)1 << (sizeof(size_t) == 8 ? 38 : 30))

/* Addresses for LARGE_MAX bytes, none of which can be used yet.  NULL where the system has none to give: then the heap must do. */
void *large_reserve(void);
/* Room for BYTES bytes at P instead of HELD: how many there are now, or HELD without memory.  What is new is zero. */
size_t large_resize(void *p, size_t held, size_t bytes);
void large_release(void *p);

/* ---- arrays in pieces ---- */

/*
 * Items named by numbers, in pieces: never moved once a piece is full, so that many grow at the cost of no more than what they take, and without
 * a place for all of them in one.
 */

/* A piece of items of up to 2000 bytes stays on the heap: a large array has addresses that many pieces would use up. */
#define POOL_SHIFT 10u
#define POOL_PIECE (1u << POOL_SHIFT) /* items */

/* Zeroed it is empty. */
struct pool {
	struct grow pieces; /* struct grow, POOL_PIECE items in each but the last */
	uint32_t n;
	uint32_t room; /* up to this item there is room */
};

/* Room for EXTRA items of SIZE bytes more; false without memory, with nothing changed.  The last items may move. */
bool pool_reserve(struct pool *p, size_t size, uint32_t extra);
void pool_deinit(struct pool *p);
uint64_t pool_memory(const struct pool *p, size_t size);

static inline void *pool_at(const struct pool *p, size_t size, uint32_t i)
{
	return (char *)((const struct grow *)p->pieces.items)[i >> POOL_SHIFT].items + size * (i % POOL_PIECE);
}

/* One more item, not cleared, for which room was reserved. */
static inline void *pool_take(struct pool *p, size_t size)
{
	((struct grow *)p->pieces.items)[p->n >> POOL_SHIFT].n++;
	return pool_at(p, size, p->n++);
}

#endif
