/*
 * Answers, and errors as problem documents (RFC 9457).
 *
 * A request that fails is answered with a problem document; nothing that a client sends ends the
 * program. The type of a problem is about:blank: the status gives the kind of error, and the detail
 * says what to do.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "freshness.h"
#include "http-state.h"
#include "json-whole.h"

#define NO_MEMORY "There is no memory for this answer now; try again."

void exchange_add_header(struct exchange *x, struct MHD_Response *response, const char *name, const char *value)
{
	if (MHD_add_response_header(response, name, value) != MHD_YES)
		x->lacks_header = true;
}

/* Say how old an answer may be that the collector's commit did not precede. */
static void add_age(struct exchange *x, struct MHD_Response *response)
{
	bool at_least;
	uint64_t age = freshness_age(exchange_services(x)->freshness, clock_mono(), &at_least);
	char text[40];

	snprintf(text, sizeof(text), "%.1f%s", (double)age / 1e9, at_least ? "+" : "");
	exchange_add_header(x, response, "Mprof-Age", text);
}

static void queue(struct exchange *x, unsigned status, struct MHD_Response *response)
{
	/* Browsers must not guess that bytes of a guest are a page. */
	exchange_add_header(x, response, "X-Content-Type-Options", "nosniff");
	if (x->late)
		add_age(x, response);
	if (x->closes)
		exchange_add_header(x, response, MHD_HTTP_HEADER_CONNECTION, "close");
	/* Without one of its headers an answer would say less than is known, for example not that packets are lost. */
	x->answered = !x->lacks_header && MHD_queue_response(x->connection, status, response) == MHD_YES;
	x->http->counts.client_errors += x->answered && status >= 400 && status < 500;
	x->http->counts.server_errors += x->answered && status >= 500;
	exchange_audit(x, status);
}

/*
 * X has no answer, because there was no memory for it: say so. The document is made here, since memory for a JSON value may be what lacks. After
 * a change nothing is said: it was made, or not, and its client must look.
 */
static void respond_no_memory(struct exchange *x)
{
	static const char problem[] = "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,"
				      "\"detail\":\"" NO_MEMORY "\"}";
	struct MHD_Response *response;

	if (x->method != METHOD_GET)
		return;
	response = MHD_create_response_from_buffer(sizeof(problem) - 1, (void *)(uintptr_t)problem,
						   MHD_RESPMEM_PERSISTENT);
	if (!response)
		return;
	x->lacks_header = false;
	exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, PROBLEM_TYPE);
	exchange_add_header(x, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	exchange_add_header(x, response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	queue(x, MHD_HTTP_SERVICE_UNAVAILABLE, response);
	MHD_destroy_response(response);
}

enum outcome exchange_respond(struct exchange *x, unsigned status, struct MHD_Response *response)
{
	if (response) {
		queue(x, status, response);
		MHD_destroy_response(response);
	} else {
		exchange_audit(x, status); /* a change was done, though nobody is told */
	}
	if (!response || x->lacks_header)
		respond_no_memory(x);
	return OUTCOME_DONE;
}

/*
 * Return whether the response of X may come from the cache and be stored there. KEY is then its
 * key.
 */
static bool response_key_of(struct exchange *x, struct response_key *key)
{
	if (x->closes || exchange_header(x, MHD_HTTP_HEADER_RANGE) || exchange_header(x, MHD_HTTP_HEADER_IF_MATCH) ||
	    exchange_header(x, MHD_HTTP_HEADER_IF_NONE_MATCH))
		return false;
	response_key_make(key, &x->request, request_accepts_zstd(exchange_header(x, MHD_HTTP_HEADER_ACCEPT_ENCODING)),
			  x->http10, x->sees ? scopes_text(x->who.scopes) : "");
	return true;
}

bool exchange_respond_kept(struct exchange *x)
{
	struct MHD_Response *response;
	struct response_key key;

	x->keep = x->route->keep == KEPT && x->method == METHOD_GET && response_key_of(x, &key) &&
		  archive_state_read(exchange_reader(x), exchange_memtraces(x), &x->made_from);
	response = x->keep ? response_cache_find(&x->http->responses, &x->made_from, &key) : NULL;
	if (response)
		x->answered = MHD_queue_response(x->connection, MHD_HTTP_OK, response) == MHD_YES;
	return response != NULL;
}

void exchange_forget(struct exchange *x)
{
	x->keep = false;
}

enum outcome exchange_respond_memory(struct exchange *x, unsigned status, struct MHD_Response *response, size_t bytes)
{
	struct archive_state now;
	struct response_key key;

	if (!response || !x->keep || status != MHD_HTTP_OK || !response_key_of(x, &key) ||
	    !archive_state_read(exchange_reader(x), exchange_memtraces(x), &now) ||
	    !archive_state_equal(&now, &x->made_from))
		return exchange_respond(x, status, response);
	queue(x, status, response);
	if (x->lacks_header) {
		MHD_destroy_response(response);
		respond_no_memory(x);
	} else {
		response_cache_add(&x->http->responses, &now, &key, response, bytes);
	}
	return OUTCOME_DONE;
}

/*
 * Return a response with JSON as its body, or NULL without memory. Release JSON. *BYTES is the
 * length of the body.
 */
static struct MHD_Response *json_response(struct exchange *x, json_t *json, const char *type, size_t *bytes)
{
	char *text = json_whole_text(json, JSON_COMPACT | JSON_ENSURE_ASCII);
	struct MHD_Response *response = NULL;

	json_decref(json);
	*bytes = text ? strlen(text) : 0;
	if (text)
		response = MHD_create_response_from_buffer(*bytes, text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(text);
		return NULL;
	}
	exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	exchange_add_header(x, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	return response;
}

enum outcome exchange_json_with(struct exchange *x, unsigned status, json_t *json, const char *header,
				const char *value)
{
	size_t bytes;
	struct MHD_Response *response = json_response(x, json, "application/json", &bytes);

	if (response && header)
		exchange_add_header(x, response, header, value);
	return exchange_respond_memory(x, status, response, bytes);
}

enum outcome exchange_json(struct exchange *x, unsigned status, json_t *json)
{
	return exchange_json_with(x, status, json, NULL, NULL);
}

enum outcome exchange_created(struct exchange *x, const char *location, json_t *json)
{
	size_t bytes;
	struct MHD_Response *response = json_response(x, json, "application/json", &bytes);

	if (response)
		exchange_add_header(x, response, MHD_HTTP_HEADER_LOCATION, location);
	return exchange_respond(x, MHD_HTTP_CREATED, response);
}

enum outcome exchange_text(struct exchange *x, const char *type, const char *text, size_t bytes)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

	if (response)
		exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	return exchange_respond(x, MHD_HTTP_OK, response);
}

enum outcome exchange_empty(struct exchange *x, unsigned status)
{
	return exchange_respond(x, status,
				MHD_create_response_from_buffer(0, (void *)(uintptr_t)"", MHD_RESPMEM_PERSISTENT));
}

static const char *problem_title(unsigned status)
{
	static const struct {
		unsigned status;
		const char *title;
	} titles[] = {
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{409, "Conflict"},
		{410, "Gone"},
		{412, "Precondition Failed"},
		{413, "Content Too Large"},
		{414, "URI Too Long"},
		{415, "Unsupported Media Type"},
		{416, "Range Not Satisfiable"},
		{421, "Misdirected Request"},
		{429, "Too Many Requests"},
		{500, "Internal Server Error"},
		{503, "Service Unavailable"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		if (titles[i].status == status)
			return titles[i].title;
	return "Error";
}

/*
 * Return DETAIL as a JSON string. If DETAIL is not UTF-8, for instance because a name was cut
 * inside a character, replace each byte beyond ASCII by '?'.
 */
static json_t *detail_json(const char *detail)
{
	json_t *string = json_string(detail);
	char ascii[1024];
	size_t n = 0;

	if (string)
		return string;
	for (; n < sizeof(ascii) - 1 && detail[n]; n++)
		ascii[n] = (unsigned char)detail[n] < 0x80 ? detail[n] : '?';
	ascii[n] = '\0';
	return json_string(ascii);
}

json_t *problem_json(unsigned status, const char *detail, json_t *more)
{
	json_t *problem = json_pack("{s:s, s:s, s:i, s:o}", "type", "about:blank", "title", problem_title(status),
				    "status", (int)status, "detail", detail_json(detail));

	if (problem && more && json_object_update(problem, more) < 0)
		problem = (json_decref(problem), NULL);
	json_decref(more);
	return problem;
}

/* Answer with a problem document that also has the members of MORE, and the header NAME with VALUE (NULL: without). */
static enum outcome problem_respond(struct exchange *x, unsigned status, const char *detail, json_t *more,
				    const char *name, const char *value)
{
	size_t bytes;
	struct MHD_Response *response = json_response(x, problem_json(status, detail, more), PROBLEM_TYPE, &bytes);

	if (response && status == MHD_HTTP_UNAUTHORIZED)
		exchange_add_header(x, response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	if (response && (status == MHD_HTTP_SERVICE_UNAVAILABLE || status == MHD_HTTP_TOO_MANY_REQUESTS))
		exchange_add_header(x, response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	if (response && value)
		exchange_add_header(x, response, name, value);
	return exchange_respond(x, status, response);
}

enum outcome exchange_problem(struct exchange *x, unsigned status, const char *format, ...)
{
	char detail[1024];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	if (len >= (int)sizeof(detail)) { /* the text was cut: do not end inside a character */
		len = (int)sizeof(detail) - 1;
		while (len > 0 && ((unsigned char)detail[len - 1] & 0xc0) == 0x80)
			len--;
		detail[len > 0 ? len - 1 : 0] = '\0';
	}
	return problem_respond(x, status, detail, NULL, NULL, NULL);
}

enum outcome exchange_problem_with(struct exchange *x, unsigned status, const char *detail, json_t *more)
{
	return problem_respond(x, status, detail, more, NULL, NULL);
}

enum outcome exchange_unsatisfiable(struct exchange *x, uint64_t total)
{
	json_t *more = json_pack("{s:I}", "bytes", (json_int_t)total);
	char length[32];

	snprintf(length, sizeof(length), "bytes */%" PRIu64, total);
	return problem_respond(x, MHD_HTTP_RANGE_NOT_SATISFIABLE,
			       "The range begins behind the end; bytes is the length.", more,
			       MHD_HTTP_HEADER_CONTENT_RANGE, length);
}

static ssize_t no_body(void *context, uint64_t at, char *to, size_t room)
{
	(void)context, (void)at, (void)to, (void)room;
	return MHD_CONTENT_READER_END_OF_STREAM;
}

/*
 * Without a body, libmicrohttpd 0.9.75 still sends the end of a chunked one, which a client would take for the next answer. So let it
 * not announce chunks, but close the connection.
 */
static struct MHD_Response *without_chunks(struct MHD_Response *response)
{
	if (response)
		MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
	return response;
}

struct MHD_Response *exchange_stream(struct exchange *x, size_t block, MHD_ContentReaderCallback read, void *context,
				     MHD_ContentReaderFreeCallback done)
{
	struct MHD_Response *response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, block, read, context, done);

	return x->head ? without_chunks(response) : response;
}

struct MHD_Response *exchange_unchanged(uint64_t total)
{
	/* A response that has a body of no bytes would say that the resource has none. */
	struct MHD_Response *response = MHD_create_response_from_callback(total, 1, no_body, NULL, NULL);

	return total == MHD_SIZE_UNKNOWN ? without_chunks(response) : response;
}

bool exchange_if_match(struct exchange *x, const char *etag)
{
	const char *match = exchange_header(x, MHD_HTTP_HEADER_IF_MATCH);

	if (!match || request_etag_matches(match, etag))
		return true;
	exchange_problem(x, MHD_HTTP_PRECONDITION_FAILED,
			 "The body is another one than If-Match names. Ask for its beginning again.");
	return false;
}

enum outcome exchange_not_allowed(struct exchange *x, const char *allow)
{
	char detail[128];

	snprintf(detail, sizeof(detail), "This resource takes %s.", allow);
	return problem_respond(x, MHD_HTTP_METHOD_NOT_ALLOWED, detail, NULL, MHD_HTTP_HEADER_ALLOW, allow);
}

enum outcome exchange_reader_problem(struct exchange *x, int rc, const char *absent)
{
	switch (rc) {
	case ARCHIVE_E_ABSENT:
		return exchange_problem(x, MHD_HTTP_NOT_FOUND, "%s", absent);
	case ARCHIVE_E_BUSY:
		return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE,
					"The archive cannot be read right now, or there is none yet; try again.");
	case ARCHIVE_E_NEWER:
		return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE,
					"The archive was written by a newer mprofd; update mprofd-http.");
	case ARCHIVE_E_KIND:
		return exchange_problem(
			x, MHD_HTTP_INTERNAL_SERVER_ERROR,
			"The archive's file trace.db or memtraces.db, or its -wal or -shm, is a FIFO, a socket, "
			"a device or a directory. Move it away, and start the daemon that owns the archive.");
	case ARCHIVE_E_DAMAGED:
		return exchange_problem(x, MHD_HTTP_INTERNAL_SERVER_ERROR,
					"Some of these bytes are damaged on the disk and are not served. The daemon "
					"that owns them was told and will declare what is lost; try again.");
	case -ENOMEM:
		return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE, NO_MEMORY);
	case -EBADMSG:
		return exchange_problem(x, MHD_HTTP_INTERNAL_SERVER_ERROR,
					"The archive's file is damaged. Stop the daemons and run mprofd --fsck to save "
					"what is intact.");
	default:
		return exchange_problem(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "The archive cannot be read: %s.",
					strerror(-rc));
	}
}

enum outcome exchange_no_collector(struct exchange *x)
{
	return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE,
				x->answer.sink
					? "The sink does not answer; see whether mprofd-sink runs, and try again."
					: "The collector does not answer; see whether mprofd runs, and try again.");
}

enum outcome exchange_unanswered(struct exchange *x)
{
	return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE,
				"The %s %s. The change may have been made; see /v1/%s.",
				x->answer.sink ? "sink" : "collector",
				x->answer.late ? "did not answer in time" : "closed the connection before it answered",
				x->answer.sink ? "memtraces" : "captures");
}

enum outcome exchange_refused(struct exchange *x)
{
	const struct answer *a = &x->answer;
	unsigned status = a->status >= 400 && a->status <= 599 ? a->status : MHD_HTTP_SERVICE_UNAVAILABLE;

	return exchange_problem(x, status, "%s", a->text ? a->text : "The request was refused without a reason.");
}
