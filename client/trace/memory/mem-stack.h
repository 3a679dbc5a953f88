/*
 * Stacks of one domain. The stream has each stack as its difference from the previous one, by
 * caches that writer and reader update alike.
 */
#ifndef TRACE_MEM_STACK_H
#define TRACE_MEM_STACK_H

#include "mem-codes.h"

#define MEM_BUCKETS 16384u

/* Largest number of frames that one codeword adds. */
#define MEM_STACK_WORD_FRAMES 256u
/* Largest number of codewords of a stack that is certainly not cut. */
#define MEM_STACK_WORDS_PLAIN 400u

struct mem_bucket {
	uint32_t code; /* index of the code in it */
	uint16_t next; /* bucket that followed this one last time */
};

struct mem_stack {
	struct mem_bucket *buckets;
	uint32_t *frames; /* the previous stack */
	uint32_t n, room;
	bool lost; /* bytes are missing: the caches are out of step with the writer's */
};

enum mem_stack_result {
	MEM_STACK_OK = 0,
	MEM_STACK_TRUNCATED, /* the writer cut this stack */
	MEM_STACK_LOST,	     /* this stack and all later ones are unknown */
	MEM_STACK_CUT,	     /* the bytes end inside the stack */
	MEM_STACK_NOMEM,     /* no memory; all later stacks are unknown */
};

/* Return false without memory. Call mem_stack_deinit() in any case. */
bool mem_stack_init(struct mem_stack *s);
void mem_stack_deinit(struct mem_stack *s);

/*
 * Read N codewords from B, which follow the first PREFIX frames of the previous stack. Store the
 * number of first frames that stay the same in *COMMON.
 */
enum mem_stack_result mem_stack_read(struct mem_stack *s, struct mem_bytes *b, uint64_t prefix, uint32_t n,
				     struct mem_codes *codes, uint32_t *common);
/*
 * Read likewise when only memory can fail: PREFIX <= S->n, B has enough bytes for any N codewords,
 * S has room for their frames, and N <= MEM_STACK_WORDS_PLAIN. Return false without memory, with B
 * unchanged; then all later stacks are unknown.
 */
static inline bool mem_stack_plain(struct mem_stack *s, struct mem_bytes *b, uint32_t prefix, uint32_t n,
				   struct mem_codes *codes);
/* Skip N codewords. Return false when the bytes end inside them. */
bool mem_stack_skip(struct mem_bytes *b, uint32_t n);
/* Return true when NEXT follows bucket I and CODE is in it, as a packet claims. */
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
