/* A group of 64 rows of the layout: a bit for each row, by time. */
#ifndef TRACE_ROWS_H
#define TRACE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "field.h"
#include "spans.h"

#define GROUP_ROWS 64u

/* The life of a thread: the places (places.h) of its start and its end. START <= END. */
struct life {
	uint32_t start;
	uint32_t end;
};

/*
 * Return true when a thread with the life WANTED cannot be on one row with a thread with the life
 * PLACED, because the two lives overlap.
 */
bool life_in_the_way(const struct life *placed, const struct life *wanted);

struct row_group {
	struct field field;	 /* gaps, when FLAT */
	struct span_tree gaps;	 /* gaps, when not FLAT */
	struct span_tree points; /* lives without a length */
	uint32_t lives;
	bool flat;
};

/* Memory shared by the groups of one layout. */
struct row_store {
	struct spans spans;
	struct grow spare; /* memory for the first field */
	uint32_t places;
};

/*
 * Make an empty group; FLAT: for many lives. Return false without memory. Call row_group_deinit()
 * in any case.
 */
bool row_group_init(struct row_group *g, struct row_store *store, bool flat);
void row_group_deinit(struct row_group *g);
/* Return the bytes of the group, without its part of the store. */
uint64_t row_group_memory(const struct row_group *g);

/* Occupy the rows of BITS during LIFE. Return false without memory. */
bool row_group_take(struct row_group *g, struct row_store *store, const struct life *life, uint64_t bits);
/* Return the rows that are occupied at some time during LIFE. */
uint64_t row_group_taken(struct row_group *g, const struct row_store *store, const struct life *life);

/*
 * On a line with place P at 2 * P and the gap after it at 2 * P + 1: find a range of positions that
 * LIFE needs and at which all rows are occupied. Store it in *FROM and *TO and return true. Some
 * such ranges are not found.
 */
bool row_group_full(struct row_group *g, const struct row_store *store, const struct life *life, uint32_t *from,
		    uint32_t *to);
/* Store the range of that line that LIFE needs. */
void life_wanted(const struct life *life, uint32_t *from, uint32_t *to);

/* ---- rows ---- */

/* Which rows are occupied when, and the first free row. */

#define ROWS_LEVELS 5u

struct rows {
	struct row_store store;
	struct grow groups; /* struct row_group, 64 rows each */
	/* struct span_tree, each for 64 groups or 64 trees of the level below */
	struct grow levels[ROWS_LEVELS];
	uint64_t budget;    /* groups and trees that may still be searched in vain */
	uint32_t used;	    /* rows from here on are always free */
	uint64_t not_first; /* threads put below all others after BUDGET ran out */
};

/* Return the number of failed searches that N threads may cost. */
uint64_t rows_budget(uint64_t n);
/* Make an empty layout for lives at places below PLACES. */
void rows_init(struct rows *rows, uint64_t budget, uint32_t places);
void rows_deinit(struct rows *rows);
uint64_t rows_memory(const struct rows *rows);

/*
 * Store the first row from ROW on that is free during LIFE in *FREE_ROW. When BUDGET is used up,
 * store the row below all others instead, and count it. Return false without memory.
 */
bool rows_first(struct rows *rows, uint32_t row, const struct life *life, uint32_t *free_row);
/* Occupy ROW during LIFE, free or not. Return false without memory. */
bool rows_take(struct rows *rows, uint32_t row, const struct life *life);
/*
 * Load into the processor's cache what rows_first() reads of ROW for a life that starts at PLACE.
 */
void rows_prefetch(const struct rows *rows, uint32_t row, uint32_t place);

#endif
