/*
 * From the words of a request to rows of the archive.
 *
 * What a request names twice (a run in {domain} and in a position) must agree: a link that was kept does not show another guest's trace.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <mprof/ring.h>

#include "json.h"
#include "position.h"
#include "quantity.h"
#include "target.h"

#define HEADER MPROF_PACKET_HEADER_BYTES

void target_deinit(struct target *t)
{
	free(t->streams);
	*t = (struct target){0};
}

/* Is TEXT a UUID?  LOWER gets it in lower case. */
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

int target_find(struct exchange *x, int64_t *run)
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

bool target_run(struct exchange *x, int64_t *run)
{
	const char *limit = exchange_services(x)->source_sentence;
	int rc = target_find(x, run);

	if (rc == ARCHIVE_E_ABSENT)
		exchange_problem(x, MHD_HTTP_NOT_FOUND, "There is no guest %.200s; /v1/domains lists them.%s%s",
				 x->parameter, *limit ? " " : "", limit);
	else if (rc != 0)
		exchange_reader_problem(x, rc, "");
	return rc == 0;
}

static int take_stream(void *context, const struct reader_stream *s)
{
	struct target *t = context;
	struct target_stream *streams;

	if (t->n_streams == TARGET_STREAMS_MAX)
		return 0;
	streams = realloc(t->streams, (t->n_streams + 1) * sizeof(*streams));
	if (!streams)
		return -ENOMEM;
	t->streams = streams;
	streams[t->n_streams++] = (struct target_stream){.id = s->stream.id,
							 .number = s->stream.number,
							 .ring_packets = s->stream.ring_packets,
							 .deletions = s->deletions};
	return 0;
}

static int take_run(void *context, const struct archive_run *run)
{
	struct target *t = context;

	t->ended = strcmp(run->state, "ended") == 0;
	return 0;
}

static int take_capture_run(void *context, const struct reader_capture *c)
{
	struct target *t = context;

	t->run = c->capture.run;
	return 0;
}

struct ranges {
	struct reader *reader;
	struct target *target;
};

static int take_range(void *context, const struct reader_capture_range *range)
{
	const struct ranges *c = context;
	int rc = 0;

	for (size_t i = 0; i < c->target->n_streams && rc == 0; i++) {
		struct target_stream *s = &c->target->streams[i];

		if (s->id != range->range.stream)
			continue;
		s->range = range->range;
		rc = kept_of_range(c->reader, range, &s->kept);
	}
	return rc;
}

bool target_complete(const struct target *t)
{
	for (size_t i = 0; i < t->n_streams; i++)
		if (t->streams[i].kept != KEPT_ALL)
			return false;
	return true;
}

bool target_gone(struct exchange *x, const struct target *t, const struct target_stream *stream)
{
	bool any = false, gone = true;

	for (size_t i = 0; i < t->n_streams; i++) {
		if (!t->streams[i].range.capture || (stream && stream != &t->streams[i]))
			continue;
		any = true;
		gone &= t->streams[i].kept == KEPT_NONE;
	}
	if (!any || !gone)
		return false;
	exchange_problem_with(x, MHD_HTTP_GONE, "All that the capture names was deleted, as the guest's policy says.",
			      json_pack("{s:n}", "oldest"));
	return true;
}

/* Load what belongs to the run T->run. */
static bool load_run(struct exchange *x, struct target *t)
{
	int rc = reader_run(exchange_reader(x), t->run, take_run, t);

	if (rc == 0)
		rc = reader_streams(exchange_reader(x), t->run, take_stream, t);
	if (rc != 0)
		exchange_reader_problem(x, rc, "There is no such run any more.");
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

bool target_domain(struct exchange *x, const struct position *first, struct target *t)
{
	struct same same = {0};
	uint64_t wanted;
	int rc;

	if (!target_run(x, &t->run) || !exchange_number(x, "run", 1, INT64_MAX, 0, &wanted))
		return false;
	if (first && wanted && (uint64_t)first->run != wanted) {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST, "The position is of run %" PRId64 ", and run names another.",
				 first->run);
		return false;
	}
	same.run = first ? first->run : (int64_t)wanted;
	if (same.run && same.run != t->run) {
		rc = reader_runs(exchange_reader(x), t->run, same.run < INT64_MAX ? same.run + 1 : same.run, 1, see_run,
				 &same);
		if (rc == 0 && !same.found)
			rc = ARCHIVE_E_ABSENT;
		if (rc != 0) {
			exchange_reader_problem(x, rc, "This guest has no such run; /v1/domains/{domain} lists them.");
			return false;
		}
		t->run = same.run;
	}
	return load_run(x, t);
}

bool target_capture_id(struct exchange *x, int64_t *id)
{
	uint64_t value;

	if (!quantity_whole(x->parameter, INT64_MAX, &value) || value == 0) {
		exchange_problem(x, MHD_HTTP_NOT_FOUND,
				 "A capture's id is a number, and %.200s is none; /v1/captures lists them.",
				 x->parameter);
		return false;
	}
	*id = (int64_t)value;
	return true;
}

bool target_capture(struct exchange *x, struct target *t)
{
	struct ranges ranges = {exchange_reader(x), t};
	int rc;

	if (!target_capture_id(x, &t->capture))
		return false;
	rc = reader_capture(exchange_reader(x), t->capture, take_capture_run, t);
	if (rc != 0) {
		exchange_reader_problem(x, rc, "There is no such capture; /v1/captures lists them.");
		return false;
	}
	if (!load_run(x, t))
		return false;
	rc = reader_capture_ranges(exchange_reader(x), t->capture, take_range, &ranges);
	if (rc != 0)
		exchange_reader_problem(x, rc, "There is no such capture any more.");
	return rc == 0;
}

/* Is the stream part of what was asked for?  A capture need not have all of its run's. */
static bool has_stream(const struct target *t, const struct target_stream *stream)
{
	return !t->capture || stream->range.capture;
}

/* Take out of STREAMS, which are the run's, those that the capture does not have. */
static void keep_streams(const struct target *t, json_t *streams)
{
	for (size_t i = json_array_size(streams); i-- > 0;) {
		json_int_t number = json_integer_value(json_object_get(json_array_get(streams, i), "stream"));
		bool has = false;

		for (size_t k = 0; k < t->n_streams; k++)
			has |= t->streams[k].number == (uint64_t)number && has_stream(t, &t->streams[k]);
		if (!has)
			json_array_remove(streams, i);
	}
}

static void many_streams(struct exchange *x, const struct target *t)
{
	CLEANUP(json_unrefp) json_t *streams = json_array();
	int rc = streams ? json_streams(exchange_reader(x), t->run, streams) : -ENOMEM;

	if (rc != 0) {
		exchange_reader_problem(x, rc, "");
		return;
	}
	keep_streams(t, streams);
	exchange_problem_with(x, MHD_HTTP_CONFLICT,
			      t->capture ? "The capture has several streams; name one with the query parameter stream."
					 : "The run has several streams; name one with the query parameter stream.",
			      json_pack("{s:O}", "streams", streams));
}

bool target_pick(struct exchange *x, const struct target *t, const struct position *first,
		 const struct target_stream **stream)
{
	uint64_t wanted;
	size_t n = 0;

	*stream = NULL;
	if (!exchange_number(x, "stream", 0, UINT32_MAX, first ? first->stream : UINT64_MAX, &wanted))
		return false;
	if (first && wanted != first->stream) {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST,
				 "The position is of stream %" PRIu32 ", and stream names another.", first->stream);
		return false;
	}
	for (size_t i = 0; i < t->n_streams; i++) {
		if (!has_stream(t, &t->streams[i]))
			continue;
		if (wanted == UINT64_MAX || wanted == t->streams[i].number) {
			*stream = &t->streams[i];
			n++;
		}
	}
	if (n > 1)
		many_streams(x, t);
	else if (n == 0 && wanted != UINT64_MAX)
		exchange_problem(x, MHD_HTTP_NOT_FOUND, "The %s has no stream %" PRIu64 ".",
				 t->capture ? "capture" : "run", wanted);
	return n == 1 || (n == 0 && wanted == UINT64_MAX);
}

bool target_position(struct exchange *x, const char *key, struct position *store, const struct position **p)
{
	const char *text = request_query(&x->request, key);

	*p = text ? store : NULL;
	if (!text || position_parse(store, text))
		return true;
	exchange_problem(x, MHD_HTTP_BAD_REQUEST, "The query parameter %s is a position: run.stream.sequence.offset.",
			 key);
	return false;
}

void target_deleted(struct exchange *x, int64_t run, const struct target_stream *stream)
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
	exchange_problem_with(
		x, MHD_HTTP_GONE,
		"What is asked for was deleted, as the guest's policy says; begin at the oldest position left.",
		json_pack("{s:o}", "oldest", json));
}

/* Narrow S to what lies from FIRST to the query's end. */
static bool select_positions(struct exchange *x, const struct target_stream *stream, const struct position *first,
			     struct selection *s)
{
	struct reader *r = exchange_reader(x);
	struct position store;
	const struct position *end;
	bool ok = true;
	int rc = 0;

	if (!target_position(x, "end", &store, &end))
		return false;
	if (first && stream->deletions && (s->empty || first->sequence < s->first)) {
		target_deleted(x, s->run, stream);
		return false;
	}
	if (first && first->sequence >= s->first) {
		s->first = first->sequence;
		s->first_offset = first->offset;
		rc = selection_offset_ok(r, s->stream, first->sequence, first->offset, &ok);
	}
	if (end && rc == 0 && ok) {
		ok = end->run == s->run && end->stream == s->number;
		if (ok)
			rc = selection_offset_ok(r, s->stream, end->sequence, end->offset, &ok);
		s->empty |= end->sequence < s->first;
		if (end->sequence <= s->last) {
			s->last_offset =
				end->sequence < s->last || end->offset < s->last_offset ? end->offset : s->last_offset;
			s->last = end->sequence;
			s->capture = 0;
		}
	}
	if (s->first > s->last && !s->capture)
		s->empty = true;
	if (rc != 0)
		exchange_reader_problem(x, rc, "");
	else if (!ok)
		exchange_problem(
			x, MHD_HTTP_BAD_REQUEST,
			"A position's offset is a chunk end of its packet, and both are of one run and stream.");
	return rc == 0 && ok;
}

/* Narrow S to the query's last. */
static bool select_last(struct exchange *x, const char *last, struct selection *s)
{
	uint64_t value, newest;
	int rc;

	if (quantity_duration(last, &value)) {
		rc = selection_newest(s, exchange_reader(x), exchange_scratch(x), &newest);
		if (rc == 0)
			rc = selection_times(s, exchange_reader(x), newest > value ? newest - value : 0, UINT64_MAX);
	} else if (quantity_bytes(last, &value)) {
		rc = selection_last_bytes(s, exchange_reader(x), value);
	} else {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST,
				 "The query parameter last is bytes (5MB) or a duration (10s), not %.100s.", last);
		return false;
	}
	if (rc != 0)
		exchange_reader_problem(x, rc, "");
	return rc == 0;
}

static bool select_times(struct exchange *x, struct selection *s)
{
	uint64_t from, to;
	int rc;

	if (!exchange_number(x, "from", 0, UINT64_MAX, 0, &from) ||
	    !exchange_number(x, "to", 0, UINT64_MAX, UINT64_MAX, &to))
		return false;
	if (from > to) {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST, "from lies behind to.");
		return false;
	}
	rc = from || to != UINT64_MAX ? selection_times(s, exchange_reader(x), from, to) : 0;
	if (rc != 0)
		exchange_reader_problem(x, rc, "");
	return rc == 0;
}

/* What of the stream the target has at all. */
static int select_base(struct exchange *x, const struct target *t, const struct target_stream *stream,
		       struct selection *s)
{
	struct reader *r = exchange_reader(x);
	int rc = selection_all(s, r);

	if (rc != 0)
		return rc;
	if (!t->capture && t->ended) {
		rc = reader_end_capture(r, s->stream, &s->capture);
		if (rc == ARCHIVE_E_ABSENT)
			s->capture = 0, rc = 0;
		return rc;
	}
	if (!t->capture)
		return 0;
	s->capture = t->capture;
	if (stream->range.last_sequence < s->last ||
	    (stream->range.last_sequence == s->last && stream->range.last_offset < s->last_offset)) {
		s->last = stream->range.last_sequence;
		s->last_offset = stream->range.last_offset;
	}
	if (stream->range.first_sequence > s->first)
		s->first = stream->range.first_sequence;
	s->empty |= s->first > s->last;
	return 0;
}

/* Which of the ways to narrow a selection the query uses; more than one is a contradiction. */
static bool one_way(struct exchange *x)
{
	bool times = request_query(&x->request, "from") || request_query(&x->request, "to");
	bool last = request_query(&x->request, "last") != NULL;
	bool positions = request_query(&x->request, "first") || request_query(&x->request, "end");

	if (times + last + positions <= 1)
		return true;
	exchange_problem(x, MHD_HTTP_BAD_REQUEST, "Give one of from and to, last, or first and end.");
	return false;
}

bool target_select(struct exchange *x, const struct target *t, const struct target_stream *stream,
		   const struct position *first, struct selection *s)
{
	const char *tail = request_query(&x->request, "tail"), *last = request_query(&x->request, "last");
	int rc;

	*s = (struct selection){.run = t->run,
				.number = stream->number,
				.stream = stream->id,
				.ring_packets = stream->ring_packets,
				.raw = tail && strcmp(tail, "raw") == 0};
	if (tail && !s->raw && strcmp(tail, "cut") != 0) {
		exchange_problem(x, MHD_HTTP_BAD_REQUEST, "The query parameter tail is cut or raw.");
		return false;
	}
	if (!one_way(x) || target_gone(x, t, stream))
		return false;
	rc = select_base(x, t, stream, s);
	if (rc != 0) {
		exchange_reader_problem(x, rc, "");
		return false;
	}
	if (last)
		return select_last(x, last, s);
	if (first || request_query(&x->request, "end"))
		return select_positions(x, stream, first, s);
	return select_times(x, s);
}
