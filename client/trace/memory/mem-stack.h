/* The stacks of one domain: each is told as what differs from the one before, by caches that writer and reader keep alike. */
#ifndef TRACE_MEM_STACK_H
#define TRACE_MEM_STACK_H

#include "mem-codes.h"

#define MEM_BUCKETS 16384u

/* The most frames that one codeword adds. */
#define MEM_STACK_WORD_FRAMES 256u
/* A stack of at most so many codewords was not cut. */
#define MEM_STACK_WORDS_PLAIN 400u

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
/*
 * The same where nothing can go wrong but memory: PREFIX is not more than S->n, there are bytes for any N codewords, room for their frames, and N is at most
 * MEM_STACK_WORDS_PLAIN.  False without memory; then no stack is known from here on, and B stands where it stood.
 */
static inline bool mem_stack_plain(struct mem_stack *s, struct mem_bytes *b, uint32_t prefix, uint32_t n,
				   struct mem_codes *codes);
/* Pass over N codewords; false where the bytes end inside them. */
bool mem_stack_skip(struct mem_bytes *b, uint32_t n);
/* What a packet says of bucket I: that NEXT follows it and CODE is stored in it.  True if so. */
bool mem_stack_check(const struct mem_stack *s, const struct mem_codes *codes, uint16_t i, uint16_t next,
		     uint64_t code);

static inline bool mem_stack_plain(struct mem_stack *s, struct mem_bytes *b, uint32_t prefix, uint32_t n,
				   struct mem_codes *codes)
{
	struct mem_bucket *buckets = s->buckets;
	uint32_t *frame = s->frames + prefix;
	const uint8_t *at = b->at;
	uint16_t word, prev = 0;

	for (; n; n--) {
		word = mprof_load16(at);
		at += 2;
		buckets[prev].next = word >> 2;
		prev = word >> 2;
		word &= 3;
		if (word == 3) {
			*frame = mem_codes_index(codes, mprof_load64(at));
			at += 8;
			if (*frame == MPROF_NONE) {
				s->lost = true;
				return false;
			}
			buckets[prev].code = *frame++;
			continue;
		}
		*frame++ = buckets[prev].code;
		if (word == 2)
			word = *at++;
		for (; word; word--) {
			prev = buckets[prev].next;
			*frame++ = buckets[prev].code;
		}
	}
	s->n = (uint32_t)(frame - s->frames);
	b->at = at;
	return true;
}

#endif
