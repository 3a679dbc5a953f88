/*
 * Plain events of a packet, many at once: what almost all of a sound stream is.  Anything else is left to mem_events_next(), which is right for all of them.
 */
#ifndef TRACE_MEM_BATCH_H
#define TRACE_MEM_BATCH_H

#include "mem-decoder.h"
#include "mem-tree.h"

/* So many are in the cache still when they are counted. */
#define MEM_BATCH 64u

/* An event once its stack is a node: what can be put off until it is its turn. */
struct mem_record {
	uint64_t time_us;
	int64_t id;
	uint64_t samples; /* from here on of an alloc */
	uint64_t length;
	uint64_t number; /* of allocs before it */
	uint32_t node;
	uint8_t kind;
	uint8_t source;
	bool left_out;
};

/*
 * The next events of the open packet of D into RECORDS, at most MEM_BATCH, their stacks into TREE unless it is NULL, ALLOCS of all allocs so far counted
 * on.  *N becomes how many; fewer than MEM_BATCH, or 0: the next one is to be asked for with mprof_mem_next().  MPROF_OK or MPROF_NOMEM.
 */
enum mprof_status mem_batch_read(struct mprof_mem *d, struct mem_tree *tree, struct mem_record *records,
				 uint64_t *allocs, uint32_t *n);

#endif
