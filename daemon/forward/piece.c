/* Read captures and packets from the archive as pieces. */
#include "piece.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/bytes.h>
#include <mprof/ring.h>

#include "codec.h"

#define LEVEL	3   /* of zstd: pieces that are read twice must be equal, so it is fixed */
#define PACKETS 64u /* packets that are listed at a time */

struct pieces {
	struct reader *r;
	struct memtraces_reader *m;
	struct codec_reader decoder;
	struct codec_writer encoder;
	uint8_t *stored;   /* a row as stored: ARCHIVE_PIECE_MAX bytes */
	uint8_t *plain;	   /* content of a row: ARCHIVE_PIECE_MAX bytes */
	uint8_t *cut;	   /* content of a piece that is cut: ARCHIVE_PIECE_MAX bytes */
	uint8_t *ends;	   /* chunk ends of a row: READER_ENDS_MAX bytes */
	uint8_t *cut_ends; /* chunk ends of a piece that is cut: READER_ENDS_MAX bytes */
	size_t cut_ends_bytes;
	/* The call of one of the functions of piece.h. */
	piece_call *call;
	void *context;
	uint32_t number;
};

int pieces_new(struct pieces **pp, struct reader *r, struct memtraces_reader *m)
{
	CLEANUP(pieces_freep) struct pieces *p = calloc(1, sizeof(*p));

	if (!p || codec_reader_init(&p->decoder) < 0 || codec_writer_init(&p->encoder, LEVEL, ARCHIVE_PIECE_MAX) < 0)
		return -ENOMEM;
	p->r = r;
	p->m = m;
	p->stored = malloc(ARCHIVE_PIECE_MAX);
	p->plain = malloc(ARCHIVE_PIECE_MAX);
	p->cut = malloc(ARCHIVE_PIECE_MAX);
	p->ends = malloc(READER_ENDS_MAX);
	p->cut_ends = malloc(READER_ENDS_MAX);
	if (!p->stored || !p->plain || !p->cut || !p->ends || !p->cut_ends)
		return -ENOMEM;
	*pp = TAKE_PTR(p);
	return 0;
}

struct pieces *pieces_free(struct pieces *p)
{
	if (!p)
		return NULL;
	codec_reader_deinit(&p->decoder);
	codec_writer_deinit(&p->encoder);
	free(p->stored);
	free(p->plain);
	free(p->cut);
	free(p->ends);
	free(p->cut_ends);
	free(p);
	return NULL;
}

/* Leave out chunk ends, evenly, until at most PIECE_ENDS_MOST bytes are left. The last one stays. */
static size_t thin(uint8_t *ends, size_t bytes)
{
	size_t n = bytes / ARCHIVE_END_BYTES, most = PIECE_ENDS_MOST / ARCHIVE_END_BYTES;
	size_t step = (n + most - 1) / most, kept = 0;

	if (bytes <= PIECE_ENDS_MOST)
		return bytes;
	for (size_t i = (n - 1) % step; i < n; i += step)
		memmove(ends + kept++ * ARCHIVE_END_BYTES, ends + i * ARCHIVE_END_BYTES, ARCHIVE_END_BYTES);
	return kept * ARCHIVE_END_BYTES;
}

/* ---- rows as they are stored ------------------------------------------------------------------ */

/* Emit the rows of a packet from OFFSET on. A packet without a row there has no piece. */
static int emit_rows(struct pieces *p, const char *part, struct reader_source source, uint64_t sequence,
		     uint32_t offset)
{
	struct reader_row row;
	int r;

	while ((r = reader_row(p->r, source, sequence, offset, p->stored, p->ends, &row)) == 0) {
		const struct piece piece = {
			.part = part,
			.stream = source.stream,
			.number = p->number,
			.sequence = sequence,
			.offset = row.offset,
			.length = row.length,
			.flags = source.capture ? 0 : row.flags,
			.packet_bytes = row.packet_bytes,
			.first_timestamp = row.first_timestamp,
			.codec = row.codec,
			.ends = p->ends,
			.ends_bytes = source.capture ? 0 : thin(p->ends, row.ends_bytes),
			.data = p->stored,
			.bytes = row.bytes,
		};

		p->number++;
		r = p->call(p->context, &piece);
		if (r != 0 || row.length == 0 || row.offset + row.length <= offset)
			return r;
		offset = row.offset + row.length;
	}
	return r == ARCHIVE_E_ABSENT ? 0 : r;
}

/* ---- the packet in which a capture ends ------------------------------------------------------- */

/* Add the chunk ends of the row in p->ends that lie behind BEGIN, and up to END, to the cut piece. */
static void add_ends(struct pieces *p, const struct reader_row *row, uint32_t begin, uint32_t end)
{
	for (size_t at = 0; at < row->ends_bytes; at += ARCHIVE_END_BYTES) {
		uint32_t offset = mprof_load32(p->ends + at);

		if (offset <= begin || offset > end || p->cut_ends_bytes + ARCHIVE_END_BYTES > READER_ENDS_MAX)
			continue;
		memcpy(p->cut_ends + p->cut_ends_bytes, p->ends + at, ARCHIVE_END_BYTES);
		p->cut_ends_bytes += ARCHIVE_END_BYTES;
	}
}

/*
 * Read the bytes from BEGIN to END of a packet, at most ARCHIVE_PIECE_MAX, into p->cut, with their
 * chunk ends. *PIECE gets the numbers of the packet's rows. *GOT: how many bytes there were.
 */
static int read_cut(struct pieces *p, struct reader_source source, uint64_t sequence, uint32_t begin, uint32_t end,
		    struct piece *piece, uint32_t *got)
{
	struct reader_row row;

	*got = 0;
	p->cut_ends_bytes = 0;
	while (*got < end - begin) {
		uint32_t at = begin + *got, skip, n;
		int r = reader_row(p->r, source, sequence, at, p->stored, p->ends, &row);

		if (r != 0)
			return r == ARCHIVE_E_ABSENT ? 0 : r;
		if (!codec_decode(&p->decoder, row.codec, p->stored, row.bytes, p->plain, row.length))
			return reader_note_damage(p->r, source, sequence);
		skip = at - row.offset;
		n = row.length - skip < end - at ? row.length - skip : end - at;
		if (n == 0) /* an empty packet, whatever the range says of its end */
			return 0;
		memcpy(p->cut + *got, p->plain + skip, n);
		add_ends(p, &row, at, at + n);
		piece->packet_bytes = row.packet_bytes;
		piece->first_timestamp = row.first_timestamp;
		piece->flags |= row.flags & ARCHIVE_CHUNK_UNPROVEN;
		*got += n;
	}
	return 0;
}

/*
 * Emit the bytes of a packet below LIMIT. Other flags than ARCHIVE_CHUNK_UNPROVEN are left out: they
 * may come with bytes behind LIMIT.
 */
static int emit_cut(struct pieces *p, struct reader_source source, uint64_t sequence, uint32_t limit)
{
	for (uint32_t at = MPROF_PACKET_HEADER_BYTES, got; at < limit; at += got) {
		uint32_t end = limit - at < ARCHIVE_PIECE_MAX ? limit : at + ARCHIVE_PIECE_MAX;
		struct piece piece = {.part = "trace", .stream = source.stream, .sequence = sequence, .offset = at};
		struct codec_row row;
		int r = read_cut(p, source, sequence, at, end, &piece, &got);

		if (r != 0 || got == 0)
			return r;
		row = codec_encode(&p->encoder, p->cut, got);
		piece.number = p->number++;
		piece.length = got;
		piece.codec = (int)row.codec;
		piece.data = row.data;
		piece.bytes = row.length;
		piece.ends = p->cut_ends;
		piece.ends_bytes = thin(p->cut_ends, p->cut_ends_bytes);
		r = p->call(p->context, &piece);
		if (r != 0)
			return r;
	}
	return 0;
}

/* ---- captures and packets --------------------------------------------------------------------- */

/* Emit the packets of SOURCE that RANGE covers; with a capture in SOURCE, the whole tail. */
static int emit_range(struct pieces *p, struct reader_source source, const struct archive_capture_stream *range)
{
	uint64_t from = source.capture ? 0 : range->first_sequence;
	const uint64_t to = source.capture ? INT64_MAX : range->last_sequence;
	struct reader_packet packets[PACKETS];
	size_t n = PACKETS;

	p->number = 0;
	if (!source.capture && range->last_offset == 0) /* the range was lost */
		return 0;
	while (n == PACKETS && from <= to) {
		int r = reader_packets(p->r, source, from, to, false, packets, &n);

		for (size_t i = 0; i < n && r == 0; i++) {
			from = packets[i].sequence + 1;
			if (!source.capture && packets[i].sequence == to)
				r = emit_cut(p, source, packets[i].sequence, range->last_offset);
			else
				r = emit_rows(p, source.capture ? "tail" : "trace", source, packets[i].sequence,
					      packets[i].begin);
		}
		if (r != 0)
			return r;
	}
	return 0;
}

/* A capture's context, copied, so that no transaction stays open while it is sent. */
struct context {
	char *text; /* owned; NULL = none */
	size_t bytes;
};

static int on_context(void *context, const char *text, size_t bytes)
{
	struct context *c = context;

	if (!text)
		return 0;
	c->text = malloc(bytes + 1);
	if (!c->text)
		return -ENOMEM;
	memcpy(c->text, text, bytes);
	c->bytes = bytes;
	return 0;
}

static int emit_context(struct pieces *p, int64_t capture)
{
	struct context c = {0};
	int r = reader_context(p->r, capture, on_context, &c);

	p->number = 0;
	for (size_t at = 0, n; at < c.bytes && r == 0; at += n) {
		struct codec_row row;
		struct piece piece = {.part = "context", .number = p->number++, .offset = (uint32_t)at};

		n = c.bytes - at < ARCHIVE_PIECE_MAX ? c.bytes - at : ARCHIVE_PIECE_MAX;
		row = codec_encode(&p->encoder, (const uint8_t *)c.text + at, n);
		piece.length = (uint32_t)n;
		piece.codec = (int)row.codec;
		piece.data = row.data;
		piece.bytes = row.length;
		r = p->call(p->context, &piece);
	}
	free(c.text);
	return r;
}

/* ---- memory profiles -------------------------------------------------------------------------- */

/* A piece of a recording that is being emitted. */
struct emitting {
	struct pieces *p;
	int64_t recording;
	uint64_t at, bytes; /* the next byte, and the end */
	int result;	    /* of the call */
};

static int on_memory(void *context, const struct memtraces_piece *stored)
{
	struct emitting *e = context;
	const struct piece piece = {
		.part = "memory",
		.stream = e->recording,
		.number = e->p->number++,
		.offset = (uint32_t)stored->offset,
		.length = stored->length,
		.codec = stored->is_frame ? CODEC_ZSTD : CODEC_RAW,
		.data = stored->data,
		.bytes = stored->bytes,
	};

	/* A part ends where a piece does: recordings grow by whole pieces. */
	if (stored->offset != e->at || stored->length == 0 || stored->length > e->bytes - e->at)
		return PIECES_E_MEMORY;
	e->at += stored->length;
	e->result = e->p->call(e->p->context, &piece);
	return e->result;
}

static int emit_memory(struct pieces *p, const struct memory_part *memory)
{
	struct emitting e = {.p = p, .recording = memory->recording, .bytes = memory->bytes};
	int r = 0;

	p->number = 0;
	if (memory->recording)
		r = memtraces_reader_ready(p->m);
	while (memory->recording && e.at < e.bytes && r == 0)
		r = memtraces_read(p->m, e.recording, e.at, MEMTRACES_STORED, on_memory, &e);
	return r != 0 && r != e.result && r != ARCHIVE_E_BUSY ? PIECES_E_MEMORY : r;
}

int pieces_of_capture(struct pieces *p, int64_t capture, const struct memory_part *memory,
		      const struct archive_capture_stream *ranges, size_t n, piece_call *call, void *context)
{
	int r;

	p->call = call;
	p->context = context;
	r = emit_context(p, capture);
	if (r == 0)
		r = emit_memory(p, memory);
	for (size_t i = 0; i < n && r == 0; i++)
		r = emit_range(p, (struct reader_source){ranges[i].stream, capture}, &ranges[i]);
	for (size_t i = 0; i < n && r == 0; i++)
		r = emit_range(p, (struct reader_source){.stream = ranges[i].stream}, &ranges[i]);
	return r;
}

int pieces_of_packet(struct pieces *p, int64_t stream, uint64_t sequence, piece_call *call, void *context)
{
	p->call = call;
	p->context = context;
	p->number = 0;
	return emit_rows(p, "trace", (struct reader_source){.stream = stream}, sequence, MPROF_PACKET_HEADER_BYTES);
}
