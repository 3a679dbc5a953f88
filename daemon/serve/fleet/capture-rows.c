/* Show captures of the fleet's database. Their heads are JSON that hosts sent: each member is checked. */
#include "capture-rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json-parse.h"
#include "json-whole.h"
#include "quantity.h"
#include "row-json.h"

#define STREAMS_MOST 1024u

struct capture_id capture_row_id(const struct postgres_rows *rows, int row)
{
	struct capture_id id = {.capture = postgres_number(rows, row, CAPTURE_NUMBER), .recording = -1};

	snprintf(id.host, sizeof(id.host), "%s", postgres_text(rows, row, CAPTURE_HOST));
	snprintf(id.archive, sizeof(id.archive), "%s", postgres_text(rows, row, CAPTURE_ARCHIVE));
	return id;
}

/* Return the number that TEXT has as digits; 0 if it has none. */
static uint64_t digits(const char *text)
{
	uint64_t number;

	return text && quantity_whole(text, UINT64_MAX, &number) ? number : 0;
}

uint64_t row_digits(const struct postgres_rows *rows, int row, int column)
{
	return digits(postgres_text(rows, row, column));
}

json_t *row_corrected(const struct postgres_rows *rows, int row, int column, int correction)
{
	return json_corrected(digits(postgres_text(rows, row, column)), postgres_number(rows, row, correction));
}

static json_t *stream_json(json_t *stream)
{
	const char *first = json_string_value(json_object_get(stream, "first_sequence"));
	const char *last = json_string_value(json_object_get(stream, "last_sequence"));
	json_int_t last_offset = json_integer_value(json_object_get(stream, "last_offset"));
	json_int_t tail_marked = json_integer_value(json_object_get(stream, "tail_marked"));
	json_t *json = json_pack("{s:I, s:o, s:o, s:o, s:I, s:I}", "stream",
				 json_integer_value(json_object_get(stream, "number")), "name",
				 json_text(json_string_value(json_object_get(stream, "name"))), "first_sequence",
				 json_count(digits(first)), "last_sequence", json_count(digits(last)), "last_offset",
				 last_offset, "tail_bytes", json_integer_value(json_object_get(stream, "tail_bytes")));

	if (last_offset == 0 && tail_marked > 0) /* as archive_range_is_lost() on the host */
		json_add_member(&json, "lost", json_true());
	return json;
}

/*
 * Return the streams in TEXT, the head's member as the database writes JSON ("" = it has none), as the API shows them, or NULL without memory.
 * Set *COMPLETE to whether the host had deleted nothing of them; false if they cannot be read.
 */
static json_t *streams_json(const char *text, bool *complete)
{
	json_error_t error;
	CLEANUP(json_unrefp) json_t *streams = NULL;
	json_t *list = json_array(), *stream;
	size_t i;

	*complete = !*text;
	if (*text && json_parse(&streams, text, strlen(text), 0, &error) == -ENOMEM)
		return json_decref(list), NULL;
	*complete |= streams != NULL;
	json_array_foreach(streams, i, stream)
	{
		*complete &= !json_is_false(json_object_get(stream, "complete"));
		if (i < STREAMS_MOST && json_is_object(stream))
			json_add_item(&list, stream_json(stream));
	}
	return list;
}

json_t *capture_row_json(const struct postgres_rows *rows, int row)
{
	struct capture_id id = capture_row_id(rows, row);
	char text[FLEET_ID_TEXT];
	bool complete;
	json_t *streams = streams_json(postgres_text(rows, row, CAPTURE_STREAMS), &complete), *json, *more;

	capture_id_text(&id, text);
	json = json_pack(
		"{s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:[], s:I, s:b, s:o}", "id", text, "host",
		id.host, "archive", id.archive, "run", (json_int_t)postgres_number(rows, row, CAPTURE_RUN), "domain",
		row_text(rows, row, CAPTURE_GUEST), "uuid", row_text(rows, row, CAPTURE_UUID), "kind",
		row_text(rows, row, CAPTURE_KIND), "time", json_time(digits(postgres_text(rows, row, CAPTURE_REAL))),
		"mono", json_ns(digits(postgres_text(rows, row, CAPTURE_MONO))), "pinned",
		row_bool(rows, row, CAPTURE_PINNED), "note", row_text(rows, row, CAPTURE_NOTE), "marks", "version",
		(json_int_t)postgres_number(rows, row, CAPTURE_VERSION), "complete", (int)complete, "streams", streams);
	more = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "image", row_text(rows, row, CAPTURE_IMAGE),
		"arrived", row_text(rows, row, CAPTURE_ARRIVED), "lost_packets", row_number(rows, row, CAPTURE_LOST),
		"cause", row_text(rows, row, CAPTURE_CAUSE), "sentence", row_text(rows, row, CAPTURE_SENTENCE),
		"last_ran", row_text(rows, row, CAPTURE_LAST_RAN), "failure", row_text(rows, row, CAPTURE_FAILURE),
		"time_corrected", row_corrected(rows, row, CAPTURE_REAL, CAPTURE_CORRECTION), "damages",
		row_number(rows, row, CAPTURE_DAMAGES), "skipped_bytes", row_number(rows, row, CAPTURE_SKIPPED),
		"unproven_events", row_number(rows, row, CAPTURE_UNPROVEN));
	if (json && more && json_object_update(json, more) == 0) {
		json_decref(more);
		return json;
	}
	json_decref(json);
	json_decref(more);
	return NULL;
}

void capture_row_etag(const struct postgres_rows *rows, int row, char etag[64])
{
	snprintf(etag, 64, "\"%lld-%lld\"", (long long)postgres_number(rows, row, CAPTURE_NUMBER),
		 (long long)postgres_number(rows, row, CAPTURE_VERSION));
}

bool capture_row_allowed(const struct question *q, const struct postgres_rows *rows, int row)
{
	return fleet_allows(q->scopes, SCOPE_READ, postgres_text(rows, row, CAPTURE_HOST),
			    postgres_text(rows, row, CAPTURE_GUEST));
}

void capture_find_sql(struct question *q, const struct capture_id *id)
{
	int host = question_param(q, id->host), archive, capture;

	archive = question_param(q, id->archive);
	capture = question_number(q, id->capture);
	question_sql(q,
		     "SELECT " CAPTURE_COLUMNS " FROM fleet.captures WHERE host = $%d AND capture = $%d "
		     "AND left(archive::text, length($%d)) = $%d ORDER BY month DESC LIMIT 16",
		     host, capture, archive, archive);
}

int capture_find_row(struct question *q, const struct postgres_rows *rows)
{
	int found = -1;

	for (int row = 0; row < postgres_count(rows); row++) {
		if (!capture_row_allowed(q, rows, row))
			continue;
		if (found >= 0 && strcmp(postgres_text(rows, found, CAPTURE_ARCHIVE),
					 postgres_text(rows, row, CAPTURE_ARCHIVE)) != 0) {
			q->status = MHD_HTTP_CONFLICT;
			snprintf(q->detail, sizeof(q->detail),
				 "Two archives of this host begin so. Name the whole UUID: %s or %s.",
				 postgres_text(rows, found, CAPTURE_ARCHIVE),
				 postgres_text(rows, row, CAPTURE_ARCHIVE));
			return -1;
		}
		if (found < 0)
			found = row;
	}
	if (found < 0) {
		q->status = MHD_HTTP_NOT_FOUND;
		snprintf(q->detail, sizeof(q->detail), "No such capture. See /v1/captures.");
	}
	return found;
}
