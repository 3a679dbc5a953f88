/* Read captures, their ranges and their contexts. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "reader-state.h"

static int read_captures(struct reader *r, sqlite3_stmt *s, reader_capture_call *call, void *context, bool *any)
{
	struct reader_capture c;
	int rc;

	*any = false;
	while ((rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		*any = true;
		c = (struct reader_capture){
			.capture = {.id = sqlite3_column_int64(s, 0),
				    .run = sqlite3_column_int64(s, 1),
				    .kind = column_string(s, 2),
				    .real = column_u64(s, 3),
				    .mono = column_u64(s, 4),
				    .pinned = sqlite3_column_int(s, 5) != 0,
				    .note = column_string(s, 6),
				    .marks = column_string(s, 7),
				    .version = sqlite3_column_int64(s, 8)},
			.name = column_string(s, 9),
			.uuid = column_text(s, 10),
			.correction = sqlite3_column_int64(s, 11),
		};
		rc = call(context, &c);
		if (rc != 0)
			break;
	}
	return rc;
}

int reader_captures(struct reader *r, int64_t run, int64_t before, unsigned limit, reader_capture_call *call,
		    void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool any;
	int rc = reader_statement(r, run ? S_CAPTURES_OF : S_CAPTURES, VALUES(before, (int64_t)limit), &s);

	if (rc == 0 && run)
		sqlite3_bind_int64(s, 3, run);
	return rc == 0 ? read_captures(r, s, call, context, &any) : rc;
}

int reader_capture(struct reader *r, int64_t id, reader_capture_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool any = false;
	int rc = reader_statement(r, S_CAPTURE, VALUES(id), &s);

	if (rc == 0)
		rc = read_captures(r, s, call, context, &any);
	return rc == 0 && !any ? ARCHIVE_E_ABSENT : rc;
}

int reader_context(struct reader *r, int64_t capture, reader_context_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	const char *text;
	int rc = reader_statement(r, S_CONTEXT, VALUES(capture), &s);

	if (rc == 0)
		rc = statement_step(&r->statements, s);
	if (rc != STATEMENT_ROW)
		return rc ? rc : ARCHIVE_E_ABSENT;
	text = column_text(s, 0);
	return call(context, text, text ? (size_t)sqlite3_column_bytes(s, 0) : 0);
}

int reader_end_capture(struct reader *r, int64_t stream, int64_t *id)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	struct reader_source source = {.stream = stream};
	int rc = reader_statement(r, S_END_CAPTURES, VALUES(stream), &s);

	/*
	 * The range decides whether this is the capture of the end, so it is checked before it is
	 * used.
	 */
	while (s && (rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		source.capture = sqlite3_column_int64(s, 7);
		if (!reader_range_holds(s, source))
			return reader_note_damage(r, source, column_u64(s, 1));
		if (!sqlite3_column_int(s, 8)) {
			*id = source.capture;
			return 0;
		}
	}
	return rc == 0 ? ARCHIVE_E_ABSENT : rc;
}

int reader_capture_ranges(struct reader *r, int64_t capture, reader_range_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	struct reader_capture_range range;
	int rc = reader_statement(r, S_RANGES, VALUES(capture), &s);

	while (rc == 0 && (rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		range = (struct reader_capture_range){
			.range = {.capture = sqlite3_column_int64(s, 0),
				  .stream = sqlite3_column_int64(s, 1),
				  .first_sequence = column_u64(s, 2),
				  .last_sequence = column_u64(s, 3),
				  .last_offset = column_u32(s, 4)},
			.number = column_u32(s, 5),
			.name = column_text(s, 6),
			.tail_bytes = column_u64(s, 7),
			.deletions = column_u64(s, 8),
			.tail_marked = column_u64(s, 9),
			.tail_last = column_u64(s, 10),
			.tail_end = column_u32(s, 11),
			.damaged = column_u64(s, 12),
			.is_end = sqlite3_column_int(s, 13) != 0,
		};
		rc = call(context, &range);
	}
	return rc;
}

/* Add the column COLUMN of the current row of S, with its length, to the state X. */
static void sum_column(XXH3_state_t *x, sqlite3_stmt *s, int column)
{
	int bytes = sqlite3_column_bytes(s, column);
	const void *at = sqlite3_column_blob(s, column);

	XXH3_64bits_update(x, &bytes, sizeof(bytes));
	if (bytes && at)
		XXH3_64bits_update(x, at, (size_t)bytes);
}

int reader_range_sum(struct reader *r, int64_t capture, uint64_t *sum)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_RANGE_SUMS, VALUES(capture), &s);
	XXH3_state_t x;
	bool any = false;

	XXH3_64bits_reset(&x);
	while (s && (rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		for (int i = 0; i < sqlite3_column_count(s); i++)
			sum_column(&x, s, i);
		any = true;
	}
	*sum = XXH3_64bits_digest(&x);
	return rc == 0 && !any ? ARCHIVE_E_ABSENT : rc;
}
