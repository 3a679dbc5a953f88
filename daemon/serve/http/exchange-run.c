/* Run an exchange: check whether it is admitted, find its route, call the handler, and free it. */
#include <string.h>
#include <strings.h>

#include "client.h"
#include "http-state.h"
#include "request-framing.h"

#define DISCARD_MOST (1u << 20) /* bytes of an upload that are read before the connection is closed */

const struct services *exchange_services(const struct exchange *x)
{
	return x->http->services;
}

struct reader *exchange_reader(const struct exchange *x)
{
	return x->reader ? x->reader : x->http->services->reader;
}

struct memtraces_reader *exchange_memtraces(const struct exchange *x)
{
	return x->http->services->memtraces;
}

struct access *exchange_access(const struct exchange *x)
{
	return x->http->services->access;
}

struct scratch *exchange_scratch(const struct exchange *x)
{
	return x->http->services->scratch;
}

void *exchange_begin(void *context, const char *target, struct MHD_Connection *connection)
{
	struct listener *l = context;
	struct client *c = client_of(l, connection);
	struct exchange *x = c ? calloc(1, sizeof(*x)) : NULL;

	if (!x)
		return NULL;
	x->http = l->http;
	x->connection = connection;
	x->client = c;
	x->client->exchange = x;
	handshake_end(x->client);
	x->hold = -1;
	x->gone = l->http->stopping;
	x->tcp = l->tcp;
	x->tls = l->tls;
	x->target = target;
	x->target_bytes = strlen(target);
	x->parsed = request_parse(&x->request, target);
	x->next = l->http->exchanges;
	if (x->next)
		x->next->previous = x;
	l->http->exchanges = x;
	l->http->counts.requests++;
	return x;
}

void exchange_completed(void *context, struct MHD_Connection *connection, void **con_cls,
			enum MHD_RequestTerminationCode code)
{
	struct exchange *x = *con_cls;

	(void)context;
	(void)connection;
	if (!x)
		return;
	x->http->counts.clients_timed_out += code == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED;
	client_answered(x->client);
	*con_cls = NULL;
	if (x->previous)
		x->previous->next = x->next;
	else
		x->http->exchanges = x->next;
	if (x->next)
		x->next->previous = x->previous;
	if (x->back)
		*x->back = NULL;
	if (x->work)
		x->work_free(x->work);
	if (x->copy)
		x->copy_free(x->copy);
	timer_close(&x->answer_timer);
	timer_close(&x->hold_timer);
	closep(&x->hold);
	identity_deinit(&x->who);
	free(x->answer.text);
	free(x->upload);
	free(x);
}

/* Return whether HOST, a Host header, names this server: over TLS a name of the certificate. */
static bool host_ok(const struct exchange *x, const char *host)
{
	char name[REQUEST_HOST_MAX];

	if (!x->tls)
		return request_host_ok(host, x->http->host);
	return request_host_name(host, name) && access_is_host(exchange_access(x), name);
}

/*
 * Check that the request names this host, and that no page of another site has sent it, because any
 * web page can send requests to a loopback address. Return false if the request is refused; it is
 * then answered.
 */
static bool admit(struct exchange *x, bool unsafe)
{
	const char *host = exchange_header(x, MHD_HTTP_HEADER_HOST);
	const char *origin = exchange_header(x, MHD_HTTP_HEADER_ORIGIN), *site = exchange_header(x, "Sec-Fetch-Site");

	if (!x->tcp)
		return true;
	if (!host_ok(x, host)) {
		if (x->tls)
			exchange_problem(
				x, MHD_HTTP_MISDIRECTED_REQUEST,
				"The Host header is no name of this server's certificate. If it is right, add it to "
				"names in [access].");
		else
			exchange_problem(
				x, MHD_HTTP_MISDIRECTED_REQUEST,
				"The Host header does not name this host; use localhost, 127.0.0.1, [::1] or %s.",
				x->http->host);
		return false;
	}
	if (unsafe && ((origin && !request_origin_ok(origin, x->tls ? "https://" : "http://", host)) ||
		       (site && strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0))) {
		exchange_problem(x, MHD_HTTP_FORBIDDEN, "Pages of another origin may not change anything.");
		return false;
	}
	return true;
}

static bool method_parse(const char *method, enum method *found)
{
	static const char *const methods[METHODS] = {"GET", "POST", "PATCH", "DELETE"};

	*found = METHOD_GET;
	if (strcmp(method, "HEAD") == 0)
		return true;
	for (*found = METHOD_GET; *found < METHODS; (*found)++)
		if (strcmp(method, methods[*found]) == 0)
			return true;
	return false;
}

/* Find the route of X. Return false if there is none; the request is then answered. */
static bool route(struct exchange *x, const char *method)
{
	const char *foreign;
	char allow[64];

	x->head = strcmp(method, "HEAD") == 0;
	if (x->parsed != REQUEST_OK) {
		exchange_problem(x, x->parsed == REQUEST_TOO_LONG ? MHD_HTTP_URI_TOO_LONG : MHD_HTTP_BAD_REQUEST, "%s",
				 x->parsed == REQUEST_TOO_LONG ? "The URL has more than 4096 bytes."
							       : "The URL is malformed.");
		return false;
	}
	if (x->ambiguous) {
		exchange_problem(
			x, MHD_HTTP_BAD_REQUEST,
			"The header is malformed, or does not say in exactly one way where the body ends. Send "
			"one Host, one Content-Length or Transfer-Encoding: chunked, Expect only with a body, and "
			"lines without NUL that end with CR LF.");
		return false;
	}
	if (x->too_long) {
		exchange_problem(x, MHD_HTTP_CONTENT_TOO_LARGE, "The body has more than %u bytes.",
				 EXCHANGE_UPLOAD_MAX);
		return false;
	}
	if (!admit(x, strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0))
		return false;
	x->route = route_find(x->http->routes, &x->request, &x->parameter);
	if (!x->route) {
		exchange_problem(x, MHD_HTTP_NOT_FOUND, "No such route. See /v1/openapi.yaml.");
		return false;
	}
	if (!method_parse(method, &x->method) || !x->route->handlers[x->method]) {
		route_allow(x->route, allow);
		exchange_not_allowed(x, allow);
		return false;
	}
	if (route_is_elsewhere(x->route, x->method))
		return true;
	foreign = route_unknown_query(x->route, &x->request);
	if (foreign)
		exchange_problem(x, MHD_HTTP_BAD_REQUEST, "The query parameter %.100s is unknown, or given twice.",
				 foreign);
	else if (x->upload_bytes > EXCHANGE_UPLOAD_MAX)
		exchange_problem(x, MHD_HTTP_CONTENT_TOO_LARGE, "The body has more than %u bytes.",
				 EXCHANGE_UPLOAD_MAX);
	return !foreign && x->upload_bytes <= EXCHANGE_UPLOAD_MAX;
}

/* Return what an exchange waits for whose handler, or whose authorisation, returned OUTCOME. */
static enum wait wait_of(struct exchange *x, enum outcome outcome)
{
	if (outcome == OUTCOME_ACCESS)
		x->answer.deadline = x->access_deadline;
	return outcome == OUTCOME_ACCESS ? WAIT_ACCESS : outcome == OUTCOME_AGAIN ? WAIT_AGAIN : WAIT_ANSWER;
}

static enum MHD_Result run(struct exchange *x, const char *method)
{
	enum outcome outcome = OUTCOME_DONE;
	bool first;
	int rc;

	if (x->gone)
		return MHD_NO;
	if (!x->authorised && (x->route || route(x, method)))
		outcome = exchange_authorise(x);
	if (x->authorised) {
		if (!exchange_newest(x))
			return MHD_YES;
		rc = exchange_reader(x) ? reader_ready(exchange_reader(x)) : 0;
		/*
		 * Opens the archive again if it was replaced; errors are returned by the handler's
		 * own reads.
		 */
		(void)rc;
		first = !x->handled;
		x->handled = true;
		exchange_look(x);
		if (!first || x->late || !exchange_respond_kept(x))
			outcome = x->route->handlers[x->method](x);
		exchange_look_away(x);
	}
	if (outcome == OUTCOME_DONE)
		return x->answered ? MHD_YES : MHD_NO;
	exchange_suspend(x, wait_of(x, outcome));
	return MHD_YES;
}

/*
 * Store the next bytes of the upload, up to its limit. Bytes beyond the limit are read and dropped,
 * because a client must send its whole request before it reads the refusal.
 */
static enum MHD_Result take_upload(struct exchange *x, const char *data, size_t *bytes)
{
	size_t n = *bytes;

	*bytes = 0;
	if (x->upload_bytes + n > DISCARD_MOST)
		return MHD_NO;
	if (x->upload_bytes + n <= EXCHANGE_UPLOAD_MAX) {
		if (!x->upload)
			x->upload = malloc(EXCHANGE_UPLOAD_MAX);
		if (!x->upload)
			return MHD_NO;
		memcpy(x->upload + x->upload_bytes, data, n);
	}
	x->upload_bytes += n;
	return MHD_YES;
}

static enum MHD_Result on_line(void *context, enum MHD_ValueKind kind, const char *name, size_t name_bytes,
			       const char *value, size_t value_bytes)
{
	(void)kind;
	request_framing_add(context, name, name_bytes, value ? value : "", value ? value_bytes : 0);
	return MHD_YES;
}

/*
 * Check how the header of X frames the body. After a body in chunks the connection is closed as well:
 * libmicrohttpd accepts chunks that others would understand in another way.
 */
static void check_framing(struct exchange *x, const char *method, const char *version)
{
	const struct request_line line = {
		.method = method, .target = x->target, .version = version, .target_bytes = x->target_bytes};
	const union MHD_ConnectionInfo *size;
	struct request_framing f = {0};

	if (x->client->listener->lenient)
		request_framing_place(&f, &line);
	MHD_get_connection_values_n(x->connection, MHD_HEADER_KIND, on_line, &f);
	size = MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	if (x->client->listener->lenient)
		request_framing_end(&f, method, size ? size->header_size : 0);
	x->ambiguous = !request_framing_ok(&f, x->http10);
	x->too_long = f.body > DISCARD_MOST;
	/* A target that is malformed may have ended elsewhere for a proxy. */
	x->closes = x->ambiguous || x->too_long || f.encodings || x->parsed == REQUEST_BAD;
}

enum MHD_Result exchange_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
				 const char *version, const char *data, size_t *bytes, void **con_cls)
{
	struct exchange *x = *con_cls;

	(void)context;
	(void)connection;
	(void)url;
	if (!x)
		return MHD_NO;
	if (!x->begun) { /* only the header is complete; the upload comes in later calls */
		x->begun = true;
		client_begin(x->client, CLIENT_BODY);
		x->http10 = strcmp(version, MHD_HTTP_VERSION_1_1) != 0;
		check_framing(x, method, version);
		if (!x->ambiguous && !x->too_long)
			return MHD_YES;
		/* Nobody can tell where the body ends, or it is not to come, so it is not read. */
		client_begin(x->client, CLIENT_ANSWER);
		return run(x, method);
	}
	if (*bytes)
		return take_upload(x, data, bytes);
	if (x->client->phase != CLIENT_ANSWER)
		client_begin(x->client, CLIENT_ANSWER);
	return run(x, method);
}
