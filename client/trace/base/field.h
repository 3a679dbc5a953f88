/*
 * An array of 64-bit words, one for each position, with summary nodes above the words. Bits are
 * ORed into ranges of positions. A field is faster than struct span_tree; it is also smaller when
 * many bits are set, and larger when few are.
 */
#ifndef TRACE_FIELD_H
#define TRACE_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "grow.h"

#define FIELD_FAN_BITS 4u
#define FIELD_FAN      (1u << FIELD_FAN_BITS)
#define FIELD_LEVELS   8u /* 2^32 positions */

/* Summary of FIELD_FAN words, or of FIELD_FAN nodes of the level below. */
struct field_node {
	uint64_t any; /* bits that at least one position below has */
	/*
	 * Bits of ranges that covered all positions below. The words and nodes below do not repeat
	 * them.
	 */
	uint64_t own;
};

struct field {
	struct grow words;	      /* uint64_t */
	struct grow nodes;	      /* struct field_node, all levels above the words */
	uint32_t first[FIELD_LEVELS]; /* for each level, index in NODES of its first node */
	uint32_t levels;
};

/*
 * Make N positions with value 0. Take the memory of SPARE if it has any. Return false without
 * memory. Call field_deinit() in any case.
 */
bool field_init(struct field *f, uint32_t n, struct grow *spare);
void field_deinit(struct field *f);
/* Return the bytes that a field of N positions takes. */
uint64_t field_bytes(uint32_t n);

/* OR BITS into the positions from FROM up to, but not including, TO. FROM < TO <= N. */
void field_add(struct field *f, uint32_t from, uint32_t to, uint64_t bits);
/* Return the OR of the positions from FROM up to, but not including, TO. */
uint64_t field_get(const struct field *f, uint32_t from, uint32_t to);
/*
 * Return true when the word at AT has all bits set; then store a range of such positions around AT
 * in *FROM and *TO, as spans_full() does.
 */
bool field_full(const struct field *f, uint32_t at, uint32_t *from, uint32_t *to);

/* Prefetch FIELD_FAN words from FROM on. */
static inline void field_prefetch(const struct field *f, uint32_t from)
{
	const char *p = (const char *)((const uint64_t *)f->words.items + from);

	__builtin_prefetch(p, 1);
	__builtin_prefetch(p + 64, 1);
}

#endif
