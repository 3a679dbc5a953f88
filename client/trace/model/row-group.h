/* Sixty-four rows of a picture: a bit for each, by time. */
#ifndef TRACE_ROW_GROUP_H
#define TRACE_ROW_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "field.h"
#include "spans.h"

#define GROUP_ROWS 64u

/* Places in the order of times (places.h), START <= END. */
struct life {
	uint32_t start;
	uint32_t end;
};

/* Is what has PLACED its life in the way of one that wants WANTED? */
bool life_in_the_way(const struct life *placed, const struct life *wanted);

struct row_group {
	struct field field;	 /* of gaps, where it is FLAT */
	struct span_tree gaps;	 /* where not */
	struct span_tree points; /* lives without a length */
	uint32_t lives;
	bool flat;
};

/* What the groups of one picture share. */
struct row_store {
	struct spans spans;
	struct grow spare; /* memory for the first field */
	uint32_t places;
};

/* FLAT: many lives will come.  False without memory.  Deinit in any case. */
bool row_group_init(struct row_group *g, struct row_store *store, bool flat);
void row_group_deinit(struct row_group *g);
/* Without what it has in the store. */
uint64_t row_group_memory(const struct row_group *g);

/* Take the rows of BITS for LIFE; false without memory. */
bool row_group_take(struct row_group *g, struct row_store *store, const struct life *life, uint64_t bits);
/* Which rows are not free for LIFE. */
uint64_t row_group_taken(struct row_group *g, const struct row_store *store, const struct life *life);

/*
 * On a line on which place P is at 2 * P and the gap behind it at 2 * P + 1: if all rows are taken at one position of what LIFE wants, put a
 * range of such positions into *FROM and *TO.  Not every such position is found.
 */
bool row_group_full(struct row_group *g, const struct row_store *store, const struct life *life, uint32_t *from,
		    uint32_t *to);
/* The part of that line that LIFE wants. */
void life_wanted(const struct life *life, uint32_t *from, uint32_t *to);

#endif
