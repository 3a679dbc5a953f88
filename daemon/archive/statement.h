/*
 * The SQL statements of one connection.
 *
 * A statement is prepared at its first use and kept until the connection is closed. The writers and
 * readers of both archives run their SQL through these functions; each has its own list of
 * statements, and its own translation of SQLite's errors.
 */
#ifndef ARCHIVE_STATEMENT_H
#define ARCHIVE_STATEMENT_H

#include <sqlite3.h>

/*
 * The sum of the lengths of rows, of which each has ARCHIVE_PIECE_MAX bytes at most: a damaged length may be
 * any number, and would else make a limit of bytes delete everything, or the sum fail.
 */
#define SUM_OF_LENGTHS "sum(min(max(length, 0), 1048576))"

/*
 * SQL: a column of the newest row of a tail; where the tail of capture ?2 of stream ?1 ends, beside its row of
 * capture_streams; and whether a gap declares that more of this tail is lost. Such a gap begins where the tail
 * that is left ends, or at the next packet.
 */
#define TAIL_NEWEST(column, capture, stream)                                                                        \
	"(SELECT " column " FROM tails WHERE capture = " capture " AND stream = " stream " ORDER BY sequence DESC," \
	" offset DESC LIMIT 1)"
#define TAIL_PACKET "coalesce(" TAIL_NEWEST("sequence", "?2", "?1") ", last_sequence)"
#define TAIL_END    "coalesce(" TAIL_NEWEST("offset + length", "?2", "?1") ", last_offset)"
#define TAIL_GAPS   "SELECT 1 FROM gaps g WHERE g.stream = ?1 AND g.reason = 'damaged' AND g.after_sequence"
#define TAIL_IS_DECLARED                                                                                    \
	"(EXISTS (" TAIL_GAPS " = " TAIL_PACKET " AND g.after_offset = " TAIL_END ") OR EXISTS (" TAIL_GAPS \
	" = " TAIL_PACKET " + 1 AND g.after_offset <= 30))"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

/* statement_step() has read a row. No -errno and no archive_condition has this value. */
#define STATEMENT_ROW 1000

struct statements {
	sqlite3 *db;		 /* borrowed; NULL = the connection is closed */
	const char *const *sql;	 /* N statements, borrowed */
	sqlite3_stmt **prepared; /* N statements; NULL = not prepared yet */
	size_t n;
	uint64_t begun; /* number of statements that were begun */
	/* Return the -errno or archive_condition for SQLite's RESULT. */
	int (*error)(void *context, int result);
	void *context;
};

/*
 * Initialise S for the N statements of SQL. The caller sets S->db when the connection is open.
 * ERROR is called with CONTEXT. Return 0 or -ENOMEM.
 */
int statements_init(struct statements *s, const char *const *sql, size_t n, int (*error)(void *context, int result),
		    void *context);
/* Finalize all statements and set S->db to NULL. Call it before the connection is closed. */
void statements_close(struct statements *s);
/* Reset all statements, so none of them keeps a transaction open. */
void statements_reset(struct statements *s);
/* Call statements_close(), and free the memory of S. A zeroed S is allowed. */
void statements_deinit(struct statements *s);

/*
 * Get the statement number WHICH, with N integers bound to its first parameters. Declare *STATEMENT
 * with CLEANUP(statement_resetp): a statement that is not reset keeps a transaction open. Return 0;
 * or an error, and *STATEMENT stays as it is.
 */
int statement_get(struct statements *s, unsigned which, size_t n, const int64_t *values, sqlite3_stmt **statement);

/* Write the two arguments N and VALUES as one: VALUES(a, b), or NO_VALUES. */
#define VALUES(...)                                                           \
	sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]) \
	{                                                                     \
		__VA_ARGS__                                                   \
	}
#define NO_VALUES 0, NULL

/* Step to the next row. Return STATEMENT_ROW, 0 if there is no further row, or an error. */
int statement_step(struct statements *s, sqlite3_stmt *statement);

/* Run the statement number WHICH to its end and ignore its rows. Return 0 or an error. */
int statement_run(struct statements *s, unsigned which, size_t n, const int64_t *values);

/*
 * Read the integer that a statement with one row selects. If there is no row, or the integer is
 * NULL, *IS_NULL is true and *VALUE 0. Return 0 or an error.
 */
int statement_number(struct statements *s, unsigned which, size_t n, const int64_t *values, int64_t *value,
		     bool *is_null);

/*
 * Reset a statement and clear its bindings, so it keeps no read transaction open and no borrowed
 * memory. For CLEANUP.
 */
static inline void statement_resetp(sqlite3_stmt **statement)
{
	if (*statement) {
		sqlite3_reset(*statement);
		sqlite3_clear_bindings(*statement);
	}
}

/* Bind TEXT to parameter AT. TEXT must stay valid until the statement is reset. NULL binds NULL. */
static inline void statement_bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

/*
 * Bind N bytes to parameter AT. They must stay valid until the statement is reset. N = 0 binds an
 * empty blob, where sqlite3_bind_blob64() would bind NULL.
 */
static inline void statement_bind_bytes(sqlite3_stmt *statement, int at, const void *bytes, size_t n)
{
	if (n)
		sqlite3_bind_blob64(statement, at, bytes, n, SQLITE_STATIC);
	else
		sqlite3_bind_zeroblob(statement, at, 0);
}

static inline uint64_t column_u64(sqlite3_stmt *s, int i)
{
	return (uint64_t)sqlite3_column_int64(s, i);
}

/* Return column I as 32 bits; a value outside of that range becomes the nearest limit. */
static inline uint32_t column_u32(sqlite3_stmt *s, int i)
{
	int64_t v = sqlite3_column_int64(s, i);

	return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static inline const char *column_text(sqlite3_stmt *s, int i)
{
	return (const char *)sqlite3_column_text(s, i);
}

/*
 * Return the string in column I, which the schema declares NOT NULL. Return "" if a damaged archive
 * has NULL there.
 */
static inline const char *column_string(sqlite3_stmt *s, int i)
{
	const char *text = column_text(s, i);

	return text ? text : "";
}

static inline bool column_is_null(sqlite3_stmt *s, int i)
{
	return sqlite3_column_type(s, i) == SQLITE_NULL;
}

#endif
