/*
 * Interned strings.
 *
 * Why: a trace repeats few texts very often (`gntref`, names of tasks), and comparing two of them is then comparing two numbers.
 *
 * Invariant: string 0 is the empty one once any was asked for, so that a text that does not fit has something to be.
 */
#include "intern.h"

#include <string.h>

void intern_init(struct intern *s, uint64_t seed)
{
	*s = (struct intern){0};
	map_init(&s->map, seed);
}

void intern_deinit(struct intern *s)
{
	grow_deinit(&s->list);
	grow_deinit(&s->arena);
	map_deinit(&s->map);
}

static uint64_t hash(const struct intern *s, const char *text, size_t bytes)
{
	uint64_t h = map_mix(bytes, s->map.seed), word;

	for (; bytes >= 8; text += 8, bytes -= 8) {
		memcpy(&word, text, 8);
		h = map_mix(h ^ word, s->map.seed);
	}
	if (!bytes)
		return h;
	word = 0;
	memcpy(&word, text, bytes);
	return map_mix(h ^ word, s->map.seed);
}

static bool equal(const struct intern *s, uint32_t i, const char *text, size_t bytes)
{
	return intern_at(s, i)->bytes == bytes && (!bytes || !memcmp(intern_text(s, i), text, bytes));
}

static uint32_t append(struct intern *s, uint64_t key, const char *text, size_t bytes)
{
	struct mprof_string *string;

	if (!map_reserve(&s->map, 1) || !grow_reserve(&s->list, sizeof(*string), 1) ||
	    !grow_reserve(&s->arena, 1, (uint32_t)bytes))
		return MPROF_NONE;
	string = grow_take(&s->list, sizeof(*string));
	*string = (struct mprof_string){.offset = s->arena.n, .bytes = (uint32_t)bytes};
	if (bytes)
		memcpy((char *)s->arena.items + s->arena.n, text, bytes);
	s->arena.n += (uint32_t)bytes;
	map_put(&s->map, key, s->list.n - 1);
	return s->list.n - 1;
}

uint32_t intern_add(struct intern *s, const char *text, size_t bytes)
{
	uint64_t key = hash(s, text, bytes);
	uint32_t i;

	if (!s->list.n && append(s, hash(s, "", 0), "", 0) == MPROF_NONE)
		return MPROF_NONE;
	while ((i = map_get(&s->map, key)) != MPROF_NONE) {
		if (equal(s, i, text, bytes))
			return i;
		key++;
	}
	if (bytes > UINT32_MAX - 1 - s->arena.n) {
		s->lost++;
		return 0;
	}
	return append(s, key, text, bytes);
}
