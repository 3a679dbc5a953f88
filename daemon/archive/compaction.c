/*
 * Rewrite the small rows of a packet as few large rows.
 *
 * A growing packet gets a row at each commit. The rows of a complete packet begin at offsets 30 + k
 * MiB, and all but the last have 1 MiB. A small packet is rewritten when it is complete. A large
 * packet is rewritten mebibyte by mebibyte, as soon as a mebibyte is complete and proven; so
 * completing a packet of 256 MiB is no more work than completing one of 1 MiB. A row that has 1 MiB
 * is not rewritten again, so each byte is written at most twice.
 *
 * Only one input row and one output row are in memory at a time. All chunk ends are kept, each in
 * the row that has the byte before it.
 *
 * Rows behind the last chunk end are rewritten only together with the row that brings the next
 * chunk end. packet_drop_dangling() can then delete them without cutting a row that this file made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "writer-state.h"

int ends_append(struct ends *e, const uint8_t *packed, size_t n)
{
	if (n > e->room - e->len) {
		size_t room = 2 * (e->len + n);
		uint8_t *more = realloc(e->bytes, room);

		if (!more)
			return -ENOMEM;
		e->bytes = more;
		e->room = room;
	}
	if (n)
		memcpy(e->bytes + e->len, packed, n);
	e->len += n;
	return 0;
}

int ends_pack(struct ends *e, const struct archive_end *ends, size_t n)
{
	uint8_t packed[ARCHIVE_END_BYTES];
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		mprof_store32(packed, ends[i].offset);
		mprof_store64(packed + 4, ends[i].mono);
		mprof_store64(packed + 12, ends[i].real);
		r = ends_append(e, packed, sizeof(packed));
	}
	return r;
}

struct archive_end ends_last(const uint8_t *packed, size_t n)
{
	if (n < ARCHIVE_END_BYTES)
		return (struct archive_end){0};
	packed += n - ARCHIVE_END_BYTES;
	return (struct archive_end){
		.offset = mprof_load32(packed), .mono = mprof_load64(packed + 4), .real = mprof_load64(packed + 12)};
}

/* Return how many of the packed bytes hold the chunk ends at OFFSET or below. */
static size_t ends_until(const struct ends *e, uint32_t offset)
{
	size_t at = 0;

	while (at < e->len && mprof_load32(e->bytes + at) <= offset)
		at += ARCHIVE_END_BYTES;
	return at;
}

/*
 * A merge that is being made: its output row's content is in w->out, and the row's chunk ends in
 * w->ends.
 */
struct merge {
	struct archive_writer *w;
	struct archive_piece row;
};

static int merge_emit(struct merge *m, uint32_t flags)
{
	struct ends *ends = &m->w->ends;
	size_t n = ends_until(ends, m->row.offset + m->row.length);
	int r;

	m->row.flags |= flags;
	r = writer_insert_chunk(m->w, &m->row, ends->bytes, n);
	if (n)
		memmove(ends->bytes, ends->bytes + n, ends->len - n);
	ends->len -= n;
	m->row.offset += m->row.length;
	m->row.length = 0;
	m->row.flags = 0;
	return r;
}

/*
 * Add LENGTH bytes of content at DATA to the output row. A full row is written only when more
 * content follows, so the last row remains in memory for its FLAGS. Return 0 or an error.
 */
static int merge_add(struct merge *m, const uint8_t *data, uint32_t length, uint32_t flags)
{
	while (length) {
		uint32_t n;

		if (m->row.length == ARCHIVE_PIECE_MAX) {
			int r = merge_emit(m, 0);

			if (r != 0)
				return r;
		}
		n = ARCHIVE_PIECE_MAX - m->row.length;
		if (n > length)
			n = length;
		memcpy(m->w->out + m->row.length, data, n);
		m->row.length += n;
		m->row.flags |= flags;
		data += n;
		length -= n;
	}
	return 0;
}

bool writer_row_holds(sqlite3_stmt *s, bool with_data)
{
	struct checksum_row row = {.n = 8,
				   .ends = sqlite3_column_blob(s, 8),
				   .ends_bytes = (size_t)sqlite3_column_bytes(s, 8),
				   .data = with_data ? sqlite3_column_blob(s, 9) : NULL,
				   .data_bytes = with_data ? (size_t)sqlite3_column_bytes(s, 9) : 0};
	bool may_lack = sqlite3_column_int(s, 11) != 0;

	for (int i = 0; i < 8; i++)
		row.numbers[i] = sqlite3_column_int64(s, i);
	return with_data ? checksum_holds(s, 10, may_lack, &row) : checksum_row_holds(s, 10, may_lack, &row);
}

int writer_read_row(struct archive_writer *w, int64_t id, struct stored_row *row)
{
	sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_READ_CHUNK, VALUES(id), &s);

	row->statement = s;
	if (!s)
		return r;
	r = statement_step(&w->store.statements, s);
	if (r != STATEMENT_ROW) /* the index names a row that is not there */
		return r ? r : ARCHIVE_E_DAMAGED;
	row->stream = sqlite3_column_int64(s, 0);
	row->sequence = sqlite3_column_int64(s, 1);
	row->offset = (uint32_t)sqlite3_column_int64(s, 2);
	row->length = (uint32_t)sqlite3_column_int64(s, 3);
	row->flags = (uint32_t)sqlite3_column_int64(s, 4);
	row->ends = sqlite3_column_blob(s, 8);
	row->ends_bytes = (size_t)sqlite3_column_bytes(s, 8);
	row->data = w->in;
	if (!writer_row_holds(s, true) || row->length > ARCHIVE_PIECE_MAX || row->ends_bytes % ARCHIVE_END_BYTES ||
	    !codec_decode(&w->store.decoder, sqlite3_column_int(s, 7), sqlite3_column_blob(s, 9),
			  (size_t)sqlite3_column_bytes(s, 9), w->in, row->length))
		return ARCHIVE_E_DAMAGED;
	return 0;
}

/* Check all N rows before any of them is deleted. Return 0, ARCHIVE_E_DAMAGED or an error. */
static int check_rows(struct archive_writer *w, const int64_t *ids, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;

		r = statement_get(&w->store.statements, STATEMENT_READ_CHUNK, VALUES(ids[i]), &s);
		if (!s)
			return r;
		r = statement_step(&w->store.statements, s);
		if (r != STATEMENT_ROW)
			return r ? r : ARCHIVE_E_DAMAGED;
		r = writer_row_holds(s, true) ? 0 : ARCHIVE_E_DAMAGED;
	}
	return r;
}

/* Set ARCHIVE_CHUNK_LAST in the row ID, which was checked before. */
static int complete_row(struct archive_writer *w, int64_t id)
{
	struct checksum_row row = {.n = 8};
	uint8_t checksum[CHECKSUM_BYTES];
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	CLEANUP(statement_resetp) sqlite3_stmt *update = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_READ_CHUNK, VALUES(id), &s);

	if (r == 0)
		r = statement_get(&w->store.statements, STATEMENT_COMPLETE_CHUNK, NO_VALUES, &update);
	if (r != 0)
		return r;
	r = statement_step(&w->store.statements, s);
	if (r != STATEMENT_ROW)
		return r ? r : ARCHIVE_E_ABSENT;
	for (int i = 0; i < 8; i++)
		row.numbers[i] = sqlite3_column_int64(s, i);
	row.numbers[4] |= ARCHIVE_CHUNK_LAST;
	row.ends = sqlite3_column_blob(s, 8);
	row.ends_bytes = (size_t)sqlite3_column_bytes(s, 8);
	row.data = sqlite3_column_blob(s, 9);
	row.data_bytes = (size_t)sqlite3_column_bytes(s, 9);
	checksum_make(&row, checksum);
	sqlite3_reset(s);
	sqlite3_bind_int64(update, 1, id);
	sqlite3_bind_blob(update, 2, checksum, sizeof(checksum), SQLITE_STATIC);
	return statement_step(&w->store.statements, update);
}

/* Append the content of row ID to the output row, and delete row ID. */
static int merge_row(struct merge *m, int64_t id)
{
	struct stored_row row = {0};
	int r = writer_read_row(m->w, id, &row);

	if (r == 0)
		r = ends_append(&m->w->ends, row.ends, row.ends_bytes);
	statement_resetp(&row.statement);
	if (r == 0) /* delete before the new row is written, so the new row can use these pages */
		r = WRITER_RUN(m->w, STATEMENT_DELETE_CHUNK, id);
	return r ? r : merge_add(m, m->w->in, row.length, row.flags);
}

/*
 * List the ids of the packet's rows from offset FROM on, in order of offsets. The caller frees
 * *IDS.
 */
static int list_rows(struct archive_writer *w, const struct archive_piece *piece, int64_t from, int64_t **ids,
		     size_t *n)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int r = statement_get(&w->store.statements, STATEMENT_COMPACT_ROWS,
			      VALUES(piece->stream, (int64_t)piece->sequence, from), &s);
	size_t room = 0;

	if (!s)
		return r;
	while ((r = statement_step(&w->store.statements, s)) == STATEMENT_ROW) {
		if (*n == room) {
			int64_t *more = realloc(*ids, (room = 2 * room + 16) * sizeof(*more));

			if (!more)
				return -ENOMEM;
			*ids = more;
		}
		(*ids)[(*n)++] = sqlite3_column_int64(s, 0);
	}
	return r;
}

static int merge_rows(struct archive_writer *w, const struct archive_piece *piece, uint32_t from, const int64_t *ids,
		      size_t n, bool is_last)
{
	struct merge m = {.w = w, .row = *piece};
	int r = 0;

	m.row.offset = from;
	m.row.length = 0;
	m.row.flags = 0;
	m.row.data = w->out;
	w->ends.len = 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = merge_row(&m, ids[i]);
	if (r == 0)
		r = ends_pack(&w->ends, piece->ends, piece->n_ends);
	if (r == 0)
		r = merge_add(&m, piece->data, piece->length, piece->flags & ~(uint32_t)ARCHIVE_CHUNK_LAST);
	if (r == 0 && m.row.length)
		r = merge_emit(&m, is_last ? ARCHIVE_CHUNK_LAST : 0);
	return r;
}

int packet_compact(struct archive_writer *w, const struct archive_piece *piece, const struct packet_end *end,
		   bool is_last)
{
	CLEANUP(freep) int64_t *ids = NULL;
	int64_t from;
	bool is_null;
	size_t n = 0;
	int r;

	r = statement_number(&w->store.statements, STATEMENT_COMPACT_FROM,
			     VALUES(piece->stream, (int64_t)piece->sequence, ARCHIVE_PIECE_MAX), &from, &is_null);
	if (r == 0 && !is_null)
		r = list_rows(w, piece, from, &ids, &n);
	if (r != 0)
		return r;
	if (piece->length == 0 && n <= 1) { /* the packet has one row, which is kept and marked as the last row */
		r = check_rows(w, &end->id, 1);
		return r ? r : complete_row(w, end->id);
	}
	r = check_rows(w, ids, n);
	if (r != 0)
		return r;
	return merge_rows(w, piece, n ? (uint32_t)from : end->offset, ids, n, is_last);
}

/* Truncate row ID at its last chunk end, KEEP_UNTIL. */
static int cut_row(struct archive_writer *w, const struct archive_piece *packet, int64_t id, uint32_t keep_until)
{
	struct archive_piece piece = *packet;
	struct stored_row row = {0};
	int r = writer_read_row(w, id, &row);

	w->ends.len = 0;
	if (r == 0)
		r = ends_append(&w->ends, row.ends, row.ends_bytes);
	statement_resetp(&row.statement);
	if (r != 0)
		return r;
	if (keep_until < row.offset || keep_until > row.offset + row.length)
		return -EBADMSG;
	piece.offset = row.offset;
	piece.length = keep_until - row.offset;
	piece.flags = row.flags;
	piece.data = w->in;
	r = WRITER_RUN(w, STATEMENT_DELETE_CHUNK, id);
	if (r == 0)
		r = writer_insert_chunk(w, &piece, w->ends.bytes, w->ends.len);
	if (r == 0)
		usage_add(&w->usage, piece.stream, (int64_t)piece.length - (int64_t)row.length);
	return r;
}

int packet_drop_dangling(struct archive_writer *w, int64_t stream, uint64_t sequence)
{
	struct packet_end end;
	struct archive_end last;
	int r = writer_mend(w, stream, sequence);

	while (r == 0) {
		r = writer_packet_end(w, stream, sequence, &end);
		if (r != 0 || !end.any || end.flags & ARCHIVE_CHUNK_LAST)
			return r;
		r = writer_row_end(w, end.id, &last);
		if (r != 0 || last.offset == end.offset)
			return r;
		if (last.offset > end.row_begin) {
			struct archive_piece packet = {.stream = stream,
						       .sequence = sequence,
						       .packet_bytes = end.packet_bytes,
						       .first_timestamp = end.first_timestamp};

			return cut_row(w, &packet, end.id, last.offset);
		}
		r = WRITER_RUN(w, STATEMENT_DELETE_CHUNK, end.id);
		if (r == 0 && sqlite3_changes(w->store.db) == 0) /* a damaged index would repeat this row for ever */
			r = -EBADMSG;
		if (r != 0)
			return r;
		usage_add(&w->usage, stream, -(int64_t)(end.offset - end.row_begin));
	}
	return r;
}
