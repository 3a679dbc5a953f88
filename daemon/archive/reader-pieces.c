/* Read the bytes of packets, row by row. */
#include <errno.h>
#include <string.h>

#include <mprof/ring.h>

#include "reader-state.h"

int reader_note_damage(struct reader *r, struct reader_source source, uint64_t sequence)
{
	r->met_damage = true;
	r->damage = (struct reader_damage){.stream = source.stream, .sequence = sequence, .capture = source.capture};
	return ARCHIVE_E_DAMAGED;
}

int reader_damaged(struct reader *r, int rc, struct reader_source source, uint64_t sequence)
{
	if (rc == -EBADMSG || (rc == ARCHIVE_E_DAMAGED && !(r->met_damage && r->damage.table)))
		reader_note_damage(r, source, sequence);
	return rc;
}

bool reader_take_damage(struct reader *r, struct reader_damage *damage)
{
	bool met = r->met_damage;

	*damage = r->damage;
	r->met_damage = false;
	return met;
}

int reader_row_check(struct reader *r, sqlite3_stmt *s, struct reader_source source, uint64_t sequence, bool with_data)
{
	/*
	 * Use the numbers that the caller asked for, not those of the row: a row that is in the
	 * wrong place must fail.
	 */
	struct checksum_row row = {.numbers = {source.stream, sequence_column(sequence)},
				   .n = 8,
				   .ends = sqlite3_column_blob(s, 6),
				   .ends_bytes = (size_t)sqlite3_column_bytes(s, 6)};
	bool may_lack = sqlite3_column_int(s, 9) != 0;

	for (int i = 0; i < 6; i++)
		row.numbers[2 + i] = sqlite3_column_int64(s, i);
	if (source.capture) { /* a tail has no column for flags: see schema/archive/0002-checksums.sql */
		row.numbers[4] = row.numbers[3];
		row.numbers[3] = row.numbers[2];
		row.numbers[2] = row.numbers[1];
		row.numbers[1] = row.numbers[0];
		row.numbers[0] = source.capture;
	}
	if (with_data) {
		row.data = sqlite3_column_blob(s, 7);
		row.data_bytes = (size_t)sqlite3_column_bytes(s, 7);
	}
	if (with_data ? checksum_holds(s, 8, may_lack, &row) : checksum_row_holds(s, 8, may_lack, &row))
		return 0;
	return reader_note_damage(r, source, sequence);
}

/* Note the checksum of the current row of S, which agrees with the row. */
static void take_sum(sqlite3_stmt *s, struct reader_piece *piece)
{
	const void *sum = sqlite3_column_blob(s, 8);

	piece->summed = sum && sqlite3_column_bytes(s, 8) == (int)CHECKSUM_BYTES;
	if (piece->summed)
		memcpy(piece->sum, sum, CHECKSUM_BYTES);
}

/*
 * Fill *PIECE from the current row of S, which is undamaged and has the byte that was asked for.
 * STORED: copy the data as stored. Return 0 or an error.
 */
static int piece_take(struct reader *r, sqlite3_stmt *s, bool stored, uint8_t *out, struct reader_piece *piece)
{
	size_t bytes = (size_t)sqlite3_column_bytes(s, 7);
	const void *data = sqlite3_column_blob(s, 7);

	piece->codec = sqlite3_column_int(s, 5);
	piece->stored = stored;
	if (stored) {
		if (bytes > ARCHIVE_PIECE_MAX || !data || (piece->codec == CODEC_RAW && bytes != piece->length) ||
		    (piece->codec != CODEC_RAW && !codec_is_frame_of(data, bytes, piece->length)))
			return ARCHIVE_E_DAMAGED;
		memcpy(out, data, bytes);
		piece->bytes = bytes;
		take_sum(s, piece);
		return 0;
	}
	if (!codec_decode(&r->codec, piece->codec, data, bytes, out, piece->length))
		return ARCHIVE_E_DAMAGED;
	piece->bytes = piece->length;
	return 0;
}

/* Decode a stored frame that has no checksum once before it is passed on, to check it. */
static int piece_unpack(struct reader *r, sqlite3_stmt *s, uint8_t *out, const struct reader_piece *piece)
{
	struct reader_piece trial = *piece;

	return sqlite3_column_type(s, 8) == SQLITE_NULL ? piece_take(r, s, false, out, &trial) : 0;
}

int reader_row_find(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, sqlite3_stmt **s)
{
	int rc = reader_statement(r, source.capture ? S_TAIL_PIECE : S_PIECE,
				  VALUES(source.stream, sequence_column(sequence), offset), s);

	if (rc == 0 && source.capture)
		sqlite3_bind_int64(*s, 4, source.capture);
	if (rc == 0)
		rc = reader_damaged(r, statement_step(&r->statements, *s), source, sequence);
	if (rc != STATEMENT_ROW)
		return rc ? rc : ARCHIVE_E_ABSENT;
	return reader_row_check(r, *s, source, sequence, true);
}

int reader_piece(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, uint32_t limit,
		 enum piece_form form, uint8_t *out, struct reader_piece *piece)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool stored;
	int rc = reader_row_find(r, source, sequence, offset, &s);

	if (rc != 0)
		return rc;
	*piece = (struct reader_piece){.offset = column_u32(s, 0), .length = column_u32(s, 1)};
	if (piece->length > ARCHIVE_PIECE_MAX || piece->offset > MPROF_RING_BYTES_MAX)
		return reader_note_damage(r, source, sequence);
	if (offset - piece->offset >= piece->length)
		return ARCHIVE_E_ABSENT;
	stored = form == PIECE_PACKED ||
		 (form == PIECE_STORED && piece->offset == offset && piece->offset + piece->length <= limit);
	if (stored && form == PIECE_STORED)
		rc = piece_unpack(r, s, out, piece);
	if (rc == 0)
		rc = piece_take(r, s, stored, out, piece);
	return reader_damaged(r, rc, source, sequence);
}

int reader_bytes(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, size_t len,
		 uint8_t *out, uint8_t *scratch, size_t *got)
{
	struct reader_piece piece;
	size_t skip, n;
	int rc;

	*got = 0;
	while (*got < len) {
		rc = reader_piece(r, source, sequence, offset, 0, PIECE_DECODED, scratch, &piece);
		if (rc == ARCHIVE_E_ABSENT)
			return 0;
		if (rc != 0)
			return rc;
		skip = offset - piece.offset;
		n = piece.length - skip < len - *got ? piece.length - skip : len - *got;
		memcpy(out + *got, scratch + skip, n);
		*got += n;
		offset += (uint32_t)n;
	}
	return 0;
}
