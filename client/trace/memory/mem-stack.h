/* The stacks of one domain: each is told as what differs from the one before, by caches that writer and reader keep alike. */
#ifndef TRACE_MEM_STACK_H
#define TRACE_MEM_STACK_H

#include "mem-bytes.h"
#include "mem-codes.h"

#define MEM_BUCKETS 16384u

struct mem_bucket {
	uint32_t code; /* index of the code stored here */
	uint16_t next; /* the bucket that followed this one last time */
};

struct mem_stack {
	struct mem_bucket *buckets;
	uint32_t *frames; /* the stack told last */
	uint32_t n, room;
	bool lost; /* bytes are missing: the caches are not the writer's any more */
};

enum mem_stack_result {
	MEM_STACK_OK = 0,
	MEM_STACK_TRUNCATED, /* the writer cut this one */
	MEM_STACK_LOST,	     /* no stack is known from here on */
	MEM_STACK_CUT,	     /* the bytes end inside it */
	MEM_STACK_NOMEM,     /* and no stack is known from here on */
};

/* False without memory; deinit it in any case. */
bool mem_stack_init(struct mem_stack *s);
void mem_stack_deinit(struct mem_stack *s);

/*
 * Take N codewords from B, which follow the first PREFIX frames of the stack before.  *COMMON becomes how many first frames are
 * still the same.
 */
enum mem_stack_result mem_stack_read(struct mem_stack *s, struct mem_bytes *b, uint64_t prefix, uint32_t n,
				     struct mem_codes *codes, uint32_t *common);
/* Pass over N codewords; false where the bytes end inside them. */
bool mem_stack_skip(struct mem_bytes *b, uint32_t n);
/* What a packet says of bucket I: that NEXT follows it and CODE is stored in it.  True if so. */
bool mem_stack_check(const struct mem_stack *s, const struct mem_codes *codes, uint16_t i, uint16_t next,
		     uint64_t code);

#endif
