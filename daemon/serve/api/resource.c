/*
 * Find the rows of the archive that a request names. If a request names a run twice, in {domain}
 * and in a position, both must be the same run. So an old link never shows another guest's trace.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <mprof/ids.h>
#include <mprof/ring.h>

#include "clock.h"
#include "position.h"
#include "quantity.h"
#include "reading-json.h"
#include "resource.h"
#include "row-json.h"

#define HEADER	  MPROF_PACKET_HEADER_BYTES
#define TAKING_NS (60 * NS_PER_S) /* mprofd takes no longer for a capture */

void resource_deinit(struct resource *res)
{
	free(res->streams);
	*res = (struct resource){0};
}

/* Return whether TEXT is a UUID. Copy it to LOWER in lower case. */
static bool is_uuid(const char *text, char lower[37])
{
	size_t i;

	for (i = 0; i < 36 && text[i]; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
		lower[i] = (char)tolower((unsigned char)text[i]);
	}
	lower[i] = '\0';
	return i == 36 && !text[36];
}

int resource_find_run(struct exchange *x, int64_t *run)
{
	struct reader *r = exchange_reader(x);
	const char *text = x->parameter;
	bool forced = strncmp(text, "domid:", 6) == 0;
	uint64_t domid;
	char uuid[37];
	int rc = ARCHIVE_E_ABSENT;

	if (strncmp(text, "name:", 5) == 0)
		return reader_run_by_name(r, text + 5, run);
	if (is_uuid(text, uuid))
		rc = reader_run_by_uuid(r, uuid, run);
	if (rc == ARCHIVE_E_ABSENT && !forced)
		rc = reader_run_by_name(r, text, run);
	if (rc == ARCHIVE_E_ABSENT && quantity_whole(text + (forced ? 6 : 0), 65535, &domid))
		rc = reader_run_by_domid(r, (int64_t)domid, run);
	return rc;
}

bool resource_id(const struct exchange *x, int64_t *id)
{
	uint64_t value = 0;
	bool good = quantity_whole(x->parameter, INT64_MAX, &value) && value > 0;

	*id = good ? (int64_t)value : 0;
	return good;
}

int resource_finds_domain(struct exchange *x)
{
	int64_t run;

	return resource_find_run(x, &run);
}

static int see_capture(void *context, const struct reader_capture *c)
{
	(void)context;
	(void)c;
	return 0;
}

int resource_finds_capture(struct exchange *x)
{
	int64_t id;

	return resource_id(x, &id) ? reader_capture(exchange_reader(x), id, see_capture, NULL) : ARCHIVE_E_ABSENT;
}

bool resource_run(struct exchange *x, int64_t *run)
{
	/* It counts guests of the whole host, so it is for those who see all. */
	const char *limit = x->sees ? "" : exchange_services(x)->source_sentence;
	int rc = resource_find_run(x, run);

	if (rc == ARCHIVE_E_ABSENT)
		exchange_problem(x, MHD_HTTP_NOT_FOUND, "No guest %.200s. See /v1/domains.%s%s", x->parameter,
				 *limit ? " " : "", limit);
	else if (rc != 0)
		exchange_reader_problem(x, rc, "");
	return rc == 0;
}

static int take_stream(void *context, const struct reader_stream *s)
{
	struct resource *res = context;
	struct resource_stream *streams;

	if (res->n_streams == RESOURCE_STREAMS_MAX)
		return 0;
	streams = realloc(res->streams, (res->n_streams + 1) * sizeof(*streams));
	if (!streams)
		return -ENOMEM;
	res->streams = streams;
	streams[res->n_streams++] = (struct resource_stream){.id = s->stream.id,
							     .number = s->stream.number,
							     .ring_packets = s->stream.ring_packets,
							     .deletions = s->deletions};
	return 0;
}

static int take_run(void *context, const struct archive_run *run)
{
	struct resource *res = context;

	res->ended = strcmp(run->state, "ended") == 0;
	return 0;
}

static int take_capture(void *context, const struct reader_capture *c)
{
	struct resource *res = context;

	res->run = c->capture.run;
	res->captured_real = c->capture.real;
	return 0;
}

struct ranges {
	struct reader *reader;
	struct resource *resource;
};

static int take_range(void *context, const struct reader_capture_range *range)
{
	const struct ranges *ranges = context;
	bool found = false;
	int rc = 0;

	for (size_t i = 0; i < ranges->resource->n_streams && rc == 0; i++) {
		struct resource_stream *s = &ranges->resource->streams[i];

		if (s->id != range->range.stream)
			continue;
		found = true;
		s->range = range->range;
		s->span = span_of_range(range);
		rc = coverage_of_range(ranges->reader, range, &s->coverage);
	}
	ranges->resource->lacks |= !found;
	return rc;
}

bool capture_damages(struct exchange *x, int64_t capture, char *text)
{
	if (x->copy)
		return reading_damages_text(x->damages, text);
	return reading_damages(exchange_services(x)->readings, capture, text);
}

bool resource_complete(const struct resource *res)
{
	for (size_t i = 0; i < res->n_streams; i++)
		if (res->streams[i].coverage != COVERAGE_ALL)
			return false;
	return !res->lacks;
}

bool resource_gone(struct exchange *x, const struct resource *res, const struct resource_stream *stream)
{
	bool any = false, gone = true;

	for (size_t i = 0; i < res->n_streams; i++) {
		if (!res->streams[i].range.capture || (stream && stream != &res->streams[i]))
			continue;
		any = true;
		gone &= res->streams[i].coverage == COVERAGE_NONE;
	}
	any |= res->lacks && !stream;
	if (!any || !gone)
		return false;
	exchange_problem_with(
		x, MHD_HTTP_GONE,
		"Nothing that the capture names is left: quotas deleted it, or it was damaged on the disk.",
		json_pack("{s:n}", "oldest"));
	return true;
}

/*
 * Load the streams and the state of RES->run. Return false after an error; the request is then
 * answered.
 */
static bool load_run(struct exchange *x, struct resource *res)
{
	int rc = reader_run(exchange_reader(x), res->run, take_run, res);

	if (rc == 0)
		rc = reader_streams(exchange_reader(x), res->run, take_stream, res);
	if (rc != 0)
		exchange_reader_problem(x, rc, "The run was deleted meanwhile.");
	return rc == 0;
}

struct same {
	int64_t run;
	bool found;
};

static int see_run(void *context, const struct archive_run *run)
{
	struct same *same = context;

	same->found |= run->id == same->run;
	return 0;
}

bool resource_domain(struct exchange *x, const struct position *first, struct resource *res)
{
	struct same same = {0};
	uint64_t wanted;
	int rc;

	if (!resource_run(x, &res->run) || !exchange_number(x, "run", 1, INT64_MAX, 0, &wanted))
		return false;
	if (first && wanted && (uint64_t)first->run != wanted) {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST,
				 "The position is of run %" PRId64 ", but the query parameter run names another.",
				 first->run);
		return false;
	}
	same.run = first ? first->run : (int64_t)wanted;
	if (same.run && same.run != res->run) {
		rc = reader_runs(exchange_reader(x), res->run, same.run < INT64_MAX ? same.run + 1 : same.run, 1,
				 see_run, &same);
		if (rc == 0 && !same.found)
			rc = ARCHIVE_E_ABSENT;
		if (rc != 0) {
			exchange_reader_problem(x, rc, "The guest has no such run. See /v1/domains/{domain}.");
			return false;
		}
		res->run = same.run;
	}
	return load_run(x, res);
}

bool resource_capture_id(struct exchange *x, int64_t *id)
{
	if (resource_id(x, id))
		return true;
	exchange_problem(x, MHD_HTTP_NOT_FOUND, "A capture's id is a number, not %.200s. See /v1/captures.",
			 x->parameter);
	return false;
}

/*
 * Return true if a stream of the capture is archived, or if the run has none; else answer the request.
 * mprofd archives the capture's row first and the range of each stream when its ring is copied.
 */
static bool capture_is_taken(struct exchange *x, const struct resource *res)
{
	uint64_t now = clock_real();

	if (!res->n_streams || res->lacks)
		return true;
	for (size_t i = 0; i < res->n_streams; i++)
		if (res->streams[i].range.capture)
			return true;
	if (now >= res->captured_real && now - res->captured_real < TAKING_NS)
		exchange_problem(x, MHD_HTTP_SERVICE_UNAVAILABLE, "The capture is still being taken; try again.");
	else
		exchange_problem(x, MHD_HTTP_NOT_FOUND,
				 "The capture has no packets: mprofd ended before it had copied them.");
	return false;
}

bool resource_capture(struct exchange *x, struct resource *res)
{
	struct ranges ranges = {exchange_reader(x), res};
	bool lacks = false;
	int rc;

	if (!resource_capture_id(x, &res->capture))
		return false;
	rc = reader_capture(exchange_reader(x), res->capture, take_capture, res);
	if (rc != 0) {
		exchange_reader_problem(x, rc, "No such capture. See /v1/captures.");
		return false;
	}
	if (!load_run(x, res))
		return false;
	rc = reader_capture_ranges(exchange_reader(x), res->capture, take_range, &ranges, &lacks);
	res->lacks |= lacks;
	if (rc != 0)
		exchange_reader_problem(x, rc, "The capture was deleted meanwhile.");
	return rc == 0 && capture_is_taken(x, res);
}

/* Return whether the resource has the stream. A capture may have only some streams of its run. */
static bool has_stream(const struct resource *res, const struct resource_stream *stream)
{
	return !res->capture || stream->range.capture;
}

/* Remove from STREAMS, a JSON array of the run's streams, those that the resource does not have. */
static void keep_streams(const struct resource *res, json_t *streams)
{
	for (size_t i = json_array_size(streams); i-- > 0;) {
		json_int_t number = json_integer_value(json_object_get(json_array_get(streams, i), "stream"));
		bool has = false;

		for (size_t k = 0; k < res->n_streams; k++)
			has |= res->streams[k].number == (uint64_t)number && has_stream(res, &res->streams[k]);
		if (!has)
			json_array_remove(streams, i);
	}
}

static void many_streams(struct exchange *x, const struct resource *res)
{
	CLEANUP(json_unrefp) json_t *streams = json_array();
	int rc = streams ? json_streams(exchange_reader(x), res->run, streams) : -ENOMEM;

	if (rc != 0) {
		exchange_reader_problem(x, rc, "");
		return;
	}
	keep_streams(res, streams);
	exchange_problem_with(x, MHD_HTTP_CONFLICT,
			      res->capture
				      ? "The capture has several streams; name one with the query parameter stream."
				      : "The run has several streams; name one with the query parameter stream.",
			      json_pack("{s:O}", "streams", streams));
}

bool resource_pick(struct exchange *x, const struct resource *res, const struct position *first,
		   const struct resource_stream **stream)
{
	uint64_t wanted;
	size_t n = 0;

	*stream = NULL;
	if (!exchange_number(x, "stream", 0, UINT32_MAX, first ? first->stream : UINT64_MAX, &wanted))
		return false;
	if (first && wanted != first->stream) {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST,
				 "The position is of stream %" PRIu32 ", but the query parameter stream names another.",
				 first->stream);
		return false;
	}
	for (size_t i = 0; i < res->n_streams; i++) {
		if (!has_stream(res, &res->streams[i]))
			continue;
		/* A stream that mprofd itself records about the guest must be named. */
		if (wanted == UINT64_MAX ? res->streams[i].number < MPROF_STREAM_HOST
					 : wanted == res->streams[i].number) {
			*stream = &res->streams[i];
			n++;
		}
	}
	/* The request may mean a stream of which nothing is left. */
	if (n == 0 && res->lacks && resource_gone(x, res, NULL))
		return false;
	if (n > 1)
		many_streams(x, res);
	else if (n == 0 && wanted != UINT64_MAX)
		exchange_problem(x, MHD_HTTP_NOT_FOUND, "The %s has no stream %" PRIu64 ".",
				 res->capture ? "capture" : "run", wanted);
	return n == 1 || (n == 0 && wanted == UINT64_MAX);
}

bool resource_position(struct exchange *x, const char *key, struct position *store, const struct position **p)
{
	const char *text = request_query(&x->request, key);

	*p = text ? store : NULL;
	if (!text || position_parse(store, text))
		return true;
	exchange_problem(x, MHD_HTTP_BAD_REQUEST,
			 "The query parameter %s must be a position: run.stream.sequence.offset.", key);
	return false;
}

void resource_deleted(struct exchange *x, int64_t run, const struct resource_stream *stream)
{
	struct reader_packet p;
	struct position oldest = {.run = run, .stream = stream->number, .offset = HEADER};
	int rc = stream_oldest(exchange_reader(x), stream->id, &p);
	json_t *json;

	if (rc != 0 && rc != ARCHIVE_E_ABSENT) {
		exchange_reader_problem(x, rc, "");
		return;
	}
	oldest.sequence = p.sequence;
	json = rc == 0 ? json_position(&oldest) : json_null();
	exchange_problem_with(x, MHD_HTTP_GONE,
			      "The guest's policy deleted these packets. Begin at the oldest position left.",
			      json_pack("{s:o}", "oldest", json));
}
