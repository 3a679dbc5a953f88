/*
 * Encoder of a domain's stacks and names. mem-stack.h and mem-codes.h decode what it writes, and
 * describe codewords, buckets and tables of names.
 */
#ifndef TRACE_MEM_ENCODE_STACK_H
#define TRACE_MEM_ENCODE_STACK_H

#include <mprof/memtrace.h>

#include "mem-codes.h"
#include "mem-stack.h"

/* Largest size of the codewords of one stack, bytes. */
#define MEM_ENCODE_WORDS_MAX 4096u

struct mem_encode_domain {
	uint32_t *codes; /* for each bucket: 1 + the index of the code in it, or 0 */
	uint16_t *next;	 /* for each bucket: the bucket that followed it last time */
	uint32_t *frames;
	uint32_t n, room; /* length and room of FRAMES, the previous stack */
	struct mem_names names;
	uint32_t probes; /* number of packets written with a check of a bucket */
	bool begun;	 /* the domain had a packet of events */
	uint16_t number; /* number of the domain in the stream */
};

/* Return the domain NUMBER with empty caches, or NULL without memory. */
struct mem_encode_domain *mem_encode_domain_new(uint16_t number);
/* Free D, which may be NULL. Return NULL. */
struct mem_encode_domain *mem_encode_domain_free(struct mem_encode_domain *d);

struct mem_encode_words {
	uint8_t bytes[MEM_ENCODE_WORDS_MAX + 16];
	size_t n_bytes;
	uint32_t n;	 /* number of codewords */
	uint32_t prefix; /* number of frames shared with the previous stack */
};

/*
 * Encode into *WORDS the stack of N codes, followed by the code LAST unless that is MPROF_NONE.
 * VALUE returns the address of a code. Return 0 or -ENOMEM.
 */
int mem_encode_stack(struct mem_encode_domain *d, const uint32_t *stack, uint32_t n, uint32_t last,
		     uint64_t (*value)(const void *context, uint32_t code), const void *context,
		     struct mem_encode_words *words);

/*
 * mem_encode_file() returns the index of the file NAME in the table of names; mem_encode_function()
 * that of the function NAME in the table of the last file. Both return 31 when the reader does not
 * know the name yet, and move the name to the front. mem_encode_file() returns -ENOMEM without
 * memory.
 */
int mem_encode_file(struct mem_names *names, uint32_t name);
uint32_t mem_encode_function(struct mem_names *names, uint32_t name);

#endif
