/* A growing array of at most 2^32 - 2 items: an index has 32 bits, and MPROF_NONE is no index. */
#ifndef TRACE_GROW_H
#define TRACE_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: an empty array. */
struct grow {
	void *items;
	uint32_t n;
	uint32_t room;
	size_t held; /* usable bytes of a large array (below); 0 for an array on the heap */
};

/*
 * Reserve room for EXTRA more items of SIZE bytes. Return false without memory, with nothing
 * changed.
 */
bool grow_reserve(struct grow *g, size_t size, uint32_t extra);
/*
 * Reserve room for exactly EXTRA more items of SIZE bytes. It is only a hint: without memory
 * nothing changes.
 */
void grow_expect(struct grow *g, size_t size, uint32_t extra);
/* Set an empty array to N zeroed items of SIZE bytes. Return false without memory. */
bool grow_zeroed(struct grow *g, size_t size, uint32_t n);
/* Release unused room. */
void grow_trim(struct grow *g, size_t size);
/*
 * If FROM is a large array, give its memory to the empty array TO, whose items have SIZE bytes;
 * else free it. FROM becomes empty.
 */
void grow_pass(struct grow *from, struct grow *to, size_t size);
void grow_deinit(struct grow *g);

/*
 * Append an item of SIZE bytes, not cleared. The caller has reserved room. Return the item, valid
 * until the next reservation.
 */
static inline void *grow_take(struct grow *g, size_t size)
{
	return (char *)g->items + size * g->n++;
}

/* As grow_take(), but reserve the room. Return NULL without memory. */
static inline void *grow_add(struct grow *g, size_t size)
{
	return g->n < g->room || grow_reserve(g, size, 1) ? grow_take(g, size) : NULL;
}

/* ---- large arrays ---- */

/*
 * Memory of one large array that grows in place: its addresses are reserved at first, and memory is
 * added behind its end as the array grows.
 */

/* Smallest large array, bytes. Smaller arrays are cheaper on the heap. */
#define LARGE_MIN ((size_t)2 << 20)

/* Largest large array, bytes. */
#define LARGE_MAX ((size_t)1 << (sizeof(size_t) == 8 ? 38 : 30))

/*
 * Reserve addresses for LARGE_MAX bytes, none of them usable yet. Return NULL when the system
 * cannot; the caller then uses the heap.
 */
void *large_reserve(void);
/*
 * Change the number of usable bytes at P from HELD to BYTES. New bytes are zero. Return the number
 * of usable bytes: HELD if there is no memory.
 */
size_t large_resize(void *p, size_t held, size_t bytes);
void large_release(void *p);

/* ---- arrays in pieces ---- */

/*
 * An array in pieces. A full piece never moves, so growing does not copy it and needs no contiguous
 * memory.
 */

/*
 * With items of up to 2,000 bytes a piece is smaller than LARGE_MIN and so on the heap. If each
 * piece were a large array, the pieces would use up the addresses.
 */
#define POOL_SHIFT 10u
#define POOL_PIECE (1u << POOL_SHIFT) /* items in a piece */

/* Zeroed: an empty pool. */
struct pool {
	struct grow pieces; /* struct grow, POOL_PIECE items in each but the last */
	uint32_t n;
	uint32_t room; /* number of items with memory */
};

/*
 * Reserve room for EXTRA more items of SIZE bytes. Return false without memory, with nothing
 * changed. Items of the last piece may move.
 */
bool pool_reserve(struct pool *p, size_t size, uint32_t extra);
void pool_deinit(struct pool *p);
uint64_t pool_memory(const struct pool *p, size_t size);

static inline void *pool_at(const struct pool *p, size_t size, uint32_t i)
{
	return (char *)((const struct grow *)p->pieces.items)[i >> POOL_SHIFT].items + size * (i % POOL_PIECE);
}

/* Append an item of SIZE bytes, not cleared. The caller has reserved room. Return the item. */
static inline void *pool_take(struct pool *p, size_t size)
{
	((struct grow *)p->pieces.items)[p->n >> POOL_SHIFT].n++;
	return pool_at(p, size, p->n++);
}

#endif
