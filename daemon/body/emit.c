/*
 * Emit the bytes of one packet. A client costs one buffer with the size of a row, however slow it
 * is. Each pull finds the next row by its position, so compaction (daemon/archive/compaction.c) may
 * rewrite the packet's rows between two pulls.
 */
#include <errno.h>
#include <string.h>
#include <zstd.h>

#include <mprof/packet.h>

#include "codec.h"
#include "emit.h"

int emitter_init(struct emitter *e, struct reader *reader, struct scratch *scratch, const struct selection *selection,
		 bool zstd)
{
	*e = (struct emitter){
		.reader = reader,
		.scratch = scratch,
		.chunks = {.stream = selection->stream},
		.tail = {.stream = selection->stream, .capture = selection->capture},
		.zstd = zstd,
		.buffer = malloc(ZSTD_compressBound(ARCHIVE_PIECE_MAX)),
	};
	return e->buffer ? 0 : -ENOMEM;
}

void emitter_deinit(struct emitter *e)
{
	free(e->buffer);
	*e = (struct emitter){0};
}

void emitter_begin(struct emitter *e, const struct packet_view *view)
{
	uint32_t bytes = (uint32_t)packet_view_bytes(view);
	struct mprof_packet_header header = {
		.packet_bytes = bytes, .content_bytes = bytes, .count = (uint16_t)view->sequence};

	mprof_packet_store(&header, e->header);
	e->view = *view;
	e->at = view->begin;
	e->header_at = 0;
	e->buffer_at = e->buffer_len = 0;
	e->held = false;
}

void emitter_skip(struct emitter *e, uint64_t bytes)
{
	uint32_t header = bytes < sizeof(e->header) ? (uint32_t)bytes : (uint32_t)sizeof(e->header);

	e->header_at = header;
	e->at += (uint32_t)(bytes - header);
	if (e->view.resume && e->at >= e->view.hole)
		e->at += e->view.resume - e->view.hole;
}

uint64_t emitter_place(const struct emitter *e)
{
	uint64_t place = e->header_at + (uint64_t)(e->at - e->view.begin) - (e->buffer_len - e->buffer_at);

	return e->at >= e->view.resume ? place - (e->view.resume - e->view.hole) : place;
}

/* Compress LEN bytes at P into one frame in the buffer. Return 0 or -ENOMEM. */
static int fill_frame(struct emitter *e, const uint8_t *p, size_t len)
{
	size_t n = ZSTD_compress2(e->scratch->zstd, e->buffer, ZSTD_compressBound(ARCHIVE_PIECE_MAX), p, len);

	if (ZSTD_isError(n))
		return -ENOMEM;
	e->buffer_at = 0;
	e->buffer_len = n;
	return 0;
}

/*
 * Fill the buffer with a zstd frame of the next row. That is the stored frame if the body has all
 * bytes of the row, else a new frame. LIMIT is the offset in the packet at which the body's bytes
 * end. Return what the reader returns.
 */
static int fill_stored(struct emitter *e, struct reader_source source, uint32_t limit)
{
	struct reader_piece piece;
	uint32_t skip, n;
	int rc = reader_piece(e->reader, source, e->view.sequence, e->at, limit, PIECE_STORED, e->buffer, &piece);

	if (rc != 0)
		return rc;
	skip = e->at - piece.offset;
	n = piece.length - skip < limit - e->at ? piece.length - skip : limit - e->at;
	e->at += n;
	e->buffer_at = 0;
	e->buffer_len = piece.bytes;
	if (piece.stored && piece.codec == CODEC_ZSTD)
		return 0;
	memcpy(e->scratch->piece, e->buffer + skip, n);
	return fill_frame(e, e->scratch->piece, n);
}

/* The buffer has the decoded row PIECE: its bytes up to LIMIT are the next ones. */
static void buffer_ready(struct emitter *e, const struct reader_piece *piece, uint32_t limit)
{
	uint32_t skip = e->at - piece->offset;
	uint32_t n = piece->length - skip < limit - e->at ? piece->length - skip : limit - e->at;

	e->at += n;
	e->buffer_at = skip;
	e->buffer_len = skip + n;
}

/* Fill the buffer with the next row's bytes. */
static int fill_plain(struct emitter *e, struct reader_source source, uint32_t limit)
{
	struct reader_piece piece;
	int rc = reader_piece(e->reader, source, e->view.sequence, e->at, limit, PIECE_DECODED, e->buffer, &piece);

	if (rc == 0)
		buffer_ready(e, &piece, limit);
	return rc;
}

/* Pass the hole, and find the SOURCE of the next row, and the LIMIT of the bytes that are wanted of it. */
static void next_source(struct emitter *e, struct reader_source *source, uint32_t *limit)
{
	bool tail;

	if (e->view.resume && e->at == e->view.hole)
		e->at = e->view.resume;
	tail = e->at >= e->view.chunks_end;
	*source = tail ? e->tail : e->chunks;
	*limit = tail || e->view.end < e->view.chunks_end ? e->view.end : e->view.chunks_end;
	if (e->at < e->view.hole && *limit > e->view.hole)
		*limit = e->view.hole;
}

static int fill(struct emitter *e)
{
	struct reader_source source;
	uint32_t limit;

	next_source(e, &source, &limit);
	e->held = false;
	return e->zstd ? fill_stored(e, source, limit) : fill_plain(e, source, limit);
}

/*
 * Add the next row to LATER, with OUT as its place; *N becomes its length. If only a part of it is
 * wanted, or it is not compressed, fill the buffer instead: *N is 0.
 */
static int fill_later(struct emitter *e, struct decode_batch *later, uint8_t *out, size_t max, size_t *n)
{
	struct reader_piece *p = &e->held_piece;
	struct decode_frame frame = {.sequence = e->view.sequence, .out = out};
	uint32_t limit;
	int rc = 0;

	*n = 0;
	next_source(e, &frame.source, &limit);
	if (!e->held)
		rc = reader_piece(e->reader, frame.source, e->view.sequence, e->at, limit, PIECE_PACKED, e->buffer, p);
	e->held = rc == 0;
	if (rc != 0)
		return rc;
	if (p->codec == CODEC_RAW) {
		e->held = false;
		buffer_ready(e, p, limit);
		return 0;
	}
	if (p->codec != CODEC_ZSTD || p->offset != e->at || p->length > limit - e->at)
		return fill(e);
	frame.length = p->length;
	frame.keyed = p->summed;
	memcpy(frame.key, p->sum, CHECKSUM_BYTES);
	if (e->scratch->decoded && frame.keyed)
		decoded_find(e->scratch->decoded, frame.key, frame.length, &frame.place);
	rc = p->length > max ? -ENOSPC : decode_batch_add(later, &frame, e->buffer, p->bytes);
	if (rc < 0)
		return rc == -ENOSPC ? EMIT_E_ROOM : rc;
	e->held = false;
	e->at += p->length;
	*n = p->length;
	return 0;
}

size_t emitter_room(const struct emitter *e)
{
	return e->held_piece.length;
}

static size_t take(char *out, size_t max, const uint8_t *from, size_t len)
{
	size_t n = len < max ? len : max;

	memcpy(out, from, n);
	return n;
}

int emitter_pull(struct emitter *e, char *out, size_t max, struct decode_batch *later, size_t *n)
{
	size_t whole;
	int rc = 0;

	*n = 0;
	while (*n < max && rc == 0) {
		if (e->buffer_at < e->buffer_len) {
			size_t got = take(out + *n, max - *n, e->buffer + e->buffer_at, e->buffer_len - e->buffer_at);

			e->buffer_at += got;
			*n += got;
		} else if (e->header_at < sizeof(e->header) && e->zstd) {
			e->buffer_at = 0;
			e->buffer_len = codec_frame(e->header, sizeof(e->header), e->buffer);
			e->header_at = sizeof(e->header);
		} else if (e->header_at < sizeof(e->header)) {
			size_t got =
				take(out + *n, max - *n, e->header + e->header_at, sizeof(e->header) - e->header_at);

			e->header_at += (uint32_t)got;
			*n += got;
		} else if (e->at < e->view.end && later) {
			rc = fill_later(e, later, (uint8_t *)out + *n, max - *n, &whole);
			*n += whole;
		} else if (e->at < e->view.end) {
			rc = fill(e);
		} else {
			break;
		}
	}
	return *n ? 0 : rc;
}
