/*
 * id_index_find() looks at the array first, then at the hash table. So an id may keep an old
 * entry in the hash table after the array has grown to include the id: the new number is in the
 * array.
 */
#include <stdlib.h>
#include <string.h>

#include "id-index.h"

#define ARRAY_FIRST	1024u
#define HASH_FIRST	64u
#define PLACES_FOR_EACH 4u /* most places of the array for each id */

void id_index_init(struct id_index *x, uint64_t seed)
{
	*x = (struct id_index){.factor = seed | 1};
}

void id_index_deinit(struct id_index *x)
{
	free(x->array);
	free(x->hash);
	x->array = NULL;
	x->hash = NULL;
	x->array_room = x->hash_room = 0;
}

static struct id_entry *slot(const struct id_index *x, int64_t id)
{
	uint32_t i = (uint32_t)(((uint64_t)id * x->factor) >> (64 - __builtin_ctz(x->hash_room)));

	while (x->hash[i].number != ID_INDEX_NONE && x->hash[i].id != id)
		i = (i + 1) & (x->hash_room - 1);
	return &x->hash[i];
}

uint32_t id_index_find_hashed(const struct id_index *x, int64_t id)
{
	return x->hash_n ? slot(x, id)->number : ID_INDEX_NONE;
}

bool id_index_reserve(struct id_index *x, uint32_t more)
{
	struct id_index old = *x;
	size_t bytes;

	if (x->hash_room && x->hash_n + more <= x->hash_room / 2)
		return true;
	x->hash_room = x->hash_room ? x->hash_room : HASH_FIRST;
	while (x->hash_n + more > x->hash_room / 2)
		x->hash_room *= 2;
	bytes = x->hash_room * sizeof(*x->hash);
	x->hash = malloc(bytes);
	if (!x->hash) {
		*x = old;
		return false;
	}
	memset(x->hash, 0xff, bytes);
	for (uint32_t i = 0; i < old.hash_room; i++)
		if (old.hash[i].number != ID_INDEX_NONE)
			*slot(x, old.hash[i].id) = old.hash[i];
	free(old.hash);
	return true;
}

/*
 * Grow the array to include index AT. Return false if AT is too large for the number of ids, or
 * without memory.
 */
static bool array_reaches(struct id_index *x, uint64_t at)
{
	uint32_t room = x->array_room ? x->array_room : ARRAY_FIRST;
	uint32_t *array;

	if (at < x->array_room)
		return true;
	if (!x->begun || at >= (uint64_t)x->n * PLACES_FOR_EACH + ARRAY_FIRST || at >= UINT32_MAX / 2)
		return false;
	while (room <= at)
		room *= 2;
	array = realloc(x->array, room * sizeof(*array));
	if (!array)
		return false;
	memset(array + x->array_room, 0xff, (room - x->array_room) * sizeof(*array));
	x->array = array;
	x->array_room = room;
	return true;
}

void id_index_put(struct id_index *x, int64_t id, uint32_t number, bool created)
{
	struct id_entry *entry;
	uint64_t at;

	if (created && !x->begun) {
		x->begun = true;
		x->first = id;
	}
	x->n++;
	at = (uint64_t)id - (uint64_t)x->first;
	if (array_reaches(x, at)) {
		x->array[at] = number;
		return;
	}
	entry = slot(x, id);
	x->hash_n += entry->number == ID_INDEX_NONE;
	*entry = (struct id_entry){.id = id, .number = number};
}

/*
 * The recorder goes on counting its threads. So the next created id becomes the first of a new
 * array.
 */
void id_index_clear(struct id_index *x)
{
	free(x->array);
	x->array = NULL;
	x->array_room = 0;
	x->begun = false;
	if (x->hash_room)
		memset(x->hash, 0xff, x->hash_room * sizeof(*x->hash));
	x->n = x->hash_n = 0;
}
