/*
 * /v1/memtraces/{id}/data: a memory profile's stream as the guest sent it, in whole packets.
 *
 * A body has the bytes that are in the archive when the request comes. A recording only grows, so a
 * client can get later bytes with Range. If pieces are deleted while a body is sent, the body is
 * broken off, so the client notices.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "body.h"
#include "log.h"
#include "resource.h"
#include "routes.h"

#define TYPE	    "application/x-memtrace"
#define FRAME_LEVEL 1
#define ABSENT	    "No such memory profile. See /v1/memtraces."

/*
 * A body: the bytes from AT to END. With zstd it is sent piece by piece; without, in blocks that are
 * decoded ahead.
 */
struct data_body {
	struct memtraces_reader *reader;
	int64_t id;
	uint64_t at, end; /* offsets in the recording, uncompressed */
	bool zstd;
	uint8_t *piece; /* with zstd: a frame; LEFT bytes of it, from NEXT on, are not sent yet */
	size_t capacity, next, left;
	struct blocks blocks;
	struct block *block; /* block that is being filled */
	enum { FILL_MORE, FILL_FULL, FILL_DECODE } filled;
};

static int reserve(struct data_body *b, size_t bytes)
{
	uint8_t *more = bytes > b->capacity ? realloc(b->piece, bytes) : b->piece;

	if (!more)
		return -ENOMEM;
	b->piece = more;
	b->capacity = bytes > b->capacity ? bytes : b->capacity;
	return 0;
}

/*
 * Compress LEN bytes at DATA into one zstd frame with a checksum of its content. Return the frame's
 * length, or 0 on failure.
 */
static size_t frame_compress(uint8_t *out, size_t capacity, const uint8_t *data, size_t len)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t n = 0;

	if (zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, FRAME_LEVEL)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1)))
		n = ZSTD_compress2(zstd, out, capacity, data, len);
	ZSTD_freeCCtx(zstd);
	return ZSTD_isError(n) ? 0 : n;
}

/*
 * Put the piece into the body as a zstd frame: the stored frame, or a new one. Return 0 or -ENOMEM.
 */
static int take_frame(void *context, const struct memtraces_piece *p)
{
	struct data_body *b = context;

	if (reserve(b, p->is_frame ? p->bytes : ZSTD_compressBound(p->bytes)) < 0)
		return -ENOMEM;
	b->next = 0;
	b->left = p->bytes;
	if (p->is_frame)
		memcpy(b->piece, p->data, p->bytes);
	else
		b->left = frame_compress(b->piece, b->capacity, p->data, p->bytes);
	b->at += p->length - (b->at - p->offset);
	return b->left ? 0 : -ENOMEM;
}

static int pull_frames(struct data_body *b, char *out, size_t max, size_t *n)
{
	int rc = 0;

	*n = 0;
	if (b->left == 0 && b->at >= b->end)
		return BODY_E_END;
	if (b->left == 0)
		rc = memtraces_read(b->reader, b->id, b->at, MEMTRACES_STORED, take_frame, b);
	if (rc != 0)
		return rc;
	*n = b->left < max ? b->left : max;
	memcpy(out, b->piece + b->next, *n);
	b->next += *n;
	b->left -= *n;
	return 0;
}

/* Put the piece P into the block, or note in FILLED why that cannot be done now. */
static int put_piece(void *context, const struct memtraces_piece *p)
{
	struct data_body *b = context;
	struct block *block = b->block;
	uint64_t skip = b->at - p->offset, n = p->length - skip;
	struct decode_frame frame = {.length = p->length};
	int rc = 0;

	n = n < b->end - b->at ? n : b->end - b->at;
	b->filled = FILL_FULL;
	if (block->bytes && n > block->capacity - block->bytes)
		return 0;
	b->filled = FILL_DECODE;
	if (p->is_frame && n < p->length) /* only a part of it is wanted */
		return 0;
	if (block->bytes == 0)
		rc = block_reserve(block, n);
	if (rc < 0)
		return rc;
	frame.out = block->data + block->bytes;
	if (p->is_frame)
		rc = decode_batch_add(&block->batch, &frame, p->data, p->bytes);
	else
		memcpy(block->data + block->bytes, p->data + skip, n);
	b->filled = rc == -ENOSPC ? FILL_FULL : FILL_MORE;
	if (rc < 0)
		return rc == -ENOSPC ? 0 : rc;
	block->bytes += n;
	b->at += n;
	/* The next piece has about the same length: do not read it before there is room. */
	if (n > block->capacity - block->bytes)
		b->filled = FILL_FULL;
	return 0;
}

static int fill(void *context, struct block *block)
{
	struct data_body *b = context;
	int rc = 0;

	if (b->at >= b->end)
		return BODY_E_END;
	b->block = block;
	b->filled = FILL_MORE;
	while (rc == 0 && b->filled != FILL_FULL && b->at < b->end)
		rc = memtraces_read(b->reader, b->id, b->at,
				    b->filled == FILL_DECODE ? MEMTRACES_DECODED : MEMTRACES_PACKED, put_piece, b);
	return rc;
}

static int pull_blocks(struct data_body *b, char *out, size_t max, size_t *n)
{
	const struct decode_frame *damage;
	int rc = blocks_read(&b->blocks, out, max, n, &damage);

	return damage ? memtraces_note_damage(b->reader, b->id) : rc;
}

static ssize_t on_body(void *context, uint64_t position, char *out, size_t max)
{
	struct data_body *b = context;
	size_t n;
	int rc = b->zstd ? pull_frames(b, out, max, &n) : pull_blocks(b, out, max, &n);

	(void)position;
	if (rc == BODY_E_END)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (rc != 0) {
		log_debug("a download of a memory profile was broken off: result=%d", rc);
		return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	return (ssize_t)n;
}

static void on_free(void *context)
{
	struct data_body *b = context;

	blocks_deinit(&b->blocks);
	free(b->piece);
	free(b);
}

/* A request, and the recording as it was when the request came. */
struct download {
	int64_t id;
	uint64_t total, first, last; /* bytes of the recording; the answer has bytes FIRST to LAST, both included */
	bool grows, zstd, part;
	char etag[64];
};

static int take_recording(void *context, const struct memtrace *m)
{
	struct download *d = context;

	d->total = m->bytes;
	d->grows = strcmp(m->state, "recording") == 0;
	return 0;
}

static void add_headers(struct exchange *x, const struct download *d, struct MHD_Response *response)
{
	char range[96];

	exchange_add_header(x, response, MHD_HTTP_HEADER_ETAG, d->etag);
	exchange_add_header(x, response, MHD_HTTP_HEADER_VARY, "Accept-Encoding");
	exchange_add_header(x, response, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
	exchange_add_header(x, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	exchange_add_header(x, response, "Mprof-Recording", d->grows ? "true" : "false");
	if (d->zstd)
		exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_ENCODING, "zstd");
	if (!d->part)
		return;
	snprintf(range, sizeof(range), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, d->first, d->last, d->total);
	exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_RANGE, range);
}

static enum outcome send_body(struct exchange *x, const struct download *d)
{
	uint64_t first = d->part ? d->first : 0, end = d->part ? d->last + 1 : d->total;
	struct data_body *b = calloc(1, sizeof(*b));
	struct MHD_Response *response;

	if (!b)
		return exchange_reader_problem(x, -ENOMEM, "");
	*b = (struct data_body){.reader = exchange_memtraces(x), .id = d->id, .at = first, .end = end, .zstd = d->zstd};
	blocks_init(&b->blocks, exchange_services(x)->decode_thread, fill, b);
	response = d->zstd ? exchange_stream(x, EXCHANGE_LONG_BLOCK, on_body, b, on_free)
			   : MHD_create_response_from_callback(end - first, EXCHANGE_LONG_BLOCK, on_body, b, on_free);
	if (!response) {
		on_free(b);
		return exchange_reader_problem(x, -ENOMEM, "");
	}
	add_headers(x, d, response);
	exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, TYPE);
	return exchange_respond(x, d->part ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK, response);
}

static enum outcome send_not_modified(struct exchange *x, const struct download *d)
{
	struct MHD_Response *response = exchange_unchanged(d->zstd ? MHD_SIZE_UNKNOWN : d->total);

	if (response)
		add_headers(x, d, response);
	return exchange_respond(x, MHD_HTTP_NOT_MODIFIED, response);
}

enum outcome get_memtrace_data(struct exchange *x)
{
	const char *match = exchange_header(x, MHD_HTTP_HEADER_IF_NONE_MATCH);
	const char *range = exchange_header(x, MHD_HTTP_HEADER_RANGE);
	const char *if_range = exchange_header(x, MHD_HTTP_HEADER_IF_RANGE);
	enum range_status status = RANGE_NONE;
	struct download d = {0};
	int rc = ARCHIVE_E_ABSENT;
	int64_t id;

	if (resource_id(x, &id))
		rc = memtraces_get(exchange_memtraces(x), id, take_recording, &d);
	if (rc == 0)
		rc = memtraces_check(exchange_memtraces(x), id);
	if (rc != 0)
		return exchange_reader_problem(x, rc, ABSENT);
	d.id = id;
	d.zstd = !range && !x->http10 && request_accepts_zstd(exchange_header(x, MHD_HTTP_HEADER_ACCEPT_ENCODING));
	snprintf(d.etag, sizeof(d.etag), "\"m%" PRId64 "-%" PRIx64 "%s\"", d.id, d.total, d.zstd ? "-zstd" : "");
	if (!exchange_if_match(x, d.etag))
		return OUTCOME_DONE;
	if (match && request_etag_matches(match, d.etag))
		return send_not_modified(x, &d);
	if (range && (!if_range || strcmp(if_range, d.etag) == 0))
		status = request_range(range, d.total, &d.first, &d.last);
	if (status == RANGE_UNSATISFIABLE)
		return exchange_unsatisfiable(x, d.total);
	d.part = status == RANGE_PART;
	return send_body(x, &d);
}
