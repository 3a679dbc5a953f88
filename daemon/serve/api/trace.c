/*
 * /.../trace: a CTF body of one run and one stream.
 *
 * resource.c finds the resource of the request. plan.c plans the selection in steps, so a long plan
 * does not delay other clients. The headers come from the plan, and body.c emits the planned bytes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "body.h"
#include "clock.h"
#include "log.h"
#include "reading-json.h"
#include "resource.h"
#include "routes.h"

#define CTF_TYPE "application/x-ctf-stream"
/*
 * A body of at most half this size is read into memory before it is sent; frames of zstd may be
 * longer than their content.
 */
#define SHORT_MOST 262144u

struct download {
	struct plan plan;
	bool zstd;
	bool grows;
	bool part;
	bool capture, whole;  /* the resource is a capture; WHOLE: all its packets are archived */
	uint64_t first, last; /* the range, both included */
	char etag[64];
};

static void add_header(struct exchange *x, struct MHD_Response *response, const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void add_header(struct exchange *x, struct MHD_Response *response, const char *name, const char *format, ...)
{
	char text[3 * REQUEST_TARGET_MAX + 256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	exchange_add_header(x, response, name, text);
}

/* Write TEXT, the {domain} of the path, to OUT in percent encoding. */
static void encode_segment(const char *text, char *out)
{
	for (; *text; text++) {
		if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		    (*text >= '0' && *text <= '9') || strchr("-._~", *text))
			*out++ = *text;
		else
			out += sprintf(out, "%%%02X", (unsigned)(unsigned char)*text);
	}
	*out = '\0';
}

static void add_location(struct exchange *x, const struct download *d, struct MHD_Response *response)
{
	char domain[3 * REQUEST_TARGET_MAX + 1], from[POSITION_TEXT], end[POSITION_TEXT];
	const struct selection *s = &d->plan.selection;
	struct position first = {s->run, s->number, s->first, s->first_offset};

	encode_segment(x->parameter, domain);
	position_format(&first, from);
	position_format(&d->plan.end, end);
	add_header(x, response, MHD_HTTP_HEADER_CONTENT_LOCATION, "/v1/domains/%s/trace?first=%s&end=%s%s", domain,
		   from, end, s->raw ? "&tail=raw" : "");
}

static void add_plan_headers(struct exchange *x, struct download *d, struct MHD_Response *response)
{
	const struct selection *s = &d->plan.selection;
	struct span_losses l;
	char at[POSITION_TEXT], damages[READING_DAMAGES_TEXT];

	add_header(x, response, MHD_HTTP_HEADER_ETAG, "%s", d->etag);
	add_header(x, response, MHD_HTTP_HEADER_VARY, "Accept-Encoding");
	add_header(x, response, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
	add_header(x, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	add_header(x, response, "Mprof-Run", "%" PRId64, s->run);
	add_header(x, response, "Mprof-Stream", "%" PRIu32, s->number);
	if (span_lost(exchange_reader(x), &s->span, &l) == 0)
		add_header(x, response, "Mprof-Lost-Packets", "%" PRIu64 "%s", l.packets, l.at_least ? "+" : "");
	else /* the number is unknown now */
		add_header(x, response, "Mprof-Lost-Packets", "0+");
	if (d->plan.cut_packets) {
		position_format(&d->plan.first_cut, at);
		add_header(x, response, "Mprof-Cut", "bytes=%" PRIu64 "; packets=%" PRIu64 "; at=%s", d->plan.cut_bytes,
			   d->plan.cut_packets, at);
	}
	if (d->capture)
		add_header(x, response, "Mprof-Complete", "%s", d->whole ? "true" : "false");
	if (d->capture && capture_damages(x, s->capture, damages))
		add_header(x, response, "Mprof-Damages", "%s", damages);
	if (d->grows && d->plan.packets)
		add_location(x, d, response);
}

static ssize_t on_body(void *context, uint64_t position, char *out, size_t max)
{
	size_t n;
	int rc = body_stream_pull(context, out, max, &n);

	(void)position;
	if (rc == BODY_E_END)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (rc == ARCHIVE_E_BUSY) /* the client can get the remaining bytes with Range */
		log_debug("a download was broken off: the archive could not be read");
	return rc == 0 ? (ssize_t)n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void on_body_free(void *context)
{
	body_stream_deinit(context);
	free(context);
}

/*
 * Read all bytes of B into memory, which the caller frees; *BYTES is their number. Return NULL on
 * failure: *RC is then an error, or 0 if B has more than SHORT_MOST bytes.
 */
static char *read_short(struct body *b, size_t *bytes, int *rc)
{
	char *text = malloc(SHORT_MOST);
	size_t n;

	*bytes = 0;
	*rc = text ? 0 : -ENOMEM;
	while (*rc == 0 && *bytes < SHORT_MOST) {
		*rc = body_pull(b, text + *bytes, SHORT_MOST - *bytes, &n);
		*bytes += n;
	}
	if (*rc == BODY_E_END) {
		*rc = 0;
		return text;
	}
	if (*rc == BODY_E_CHANGED)
		*rc = ARCHIVE_E_BUSY;
	free(text);
	return NULL;
}

static enum outcome respond_body(struct exchange *x, struct download *d, struct MHD_Response *response,
				 size_t in_memory)
{
	unsigned status = d->part ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK;

	if (!response)
		return exchange_reader_problem(x, -ENOMEM, "");
	add_plan_headers(x, d, response);
	add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, CTF_TYPE);
	if (d->zstd)
		add_header(x, response, MHD_HTTP_HEADER_CONTENT_ENCODING, "zstd");
	if (d->part)
		add_header(x, response, MHD_HTTP_HEADER_CONTENT_RANGE, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
			   d->first, d->last, d->plan.total);
	return in_memory ? exchange_respond_memory(x, status, response, in_memory)
			 : exchange_respond(x, status, response);
}

/*
 * Send a body of BYTES uncompressed bytes from memory. Return false if it is longer than
 * SHORT_MOST; nothing is sent then.
 */
static bool send_short(struct exchange *x, struct download *d, uint64_t bytes)
{
	struct MHD_Response *response;
	struct body b;
	size_t n;
	char *text;
	int rc = body_init(&b, exchange_reader(x), exchange_scratch(x), &d->plan, d->zstd, d->part, bytes);

	text = rc == 0 ? read_short(&b, &n, &rc) : NULL;
	body_deinit(&b);
	if (rc != 0)
		exchange_reader_problem(x, rc, "");
	if (!text)
		return rc != 0;
	response = MHD_create_response_from_buffer(n, text, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(text);
	respond_body(x, d, response, n);
	return true;
}

static enum outcome send_body(struct exchange *x, struct download *d)
{
	uint64_t bytes = d->part ? d->last - d->first + 1 : d->plan.total;
	struct MHD_Response *response;
	struct body_stream *b;

	if (bytes <= SHORT_MOST / 2 && send_short(x, d, bytes))
		return OUTCOME_DONE;
	b = calloc(1, sizeof(*b));
	if (!b || body_stream_init(b, exchange_reader(x), exchange_scratch(x), exchange_services(x)->decode_thread,
				   &d->plan, d->zstd, d->part, bytes) < 0) {
		free(b);
		return exchange_reader_problem(x, -ENOMEM, "");
	}
	response = d->zstd ? exchange_stream(x, EXCHANGE_LONG_BLOCK, on_body, b, on_body_free)
			   : MHD_create_response_from_callback(bytes, EXCHANGE_LONG_BLOCK, on_body, b, on_body_free);
	if (!response)
		on_body_free(b);
	return respond_body(x, d, response, 0);
}

static enum outcome send_not_modified(struct exchange *x, struct download *d)
{
	struct MHD_Response *response = exchange_unchanged(d->zstd ? MHD_SIZE_UNKNOWN : d->plan.total);

	if (response)
		add_plan_headers(x, d, response);
	return exchange_respond(x, MHD_HTTP_NOT_MODIFIED, response);
}

/* Answer the request from the plan D->plan, which is done. */
static enum outcome planned(struct exchange *x, struct download *d)
{
	const char *match = exchange_header(x, MHD_HTTP_HEADER_IF_NONE_MATCH);
	const char *range = exchange_header(x, MHD_HTTP_HEADER_RANGE);
	const char *if_range = exchange_header(x, MHD_HTTP_HEADER_IF_RANGE);
	enum range_status status = RANGE_NONE;

	/*
	 * The hash of the zstd body covers the rows, because their stored frames are its bytes. The
	 * uncompressed bytes do not depend on rows.
	 */
	snprintf(d->etag, sizeof(d->etag), "\"%016" PRIx64 "-%" PRIx64 "%s\"",
		 d->zstd ? d->plan.hash ^ d->plan.hash_rows << 1 : d->plan.hash, d->plan.total, d->zstd ? "-zstd" : "");
	if (!exchange_if_match(x, d->etag))
		return OUTCOME_DONE;
	if (match && request_etag_matches(match, d->etag))
		return send_not_modified(x, d);
	if (range && (!if_range || strcmp(if_range, d->etag) == 0))
		status = request_range(range, d->plan.total, &d->first, &d->last);
	if (status == RANGE_UNSATISFIABLE)
		return exchange_unsatisfiable(x, d->plan.total);
	d->part = status == RANGE_PART;
	if (!d->part || d->plan.range_first == d->first)
		return send_body(x, d);
	/*
	 * For the last N bytes, the first byte of the range is known only now: plan again, to find
	 * its place.
	 */
	plan_range(&d->plan, d->first, d->last);
	return OUTCOME_AGAIN;
}

static enum outcome download_step(struct exchange *x, struct download *d)
{
	uint64_t until = clock_mono() + EXCHANGE_STEP_NS;
	int rc = plan_step(&d->plan, until);

	if (rc != 0)
		return exchange_reader_problem(x, rc, "");
	return d->plan.done ? planned(x, d) : OUTCOME_AGAIN;
}

/* Return whether the body is sent as zstd. */
static bool wants_zstd(struct exchange *x)
{
	if (exchange_header(x, MHD_HTTP_HEADER_RANGE) ||
	    !request_accepts_zstd(exchange_header(x, MHD_HTTP_HEADER_ACCEPT_ENCODING)))
		return false;
	/*
	 * HTTP/1.0 has no chunked bodies, so the end of a compressed body would look like a lost
	 * connection.
	 */
	return !x->http10;
}

static void download_free(void *context)
{
	struct download *d = context;

	plan_deinit(&d->plan);
	free(d);
}

static enum outcome trace_begin(struct exchange *x, struct resource *res, const struct position *first)
{
	const struct resource_stream *stream;
	struct selection selection;
	struct request_range range;
	struct download *d;

	if (!resource_pick(x, res, first, &stream))
		return OUTCOME_DONE;
	if (!stream)
		return exchange_problem(x, MHD_HTTP_NOT_FOUND, "The run has no stream yet.");
	if (!resource_select(x, res, stream, first, &selection))
		return OUTCOME_DONE;
	d = calloc(1, sizeof(*d));
	if (!d)
		return exchange_reader_problem(x, -ENOMEM, "");
	x->work = d;
	x->work_free = download_free;
	d->zstd = wants_zstd(x);
	d->grows = !res->ended && !res->capture && !request_query(&x->request, "end");
	d->capture = res->capture != 0;
	d->whole = stream->coverage == COVERAGE_ALL && !res->lacks;
	plan_init(&d->plan, exchange_reader(x), exchange_scratch(x), &selection);
	if (request_range_parse(exchange_header(x, MHD_HTTP_HEADER_RANGE), &range) && !range.suffix)
		plan_range(&d->plan, range.first, range.last);
	return download_step(x, d);
}

enum outcome get_domain_trace(struct exchange *x)
{
	CLEANUP(resource_deinit) struct resource res = {0};
	struct position store;
	const struct position *first;

	if (x->work)
		return download_step(x, x->work);
	if (!exchange_hold(x))
		return OUTCOME_AGAIN;
	if (!resource_position(x, "first", &store, &first) || !resource_domain(x, first, &res))
		return OUTCOME_DONE;
	return trace_begin(x, &res, first);
}

enum outcome get_capture_trace(struct exchange *x)
{
	CLEANUP(resource_deinit) struct resource res = {0};
	struct position store;
	const struct position *first;

	if (x->work)
		return download_step(x, x->work);
	if (!exchange_hold(x))
		return OUTCOME_AGAIN;
	if (!resource_position(x, "first", &store, &first) || !resource_capture(x, &res))
		return OUTCOME_DONE;
	if (first && first->run != res.run)
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST,
					"The position first is of another run than the capture.");
	return trace_begin(x, &res, first);
}
