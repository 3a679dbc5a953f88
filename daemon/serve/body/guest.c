/* Guests in JSON, for lists of them and for events about them: in one spelling. */
#include <errno.h>
#include <string.h>

#include "guest.h"
#include "json.h"

json_t *guest_json(const struct reader_guest *g)
{
	const struct archive_run *run = &g->latest;
	bool ended = strcmp(run->state, "ended") == 0;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:[], s:n, s:o, s:o}", "name", json_text(run->name), "uuid",
			 json_text(run->uuid), "domid", json_domid(ended ? -1 : run->domid), "state",
			 json_text(run->state), "source", json_text(run->source), "run", (json_int_t)run->id, "streams",
			 "last_seen", "runs", json_count(g->runs), "captures", json_count(g->captures));
}

int guest_fill(struct reader *r, json_t *guest)
{
	json_t *streams = json_object_get(guest, "streams"), *stream, *seen;
	const char *newest = NULL, *text;
	size_t i;
	int rc = json_streams(r, json_integer_value(json_object_get(guest, "run")), streams);

	json_array_foreach(streams, i, stream)
	{
		seen = json_object_get(stream, "last_seen");
		text = json_string_value(seen);
		if (text && (!newest || strcmp(text, newest) > 0)) { /* one format, so that text sorts as time */
			newest = text;
			json_object_set(guest, "last_seen", seen);
		}
	}
	return rc;
}

static int take_guest(void *context, const struct reader_guest *g)
{
	json_t **json = context;

	*json = guest_json(g);
	return *json ? 0 : -ENOMEM;
}

int guest_of_run(struct reader *r, int64_t run, json_t **guest)
{
	CLEANUP(json_unrefp) json_t *json = NULL;
	int rc = reader_guest(r, run, take_guest, &json);

	if (rc == 0)
		rc = guest_fill(r, json);
	if (rc == 0)
		*guest = TAKE_PTR(json);
	return rc;
}

int guest_latest_run(struct reader *r, const struct archive_run *run, int64_t *latest)
{
	return run->uuid ? reader_run_by_uuid(r, run->uuid, latest) : reader_run_by_name(r, run->name, latest);
}
