/* The writer's kept statements, and the ways to run one. */
#include <errno.h>

#include "writer-state.h"

static const char *const sql[STATEMENTS] = {
#define STATEMENT(name, text) [STATEMENT_##name] = text,
#include "statements.def"
};

/* After a full disk nothing of the transaction was kept; the caller knows that from the condition alone. */
static int fail(struct archive_writer *w, int result)
{
	int r = database_error(w->db, result);

	if (r == ARCHIVE_E_FULL)
		archive_writer_rollback(w);
	return r;
}

sqlite3_stmt *writer_statement(struct archive_writer *w, enum statement which, int *r)
{
	int result;

	if (!w->statements[which]) {
		result = sqlite3_prepare_v3(w->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, &w->statements[which],
					    NULL);
		if (result != SQLITE_OK) {
			*r = fail(w, result);
			return NULL;
		}
	}
	*r = 0;
	return w->statements[which];
}

int writer_step(struct archive_writer *w, sqlite3_stmt *statement)
{
	int result = sqlite3_step(statement);

	if (result == SQLITE_ROW)
		return WRITER_ROW;
	if (result == SQLITE_DONE)
		return 0;
	return fail(w, result);
}

int writer_run(struct archive_writer *w, enum statement which, size_t n, const int64_t *values)
{
	int r;
	CLEANUP(statement_resetp) sqlite3_stmt *s = writer_statement(w, which, &r);

	if (!s)
		return r;
	for (size_t i = 0; i < n; i++)
		sqlite3_bind_int64(s, (int)i + 1, values[i]);
	while ((r = writer_step(w, s)) == WRITER_ROW)
		;
	return r;
}

int writer_number(struct archive_writer *w, enum statement which, size_t n, const int64_t *values, int64_t *value,
		  bool *is_null)
{
	int r;
	CLEANUP(statement_resetp) sqlite3_stmt *s = writer_statement(w, which, &r);

	if (!s)
		return r;
	for (size_t i = 0; i < n; i++)
		sqlite3_bind_int64(s, (int)i + 1, values[i]);
	r = writer_step(w, s);
	*is_null = r != WRITER_ROW || sqlite3_column_type(s, 0) == SQLITE_NULL;
	*value = *is_null ? 0 : sqlite3_column_int64(s, 0);
	return r == WRITER_ROW ? 0 : r;
}
