/* Read captures, their ranges and their contexts. */
#include <errno.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "range-list.h"
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

int reader_unread(struct reader *r, int64_t after, unsigned limit, reader_unread_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_UNREAD, VALUES(after, (int64_t)limit), &s);

	while (s && rc == 0 && (rc = statement_step(&r->statements, s)) == STATEMENT_ROW)
		rc = call(context, sqlite3_column_int64(s, 0));
	return rc;
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

/* Read the list of CAPTURE into *LIST, which the caller releases. ARCHIVE_E_ABSENT: there is no such capture. */
static int read_list(struct reader *r, int64_t capture, struct range_list *list)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_LIST, VALUES(capture), &s);

	if (rc == 0)
		rc = statement_step(&r->statements, s);
	if (rc != STATEMENT_ROW)
		return rc ? rc : ARCHIVE_E_ABSENT;
	return range_list_read(list, s, 0, capture, sqlite3_column_int(s, 2) != 0);
}

/* Return whether the capture of LIST may have had streams of which nothing is left. */
static bool list_lacks(struct reader *r, int64_t capture, const struct range_list *list)
{
	if (list->state == RANGE_LIST_DAMAGED)
		(void)reader_note_damage(r, (struct reader_source){.capture = capture}, 0);
	return list->state == RANGE_LIST_LACKS || list->state == RANGE_LIST_DAMAGED;
}

int reader_capture_lacks(struct reader *r, int64_t capture, bool *lacks)
{
	CLEANUP(range_list_deinit) struct range_list list = {0};
	int rc = read_list(r, capture, &list);

	*lacks = rc == 0 && list_lacks(r, capture, &list);
	return rc;
}

/*
 * Check the captures of the end of STREAM's run that have no range of it and are newer than AFTER: the list of one may have
 * that range. Return 0, or an error of the reader.
 */
static int check_end_lists(struct reader *r, int64_t stream, int64_t after)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_END_WITHOUT, VALUES(stream, after), &s);

	while (s && rc == 0 && (rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		CLEANUP(range_list_deinit) struct range_list list = {0};
		struct reader_source source = {.stream = stream, .capture = sqlite3_column_int64(s, 0)};

		rc = read_list(r, source.capture, &list);
		if (rc == 0 && (list.state == RANGE_LIST_DAMAGED || range_list_find(&list, stream)))
			return reader_note_damage(r, source, 0);
	}
	return rc;
}

static int find_end_capture(struct reader *r, int64_t stream, int64_t *id)
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

int reader_end_capture(struct reader *r, int64_t stream, int64_t *id)
{
	int64_t found = 0;
	int rc = find_end_capture(r, stream, &found), checked = 0;

	if (rc == 0 || rc == ARCHIVE_E_ABSENT)
		checked = check_end_lists(r, stream, found);
	if (rc == 0)
		*id = found;
	return checked ? checked : rc;
}

/* ---- the ranges of a capture ----------------------------------------------------------------- */

/* A range as its row says, or the list of its capture. */
struct found_range {
	struct range_entry entry;
	bool is_lost; /* the row is damaged, and no list has it */
};

struct found_ranges {
	struct found_range *list; /* owned */
	size_t n;
};

static void found_ranges_free(struct found_ranges *found)
{
	free(found->list);
}

static int add_range(struct found_ranges *found, struct found_range range)
{
	struct found_range *more = realloc(found->list, (found->n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	found->list = more;
	more[found->n++] = range;
	return 0;
}

/* Add the ranges of the rows of CAPTURE to FOUND; damaged ones as LIST has them. Return 0 or an error of the reader. */
static int find_rows(struct reader *r, int64_t capture, const struct range_list *list, struct found_ranges *found)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_RANGES, VALUES(capture), &s);

	while (s && rc == 0 && (rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		struct reader_source source = {.stream = sqlite3_column_int64(s, 7), .capture = capture};
		const struct range_entry *entry = range_list_find(list, source.stream);
		struct found_range range = {.entry = {.stream = source.stream,
						      .number = column_u32(s, 8),
						      .first_sequence = sqlite3_column_int64(s, 0),
						      .last_sequence = sqlite3_column_int64(s, 1),
						      .last_offset = sqlite3_column_int64(s, 2),
						      .tail_bytes = sqlite3_column_int64(s, 3)}};

		if (!reader_range_holds(s, source)) {
			(void)reader_note_damage(r, source, 0);
			range.is_lost = !entry;
			if (entry)
				range.entry = *entry;
		}
		rc = add_range(found, range);
	}
	return rc;
}

/* Add the ranges of LIST that have no row to FOUND. Return 0 or -ENOMEM. */
static int find_missing(struct reader *r, int64_t capture, const struct range_list *list, struct found_ranges *found)
{
	const size_t rows = found->n;
	int rc = 0;

	for (size_t i = 0; i < list->n && rc == 0; i++) {
		bool any = false;

		for (size_t k = 0; k < rows; k++)
			any |= found->list[k].entry.stream == list->entries[i].stream;
		if (any)
			continue;
		(void)reader_note_damage(
			r, (struct reader_source){.stream = list->entries[i].stream, .capture = capture}, 0);
		rc = add_range(found, (struct found_range){.entry = list->entries[i]});
	}
	return rc;
}

static int by_number(const void *a, const void *b)
{
	const struct found_range *x = a, *y = b;

	if (x->entry.number != y->entry.number)
		return x->entry.number < y->entry.number ? -1 : 1;
	return x->entry.stream < y->entry.stream ? -1 : x->entry.stream > y->entry.stream;
}

/* Pass RANGE of CAPTURE to CALL. Return what CALL returns, or an error of the reader. */
static int pass_range(struct reader *r, int64_t capture, const struct found_range *range, reader_range_call *call,
		      void *context)
{
	const struct range_entry *e = &range->entry;
	struct reader_capture_range passed = {.range = {.capture = capture, .stream = e->stream}, .number = e->number};
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_RANGE, VALUES(capture, e->stream), &s);

	if (rc == 0)
		rc = statement_step(&r->statements, s);
	if (rc != STATEMENT_ROW)
		return rc;
	if (range->is_lost || sqlite3_column_type(s, 0) == SQLITE_NULL) {
		/* Nothing of the stream is found without its row. */
		passed.tail_marked = 1;
		return call(context, &passed);
	}
	passed.range.first_sequence = (uint64_t)e->first_sequence;
	passed.range.last_sequence = (uint64_t)e->last_sequence;
	passed.range.last_offset = (uint32_t)e->last_offset;
	passed.name = column_text(s, 1);
	passed.tail_bytes = column_u64(s, 2);
	passed.deletions = column_u64(s, 3);
	passed.tail_marked = (uint64_t)e->tail_bytes;
	passed.tail_last = column_u64(s, 4);
	passed.tail_end = column_u32(s, 5);
	passed.damaged = column_u64(s, 6);
	passed.is_end = sqlite3_column_int(s, 7) != 0;
	return call(context, &passed);
}

static int capture_ranges(struct reader *r, int64_t capture, reader_range_call *call, void *context, bool *lacks)
{
	CLEANUP(range_list_deinit) struct range_list list = {0};
	CLEANUP(found_ranges_free) struct found_ranges found = {0};
	int rc = read_list(r, capture, &list);

	if (rc != 0)
		return rc;
	*lacks = list_lacks(r, capture, &list);
	rc = find_rows(r, capture, &list, &found);
	if (rc == 0)
		rc = find_missing(r, capture, &list, &found);
	if (rc == 0 && found.n)
		qsort(found.list, found.n, sizeof(*found.list), by_number);
	for (size_t i = 0; i < found.n && rc == 0; i++)
		rc = pass_range(r, capture, &found.list[i], call, context);
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

int reader_capture_ranges(struct reader *r, int64_t capture, reader_range_call *call, void *context, bool *lacks)
{
	bool unused;
	/* The list and the rows are read as one commit left them. */
	bool alone = !r->db || sqlite3_get_autocommit(r->db);
	int rc = alone ? reader_begin(r) : 0;

	if (rc != 0)
		return rc;
	rc = capture_ranges(r, capture, call, context, lacks ? lacks : &unused);
	if (alone)
		reader_end(r);
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
