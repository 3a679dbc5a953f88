/* See kept.h. */
#include "kept.h"

#include <stdlib.h>

#include "grow.h"

struct kept {
	struct grow pieces; /* uint8_t *, all full but the last */
	uint64_t bytes;
};

struct kept *kept_new(void)
{
	return calloc(1, sizeof(struct kept));
}

struct kept *kept_free(struct kept *k)
{
	uint8_t **pieces;

	if (!k)
		return NULL;
	pieces = k->pieces.items;
	for (uint32_t i = 0; i < k->pieces.n; i++)
		free(pieces[i]);
	grow_deinit(&k->pieces);
	free(k);
	return NULL;
}

size_t kept_room_bytes(const struct kept *k)
{
	return KEPT_PIECE_BYTES - (size_t)(k->bytes % KEPT_PIECE_BYTES);
}

uint8_t *kept_room(struct kept *k)
{
	uint64_t piece = k->bytes / KEPT_PIECE_BYTES;
	uint8_t *new;

	if (piece == k->pieces.n) {
		if (!grow_reserve(&k->pieces, sizeof(new), 1))
			return NULL;
		new = malloc(KEPT_PIECE_BYTES);
		if (!new)
			return NULL;
		*(uint8_t **)grow_take(&k->pieces, sizeof(new)) = new;
	}
	return ((uint8_t **)k->pieces.items)[piece] + k->bytes % KEPT_PIECE_BYTES;
}

void kept_came(struct kept *k, size_t n)
{
	k->bytes += n;
}

uint64_t kept_bytes(const struct kept *k)
{
	return k->bytes;
}

const uint8_t *kept_at(const struct kept *k, uint64_t at, size_t *n)
{
	size_t within = (size_t)(at % KEPT_PIECE_BYTES), left = KEPT_PIECE_BYTES - within;

	*n = k->bytes - at < left ? (size_t)(k->bytes - at) : left;
	return ((uint8_t **)k->pieces.items)[at / KEPT_PIECE_BYTES] + within;
}
