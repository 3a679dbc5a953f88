/*
 * A word of 64 bits for each of a fixed number of positions, in flat arrays: what struct span_tree is where many bits are set, in less
 * memory and time than a tree, and too much of both where few are.
 */
#ifndef TRACE_FIELD_H
#define TRACE_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "grow.h"

#define FIELD_FAN_BITS 4u
#define FIELD_FAN      (1u << FIELD_FAN_BITS)
#define FIELD_LEVELS   8u /* 2^32 positions */

/* What is known of FIELD_FAN words or nodes below. */
struct field_node {
	uint64_t any; /* set somewhere below */
	uint64_t own; /* set everywhere below by what covers the node, and not told to what is below */
};

struct field {
	struct grow words;	      /* uint64_t */
	struct grow nodes;	      /* struct field_node, of all levels above the words */
	uint32_t first[FIELD_LEVELS]; /* of each level in NODES */
	uint32_t levels;
};

/* N positions, all 0, in the memory of SPARE where it has some; false without memory.  Deinit in any case. */
bool field_init(struct field *f, uint32_t n, struct grow *spare);
void field_deinit(struct field *f);
/* How much one of N positions takes. */
uint64_t field_bytes(uint32_t n);

/* Set BITS from FROM up to TO, exclusively, FROM < TO <= N. */
void field_add(struct field *f, uint32_t from, uint32_t to, uint64_t bits);
/* All bits that are set between FROM and TO, exclusively. */
uint64_t field_get(const struct field *f, uint32_t from, uint32_t to);
/* As spans_full(). */
bool field_full(const struct field *f, uint32_t at, uint32_t *from, uint32_t *to);

/* Let the words from FROM on, FIELD_FAN of them, come near. */
static inline void field_prefetch(const struct field *f, uint32_t from)
{
	const char *p = (const char *)((const uint64_t *)f->words.items + from);

	__builtin_prefetch(p, 1);
	__builtin_prefetch(p + 64, 1);
}

#endif
