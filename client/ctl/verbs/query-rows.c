#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer-output.h"
#include "cleanup.h"
#include "csv-text.h"
#include "query-rows.h"
#include "table.h"

/* Rows whose widths a table knows before it prints the first one, and the most characters by which it pads a cell. */
#define AHEAD	    1000u
#define AHEAD_BYTES (4u << 20)
#define PAD_MAX	    60

struct rows_table {
	struct trace_query *query; /* borrowed */
	size_t columns;
	int *widths;	/* owned */
	bool *left;	/* by column: a cell ahead is a text; owned */
	char **cells;	/* of the rows ahead; owned */
	size_t n, room; /* of CELLS */
	size_t bytes;
};

static void rows_table_deinit(struct rows_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t->widths);
	free(t->left);
}

/* Return the text of column I, escaped; the caller frees it. Return NULL without memory. */
static char *cell_text(const struct trace_query *q, size_t i)
{
	const char *text;

	if (sqlite3_column_type(q->statement, (int)i) == SQLITE_NULL)
		return strdup("-");
	text = sqlite3_column_blob(q->statement, (int)i);
	return printable(text ? text : "", text ? (size_t)sqlite3_column_bytes(q->statement, (int)i) : 0);
}

/* Store the cell TEXT, which becomes the table's. Return false without memory, or if TEXT is NULL. */
static bool cell_hold(struct rows_table *t, char *text)
{
	size_t room = t->room ? 2 * t->room : 64;
	char **grown;

	if (t->n == t->room) {
		grown = text ? realloc(t->cells, room * sizeof(*grown)) : NULL;
		if (!grown) {
			free(text);
			return false;
		}
		t->cells = grown;
		t->room = room;
	}
	if (!text)
		return false;
	t->cells[t->n++] = text;
	t->bytes += strlen(text);
	return true;
}

/* Take the names of the columns, and the rows ahead. Set *ROW if the query's row is behind them. Return an exit code. */
static int rows_ahead(struct rows_table *t, bool *row)
{
	sqlite3_stmt *s = t->query->statement;
	int r;

	for (size_t i = 0; i < t->columns; i++) {
		const char *name = sqlite3_column_name(s, (int)i);

		if (!name || !cell_hold(t, printable(name, strlen(name))))
			return say_memory();
	}
	for (size_t n = 0;; n++) {
		r = trace_query_step(t->query, row);
		if (r || !*row || n == AHEAD || t->bytes > AHEAD_BYTES)
			return r;
		for (size_t i = 0; i < t->columns; i++) {
			int type = sqlite3_column_type(s, (int)i);

			t->left[i] |= type == SQLITE_TEXT || type == SQLITE_BLOB;
			if (!cell_hold(t, cell_text(t->query, i)))
				return say_memory();
		}
	}
}

static void cell_print(const struct rows_table *t, size_t column, const char *text)
{
	int pad = t->widths[column] - text_width(text);
	bool last = column + 1 == t->columns;

	pad = pad > 0 ? pad : 0;
	if (t->left[column])
		printf("%s%*s", text, last ? 0 : pad, "");
	else
		printf("%*s%s", pad, "", text);
	fputs(last ? "\n" : "  ", stdout);
}

/* Print the cells ahead. */
static void ahead_print(const struct rows_table *t)
{
	int width;

	for (size_t i = 0; i < t->n; i++) {
		width = text_width(t->cells[i]);
		width = width < PAD_MAX ? width : PAD_MAX;
		if (width > t->widths[i % t->columns])
			t->widths[i % t->columns] = width;
	}
	for (size_t i = 0; i < t->n; i++)
		cell_print(t, i % t->columns, t->cells[i]);
}

/* Print the row that the query has. Return an exit code. */
static int row_print(const struct rows_table *t)
{
	for (size_t i = 0; i < t->columns; i++) {
		CLEANUP(freep) char *text = cell_text(t->query, i);

		if (!text)
			return say_memory();
		cell_print(t, i, text);
	}
	return CTL_OK;
}

int query_rows_table(struct trace_query *q)
{
	CLEANUP(rows_table_deinit)
	struct rows_table t = {.query = q, .columns = (size_t)sqlite3_column_count(q->statement)};
	bool row = false;
	int r;

	t.widths = calloc(t.columns, sizeof(*t.widths));
	t.left = calloc(t.columns, sizeof(*t.left));
	if (!t.widths || !t.left)
		return say_memory();
	r = rows_ahead(&t, &row);
	if (r)
		return r;
	ahead_print(&t);
	while (!r && row && !ferror(stdout)) {
		r = row_print(&t);
		r = r ? r : trace_query_step(q, &row);
	}
	return r ? r : stdout_verdict();
}

/* ---- comma-separated values */

static void csv_cell(struct writer *w, sqlite3_stmt *s, int i)
{
	int type = sqlite3_column_type(s, i);
	const char *text = sqlite3_column_blob(s, i);
	size_t n = text ? (size_t)sqlite3_column_bytes(s, i) : 0;

	if (type == SQLITE_TEXT || type == SQLITE_BLOB)
		csv_text_put(w, text ? text : "", n);
	else if (n)
		writer_put(w, text, n);
}

/* Print the rows of Q to W. Return an exit code. */
static int csv_rows(struct trace_query *q, struct writer *w)
{
	int columns = sqlite3_column_count(q->statement), r;
	bool row;

	for (int i = 0; i < columns; i++) {
		const char *name = sqlite3_column_name(q->statement, i);

		if (!name)
			return say_memory();
		csv_text_put(w, name, strlen(name));
		writer_put(w, i + 1 < columns ? "," : "\r\n", i + 1 < columns ? 1 : 2);
	}
	for (;;) {
		r = trace_query_step(q, &row);
		if (r || !row || w->error)
			return r;
		for (int i = 0; i < columns; i++) {
			csv_cell(w, q->statement, i);
			writer_put(w, i + 1 < columns ? "," : "\r\n", i + 1 < columns ? 1 : 2);
		}
	}
}

int query_rows_csv(struct trace_query *q)
{
	CLEANUP(writer_deinit) struct writer w = {0};
	int r;

	if (!writer_init(&w, STDOUT_FILENO))
		return say_memory();
	r = csv_rows(q, &w);
	writer_flush(&w);
	if (r || !w.error || w.error == EPIPE)
		return r;
	say("cannot write standard output: %s", strerror(w.error));
	return CTL_FAILED;
}

/* ---- JSON */

static void json_cell(struct mprof_json *j, sqlite3_stmt *s, int i)
{
	const char *text;

	switch (sqlite3_column_type(s, i)) {
	case SQLITE_NULL:
		mprof_json_null(j, NULL);
		break;
	case SQLITE_INTEGER:
		mprof_json_number(j, NULL, sqlite3_column_int64(s, i));
		break;
	case SQLITE_FLOAT:
		if (sqlite3_column_double(s, i) - sqlite3_column_double(s, i) == 0) {
			mprof_json_real(j, NULL, sqlite3_column_double(s, i));
			break;
		}
		__attribute__((fallthrough)); /* an infinite number is a text */
	default:
		text = sqlite3_column_blob(s, i);
		mprof_json_text(j, NULL, text ? text : "", text ? (size_t)sqlite3_column_bytes(s, i) : 0);
	}
}

int query_rows_json(struct trace_query *q, struct timing *timing)
{
	struct mprof_json j = answer_output(timing);
	int columns = sqlite3_column_count(q->statement), r;
	bool row;

	j.pretty = false;
	j.rows = true;
	mprof_json_open(&j, NULL, '{');
	mprof_json_open(&j, "columns", '[');
	for (int i = 0; i < columns; i++)
		mprof_json_word(&j, NULL, sqlite3_column_name(q->statement, i));
	mprof_json_close(&j, ']');
	mprof_json_open(&j, "rows", '[');
	while (!(r = trace_query_step(q, &row)) && row && !ferror(stdout)) {
		mprof_json_open(&j, NULL, '[');
		for (int i = 0; i < columns; i++)
			json_cell(&j, q->statement, i);
		mprof_json_close(&j, ']');
	}
	mprof_json_close(&j, ']');
	if (r) {
		fflush(stdout);
		return r;
	}
	return answer_output_end(&j);
}
