/* Write captures: their rows, the ranges of their streams, and their tails. */
#include <errno.h>

#include "index-entries.h"
#include "writer-state.h"

int archive_writer_put_capture(struct archive_writer *w, const struct archive_capture *capture)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int64_t there = 0;
	bool is_null;
	int r = statement_number(&w->store.statements, STATEMENT_HAS_CAPTURE, VALUES(capture->id), &there, &is_null);

	if (r == 0)
		r = statement_get(&w->store.statements, STATEMENT_PUT_CAPTURE, VALUES(capture->id, capture->run), &s);
	if (!s)
		return r;
	sqlite3_bind_text(s, 3, capture->kind, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 4, (int64_t)capture->real);
	sqlite3_bind_int64(s, 5, (int64_t)capture->mono);
	sqlite3_bind_int64(s, 6, capture->pinned);
	sqlite3_bind_text(s, 7, capture->note ? capture->note : "", -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 8, capture->context, -1, SQLITE_STATIC);
	r = statement_step(&w->store.statements, s);
	if (capture->pinned)
		w->pinned.checked = 0;
	if (r == 0 && !there)
		r = list_begin(w, capture->id);
	if (r == 0)
		r = WRITER_RUN(w, STATEMENT_NOTE_IDS, 0, 0, capture->id);
	return r ? r : outbox_add_capture(w, capture);
}

int archive_writer_put_capture_stream(struct archive_writer *w, const struct archive_capture_stream *range)
{
	struct checksum_row sum = {.n = 7};
	uint8_t checksum[CHECKSUM_BYTES];
	int64_t tail_bytes, reached = 0;
	bool is_null;
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_PUT_RANGE, NO_VALUES, &s);

	if (s)
		r = statement_number(&w->store.statements, STATEMENT_TAIL_BYTES, VALUES(range->capture, range->stream),
				     &tail_bytes, &is_null);
	if (s && r == 0)
		r = statement_number(&w->store.statements, STATEMENT_REACHED,
				     VALUES(range->stream, (int64_t)range->last_sequence, range->last_offset), &reached,
				     &is_null);
	if (!s || r != 0)
		return r;
	if ((uint64_t)tail_bytes < range->tail_marked)
		tail_bytes = (int64_t)range->tail_marked;
	sum = (struct checksum_row){.numbers = {range->capture, range->stream, (int64_t)range->first_sequence,
						(int64_t)range->last_sequence, range->last_offset, tail_bytes, reached},
				    .n = 7};
	checksum_make(&sum, checksum);
	for (int i = 0; i < 7; i++)
		sqlite3_bind_int64(s, i + 1, sum.numbers[i]);
	sqlite3_bind_blob(s, 8, checksum, sizeof(checksum), SQLITE_STATIC);
	r = statement_step(&w->store.statements, s);
	/*
	 * The range is the last row of a capture, so the capture is complete now and must be on the
	 * disk.
	 */
	if (r == 0)
		w->wants_sync = true;
	statement_resetp(&s);
	return r ? r : list_put(w, range->capture, range->stream);
}

/*
 * Put the capture's range of STREAM again, because the range stores the length of the tail. Normally
 * the range is put after the tail; here it was put before.
 */
static int put_range_again(struct archive_writer *w, int64_t capture, int64_t stream)
{
	struct archive_capture_stream range;
	int r;

	{
		CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;

		r = statement_get(&w->store.statements, STATEMENT_REPAIR_RANGE, VALUES(capture, stream), &s);
		if (!s)
			return r;
		r = statement_step(&w->store.statements, s);
		if (r != STATEMENT_ROW)
			return r;
		range = (struct archive_capture_stream){.capture = capture,
							.stream = stream,
							.first_sequence = (uint64_t)sqlite3_column_int64(s, 2),
							.last_sequence = (uint64_t)sqlite3_column_int64(s, 3),
							.last_offset = (uint32_t)sqlite3_column_int64(s, 4)};
	}
	return archive_writer_put_capture_stream(w, &range);
}

int archive_writer_tail(struct archive_writer *w, int64_t capture, const struct archive_piece *piece)
{
	struct checksum_row sum = {.n = 8};
	uint8_t checksum[CHECKSUM_BYTES];
	struct codec_row row;
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_INSERT_TAIL, NO_VALUES, &s);

	if (!s)
		return r;
	if (!w->store.in_transaction || piece->length > ARCHIVE_PIECE_MAX)
		return -EINVAL;
	if (!usage_has(&w->usage, piece->stream))
		return ARCHIVE_E_ABSENT;
	row = codec_encode(&w->store.encoder, piece->data, piece->length);
	sum = (struct checksum_row){
		.numbers = {capture, piece->stream, (int64_t)piece->sequence, piece->offset, piece->length,
			    (int64_t)piece->first_timestamp, piece->packet_bytes, row.codec},
		.n = 8,
		.data = row.data,
		.data_bytes = row.length,
	};
	checksum_make(&sum, checksum);
	for (int i = 0; i < 8; i++)
		sqlite3_bind_int64(s, i + 1, sum.numbers[i]);
	statement_bind_bytes(s, 9, row.data, row.length);
	sqlite3_bind_blob(s, 10, checksum, sizeof(checksum), SQLITE_STATIC);
	r = statement_step(&w->store.statements, s);
	if (r == 0)
		usage_add(&w->usage, piece->stream, piece->length);
	return r ? r : put_range_again(w, capture, piece->stream);
}

/* Return why no row of CAPTURE was changed: there is none, or it has another version. */
static int not_changed(struct archive_writer *w, int64_t capture)
{
	int64_t there = 0;
	bool is_null;
	int r = statement_number(&w->store.statements, STATEMENT_HAS_CAPTURE, VALUES(capture), &there, &is_null);

	return r ? r : there ? ARCHIVE_E_CHANGED : ARCHIVE_E_ABSENT;
}

int archive_writer_change_capture(struct archive_writer *w, const struct archive_capture_change *change)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_CHANGE_CAPTURE, VALUES(change->capture), &s);

	if (!s)
		return r;
	sqlite3_bind_int(s, 2, change->pinned < 0 ? -1 : change->pinned != 0);
	sqlite3_bind_text(s, 3, change->note, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 4, change->context, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 5, change->marks, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 6, change->version);
	r = statement_step(&w->store.statements, s);
	if (r == 0 && sqlite3_changes(w->store.db) == 0)
		return not_changed(w, change->capture);
	if (r == 0 && change->context)
		w->wants_sync = true;
	if (r == 0 && change->pinned >= 0)
		w->pinned.checked = 0;
	return r;
}

int tails_subtract(struct archive_writer *w, int64_t capture, uint64_t *bytes)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_CAPTURE_TAILS, VALUES(capture), &s);

	if (!s)
		return r;
	while ((r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
		usage_add(&w->usage, sqlite3_column_int64(s, 0), -sqlite3_column_int64(s, 1));
		*bytes += column_u64(s, 1);
	}
	return r;
}

int capture_delete(struct archive_writer *w, int64_t id, enum deletion_reason reason)
{
	struct deletion deletion = {.reason = reason, .captures = 1};
	int64_t run = 0;
	bool is_mine, is_null;
	int r = writer_enter(w, &is_mine);

	if (r != 0)
		return r;
	/* SQLite deletes no row that differs from its entry. */
	r = index_entries_mend(w, 0, 0, id, &(bool){false});
	if (r == 0)
		r = tails_subtract(w, id, &deletion.bytes);
	if (r == 0)
		r = statement_number(&w->store.statements, STATEMENT_RUN_OF_CAPTURE, VALUES(id), &run, &is_null);
	if (r == 0)
		/* The foreign keys delete its ranges and tails, too. */
		r = WRITER_RUN(w, STATEMENT_DELETE_CAPTURE, id);
	if (r == 0 && sqlite3_changes(w->store.db) == 0)
		r = ARCHIVE_E_ABSENT;
	if (r == 0)
		r = writer_tally_run(w, run, &deletion);
	if (r == 0)
		r = outbox_lose_capture(w, id, reason);
	return writer_leave(w, is_mine, r);
}

int archive_writer_delete_capture(struct archive_writer *w, int64_t id)
{
	return capture_delete(w, id, DELETION_REQUEST);
}
