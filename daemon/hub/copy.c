/* Copy a capture from the hub's tables into an archive. */
#include "copy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "age.h"
#include "capture-head.h"
#include "checksum.h"
#include "codec.h"
#include "writer.h"

#include <mprof/bytes.h>
#include <mprof/ring.h>

#define PAGE	     "8"	/* pieces that are fetched at a time, of at most 2 MiB each with their chunk ends */
#define LEVEL	     1		/* of zstd */
#define CONTEXT_MOST (4u << 20) /* bytes of a context; the archive of a host has less */
#define ENDS_MOST    262144u	/* bytes of chunk ends of a piece */
#define FLAGS_KNOWN  ((unsigned)(ARCHIVE_CHUNK_LAST | ARCHIVE_CHUNK_UNPROVEN | ARCHIVE_CHUNK_CLOCK))

enum column {
	COLUMN_STREAM,
	COLUMN_NUMBER,
	COLUMN_SEQUENCE,
	COLUMN_OFFSET,
	COLUMN_LENGTH,
	COLUMN_FLAGS,
	COLUMN_FIRST_TIMESTAMP,
	COLUMN_PACKET_BYTES,
	COLUMN_CODEC,
	COLUMN_SUM,
	COLUMN_ENDS,
	COLUMN_DATA,
};

struct copied {
	int64_t id;
	uint64_t next; /* the packet behind the last one that came; that of the range's beginning, if none has come */
	bool has_hole; /* packets are missing, and no gap of the head says so */
	/* The last packet that came: the end of its bytes so far, and whether it is complete. END is 0 if none has come. */
	uint32_t end;
	bool is_whole;
	uint64_t damaged; /* packets that were damaged on the host, by the head's gaps */
};

struct copy {
	struct postgres *p;
	const struct capture_key *key;
	struct capture_head *head;
	struct archive_writer *writer;
	struct codec_reader decoder;
	uint8_t *plain; /* content of a piece: ARCHIVE_PIECE_MAX bytes */
	struct archive_end *ends;
	char *context; /* NULL = none yet */
	size_t context_bytes;
	struct copied *streams; /* that were put, at their places in the head */
	size_t n_streams;
	size_t gap;	/* the next gap of the head */
	uint64_t left;	/* bytes of content that may still come */
	int64_t pieces; /* that are still to come */
	char *sentence;
	size_t size;
};

static int __attribute__((format(printf, 3, 4))) fail(struct copy *c, int condition, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(c->sentence, c->size, format, values);
	va_end(values);
	return condition;
}

static int fail_database(struct copy *c, int r)
{
	if (r == -ENOMEM)
		return fail(c, r, "there is no memory left to read the database's answer");
	return fail(c, COPY_E_LOST, "%s", postgres_sentence(c->p));
}

/* Return the outcome of a call of the writer, which returned R. */
static int written(struct copy *c, int r)
{
	if (r == 0 || r == -ENOMEM)
		return r;
	if (r == ARCHIVE_E_FULL)
		return fail(c, COPY_E_DISK, "the disk is full");
	if (r == ARCHIVE_E_ABSENT || r == -EINVAL || r == ARCHIVE_E_DAMAGED)
		return fail(c, COPY_E_REFUSED, "the pieces do not follow each other");
	return fail(c, COPY_E_DISK, "the copy cannot be written: %s",
		    r < 0 ? strerror(-r) : "the file of the copy is locked");
}

void capture_key_add(const struct capture_key *key, struct postgres_params *params)
{
	postgres_add_text(params, key->host);
	postgres_add_text(params, key->month);
	postgres_add_text(params, key->archive);
	postgres_add_number(params, key->capture);
}

/* ---- pieces ----------------------------------------------------------------------------------- */

/* A piece as the hub has it. */
struct piece {
	int64_t stream;
	uint64_t sequence;
	uint32_t offset, length, flags, packet_bytes;
	uint64_t first_timestamp;
	size_t n_ends;
};

/* Set *VALUE to an integer in COLUMN of ROW. Return false if it is above MOST, or negative. */
static bool take(const struct postgres_rows *rows, int row, enum column column, uint64_t most, uint32_t *value)
{
	int64_t number = postgres_number(rows, row, (int)column);

	*value = (uint32_t)number;
	return number >= 0 && (uint64_t)number <= most;
}

/* Unpack the chunk ends of ROW. Return false unless they ascend and lie in the piece. */
static bool take_ends(struct copy *c, const struct postgres_rows *rows, int row, struct piece *piece)
{
	size_t bytes;
	const uint8_t *packed = postgres_bytes(rows, row, COLUMN_ENDS, &bytes);
	uint32_t before = piece->offset;

	if (bytes % ARCHIVE_END_BYTES || bytes > ENDS_MOST)
		return false;
	piece->n_ends = bytes / ARCHIVE_END_BYTES;
	for (size_t i = 0; i < piece->n_ends; i++, packed += ARCHIVE_END_BYTES) {
		c->ends[i] =
			(struct archive_end){mprof_load32(packed), mprof_load64(packed + 4), mprof_load64(packed + 12)};
		if (c->ends[i].offset < before || c->ends[i].offset > piece->offset + piece->length)
			return false;
		before = c->ends[i].offset;
	}
	return true;
}

/* Check the checksum of ROW's data, and decode it to PLAIN. */
static int take_data(struct copy *c, const struct postgres_rows *rows, int row, const struct piece *piece)
{
	size_t bytes;
	const uint8_t *data = postgres_bytes(rows, row, COLUMN_DATA, &bytes);
	int64_t codec = postgres_number(rows, row, COLUMN_CODEC);

	if (bytes > ARCHIVE_PIECE_MAX || !piece_sum_holds(rows, row, COLUMN_DATA, COLUMN_SUM))
		return fail(c, COPY_E_REFUSED, "piece %lld of stream %lld does not have its checksum",
			    (long long)postgres_number(rows, row, COLUMN_NUMBER), (long long)piece->stream);
	if (codec < 0 || codec > CODEC_ZSTD ||
	    !codec_decode(&c->decoder, (int)codec, data, bytes, c->plain, piece->length))
		return fail(c, COPY_E_REFUSED, "piece %lld of stream %lld cannot be decoded",
			    (long long)postgres_number(rows, row, COLUMN_NUMBER), (long long)piece->stream);
	if (piece->length > c->left)
		return fail(c, COPY_E_REFUSED, "the capture is larger than this server copies");
	c->left -= piece->length;
	return 0;
}

static int take_piece(struct copy *c, const struct postgres_rows *rows, int row, struct piece *piece)
{
	*piece = (struct piece){
		.stream = postgres_number(rows, row, COLUMN_STREAM),
		.sequence = (uint64_t)postgres_number(rows, row, COLUMN_SEQUENCE),
		.first_timestamp = (uint64_t)postgres_number(rows, row, COLUMN_FIRST_TIMESTAMP),
	};
	if (piece->sequence > INT64_MAX || !take(rows, row, COLUMN_OFFSET, MPROF_RING_BYTES_MAX, &piece->offset) ||
	    !take(rows, row, COLUMN_LENGTH, ARCHIVE_PIECE_MAX, &piece->length) ||
	    !take(rows, row, COLUMN_FLAGS, FLAGS_KNOWN, &piece->flags) ||
	    !take(rows, row, COLUMN_PACKET_BYTES, MPROF_RING_BYTES_MAX, &piece->packet_bytes) ||
	    !take_ends(c, rows, row, piece))
		return fail(c, COPY_E_REFUSED, "piece %lld of stream %lld has a number that is out of range",
			    (long long)postgres_number(rows, row, COLUMN_NUMBER), (long long)piece->stream);
	return take_data(c, rows, row, piece);
}

typedef int piece_call(struct copy *c, const struct piece *piece);

/* Fetch at most a page of pieces of PART behind (*STREAM, *NUMBER), which move on. *N is their number. */
static int fetch_page(struct copy *c, const char *part, int64_t *stream, int64_t *number, piece_call *call, int *n)
{
	static const char sql[] =
		"SELECT stream, number, sequence, \"offset\", length, flags, first_timestamp,"
		" packet_bytes, codec, sum, ends, data FROM fleet.pieces"
		" WHERE host = $1 AND month = $2::date AND archive = $3::uuid AND capture = $4::bigint"
		" AND part = $5 AND (stream, number) > ($6::integer, $7::integer)"
		" ORDER BY stream, number LIMIT " PAGE;
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL;
	struct postgres_params params = {0};
	int r;

	capture_key_add(c->key, &params);
	postgres_add_text(&params, part);
	postgres_add_number(&params, *stream);
	postgres_add_number(&params, *number);
	r = postgres_call_binary(c->p, sql, &params, &rows);
	*n = postgres_count(rows);
	c->pieces -= *n;
	if (r != 0)
		return fail_database(c, r);
	for (int i = 0; i < *n && r == 0; i++) {
		struct piece piece;

		*stream = postgres_number(rows, i, COLUMN_STREAM);
		*number = postgres_number(rows, i, COLUMN_NUMBER);
		r = take_piece(c, rows, i, &piece);
		r = r ? r : call(c, &piece);
	}
	return r;
}

static int fetch_part(struct copy *c, const char *part, piece_call *call)
{
	int64_t stream = -1, number = -1;
	int n = 1, r = 0;

	while (r == 0 && n)
		r = fetch_page(c, part, &stream, &number, call, &n);
	return r;
}

/* ---- what becomes of them --------------------------------------------------------------------- */

/* Return the stream, or NULL. */
static struct copied *find_stream(const struct copy *c, int64_t stream)
{
	for (size_t i = 0; i < c->n_streams; i++)
		if (c->streams[i].id == stream)
			return &c->streams[i];
	return NULL;
}

/* Return false, and 0 in *R, if the piece is of a stream that a cut head does not list. */
static bool wanted(struct copy *c, const struct piece *piece, int *r)
{
	if (find_stream(c, piece->stream))
		return true;
	*r = capture_head_is_cut(c->head)
		     ? 0
		     : fail(c, COPY_E_REFUSED, "the head does not list stream %lld", (long long)piece->stream);
	return false;
}

/* Write the gaps of the head that come before packet SEQUENCE of STREAM; all that are left, if STREAM is 0. */
static int put_gaps(struct copy *c, int64_t stream, uint64_t sequence)
{
	int r = 0;

	for (; r == 0 && c->gap < capture_head_gaps(c->head); c->gap++) {
		struct archive_gap gap;

		if (!capture_head_gap(c->head, c->gap, &gap))
			return fail(c, COPY_E_REFUSED, "entry %zu of the head's gaps is no gap", c->gap);
		if (stream && (gap.stream > stream || (gap.stream == stream && gap.next_sequence > sequence)))
			return 0;
		if (!find_stream(c, gap.stream))
			continue;
		r = written(c, archive_writer_gap(c->writer, &gap));
		if (strcmp(gap.reason, "damaged") == 0)
			find_stream(c, gap.stream)->damaged += gap.packets;
	}
	return r;
}

static struct archive_piece row_of(const struct copy *c, const struct piece *piece)
{
	return (struct archive_piece){
		.stream = piece->stream,
		.sequence = piece->sequence,
		.offset = piece->offset,
		.length = piece->length,
		.flags = piece->flags,
		.packet_bytes = piece->packet_bytes,
		.first_timestamp = piece->first_timestamp,
		.ends = c->ends,
		.n_ends = piece->n_ends,
		.data = c->plain,
	};
}

/* Return whether a gap of the head ends where PIECE begins. */
static bool gap_ends(const struct copy *c, const struct piece *piece)
{
	struct archive_gap gap;

	for (size_t i = 0; i < capture_head_gaps(c->head); i++)
		if (capture_head_gap(c->head, i, &gap) && gap.stream == piece->stream &&
		    gap.next_sequence == piece->sequence)
			return true;
	return false;
}

/* Return whether a gap of the head begins in packet SEQUENCE of STREAM. */
static bool gap_begins(const struct copy *c, int64_t stream, uint64_t sequence)
{
	struct archive_gap gap;

	for (size_t i = 0; i < capture_head_gaps(c->head); i++)
		if (capture_head_gap(c->head, i, &gap) && gap.stream == stream && gap.after_sequence == sequence &&
		    gap.next_sequence > sequence)
			return true;
	return false;
}

/*
 * STREAM went on behind its last packet. If that is not complete, and no gap of the head says so, declare its rest lost: a cut head left the
 * gap out, or the host had lost it.
 */
static int declare_rest(struct copy *c, struct copied *stream)
{
	const bool is_cut = capture_head_is_cut(c->head);
	const struct archive_gap gap = {.stream = stream->id,
					.kind = "lost",
					.reason = is_cut ? "lapped" : "damaged",
					.after_sequence = stream->next - 1,
					.after_offset = stream->end,
					.next_sequence = stream->next,
					.packets = 1};

	if (!stream->end || stream->is_whole || gap_begins(c, stream->id, stream->next - 1))
		return 0;
	stream->damaged += !is_cut;
	return written(c, archive_writer_gap(c->writer, &gap));
}

/*
 * Look for what is missing before PIECE. If packets are, the host had deleted them, and an earlier version of it did not say so. Return as
 * declare_rest().
 */
static int look_before(struct copy *c, const struct piece *piece)
{
	struct copied *s = find_stream(c, piece->stream);
	int r = piece->sequence >= s->next ? declare_rest(c, s) : 0;

	if (piece->sequence > s->next && !s->has_hole)
		s->has_hole = !gap_ends(c, piece);
	s->next = piece->sequence + 1;
	s->end = piece->offset + piece->length;
	s->is_whole = piece->flags & ARCHIVE_CHUNK_LAST;
	return r;
}

static int on_trace(struct copy *c, const struct piece *piece)
{
	struct archive_piece row = row_of(c, piece);
	int r = 0;

	if (!wanted(c, piece, &r))
		return r;
	r = look_before(c, piece);
	if (r == 0)
		r = put_gaps(c, piece->stream, piece->sequence);
	return r ? r : written(c, archive_writer_append(c->writer, &row));
}

static int on_tail(struct copy *c, const struct piece *piece)
{
	struct archive_piece row = row_of(c, piece);
	int r = 0;

	if (!wanted(c, piece, &r))
		return r;
	return written(c, archive_writer_tail(c->writer, c->key->capture, &row));
}

static int on_context(struct copy *c, const struct piece *piece)
{
	char *more;

	if (piece->offset != c->context_bytes || c->context_bytes + piece->length > CONTEXT_MOST)
		return fail(c, COPY_E_REFUSED, "the pieces of the context do not follow each other");
	more = realloc(c->context, c->context_bytes + piece->length + 1);
	if (!more)
		return -ENOMEM;
	c->context = more;
	memcpy(more + c->context_bytes, c->plain, piece->length);
	c->context_bytes += piece->length;
	more[c->context_bytes] = '\0';
	if (strlen(more) != c->context_bytes)
		return fail(c, COPY_E_REFUSED, "the context has a byte 0");
	return 0;
}

/* ---- the capture ------------------------------------------------------------------------------ */

static int read_head(struct copy *c)
{
	static const char sql[] =
		"SELECT head::text, pieces - (SELECT count(*) FROM fleet.pieces"
		" WHERE host = $1 AND month = $2::date AND archive = $3::uuid AND capture = $4::bigint AND part = "
		"'memory')"
		" FROM fleet.captures"
		" WHERE host = $1 AND month = $2::date AND archive = $3::uuid AND capture = $4::bigint";
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL;
	struct postgres_params params = {0};
	int r;

	capture_key_add(c->key, &params);
	r = postgres_call(c->p, sql, &params, &rows);
	if (r != 0)
		return fail_database(c, r);
	if (postgres_count(rows) != 1)
		return fail(c, COPY_E_ABSENT, "there is no such capture");
	c->pieces = postgres_number(rows, 0, 1);
	r = capture_head_read(&c->head, postgres_text(rows, 0, 0), c->sentence, c->size);
	return r == -EINVAL ? COPY_E_REFUSED : r;
}

/* Write how the host's clocks were set, as the hub knows it now: readers of the copy correct its stamps by that. */
static int put_periods(struct copy *c)
{
	static const char sql[] =
		"SELECT period, began_mono, CASE WHEN is_newest THEN 9000000000000000000 ELSE ended_mono END,"
		" real_offset, correction FROM fleet.clock_periods WHERE host = $1 AND archive = $2::uuid"
		" ORDER BY period DESC LIMIT 1024";
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL;
	struct postgres_params params = {0};
	int r;

	postgres_add_text(&params, c->key->host);
	postgres_add_text(&params, c->key->archive);
	r = postgres_call(c->p, sql, &params, &rows);
	if (r != 0)
		return fail_database(c, r);
	for (int i = 0; i < postgres_count(rows) && r == 0; i++) {
		const struct age_period p = {.id = postgres_number(rows, i, 0),
					     .began_mono = postgres_number(rows, i, 1),
					     .ended_mono = postgres_number(rows, i, 2),
					     .real_offset = postgres_number(rows, i, 3),
					     .is_corrected = !postgres_is_null(rows, i, 4),
					     .correction = postgres_number(rows, i, 4)};

		r = written(c, archive_writer_put_period(c->writer, &p));
	}
	return r;
}

/* Write the run, its streams and the capture. */
static int put_head(struct copy *c)
{
	const struct archive_run run = capture_head_run(c->head);
	struct archive_capture capture = capture_head_capture(c->head, c->key->capture);
	int r = written(c, archive_writer_put_run(c->writer, &run));

	for (size_t i = 0; r == 0 && i < capture_head_streams(c->head); i++) {
		struct archive_stream stream;
		struct archive_capture_stream range;

		if (!capture_head_stream(c->head, i, capture.id, &stream, &range))
			return fail(c, COPY_E_REFUSED, "entry %zu of the head's streams is no stream", i);
		r = written(c, archive_writer_put_stream(c->writer, &stream));
		c->streams[c->n_streams++] = (struct copied){.id = stream.id, .next = range.first_sequence};
	}
	capture.context = c->context;
	return r ? r : written(c, archive_writer_put_capture(c->writer, &capture));
}

static int put_ranges(struct copy *c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->n_streams; i++) {
		struct archive_stream stream;
		struct archive_capture_stream range;

		if (!capture_head_stream(c->head, i, c->key->capture, &stream, &range))
			continue;
		r = written(c, archive_writer_put_capture_stream(c->writer, &range));
		if (r == 0 && range.last_sequence >= c->streams[i].next)
			r = declare_rest(c, &c->streams[i]);
		if (r == 0 && (!capture_head_has_all(c->head, i) || c->streams[i].has_hole))
			r = written(c, archive_writer_deleted(c->writer, stream.id));
		if (r == 0 && c->streams[i].damaged)
			r = written(c, archive_writer_damaged(c->writer, stream.id, c->streams[i].damaged));
	}
	if (r == 0 && capture_head_lacks(c->head))
		r = written(c, archive_writer_capture_lacks(c->writer, c->key->capture));
	return r;
}

/* Every piece that the host has sent must be there: so packets that are missing without a gap were deleted there. */
static int check_pieces(struct copy *c)
{
	return c->pieces == 0 ? 0 : fail(c, COPY_E_REFUSED, "%lld of its pieces are missing", (long long)c->pieces);
}

static int copy_parts(struct copy *c)
{
	int r = fetch_part(c, "context", on_context);

	r = r ? r : written(c, archive_writer_begin(c->writer));
	r = r ? r : put_periods(c);
	r = r ? r : put_head(c);
	r = r ? r : fetch_part(c, "trace", on_trace);
	r = r ? r : put_gaps(c, 0, 0);
	r = r ? r : fetch_part(c, "tail", on_tail);
	r = r ? r : check_pieces(c);
	r = r ? r : put_ranges(c);
	return r ? r : written(c, archive_writer_commit(c->writer));
}

static int copy_open(struct copy *c, const char *state)
{
	const struct archive_options options = {.wal_limit_bytes = 1u << 20, .level = LEVEL};
	int r = read_head(c);

	if (r != 0)
		return r;
	c->plain = malloc(ARCHIVE_PIECE_MAX);
	c->ends = calloc(ENDS_MOST / ARCHIVE_END_BYTES, sizeof(*c->ends));
	c->streams = calloc(capture_head_streams(c->head) + 1, sizeof(*c->streams));
	if (!c->plain || !c->ends || !c->streams || codec_reader_init(&c->decoder) < 0)
		return -ENOMEM;
	r = archive_writer_open(&c->writer, state, &options, c->sentence, c->size);
	return r == 0 || r == -ENOMEM ? r : COPY_E_DISK;
}

int capture_copy(struct postgres *p, const struct capture_key *key, const char *state, uint64_t most, char *sentence,
		 size_t size)
{
	struct copy c = {.p = p, .key = key, .left = most, .sentence = sentence, .size = size};
	int r;

	snprintf(sentence, size, "there is no memory left to copy the capture");
	r = copy_open(&c, state);
	r = r ? r : copy_parts(&c);
	c.writer = archive_writer_free(c.writer);
	codec_reader_deinit(&c.decoder);
	c.head = capture_head_free(c.head);
	free(c.plain);
	free(c.ends);
	free(c.context);
	free(c.streams);
	return r;
}
