/*
 * Bodies of captures on a hub: their trace, packets, ctf.tar and context, from a copy of the capture, by the
 * handlers of a host.
 *
 * The first call asks the database for the capture, which may be dropped or hidden by now; the second takes its
 * copy, or waits until it is made; from then on the host's handler does the work.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture-rows.h"
#include "clock.h"
#include "copies.h"
#include "fleet.h"
#include "hub-routes.h"
#include "resource.h"
#include "routes.h"
#include "row-json.h"

#define ABSENT	       "No such capture. See /v1/captures."
#define ABSENT_PROFILE "No such memory profile. See /v1/memtraces."

struct body_question {
	struct question question;
	struct copy_key key;
	enum scope scope;
	struct scopes *rights; /* a reference; NULL: everything */
	char id[FLEET_ID_TEXT];
	uint64_t damages[3];			  /* as those of an exchange */
	json_t *time_corrected, *began_corrected; /* owned; NULL: not known yet */
};

static void release_body(struct question *q)
{
	struct body_question *b = (struct body_question *)q;

	scopes_unref(b->rights);
	json_decref(b->time_corrected);
	json_decref(b->began_corrected);
}

static int make_body(struct question *q, const struct postgres_rows *rows, struct postgres *p)
{
	struct body_question *b = (struct body_question *)q;
	int row = capture_find_row(q, rows);
	struct capture_id id;

	(void)p;
	if (row < 0)
		return 0;
	if (!fleet_allows(b->rights, b->scope, postgres_text(rows, row, CAPTURE_HOST),
			  postgres_text(rows, row, CAPTURE_GUEST))) {
		q->status = MHD_HTTP_FORBIDDEN;
		snprintf(q->detail, sizeof(q->detail),
			 "You may read this guest, but not do this: it needs the scope %s.", scope_names[b->scope]);
		return 0;
	}
	id = capture_row_id(rows, row);
	capture_id_text(&id, b->id);
	memcpy(b->key.host, id.host, sizeof(b->key.host));
	memcpy(b->key.archive, id.archive, sizeof(b->key.archive));
	snprintf(b->key.month, sizeof(b->key.month), "%s", postgres_text(rows, row, CAPTURE_MONTH));
	b->key.capture = id.capture;
	b->key.correction = id.recording < 0 ? postgres_number(rows, row, CAPTURE_CORRECTION) : 0;
	for (int i = 0; i < 3; i++)
		b->damages[i] = (uint64_t)postgres_number(rows, row, CAPTURE_DAMAGES + i);
	b->time_corrected = row_corrected(rows, row, CAPTURE_REAL, CAPTURE_CORRECTION);
	b->began_corrected = row_corrected(rows, row, CAPTURE_BEGAN, CAPTURE_BEGAN_CORRECTION);
	return 0;
}

static enum outcome ask_body(struct exchange *x, enum scope scope, bool memtrace)
{
	struct capture_id id;
	struct body_question *b;

	if (!capture_id_parse(x->parameter, memtrace, &id))
		return exchange_problem(x, MHD_HTTP_NOT_FOUND, memtrace ? ABSENT_PROFILE : ABSENT);
	b = (struct body_question *)question_new(x, sizeof(*b), make_body);
	if (!b)
		return OUTCOME_DONE;
	b->question.release = release_body;
	b->scope = scope;
	b->rights = x->who.scopes ? scopes_ref(x->who.scopes) : NULL;
	b->key.recording = id.recording;
	capture_find_sql(&b->question, &id);
	return question_ask(x, &b->question);
}

static void free_copy(void *copy)
{
	copy_unref(copy);
}

/* Take the copy of the capture that the question of X found, and wait for it if it is not made. */
static enum outcome take_copy(struct exchange *x)
{
	struct body_question *b = x->work;

	if (!question_answered(x))
		return OUTCOME_DONE;
	x->copy = copies_get(exchange_services(x)->fleet->copies, &b->key);
	if (!x->copy)
		return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE,
					"All room for copies of captures is in use; try again.");
	x->copy_free = free_copy;
	x->answer.deadline = clock_mono() + FLEET_COPY_NS;
	return OUTCOME_ANSWER;
}

static enum outcome copy_problem(struct exchange *x)
{
	const struct job *job;
	const char *sentence;
	unsigned status;

	if (copy_state(x->copy) == COPY_MAKING)
		return exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE,
					"The capture is still being fetched from the fleet's database; try again.");
	job = copy_failure(x->copy, &status, &sentence);
	if (job->rc != 0)
		return fleet_problem(x, job);
	return exchange_problem(x, status, "The capture cannot be served: %s.", sentence);
}

/*
 * Bring X to where its copy is ready. Return true then; else *OUTCOME is what the handler returns. SCOPE is what
 * the route needs.
 */
static bool has_copy(struct exchange *x, enum scope scope, bool memtrace, enum outcome *outcome)
{
	if (!x->work && !x->copy) {
		*outcome = ask_body(x, scope, memtrace);
		return false;
	}
	if (!x->copy) {
		*outcome = take_copy(x);
		if (*outcome == OUTCOME_DONE || copy_state(x->copy) == COPY_MAKING)
			return false;
	}
	if (copy_state(x->copy) == COPY_READY)
		return true;
	*outcome = copy_problem(x);
	return false;
}

/* Let X work with the reader of its copy, as a host's exchange works with the archive. */
static bool look_into(struct exchange *x)
{
	int rc;

	if (x->reader)
		return true;
	x->reader = copy_reader(x->copy);
	rc = x->reader ? reader_ready(x->reader) : -ENOMEM;
	if (rc != 0) {
		exchange_reader_problem(x, rc, "");
		return false;
	}
	memcpy(x->damages, ((struct body_question *)x->work)->damages, sizeof(x->damages));
	x->parameter = copy_number(x->copy);
	x->sees = false; /* the question has looked at the guest */
	fleet_drop_work(x);
	return true;
}

static enum outcome serve(struct exchange *x, handler *of_host)
{
	enum outcome outcome;

	if (!x->reader && !has_copy(x, SCOPE_READ, false, &outcome))
		return outcome;
	return look_into(x) ? of_host(x) : OUTCOME_DONE;
}

enum outcome hub_get_capture_trace(struct exchange *x)
{
	return serve(x, get_capture_trace);
}

enum outcome hub_get_capture_packets(struct exchange *x)
{
	return serve(x, get_capture_packets);
}

enum outcome hub_get_capture_ctf(struct exchange *x)
{
	return serve(x, get_capture_ctf);
}

/* Add to CONTEXT, which comes from a copy, the members that the database has. Return false without memory. */
static bool add_names(json_t *context, const struct body_question *b)
{
	return json_object_set_new(context, "id", json_string(b->id)) == 0 &&
	       json_object_set_new(context, "host", json_string(b->key.host)) == 0 &&
	       json_object_set(context, "time_corrected", b->time_corrected) == 0 &&
	       json_object_set(context, "began_corrected", b->began_corrected) == 0;
}

enum outcome hub_get_capture_context(struct exchange *x)
{
	CLEANUP(json_unrefp) json_t *names = json_object();
	struct body_question *b;
	enum outcome outcome;
	json_t *context;
	int64_t number;

	if (!has_copy(x, SCOPE_CONTEXT, false, &outcome))
		return outcome;
	b = x->work;
	number = b->key.capture;
	if (!add_names(names, b))
		return exchange_reader_problem(x, -ENOMEM, "");
	context = look_into(x) ? capture_context(x, number) : NULL; /* look_into() releases the question */
	if (!context)
		return OUTCOME_DONE;
	if (json_object_update(context, names) < 0) {
		json_decref(context);
		return exchange_reader_problem(x, -ENOMEM, "");
	}
	return exchange_json(x, MHD_HTTP_OK, context);
}

/* ---- the data of a memory profile ---- */

static enum outcome send_file(struct exchange *x, int fd, uint64_t total)
{
	const char *match = exchange_header(x, MHD_HTTP_HEADER_IF_NONE_MATCH);
	const char *range = exchange_header(x, MHD_HTTP_HEADER_RANGE);
	const char *if_range = exchange_header(x, MHD_HTTP_HEADER_IF_RANGE);
	uint64_t first = 0, last = total - 1;
	enum range_status status = RANGE_NONE;
	struct MHD_Response *response;
	char etag[FLEET_ID_TEXT + 32], text[96];
	unsigned code = MHD_HTTP_OK;

	snprintf(etag, sizeof(etag), "\"m%s-%llx\"", x->parameter, (unsigned long long)total);
	if (!exchange_if_match(x, etag)) {
		close(fd);
		return OUTCOME_DONE;
	}
	if (match && request_etag_matches(match, etag))
		code = MHD_HTTP_NOT_MODIFIED;
	else if (range && (!if_range || strcmp(if_range, etag) == 0))
		status = request_range(range, total, &first, &last);
	if (status == RANGE_UNSATISFIABLE) {
		close(fd);
		return exchange_unsatisfiable(x, total);
	}
	if (status == RANGE_PART)
		code = MHD_HTTP_PARTIAL_CONTENT;
	response = code == MHD_HTTP_NOT_MODIFIED ? exchange_unchanged(total)
						 : MHD_create_response_from_fd_at_offset64(last - first + 1, fd, first);
	if (!response || code == MHD_HTTP_NOT_MODIFIED)
		close(fd);
	if (!response)
		return exchange_reader_problem(x, -ENOMEM, "");
	exchange_add_header(x, response, MHD_HTTP_HEADER_ETAG, etag);
	exchange_add_header(x, response, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
	exchange_add_header(x, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/x-memtrace");
	exchange_add_header(x, response, "Mprof-Recording", "false");
	snprintf(text, sizeof(text), "bytes %llu-%llu/%llu", (unsigned long long)first, (unsigned long long)last,
		 (unsigned long long)total);
	if (code == MHD_HTTP_PARTIAL_CONTENT)
		exchange_add_header(x, response, MHD_HTTP_HEADER_CONTENT_RANGE, text);
	return exchange_respond(x, code, response);
}

enum outcome hub_get_memtrace_data(struct exchange *x)
{
	enum outcome outcome;
	struct stat st;
	int fd;

	if (!has_copy(x, SCOPE_READ, true, &outcome))
		return outcome;
	fd = copy_open(x->copy);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0) {
		if (fd >= 0)
			close(fd);
		return exchange_problem(x, MHD_HTTP_NOT_FOUND, ABSENT_PROFILE);
	}
	return send_file(x, fd, (uint64_t)st.st_size);
}
