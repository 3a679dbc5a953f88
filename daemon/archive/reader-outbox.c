/* Read the outbox, and rows of packets with everything that a hub keeps of them. */
#include <string.h>

#include <mprof/ring.h>

#include "reader-state.h"

int reader_outbox(struct reader *r, unsigned limit, reader_outbox_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_OUTBOX, VALUES(limit), &s);

	while (rc == 0 && (rc = statement_step(&r->statements, s)) == STATEMENT_ROW) {
		const struct reader_outbox row = {
			.id = sqlite3_column_int64(s, 0),
			.kind = column_string(s, 1),
			.real = column_u64(s, 2),
			.run = sqlite3_column_int64(s, 3),
			.stream = sqlite3_column_int64(s, 4),
			.capture = sqlite3_column_int64(s, 5),
			.first_sequence = column_u64(s, 6),
			.last_sequence = column_u64(s, 7),
			.packets = column_u64(s, 8),
			.bytes = column_u64(s, 9),
			.reason = column_string(s, 10),
		};

		rc = call(context, &row);
	}
	return rc;
}

int reader_waiting(struct reader *r, reader_waiting_call *call, void *context)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_WAITING, NO_VALUES, &s);

	while (rc == 0 && (rc = statement_step(&r->statements, s)) == STATEMENT_ROW)
		rc = call(context, sqlite3_column_int64(s, 0));
	return rc;
}

int reader_outbox_damaged(struct reader *r, uint64_t *rows)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	int rc = reader_statement(r, S_OUTBOX_DAMAGED, NO_VALUES, &s);

	*rows = 0;
	if (rc == 0)
		rc = statement_step(&r->statements, s);
	if (rc != STATEMENT_ROW)
		return rc;
	*rows = column_u64(s, 0);
	return 0;
}

int reader_archive(struct reader *r, char name[READER_ARCHIVE_BYTES])
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	const char *text;
	int rc = reader_statement(r, S_ARCHIVE, NO_VALUES, &s);

	if (rc == 0)
		rc = statement_step(&r->statements, s);
	if (rc != STATEMENT_ROW)
		return rc ? rc : ARCHIVE_E_ABSENT;
	text = column_string(s, 0);
	if (strlen(text) != READER_ARCHIVE_BYTES - 1 || strspn(text, "0123456789abcdef") != READER_ARCHIVE_BYTES - 1)
		return ARCHIVE_E_ABSENT;
	memcpy(name, text, READER_ARCHIVE_BYTES);
	return 0;
}

/* Copy the packed chunk ends of the current row of S. Return whether they are valid and fit. */
static bool take_ends(sqlite3_stmt *s, uint8_t *ends, struct reader_row *row)
{
	size_t bytes = (size_t)sqlite3_column_bytes(s, 6);
	const void *packed = sqlite3_column_blob(s, 6);

	if (bytes % ARCHIVE_END_BYTES || bytes > READER_ENDS_MAX || (bytes && !packed))
		return false;
	if (bytes)
		memcpy(ends, packed, bytes);
	row->ends_bytes = bytes;
	return true;
}

int reader_row(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, uint8_t *data,
	       uint8_t *ends, struct reader_row *row)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	const void *stored;
	int rc = reader_row_find(r, source, sequence, offset, &s);

	if (rc != 0)
		return rc;
	*row = (struct reader_row){
		.offset = column_u32(s, 0),
		.length = column_u32(s, 1),
		.flags = column_u32(s, 2),
		.first_timestamp = column_u64(s, 3),
		.packet_bytes = column_u32(s, 4),
		.codec = sqlite3_column_int(s, 5),
		.bytes = (size_t)sqlite3_column_bytes(s, 7),
	};
	if (row->length > ARCHIVE_PIECE_MAX || row->offset > MPROF_RING_BYTES_MAX || row->bytes > ARCHIVE_PIECE_MAX ||
	    !take_ends(s, ends, row))
		return reader_note_damage(r, source, sequence);
	if (offset - row->offset >= row->length && (row->length || offset != row->offset))
		return ARCHIVE_E_ABSENT;
	stored = sqlite3_column_blob(s, 7);
	if (row->bytes && stored)
		memcpy(data, stored, row->bytes);
	return 0;
}
