/*
 * Growing arrays.
 *
 * Why by a quarter and not by double: a fifth of the room is then the most that lies idle.  Where memory can be moved without
 * copying, as large blocks can, growing more often costs next to nothing.
 */
#include "grow.h"

#include <stdlib.h>

#define GROW_FIRST 64u
#define GROW_PART  4u
#define GROW_MAX   (UINT32_MAX - 1)

bool grow_reserve(struct grow *g, size_t size, uint32_t extra)
{
	uint64_t need = (uint64_t)g->n + extra, room = (uint64_t)g->room + g->room / GROW_PART + GROW_FIRST;
	void *items;

	if (need <= g->room)
		return true;
	if (need > GROW_MAX)
		return false;
	room = room < need ? need : room > GROW_MAX ? GROW_MAX : room;
	if (room > SIZE_MAX / size)
		return false;
	items = realloc(g->items, (size_t)room * size);
	if (!items)
		return false;
	g->items = items;
	g->room = (uint32_t)room;
	return true;
}

void grow_trim(struct grow *g, size_t size)
{
	void *items;

	if (!g->n || g->n == g->room)
		return;
	items = realloc(g->items, g->n * size);
	if (!items)
		return; /* it stays as large as it is */
	g->items = items;
	g->room = g->n;
}

void grow_deinit(struct grow *g)
{
	free(g->items);
	*g = (struct grow){0};
}
