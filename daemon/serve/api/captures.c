/*
 * /v1/captures: read captures from the archive; pass changes to the collector, which alone writes
 * the archive.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json-whole.h"
#include "quantity.h"
#include "reading-json.h"
#include "resource.h"
#include "routes.h"
#include "row-json.h"

#define LIMIT_DEFAULT 100u
#define LIMIT_MOST    1000u
#define ETAG_BYTES    64
#define MARKS_MOST    50u
#define LETTERS_MOST  200u
#define ABSENT	      "No such capture. See /v1/captures."

/* Write the tag of CAPTURE, which every change of its pin, note or marks changes, into ETAG. */
static void tag_capture(json_t *capture, char etag[ETAG_BYTES])
{
	snprintf(etag, ETAG_BYTES, "\"%lld-%lld\"", (long long)json_integer_value(json_object_get(capture, "id")),
		 (long long)json_integer_value(json_object_get(capture, "version")));
}

/* Add what the reader found in capture ID to its description JSON (reading-json.h). */
static int add_reading(struct exchange *x, int64_t id, json_t *json, bool wanted)
{
	return reading_json_add(exchange_services(x)->readings, id, wanted, json);
}

/*
 * Answer one page of captures: of all guests if RUN is 0, else of the guest whose latest run is
 * RUN.
 */
static enum outcome list_captures(struct exchange *x, int64_t run)
{
	CLEANUP(json_unrefp) json_t *captures = json_array();
	json_t *capture, *next;
	uint64_t limit, before;
	int64_t last;
	size_t i;
	int rc;

	if (!exchange_number(x, "limit", 1, LIMIT_MOST, LIMIT_DEFAULT, &limit) ||
	    !exchange_number(x, "cursor", 1, INT64_MAX, INT64_MAX, &before))
		return OUTCOME_DONE;
	rc = json_captures(exchange_reader(x), run, (int64_t)before, (unsigned)limit, captures, &last);
	json_array_foreach(captures, i, capture)
	{
		if (rc == 0)
			rc = add_reading(x, json_integer_value(json_object_get(capture, "id")), capture, false);
	}
	if (rc != 0)
		return exchange_reader_problem(x, rc, "");
	next = last ? json_sprintf("%lld", (long long)last) : json_null();
	return exchange_json(x, MHD_HTTP_OK, json_pack("{s:O, s:o}", "captures", captures, "next", next));
}

enum outcome get_captures(struct exchange *x)
{
	return list_captures(x, 0);
}

enum outcome get_domain_captures(struct exchange *x)
{
	int64_t run;

	return resource_run(x, &run) ? list_captures(x, run) : OUTCOME_DONE;
}

/*
 * Find the capture that the path names; the caller owns *CAPTURE. Return false if it does not
 * exist; the request is then answered.
 */
static bool existing(struct exchange *x, int64_t *id, json_t **capture)
{
	int rc = ARCHIVE_E_ABSENT;

	if (resource_id(x, id))
		rc = json_capture(exchange_reader(x), *id, capture);
	if (rc == 0)
		rc = add_reading(x, *id, *capture, true);
	if (rc != 0)
		exchange_reader_problem(x, rc, ABSENT);
	return rc == 0;
}

/* Answer with CAPTURE, which is released, and the tag of its version. */
static enum outcome send_capture(struct exchange *x, json_t *capture)
{
	char etag[ETAG_BYTES];

	tag_capture(capture, etag);
	return exchange_json_with(x, MHD_HTTP_OK, capture, MHD_HTTP_HEADER_ETAG, etag);
}

enum outcome get_capture(struct exchange *x)
{
	json_t *capture;
	int64_t id;

	return existing(x, &id, &capture) ? send_capture(x, capture) : OUTCOME_DONE;
}

static enum outcome answer_capture(struct exchange *x, bool created)
{
	char location[64];
	json_t *capture;
	int64_t id = (int64_t)x->answer.capture;
	uint64_t named = 0;
	int rc;

	if (!x->answer.arrived)
		return exchange_unanswered(x);
	if (!x->answer.ok)
		return exchange_refused(x);
	if (!created && quantity_whole(x->parameter, INT64_MAX, &named))
		id = (int64_t)named;
	rc = json_capture(exchange_reader(x), id, &capture);
	if (rc != 0)
		return exchange_reader_problem(x, rc, "The capture was deleted meanwhile.");
	if (!created)
		return send_capture(x, capture);
	snprintf(location, sizeof(location), "/v1/captures/%" PRId64, id);
	return exchange_created(x, location, capture);
}

struct running {
	bool running;
};

static int see_state(void *context, const struct archive_run *run)
{
	struct running *r = context;

	r->running = strcmp(run->state, "ended") != 0;
	return 0;
}

static enum outcome ask(struct exchange *x, const struct message_writer *w)
{
	return exchange_send(x, w) ? OUTCOME_ANSWER : exchange_no_collector(x);
}

enum outcome post_capture(struct exchange *x)
{
	static const char *const members[] = {"kind", "note", NULL};
	CLEANUP(json_unrefp) json_t *object = NULL;
	struct running state = {0};
	struct message_writer w;
	const char *kind, *note;
	char text[4 * EXCHANGE_NOTE_MOST];
	int64_t run;
	int rc;

	if (x->answer.tag)
		return answer_capture(x, true);
	if (!exchange_upload(x, members, &object) || !exchange_upload_note(x, object, &note) || !resource_run(x, &run))
		return OUTCOME_DONE;
	kind = json_object_get(object, "kind") ? json_string_value(json_object_get(object, "kind")) : "manual";
	if (!kind || (strcmp(kind, "manual") != 0 && strcmp(kind, "trigger") != 0))
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST, "kind must be manual or trigger.");
	rc = reader_run(exchange_reader(x), run, see_state, &state);
	if (rc != 0)
		return exchange_reader_problem(x, rc, "The guest was deleted meanwhile.");
	if (!state.running)
		return exchange_problem(x, MHD_HTTP_CONFLICT,
					"The guest is not running. Its trace and captures are still there.");
	exchange_ask(x, &w, text, sizeof(text), "capture", EXCHANGE_TIMEOUT_CHANGE);
	message_add_number(&w, "run", (uint64_t)run);
	message_add(&w, "kind", kind);
	message_add(&w, "note", note ? note : "");
	return ask(x, &w);
}

/* Return the number of letters of TEXT, which is UTF-8. */
static size_t letters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80; /* not the continuation of a letter */
	return n;
}

static bool is_mark(json_t *mark)
{
	const char *from = json_string_value(json_object_get(mark, "from"));
	const char *to = json_string_value(json_object_get(mark, "to"));
	const char *text = json_string_value(json_object_get(mark, "text"));
	uint64_t first, last;

	return json_object_size(mark) == 3 && from && to && text && quantity_whole(from, INT64_MAX, &first) &&
	       quantity_whole(to, INT64_MAX, &last) && first <= last && *text && letters(text) <= LETTERS_MOST;
}

/*
 * Set *MARKS to the marks in OBJECT as JSON, which the caller frees; NULL if it has none. Return
 * false if they are malformed; the request is then answered.
 */
static bool upload_marks(struct exchange *x, json_t *object, char **marks)
{
	json_t *list = json_object_get(object, "marks"), *mark;
	bool good = json_is_array(list) && json_array_size(list) <= MARKS_MOST;
	size_t i;

	*marks = NULL;
	if (!list)
		return true;
	json_array_foreach(list, i, mark) good = good && is_mark(mark);
	if (good)
		*marks = json_whole_text(list, JSON_COMPACT);
	if (*marks && strlen(*marks) <= EXCHANGE_MARKS_MOST)
		return true;
	if (good && !*marks)
		exchange_json(x, MHD_HTTP_OK, NULL);
	else
		exchange_problem(
			x, MHD_HTTP_BAD_REQUEST,
			"marks must be a list of at most %u {\"from\": NS, \"to\": NS, \"text\": WORDS}: times as "
			"decimal strings, from not behind to, words of 1 to 200 letters, %u bytes in all.",
			MARKS_MOST, EXCHANGE_MARKS_MOST);
	return false;
}

/* Return true if CAPTURE has the version that the request's If-Match names; else answer 412. */
static bool matches(struct exchange *x, json_t *capture)
{
	const char *match = exchange_header(x, MHD_HTTP_HEADER_IF_MATCH);
	char etag[ETAG_BYTES];

	tag_capture(capture, etag);
	if (!match || request_etag_matches(match, etag))
		return true;
	exchange_problem(x, MHD_HTTP_PRECONDITION_FAILED,
			 "Somebody else has changed the capture. Read it again, then repeat the change.");
	return false;
}

/* The changes that a PATCH asks for. */
struct change {
	json_t *pinned;
	const char *note;
	char *marks;
};

/* Ask the collector for CHANGE of CAPTURE, if the capture still has its version. */
static enum outcome ask_change(struct exchange *x, const struct change *change, json_t *capture)
{
	CLEANUP(freep) char *text = malloc(MESSAGE_BYTES_MAX);
	struct message_writer w;

	if (!text)
		return exchange_json(x, MHD_HTTP_OK, NULL);
	exchange_ask(x, &w, text, MESSAGE_BYTES_MAX, "patch-capture", EXCHANGE_TIMEOUT_CHANGE);
	message_add_number(&w, "capture", (uint64_t)json_integer_value(json_object_get(capture, "id")));
	if (change->pinned)
		message_add_number(&w, "pinned", json_is_true(change->pinned));
	if (change->note)
		message_add(&w, "note", change->note);
	if (change->marks)
		message_add(&w, "marks", change->marks);
	if (exchange_header(x, MHD_HTTP_HEADER_IF_MATCH))
		message_add_number(&w, "version", (uint64_t)json_integer_value(json_object_get(capture, "version")));
	return ask(x, &w);
}

enum outcome patch_capture(struct exchange *x)
{
	static const char *const members[] = {"pinned", "note", "marks", NULL};
	CLEANUP(json_unrefp) json_t *object = NULL, *capture = NULL;
	CLEANUP(freep) char *marks = NULL;
	struct change change;
	int64_t id;

	if (x->answer.tag)
		return answer_capture(x, false);
	if (!exchange_upload(x, members, &object) || !exchange_upload_note(x, object, &change.note) ||
	    !upload_marks(x, object, &marks) || !existing(x, &id, &capture) || !matches(x, capture))
		return OUTCOME_DONE;
	change.marks = marks;
	change.pinned = json_object_get(object, "pinned");
	if (change.pinned && !json_is_boolean(change.pinned))
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST, "pinned must be true or false.");
	if (!change.pinned && !change.note && !marks)
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST, "Give pinned, note or marks.");
	return ask_change(x, &change, capture);
}

struct end_search {
	struct reader *reader;
	int64_t capture;
	uint64_t bytes; /* bytes of tails that no other capture has, and that are the end of a run */
};

static int see_range(void *context, const struct reader_capture_range *range)
{
	struct end_search *s = context;
	int64_t end = 0;
	int rc = range->tail_bytes ? reader_end_capture(s->reader, range->range.stream, &end) : 0;

	if (rc == 0 && range->tail_bytes && end == s->capture)
		s->bytes += range->tail_bytes;
	return rc == ARCHIVE_E_ABSENT ? 0 : rc;
}

/*
 * Check whether capture ID may be deleted although no other capture has its tail. Return false if
 * not; the request is then answered.
 */
static bool tail_may_go(struct exchange *x, int64_t id)
{
	struct end_search s = {.reader = exchange_reader(x), .capture = id};
	const char *with = request_query(&x->request, "with");
	int rc;

	if (with && strcmp(with, "tail") != 0) {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST, "The query parameter with must be tail.");
		return false;
	}
	rc = with ? 0 : reader_capture_ranges(s.reader, id, see_range, &s, NULL);
	if (rc != 0)
		exchange_reader_problem(x, rc, ABSENT);
	else if (s.bytes)
		exchange_problem(x, MHD_HTTP_CONFLICT,
				 "Only this capture has the last %" PRIu64
				 " bytes of its run. Add with=tail to delete them too.",
				 s.bytes);
	return rc == 0 && !s.bytes;
}

enum outcome delete_capture(struct exchange *x)
{
	CLEANUP(json_unrefp) json_t *capture = NULL;
	struct message_writer w;
	char text[128];
	int64_t id;

	if (x->answer.tag) {
		if (!x->answer.arrived)
			return exchange_unanswered(x);
		return x->answer.ok ? exchange_empty(x, MHD_HTTP_NO_CONTENT) : exchange_refused(x);
	}
	if (!existing(x, &id, &capture) || !tail_may_go(x, id))
		return OUTCOME_DONE;
	exchange_ask(x, &w, text, sizeof(text), "delete-capture", EXCHANGE_TIMEOUT_CHANGE);
	message_add_number(&w, "capture", (uint64_t)id);
	return ask(x, &w);
}
