/* A domain's stacks and names on their way into a stream: what mem-stack.h and mem-codes.h read. */
#ifndef TRACE_MEM_ENCODE_STACK_H
#define TRACE_MEM_ENCODE_STACK_H

#include <mprof/memtrace.h>

#include "mem-codes.h"
#include "mem-stack.h"

/* What the codewords of one stack have at most. */
#define MEM_ENCODE_WORDS_MAX 4096u

struct mem_encode_domain {
	uint32_t *codes; /* by bucket: the index of the code stored there and 1, or 0 */
	uint16_t *next;	 /* by bucket: that followed it last time */
	uint32_t *frames;
	uint32_t n, room; /* of FRAMES, the stack told last */
	struct mem_names names;
	uint32_t probes; /* packets that said what stands in a bucket */
	bool begun;	 /* it had a packet of events */
	uint16_t number; /* the stream's */
};

/* NULL without memory. */
struct mem_encode_domain *mem_encode_domain_new(uint16_t number);
/* Takes NULL too; returns NULL. */
struct mem_encode_domain *mem_encode_domain_free(struct mem_encode_domain *d);

struct mem_encode_words {
	uint8_t bytes[MEM_ENCODE_WORDS_MAX + 16];
	size_t n_bytes;
	uint32_t n;	 /* codewords */
	uint32_t prefix; /* frames as before */
};

/*
 * The stack of N codes, and behind it LAST unless that is MPROF_NONE, as codewords; VALUE says which address a code is.  0 or -ENOMEM.
 */
int mem_encode_stack(struct mem_encode_domain *d, const uint32_t *stack, uint32_t n, uint32_t last,
		     uint64_t (*value)(const void *data, uint32_t code), const void *data,
		     struct mem_encode_words *words);

/* The index of a file's or a function's name (of the file that came last), 31 where it is new to the reader. */
int mem_encode_file(struct mem_names *names, uint32_t name);
uint32_t mem_encode_function(struct mem_names *names, uint32_t name);

#endif
