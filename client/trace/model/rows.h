/* Which rows of a picture are taken when, and the first that is free. */
#ifndef TRACE_ROWS_H
#define TRACE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "row-group.h"

#define ROWS_LEVELS 5u

struct rows {
	struct row_store store;
	struct grow groups;		 /* struct row_group, for 64 rows each */
	struct grow levels[ROWS_LEVELS]; /* struct span_tree, for 64 groups or 64 trees of the level below each */
	uint64_t looks;			 /* groups and trees that may be looked at in vain yet */
	uint32_t used;			 /* rows from here on are free at all times */
	uint64_t not_first;		 /* threads that were put below all others because LOOKS had run out */
};

/* How many looks in vain N threads may take. */
uint64_t rows_looks(uint64_t n);
/* Lives are at places below PLACES. */
void rows_init(struct rows *rows, uint64_t looks, uint32_t places);
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
void rows_look_ahead(const struct rows *rows, uint32_t row, uint32_t place);

#endif
