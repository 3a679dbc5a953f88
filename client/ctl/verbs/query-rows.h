/* The rows of a query on standard output, one after the other: as a table, as comma-separated values, or as JSON. */
#ifndef CTL_QUERY_ROWS_H
#define CTL_QUERY_ROWS_H

#include "timing.h"
#include "trace-query.h"

/*
 * Print the rows of the prepared query Q, below the names of its columns. Each returns an exit code, and stops without an error when
 * the reader of a pipe has closed it.
 *
 * A table's columns are as wide as the first rows need; a longer cell is whole, and moves the rest of its line. Texts are escaped as by
 * printable().
 */
int query_rows_table(struct trace_query *q);
/* NULL is an empty cell, and a text is in quotes. */
int query_rows_csv(struct trace_query *q);
/* An object with `columns`, an array of names, and `rows`, an array of arrays. */
int query_rows_json(struct trace_query *q, struct timing *timing);

#endif
