/* Prepare statements and keep them, bind their parameters, and step them. */
#include "statement.h"

#include <errno.h>
#include <stdlib.h>

int statements_init(struct statements *s, const char *const *sql, size_t n, int (*error)(void *context, int result),
		    void *context)
{
	*s = (struct statements){.sql = sql, .n = n, .error = error, .context = context};
	s->prepared = calloc(n, sizeof(sqlite3_stmt *));
	if (s->prepared)
		return 0;
	s->n = 0;
	return -ENOMEM;
}

void statements_close(struct statements *s)
{
	for (size_t i = 0; i < s->n; i++) {
		sqlite3_finalize(s->prepared[i]);
		s->prepared[i] = NULL;
	}
	s->db = NULL;
}

void statements_reset(struct statements *s)
{
	for (size_t i = 0; i < s->n; i++)
		sqlite3_reset(s->prepared[i]);
}

void statements_deinit(struct statements *s)
{
	statements_close(s);
	free(s->prepared);
	*s = (struct statements){0};
}

int statement_get(struct statements *s, unsigned which, size_t n, const int64_t *values, sqlite3_stmt **statement)
{
	if (!s->prepared[which]) {
		int result = sqlite3_prepare_v3(s->db, s->sql[which], -1, SQLITE_PREPARE_PERSISTENT,
						&s->prepared[which], NULL);

		if (result != SQLITE_OK)
			return s->error(s->context, result);
	}
	*statement = s->prepared[which];
	s->begun++;
	for (size_t i = 0; i < n; i++)
		sqlite3_bind_int64(*statement, (int)i + 1, values[i]);
	return 0;
}

int statement_step(struct statements *s, sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);

	if (result == SQLITE_ROW)
		return STATEMENT_ROW;
	return result == SQLITE_DONE ? 0 : s->error(s->context, result);
}

int statement_run(struct statements *s, unsigned which, size_t n, const int64_t *values)
{
	CLEANUP(statement_resetp) sqlite3_stmt *statement = NULL;
	int r = statement_get(s, which, n, values, &statement);

	if (r != 0)
		return r;
	while ((r = statement_step(s, statement)) == STATEMENT_ROW)
		;
	return r;
}

int statement_number(struct statements *s, unsigned which, size_t n, const int64_t *values, int64_t *value,
		     bool *is_null)
{
	CLEANUP(statement_resetp) sqlite3_stmt *statement = NULL;
	int r = statement_get(s, which, n, values, &statement);

	*value = 0;
	*is_null = true;
	if (r != 0)
		return r;
	r = statement_step(s, statement);
	if (r != STATEMENT_ROW)
		return r;
	*is_null = column_is_null(statement, 0);
	*value = sqlite3_column_int64(statement, 0);
	return 0;
}
