/* One ring of a ring file: its cursor, and the copy of a part of its words. */
#ifndef TRACE_RUNTIME_RING_H
#define TRACE_RUNTIME_RING_H

#include <mprof/runtime.h>

/* Zeroed: a ring that was not read yet. */
struct runtime_ring {
	uint64_t at;	 /* position of the next word to interpret; positions are words since the start */
	uint64_t target; /* position of the tail that was read last */
	uint64_t head;	 /* position of the head that was read last */
	uint8_t *words;	 /* copy of the words from FROM to TO; owned; NULL = none */
	uint64_t from, to;
	uint64_t lost; /* words that were overwritten before AT and are not reported yet */
};

struct runtime_source {
	struct mprof_runtime_memory memory;
	struct mprof_runtime_layout layout;
	size_t piece; /* most words to copy at once */
};

enum runtime_ring_status {
	RUNTIME_RING_OK,
	RUNTIME_RING_EMPTY, /* AT is the target */
	RUNTIME_RING_BAD,   /* head and tail contradict each other */
	RUNTIME_RING_CUT,   /* the memory ends */
	RUNTIME_RING_NOMEM,
};

/* Words of the longest item. */
#define RUNTIME_ITEM_WORDS_MAX 1023u

/*
 * Read the head and the tail of ring I of S into R. Words that were overwritten are added to LOST.
 * Return OK, EMPTY, BAD or CUT.
 */
enum runtime_ring_status runtime_ring_poll(struct runtime_ring *r, const struct runtime_source *s, uint32_t i);
/*
 * Copy words of ring I of S from AT on, at most a piece, and check that none was overwritten
 * meanwhile; words that were are added to LOST, and AT moves behind them. Return OK, when the copy
 * begins with AT and is not empty; else EMPTY, BAD, CUT or NOMEM.
 */
enum runtime_ring_status runtime_ring_fill(struct runtime_ring *r, const struct runtime_source *s, uint32_t i);
/* Skip everything up to the target, and count it as lost. */
void runtime_ring_skip(struct runtime_ring *r);
void runtime_ring_deinit(struct runtime_ring *r);

/* Return the address of the word at POSITION, which is from FROM to TO. */
static inline const uint8_t *runtime_ring_word(const struct runtime_ring *r, uint64_t position)
{
	return r->words + (position - r->from) * 8;
}

#endif
