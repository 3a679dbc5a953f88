/*
 * Decoder of stacks. A codeword has the number of a bucket and says one of two things: the code in
 * the bucket is the next frame, and the codes of a number of successors are the frames after it; or
 * a new code follows, which is the next frame and is stored in the bucket.
 *
 * Invariant: the number of a bucket is below MEM_BUCKETS, because a codeword has 14 bits for it. So
 * no number needs a check, whatever the bytes are.
 */
#include "mem-stack.h"

#include <stdlib.h>
#include <string.h>

/* Size of a stack's codewords, in bytes, at which the writer stopped: the stack is cut. */
#define CUT_BYTES  4087u
#define FIRST_ROOM 4096u

bool mem_stack_init(struct mem_stack *s)
{
	*s = (struct mem_stack){.room = FIRST_ROOM};
	s->buckets = calloc(MEM_BUCKETS, sizeof(*s->buckets));
	s->frames = malloc(FIRST_ROOM * sizeof(*s->frames));
	return s->buckets && s->frames;
}

void mem_stack_deinit(struct mem_stack *s)
{
	free(s->buckets);
	free(s->frames);
	*s = (struct mem_stack){0};
}

/* Make room for the frames of one codeword after the first N frames. */
static enum mem_stack_result frames_room(struct mem_stack *s, uint32_t n)
{
	uint32_t room = s->room * 2;
	uint32_t *frames;

	if (n + MEM_STACK_WORD_FRAMES <= s->room)
		return MEM_STACK_OK;
	if (room > MPROF_MEM_FRAMES_MAX)
		return MEM_STACK_LOST;
	frames = realloc(s->frames, room * sizeof(*frames));
	if (!frames)
		return MEM_STACK_NOMEM;
	s->frames = frames;
	s->room = room;
	return MEM_STACK_OK;
}

/* Read N codewords from B. Their frames follow the first *FRAMES frames; update *FRAMES. */
static enum mem_stack_result words_read(struct mem_stack *s, struct mem_bytes *b, uint32_t n, struct mem_codes *codes,
					uint32_t *frames)
{
	struct mem_bucket *buckets = s->buckets;
	uint32_t at = *frames, code;
	uint16_t word, prev = 0;
	enum mem_stack_result r;

	for (; n; n--) {
		r = frames_room(s, at);
		if (r)
			return r;
		if (!mem_has(b, 2))
			return MEM_STACK_CUT;
		word = mprof_load16(b->at);
		b->at += 2;
		buckets[prev].next = word >> 2;
		prev = word >> 2;
		if ((word & 3) == 3) {
			if (!mem_has(b, 8))
				return MEM_STACK_CUT;
			code = mem_codes_index(codes, mprof_load64(b->at));
			b->at += 8;
			if (code == MPROF_NONE)
				return MEM_STACK_NOMEM;
			s->frames[at++] = buckets[prev].code = code;
			continue;
		}
		s->frames[at++] = buckets[prev].code;
		word &= 3;
		if (word == 2) {
			if (!mem_has(b, 1))
				return MEM_STACK_CUT;
			word = *b->at++;
		}
		for (; word; word--) {
			prev = buckets[prev].next;
			s->frames[at++] = buckets[prev].code;
		}
	}
	*frames = at;
	return MEM_STACK_OK;
}

enum mem_stack_result mem_stack_read(struct mem_stack *s, struct mem_bytes *b, uint64_t prefix, uint32_t n,
				     struct mem_codes *codes, uint32_t *common)
{
	/*
	 * PREFIX counts frames of the writer's previous stack. If that stack was cut, the reader's
	 * is shorter: keep the frames, and only update the buckets.
	 */
	bool scratch = prefix > s->n;
	uint32_t frames = scratch ? s->n : (uint32_t)prefix;
	const uint8_t *begin = b->at;
	enum mem_stack_result r;

	*common = frames;
	r = words_read(s, b, n, codes, &frames);
	if (r) {
		s->lost = true;
		return r;
	}
	if (!scratch)
		s->n = frames;
	return b->at - begin >= (ptrdiff_t)CUT_BYTES || scratch ? MEM_STACK_TRUNCATED : MEM_STACK_OK;
}

bool mem_stack_skip(struct mem_bytes *b, uint32_t n)
{
	static const uint8_t extra[] = {0, 0, 1, 8};

	for (; n; n--) {
		if (!mem_has(b, 2) || !mem_has(b, 2u + extra[b->at[0] & 3]))
			return false;
		b->at += 2u + extra[b->at[0] & 3];
	}
	return true;
}

bool mem_stack_check(const struct mem_stack *s, const struct mem_codes *codes, uint16_t i, uint16_t next, uint64_t code)
{
	const struct mprof_mem_code *list = codes->list.items;

	return i < MEM_BUCKETS && s->buckets[i].next == next && list[s->buckets[i].code].code == code;
}
