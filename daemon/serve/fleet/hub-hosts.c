/* /v1/hosts of a hub, and its guests: /v1/domains. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture-rows.h"
#include "hub-routes.h"
#include "json-whole.h"
#include "quantity.h"
#include "question.h"
#include "row-json.h"

/* ---- hosts ---- */

#define HOST_COLUMNS                                                           \
	"host, archive::text, revoked, " SQL_TIME("registered") ", " SQL_TIME( \
		"last_hello") ", clock IS NOT NULL, "                          \
			      "clock_offset_ns::text, clock_uncertainty_ns::text, clock ->> 'source'"

/* Return a number of nanoseconds that a host sent, null if it is none. */
static json_t *row_ns(const struct postgres_rows *rows, int row, int column)
{
	const char *text = postgres_text(rows, row, column);
	uint64_t ns;
	bool less = text[0] == '-';

	if (!quantity_whole(text + less, INT64_MAX, &ns))
		return json_null();
	return json_integer(less ? -(json_int_t)ns : (json_int_t)ns);
}

static json_t *host_json(const struct postgres_rows *rows, int row)
{
	json_t *clock = json_null();

	if (postgres_number(rows, row, 5))
		clock = json_pack("{s:o, s:o, s:o}", "offset_ns", row_ns(rows, row, 6), "uncertainty_ns",
				  row_ns(rows, row, 7), "source", row_text(rows, row, 8));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "host", row_text(rows, row, 0), "archive",
			 row_text(rows, row, 1), "revoked", row_bool(rows, row, 2), "registered",
			 row_text(rows, row, 3), "last_hello", row_text(rows, row, 4), "clock", clock);
}

static int make_hosts(struct question *q, const struct postgres_rows *rows, struct postgres *p)
{
	CLEANUP(json_unrefp) json_t *hosts = json_array();
	int n = postgres_count(rows);
	json_t *next = json_null();

	(void)p;
	for (int row = 0; row < n; row++)
		json_add_item(&hosts, host_json(rows, row));
	if ((uint64_t)n == q->limit)
		next = json_string(postgres_text(rows, n - 1, 0));
	q->json = json_pack("{s:O, s:o}", "hosts", hosts, "next", next);
	return q->json ? 0 : -ENOMEM;
}

/* Append the condition that the host has a guest that the client may read. */
static void only_shown(struct question *q)
{
	if (!q->scopes)
		return;
	question_sql(q, " AND host IN (SELECT host FROM fleet.captures WHERE true");
	question_hide(q);
	question_sql(q, ")");
}

enum outcome hub_get_hosts(struct exchange *x)
{
	const char *cursor = request_query(&x->request, "cursor");
	struct question *q;

	if (x->work)
		return question_answer(x);
	if (cursor && !fleet_is_host(cursor))
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST, "cursor must be the next of the previous page.");
	q = question_new(x, sizeof(*q), make_hosts);
	if (!q || !question_limit(x, q))
		return OUTCOME_DONE;
	question_sql(q, "SELECT " HOST_COLUMNS " FROM fleet.hosts WHERE true");
	only_shown(q);
	if (cursor)
		question_sql(q, " AND host > $%d", question_param(q, cursor));
	question_sql(q, " ORDER BY host LIMIT %" PRIu64, q->limit);
	return question_ask(x, q);
}

static int make_host(struct question *q, const struct postgres_rows *rows, struct postgres *p)
{
	(void)p;
	if (postgres_count(rows) == 0) {
		q->status = MHD_HTTP_NOT_FOUND;
		snprintf(q->detail, sizeof(q->detail), "No such host. See /v1/hosts.");
		return 0;
	}
	q->json = host_json(rows, 0);
	return q->json ? 0 : -ENOMEM;
}

enum outcome hub_get_host(struct exchange *x)
{
	struct question *q;

	if (x->work)
		return question_answer(x);
	if (!fleet_is_host(x->parameter))
		return exchange_problem(x, MHD_HTTP_NOT_FOUND, "No such host. See /v1/hosts.");
	q = question_new(x, sizeof(*q), make_host);
	if (!q)
		return OUTCOME_DONE;
	question_sql(q, "SELECT " HOST_COLUMNS " FROM fleet.hosts WHERE host = $%d", question_param(q, x->parameter));
	only_shown(q);
	return question_ask(x, q);
}

/* ---- guests ---- */

/*
 * G: names and counts of guests; N: the newest capture of each. RUNS counts in the archive of that capture and
 * in older ones.
 */
#define GUEST_COLUMNS                                                                                            \
	"g.host, g.guest, g.captures, n.archive::text, n.uuid, n.source, n.run, n.real, (SELECT count(*) FROM (" \
	"SELECT DISTINCT r.archive, r.head ->> 'run' FROM fleet.captures r WHERE r.host = g.host AND r.guest = " \
	"g.guest) d), fleet.correction(g.host, n.archive, n.real, n.mono)"
#define GUEST_NEWEST                                                                                                 \
	" g CROSS JOIN LATERAL (SELECT c.archive, c.head ->> 'uuid' AS uuid, c.head ->> 'run_source' AS source, "    \
	"c.head ->> 'run' AS run, c.head ->> 'real' AS real, c.head ->> 'mono' AS mono FROM fleet.captures c WHERE " \
	"c.host = g.host AND c.guest "                                                                               \
	"= g.guest ORDER BY c.at DESC, c.archive, c.capture DESC LIMIT 1) n ORDER BY g.host, g.guest"

/* Return SOURCE, what a host said of a run, if it is a source that the API knows; else null. */
static json_t *source_json(const char *source)
{
	return strcmp(source, "dir") == 0 || strcmp(source, "xen") == 0 ? json_string(source) : json_null();
}

static json_t *real_json(const char *text)
{
	uint64_t ns;

	return quantity_whole(text, UINT64_MAX, &ns) ? json_time(ns) : json_null();
}

static json_t *guest_json(const struct postgres_rows *rows, int row)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:n, s:s, s:o, s:I, s:[], s:o, s:o, s:I, s:I, s:n}", "host",
			 row_text(rows, row, 0), "archive", row_text(rows, row, 3), "name", row_text(rows, row, 1),
			 "uuid", row_text(rows, row, 4), "domid", "state", "unknown", "source",
			 source_json(postgres_text(rows, row, 5)), "run", (json_int_t)postgres_number(rows, row, 6),
			 "streams", "last_seen", real_json(postgres_text(rows, row, 7)), "last_seen_corrected",
			 row_corrected(rows, row, 7, 9), "runs", (json_int_t)postgres_number(rows, row, 8), "captures",
			 (json_int_t)postgres_number(rows, row, 2), "memtrace");
}

static bool guest_allowed(const struct question *q, const struct postgres_rows *rows, int row)
{
	return fleet_allows(q->scopes, SCOPE_READ, postgres_text(rows, row, 0), postgres_text(rows, row, 1));
}

static int make_guests(struct question *q, const struct postgres_rows *rows, struct postgres *p)
{
	CLEANUP(json_unrefp) json_t *guests = json_array();
	int n = postgres_count(rows);
	json_t *next = json_null();

	(void)p;
	for (int row = 0; row < n; row++)
		if (guest_allowed(q, rows, row))
			json_add_item(&guests, guest_json(rows, row));
	if ((uint64_t)n == q->limit)
		next = json_sprintf("%s/%s", postgres_text(rows, n - 1, 0), postgres_text(rows, n - 1, 1));
	q->json = json_pack("{s:O, s:o}", "domains", guests, "next", next);
	return q->json ? 0 : -ENOMEM;
}

enum outcome hub_get_domains(struct exchange *x)
{
	const char *cursor = request_query(&x->request, "cursor");
	struct guest_name after;
	struct question *q;
	int n;

	if (x->work)
		return question_answer(x);
	if (!fleet_query_host(x))
		return OUTCOME_DONE;
	if (cursor && !guest_name_parse(cursor, true, &after))
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST, "cursor must be the next of the previous page.");
	q = question_new(x, sizeof(*q), make_guests);
	if (!q || !question_limit(x, q))
		return OUTCOME_DONE;
	question_sql(q, "SELECT " GUEST_COLUMNS " FROM (SELECT host, guest, count(*) AS captures FROM fleet.captures "
			"WHERE true");
	question_hide(q);
	question_filter(q, x, "host", "host");
	if (cursor) {
		n = question_param(q, after.host);
		question_param(q, after.guest);
		question_sql(q, " AND (host, guest) > ($%d, $%d)", n, n + 1);
	}
	question_sql(q, " GROUP BY host, guest ORDER BY host, guest LIMIT %" PRIu64 ")" GUEST_NEWEST, q->limit);
	return question_ask(x, q);
}

bool hub_guest(struct exchange *x, struct guest_name *guest)
{
	/* A guest that may not be read is the same as one that is not there. */
	if (guest_name_parse(x->parameter, false, guest) &&
	    (!x->sees || fleet_allows(x->who.scopes, SCOPE_READ, guest->host, guest->guest)))
		return true;
	exchange_problem(x, MHD_HTTP_NOT_FOUND, "No such guest: name it as HOST/GUEST. See /v1/domains.");
	return false;
}

/* ---- one guest ---- */

struct guest_question {
	struct question question;
	struct guest_name guest;
	uint64_t cursor; /* runs that earlier pages had */
};

static json_t *run_json(const struct postgres_rows *rows, int row)
{
	return json_pack("{s:o, s:I, s:o, s:s, s:o, s:o, s:o, s:n, s:n, s:o, s:n, s:[]}", "archive",
			 row_text(rows, row, 0), "run", (json_int_t)postgres_number(rows, row, 1), "name",
			 row_text(rows, row, 2), "state", "unknown", "source", source_json(postgres_text(rows, row, 3)),
			 "domid", row_number(rows, row, 4), "began", real_json(postgres_text(rows, row, 5)), "ended",
			 "reason", "began_corrected", row_corrected(rows, row, 5, 6), "ended_corrected", "streams");
}

/* Add a page of runs to the guest in Q's answer. */
static int add_runs(struct guest_question *g, struct postgres *p)
{
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL;
	struct question *q = &g->question;
	struct postgres_params params = {0};
	json_t *list = json_array(), *next;
	int n, rc;

	postgres_add_text(&params, g->guest.host);
	postgres_add_text(&params, g->guest.guest);
	postgres_add_number(&params, (int64_t)q->limit);
	postgres_add_number(&params, (int64_t)g->cursor);
	rc = postgres_call(
		p,
		"SELECT archive::text, head ->> 'run', guest, max(head ->> 'run_source'), "
		"max(head ->> 'domid'), max(head ->> 'run_began'), fleet.correction($1, archive, max(head ->> "
		"'run_began'), "
		"NULL) FROM fleet.captures WHERE host = $1 AND guest = "
		"$2 GROUP BY archive, head ->> 'run', guest ORDER BY max(at) DESC, archive, head ->> 'run' LIMIT "
		"$3::bigint OFFSET $4::bigint",
		&params, &rows);
	n = postgres_count(rows);
	for (int row = 0; row < n; row++)
		json_add_item(&list, run_json(rows, row));
	next = (uint64_t)n == q->limit ? json_sprintf("%" PRIu64, g->cursor + q->limit) : json_null();
	if (json_object_set_new(q->json, "next", next) < 0)
		rc = -ENOMEM;
	if (json_object_set_new(q->json, "run_list", list) < 0)
		rc = -ENOMEM;
	return rc;
}

static int make_guest(struct question *q, const struct postgres_rows *rows, struct postgres *p)
{
	if (postgres_count(rows) == 0) {
		q->status = MHD_HTTP_NOT_FOUND;
		snprintf(q->detail, sizeof(q->detail), "No such guest: name it as HOST/GUEST. See /v1/domains.");
		return 0;
	}
	q->json = guest_json(rows, 0);
	return q->json ? add_runs((struct guest_question *)q, p) : -ENOMEM;
}

enum outcome hub_get_domain(struct exchange *x)
{
	struct guest_question *g;
	struct guest_name guest;
	struct question *q;
	int n;

	if (x->work)
		return question_answer(x);
	if (!hub_guest(x, &guest))
		return OUTCOME_DONE;
	g = (struct guest_question *)question_new(x, sizeof(*g), make_guest);
	if (!g || !question_limit(x, &g->question))
		return OUTCOME_DONE;
	q = &g->question;
	g->guest = guest;
	if (!exchange_number(x, "cursor", 1, INT32_MAX, 0, &g->cursor)) {
		question_free(q);
		return OUTCOME_DONE;
	}
	n = question_param(q, guest.host);
	question_param(q, guest.guest);
	question_sql(q,
		     "SELECT " GUEST_COLUMNS
		     " FROM (SELECT host, guest, count(*) AS captures FROM fleet.captures WHERE "
		     "host = $%d AND guest = $%d GROUP BY host, guest)" GUEST_NEWEST,
		     n, n + 1);
	return question_ask(x, q);
}
