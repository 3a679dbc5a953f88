/*
 * Rows of the archive as JSON. Names come from guests and files and may have any bytes, but the
 * JSON is always valid.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <mprof/ring.h>

#include "capture-coverage.h"
#include "clock.h"
#include "json-parse.h"
#include "json-whole.h"
#include "rate.h"
#include "row-json.h"
#include "selection.h"

json_t *json_text(const char *text)
{
	json_t *json = text ? json_string(text) : json_null();
	char *shown, *p;

	if (json || !text)
		return json;
	p = shown = malloc(4 * strlen(text) + 1);
	if (!shown)
		return NULL;
	for (; *text; text++) {
		if ((unsigned char)*text < 0x80)
			*p++ = *text;
		else
			p += sprintf(p, "\\x%02X", (unsigned)(unsigned char)*text);
	}
	*p = '\0';
	json = json_string(shown);
	free(shown);
	return json;
}

json_t *json_ns(uint64_t ns)
{
	return json_sprintf("%" PRIu64, ns);
}

json_t *json_time(uint64_t real)
{
	time_t seconds = (time_t)(real / NS_PER_S);
	struct tm tm;
	char text[64];

	if (real == 0 || !gmtime_r(&seconds, &tm))
		return json_null();
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	return json_sprintf("%s.%09" PRIu64 "Z", text, (uint64_t)(real % NS_PER_S));
}

json_t *json_count(uint64_t n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

json_t *json_domid(int64_t domid)
{
	return domid < 0 ? json_null() : json_integer(domid);
}

json_t *json_position(const struct position *p)
{
	char text[POSITION_TEXT];

	position_format(p, text);
	return json_string(text);
}

/*
 * Add packet P, which is not complete, to the counters of S. Set *MONO to the CLOCK_MONOTONIC of S's last stamp, if that is
 * one of P. Return what the reader returns.
 */
static int stream_add_open(struct reader *r, struct reader_stream *s, const struct reader_packet *p, uint64_t *mono)
{
	struct archive_end end;
	int rc = reader_end_below(r, s->stream.id, p->sequence, UINT32_MAX, &end);

	if (rc != 0)
		return rc == ARCHIVE_E_ABSENT ? 0 : rc;
	s->packets++;
	s->bytes += end.offset;
	if (end.real > s->last_seen_real) {
		s->last_seen_real = end.real;
		*mono = end.mono;
	}
	return 0;
}

struct streams_context {
	json_t *array;
	struct reader *reader;
	bool running;
};

/*
 * Add the packet that is not complete to the counters of S, and set *RATE, and *MONO as stream_add_open(). Return what the
 * reader returns.
 */
static int stream_look(const struct streams_context *c, struct reader_stream *s, uint64_t *rate, uint64_t *mono)
{
	struct reader_packet newest;
	uint64_t now = clock_real();
	int rc = stream_newest(c->reader, s->stream.id, &newest);

	*rate = *mono = 0;
	if (rc == 0 && !newest.complete)
		rc = stream_add_open(c->reader, s, &newest, mono);
	if (rc == 0 && c->running && s->last_seen_real + RATE_SECONDS * NS_PER_S > now)
		rc = rate_of_stream(c->reader, s->stream.id, &newest, now, rate);
	/* A damaged packet must not hide its guest. */
	return rc == ARCHIVE_E_ABSENT || rc == ARCHIVE_E_DAMAGED ? 0 : rc;
}

static int add_stream(void *context, const struct reader_stream *stream)
{
	struct streams_context *c = context;
	struct reader_stream s = *stream;
	uint64_t rate, mono;
	int rc = stream_look(c, &s, &rate, &mono);
	json_t *json;

	if (rc != 0)
		return rc;
	json = json_pack("{s:I, s:I, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}", "run",
			 (json_int_t)s.stream.run, "stream", (json_int_t)s.stream.number, "name",
			 json_text(s.stream.name), "ring_bytes", json_count(s.stream.ring_bytes), "ring_packets",
			 (json_int_t)s.stream.ring_packets, "packets", json_count(s.packets), "bytes",
			 json_count(s.bytes), "rate", json_count(rate), "lost_packets", json_count(s.lost_packets),
			 "skipped_packets", json_count(s.skipped_packets), "gaps", json_count(s.gaps), "last_seen",
			 json_time(s.last_seen_real), "last_seen_corrected",
			 json_corrected(s.last_seen_real, reader_correction(c->reader, mono, s.last_seen_real)),
			 "several_writers", (s.stream.flags & ARCHIVE_STREAM_WRITERS) != 0, "clock_stepped",
			 (s.stream.flags & ARCHIVE_STREAM_CLOCK) != 0);
	return json && json_array_append_new(c->array, json) == 0 ? 0 : -ENOMEM;
}

static int see_run(void *context, const struct archive_run *run)
{
	struct streams_context *c = context;

	c->running = strcmp(run->state, "ended") != 0;
	return 0;
}

int json_streams(struct reader *r, int64_t run, json_t *array)
{
	struct streams_context c = {.array = array, .reader = r};
	int rc = reader_run(r, run, see_run, &c);

	return rc == 0 || rc == ARCHIVE_E_ABSENT ? reader_streams(r, run, add_stream, &c) : rc;
}

json_t *json_corrected(uint64_t real, int64_t correction)
{
	return real && correction ? json_time(real + (uint64_t)correction) : json_null();
}

json_t *json_run(const struct archive_run *run)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "run", (json_int_t)run->id, "name",
			 json_text(run->name), "state", json_text(run->state), "source", json_text(run->source),
			 "domid", json_domid(run->domid), "began", json_time(run->began_real), "ended",
			 json_time(run->ended_real), "reason", json_text(run->reason), "began_corrected",
			 json_corrected(run->began_real, run->began_correction), "ended_corrected",
			 json_corrected(run->ended_real, run->ended_correction));
}

json_t *json_gap(struct reader *r, const struct archive_gap *gap)
{
	return json_pack("{s:o, s:o, s:o, s:I, s:o, s:o, s:b, s:o, s:o, s:o}", "kind", json_text(gap->kind), "reason",
			 json_text(gap->reason), "after_sequence", json_count(gap->after_sequence), "after_offset",
			 (json_int_t)gap->after_offset, "next_sequence", json_count(gap->next_sequence), "packets",
			 json_count(gap->packets), "at_least", (int)gap->at_least, "found", json_time(gap->real),
			 "mono", json_ns(gap->mono), "found_corrected",
			 json_corrected(gap->real, reader_correction(r, gap->mono, gap->real)));
}

/* Return the marks in TEXT, a JSON array; an empty array if TEXT is no array; NULL without memory. */
static json_t *json_marks(const char *text)
{
	json_error_t error;
	CLEANUP(json_unrefp) json_t *marks = NULL;

	if (text && json_parse(&marks, text, strlen(text), 0, &error) == -ENOMEM)
		return NULL;
	return json_is_array(marks) ? TAKE_PTR(marks) : json_array();
}

/* Return C as a Capture of the API, without its streams; NULL without memory. */
static json_t *capture_row(const struct reader_capture *c)
{
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:I, s:[], s:o}", "id",
			 (json_int_t)c->capture.id, "run", (json_int_t)c->capture.run, "domain", json_text(c->name),
			 "uuid", json_text(c->uuid), "kind", json_text(c->capture.kind), "time",
			 json_time(c->capture.real), "mono", json_ns(c->capture.mono), "pinned", (int)c->capture.pinned,
			 "note", json_text(c->capture.note), "marks", json_marks(c->capture.marks), "version",
			 (json_int_t)c->capture.version, "streams", "time_corrected",
			 json_corrected(c->capture.real, c->correction));
}

static int take_capture(void *context, const struct reader_capture *c)
{
	json_t **json = context;

	*json = capture_row(c);
	return *json ? 0 : -ENOMEM;
}

static int take_captures(void *context, const struct reader_capture *c)
{
	return json_array_append_new(context, capture_row(c)) == 0 ? 0 : -ENOMEM;
}

struct ranges_context {
	json_t *array;
	struct reader *reader;
	bool complete;
};

static int add_range(void *context, const struct reader_capture_range *range)
{
	struct ranges_context *c = context;
	enum coverage coverage;
	int rc = coverage_of_range(c->reader, range, &coverage);
	json_t *json = json_pack("{s:I, s:o, s:o, s:o, s:I, s:o}", "stream", (json_int_t)range->number, "name",
				 json_text(range->name), "first_sequence", json_count(range->range.first_sequence),
				 "last_sequence", json_count(range->range.last_sequence), "last_offset",
				 (json_int_t)range->range.last_offset, "tail_bytes", json_count(range->tail_bytes));

	c->complete &= rc == 0 && coverage == COVERAGE_ALL;
	if (archive_range_is_lost(range->range.last_offset, range->tail_marked))
		json_add_member(&json, "lost", json_true());
	return json && json_array_append_new(c->array, json) == 0 ? rc : -ENOMEM;
}

/* Add the streams of the capture to its description JSON. Return what the reader returns. */
static int add_ranges(struct reader *r, json_t *json)
{
	int64_t id = json_integer_value(json_object_get(json, "id"));
	struct ranges_context c = {.array = json_object_get(json, "streams"), .reader = r, .complete = true};
	bool lacks = false;
	int rc = reader_capture_ranges(r, id, add_range, &c, &lacks);

	if (rc == 0 && json_object_set_new(json, "complete", json_boolean(c.complete && !lacks)) < 0)
		rc = -ENOMEM;
	return rc;
}

int json_capture(struct reader *r, int64_t id, json_t **capture)
{
	CLEANUP(json_unrefp) json_t *json = NULL;
	int rc = reader_capture(r, id, take_capture, &json);

	if (rc == 0)
		rc = add_ranges(r, json);
	if (rc == 0)
		*capture = TAKE_PTR(json);
	return rc;
}

int json_captures(struct reader *r, int64_t run, int64_t before, unsigned limit, json_t *array, int64_t *last)
{
	int rc = reader_captures(r, run, before, limit, take_captures, array);
	size_t n = json_array_size(array);

	*last = n == limit ? json_integer_value(json_object_get(json_array_get(array, n - 1), "id")) : 0;
	for (size_t i = 0; i < json_array_size(array) && rc == 0;) {
		rc = add_ranges(r, json_array_get(array, i));
		if (rc == ARCHIVE_E_ABSENT) /* the capture was deleted since it was listed */
			rc = json_array_remove(array, i);
		else
			i++;
	}
	return rc;
}

json_t *json_memtrace(const struct memtrace *m)
{
	json_t *json =
		json_pack("{s:I, s:o, s:o, s:o, s:o, s:s, s:I, s:s, s:s, s:o}", "id", (json_int_t)m->id, "run",
			  m->run ? json_integer(m->run) : json_null(), "domain", json_text(m->name), "uuid",
			  json_text(m->uuid), "domid", json_domid(m->domid), "address", m->address, "port",
			  (json_int_t)m->port, "origin", m->origin, "state", m->state, "reason", json_text(m->reason));
	json_t *more = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "began",
				 json_time(m->began_real), "began_mono", json_ns(m->began_mono), "connected_mono",
				 m->connected_mono ? json_ns(m->connected_mono) : json_null(), "ended",
				 json_time(m->ended_real), "bytes", json_count(m->bytes), "packets",
				 json_count(m->packets), "dropped", json_count(m->dropped), "damaged",
				 json_count(m->damaged), "pinned", m->pinned, "note", json_text(m->note),
				 "began_corrected", json_corrected(m->began_real, m->began_correction),
				 "ended_corrected", json_corrected(m->ended_real, m->ended_correction));
	json_t *said = json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "version", (json_int_t)m->version, "program",
				 json_text(m->program), "host", json_text(m->host), "pid",
				 m->has_pid ? json_integer(m->pid) : json_null(), "rate",
				 m->rate > 0 ? json_real(m->rate) : json_null(), "context", json_text(m->context));

	if (json && more && said && json_object_update(json, more) == 0 && json_object_set(json, "says", said) == 0) {
		json_decref(more);
		json_decref(said);
		return json;
	}
	json_decref(json);
	json_decref(more);
	json_decref(said);
	return NULL;
}

json_t *json_guest(const struct reader_guest *g)
{
	const struct archive_run *run = &g->latest;
	bool ended = strcmp(run->state, "ended") == 0;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:[], s:n, s:n, s:o, s:o}", "name", json_text(run->name),
			 "uuid", json_text(run->uuid), "domid", json_domid(ended ? -1 : run->domid), "state",
			 json_text(run->state), "source", json_text(run->source), "run", (json_int_t)run->id, "streams",
			 "last_seen", "last_seen_corrected", "runs", json_count(g->runs), "captures",
			 json_count(g->captures));
}

int json_guest_fill(struct reader *r, json_t *guest)
{
	json_t *streams = json_object_get(guest, "streams"), *stream, *corrected;
	const char *newest = NULL, *text;
	size_t i;
	struct streams_context c = {
		.array = streams,
		.reader = r,
		.running = strcmp(json_string_value(json_object_get(guest, "state")), "ended") != 0,
	};
	int rc = reader_streams(r, json_integer_value(json_object_get(guest, "run")), add_stream, &c);

	json_array_foreach(streams, i, stream)
	{
		corrected = json_object_get(stream, "last_seen_corrected");
		text = json_string_value(json_is_string(corrected) ? corrected : json_object_get(stream, "last_seen"));
		if (text &&
		    /* All times have the same format, so they sort as text. */
		    (!newest || strcmp(text, newest) > 0)) {
			newest = text;
			if (json_object_set(guest, "last_seen", json_object_get(stream, "last_seen")) < 0 ||
			    json_object_set(guest, "last_seen_corrected", corrected) < 0)
				return -ENOMEM;
		}
	}
	return rc;
}

static int take_guest(void *context, const struct reader_guest *g)
{
	json_t **json = context;

	*json = json_guest(g);
	return *json ? 0 : -ENOMEM;
}

int json_guest_of_run(struct reader *r, int64_t run, json_t **guest)
{
	CLEANUP(json_unrefp) json_t *json = NULL;
	int rc = reader_guest(r, run, take_guest, &json);

	if (rc == 0)
		rc = json_guest_fill(r, json);
	if (rc == 0)
		*guest = TAKE_PTR(json);
	return rc;
}
