/* From a guest's thread ids, any 64-bit numbers, to threads. */
#ifndef TRACE_THREAD_INDEX_H
#define TRACE_THREAD_INDEX_H

#include <mprof/model.h>

#include "grow.h"
#include "map.h"

#define INDEX_PAGE_BITS 4u
#define INDEX_PAGE	(1u << INDEX_PAGE_BITS)
#define INDEX_RECENT	64u

/* The threads of so many ids that follow each other. */
struct thread_index_page {
	uint32_t threads[INDEX_PAGE]; /* MPROF_NONE: none yet */
};

struct thread_index {
	struct map map; /* id / INDEX_PAGE to page */
	struct grow pages;
	struct {
		uint64_t key;
		uint32_t page; /* MPROF_NONE: empty */
	} recent[INDEX_RECENT];
};

/* NULL without memory. */
struct thread_index *thread_index_new(uint64_t seed);
struct thread_index *thread_index_free(struct thread_index *ix);
/* Room for N ids more, whatever they are; false without memory. */
bool thread_index_reserve(struct thread_index *ix, uint32_t n);
/* Where the thread of ID stands; room was reserved.  Lent until the next reservation. */
uint32_t *thread_index_slot(struct thread_index *ix, int64_t id);
uint64_t thread_index_memory(const struct thread_index *ix);

#endif
