/*
 * Growing arrays.
 *
 * A small array is on the heap and grows by a quarter, so at most a fifth of the room is unused.
 * From LARGE_MIN on an array reserves addresses for LARGE_MAX bytes, never moves again, and grows
 * in small steps. On systems without such reservations every array stays on the heap.
 *
 * Invariant: HELD is 0 for an array on the heap, and the number of usable bytes of a large array.
 */
#include "grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GROW_FIRST	 64u   /* items */
#define GROW_FIRST_BYTES 4096u /* largest room for GROW_FIRST items at first, bytes */
#define GROW_PART	 4u
#define GROW_LARGE_PART	 512u
#define GROW_MAX	 (UINT32_MAX - 1)

static bool on_heap(struct grow *g, size_t size, uint64_t room)
{
	void *items;

	if (room > SIZE_MAX / size)
		return false;
	items = realloc(g->items, (size_t)room * size);
	if (!items)
		return false;
	g->items = items;
	g->room = (uint32_t)room;
	return true;
}

static bool resize(struct grow *g, size_t size, uint64_t room)
{
	size_t held;

	if (room > LARGE_MAX / size)
		return false;
	held = large_resize(g->items, g->held, (size_t)room * size);
	if (held / size < room)
		return false;
	g->held = held;
	g->room = held / size < GROW_MAX ? (uint32_t)(held / size) : GROW_MAX;
	return true;
}

/*
 * Move the array from the heap to reserved addresses. Return false, with nothing changed, when no
 * addresses can be reserved.
 */
static bool become_large(struct grow *g, size_t size, uint64_t room)
{
	struct grow large = {.n = g->n};

	large.items = large_reserve();
	if (!large.items)
		return false;
	if (!resize(&large, size, room)) {
		large_release(large.items);
		return false;
	}
	if (g->n)
		memcpy(large.items, g->items, g->n * size);
	free(g->items);
	*g = large;
	return true;
}

bool grow_reserve(struct grow *g, size_t size, uint32_t extra)
{
	uint64_t need = (uint64_t)g->n + extra, room;
	uint32_t first;

	if (need <= g->room)
		return true;
	if (need > GROW_MAX)
		return false;
	first = size > GROW_FIRST_BYTES / GROW_FIRST ? GROW_FIRST_BYTES / (uint32_t)size + 1 : GROW_FIRST;
	room = (uint64_t)g->room + g->room / (g->held ? GROW_LARGE_PART : GROW_PART) + first;
	room = room < need ? need : room > GROW_MAX ? GROW_MAX : room;
	if (g->held)
		return resize(g, size, room);
	if (room >= LARGE_MIN / size && become_large(g, size, need))
		return true;
	return on_heap(g, size, room);
}

void grow_expect(struct grow *g, size_t size, uint32_t extra)
{
	uint64_t need = (uint64_t)g->n + extra;

	if (need <= g->room || need > GROW_MAX)
		return;
	if (g->held)
		resize(g, size, need);
	else if (need < LARGE_MIN / size || !become_large(g, size, need))
		on_heap(g, size, need);
}

bool grow_zeroed(struct grow *g, size_t size, uint32_t n)
{
	size_t used = g->held;

	if (!grow_reserve(g, size, n))
		return false;
	/* New memory of a large array is zero. */
	used = !g->held || used > n * size ? n * size : used;
	if (used)
		memset(g->items, 0, used);
	g->n = n;
	return true;
}

void grow_pass(struct grow *from, struct grow *to, size_t size)
{
	if (from->held) {
		grow_deinit(to);
		*to = (struct grow){.items = from->items, .held = from->held};
		to->room = to->held / size < GROW_MAX ? (uint32_t)(to->held / size) : GROW_MAX;
		*from = (struct grow){0};
	}
	grow_deinit(from);
}

void grow_trim(struct grow *g, size_t size)
{
	void *items;

	if (!g->n || g->n == g->room)
		return;
	if (g->held) {
		resize(g, size, g->n);
		return;
	}
	items = realloc(g->items, g->n * size);
	if (!items)
		return; /* keep the unused room */
	g->items = items;
	g->room = g->n;
}

void grow_deinit(struct grow *g)
{
	if (g->held)
		large_release(g->items);
	else
		free(g->items);
	*g = (struct grow){0};
}

/* ---- large arrays ---- */

/*
 * Large arrays.
 *
 * An array that grows on the heap is copied from time to time, needs both places during the copy,
 * and leaves unused room. Addresses cost nothing, so a large array reserves all its addresses at
 * once and gets memory in pieces of PIECE bytes as it grows. Memory that comes page by page, at the
 * first access to each page, takes half as long again.
 *
 * The array does not ask for huge pages: they are faster, but a virtual machine with free page
 * reporting returns unused memory to its host and pays for each huge page again, several times the
 * saved time.
 *
 * WebAssembly has one memory that only grows and 32-bit addresses: there all arrays stay on the
 * heap.
 */

#if defined(__linux__) && SIZE_MAX > UINT32_MAX

#include <sys/mman.h>

#define PIECE ((size_t)256 << 10)

static size_t round_up(size_t bytes)
{
	return (bytes + PIECE - 1) / PIECE * PIECE;
}

void *large_reserve(void)
{
	void *p = mmap(NULL, LARGE_MAX, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool more(char *from, size_t bytes)
{
	if (mprotect(from, bytes, PROT_READ | PROT_WRITE) != 0)
		return false;
#ifdef MADV_POPULATE_WRITE
	/* Optional: without it, the first access to a page gets the page. */
	madvise(from, bytes, MADV_POPULATE_WRITE);
#endif
	return true;
}

/*
 * Make BYTES bytes from FROM on unusable. Mapping the range anew, unlike mprotect(), releases the
 * memory and the system's commitment. Return false on failure.
 */
static bool less(char *from, size_t bytes)
{
	return mmap(from, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) !=
	       MAP_FAILED;
}

size_t large_resize(void *p, size_t held, size_t bytes)
{
	size_t wanted = round_up(bytes);

	if (wanted < bytes || wanted > LARGE_MAX)
		return held;
	if (wanted > held && !more((char *)p + held, wanted - held))
		return held;
	if (wanted < held && !less((char *)p + wanted, held - wanted))
		return held;
	return wanted;
}

void large_release(void *p)
{
	munmap(p, LARGE_MAX);
}

#else

void *large_reserve(void)
{
	return NULL;
}

size_t large_resize(void *p, size_t held, size_t bytes)
{
	(void)p;
	(void)bytes;
	return held;
}

void large_release(void *p)
{
	(void)p;
}

#endif

/* ---- arrays in pieces ---- */

static struct grow *piece_at(const struct pool *p, uint32_t i)
{
	return (struct grow *)p->pieces.items + i;
}

/*
 * Make room for at least one more item: extend the last piece, or add a piece if that one is full.
 * Return false without memory.
 */
static bool piece_more(struct pool *p, size_t size)
{
	uint32_t at = p->room >> POOL_SHIFT;
	struct grow *piece;

	if (at == p->pieces.n) {
		piece = grow_add(&p->pieces, sizeof(*piece));
		if (!piece)
			return false;
		*piece = (struct grow){0};
	}
	piece = piece_at(p, at);
	/* After a full piece, another full one is likely. */
	if (!grow_reserve(piece, size, at ? POOL_PIECE - piece->n : piece->room - piece->n + 1))
		return false;
	p->room = at * POOL_PIECE + (piece->room < POOL_PIECE ? piece->room : POOL_PIECE);
	return true;
}

bool pool_reserve(struct pool *p, size_t size, uint32_t extra)
{
	if (extra > UINT32_MAX - 1 - p->n)
		return false;
	while (p->room - p->n < extra)
		if (!piece_more(p, size))
			return false;
	return true;
}

void pool_deinit(struct pool *p)
{
	for (uint32_t i = 0; i < p->pieces.n; i++)
		grow_deinit(piece_at(p, i));
	grow_deinit(&p->pieces);
	*p = (struct pool){0};
}

uint64_t pool_memory(const struct pool *p, size_t size)
{
	uint64_t bytes = (uint64_t)p->pieces.room * sizeof(struct grow);

	for (uint32_t i = 0; i < p->pieces.n; i++)
		bytes += (uint64_t)piece_at(p, i)->room * size;
	return bytes;
}
