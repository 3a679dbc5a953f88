/*
 * An index from thread ids to numbers that the caller chooses.
 *
 * A recorder numbers the threads that it creates in ascending order. So an array holds the ids
 * from the first created id on. The array has at most a few elements for each id. A hash table
 * holds all other ids.
 */
#ifndef TRACE_ID_INDEX_H
#define TRACE_ID_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#define ID_INDEX_NONE UINT32_MAX

struct id_entry {
	int64_t id;
	uint32_t number; /* ID_INDEX_NONE = free */
};

struct id_index {
	uint32_t *array; /* numbers of the ids from FIRST on, ID_INDEX_NONE = none */
	uint32_t array_room;
	bool begun; /* an id was created, and FIRST is set */
	int64_t first;
	uint32_t n;		    /* ids put, also repeated ones */
	struct id_entry *hash;	    /* open addressing */
	uint32_t hash_n, hash_room; /* room is a power of two, or 0 */
	uint64_t factor;	    /* odd, and unknown to the writer of the trace */
};

/* Initialize X. SEED is secret, so the writer of a trace cannot choose ids that collide. */
void id_index_init(struct id_index *x, uint64_t seed);
void id_index_deinit(struct id_index *x);

/* Make room for MORE ids. Return false without memory. */
bool id_index_reserve(struct id_index *x, uint32_t more);
/*
 * Map ID to NUMBER, and replace an older number. Call id_index_reserve() first. CREATED: the
 * trace contains the creation of the thread ID.
 */
void id_index_put(struct id_index *x, int64_t id, uint32_t number, bool created);
/* Remove all ids. */
void id_index_clear(struct id_index *x);

/* Return the number of ID in the hash table, or ID_INDEX_NONE. */
uint32_t id_index_find_hashed(const struct id_index *x, int64_t id);

/* Return the number of ID, or ID_INDEX_NONE. */
static inline uint32_t id_index_find(const struct id_index *x, int64_t id)
{
	uint64_t at = (uint64_t)id - (uint64_t)x->first;

	if (at < x->array_room && x->array[at] != ID_INDEX_NONE)
		return x->array[at];
	return id_index_find_hashed(x, id);
}

#endif
