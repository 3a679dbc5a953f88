#include <string.h>

#include "array.h"
#include "ctl.h"
#include "trace-query.h"

#define BLANKS	  " \t\r\n\f"
#define VALUE_MAX (64 << 20) /* most bytes of a value */

/* The settings that tell of tables, and change nothing. */
static const char *const tells[] = {"table_list", "table_info", "table_xinfo",
				    "index_list", "index_info", "index_xinfo"};

/* Functions that take or show addresses, or load code. */
static const char *const barred[] = {"fts3_tokenizer", "load_extension"};

/* Return whether one of the N NAMES is NAME, in capitals or not. */
static bool is_named(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sqlite3_stricmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Return whether a statement may do ACTION, as sqlite3_set_authorizer() describes. */
static bool is_allowed(int action, const char *first, const char *second)
{
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return true;
	case SQLITE_FUNCTION:
		return !is_named(second, barred, ARRAY_SIZE(barred));
	case SQLITE_PRAGMA:
		return is_named(first, tells, ARRAY_SIZE(tells));
	case SQLITE_UPDATE: /* SQLite 3.40 asks so to use a function as a table; the file is read only */
		return strcmp(first, "sqlite_master") == 0;
	default:
		return false;
	}
}

static int authorize(void *context, int action, const char *first, const char *second, const char *database,
		     const char *view)
{
	struct trace_query *q = context;

	(void)database;
	(void)view;
	if (is_allowed(action, first, second))
		return SQLITE_OK;
	q->denied = true;
	return SQLITE_DENY;
}

int trace_query_open(struct trace_query *q, int fd)
{
	int code;

	if (database_file_init(&q->file, fd) < 0)
		return say_memory();
	code = database_file_open(&q->file, true, &q->db);
	if (code == SQLITE_OK)
		code = sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	/* Debian's SQLite lets a query name the address of a tokenizer. */
	if (code == SQLITE_OK)
		code = sqlite3_db_config(q->db, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_set_authorizer(q->db, authorize, q);
	sqlite3_limit(q->db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
	if (code == SQLITE_OK)
		return CTL_OK;
	say("the trace's tables cannot be opened: %s", sqlite3_errstr(code));
	return CTL_FAILED;
}

/* Report that the query is not allowed. Return an exit code. */
static int say_denied(const struct trace_query *q)
{
	return say_usage(q->verb,
			 "a query can only read: SELECT, WITH, VALUES, EXPLAIN, or a PRAGMA such as table_info");
}

/* Report that the statement SQL was refused with CODE. Return an exit code. */
static int refused(const struct trace_query *q, int code, const char *sql)
{
	int at = sqlite3_error_offset(q->db);
	const char *error = sqlite3_errmsg(q->db);

	if ((code & 0xff) == SQLITE_NOMEM)
		return say_memory();
	if (q->denied)
		return say_denied(q);
	if (at < 0 || (size_t)at >= strlen(sql))
		return say_usage(q->verb, "the query is wrong: %s; --schema prints the tables", error);
	return say_usage(q->verb, "the query is wrong at \"%.24s\": %s; --schema prints the tables", sql + at, error);
}

/* Return whether a statement is in SQL, and not only blanks, comments and semicolons. */
static bool has_statement(struct trace_query *q, const char *sql)
{
	sqlite3_stmt *s = NULL;
	int code = SQLITE_OK;

	while (*sql && code == SQLITE_OK && !s)
		code = sqlite3_prepare_v2(q->db, sql, -1, &s, &sql);
	sqlite3_finalize(s);
	return s || code != SQLITE_OK;
}

int trace_query_prepare(struct trace_query *q, const char *sql, const char *verb)
{
	const char *rest = sql;
	int code = sqlite3_prepare_v2(q->db, sql, -1, &q->statement, &rest);

	q->verb = verb;
	if (code != SQLITE_OK)
		return refused(q, code, sql);
	if (!q->statement)
		return say_usage(verb, "the query is empty; an example: 'SELECT * FROM streams'");
	if (has_statement(q, rest))
		return say_usage(q->verb, "behind the first statement is another one, \"%.24s\": give one",
				 rest + strspn(rest, BLANKS));
	return CTL_OK;
}

int trace_query_step(struct trace_query *q, bool *row)
{
	int code = sqlite3_step(q->statement);

	*row = code == SQLITE_ROW;
	if (*row || code == SQLITE_DONE)
		return CTL_OK;
	if ((code & 0xff) == SQLITE_NOMEM)
		return say_memory();
	if (q->denied) /* VACUUM asks only now */
		return say_denied(q);
	if ((code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_IOERR)
		say("the query's temporary files cannot be written: %s; SQLITE_TMPDIR names another directory",
		    sqlite3_errmsg(q->db));
	else
		say("the query has failed: %s", sqlite3_errmsg(q->db));
	return CTL_FAILED;
}

void trace_query_deinit(struct trace_query *q)
{
	sqlite3_finalize(q->statement);
	sqlite3_close(q->db);
	database_file_deinit(&q->file);
}
