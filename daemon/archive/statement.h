/*
 * The SQL statements of one connection.
 *
 * Each statement is prepared at its first use and kept until the connection closes. The writers and
 * the readers of both archives run their SQL through these functions; only the list of statements
 * and the meaning of SQLite's errors differ.
 */
#ifndef ARCHIVE_STATEMENT_H
#define ARCHIVE_STATEMENT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"

/* statement_step() has a row. No errno and no archive_condition has this value. */
#define STATEMENT_ROW 1000

struct statements {
	sqlite3 *db;		 /* borrowed; NULL = the connection is closed */
	const char *const *sql;	 /* N texts, borrowed */
	sqlite3_stmt **prepared; /* N statements; NULL = not prepared yet */
	size_t n;
	/* Return the -errno or archive_condition that stands for SQLite's RESULT. */
	int (*error)(void *context, int result);
	void *context;
};

/*
 * Set up S for N texts of SQL. The caller sets S->db when the connection is open. Return 0 or
 * -ENOMEM.
 */
int statements_init(struct statements *s, const char *const *sql, size_t n, int (*error)(void *context, int result),
		    void *context);
/* Finalize all statements and forget the connection. Call it before the connection is closed. */
void statements_close(struct statements *s);
/* Reset all statements, so that none of them holds a transaction open. */
void statements_reset(struct statements *s);
/* Close, and free what statements_init() allocated. A zeroed S is allowed. */
void statements_deinit(struct statements *s);

/*
 * Get the statement WHICH with N integers bound to its first parameters. Declare *STATEMENT with
 * CLEANUP(statement_resetp): a statement that is not reset holds its transaction open. Return 0 or
 * an error.
 */
int statement_get(struct statements *s, unsigned which, size_t n, const int64_t *values, sqlite3_stmt **statement);

/* The two arguments N and VALUES of the functions here. */
#define VALUES(...)                                                           \
	sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]) \
	{                                                                     \
		__VA_ARGS__                                                   \
	}
#define NO_VALUES 0, NULL

/* Step to the next row. Return STATEMENT_ROW, 0 behind the last row, or an error. */
int statement_step(struct statements *s, sqlite3_stmt *statement);

/* Run a statement to its end and ignore its rows. Return 0 or an error. */
int statement_run(struct statements *s, unsigned which, size_t n, const int64_t *values);

/*
 * Read the integer of a one-row answer. *IS_NULL: there is no row or no value, and *VALUE is 0.
 * Return 0 or an error.
 */
int statement_number(struct statements *s, unsigned which, size_t n, const int64_t *values, int64_t *value,
		     bool *is_null);

/*
 * Reset a statement and clear its bindings, so that it holds no read transaction and no borrowed
 * memory. For CLEANUP.
 */
static inline void statement_resetp(sqlite3_stmt **statement)
{
	if (*statement) {
		sqlite3_reset(*statement);
		sqlite3_clear_bindings(*statement);
	}
}

/* Bind TEXT, which must stay valid until the statement is reset. NULL binds NULL. */
static inline void statement_bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

/*
 * Bind N bytes, which must stay valid until the statement is reset. An empty blob stays a blob: an
 * empty pointer would bind NULL.
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

/* Return column I, with values outside 32 bits clamped. */
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
 * Return the text of a column that the schema declares NOT NULL; "" if a damaged archive has NULL
 * there.
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
