/*
 * The tables of the database of a trace (schema/sqlite/tables.sql). Rows go in one by one, in one
 * transaction; indices and views are made at the end.
 *
 * Memory is bounded: SQLite's cache of pages, and a batch of rows of each frequent kind.
 */
#ifndef CTL_TRACE_TABLES_H
#define CTL_TRACE_TABLES_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "database-file.h"

/* The kinds of rows. Each comment has the columns in order. */
enum table_row {
	/*
	 * thread, stream, id, type, origin, creator, created_ns, ended_ns, ending, resolver, became,
	 * failure, label, expected
	 */
	ROW_THREAD,
	ROW_ACTIVATION,	   /* thread, start_ns, end_ns */
	ROW_INTERACTION,   /* time_ns, kind, thread, other, text */
	ROW_LABEL,	   /* time_ns, thread, text */
	ROW_SAMPLE,	   /* time_ns, counter, value, increase, thread */
	ROW_TRACE,	   /* name, events, clamped_times, refused_events */
	ROW_STREAM,	   /* stream, name */
	ROW_STREAM_TOTALS, /* stream, first_ns, last_ns, events, packets, lost_packets: of a stream that is there */
	ROW_PACKET,	   /* stream, sequence, offset, content_bytes, packet_bytes, events, first_ns, last_ns */
	ROW_THREAD_END,	  /* thread, ended_ns, ending, resolver, became, failure, expected: of a thread that is there */
	ROW_THREAD_LABEL, /* thread, label: of a thread that is there */
	ROW_THREAD_EXPECTED, /* thread: one that is there */
	ROW_COUNTER,	     /* counter, stream, name, kind */
	ROW_DURATION,	     /* stream, thread, start_ns, end_ns, duration_ns, name */
	ROW_COLLECTION,	     /* stream, start_ns, end_ns, duration_ns */
	ROW_GAP,	     /* stream, after_ns, before_ns, packets */
	ROW_DAMAGE,	     /* stream, time_ns, packet, offset, skipped, reason */
	ROW_SECOND,	     /* stream, second, events: added to those of the second so far */
	TABLE_ROWS,
};

/* The first rows of enum table_row are frequent. They are inserted many at once. */
#define TABLE_BATCHES (ROW_SAMPLE + 1)

enum table_cell_kind { CELL_NULL, CELL_NUMBER, CELL_CONSTANT, CELL_TEXT };

/* A value of a row. */
struct table_cell {
	enum table_cell_kind kind;
	int64_t number;
	/* A string literal for CELL_CONSTANT; BYTES bytes of any kind for CELL_TEXT; borrowed. */
	const char *text;
	size_t bytes;
};

static inline struct table_cell cell_number(int64_t number)
{
	return (struct table_cell){.kind = CELL_NUMBER, .number = number};
}

/* NULL for number 0, which no thread has. */
static inline struct table_cell cell_thread(uint32_t thread)
{
	return (struct table_cell){.kind = thread ? CELL_NUMBER : CELL_NULL, .number = thread};
}

/* NULL if TEXT is NULL. */
static inline struct table_cell cell_constant(const char *text)
{
	return (struct table_cell){.kind = text ? CELL_CONSTANT : CELL_NULL, .text = text};
}

/* NULL if TEXT is NULL. */
static inline struct table_cell cell_text(const char *text, size_t bytes)
{
	return (struct table_cell){.kind = text ? CELL_TEXT : CELL_NULL, .text = text, .bytes = bytes};
}

/* Rows of one kind that wait for being inserted together. */
struct table_batch {
	sqlite3_stmt *statement;  /* inserts a full batch */
	struct table_cell *cells; /* owned */
	int rows;
	char *text; /* the texts of CELLS; owned */
	size_t text_bytes;
};

struct trace_tables {
	struct database_file file;
	sqlite3 *db;
	struct table_batch batches[TABLE_BATCHES];
	sqlite3_stmt *statements[TABLE_ROWS];
};

/*
 * Begin the database in the empty regular file FD, which the caller closes later. Return 0 or
 * -errno. The caller deinits T in any case. T must not move.
 */
int trace_tables_init(struct trace_tables *t, int fd);
void trace_tables_deinit(struct trace_tables *t);

/*
 * Do ROW with CELLS, its values. Texts are copied, or used before the function returns. Return 0
 * or -errno.
 */
int trace_tables_put(struct trace_tables *t, enum table_row row, const struct table_cell *cells);

/* Make indices and views, and end the transaction. Return 0 or -errno. */
int trace_tables_finish(struct trace_tables *t);

#endif
