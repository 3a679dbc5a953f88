/* /v1/domains: guests, their runs and their streams. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "resource.h"
#include "routes.h"
#include "row-json.h"

#define LIMIT_DEFAULT 100u
#define LIMIT_MOST    1000u

struct guest_list {
	struct reader *reader;
	json_t *array;
	json_t *last_key; /* key of the last entry */
};

static int take_guest(void *context, const struct reader_guest *g)
{
	struct guest_list *list = context;
	json_t *json = json_guest(g);

	json_decref(list->last_key);
	list->last_key = json_text(g->key);
	return json && json_array_append_new(list->array, json) == 0 ? 0 : -ENOMEM;
}

/* Add to CONTEXT, a JSON object, the memory profile M under the number of its run. */
static int take_recording(void *context, const struct memtrace *m)
{
	char run[24];

	snprintf(run, sizeof(run), "%lld", (long long)m->run);
	return json_object_set_new(context, run, json_integer(m->id)) == 0 ? 0 : -ENOMEM;
}

/*
 * Add to each guest the memory profile that is being recorded. If the archive of memory profiles
 * cannot be read, list the guests without it. Return 0 or -ENOMEM.
 */
static int add_recordings(struct exchange *x, json_t *guests)
{
	CLEANUP(json_unrefp) json_t *recordings = json_object();
	json_t *guest, *id;
	char run[24];
	size_t i;
	int rc = -ENOMEM;

	if (recordings)
		rc = memtraces_recording(exchange_memtraces(x), take_recording, recordings);
	if (rc != 0 && rc != ARCHIVE_E_ABSENT)
		exchange_forget(x); /* do not cache this answer: the next one may have the profiles */
	if (rc != 0)
		return rc == -ENOMEM ? rc : 0;
	json_array_foreach(guests, i, guest)
	{
		snprintf(run, sizeof(run), "%lld", (long long)json_integer_value(json_object_get(guest, "run")));
		id = json_object_get(recordings, run);
		if (json_object_set_new(guest, "memtrace", id ? json_incref(id) : json_null()) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Do not cache an answer that has a rate, because the rate changes with time. A rate of 0 stays 0
 * until the next commit.
 */
static void forget_rates(struct exchange *x, json_t *guests)
{
	json_t *guest, *stream;
	size_t i, k;

	json_array_foreach(guests, i, guest)
	{
		json_array_foreach(json_object_get(guest, "streams"), k, stream)
		{
			if (json_integer_value(json_object_get(stream, "rate")) != 0)
				exchange_forget(x);
		}
	}
}

enum outcome get_domains(struct exchange *x)
{
	CLEANUP(json_unrefp) json_t *array = json_array();
	struct guest_list list = {.reader = exchange_reader(x), .array = array};
	const char *cursor = request_query(&x->request, "cursor");
	json_t *guest, *next;
	uint64_t limit;
	size_t i;
	int rc;

	if (!exchange_number(x, "limit", 1, LIMIT_MOST, LIMIT_DEFAULT, &limit))
		return OUTCOME_DONE;
	rc = reader_guests(list.reader, cursor ? cursor : "", (unsigned)limit, take_guest, &list);
	next = json_array_size(array) == limit ? list.last_key : json_null();
	if (next != list.last_key)
		json_decref(list.last_key);
	json_array_foreach(array, i, guest)
	{
		if (rc == 0)
			rc = json_guest_fill(list.reader, guest);
	}
	if (rc == 0)
		rc = add_recordings(x, array);
	if (rc != 0) {
		json_decref(next);
		return exchange_reader_problem(x, rc, "");
	}
	forget_rates(x, array);
	return exchange_json(x, MHD_HTTP_OK, json_pack("{s:O, s:o}", "domains", array, "next", next));
}

static int take_run(void *context, const struct archive_run *run)
{
	json_t *json = json_run(run);

	return json && json_array_append_new(context, json) == 0 ? 0 : -ENOMEM;
}

/* Add one page of the guest's runs, each with its streams. Return what the reader returns. */
static int guest_runs(struct reader *r, json_t *guest, int64_t id, int64_t before, uint64_t limit)
{
	CLEANUP(json_unrefp) json_t *runs = json_array();
	json_t *run, *streams, *next = json_null();
	int64_t last = 0;
	size_t i;
	int rc = reader_runs(r, id, before, (unsigned)limit, take_run, runs);

	json_array_foreach(runs, i, run)
	{
		last = json_integer_value(json_object_get(run, "run"));
		streams = json_array();
		if (json_object_set_new(run, "streams", streams) < 0)
			rc = -ENOMEM;
		if (rc == 0)
			rc = json_streams(r, last, streams);
	}
	if (json_array_size(runs) == limit)
		next = json_sprintf("%lld", (long long)last);
	if (json_object_set_new(guest, "next", next) < 0 || json_object_set(guest, "run_list", runs) < 0)
		return -ENOMEM;
	return rc;
}

enum outcome get_domain(struct exchange *x)
{
	CLEANUP(json_unrefp) json_t *guest = NULL, *one = json_array();
	struct reader *r = exchange_reader(x);
	uint64_t limit, before;
	int64_t run;
	int rc;

	if (!exchange_number(x, "limit", 1, LIMIT_MOST, LIMIT_DEFAULT, &limit) ||
	    !exchange_number(x, "cursor", 1, INT64_MAX, INT64_MAX, &before) || !resource_run(x, &run))
		return OUTCOME_DONE;
	rc = json_guest_of_run(r, run, &guest);
	if (rc == 0)
		rc = guest_runs(r, guest, run, (int64_t)before, limit);
	if (rc != 0)
		return exchange_reader_problem(x, rc, "The guest was deleted meanwhile.");
	if (json_array_append(one, guest) < 0 || add_recordings(x, one) != 0)
		return exchange_reader_problem(x, -ENOMEM, "");
	forget_rates(x, one);
	return exchange_json(x, MHD_HTTP_OK, json_incref(guest));
}
