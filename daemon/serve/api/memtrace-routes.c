/*
 * /v1/memtraces: read memory profiles from their archive; pass changes to the sink, which alone
 * writes that archive.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "quantity.h"
#include "resource.h"
#include "routes.h"
#include "row-json.h"

#define LIMIT_DEFAULT 100u
#define LIMIT_MOST    1000u
#define TIMEOUT	      20000000000ull /* ns for the sink to connect to a guest, or to read a stream to its end */
#define ABSENT	      "No such memory profile. See /v1/memtraces."

static int take_one(void *context, const struct memtrace *m)
{
	json_t **json = context;

	*json = json_memtrace(m);
	return *json ? 0 : -ENOMEM;
}

static int take_row(void *context, const struct memtrace *m)
{
	json_t *json = json_memtrace(m);

	return json && json_array_append_new(context, json) == 0 ? 0 : -ENOMEM;
}

/* Answer one page of memory profiles: of all guests if RUN is 0, else of RUN. */
static enum outcome list(struct exchange *x, int64_t run)
{
	CLEANUP(json_unrefp) json_t *rows = json_array();
	uint64_t limit, before;
	json_t *next = json_null();
	int rc;

	if (!exchange_number(x, "limit", 1, LIMIT_MOST, LIMIT_DEFAULT, &limit) ||
	    !exchange_number(x, "cursor", 1, INT64_MAX, INT64_MAX, &before))
		return OUTCOME_DONE;
	rc = memtraces_list(exchange_memtraces(x), run, (int64_t)before, (unsigned)limit, take_row, rows);
	if (rc != 0)
		return exchange_reader_problem(x, rc, "");
	if (json_array_size(rows) == limit)
		next = json_sprintf(
			"%lld", (long long)json_integer_value(json_object_get(json_array_get(rows, limit - 1), "id")));
	return exchange_json(x, MHD_HTTP_OK, json_pack("{s:O, s:o}", "memtraces", rows, "next", next));
}

enum outcome get_memtraces(struct exchange *x)
{
	return list(x, 0);
}

enum outcome get_domain_memtraces(struct exchange *x)
{
	int64_t run;

	return resource_run(x, &run) ? list(x, run) : OUTCOME_DONE;
}

/*
 * Find the recording that the path names; the caller owns *RECORDING. Return false if it does not
 * exist; the request is then answered.
 */
static bool existing(struct exchange *x, int64_t *id, json_t **recording)
{
	int rc = ARCHIVE_E_ABSENT;

	if (resource_id(x, id))
		rc = memtraces_get(exchange_memtraces(x), *id, take_one, recording);
	if (rc != 0)
		exchange_reader_problem(x, rc, ABSENT);
	return rc == 0;
}

enum outcome get_memtrace(struct exchange *x)
{
	json_t *recording;
	int64_t id;

	return existing(x, &id, &recording) ? exchange_json(x, MHD_HTTP_OK, recording) : OUTCOME_DONE;
}

static int see_nothing(void *context, const struct memtrace *m)
{
	(void)context;
	(void)m;
	return 0;
}

int finds_memtrace(struct exchange *x)
{
	int64_t id;

	return resource_id(x, &id) ? memtraces_get(exchange_memtraces(x), id, see_nothing, NULL) : ARCHIVE_E_ABSENT;
}

static enum outcome ask(struct exchange *x, const struct message_writer *w)
{
	return exchange_send(x, w) ? OUTCOME_ANSWER : exchange_no_collector(x);
}

/* Answer with the recording, which the sink has changed or (CREATED) begun. */
static enum outcome answer_recording(struct exchange *x, bool created)
{
	char location[64];
	json_t *recording;
	int64_t id = (int64_t)x->answer.recording;
	int rc;

	if (!x->answer.arrived)
		return exchange_unanswered(x);
	if (!x->answer.ok)
		return exchange_refused(x);
	rc = memtraces_get(exchange_memtraces(x), id, take_one, &recording);
	if (rc != 0)
		return exchange_reader_problem(x, rc, "The memory profile was deleted meanwhile.");
	if (!created)
		return exchange_json(x, MHD_HTTP_OK, recording);
	snprintf(location, sizeof(location), "/v1/memtraces/%" PRId64, id);
	return exchange_created(x, location, recording);
}

static int add_run(void *context, const struct archive_run *run)
{
	struct message_writer *w = context;

	if (strcmp(run->state, "running") != 0)
		return EBUSY;
	message_add_number(w, "run", (uint64_t)run->id);
	message_add(w, "name", run->name);
	message_add(w, "uuid", run->uuid ? run->uuid : "");
	if (run->domid >= 0)
		message_add_number(w, "domid", (uint64_t)run->domid);
	return 0;
}

/*
 * Add the guest to the sink's message W, if the trace archive does not know the guest: it is then
 * known only by the path and by ADDRESS. Return false if neither names a guest.
 */
static bool add_unknown(struct exchange *x, struct message_writer *w, const char *address)
{
	const char *text = x->parameter;
	uint64_t domid;

	if (quantity_whole(strncmp(text, "domid:", 6) == 0 ? text + 6 : text, 65535, &domid))
		message_add_number(w, "domid", domid);
	else if (address)
		message_add(w, "name", strncmp(text, "name:", 5) == 0 ? text + 5 : text);
	else
		return false;
	return true;
}

static bool add_domain(struct exchange *x, struct message_writer *w, const char *address)
{
	int64_t run;
	int rc = resource_find_run(x, &run);

	if (rc == 0)
		rc = reader_run(exchange_reader(x), run, add_run, w);
	else if (rc == ARCHIVE_E_ABSENT && !x->sees && add_unknown(x, w, address))
		rc = 0;
	if (rc == EBUSY)
		exchange_problem(x, MHD_HTTP_CONFLICT, "The guest is not running.");
	else if (rc == ARCHIVE_E_ABSENT)
		exchange_problem(x, MHD_HTTP_NOT_FOUND,
				 "No guest %.200s with a trace; see /v1/domains. Name another guest by its domid, or "
				 "by any name "
				 "with its address in the body.",
				 x->parameter);
	else if (rc != 0)
		exchange_reader_problem(x, rc, "");
	return rc == 0;
}

enum outcome post_memtrace(struct exchange *x)
{
	static const char *const members[] = {"address", "port", NULL};
	CLEANUP(json_unrefp) json_t *object = NULL;
	struct message_writer w;
	char text[8192];
	const char *address;
	json_t *port, *member;

	if (x->answer.tag)
		return answer_recording(x, true);
	if (!exchange_upload(x, members, &object))
		return OUTCOME_DONE;
	member = json_object_get(object, "address");
	address = json_string_value(member);
	port = json_object_get(object, "port");
	if ((member && (!address || strlen(address) > 63)) ||
	    (port && (!json_is_integer(port) || json_integer_value(port) < 1 || json_integer_value(port) > 65535)))
		return exchange_problem(
			x, MHD_HTTP_BAD_REQUEST,
			"address must be a numeric address such as \"10.0.0.1\", and port a number from 1 to 65535.");
	/* The address could be that of a guest that may not be seen. */
	if (address && x->sees)
		return exchange_problem(
			x, MHD_HTTP_FORBIDDEN,
			"Only a client that may write to all guests can name an address: leave it out.");
	exchange_ask_sink(x, &w, text, sizeof(text), "start", TIMEOUT);
	if (!add_domain(x, &w, address))
		return OUTCOME_DONE;
	if (address)
		message_add(&w, "address", address);
	if (port)
		message_add_number(&w, "port", (uint64_t)json_integer_value(port));
	return ask(x, &w);
}

/* Send VERB with the recording of the path to the sink, and wait for its answer. */
static enum outcome ask_of(struct exchange *x, const char *verb)
{
	CLEANUP(json_unrefp) json_t *recording = NULL;
	struct message_writer w;
	char text[128];
	int64_t id;

	if (!existing(x, &id, &recording))
		return OUTCOME_DONE;
	exchange_ask_sink(x, &w, text, sizeof(text), verb, TIMEOUT);
	message_add_number(&w, "recording", (uint64_t)id);
	return ask(x, &w);
}

enum outcome stop_memtrace(struct exchange *x)
{
	return x->answer.tag ? answer_recording(x, false) : ask_of(x, "stop");
}

enum outcome delete_memtrace(struct exchange *x)
{
	if (!x->answer.tag)
		return ask_of(x, "delete");
	if (!x->answer.arrived)
		return exchange_unanswered(x);
	return x->answer.ok ? exchange_empty(x, MHD_HTTP_NO_CONTENT) : exchange_refused(x);
}

enum outcome patch_memtrace(struct exchange *x)
{
	static const char *const members[] = {"pinned", "note", NULL};
	CLEANUP(json_unrefp) json_t *object = NULL, *recording = NULL;
	struct message_writer w;
	char text[4 * EXCHANGE_NOTE_MOST];
	const char *note;
	json_t *pinned;
	int64_t id;

	if (x->answer.tag)
		return answer_recording(x, false);
	if (!exchange_upload(x, members, &object) || !exchange_upload_note(x, object, &note) ||
	    !existing(x, &id, &recording))
		return OUTCOME_DONE;
	pinned = json_object_get(object, "pinned");
	if (pinned && !json_is_boolean(pinned))
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST, "pinned must be true or false.");
	if (!pinned && !note)
		return exchange_problem(x, MHD_HTTP_BAD_REQUEST, "Give pinned, note, or both.");
	exchange_ask_sink(x, &w, text, sizeof(text), "patch", EXCHANGE_TIMEOUT_CHANGE);
	message_add_number(&w, "recording", (uint64_t)id);
	if (pinned)
		message_add_number(&w, "pinned", json_is_true(pinned));
	if (note)
		message_add(&w, "note", note);
	return ask(x, &w);
}
