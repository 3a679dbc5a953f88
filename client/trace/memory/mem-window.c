/*
 * The window moves when an object with a later id is added. Before a block gets other ids, the objects
 * that still live in it are moved to OTHERS, so the block's bits are 0.
 *
 * Invariant: a block whose bit in USED is 0 has no bits. So a move over any distance, and clearing the
 * window, take no longer than the number of blocks that objects were added to, and MEM_WINDOW_BLOCKS.
 */
#include "mem-window.h"

#include <stdlib.h>
#include <string.h>

bool mem_window_init(struct mem_window *w, uint64_t seed)
{
	*w = (struct mem_window){.top = INT64_MIN};
	mem_live_init(&w->others, seed, false);
	w->bits = calloc(MEM_WINDOW_IDS / MEM_WINDOW_WORD_IDS, sizeof(*w->bits));
	return w->bits;
}

void mem_window_deinit(struct mem_window *w)
{
	mem_live_deinit(&w->others);
	free(w->bits);
	*w = (struct mem_window){0};
}

static uint64_t *block_words(const struct mem_window *w, uint64_t block)
{
	return &w->bits[block * MEM_WINDOW_BLOCK_WORDS];
}

void mem_window_clear(struct mem_window *w)
{
	for (uint64_t i = 0; i < MEM_WINDOW_BLOCKS; i++)
		if (w->used >> i & 1)
			memset(block_words(w, i), 0, MEM_WINDOW_BLOCK_WORDS * sizeof(*w->bits));
	w->end = w->used = w->n_others = 0;
	w->top = INT64_MIN;
	mem_live_deinit(&w->others);
}

bool mem_window_add_other(struct mem_window *w, int64_t id, uint64_t samples, bool minor)
{
	struct mem_object *object = mem_live_add(&w->others, id);

	if (!object)
		return false;
	*object = (struct mem_object){.id = id, .samples = samples, .minor = minor};
	w->n_others++;
	w->top = id > w->top ? id : w->top;
	return true;
}

struct mem_object *mem_window_find_other(struct mem_window *w, int64_t id)
{
	return w->n_others ? mem_live_find(&w->others, id) : NULL;
}

void mem_window_remove_other(struct mem_window *w, struct mem_object *object)
{
	mem_live_remove(&w->others, object);
	w->n_others--;
}

/* Move the objects of *WORD, whose first id is FIRST, to OTHERS. Return false without memory. */
static bool word_empty(struct mem_window *w, uint64_t *word, uint64_t first)
{
	while (*word) {
		unsigned int i = (unsigned int)__builtin_ctzll(*word) / 2;
		uint64_t bits = *word >> 2 * i & 3;

		if (!mem_window_add_other(w, (int64_t)(first + i), 1, bits == MEM_WINDOW_MINOR))
			return false;
		*word &= ~((uint64_t)3 << 2 * i);
	}
	return true;
}

/* Move the objects of BLOCK, whose first id is FIRST, to OTHERS. Return false without memory. */
static bool block_empty(struct mem_window *w, uint64_t block, uint64_t first)
{
	uint64_t *words = block_words(w, block);

	for (uint64_t i = 0; i < MEM_WINDOW_BLOCK_WORDS; i++)
		if (words[i] && !word_empty(w, &words[i], first + i * MEM_WINDOW_WORD_IDS))
			return false;
	w->used &= ~((uint64_t)1 << block);
	return true;
}

bool mem_window_move(struct mem_window *w, int64_t id)
{
	uint64_t end = (uint64_t)id / MEM_WINDOW_BLOCK * MEM_WINDOW_BLOCK + MEM_WINDOW_BLOCK;

	for (uint32_t n = 0; n < MEM_WINDOW_BLOCKS && w->end != end; n++) {
		uint64_t block = w->end / MEM_WINDOW_BLOCK % MEM_WINDOW_BLOCKS;

		if (w->used >> block & 1 && !block_empty(w, block, w->end - MEM_WINDOW_IDS))
			return false;
		w->end += MEM_WINDOW_BLOCK;
	}
	w->end = end;
	return true;
}
