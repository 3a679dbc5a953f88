/*
 * *Plain* events of a packet, in batches. Nearly all events of a sound stream are plain
 * (mem-batch.c); mem_events_next() handles every other event.
 */
#ifndef TRACE_MEM_BATCH_H
#define TRACE_MEM_BATCH_H

#include "mem-decoder.h"
#include "mem-tree.h"

/* Largest number of events in a batch; a batch stays in the cache until its events are counted. */
#define MEM_BATCH 64u

/*
 * An event that can be counted later without the decoder, because its stack is a node of the tree.
 */
struct mem_record {
	uint64_t time_us;
	int64_t id;
	uint64_t samples; /* this and the following fields are for an alloc only */
	uint64_t length;
	uint64_t number; /* number of allocs before this one */
	uint32_t node;
	uint8_t kind;
	uint8_t source;
	bool left_out;
};

/*
 * Read the next events of M's open packet into RECORDS, at most MEM_BATCH. Add their stacks to
 * TREE, unless it is NULL. *ALLOCS is the number of allocs so far, and is updated. Store the number
 * of events in *N; if it is less than MEM_BATCH, get the next event by mprof_mem_next(). Return
 * MPROF_OK or MPROF_NOMEM.
 */
enum mprof_status mem_batch_read(struct mprof_mem *m, struct mem_tree *tree, struct mem_record *records,
				 uint64_t *allocs, uint32_t *n);

#endif
