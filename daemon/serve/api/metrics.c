/*
 * /metrics, /healthz, /readyz and /v1/openapi.yaml.
 *
 * Each daemon writes its metrics as OpenMetrics. Clients that do not ask for that format get
 * Prometheus' text format 0.0.4, in which the name of a counter ends in _total everywhere.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "embedded.h"
#include "http-server.h"
#include "memory-stream.h"
#include "metrics.h"
#include "notice.h"
#include "readings.h"
#include "routes.h"
#include "row-json.h"

#define OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define CLASSIC	    "text/plain; version=0.0.4; charset=utf-8"

enum outcome get_openapi(struct exchange *x)
{
	return exchange_text(x, "application/yaml", embedded_openapi, embedded_openapi_bytes);
}

static enum outcome status_ok(struct exchange *x)
{
	return exchange_json(x, MHD_HTTP_OK, json_pack("{s:s}", "status", "ok"));
}

enum outcome get_health(struct exchange *x)
{
	return status_ok(x);
}

/*
 * Send a request with VERB to the collector. Its answer comes later, to X->answer. Return false if
 * the collector is not connected.
 */
static bool ask(struct exchange *x, const char *verb)
{
	struct message_writer w;
	char text[64];

	exchange_ask(x, &w, text, sizeof(text), verb, EXCHANGE_TIMEOUT_STATUS);
	return exchange_send(x, &w);
}

static bool ask_sink(struct exchange *x, const char *verb)
{
	struct message_writer w;
	char text[64];

	exchange_ask_sink(x, &w, text, sizeof(text), verb, EXCHANGE_TIMEOUT_STATUS);
	return exchange_send(x, &w);
}

enum outcome get_ready(struct exchange *x)
{
	const struct services *s = exchange_services(x);
	const struct answer *a = &x->answer;
	int rc;

	if (!a->tag) {
		rc = reader_ready(exchange_reader(x));
		if (rc != 0)
			return exchange_reader_problem(x, rc, "");
		return ask(x, "status") ? OUTCOME_ANSWER : exchange_no_collector(x);
	}
	if (!a->arrived)
		return exchange_no_collector(x);
	if (!a->ok)
		return exchange_refused(x);
	if (!a->archiving || !a->source)
		return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE, "%s",
					a->text ? a->text : "The collector does not archive.");
	if (s->sink_wanted && !notice_connected(s->sink))
		return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE,
					"The sink is configured and does not answer; see whether mprofd-sink "
					"runs.");
	if (a->text && *a->text)
		return exchange_json(x, MHD_HTTP_OK, json_pack("{s:s,s:s}", "status", "ok", "note", a->text));
	return status_ok(x);
}

void metrics_put(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
	fprintf(out, "# TYPE %s %s\n# HELP %s %s\n%s%s %" PRIu64 "\n", name, type, name, help, name,
		strcmp(type, "counter") == 0 ? "_total" : "", value);
}

static void put_archive(FILE *out, const struct reader_totals *t)
{
	metrics_put(out, "mprofd_archive_runs", "gauge", "Runs in the archive.", t->runs);
	metrics_put(out, "mprofd_archive_runs_running", "gauge", "Runs that have not ended.", t->running);
	metrics_put(out, "mprofd_archive_captures", "gauge", "Captures in the archive.", t->captures);
	metrics_put(out, "mprofd_archive_packets", "gauge",
		    "Complete packets ever archived of the runs in the archive.", t->packets);
	metrics_put(out, "mprofd_archive_content_bytes", "gauge", "Content bytes of these packets.", t->bytes);
	metrics_put(out, "mprofd_archive_lost_packets", "gauge", "Packets that gaps declare as lost.", t->lost_packets);
	metrics_put(out, "mprofd_archive_skipped_packets", "gauge", "Packets that a policy skipped.",
		    t->skipped_packets);
	metrics_put(out, "mprofd_archive_damaged_packets", "gauge", "Packets with bytes that were damaged on the disk.",
		    t->damaged_packets);
	metrics_put(out, "mprofd_archive_unchecked", "gauge", "1 while rows without checksums may exist.",
		    t->unchecked);
	metrics_put(out, "mprofd_archive_file_bytes", "gauge", "Size of the archive's file.", t->file_bytes);
}

static void put_memtraces(FILE *out, struct memtraces_reader *r)
{
	struct memtraces_totals t;

	if (memtraces_totals(r, &t) != 0)
		return;
	metrics_put(out, "mprofd_memtraces", "gauge", "Memory profiles in the archive.", t.recordings);
	metrics_put(out, "mprofd_memtraces_recording", "gauge", "Memory profiles that are being recorded.",
		    t.recording);
	metrics_put(out, "mprofd_memtraces_bytes", "gauge", "Bytes of the packets of memory profiles.", t.bytes);
	metrics_put(out, "mprofd_memtraces_damaged_bytes", "gauge",
		    "Bytes of memory profiles lost to damage on the disk.", t.damaged);
	metrics_put(out, "mprofd_memtraces_unchecked", "gauge", "1 while rows without checksums may exist.",
		    t.unchecked);
}

void metrics_put_http(FILE *out, const struct http_counts *c, const struct services *s)
{
	metrics_put(out, "mprofd_http_requests", "counter", "Requests.", c->requests);
	metrics_put(out, "mprofd_http_requests_in_progress", "gauge", "Requests that are being answered.", c->open);
	metrics_put(out, "mprofd_http_refused", "counter", "Requests answered with a client error (4xx).",
		    c->client_errors);
	metrics_put(out, "mprofd_http_failed", "counter", "Requests answered with a server error (5xx).",
		    c->server_errors);
	metrics_put(out, "mprofd_http_unauthorised", "counter", "Requests without credentials, or with wrong ones.",
		    c->unauthorised);
	metrics_put(out, "mprofd_http_handshakes_refused", "counter",
		    "Connections for HTTPS that were closed, since one peer began too many.", c->handshakes_refused);
	if (access_tls(s->access))
		metrics_put(out, "mprofd_http_certificate_expires_seconds", "gauge",
			    "When the server's certificate expires, in seconds since 1970.",
			    tls_expires(access_tls(s->access)));
	metrics_put(out, "mprofd_http_connections", "gauge", "Open connections.", c->clients);
	metrics_put(out, "mprofd_http_connections_refused", "counter",
		    "Connections answered 503, since one peer had too many requests in progress.", c->clients_refused);
	metrics_put(out, "mprofd_http_connections_evicted", "counter",
		    "Connections that waited longest for a request header, closed for another connection.",
		    c->clients_evicted);
	metrics_put(out, "mprofd_http_connections_timed_out", "counter",
		    "Connections closed since a header or a body did not come in time, or an answer was not taken.",
		    c->clients_timed_out);
	metrics_put(out, "mprofd_http_proxied", "counter", "Connections with a header of the PROXY protocol.",
		    c->proxied);
	metrics_put(out, "mprofd_http_proxy_refused", "counter",
		    "Connections of proxies that were refused, since their header was wrong, absent or late.",
		    c->proxy_refused);
	metrics_put(out, "mprofd_http_live", "gauge", "Live bodies that are being sent.", c->live);
	metrics_put(out, "mprofd_http_events", "gauge", "Streams of events that are being sent.", c->events);
}

static void put_readings(FILE *out, const struct readings *r)
{
	struct readings_counts c = readings_counts(r);

	metrics_put(out, "mprofd_http_readings", "counter", "Captures that a reader has read.", c.read);
	metrics_put(out, "mprofd_http_readings_failed", "counter", "Captures that a reader could not read.", c.failed);
	metrics_put(out, "mprofd_http_readings_refused", "counter",
		    "Captures that were not read when they were wanted, since too many waited.", c.refused);
	metrics_put(out, "mprofd_http_readings_waiting", "gauge", "Captures that wait for a reader, or are read.",
		    c.waiting);
	fprintf(out,
		"# TYPE mprofd_http_readings_seconds counter\n"
		"# HELP mprofd_http_readings_seconds Seconds that readers of captures took, by the clock.\n"
		"mprofd_http_readings_seconds_total %.6f\n",
		(double)c.ns / 1e9);
	metrics_put(out, "mprofd_http_readings_cache_bytes", "gauge",
		    "Bytes of the files that keep readings of captures.", c.cache_bytes);
}

static void put_decoded(FILE *out, struct decoded *d)
{
	struct decoded_counts c = decoded_counts(d);

	metrics_put(out, "mprofd_http_decoded_bytes", "gauge", "Bytes of the file with decoded rows of captures.",
		    c.bytes);
	metrics_put(out, "mprofd_http_decoded_reads", "counter", "Rows that were read decoded.", c.reads);
	metrics_put(
		out, "mprofd_http_decoded_missed", "counter",
		"Decoded rows that were overwritten or wrong when they were read, so the archive's row was decoded.",
		c.missed);
}

static void put_own(FILE *out, const struct services *s)
{
	metrics_put(out, "mprofd_http_statements", "counter", "SQL statements run on both archives.",
		    reader_begun(s->reader) + memtraces_begun(s->memtraces));
	metrics_put(out, "mprofd_http_commits_seen", "counter", "Commit notices received.", s->commits);
	metrics_put(out, "mprofd_http_collector_connected", "gauge", "Whether the collector's control socket is open.",
		    notice_connected(s->collector));
	metrics_put(out, "mprofd_http_sink_configured", "gauge", "Whether the configuration has a sink.",
		    s->sink_wanted);
	metrics_put(out, "mprofd_http_sink_connected", "gauge", "Whether the sink's control socket is open.",
		    notice_connected(s->sink));
	fprintf(out,
		"# TYPE mprofd_http_read_seconds_max gauge\n"
		"# HELP mprofd_http_read_seconds_max The longest read transaction of the archive so far.\n"
		"mprofd_http_read_seconds_max %.6f\n",
		(double)reader_longest(s->reader) / 1e9);
	if (s->readings)
		put_readings(out, s->readings);
	if (s->scratch->decoded)
		put_decoded(out, s->scratch->decoded);
}

/* Write TEXT, the metrics of another daemon, without its end mark. */
static void put_text(FILE *out, const char *text)
{
	const char *end = strstr(text, "# EOF");

	fprintf(out, "%.*s", end ? (int)(end - text) : (int)strlen(text), text);
}

/*
 * Return the length of the name in LINE, which ends with LENGTH, if it says the type of a counter;
 * else 0. The name begins behind "# TYPE ".
 */
static size_t counter_name(const char *line, size_t length)
{
	const char *end = line + length;
	const size_t kind = strlen(" counter");

	if (length <= strlen("# TYPE ") + kind || memcmp(line, "# TYPE ", 7) != 0 ||
	    memcmp(end - kind, " counter", kind) != 0)
		return 0;
	return length - 7 - kind;
}

/* Write TEXT, which is OpenMetrics, in the format 0.0.4. The help of a counter follows its type. */
static void put_classic(FILE *out, const char *text)
{
	const char *name = NULL;
	size_t named = 0;

	while (*text) {
		size_t length = strcspn(text, "\n"), n = counter_name(text, length);

		if (n > 0) {
			name = text + 7;
			named = n;
		}
		if (named > 0 && length > 7 + named && (n > 0 || memcmp(text, "# HELP ", 7) == 0) &&
		    memcmp(text + 7, name, named) == 0 && text[7 + named] == ' ')
			fprintf(out, "%.*s_total%.*s\n", (int)(7 + named), text, (int)(length - 7 - named),
				text + 7 + named);
		else
			fprintf(out, "%.*s\n", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

/* Answer with TEXT, which is OpenMetrics, in the format that the client wants. */
enum outcome metrics_respond(struct exchange *x, const char *text)
{
	bool open = request_accepts_version(exchange_header(x, MHD_HTTP_HEADER_ACCEPT), "application/openmetrics-text",
					    "1.0.0");
	struct MHD_Response *response;
	char *body = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&body, &bytes);

	if (!out)
		return exchange_reader_problem(x, -ENOMEM, "");
	if (open)
		fputs(text, out);
	else
		put_classic(out, text);
	if (!memory_stream_close(out, &body) ||
	    !(response = MHD_create_response_from_buffer(bytes, body, MHD_RESPMEM_MUST_FREE))) {
		free(body);
		return exchange_reader_problem(x, -ENOMEM, "");
	}
	exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, open ? OPENMETRICS : CLASSIC);
	exchange_add_header(x, response, MHD_HTTP_HEADER_VARY, "Accept");
	return exchange_respond(x, MHD_HTTP_OK, response);
}

enum outcome get_metrics(struct exchange *x)
{
	CLEANUP(freep) char *text = NULL;
	struct reader_totals totals;
	struct http_counts counts = http_counts(x->http);
	size_t bytes = 0;
	FILE *out;
	int rc;

	if (!x->answer.tag && ask(x, "metrics"))
		return OUTCOME_ANSWER;
	if (!x->answer.sink) {
		/* Keep the collector's answer in WORK while the sink is asked. */
		x->work = x->answer.arrived && x->answer.ok ? TAKE_PTR(x->answer.text) : NULL;
		x->work_free = free;
		free(x->answer.text);
		if (ask_sink(x, "metrics"))
			return OUTCOME_ANSWER;
	}
	out = open_memstream(&text, &bytes);
	if (!out)
		return exchange_reader_problem(x, -ENOMEM, "");
	metrics_put_http(out, &counts, exchange_services(x));
	put_own(out, exchange_services(x));
	rc = reader_totals(exchange_reader(x), &totals);
	metrics_put(out, "mprofd_archive_readable", "gauge", "Whether the archive can be read.", rc == 0);
	if (rc == 0)
		put_archive(out, &totals);
	put_memtraces(out, exchange_memtraces(x));
	if (x->work)
		put_text(out, x->work);
	if (x->answer.arrived && x->answer.ok && x->answer.text)
		put_text(out, x->answer.text);
	fputs("# EOF\n", out);
	if (!memory_stream_close(out, &text))
		return exchange_reader_problem(x, -ENOMEM, "");
	return metrics_respond(x, text);
}
