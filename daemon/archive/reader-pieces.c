/* Read: the bytes of packets, piece by piece. */
#include <errno.h>
#include <string.h>

#include <mprof/ring.h>

#include "reader-state.h"

/* Take the row that S stands at; its columns were checked to cover the offset. */
static int piece_take(struct reader *r, sqlite3_stmt *s, bool stored, uint8_t *out, struct reader_piece *piece)
{
	size_t bytes = (size_t)sqlite3_column_bytes(s, 3);
	const void *data = sqlite3_column_blob(s, 3);

	piece->codec = sqlite3_column_int(s, 2);
	piece->stored = stored;
	if (stored) {
		if (bytes > ARCHIVE_PIECE_MAX || !data || (piece->codec == CODEC_RAW && bytes != piece->length) ||
		    (piece->codec != CODEC_RAW && piece->codec != CODEC_ZSTD))
			return -EBADMSG;
		memcpy(out, data, bytes);
		piece->bytes = bytes;
		return 0;
	}
	if (!codec_decode(&r->codec, piece->codec, data, bytes, out, piece->length))
		return -EBADMSG;
	piece->bytes = piece->length;
	return 0;
}

int reader_piece(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, uint32_t limit,
		 bool stored, uint8_t *out, struct reader_piece *piece)
{
	CLEANUP(statement_resetp) sqlite3_stmt *s = NULL;
	bool have;
	int rc = reader_statement(r, source.capture ? S_TAIL_PIECE : S_PIECE,
				  VALUES(source.stream, sequence_column(sequence), offset), &s);

	if (rc == 0 && source.capture)
		sqlite3_bind_int64(s, 4, source.capture);
	if (rc == 0)
		rc = reader_step(r, s, &have);
	if (rc != 0)
		return rc;
	if (!have)
		return ARCHIVE_E_ABSENT;
	*piece = (struct reader_piece){.offset = column_u32(s, 0), .length = column_u32(s, 1)};
	if (piece->length > ARCHIVE_PIECE_MAX || piece->offset > MPROF_RING_BYTES_MAX)
		return -EBADMSG;
	if (offset - piece->offset >= piece->length)
		return ARCHIVE_E_ABSENT;
	return piece_take(r, s, stored && piece->offset == offset && piece->offset + piece->length <= limit, out,
			  piece);
}

int reader_bytes(struct reader *r, struct reader_source source, uint64_t sequence, uint32_t offset, size_t len,
		 uint8_t *out, uint8_t *scratch, size_t *got)
{
	struct reader_piece piece;
	size_t skip, n;
	int rc;

	*got = 0;
	while (*got < len) {
		rc = reader_piece(r, source, sequence, offset, 0, false, scratch, &piece);
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
