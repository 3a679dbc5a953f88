/*
 * Live objects of a profile without tree and selection, by id.
 *
 * Such a profile only needs an object's samples, and whether the object is in the minor heap. Nearly
 * all objects have one sample, so two bits describe them. The *window* has two bits for each of the
 * latest ids, at the place that the id gives. Objects with more samples and objects with older ids
 * are in a struct mem_live.
 */
#ifndef TRACE_MEM_WINDOW_H
#define TRACE_MEM_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem-live.h"

/*
 * Number of ids in the window: 256 KiB, which fits a cache. A program rarely keeps an object for more
 * allocations than that.
 */
#define MEM_WINDOW_IDS (1u << 20)
/* The window moves by blocks of this many ids. */
#define MEM_WINDOW_BLOCK       (1u << 14)
#define MEM_WINDOW_BLOCKS      (MEM_WINDOW_IDS / MEM_WINDOW_BLOCK)
#define MEM_WINDOW_WORD_IDS    32u /* ids in a word of BITS */
#define MEM_WINDOW_BLOCK_WORDS (MEM_WINDOW_BLOCK / MEM_WINDOW_WORD_IDS)

/* The two bits of an id. */
enum mem_window_bits {
	MEM_WINDOW_NONE = 0,  /* no object, or an object in OTHERS */
	MEM_WINDOW_MINOR = 1, /* an object with one sample in the minor heap */
	MEM_WINDOW_MAJOR = 2, /* an object with one sample elsewhere */
};

struct mem_window {
	uint64_t *bits; /* two bits of each id in the window; a multiple of 32 begins a word */
	uint64_t end;	/* the window has the MEM_WINDOW_IDS ids before END, a multiple of MEM_WINDOW_BLOCK */
	uint64_t used;	/* bit I: block I of BITS may have bits that are not 0 */
	struct mem_live others;
	uint64_t n_others;
	int64_t top; /* upper bound of the ids in OTHERS */
};

_Static_assert(MEM_WINDOW_BLOCKS == 64, "USED has a bit for each block");

/* Make an empty window. SEED is that of struct mprof_mem_options. Return false without memory. */
bool mem_window_init(struct mem_window *w, uint64_t seed);
void mem_window_deinit(struct mem_window *w);
/* Remove all objects. */
void mem_window_clear(struct mem_window *w);

/*
 * Move the window so that it has ID, a later id than all in the window. Return false without memory;
 * then the window may have moved a part of the way.
 */
bool mem_window_move(struct mem_window *w, int64_t id);
/* Add ID, which no live object has, to OTHERS. Return false without memory, with nothing changed. */
bool mem_window_add_other(struct mem_window *w, int64_t id, uint64_t samples, bool minor);
/* As mem_window_find() and mem_window_remove() of an object in OTHERS. */
struct mem_object *mem_window_find_other(struct mem_window *w, int64_t id);
void mem_window_remove_other(struct mem_window *w, struct mem_object *object);

static inline bool mem_window_has(const struct mem_window *w, int64_t id)
{
	return w->end - 1 - (uint64_t)id < MEM_WINDOW_IDS;
}

/* Return true when ID is later than all ids in the window. */
static inline bool mem_window_is_later(const struct mem_window *w, int64_t id)
{
	return (int64_t)((uint64_t)id - w->end) >= 0;
}

static inline uint64_t *mem_window_word(const struct mem_window *w, int64_t id)
{
	return &w->bits[(uint64_t)id % MEM_WINDOW_IDS / MEM_WINDOW_WORD_IDS];
}

/* Number of the lower of the id's two bits in its word. */
static inline unsigned int mem_window_shift(int64_t id)
{
	return (unsigned int)((uint64_t)id % MEM_WINDOW_WORD_IDS * 2);
}

static inline enum mem_window_bits mem_window_get(const struct mem_window *w, int64_t id)
{
	if (!mem_window_has(w, id))
		return MEM_WINDOW_NONE;
	return (enum mem_window_bits)(*mem_window_word(w, id) >> mem_window_shift(id) & 3);
}

/* Change the bits of ID, which is in the window, by those of CHANGE. */
static inline void mem_window_flip(struct mem_window *w, int64_t id, uint64_t change)
{
	*mem_window_word(w, id) ^= change << mem_window_shift(id);
}

/* Return true when a live object has ID. */
static inline bool mem_window_is_live(struct mem_window *w, int64_t id)
{
	if (mem_window_get(w, id))
		return true;
	return w->n_others && id <= w->top && mem_window_find_other(w, id);
}

/* Add an object with an ID that no live object has. Return false without memory. */
static inline bool mem_window_add(struct mem_window *w, int64_t id, uint64_t samples, bool minor)
{
	if (mem_window_is_later(w, id) && !mem_window_move(w, id))
		return false;
	if (samples != 1 || !mem_window_has(w, id))
		return mem_window_add_other(w, id, samples, minor);
	w->used |= (uint64_t)1 << (uint64_t)id / MEM_WINDOW_BLOCK % MEM_WINDOW_BLOCKS;
	mem_window_flip(w, id, minor ? MEM_WINDOW_MINOR : MEM_WINDOW_MAJOR);
	return true;
}

/*
 * Move the live object ID out of the minor heap. Return its samples, or 0 when there is no such object
 * in the minor heap.
 */
static inline uint64_t mem_window_promote(struct mem_window *w, int64_t id)
{
	enum mem_window_bits bits = mem_window_get(w, id);
	struct mem_object *object;

	if (bits) {
		if (bits == MEM_WINDOW_MAJOR)
			return 0;
		mem_window_flip(w, id, MEM_WINDOW_MINOR ^ MEM_WINDOW_MAJOR);
		return 1;
	}
	object = mem_window_find_other(w, id);
	if (!object || !object->minor)
		return 0;
	object->minor = false;
	return object->samples;
}

/*
 * Remove the live object ID. Return its samples, or 0 when there is no such object. *MINOR becomes
 * true when the object was in the minor heap.
 */
static inline uint64_t mem_window_remove(struct mem_window *w, int64_t id, bool *minor)
{
	enum mem_window_bits bits = mem_window_get(w, id);
	struct mem_object *object;
	uint64_t samples;

	*minor = bits == MEM_WINDOW_MINOR;
	if (bits) {
		mem_window_flip(w, id, bits);
		return 1;
	}
	object = mem_window_find_other(w, id);
	if (!object)
		return 0;
	*minor = object->minor;
	samples = object->samples;
	mem_window_remove_other(w, object);
	return samples;
}

#endif
