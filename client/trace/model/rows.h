/*
 * A group of 64 rows of the layout: a word with a bit for each row, by time. A time is given by its
 * place (places.h). Places have *gaps* between them: gap P is the time between place P and the next
 * place.
 */
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
 * Return true when a thread with the life PLACED on a row keeps a thread with the life WANTED off
 * that row.
 */
bool life_in_the_way(const struct life *placed, const struct life *wanted);

struct row_group {
	struct field field;	 /* for each gap its occupied rows, when FLAT */
	struct span_tree gaps;	 /* for each gap its occupied rows, when not FLAT */
	struct span_tree points; /* for each place the rows with a life that begins and ends there */
	uint32_t lives;
	bool flat;
};

/* Memory shared by the groups of one layout. */
struct row_store {
	struct spans spans;
	struct grow spare; /* memory for the first field, if there is any */
	uint32_t places;
};

/*
 * Make an empty group. With FLAT it has a field at once, for many lives. Return false without
 * memory. Call row_group_deinit() in any case.
 */
bool row_group_init(struct row_group *g, struct row_store *store, bool flat);
void row_group_deinit(struct row_group *g);
/* Return the bytes of memory that the group holds, without its part of the store. */
uint64_t row_group_memory(const struct row_group *g);

/* Occupy the rows whose bits are set in BITS during LIFE. Return false without memory. */
bool row_group_take(struct row_group *g, struct row_store *store, const struct life *life, uint64_t bits);
/* Return a bit for each row that is occupied at some time during LIFE. */
uint64_t row_group_taken(struct row_group *g, const struct row_store *store, const struct life *life);

/*
 * Find a part of LIFE during which all rows of the group are occupied, and return true. *FROM and *TO
 * (not included) are positions on a line that has place P at 2 * P and gap P at 2 * P + 1. The search
 * looks at a few places only, so there may be such a part if it returns false.
 */
bool row_group_full(struct row_group *g, const struct row_store *store, const struct life *life, uint32_t *from,
		    uint32_t *to);
/*
 * Store the range of the line of row_group_full() that LIFE needs: from *FROM up to, but not
 * including, *TO.
 */
void life_wanted(const struct life *life, uint32_t *from, uint32_t *to);

/* ---- rows ---- */

/* Which rows are occupied when, and the first free row. */

#define ROWS_LEVELS 5u

struct rows {
	struct row_store store;
	struct grow groups; /* struct row_group, 64 rows each */
	/*
	 * struct span_tree: an item of level 0 is for 64 groups, an item of each other level for 64
	 * items of the level below.
	 */
	struct grow levels[ROWS_LEVELS];
	uint64_t budget;    /* number of groups and trees that may still be searched in vain */
	uint32_t used;	    /* rows from this one on are free at all times */
	uint64_t not_first; /* number of threads put below all others after BUDGET was used up */
};

/*
 * Return the budget of N threads: the number of groups and trees that may be searched in vain for
 * them.
 */
uint64_t rows_budget(uint64_t n);
/* Make an empty layout for lives at places below PLACES. */
void rows_init(struct rows *rows, uint64_t budget, uint32_t places);
void rows_deinit(struct rows *rows);
uint64_t rows_memory(const struct rows *rows);

/*
 * Store in *FREE_ROW the first row from ROW on that is free during LIFE. When BUDGET is used up,
 * store a row below all others instead, and count that. Return false without memory.
 */
bool rows_first(struct rows *rows, uint32_t row, const struct life *life, uint32_t *free_row);
/* Occupy ROW during LIFE, free or not. Return false without memory. */
bool rows_take(struct rows *rows, uint32_t row, const struct life *life);
/* Prefetch what rows_first() reads for a life that begins at PLACE, near ROW. */
void rows_prefetch(const struct rows *rows, uint32_t row, uint32_t place);

#endif
