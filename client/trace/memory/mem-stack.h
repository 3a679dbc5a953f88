/*
 * Stacks of one domain. A stream has each stack as its difference from the domain's previous stack,
 * in *codewords*. These refer to *buckets*, a cache of codes that writer and reader update in the
 * same way.
 */
#ifndef TRACE_MEM_STACK_H
#define TRACE_MEM_STACK_H

#include "mem-codes.h"

#define MEM_BUCKETS 16384u

/* Largest number of frames that one codeword adds. */
#define MEM_STACK_WORD_FRAMES 256u
/* A stack of at most this many codewords is certainly not cut. */
#define MEM_STACK_WORDS_PLAIN 400u

struct mem_bucket {
	uint32_t code; /* index of the code in the bucket */
	uint16_t next; /* the successor: the bucket of the frame that followed this bucket's frame last time */
};

struct mem_stack {
	struct mem_bucket *buckets;
	uint32_t *frames; /* the previous stack */
	uint32_t n, room;
	bool lost; /* bytes of the domain were lost: the buckets differ from the writer's */
};

enum mem_stack_result {
	MEM_STACK_OK = 0,
	MEM_STACK_TRUNCATED, /* the writer cut this stack */
	MEM_STACK_LOST,	     /* this stack and all later ones are unknown */
	MEM_STACK_CUT,	     /* the bytes end inside the stack */
	MEM_STACK_NOMEM,     /* no memory; all later stacks are unknown */
};

/*
 * Make an empty stack and empty buckets. Return false without memory. Call mem_stack_deinit() in
 * any case.
 */
bool mem_stack_init(struct mem_stack *s);
void mem_stack_deinit(struct mem_stack *s);

/*
 * Read a stack from B: its N codewords, whose frames follow the first PREFIX frames of the previous
 * stack. Store in *COMMON the number of first frames that stay the same.
 */
enum mem_stack_result mem_stack_read(struct mem_stack *s, struct mem_bytes *b, uint64_t prefix, uint32_t n,
				     struct mem_codes *codes, uint32_t *common);
/*
 * As mem_stack_read() for a stack that cannot be damaged: PREFIX <= S->n, B has enough bytes for
 * any N codewords, S has room for their frames, and N <= MEM_STACK_WORDS_PLAIN. Return false
 * without memory, with B unchanged; then all later stacks are unknown.
 */
static inline bool mem_stack_plain(struct mem_stack *s, struct mem_bytes *b, uint32_t prefix, uint32_t n,
				   struct mem_codes *codes);
/* Skip N codewords of B. Return false when the bytes end inside them. */
bool mem_stack_skip(struct mem_bytes *b, uint32_t n);
/*
 * Return true when bucket I has the code CODE and the successor NEXT, as a packet's header says.
 * Otherwise bytes were lost.
 */
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
