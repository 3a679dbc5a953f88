/* Checksums and numbers of the rows of runs, streams, gaps and captures (schema/archive/0009-row-checksums.sql). */
#ifndef ARCHIVE_ROW_SUMS_H
#define ARCHIVE_ROW_SUMS_H

#include "writer.h"

/*
 * Prepare the connection that was opened: triggers keep the checksums, and rows of an earlier version get theirs. Return 0
 * or an error.
 */
int row_sums_open(struct archive_writer *w);
/* How far a check of all rows came. TABLE and AFTER are 0 before the first row and behind the last one. */
struct row_walk {
	size_t table;	 /* number of the table whose rows are next */
	int64_t after;	 /* identifier of the last row that was checked, 0 = none */
	bool has_ranges; /* lists_check() has compared the index of the captures' ranges just now */
};

/* Return whether a check has begun, and not come to its end. */
static inline bool row_walk_goes_on(const struct row_walk *walk)
{
	return walk->table != 0 || walk->after != 0;
}

/*
 * Check some thousand rows at WALK, and declare what was damaged or lost. Log it, and add it to archive_writer_damage().
 * Behind the last row of a table its indexes are made anew if they disagree with it. Return 0, with WALK behind them, or an error, with WALK
 * at the next table.
 */
int row_sums_step(struct archive_writer *w, struct row_walk *walk);
/*
 * Check the row ID of table NAME, of which a reader has said that it is damaged; if it is, declare that and set *DAMAGED.
 * Return 0, ARCHIVE_E_ABSENT if no such table has checksums, or an error.
 */
int row_sums_check_row(struct archive_writer *w, const char *name, int64_t id, bool *damaged);
/*
 * Call row_sums_step() until all rows are checked, but for the index of the captures' ranges: lists_check() compares it, which the caller calls before.
 * Return 0 or an error.
 */
int row_sums_check(struct archive_writer *w);

#endif
