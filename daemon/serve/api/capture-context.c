/*
 * /v1/captures/{id}/context: the reason for a capture, the guest's XenStore subtree, and the end of
 * its console.
 *
 * The collector built the stored text from bytes of the guest, so it is parsed within limits and
 * each member is checked. If a member is invalid, the error names that member.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "json-parse.h"
#include "resource.h"
#include "routes.h"
#include "row-json.h"

/*
 * The collector stores at most 64 KiB of XenStore and 16 KiB of console. Escapes make them up to
 * four times as long, and JSON doubles that.
 */
#define CONTEXT_MOST (1u << 20)
#define REASON_MOST  64u
#define ABSENT	     "No such capture. See /v1/captures."

struct captured {
	json_t *object;
	struct moment when;
};

static int take_capture(void *context, const struct reader_capture *c)
{
	struct captured *captured = context;
	json_t *object = captured->object;
	json_t *more = json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "id", (json_int_t)c->capture.id, "run",
				 (json_int_t)c->capture.run, "domain", json_text(c->name), "uuid", json_text(c->uuid),
				 "kind", json_text(c->capture.kind), "time", json_time(c->capture.real),
				 "time_corrected", json_corrected(c->capture.real, c->correction));

	captured->when = (struct moment){.mono = c->capture.mono, .real = c->capture.real};
	return more && json_object_update_new(object, more) == 0 ? 0 : -ENOMEM;
}

static int take_run(void *context, const struct archive_run *run)
{
	json_t *more =
		json_pack("{s:o, s:o, s:o}", "domid", json_domid(run->domid), "began", json_time(run->began_real),
			  "began_corrected", json_corrected(run->began_real, run->began_correction));

	return more && json_object_update_new(context, more) == 0 ? 0 : -ENOMEM;
}

/* A copy of the stored context, because it is parsed after the row was released. */
struct stored {
	char *text; /* owned; NULL = the capture has none */
	size_t bytes;
	bool too_long;
};

static void stored_deinit(struct stored *s)
{
	free(s->text);
}

static int take_text(void *context, const char *text, size_t bytes)
{
	struct stored *s = context;

	s->too_long = bytes > CONTEXT_MOST;
	if (!text || s->too_long)
		return 0;
	s->text = malloc(bytes + 1);
	if (!s->text)
		return -ENOMEM;
	memcpy(s->text, text, bytes);
	s->bytes = bytes;
	return 0;
}

static bool is_subtree(json_t *xenstore)
{
	const char *path;
	json_t *value;

	if (json_is_null(xenstore))
		return true;
	json_object_foreach(xenstore, path, value)
	{
		if (!json_is_string(value))
			return false;
	}
	return json_is_object(xenstore);
}

/*
 * Return the name of the first member of the stored object that is missing or has a wrong type;
 * NULL if all are right.
 */
static const char *damaged_member(const json_t *o)
{
	const json_t *reason = json_object_get(o, "reason"), *console = json_object_get(o, "console");

	if (!json_is_string(reason) || json_string_length(reason) > REASON_MOST)
		return "reason";
	if (!is_subtree(json_object_get(o, "xenstore")))
		return "xenstore";
	if (!json_is_boolean(json_object_get(o, "xenstore_complete")))
		return "xenstore_complete";
	if (!json_is_string(console) && !json_is_null(console))
		return "console";
	return json_is_boolean(json_object_get(o, "console_complete")) ? NULL : "console_complete";
}

/*
 * Copy the members of STORED to ANSWER. If nothing is stored, all members are null. Return 0 or
 * -ENOMEM.
 */
static int add_members(json_t *answer, const json_t *stored)
{
	static const char *const members[] = {"reason", "xenstore", "xenstore_complete", "console", "console_complete"};
	json_t *member;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		member = json_object_get(stored, members[i]);
		if (json_object_set_new(answer, members[i], member ? json_incref(member) : json_null()) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Add the memory profile that was being recorded when the capture was taken, or ended shortly before. */
static int add_memtrace(struct exchange *x, json_t *answer, struct moment when)
{
	int64_t id, run = json_integer_value(json_object_get(answer, "run"));
	struct memtraces_reader *r = exchange_memtraces(x);
	int rc = r ? memtraces_at(r, run, when, MEMTRACES_CAPTURE_GRACE, &id) : ARCHIVE_E_ABSENT;

	return json_object_set_new(answer, "memtrace", rc == 0 ? json_integer(id) : json_null());
}

static enum outcome damaged(struct exchange *x, int64_t id, const char *what)
{
	return exchange_problem(x, MHD_HTTP_INTERNAL_SERVER_ERROR,
				"The context of capture %" PRId64
				" is damaged in the archive (%s). Its trace is not affected.",
				id, what);
}

/*
 * Read the capture ID, its run and its context into ANSWER and STORED, in one transaction. *WHEN is
 * the time of the capture. Return what the reader returns.
 */
static int read_all(struct reader *r, int64_t id, json_t *answer, struct stored *stored, struct moment *when)
{
	struct captured captured = {.object = answer};
	int rc = reader_begin(r);

	if (rc == 0)
		rc = reader_capture(r, id, take_capture, &captured);
	if (rc == 0)
		rc = reader_run(r, json_integer_value(json_object_get(answer, "run")), take_run, answer);
	if (rc == 0)
		rc = reader_context(r, id, take_text, stored);
	reader_end(r);
	*when = captured.when;
	return rc;
}

/* The request was answered with an error: return no context. */
static json_t *refuse(enum outcome outcome)
{
	(void)outcome;
	return NULL;
}

json_t *capture_context(struct exchange *x, int64_t id)
{
	CLEANUP(json_unrefp) json_t *answer = json_object(), *context = NULL;
	CLEANUP(stored_deinit) struct stored stored = {0};
	json_error_t error;
	const char *bad = NULL;
	struct moment when = {0};
	int rc;

	rc = answer ? read_all(exchange_reader(x), id, answer, &stored, &when) : -ENOMEM;
	if (rc != 0)
		return refuse(exchange_reader_problem(x, rc, ABSENT));
	if (stored.too_long)
		return refuse(damaged(x, id, "too long"));
	if (stored.text) {
		rc = json_parse(&context, stored.text, stored.bytes, JSON_REJECT_DUPLICATES, &error);
		if (rc == -ENOMEM)
			return refuse(exchange_reader_problem(x, rc, ""));
		bad = !context ? "not JSON" : json_is_object(context) ? damaged_member(context) : "not an object";
	}
	if (bad)
		return refuse(damaged(x, id, bad));
	rc = add_members(answer, context);
	if (rc == 0)
		rc = add_memtrace(x, answer, when);
	return rc == 0 ? TAKE_PTR(answer) : refuse(exchange_reader_problem(x, rc, ""));
}

enum outcome get_capture_context(struct exchange *x)
{
	json_t *answer;
	int64_t id;

	if (!resource_capture_id(x, &id))
		return OUTCOME_DONE;
	answer = capture_context(x, id);
	return answer ? exchange_json(x, MHD_HTTP_OK, answer) : OUTCOME_DONE;
}
