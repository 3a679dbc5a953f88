/*
 * Write the lists of the captures' ranges (range-list.h), and write ranges again that are gone.
 *
 * Invariant: a transaction that changes a row of capture_streams changes the list of its capture, too.
 */
#include <errno.h>

#include "index-check.h"
#include "index-entries.h"
#include "range-list.h"
#include "writer-state.h"

static int write_list(struct archive_writer *w, int64_t capture, const struct range_list *list)
{
	uint8_t checksum[CHECKSUM_BYTES];
	CLEANUP(freep) uint8_t *ranges = NULL;
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	size_t bytes;
	int r = range_list_pack(list, capture, &ranges, &bytes, checksum);

	if (r == 0)
		r = statement_get(&w->store.statements, STATEMENT_WRITE_LIST, VALUES(capture), &s);
	if (!s)
		return r;
	statement_bind_bytes(s, 2, ranges, bytes);
	sqlite3_bind_blob(s, 3, checksum, sizeof(checksum), SQLITE_STATIC);
	return statement_step(&w->store.statements, s);
}

/* Read the list of CAPTURE. Return 0, ARCHIVE_E_ABSENT if there is no such capture, or an error. */
static int read_list(struct archive_writer *w, int64_t capture, struct range_list *list)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_READ_LIST, VALUES(capture), &s);

	if (!s)
		return r;
	r = statement_step(&w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r ? r : ARCHIVE_E_ABSENT;
	return range_list_read(list, s, 0, capture, sqlite3_column_int(s, 2) != 0);
}

/* Return whether ENTRY, of the current row of S, agrees with the checksum in column 7. */
static bool row_holds(sqlite3_stmt *s, int64_t capture, const struct range_entry *entry)
{
	const struct checksum_row row = {.numbers = {capture, entry->stream, entry->first_sequence,
						     entry->last_sequence, entry->last_offset, entry->tail_bytes,
						     entry->reached},
					 .n = 7};

	return checksum_holds(s, 7, sqlite3_column_int(s, 8) != 0, &row);
}

/*
 * Add the ranges that the archive has of CAPTURE, or that of STREAM alone (0 = all), to LIST; damaged ones are left out.
 */
static int list_rows(struct archive_writer *w, int64_t capture, int64_t stream, struct range_list *list)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_LIST_ROWS, VALUES(capture, stream), &s);

	while (s && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
		const struct range_entry entry = {.stream = sqlite3_column_int64(s, 0),
						  .number = (uint32_t)sqlite3_column_int64(s, 1),
						  .first_sequence = sqlite3_column_int64(s, 2),
						  .last_sequence = sqlite3_column_int64(s, 3),
						  .last_offset = sqlite3_column_int64(s, 4),
						  .tail_bytes = sqlite3_column_int64(s, 5),
						  .reached = sqlite3_column_int64(s, 6)};

		r = row_holds(s, capture, &entry) ? range_list_put(list, &entry) : 0;
		if (r != 0)
			return r;
	}
	return r;
}

int list_begin(struct archive_writer *w, int64_t capture)
{
	return write_list(w, capture, &(struct range_list){.state = RANGE_LIST_WHOLE});
}

int list_put(struct archive_writer *w, int64_t capture, int64_t stream)
{
	CLEANUP(range_list_deinit) struct range_list list = {0};
	int r = read_list(w, capture, &list);

	if (r != 0 || list.state == RANGE_LIST_OLD)
		return r == ARCHIVE_E_ABSENT ? 0 : r;
	if (list.state == RANGE_LIST_DAMAGED)
		return list_repair(w, capture, &(bool){false});
	r = list_rows(w, capture, stream, &list);
	return r ? r : write_list(w, capture, &list);
}

int list_make(struct archive_writer *w, int64_t capture)
{
	CLEANUP(range_list_deinit) struct range_list list = {0};
	int r = read_list(w, capture, &list);

	if (r != 0 || list.state != RANGE_LIST_OLD)
		return r;
	list.state = RANGE_LIST_WHOLE;
	r = list_rows(w, capture, 0, &list);
	return r ? r : write_list(w, capture, &list);
}

int list_repair(struct archive_writer *w, int64_t capture, bool *damaged)
{
	CLEANUP(range_list_deinit) struct range_list list = {0};
	int r = read_list(w, capture, &list);

	*damaged = r == 0 && list.state == RANGE_LIST_DAMAGED;
	if (!*damaged)
		return r == ARCHIVE_E_ABSENT ? 0 : r;
	list.state = RANGE_LIST_LACKS;
	r = list_rows(w, capture, 0, &list);
	return r ? r : write_list(w, capture, &list);
}

int list_lack(struct archive_writer *w, int64_t capture)
{
	CLEANUP(range_list_deinit) struct range_list list = {0};
	int r = list_make(w, capture);

	if (r == 0)
		r = list_repair(w, capture, &(bool){false});
	if (r == 0)
		r = read_list(w, capture, &list);
	if (r != 0 || list.state == RANGE_LIST_LACKS)
		return r == ARCHIVE_E_ABSENT ? 0 : r;
	list.state = RANGE_LIST_LACKS;
	return write_list(w, capture, &list);
}

int archive_writer_capture_lacks(struct archive_writer *w, int64_t capture)
{
	return list_lack(w, capture);
}

/* Write the range of ENTRY as the list has it. */
static int put_entry(struct archive_writer *w, int64_t capture, const struct range_entry *entry)
{
	const struct checksum_row row = {.numbers = {capture, entry->stream, entry->first_sequence,
						     entry->last_sequence, entry->last_offset, entry->tail_bytes,
						     entry->reached},
					 .n = 7};
	uint8_t checksum[CHECKSUM_BYTES];
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_PUT_RANGE, NO_VALUES, &s);

	if (!s)
		return r;
	checksum_make(&row, checksum);
	for (int i = 0; i < 7; i++)
		sqlite3_bind_int64(s, i + 1, row.numbers[i]);
	sqlite3_bind_blob(s, 8, checksum, sizeof(checksum), SQLITE_STATIC);
	r = statement_step(&w->store.statements, s);
	w->damage.pieces += r == 0;
	w->wants_sync |= r == 0;
	return r;
}

/* Find a stream of which the archive has a damaged range of CAPTURE, and LIST has none. *STREAM: 0 = there is none. */
static int find_false(struct archive_writer *w, int64_t capture, const struct range_list *list, int64_t *stream)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_RANGE_STREAMS, VALUES(capture), &s);

	*stream = 0;
	while (s && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
		CLEANUP(range_list_deinit) struct range_list whole = {0};
		const int64_t n = sqlite3_column_int64(s, 0);

		r = range_list_find(list, n) ? 0 : list_rows(w, capture, n, &whole);
		if (r != 0)
			return r;
		if (!range_list_find(list, n) && !whole.n) {
			*stream = n;
			return 0;
		}
	}
	return r;
}

/*
 * Delete the damaged ranges of CAPTURE that LIST does not name: their streams or captures were damaged. *DROPPED: there were some. A list that may
 * lack ranges says nothing.
 */
static int drop_false(struct archive_writer *w, int64_t capture, const struct range_list *list, bool *dropped)
{
	int64_t stream, last = 0;
	int r;

	*dropped = false;
	if (list->state != RANGE_LIST_WHOLE)
		return 0;
	while ((r = find_false(w, capture, list, &stream)) == 0 && stream != last) {
		/* SQLite deletes no row that differs from its entry. */
		r = *dropped ? 0 : index_check(w, "capture_streams");
		if (r == 0)
			r = WRITER_RUN(w, STATEMENT_DROP_RANGE, capture, stream);
		if (r != 0)
			return r;
		*dropped = true;
		last = stream;
	}
	return r;
}

int list_restore(struct archive_writer *w, int64_t capture, int64_t stream, bool *restored)
{
	CLEANUP(range_list_deinit) struct range_list list = {0};
	const struct range_entry *entry;
	int r = read_list(w, capture, &list);

	*restored = false;
	if (r == 0)
		r = drop_false(w, capture, &list, restored);
	if (r != 0)
		return r == ARCHIVE_E_ABSENT ? 0 : r;
	entry = range_list_find(&list, stream);
	if (!entry)
		return 0;
	*restored = true;
	return put_entry(w, capture, entry);
}

int list_check_ranges(struct archive_writer *w, int64_t capture, bool *restored)
{
	CLEANUP(range_list_deinit) struct range_list list = {0};
	int r = read_list(w, capture, &list);

	*restored = false;
	for (size_t i = 0; i < list.n && r == 0; i++) {
		CLEANUP(range_list_deinit) struct range_list whole = {0};
		bool is_restored = false;

		r = list_rows(w, capture, list.entries[i].stream, &whole);
		if (r == 0 && !whole.n)
			r = list_restore(w, capture, list.entries[i].stream, &is_restored);
		*restored |= is_restored;
	}
	return r == ARCHIVE_E_ABSENT ? 0 : r;
}

/* Write those ranges of LIST again that the archive lacks, and add their number to *RESTORED. */
static int restore_missing(struct archive_writer *w, int64_t capture, const struct range_list *list, uint64_t *restored)
{
	int64_t number;
	bool is_absent;
	int r = 0;

	for (size_t i = 0; i < list->n && r == 0; i++) {
		r = statement_number(&w->store.statements, STATEMENT_HAS_RANGE,
				     VALUES(capture, list->entries[i].stream), &number, &is_absent);
		if (r != 0 || !is_absent)
			continue;
		r = put_entry(w, capture, &list->entries[i]);
		++*restored;
	}
	return r;
}

/*
 * Delete what is left of captures whose rows are gone. Nothing tells of which kind they were, so no answer could name
 * them.
 */
static int drop_strays(struct archive_writer *w, uint64_t *strays)
{
	int64_t capture = 0, stream, last = 0, mended = 0;
	bool is_absent, is_stream_absent, is_mended;
	int r;

	while ((r = statement_number(&w->store.statements, STATEMENT_STRAY_CAPTURE, NO_VALUES, &capture, &is_absent)) ==
		       0 &&
	       !is_absent) {
		struct deletion deletion = {.reason = DELETION_DAMAGE, .captures = 1};

		if (capture == last) /* a damaged index would repeat it for ever */
			return -EBADMSG;
		r = index_entries_mend(w, 0, 0, capture, &is_mended);
		if (r != 0)
			return r;
		if (is_mended && capture != mended) { /* an entry alone may have named it */
			mended = capture;
			continue;
		}
		last = capture;
		++*strays;
		r = statement_number(&w->store.statements, STATEMENT_STRAY_STREAM, VALUES(capture), &stream,
				     &is_stream_absent);
		if (r == 0)
			r = tails_subtract(w, capture, &deletion.bytes);
		if (r == 0)
			r = writer_tally_stream(w, is_stream_absent ? 0 : stream, &deletion);
		if (r == 0)
			r = outbox_lose_capture(w, capture, deletion.reason);
		if (r == 0)
			r = WRITER_RUN(w, STATEMENT_DELETE_STRAY_TAILS, capture);
		if (r == 0)
			r = WRITER_RUN(w, STATEMENT_DELETE_STRAY_RANGES, capture);
		if (r == 0)
			r = WRITER_RUN(w, STATEMENT_DELETE_STRAY_LIST, capture);
		if (r != 0)
			return r;
	}
	return r;
}

/* Make the lists of captures that an earlier version wrote. */
static int make_old(struct archive_writer *w)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_OLD_CAPTURES, NO_VALUES, &s);

	while (s && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
		r = list_make(w, sqlite3_column_int64(s, 0));
		if (r != 0)
			return r;
	}
	return r ? r : statement_run(&w->store.statements, STATEMENT_LISTS_MADE, NO_VALUES);
}

static int check_all(struct archive_writer *w, uint64_t *restored, uint64_t *strays)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_SHORT_LISTS, NO_VALUES, &s);

	while (s && (r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
		CLEANUP(range_list_deinit) struct range_list list = {0};
		const int64_t capture = sqlite3_column_int64(s, 0);

		r = range_list_read(&list, s, 1, capture, false);
		if (r == 0)
			r = restore_missing(w, capture, &list, restored);
		if (r != 0)
			return r;
	}
	if (r == 0)
		r = make_old(w);
	return r ? r : drop_strays(w, strays);
}

int lists_check(struct archive_writer *w)
{
	uint64_t restored = 0, strays = 0;
	bool is_mine;
	int r = index_check(w, "capture_streams");

	if (r == 0)
		r = writer_enter(w, &is_mine);
	if (r != 0)
		return r;
	r = writer_leave(w, is_mine, check_all(w, &restored, &strays));
	if (r == 0 && restored)
		log_warning("Rows of captures were missing in the archive, and are written again from the lists of the "
			    "captures: rows=%llu",
			    (unsigned long long)restored);
	if (r == 0 && strays)
		log_warning("Captures are lost, because their rows are missing in the archive: captures=%llu",
			    (unsigned long long)strays);
	return r;
}
