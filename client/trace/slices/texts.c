/*
 * A table of distinct strings. It grows up to its limits, and counts the strings that do not fit.
 */
#include <stdlib.h>
#include <string.h>

#include "texts.h"

void texts_init(struct texts *t, uint32_t most, uint32_t bytes, uint64_t seed)
{
	*t = (struct texts){.most = most, .arena_most = bytes, .seed = seed | 1};
}

void texts_deinit(struct texts *t)
{
	free(t->list);
	free(t->arena);
	free(t->index);
	*t = (struct texts){0};
}

/*
 * Return the hash of a text. The hash is mixed with a secret seed, because otherwise a guest
 * could choose strings that collide.
 */
static uint64_t hash_of(const struct texts *t, const char *text, size_t len)
{
	uint64_t hash = t->seed ^ len, word;

	for (; len; text += sizeof(word), len -= sizeof(word)) {
		word = 0;
		memcpy(&word, text, len < sizeof(word) ? len : sizeof(word));
		hash = (hash ^ word) * 0xff51afd7ed558ccdu;
		hash = (hash ^ hash >> 32) * t->seed;
		hash ^= hash >> 29;
		if (len <= sizeof(word))
			break;
	}
	hash *= 0xc4ceb9fe1a85ec53u;
	return hash ^ hash >> 29;
}

static uint32_t *slot(const struct texts *t, uint64_t hash, const char *text, size_t len)
{
	uint32_t i = (uint32_t)hash & (t->index_room - 1);

	for (; t->index[i] != TEXT_NONE; i = (i + 1) & (t->index_room - 1)) {
		const struct text *at = &t->list[t->index[i]];

		if (at->hash == hash && at->len == len && memcmp(t->arena + at->offset, text, len) == 0)
			break;
	}
	return &t->index[i];
}

/* Double the room of the list and its index. */
static bool grow_list(struct texts *t)
{
	uint32_t room = t->room ? t->room * 2 : 64, at;
	struct text *list = realloc(t->list, room * sizeof(*list));
	uint32_t *index;

	if (!list)
		return false;
	t->list = list;
	index = malloc(room * 2 * sizeof(*index));
	if (!index)
		return false;
	memset(index, 0xff, room * 2 * sizeof(*index));
	for (uint32_t i = 0; i < t->n; i++) {
		for (at = (uint32_t)list[i].hash & (room * 2 - 1); index[at] != TEXT_NONE;)
			at = (at + 1) & (room * 2 - 1);
		index[at] = i;
	}
	free(t->index);
	t->index = index;
	t->index_room = room * 2;
	t->room = room;
	return true;
}

static bool grow_arena(struct texts *t, size_t len)
{
	uint64_t room = t->arena_room ? t->arena_room : 4096;
	char *arena;

	while (room < (uint64_t)t->used + len)
		room *= 2;
	if (room == t->arena_room)
		return true;
	arena = realloc(t->arena, (size_t)room);
	if (!arena)
		return false;
	t->arena = arena;
	t->arena_room = (uint32_t)room;
	return true;
}

uint64_t texts_prepare(const struct texts *t, const char *text, size_t len)
{
	uint64_t hash = hash_of(t, text, len);

	if (t->index_room)
		__builtin_prefetch(&t->index[(uint32_t)hash & (t->index_room - 1)]);
	return hash;
}

uint32_t texts_add(struct texts *t, const char *text, size_t len)
{
	return texts_add_hashed(t, text, len, hash_of(t, text, len));
}

uint32_t texts_add_hashed(struct texts *t, const char *text, size_t len, uint64_t hash)
{
	uint32_t *at = t->index_room ? slot(t, hash, text, len) : NULL;

	if (at && *at != TEXT_NONE)
		return *at;
	if (t->n == t->most || len > t->arena_most - t->used || (t->n == t->room && !grow_list(t)) ||
	    !grow_arena(t, len)) {
		t->refused++;
		return TEXT_NONE;
	}
	memcpy(t->arena + t->used, text, len);
	t->list[t->n] = (struct text){.hash = hash, .offset = t->used, .len = (uint32_t)len};
	t->used += (uint32_t)len;
	*slot(t, hash, text, len) = t->n;
	return t->n++;
}

uint32_t texts_add_constant(struct texts *t, struct text_constants *c, const char *text)
{
	uint64_t at = ((uintptr_t)text * 0x9e3779b97f4a7c15u) >> 58;
	uint32_t number;

	if (c->at[at] == text)
		return c->number[at];
	number = texts_add(t, text, strlen(text));
	if (number != TEXT_NONE) {
		c->at[at] = text;
		c->number[at] = number;
	}
	return number;
}

const char *texts_get(const struct texts *t, uint32_t i, size_t *len)
{
	*len = t->list[i].len;
	return t->arena + t->list[i].offset;
}
