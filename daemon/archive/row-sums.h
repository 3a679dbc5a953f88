/* Checksums and numbers of the rows of runs, streams, gaps and captures (schema/archive/0009-row-checksums.sql). */
#ifndef ARCHIVE_ROW_SUMS_H
#define ARCHIVE_ROW_SUMS_H

#include "writer.h"

/*
 * Prepare the connection that was opened: triggers keep the checksums, and rows of an earlier version get theirs. Return 0
 * or an error.
 */
int row_sums_open(struct archive_writer *w);
/*
 * Check all rows, and declare what was damaged or lost. Log it, and add it to archive_writer_damage(). Return 0 or an
 * error.
 */
int row_sums_check(struct archive_writer *w);

#endif
