/* /v1/captures of a hub: lists, one capture, and changes of its pin and note. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture-rows.h"
#include "fleet.h"
#include "hub-routes.h"
#include "json-whole.h"
#include "quantity.h"
#include "row-json.h"

#define ABSENT "No such capture. See /v1/captures."

/* ---- lists ---- */

/* Write the cursor behind the capture in ROW: its time, and its id with the whole UUID. */
static json_t *cursor_json(const struct postgres_rows *rows, int row)
{
	struct capture_id id = capture_row_id(rows, row);

	return json_sprintf("%lld.%s.%s.%lld", (long long)postgres_number(rows, row, CAPTURE_AT), id.host, id.archive,
			    (long long)id.capture);
}

static int make_list(struct question *q, const struct postgres_rows *rows, struct postgres *p)
{
	CLEANUP(json_unrefp) json_t *captures = json_array();
	int n = postgres_count(rows);
	json_t *next = json_null();

	(void)p;
	for (int row = 0; row < n; row++)
		if (capture_row_allowed(q, rows, row))
			json_add_item(&captures, capture_row_json(rows, row));
	if ((uint64_t)n == q->limit)
		next = cursor_json(rows, n - 1);
	q->json = json_pack("{s:O, s:o}", "captures", captures, "next", next);
	return q->json ? 0 : -ENOMEM;
}

/* Append the condition for what is behind the query's cursor. Return false if that is none. */
static bool after_cursor(struct question *q, struct exchange *x)
{
	const char *cursor = request_query(&x->request, "cursor");
	char text[FLEET_ID_TEXT + 24], *id = NULL;
	struct capture_id key;
	uint64_t at;
	int n;

	if (!cursor)
		return true;
	if (strlen(cursor) >= sizeof(text))
		return false;
	strcpy(text, cursor);
	id = strchr(text, '.');
	if (!id)
		return false;
	*id++ = '\0';
	if (!quantity_whole(text, INT64_MAX / 2, &at) || !capture_id_parse(id, false, &key) || strlen(key.archive) == 8)
		return false;
	n = question_number(q, (int64_t)at);
	question_param(q, key.host);
	question_param(q, key.archive);
	question_number(q, key.capture);
	question_sql(q,
		     " AND at <= timestamptz 'epoch' + $%d::bigint * interval '1 microsecond' AND (at < timestamptz "
		     "'epoch' + $%d::bigint * interval '1 microsecond' OR (host, archive, capture) > ($%d, $%d::uuid, "
		     "$%d::bigint))",
		     n, n, n + 1, n + 2, n + 3);
	return true;
}

static enum outcome list_captures(struct exchange *x, const struct guest_name *guest)
{
	struct question *q;

	if (!fleet_query_host(x) || !(q = question_new(x, sizeof(*q), make_list)))
		return OUTCOME_DONE;
	question_sql(q, "SELECT " CAPTURE_COLUMNS " FROM fleet.captures WHERE true");
	question_hide(q);
	if (guest)
		question_sql(q, " AND host = $%d AND ", question_param(q, guest->host));
	if (guest)
		question_sql(q, "%s = $%d", "guest", question_param(q, guest->guest));
	question_filter(q, x, "host", "host");
	question_filter(q, x, "kind", "kind");
	question_filter(q, x, "image", "image");
	question_filter(q, x, "cause", "cause");
	if (!question_limit(x, q))
		return OUTCOME_DONE;
	if (!after_cursor(q, x)) {
		question_free(q);
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST, "cursor must be the next of the previous page.");
	}
	question_sql(q, " ORDER BY at DESC, host, archive, capture LIMIT %" PRIu64, q->limit);
	return question_ask(x, q);
}

enum outcome hub_get_captures(struct exchange *x)
{
	return x->work ? question_answer(x) : list_captures(x, NULL);
}

enum outcome hub_get_domain_captures(struct exchange *x)
{
	struct guest_name guest;

	if (x->work)
		return question_answer(x);
	return hub_guest(x, &guest) ? list_captures(x, &guest) : OUTCOME_DONE;
}

/* ---- one capture ---- */

static int make_capture(struct question *q, const struct postgres_rows *rows, struct postgres *p)
{
	int row = capture_find_row(q, rows);

	(void)p;
	if (row < 0)
		return 0;
	capture_row_etag(rows, row, q->etag);
	q->json = capture_row_json(rows, row);
	return q->json ? 0 : -ENOMEM;
}

enum outcome hub_get_capture(struct exchange *x)
{
	struct capture_id id;
	struct question *q;

	if (x->work)
		return question_answer(x);
	if (!capture_id_parse(x->parameter, false, &id))
		return exchange_problem(x, MHD_HTTP_NOT_FOUND, ABSENT);
	q = question_new(x, sizeof(*q), make_capture);
	if (!q)
		return OUTCOME_DONE;
	capture_find_sql(q, &id);
	return question_ask(x, q);
}

/* ---- changes ---- */

struct change {
	struct question question;
	struct capture_id id;
	struct scopes *rights; /* a reference; NULL: everything */
	int pinned;	       /* -1: it stays */
	char *note, *match;    /* owned; NULL: it stays; no If-Match */
};

static void release_change(struct question *q)
{
	struct change *c = (struct change *)q;

	scopes_unref(c->rights);
	free(c->note);
	free(c->match);
}

static int refuse(struct question *q, unsigned status, const char *detail)
{
	q->status = status;
	snprintf(q->detail, sizeof(q->detail), "%s", detail);
	return 0;
}

static int call_for_row(struct postgres *p, const char *sql, const struct postgres_rows *rows, int row,
			const char *value)
{
	struct postgres_params params = {0};

	postgres_add_text(&params, postgres_text(rows, row, CAPTURE_HOST));
	postgres_add_text(&params, postgres_text(rows, row, CAPTURE_MONTH));
	postgres_add_text(&params, postgres_text(rows, row, CAPTURE_ARCHIVE));
	postgres_add_text(&params, postgres_text(rows, row, CAPTURE_NUMBER));
	postgres_add_text(&params, value);
	return postgres_call(p, sql, &params, NULL);
}

/* Change the capture in ROW, in a transaction that fails if somebody else changes it meanwhile. */
static int change_row(struct change *c, const struct postgres_rows *rows, int row, struct postgres *p)
{
	int rc = 0;

	if (c->pinned >= 0)
		rc = call_for_row(p, "SELECT fleet.pin($1, $2::date, $3::uuid, $4::bigint, $5::boolean)", rows, row,
				  c->pinned ? "true" : "false");
	if (rc == 0 && c->note)
		rc = call_for_row(p, "SELECT fleet.set_note($1, $2::date, $3::uuid, $4::bigint, $5)", rows, row,
				  c->note);
	return rc;
}

static int change_in_transaction(struct change *c, struct postgres *p)
{
	CLEANUP(postgres_rows_freep) struct postgres_rows *rows = NULL, *now = NULL;
	struct question *q = &c->question;
	struct postgres_params params = {0};
	char etag[64];
	int row, rc;

	for (int i = 0; i < q->n; i++)
		postgres_add_text(&params, q->params[i]);
	rc = postgres_call(p, q->sql, &params, &rows);
	if (rc != 0 || (row = capture_find_row(q, rows)) < 0)
		return rc;
	if (!fleet_allows(c->rights, SCOPE_WRITE, c->id.host, postgres_text(rows, row, CAPTURE_GUEST)))
		return refuse(q, MHD_HTTP_FORBIDDEN,
			      "You may read this guest, but not do this: it needs the scope write.");
	capture_row_etag(rows, row, etag);
	if (c->match && !request_etag_matches(c->match, etag))
		return refuse(q, MHD_HTTP_PRECONDITION_FAILED,
			      "Somebody else has changed the capture. Read it again, then repeat the change.");
	rc = change_row(c, rows, row, p);
	if (rc == 0)
		rc = postgres_call(p, q->sql, &params, &now);
	if (rc == 0)
		rc = make_capture(q, now, p);
	return rc;
}

/* In a worker: the statement of the question only begins the transaction. */
static int make_change(struct question *q, const struct postgres_rows *rows, struct postgres *p)
{
	struct change *c = (struct change *)q;
	int rc = postgres_begin(p);

	(void)rows;
	if (rc == 0)
		rc = postgres_call(p, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", NULL, NULL);
	if (rc == 0)
		rc = change_in_transaction(c, p);
	if (rc == 0 && !q->status)
		rc = postgres_commit(p);
	if (rc == POSTGRES_E_REFUSED && strcmp(postgres_state(p), "40001") == 0)
		rc = refuse(q, c->match ? MHD_HTTP_PRECONDITION_FAILED : MHD_HTTP_CONFLICT,
			    "Somebody else is changing the capture. Read it again, then repeat the change.");
	postgres_rollback(p);
	return rc;
}

/* Take the body of a PATCH into C. Return false if it is invalid; the request is answered then. */
static bool take_change(struct exchange *x, struct change *c)
{
	static const char *const members[] = {"pinned", "note", "marks", NULL};
	CLEANUP(json_unrefp) json_t *object = NULL;
	const char *note, *match = exchange_header(x, MHD_HTTP_HEADER_IF_MATCH);
	json_t *pinned;

	if (!exchange_upload(x, members, &object) || !exchange_upload_note(x, object, &note))
		return false;
	pinned = json_object_get(object, "pinned");
	if (json_object_get(object, "marks"))
		exchange_problem(x, MHD_HTTP_CONFLICT, "A hub keeps no marks: ask mprofd-http on the host itself.");
	else if (pinned && !json_is_boolean(pinned))
		exchange_problem(x, MHD_HTTP_BAD_REQUEST, "pinned must be true or false.");
	else if (!pinned && !note)
		exchange_problem(x, MHD_HTTP_BAD_REQUEST, "Give pinned or note.");
	else {
		c->pinned = pinned ? json_is_true(pinned) : -1;
		c->note = note ? strdup(note) : NULL;
		c->match = match ? strdup(match) : NULL;
		if ((!note || c->note) && (!match || c->match))
			return true;
		exchange_reader_problem(x, -ENOMEM, "");
	}
	return false;
}

enum outcome hub_patch_capture(struct exchange *x)
{
	struct change *c;

	if (x->work)
		return question_answer(x);
	c = (struct change *)question_new(x, sizeof(*c), make_change);
	if (!c)
		return OUTCOME_DONE;
	c->question.release = release_change;
	c->rights = x->who.scopes ? scopes_ref(x->who.scopes) : NULL;
	if (!take_change(x, c)) {
		question_free(&c->question);
		return OUTCOME_DONE;
	}
	if (!capture_id_parse(x->parameter, false, &c->id)) {
		question_free(&c->question);
		return exchange_problem(x, MHD_HTTP_NOT_FOUND, ABSENT);
	}
	capture_find_sql(&c->question, &c->id);
	return question_ask(x, &c->question);
}
