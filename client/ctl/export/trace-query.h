/*
 * A query of the database of a trace (schema/sqlite). It can only read: no statement writes, opens another file, or changes a setting.
 * Its temporary tables may go to SQLite's temporary files.
 *
 * A function that returns an exit code other than CTL_OK has reported the error.
 */
#ifndef CTL_TRACE_QUERY_H
#define CTL_TRACE_QUERY_H

#include <sqlite3.h>
#include <stdbool.h>

#include "database-file.h"

/* Zeroes before trace_query_open(). It must not move until trace_query_deinit(). */
struct trace_query {
	const char *verb; /* for messages; borrowed */
	struct database_file file;
	sqlite3 *db;
	sqlite3_stmt *statement; /* prepared by trace_query_prepare(); the caller reads its columns */
	bool denied;		 /* a statement would have done more than read */
};

/* Open the database in the file FD, which is borrowed. Return an exit code. */
int trace_query_open(struct trace_query *q, int fd);
/* Prepare the one statement SQL. VERB is for messages. Return an exit code. */
int trace_query_prepare(struct trace_query *q, const char *sql, const char *verb);
/* Take the next row, and set *ROW to false if there is none. Return an exit code. */
int trace_query_step(struct trace_query *q, bool *row);
void trace_query_deinit(struct trace_query *q);

#endif
