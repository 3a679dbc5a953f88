/*
 * No journal is needed, because a failed export leaves no file. A statement that inserts many rows
 * takes half of the time that statements for each row take.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/trace.h>

#include "array.h"
#include "sqlite-tables.h"
#include "sqlite-views.h"
#include "trace-tables.h"

#define TABLES_BEGIN                          \
	"PRAGMA page_size = 16384;"           \
	"PRAGMA cache_size = -65536;"         \
	"PRAGMA journal_mode = OFF;"          \
	"PRAGMA synchronous = OFF;"           \
	"PRAGMA locking_mode = EXCLUSIVE;"    \
	"PRAGMA application_id = 0x6d70726f;" \
	"PRAGMA user_version = 1;"            \
	"BEGIN"

#define BATCH	   32u	       /* rows */
#define BATCH_TEXT (64u << 10) /* bytes */
#define SQL_MAX	   2048u

struct row_def {
	const char *head, *tuple; /* the statement; a batch repeats TUPLE */
	int columns;
};

static const struct row_def row_defs[TABLE_ROWS] = {
	[ROW_THREAD] = {"INSERT INTO threads VALUES ", "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", 14},
	[ROW_ACTIVATION] = {"INSERT INTO activations VALUES ", "(NULL, ?, ?, ?)", 3},
	[ROW_INTERACTION] = {"INSERT INTO interactions VALUES ", "(NULL, ?, ?, ?, ?, ?)", 5},
	[ROW_LABEL] = {"INSERT INTO labels VALUES ", "(NULL, ?, ?, ?)", 3},
	[ROW_SAMPLE] = {"INSERT INTO samples VALUES ", "(NULL, ?, ?, ?, ?, ?)", 5},
	[ROW_TRACE] = {"INSERT INTO trace VALUES ", "(?, ?, ?, ?)", 4},
	[ROW_STREAM] = {"INSERT INTO streams VALUES ", "(?, ?, NULL, NULL, 0, 0, 0)", 2},
	[ROW_STREAM_TOTALS] = {"UPDATE streams SET first_ns = ?2, last_ns = ?3, events = ?4, packets = ?5, ",
			       "lost_packets = ?6 WHERE stream = ?1", 6},
	[ROW_PACKET] = {"INSERT INTO packets VALUES ", "(NULL, ?, ?, ?, ?, ?, ?, ?, ?)", 8},
	[ROW_THREAD_END] = {"UPDATE threads SET ended_ns = ?2, ending = ?3, resolver = ?4, became = ?5, ",
			    "failure = ?6, expected = ?7 WHERE thread = ?1", 7},
	[ROW_THREAD_LABEL] = {"UPDATE threads SET label = ?2 ", "WHERE thread = ?1", 2},
	[ROW_THREAD_EXPECTED] = {"UPDATE threads SET expected = 1 ", "WHERE thread = ?1", 1},
	[ROW_COUNTER] = {"INSERT INTO counters VALUES ", "(?, ?, ?, ?)", 4},
	[ROW_DURATION] = {"INSERT INTO durations VALUES ", "(NULL, ?, ?, ?, ?, ?, ?)", 6},
	[ROW_COLLECTION] = {"INSERT INTO collections VALUES ", "(NULL, ?, ?, ?, ?)", 4},
	[ROW_GAP] = {"INSERT INTO gaps VALUES ", "(NULL, ?, ?, ?, ?)", 4},
	[ROW_DAMAGE] = {"INSERT INTO damages VALUES ", "(NULL, ?, ?, ?, ?, ?, ?)", 6},
	[ROW_SECOND] = {"INSERT INTO seconds VALUES ",
			"(?, ?, ?) ON CONFLICT (stream, second) DO UPDATE SET events = events + excluded.events", 3},
};

/* Return the -errno of SQLite's CODE. */
static int error_of(const struct trace_tables *t, int code)
{
	if (t->file.error)
		return -t->file.error;
	switch (code & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_TOOBIG:
		return -EFBIG;
	default:
		return -EIO;
	}
}

/* Run the statements of a file of schema/. */
static int run(struct trace_tables *t, const unsigned char *sql, size_t bytes)
{
	const char *at = (const char *)sql, *end = at + bytes;
	int code = SQLITE_OK;

	while (at < end && code == SQLITE_OK) {
		sqlite3_stmt *statement = NULL;

		code = sqlite3_prepare_v2(t->db, at, (int)(end - at), &statement, &at);
		if (code == SQLITE_OK && statement)
			sqlite3_step(statement);
		if (statement)
			code = sqlite3_finalize(statement);
	}
	return error_of(t, code);
}

/* Prepare the statement of ROW with its tuple repeated TIMES times. */
static int prepare(struct trace_tables *t, size_t row, unsigned int times, sqlite3_stmt **statement)
{
	const struct row_def *def = &row_defs[row];
	char sql[SQL_MAX];
	size_t n = (size_t)snprintf(sql, sizeof(sql), "%s%s", def->head, def->tuple);

	for (unsigned int i = 1; i < times && n < sizeof(sql); i++)
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, ", %s", def->tuple);
	return error_of(t, sqlite3_prepare_v3(t->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL));
}

static int batch_init(struct trace_tables *t, size_t row)
{
	struct table_batch *b = &t->batches[row];

	b->cells = calloc((size_t)row_defs[row].columns * BATCH, sizeof(*b->cells));
	b->text = malloc(BATCH_TEXT);
	return b->cells && b->text ? prepare(t, row, BATCH, &b->statement) : -ENOMEM;
}

int trace_tables_init(struct trace_tables *t, int fd)
{
	int r, code;

	memset(t, 0, sizeof(*t));
	r = database_file_init(&t->file, fd);
	if (r)
		return r;
	code = database_file_open(&t->file, false, &t->db);
	if (code == SQLITE_OK)
		code = sqlite3_exec(t->db, TABLES_BEGIN, NULL, NULL, NULL);
	r = code == SQLITE_OK ? run(t, sqlite_tables, sizeof(sqlite_tables)) : error_of(t, code);
	for (size_t i = 0; i < ARRAY_SIZE(row_defs) && !r; i++)
		r = prepare(t, i, 1, &t->statements[i]);
	for (size_t i = 0; i < TABLE_BATCHES && !r; i++)
		r = batch_init(t, i);
	return r;
}

static int close_database(struct trace_tables *t)
{
	int code;

	for (size_t i = 0; i < ARRAY_SIZE(row_defs); i++) {
		sqlite3_finalize(t->statements[i]);
		t->statements[i] = NULL;
	}
	for (size_t i = 0; i < TABLE_BATCHES; i++) {
		sqlite3_finalize(t->batches[i].statement);
		t->batches[i].statement = NULL;
	}
	code = sqlite3_close(t->db);
	t->db = NULL;
	return error_of(t, code);
}

void trace_tables_deinit(struct trace_tables *t)
{
	close_database(t);
	for (size_t i = 0; i < TABLE_BATCHES; i++) {
		free(t->batches[i].cells);
		free(t->batches[i].text);
	}
	database_file_deinit(&t->file);
}

static int bind(sqlite3_stmt *statement, int at, const struct table_cell *cell)
{
	switch (cell->kind) {
	case CELL_NUMBER:
		return sqlite3_bind_int64(statement, at, cell->number);
	case CELL_CONSTANT:
		return sqlite3_bind_text(statement, at, cell->text, -1, SQLITE_STATIC);
	case CELL_TEXT:
		if (!memchr(cell->text, 0, cell->bytes) && mprof_text_is_utf8(cell->text, cell->bytes))
			return sqlite3_bind_text64(statement, at, cell->text, cell->bytes, SQLITE_STATIC, SQLITE_UTF8);
		return sqlite3_bind_blob64(statement, at, cell->text, cell->bytes, SQLITE_STATIC);
	case CELL_NULL:
		break;
	}
	return sqlite3_bind_null(statement, at);
}

/* Run STATEMENT with N values. */
static int step(struct trace_tables *t, sqlite3_stmt *statement, const struct table_cell *cells, int n)
{
	int code = SQLITE_OK;

	for (int i = 0; i < n && code == SQLITE_OK; i++)
		code = bind(statement, i + 1, &cells[i]);
	if (code != SQLITE_OK)
		return error_of(t, code);
	sqlite3_step(statement);
	return error_of(t, sqlite3_reset(statement));
}

/* Insert the rows of the batch. */
static int flush(struct trace_tables *t, size_t row)
{
	struct table_batch *b = &t->batches[row];
	int columns = row_defs[row].columns, rows = b->rows, r = 0;

	b->rows = 0;
	b->text_bytes = 0;
	if (rows == BATCH)
		return step(t, b->statement, b->cells, columns * rows);
	for (int i = 0; i < rows && !r; i++)
		r = step(t, t->statements[row], b->cells + (ptrdiff_t)columns * i, columns);
	return r;
}

/* Add a row to the batch, whose text buffer has room for the row's texts. */
static int add(struct trace_tables *t, enum table_row row, const struct table_cell *cells)
{
	struct table_batch *b = &t->batches[row];
	int columns = row_defs[row].columns;
	struct table_cell *to = b->cells + (ptrdiff_t)columns * b->rows;

	for (int i = 0; i < columns; i++) {
		to[i] = cells[i];
		if (cells[i].kind != CELL_TEXT)
			continue;
		to[i].text = b->text + b->text_bytes;
		memcpy(b->text + b->text_bytes, cells[i].text, cells[i].bytes);
		b->text_bytes += cells[i].bytes;
	}
	b->rows++;
	return b->rows == BATCH ? flush(t, row) : 0;
}

int trace_tables_put(struct trace_tables *t, enum table_row row, const struct table_cell *cells)
{
	int columns = row_defs[row].columns, r = 0;
	size_t bytes = 0;

	if (row == ROW_THREAD_END || row == ROW_THREAD_LABEL || row == ROW_THREAD_EXPECTED)
		r = flush(t, ROW_THREAD); /* the thread may be there */
	if (r || row >= TABLE_BATCHES)
		return r ? r : step(t, t->statements[row], cells, columns);
	for (int i = 0; i < columns; i++)
		bytes += cells[i].kind == CELL_TEXT ? cells[i].bytes : 0;
	if (bytes > BATCH_TEXT - t->batches[row].text_bytes)
		r = flush(t, row);
	if (r || bytes > BATCH_TEXT)
		return r ? r : step(t, t->statements[row], cells, columns);
	return add(t, row, cells);
}

int trace_tables_finish(struct trace_tables *t)
{
	int r = 0, closed;

	for (size_t i = 0; i < TABLE_BATCHES && !r; i++)
		r = flush(t, i);
	r = r ? r : run(t, sqlite_views, sizeof(sqlite_views));
	r = r ? r : error_of(t, sqlite3_exec(t->db, "COMMIT", NULL, NULL, NULL));
	closed = close_database(t);
	return r ? r : closed;
}
