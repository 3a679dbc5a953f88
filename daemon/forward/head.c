/* Make the JSON of a capture or a run for the hub. */
#include "head.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture-coverage.h"
#include "clock.h"
#include "json-whole.h"
#include "message.h"
#include "span-gaps.h"

#define HEAD_MOST     65000u /* bytes of a head without a profile, as the hub writes it; it takes 65,536 */
#define GAPS_MOST     512u   /* gaps that a head names at most */
#define STREAMS_MOST  256u   /* streams that a head describes at most */
#define TEXT_MOST     1024u  /* bytes of another text than the guest's name */
#define RANGES_MOST   4096u
#define NAME_MOST     255u
#define COMPACT_FLAGS (JSON_COMPACT | JSON_SORT_KEYS)

void month_of(uint64_t real, char month[MONTH_BYTES])
{
	time_t seconds = (time_t)(real / NS_PER_S);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	tm.tm_mday = 1;
	if (tm.tm_year < 0 || tm.tm_year > 8099 || !strftime(month, MONTH_BYTES, "%Y-%m-%d", &tm))
		snprintf(month, MONTH_BYTES, "1970-01-01");
}

static json_t *digits(uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return json_string(text);
}

/* Return TEXT as JSON; bytes that are not UTF-8, and what is too long, become an empty text. */
static json_t *text_of(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	return json_string(len <= TEXT_MOST && message_is_text(text, len) ? text : "");
}

static void set_text(json_t **object, const char *key, const char *text)
{
	if (text && *text)
		json_add_member(object, key, text_of(text));
}

/* ---- runs ------------------------------------------------------------------------------------- */

static int on_run(void *context, const struct archive_run *run)
{
	json_t **head = context;
	char name[NAME_MOST + 1];

	snprintf(name, sizeof(name), "%s", run->name);
	json_add_member(head, "guest", json_string(*name && message_is_text(name, strlen(name)) ? name : "?"));
	set_text(head, "uuid", run->uuid);
	if (run->domid >= 0)
		json_add_member(head, "domid", json_integer(run->domid));
	json_add_member(head, "run", json_integer(run->id));
	set_text(head, "run_key", run->key);
	set_text(head, "run_source", run->source);
	json_add_member(head, "run_began", digits(run->began_real));
	return *head ? 0 : -ENOMEM;
}

/* HEAD does not list all that there is. */
static int cut(json_t *head)
{
	return json_object_set_new(head, "cut", json_true()) ? -ENOMEM : 0;
}

static int on_stream(void *context, const struct reader_stream *stream)
{
	const struct archive_stream *s = &stream->stream;
	json_t *head = context, *streams = json_object_get(head, "streams"), *one;

	if (json_array_size(streams) >= STREAMS_MOST)
		return cut(head);
	one = json_pack("{s:I, s:i, s:I, s:i, s:i}", "id", (json_int_t)s->id, "number", (int)s->number, "ring_bytes",
			(json_int_t)s->ring_bytes, "ring_packets", (int)s->ring_packets, "flags",
			(int)(s->flags & ARCHIVE_STREAM_WRITERS));
	set_text(&one, "name", s->name);
	return json_array_append_new(streams, one) ? -ENOMEM : 0;
}

/* Remove the second half of LIST, an array. Return false if it is empty. */
static bool halve(json_t *list)
{
	size_t n = json_array_size(list);

	for (size_t i = n; i-- > n / 2;)
		json_array_remove(list, i);
	return n > 0;
}

/* Return the bytes of HEAD as the hub has it, with a blank behind each comma and colon; 0 without memory. */
static size_t bytes_of(const json_t *head)
{
	return json_dumpb(head, NULL, 0, 0);
}

/*
 * Shorten the lists of HEAD until the hub takes it: what a guest does makes gaps and names streams. The times at which
 * gaps were found go first. Return 0 or -ENOMEM.
 */
static int shorten(json_t *head)
{
	size_t bytes = bytes_of(head), i;
	json_t *gap;

	if (bytes <= HEAD_MOST)
		return bytes ? 0 : -ENOMEM;
	json_array_foreach(json_object_get(head, "gaps"), i, gap)
	{
		json_object_del(gap, "real");
		json_object_del(gap, "mono");
	}
	while ((bytes = bytes_of(head)) > HEAD_MOST) {
		if (cut(head))
			return -ENOMEM;
		if (!halve(json_object_get(head, "gaps")) && !halve(json_object_get(head, "streams")))
			break;
	}
	return bytes ? 0 : -ENOMEM;
}

/* Write HEAD to *JSON, and release it. */
static int dump(json_t *head, int r, char **json)
{
	if (r == 0)
		r = shorten(head);
	*json = r == 0 ? json_whole_text(head, COMPACT_FLAGS) : NULL;
	json_decref(head);
	return r == 0 && !*json ? -ENOMEM : r;
}

int head_of_run(struct reader *r, int64_t run, char **json, size_t *streams)
{
	json_t *head = json_object(), *list = json_array();
	int rc = reader_run(r, run, on_run, &head);

	json_add_member(&head, "streams", list);
	if (rc == 0)
		rc = reader_streams(r, run, on_stream, head);
	*streams = json_array_size(json_object_get(head, "streams"));
	return dump(head, rc, json);
}

/* ---- captures --------------------------------------------------------------------------------- */

struct reading {
	struct reader *reader;
	struct head *head;
	json_t *json, *streams, *gaps;
	int64_t run;
	uint64_t lost;
	struct span_losses losses; /* of SPAN */
	struct span *spans;	   /* those of the head's ranges; owned */
	size_t n_spans;
	const struct span *span; /* whose gaps are read */
};

/* Return whether a capture of KIND is one of a guest that goes on. */
static bool is_taken_alive(const char *kind)
{
	return strcmp(kind, "manual") == 0 || strcmp(kind, "periodic") == 0 || strcmp(kind, "trigger") == 0;
}

static int on_capture(void *context, const struct reader_capture *capture)
{
	struct reading *reading = context;

	reading->run = reading->head->run = capture->capture.run;
	reading->head->is_end = !is_taken_alive(capture->capture.kind);
	reading->head->mono = capture->capture.mono;
	reading->head->real = capture->capture.real;
	json_add_member(&reading->json, "kind", text_of(capture->capture.kind));
	json_add_member(&reading->json, "real", digits(capture->capture.real));
	json_add_member(&reading->json, "mono", digits(capture->capture.mono));
	return reading->json ? 0 : -ENOMEM;
}

static int on_range(void *context, const struct reader_capture_range *range)
{
	struct reading *reading = context;
	struct head *head = reading->head;
	struct archive_capture_stream *more;
	struct span *spans;
	enum coverage coverage;
	json_t *one;
	int rc = coverage_of_range(reading->reader, range, &coverage);

	if (rc != 0)
		return rc;
	if (head->n_ranges == RANGES_MOST)
		return 0;
	more = realloc(head->ranges, (head->n_ranges + 1) * sizeof(*more));
	spans = more ? realloc(reading->spans, (reading->n_spans + 1) * sizeof(*spans)) : NULL;
	head->ranges = more ? more : head->ranges;
	if (!spans)
		return -ENOMEM;
	reading->spans = spans;
	head->ranges[head->n_ranges++] = range->range;
	reading->spans[reading->n_spans++] = span_of_range(range);
	if (json_array_size(reading->streams) >= STREAMS_MOST)
		return cut(reading->json);
	one = json_pack("{s:I, s:i, s:o, s:o, s:I, s:I}", "id", (json_int_t)range->range.stream, "number",
			(int)range->number, "first_sequence", digits(range->range.first_sequence), "last_sequence",
			digits(range->range.last_sequence), "last_offset", (json_int_t)range->range.last_offset,
			"tail_bytes", (json_int_t)range->tail_bytes);
	set_text(&one, "name", range->name);
	if (range->tail_marked > range->tail_bytes)
		json_add_member(&one, "tail_marked", json_integer((json_int_t)range->tail_marked));
	if (coverage != COVERAGE_ALL)
		json_add_member(&one, "complete", json_false());
	return json_array_append_new(reading->streams, one) ? -ENOMEM : 0;
}

/* Add the ring of a stream to the stream's entry, which on_range() has made. */
static int on_ring(void *context, const struct reader_stream *stream)
{
	const struct archive_stream *s = &stream->stream;
	struct reading *reading = context;
	size_t i;
	json_t *one;

	json_array_foreach(reading->streams, i, one)
	{
		if (json_integer_value(json_object_get(one, "id")) != s->id)
			continue;
		if (json_object_set_new(one, "ring_bytes", json_integer((json_int_t)s->ring_bytes)) < 0 ||
		    json_object_set_new(one, "ring_packets", json_integer(s->ring_packets)) < 0 ||
		    json_object_set_new(one, "flags", json_integer(s->flags & ARCHIVE_STREAM_WRITERS)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int on_gap(void *context, const struct archive_gap *gap)
{
	struct reading *reading = context;
	json_t *one;

	span_losses_add(&reading->losses, reading->span, gap);
	if (json_array_size(reading->gaps) >= GAPS_MOST)
		return cut(reading->json);
	one = json_pack("{s:I, s:o, s:o, s:o, s:I, s:o, s:I, s:b}", "stream", (json_int_t)reading->span->stream, "kind",
			text_of(gap->kind), "reason", text_of(gap->reason), "after_sequence",
			digits(gap->after_sequence), "after_offset", (json_int_t)gap->after_offset, "next_sequence",
			digits(gap->next_sequence), "packets", (json_int_t)gap->packets, "at_least", gap->at_least);
	if (gap->real) {
		json_add_member(&one, "real", digits(gap->real));
		json_add_member(&one, "mono", digits(gap->mono));
	}
	return json_array_append_new(reading->gaps, one) ? -ENOMEM : 0;
}

static int by_stream(const void *a, const void *b)
{
	const struct archive_capture_stream *x = a, *y = b;

	return x->stream < y->stream ? -1 : x->stream > y->stream;
}

static int by_span(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/*
 * The capture may have had streams of which nothing is left: the head "lacks" them, and none of its streams counts as complete. If it has none, name
 * one that is lost, as a capture without streams is complete.
 */
static int note_lacks(struct reading *reading)
{
	json_t *one;
	size_t i;

	json_add_member(&reading->json, "lacks", json_true());
	json_array_foreach(reading->streams, i, one)
	{
		if (json_object_set_new(one, "complete", json_false()) < 0)
			return -ENOMEM;
	}
	if (json_array_size(reading->streams))
		return reading->json ? 0 : -ENOMEM;
	one = json_pack("{s:I, s:i, s:s, s:s, s:i, s:i, s:i, s:b}", "id", (json_int_t)INT32_MAX, "number", UINT16_MAX,
			"first_sequence", "0", "last_sequence", "0", "last_offset", 0, "tail_bytes", 0, "tail_marked",
			1, "complete", 0);
	return json_array_append_new(reading->streams, one) || !reading->json ? -ENOMEM : 0;
}

static int read_capture(struct reader *r, int64_t capture, struct reading *reading)
{
	struct head *head = reading->head;
	bool lacks = false;
	int rc = reader_capture(r, capture, on_capture, reading);

	if (rc == 0)
		rc = reader_capture_ranges(r, capture, on_range, reading, &lacks);
	if (rc == 0 && lacks)
		rc = note_lacks(reading);
	if (rc == 0)
		rc = reader_streams(r, reading->run, on_ring, reading);
	if (rc == 0 && head->n_ranges)
		qsort(head->ranges, head->n_ranges, sizeof(*head->ranges), by_stream);
	if (rc == 0 && reading->n_spans)
		qsort(reading->spans, reading->n_spans, sizeof(*reading->spans), by_span);
	for (size_t i = 0; i < reading->n_spans && rc == 0; i++) {
		reading->span = &reading->spans[i];
		reading->losses = (struct span_losses){0};
		rc = span_gaps(r, reading->span, UINT32_MAX / 2, on_gap, reading);
		reading->lost += reading->losses.packets;
	}
	free(reading->spans);
	return rc;
}

int head_of_capture(struct reader *r, int64_t capture, struct head *head)
{
	struct reading reading = {
		.reader = r, .head = head, .json = json_object(), .streams = json_array(), .gaps = json_array()};
	int rc;

	*head = (struct head){0};
	rc = read_capture(r, capture, &reading);
	if (rc == 0) {
		json_t *run = json_object();

		rc = reader_run(r, reading.run, on_run, &run);
		if (rc == 0 && json_object_update(reading.json, run) < 0)
			rc = -ENOMEM;
		json_decref(run);
	}
	json_add_member(&reading.json, "streams", reading.streams);
	json_add_member(&reading.json, "gaps", reading.gaps);
	json_add_member(&reading.json, "lost_packets", json_integer((json_int_t)reading.lost));
	rc = dump(reading.json, rc, &head->json);
	if (rc != 0)
		head_deinit(head);
	return rc;
}

int head_with_profile(const struct head *head, const struct head_profile *profile, char **json)
{
	json_t *all = json_loads(head->json, 0, NULL), *one = json_object();
	const struct {
		const char *name;
		uint64_t time;
	} times[] = {
		{"began_real", profile->began_real},	     {"began_mono", profile->began_mono},
		{"connected_mono", profile->connected_mono}, {"ended_real", profile->ended_real},
		{"ended_mono", profile->ended_mono},
	};

	json_add_member(&one, "recording", json_integer(profile->recording));
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (times[i].time)
			json_add_member(&one, times[i].name, digits(times[i].time));
	*json = json_object_set_new(all, "profile", one) == 0 ? json_whole_text(all, COMPACT_FLAGS) : NULL;
	json_decref(all);
	return *json ? 0 : -ENOMEM;
}

void head_deinit(struct head *head)
{
	free(head->ranges);
	free(head->json);
	*head = (struct head){0};
}
