/*
 * Growing arrays.
 *
 * Small ones are on the heap and grow by a quarter: a fifth of the room is then the most that lies idle.  From LARGE_MIN on they have addresses
 * enough for all they may become (large.h), never move again, and grow by little at a time; where there is no such thing, they
 * stay on the heap.
 *
 * Invariant: HELD is 0 for an array on the heap, and is the size of what can be used of a large one.
 */
#include "grow.h"

#include <stdlib.h>
#include <string.h>

#include "large.h"

#define GROW_FIRST	 64u   /* items */
#define GROW_FIRST_BYTES 4096u /* but not many more bytes than that */
#define GROW_PART	 4u
#define GROW_LARGE_PART	 16u
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

/* Move from the heap to addresses of its own; false where there are none, with nothing changed. */
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
	/* What is new of a large one comes zeroed from the system. */
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
		return; /* it stays as large as it is */
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
