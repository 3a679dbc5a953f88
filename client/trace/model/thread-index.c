/*
 * The index of thread ids.
 *
 * Why pages: a recorder counts its ids up, so that the threads of one moment are neighbours.  Sixteen ids share a cache line, a few lines
 * are remembered, and the map is asked about once in sixteen threads.  Crafted ids, each in a page of its own, cost 64 bytes and a
 * step in a seeded map for each event that names them, and no more.
 */
#include "thread-index.h"

#include <stdlib.h>
#include <string.h>

struct thread_index *thread_index_new(uint64_t seed)
{
	struct thread_index *ix = calloc(1, sizeof(*ix));
	size_t i;

	if (!ix)
		return NULL;
	map_init(&ix->map, seed);
	for (i = 0; i < INDEX_RECENT; i++)
		ix->recent[i].page = MPROF_NONE;
	return ix;
}

struct thread_index *thread_index_free(struct thread_index *ix)
{
	if (!ix)
		return NULL;
	map_deinit(&ix->map);
	grow_deinit(&ix->pages);
	free(ix);
	return NULL;
}

bool thread_index_reserve(struct thread_index *ix, uint32_t n)
{
	return (ix->pages.room - ix->pages.n >= n || grow_reserve(&ix->pages, sizeof(struct thread_index_page), n)) &&
	       map_reserve(&ix->map, n);
}

static uint32_t page_of(struct thread_index *ix, uint64_t key)
{
	uint32_t page = map_get(&ix->map, key);

	if (page != MPROF_NONE)
		return page;
	memset(grow_take(&ix->pages, sizeof(struct thread_index_page)), 0xff, sizeof(struct thread_index_page));
	page = ix->pages.n - 1;
	map_put(&ix->map, key, page);
	return page;
}

uint32_t *thread_index_slot(struct thread_index *ix, int64_t id)
{
	uint64_t key = (uint64_t)id >> INDEX_PAGE_BITS;
	size_t at = key % INDEX_RECENT;

	if (ix->recent[at].page == MPROF_NONE || ix->recent[at].key != key) {
		ix->recent[at].page = page_of(ix, key);
		ix->recent[at].key = key;
	}
	return &((struct thread_index_page *)ix->pages.items)[ix->recent[at].page].threads[(uint64_t)id % INDEX_PAGE];
}

uint64_t thread_index_memory(const struct thread_index *ix)
{
	return sizeof(*ix) + (uint64_t)ix->pages.room * sizeof(struct thread_index_page) +
	       (uint64_t)ix->map.room * sizeof(struct map_entry);
}
