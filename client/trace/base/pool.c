#include "pool.h"

static struct grow *piece_at(const struct pool *p, uint32_t i)
{
	return (struct grow *)p->pieces.items + i;
}

/* Room in one more piece, or in the last one up to its end; false without memory. */
static bool more(struct pool *p, size_t size)
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
	/* Behind a whole piece there is likely to be another. */
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
		if (!more(p, size))
			return false;
	return true;
}

void pool_deinit(struct pool *p)
{
	uint32_t i;

	for (i = 0; i < p->pieces.n; i++)
		grow_deinit(piece_at(p, i));
	grow_deinit(&p->pieces);
	*p = (struct pool){0};
}

uint64_t pool_memory(const struct pool *p, size_t size)
{
	uint64_t bytes = (uint64_t)p->pieces.room * sizeof(struct grow);
	uint32_t i;

	for (i = 0; i < p->pieces.n; i++)
		bytes += (uint64_t)piece_at(p, i)->room * size;
	return bytes;
}
