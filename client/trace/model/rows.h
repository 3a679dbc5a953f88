/* Sixty-four rows of a picture: a bit for each, by time. */
#ifndef TRACE_ROWS_H
#define TRACE_ROWS_H

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

/* ---- rows ---- */

/* Which rows of a picture are taken when, and the first that is free. */

#define ROWS_LEVELS 5u

struct rows {
	struct row_store store;
	struct grow groups;		 /* struct row_group, for 64 rows each */
	struct grow levels[ROWS_LEVELS]; /* struct span_tree, for 64 groups or 64 trees of the level below each */
	uint64_t budget;		 /* groups and trees that may be looked at in vain yet */
	uint32_t used;			 /* rows from here on are free at all times */
	uint64_t not_first;		 /* threads that were put below all others because BUDGET had run out */
};

/* How many looks in vain N threads may take. */
uint64_t rows_budget(uint64_t n);
/* Lives are at places below PLACES. */
void rows_init(struct rows *rows, uint64_t budget, uint32_t places);
void rows_deinit(struct rows *rows);
uint64_t rows_memory(const struct rows *rows);

/*
 * Put the first row, from ROW on, that is free for LIFE into *FREE; false without memory.  Where finding it would take more than log n on
 * average over all threads, it is the row below all others instead, and counted.
 */
bool rows_first(struct rows *rows, uint32_t row, const struct life *life, uint32_t *free_row);
/* Take ROW for LIFE, be it free or not; false without memory. */
bool rows_take(struct rows *rows, uint32_t row, const struct life *life);
/* A life for which ROW will be looked at soon begins at PLACE. */
void rows_prefetch(const struct rows *rows, uint32_t row, uint32_t place);

#endif
