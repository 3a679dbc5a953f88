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

#include "log.h"
#include "quantity.h"
#include "routes.h"

#define TYPE	    "application/x-memtrace"
#define FRAME_LEVEL 1
#define ABSENT	    "No such memory profile. See /v1/memtraces."

/* A body: the bytes from AT to END, sent piece by piece. */
struct body {
	struct memtraces_reader *reader;
	int64_t id;
	uint64_t at, end; /* offsets in the recording, uncompressed */
	bool zstd;
	uint8_t *piece; /* a piece, or its frame; LEFT bytes of it, from NEXT on, are not sent yet */
	size_t capacity, next, left;
};

static int reserve(struct body *b, size_t bytes)
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
static int take_as_frame(struct body *b, const struct memtraces_piece *p)
{
	size_t n;

	if (reserve(b, p->is_frame ? p->bytes : ZSTD_compressBound(p->bytes)) < 0)
		return -ENOMEM;
	if (p->is_frame) {
		memcpy(b->piece, p->data, p->bytes);
		b->left = p->bytes;
		return 0;
	}
	n = frame_compress(b->piece, b->capacity, p->data, p->bytes);
	b->left = n;
	return b->left ? 0 : -ENOMEM;
}

static int take_piece(void *context, const struct memtraces_piece *p)
{
	struct body *b = context;
	uint64_t skip = b->at - p->offset, n = p->length - skip;
	int r;

	b->next = 0;
	if (b->zstd) {
		r = take_as_frame(b, p);
	} else {
		n = n < b->end - b->at ? n : b->end - b->at;
		r = reserve(b, n);
		if (r == 0)
			memcpy(b->piece, p->data + skip, n);
		b->left = n;
	}
	b->at += n;
	return r;
}

static ssize_t on_body(void *context, uint64_t position, char *out, size_t max)
{
	struct body *b = context;
	size_t n;
	int rc = 0;

	(void)position;
	if (b->left == 0 && b->at >= b->end)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (b->left == 0)
		rc = memtraces_read(b->reader, b->id, b->at, b->zstd, take_piece, b);
	if (rc != 0) {
		log_debug("a download of a memory profile was broken off: result=%d", rc);
		return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	n = b->left < max ? b->left : max;
	memcpy(out, b->piece + b->next, n);
	b->next += n;
	b->left -= n;
	return (ssize_t)n;
}

static void on_free(void *context)
{
	struct body *b = context;

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

static int take_recording(void *context, const struct memtrace *t)
{
	struct download *d = context;

	d->total = t->bytes;
	d->grows = strcmp(t->state, "recording") == 0;
	return 0;
}

static void add_headers(const struct download *d, struct MHD_Response *response)
{
	char range[96];

	MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, d->etag);
	MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Accept-Encoding");
	MHD_add_response_header(response, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	MHD_add_response_header(response, "Mprof-Recording", d->grows ? "true" : "false");
	if (d->zstd)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "zstd");
	if (!d->part)
		return;
	snprintf(range, sizeof(range), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, d->first, d->last, d->total);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_RANGE, range);
}

static enum outcome send_body(struct exchange *x, const struct download *d)
{
	uint64_t first = d->part ? d->first : 0, end = d->part ? d->last + 1 : d->total;
	struct body *b = calloc(1, sizeof(*b));
	struct MHD_Response *response;

	if (!b)
		return exchange_reader_problem(x, -ENOMEM, "");
	*b = (struct body){.reader = exchange_memtraces(x), .id = d->id, .at = first, .end = end, .zstd = d->zstd};
	response = MHD_create_response_from_callback(d->zstd ? MHD_SIZE_UNKNOWN : end - first, EXCHANGE_BLOCK, on_body,
						     b, on_free);
	if (!response) {
		on_free(b);
		return exchange_reader_problem(x, -ENOMEM, "");
	}
	add_headers(d, response);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, TYPE);
	return exchange_respond(x, d->part ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK, response);
}

static enum outcome send_not_modified(struct exchange *x, const struct download *d)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);

	if (response)
		add_headers(d, response);
	return exchange_respond(x, MHD_HTTP_NOT_MODIFIED, response);
}

enum outcome get_memtrace_data(struct exchange *x)
{
	const char *match = exchange_header(x, MHD_HTTP_HEADER_IF_NONE_MATCH);
	const char *range = exchange_header(x, MHD_HTTP_HEADER_RANGE);
	const char *if_range = exchange_header(x, MHD_HTTP_HEADER_IF_RANGE);
	enum range_status status = RANGE_NONE;
	struct download d = {0};
	uint64_t id = 0;
	int rc = ARCHIVE_E_ABSENT;

	if (quantity_whole(x->parameter, INT64_MAX, &id) && id)
		rc = memtraces_get(exchange_memtraces(x), (int64_t)id, take_recording, &d);
	if (rc == 0)
		rc = memtraces_check(exchange_memtraces(x), (int64_t)id);
	if (rc != 0)
		return exchange_reader_problem(x, rc, ABSENT);
	d.id = (int64_t)id;
	d.zstd = !range && !x->http10 && request_accepts_zstd(exchange_header(x, MHD_HTTP_HEADER_ACCEPT_ENCODING));
	snprintf(d.etag, sizeof(d.etag), "\"m%" PRId64 "-%" PRIx64 "%s\"", d.id, d.total, d.zstd ? "-zstd" : "");
	if (match && request_etag_matches(match, d.etag))
		return send_not_modified(x, &d);
	if (range && (!if_range || strcmp(if_range, d.etag) == 0))
		status = request_range(range, d.total, &d.first, &d.last);
	if (status == RANGE_UNSATISFIABLE)
		return exchange_problem_with(x, MHD_HTTP_RANGE_NOT_SATISFIABLE,
					     "The range begins behind the end; bytes is the length.",
					     json_pack("{s:I}", "bytes", (json_int_t)d.total));
	d.part = status == RANGE_PART;
	return send_body(x, &d);
}
