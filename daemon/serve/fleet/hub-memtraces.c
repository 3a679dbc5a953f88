/*
 * /v1/memtraces of a hub: the parts of memory profiles that captures have.
 *
 * Nothing but its pieces says that a capture has one. So a page looks at SCANNED captures, newest first, and
 * may have no entry although `next` says that there are more.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture-rows.h"
#include "hub-routes.h"
#include "json-whole.h"
#include "quantity.h"
#include "row-json.h"

#define SCANNED 1000u
#define ABSENT	"No such memory profile. See /v1/memtraces."
/* Columns behind those of the capture. */
#define PART_COLUMNS                                                             \
	", m.stream, m.bytes, head #>> '{profile,recording}', "                  \
	"head #>> '{profile,began_real}', head #>> '{profile,began_mono}', "     \
	"head #>> '{profile,connected_mono}', head #>> '{profile,ended_real}', " \
	"fleet.correction(host, archive, head #>> '{profile,began_real}', "      \
	"head #>> '{profile,began_mono}'), "                                     \
	"fleet.correction(host, archive, head #>> '{profile,ended_real}', "      \
	"head #>> '{profile,ended_mono}')"
#define PART_JOIN                                                                                                   \
	" c LEFT JOIN LATERAL (SELECT p.stream, sum(p.length) AS bytes FROM fleet.pieces p WHERE p.host = c.host "  \
	"AND p.month = c.month AND p.archive = c.archive AND p.capture = c.capture AND p.part = 'memory' GROUP BY " \
	"p.stream) m ON true"
#define CAPTURE_NAMES                                                                                              \
	"host, archive, capture, guest, kind, image, finished, pinned, note, cause, sentence, last_ran, failure, " \
	"lost_packets, month, at, head"

enum {
	PART_STREAM = CAPTURE_COLUMNS_N,
	PART_BYTES,
	PART_RECORDING, /* that the head's stamps are of */
	PART_BEGAN,
	PART_BEGAN_MONO,
	PART_CONNECTED_MONO,
	PART_ENDED,
	PART_BEGAN_CORRECTION,
	PART_ENDED_CORRECTION,
};

/* Return the stamp in COLUMN, ns on CLOCK_MONOTONIC, or null. */
static json_t *mono_json(const struct postgres_rows *rows, int row, int column)
{
	uint64_t mono = row_digits(rows, row, column);

	return mono ? json_ns(mono) : json_null();
}

/*
 * Add the times of the profile to JSON. The head has those of one recording; the head of an earlier version has none. Return whether
 * there was memory.
 */
static bool add_times(json_t *json, const struct postgres_rows *rows, int row)
{
	bool is_known = row_digits(rows, row, PART_RECORDING) == (uint64_t)postgres_number(rows, row, PART_STREAM);
	json_t *times;
	int r;

	if (is_known)
		times = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "began",
				  json_time(row_digits(rows, row, PART_BEGAN)), "began_corrected",
				  row_corrected(rows, row, PART_BEGAN, PART_BEGAN_CORRECTION), "began_mono",
				  mono_json(rows, row, PART_BEGAN_MONO), "connected_mono",
				  mono_json(rows, row, PART_CONNECTED_MONO), "ended",
				  json_time(row_digits(rows, row, PART_ENDED)), "ended_corrected",
				  row_corrected(rows, row, PART_ENDED, PART_ENDED_CORRECTION));
	else
		times = json_pack("{s:n, s:n, s:n, s:n, s:n, s:n}", "began", "began_corrected", "began_mono",
				  "connected_mono", "ended", "ended_corrected");
	r = json_object_update(json, times);
	json_decref(times);
	return r == 0;
}

static json_t *memtrace_json(const struct postgres_rows *rows, int row)
{
	struct capture_id id = capture_row_id(rows, row);
	char text[FLEET_ID_TEXT], capture[FLEET_ID_TEXT];
	json_t *json, *more;

	capture_id_text(&id, capture);
	id.recording = (int32_t)postgres_number(rows, row, PART_STREAM);
	capture_id_text(&id, text);
	json = json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:n, s:n, s:n, s:n, s:s, s:n}", "id", text, "host", id.host,
			 "capture", capture, "run", (json_int_t)postgres_number(rows, row, CAPTURE_RUN), "domain",
			 row_text(rows, row, CAPTURE_GUEST), "uuid", row_text(rows, row, CAPTURE_UUID), "domid",
			 "address", "port", "origin", "state", "ended", "reason");
	more = json_pack("{s:I, s:n, s:i, s:i, s:o, s:o, s:{s:n, s:n, s:n, s:n, s:n, s:n}}", "bytes",
			 (json_int_t)postgres_number(rows, row, PART_BYTES), "packets", "dropped", 0, "damaged", 0,
			 "pinned", row_bool(rows, row, CAPTURE_PINNED), "note", row_text(rows, row, CAPTURE_NOTE),
			 "says", "version", "program", "host", "pid", "rate", "context");
	if (json && more && json_object_update(json, more) == 0 && add_times(json, rows, row)) {
		json_decref(more);
		return json;
	}
	json_decref(json);
	json_decref(more);
	return NULL;
}

/* ---- lists ---- */

struct list {
	struct question question;
	uint64_t skipped; /* captures that earlier pages looked at */
};

static bool same_capture(const struct postgres_rows *rows, int a, int b)
{
	return postgres_number(rows, a, CAPTURE_NUMBER) == postgres_number(rows, b, CAPTURE_NUMBER) &&
	       strcmp(postgres_text(rows, a, CAPTURE_HOST), postgres_text(rows, b, CAPTURE_HOST)) == 0 &&
	       strcmp(postgres_text(rows, a, CAPTURE_ARCHIVE), postgres_text(rows, b, CAPTURE_ARCHIVE)) == 0;
}

static int make_list(struct question *q, const struct postgres_rows *rows, struct postgres *p)
{
	struct list *l = (struct list *)q;
	json_t *list = json_array(), *next = json_null();
	uint64_t captures = 0;
	int row, n = postgres_count(rows);

	(void)p;
	for (row = 0; row < n; row++) {
		bool first = row == 0 || !same_capture(rows, row - 1, row);

		if (first && json_array_size(list) >= q->limit)
			break;
		captures += first;
		if (!postgres_is_null(rows, row, PART_STREAM) && capture_row_allowed(q, rows, row))
			json_add_item(&list, memtrace_json(rows, row));
	}
	if (row < n || captures == SCANNED)
		next = json_sprintf("%" PRIu64, l->skipped + captures);
	q->json = json_pack("{s:o, s:o}", "memtraces", list, "next", next);
	return q->json ? 0 : -ENOMEM;
}

static enum outcome list_memtraces(struct exchange *x, const struct guest_name *guest)
{
	struct question *q;
	struct list *l;

	if (!fleet_query_host(x) || !(l = (struct list *)question_new(x, sizeof(*l), make_list)))
		return OUTCOME_DONE;
	q = &l->question;
	if (!question_limit(x, q))
		return OUTCOME_DONE;
	if (!exchange_number(x, "cursor", 1, INT32_MAX, 0, &l->skipped)) {
		question_free(q);
		return OUTCOME_DONE;
	}
	question_sql(q, "SELECT " CAPTURE_COLUMNS PART_COLUMNS " FROM (SELECT " CAPTURE_NAMES
			" FROM fleet.captures WHERE true");
	question_hide(q);
	question_filter(q, x, "host", "host");
	if (guest) {
		question_sql(q, " AND host = $%d", question_param(q, guest->host));
		question_sql(q, " AND guest = $%d", question_param(q, guest->guest));
	}
	question_sql(q,
		     " ORDER BY at DESC, host, archive, capture LIMIT %u OFFSET %" PRIu64 ")" PART_JOIN
		     " ORDER BY at DESC, host, archive, capture, stream",
		     SCANNED, l->skipped);
	return question_ask(x, q);
}

enum outcome hub_get_memtraces(struct exchange *x)
{
	return x->work ? question_answer(x) : list_memtraces(x, NULL);
}

enum outcome hub_get_domain_memtraces(struct exchange *x)
{
	struct guest_name guest;

	if (x->work)
		return question_answer(x);
	return hub_guest(x, &guest) ? list_memtraces(x, &guest) : OUTCOME_DONE;
}

/* ---- one ---- */

struct one {
	struct question question;
	struct capture_id id;
};

static int make_one(struct question *q, const struct postgres_rows *rows, struct postgres *p)
{
	struct one *o = (struct one *)q;
	int row = capture_find_row(q, rows);

	(void)p;
	if (row < 0 && q->status != MHD_HTTP_NOT_FOUND)
		return 0;
	for (; row >= 0 && row < postgres_count(rows); row++) {
		if (postgres_is_null(rows, row, PART_STREAM) ||
		    postgres_number(rows, row, PART_STREAM) != o->id.recording)
			continue;
		q->json = memtrace_json(rows, row);
		return q->json ? 0 : -ENOMEM;
	}
	q->status = MHD_HTTP_NOT_FOUND;
	snprintf(q->detail, sizeof(q->detail), ABSENT);
	return 0;
}

enum outcome hub_get_memtrace(struct exchange *x)
{
	struct capture_id id;
	struct one *o;
	int n;

	if (x->work)
		return question_answer(x);
	if (!capture_id_parse(x->parameter, true, &id))
		return exchange_problem(x, MHD_HTTP_NOT_FOUND, ABSENT);
	o = (struct one *)question_new(x, sizeof(*o), make_one);
	if (!o)
		return OUTCOME_DONE;
	o->id = id;
	n = question_param(&o->question, id.host);
	question_param(&o->question, id.archive);
	question_number(&o->question, id.capture);
	question_sql(&o->question,
		     "SELECT " CAPTURE_COLUMNS PART_COLUMNS " FROM (SELECT " CAPTURE_NAMES
		     " FROM fleet.captures WHERE host = $%d AND left(archive::text, length($%d)) = $%d AND capture = "
		     "$%d LIMIT "
		     "16)" PART_JOIN " ORDER BY month DESC, stream LIMIT 1024",
		     n, n + 1, n + 1, n + 2);
	return question_ask(x, &o->question);
}
