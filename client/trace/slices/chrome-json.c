/*
 * This file writes Chrome's trace events: JSON that chrome://tracing and the Perfetto UI open. The letters in
 * parentheses are the events' phases, the value of the key `ph`.
 *
 * Each stream becomes a process. The first track of the process has a slice (X) for each period in which one
 * thread ran, with the name of that thread, or in which no thread ran. The second one shows gaps and damage,
 * and further ones garbage collections and durations. Each thread becomes an asynchronous track: a slice (b, e)
 * for the thread's life, and an instant (n) for each event of the thread.
 *
 * The format allows arrows (s, f) only between slices of phase X, so all arrows are on the first track. An
 * arrow begins at the time of its event, or at the end of its first thread's life if that life ended earlier.
 * The arrow ends at the time of its event.
 *
 * Memory is limited: the names and ends of the last TRACK_NAMES_MAX tracks are kept. A slice of an older track
 * is called `thread`, and the end of that thread's life is unknown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chrome-json.h"
#include "digits.h"
#include "thread-table.h"

#define RUNNING 1     /* thread id of a stream's first track */
#define FAULTS	2     /* that of its gaps and damage */
#define LANES	3     /* that of its first lane; the others follow */
#define ROW_MAX 1024u /* a row takes fewer bytes, not counting texts of any length */

/* A slice that has begun. The slice is written when it ends. */
struct chrome_open {
	uint32_t track;
	uint64_t start;
	const char *category; /* a constant */
	size_t category_bytes;
	struct slice_note notes[SLICE_NOTES_MAX]; /* numbers only */
	unsigned int n_notes;
};

struct chrome_stream {
	struct chrome_open running;
	struct chrome_open faults; /* slice of the track for gaps and damage */
	uint32_t faults_track;	   /* that track; 0 = none */
	uint32_t first_lane;	   /* track of the first lane; 0 = none */
};

/* The time that was written last, with its key. */
struct chrome_time {
	uint64_t ns;
	size_t n; /* length of TEXT; 0 = no time was written */
	char text[32];
};

struct chrome_json {
	struct slices slices;
	struct slice_ops ops;
	struct writer *out; /* output; borrowed */
	struct track_names track_names;
	struct chrome_stream stream[CONSUMER_STREAMS_MAX];
	struct chrome_time time;
	bool begun; /* a row was written */
};

/*
 * Functions that write pieces take AT, the end of the written bytes in the writer's buffer, and
 * return the new end. row_room() makes room for a whole row, except for texts of any length:
 * put_text() makes room for the rest of the row again.
 */

static char *row_room(struct chrome_json *j)
{
	return writer_room(j->out, ROW_MAX);
}

static void row_end(struct chrome_json *j, const char *at)
{
	j->out->used = (size_t)(at - j->out->buf);
}

/* Inline, so that the compiler computes strlen() of a string constant. */
static inline char *put(char *at, const char *text)
{
	size_t n = strlen(text);

	memcpy(at, text, n);
	return at + n;
}

static inline char *put_bytes(char *at, const char *bytes, size_t n)
{
	memcpy(at, bytes, n);
	return at + n;
}

static inline char *put_number(char *at, int64_t n)
{
	return at + digits_put_signed(at, n);
}

/* Write the time NS in microseconds with three decimals. */
static char *put_us(char *at, uint64_t ns)
{
	at += digits_put(at, ns / 1000);
	at[0] = '.';
	at[1] = (char)('0' + ns / 100 % 10);
	at[2] = (char)('0' + ns / 10 % 10);
	at[3] = (char)('0' + ns % 10);
	return at + 4;
}

/* Write the key `ts` and the time NS. Mostly several rows have the same time. */
static inline char *put_time(struct chrome_json *j, char *at, uint64_t ns)
{
	struct chrome_time *t = &j->time;

	if (t->ns != ns || !t->n) {
		t->ns = ns;
		t->n = (size_t)(put_us(put(t->text, ",\"ts\":"), ns) - t->text);
	}
	memcpy(at, t->text, sizeof(t->text));
	return at + t->n;
}

/* Write TEXT escaped, as part of a row. */
static char *put_text(struct chrome_json *j, char *at, const char *text, size_t len)
{
	row_end(j, at);
	write_json_text(j->out, text, len);
	return row_room(j);
}

/* Begin a row: write its phase, its process and its thread id. */
static char *row_begin(struct chrome_json *j, char phase, uint32_t process, int tid)
{
	char *at = row_room(j);

	at = put(at, j->begun ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	j->begun = true;
	*at++ = phase;
	at = put_number(put(at, "\",\"pid\":"), process);
	return put_number(put(at, ",\"tid\":"), tid);
}

static char *put_name(struct chrome_json *j, char *at, const char *name, size_t len)
{
	return put(put_text(j, put(at, ",\"name\":\""), name, len), "\"");
}

/* Write NAME, a constant without characters that JSON escapes. */
static inline char *put_constant_name(char *at, const char *name, size_t len)
{
	return put(put_bytes(put(at, ",\"name\":\""), name, len), "\"");
}

/* Write the name of TRACK, or `thread` if it is unknown. */
static char *put_track_name(struct chrome_json *j, char *at, uint32_t track)
{
	const struct track_name *track_name = track_names_find(&j->track_names, track);

	if (!track_name)
		return put_constant_name(at, "thread", strlen("thread"));
	if (!track_name->plain)
		return put_name(j, at, track_name->name, track_name->name_bytes);
	at = put(at, ",\"name\":\"");
	memcpy(at, track_name->name, TRACK_NAME_BYTES); /* a fixed size is faster */
	return put(at + track_name->name_bytes, "\"");
}

static char *put_note(struct chrome_json *j, char *at, const struct slice_note *note)
{
	at = put(put_bytes(put(at, ",\""), note->key, note->key_bytes), "\":");
	if (!note->text)
		return put_number(at, note->number);
	return put(put_text(j, put(at, "\""), note->text, note->text_bytes), "\"");
}

/* Write the arguments, among them CATEGORY as the argument `event`, and end the row. */
static void row_end_arguments(struct chrome_json *j, char *at, const char *category, size_t category_bytes,
			      const struct slice_note *notes, unsigned int n)
{
	at = put(put_bytes(put(at, ",\"args\":{\"event\":\""), category, category_bytes), "\"");
	for (unsigned int i = 0; i < n; i++)
		at = put_note(j, at, &notes[i]);
	row_end(j, put(at, "}}"));
}

/* Write a row with phase PHASE on the asynchronous track of the event's thread. */
static void put_async(struct chrome_json *j, char phase, const struct slice_event *event)
{
	char *at = row_begin(j, phase, event->process, RUNNING);

	at = put(put_number(put(at, ",\"cat\":\"thread\",\"id\":\""), event->track), "\"");
	at = put_time(j, at, event->time);
	if (event->kind != SLICE_INSTANT)
		at = put_track_name(j, at, event->track);
	else if (event->constant_name)
		at = put_constant_name(at, event->name, event->name_bytes);
	else
		at = put_name(j, at, event->name, event->name_bytes);
	if (event->kind == SLICE_END)
		row_end(j, put(at, "}"));
	else
		row_end_arguments(j, at, event->category,
				  event->category == event->name ? event->name_bytes : strlen(event->category),
				  event->notes, event->n_notes);
}

/* Write the slice that began with OPEN and ended with END, on the track TID. */
static void put_slice(struct chrome_json *j, const struct slice_event *end, const struct chrome_open *open, int tid)
{
	char *at = row_begin(j, 'X', end->process, tid);

	at = put_us(put(at, ",\"ts\":"), open->start);
	at = put_us(put(at, ",\"dur\":"), end->time > open->start ? end->time - open->start : 0);
	if (tid == RUNNING)
		at = put_track_name(j, at, open->track);
	else
		at = put_constant_name(at, open->category, open->category_bytes);
	row_end_arguments(j, at, open->category, open->category_bytes, open->notes, open->n_notes);
}

static void put_flow(struct chrome_json *j, const struct slice_event *event)
{
	bool begins = event->flow == SLICE_FLOW_BEGINS;
	const struct track_name *track_name = begins ? track_names_find(&j->track_names, event->track) : NULL;
	uint64_t time =
		track_name && track_name->over && track_name->ended < event->time ? track_name->ended : event->time;
	char *at = row_begin(j, begins ? 's' : 'f', event->process, RUNNING);

	at = put_number(put(at, ",\"cat\":\"interaction\",\"id\":\""), (int64_t)event->flow_id);
	at = put_time(j, put(at, "\""), time);
	row_end(j, put(at, ",\"name\":\"interaction\"}"));
}

static void put_value(struct chrome_json *j, const struct slice_event *event)
{
	char *at = row_begin(j, 'C', event->process, RUNNING);

	at = put_name(j, put_time(j, at, event->time), event->name, event->name_bytes);
	at = put_number(put(at, ",\"args\":{\"value\":"), event->value);
	row_end(j, put(at, "}}"));
}

/*
 * Return a slice that begins with EVENT. Omit the notes that are texts, because their bytes are
 * valid only during the call.
 */
static struct chrome_open open_of(const struct slice_event *event)
{
	struct chrome_open open = {.track = event->track,
				   .start = event->time,
				   .category = event->category,
				   .category_bytes = strlen(event->category)};

	for (unsigned int i = 0; i < event->n_notes; i++)
		if (!event->notes[i].text)
			open.notes[open.n_notes++] = event->notes[i];
	return open;
}

static void on_fault(struct chrome_json *j, const struct slice_event *event)
{
	struct chrome_open *open = &j->stream[event->stream].faults;
	const struct slice_note reason = {
		.key = "reason", .key_bytes = strlen("reason"), .text = event->name, .text_bytes = event->name_bytes};
	char *at;

	if (event->kind == SLICE_BEGIN) {
		*open = open_of(event);
	} else if (event->kind == SLICE_END) {
		put_slice(j, event, open, FAULTS);
	} else {
		at = put(row_begin(j, 'i', event->process, FAULTS), ",\"s\":\"t\"");
		at = put_constant_name(put_time(j, at, event->time), event->category, strlen(event->category));
		row_end_arguments(j, at, event->category, strlen(event->category), &reason, 1);
	}
}

/* Write a duration or collection, whose begin has all that the row needs. */
static void on_whole(struct chrome_json *j, const struct slice_event *event)
{
	const struct chrome_stream *stream = &j->stream[event->stream];
	char *at;

	if (event->kind == SLICE_END)
		return;
	at = row_begin(j, 'X', event->process, (int)(LANES + event->track - stream->first_lane));
	at = put_us(put(at, ",\"ts\":"), event->time);
	at = put_us(put(at, ",\"dur\":"), event->until - event->time);
	at = put_name(j, at, event->name, event->name_bytes);
	row_end_arguments(j, at, event->category, strlen(event->category), event->notes, event->n_notes);
}

static void on_life(struct chrome_json *j, const struct slice_event *event)
{
	struct track_name *track_name =
		event->kind == SLICE_END ? track_names_find(&j->track_names, event->track) : NULL;

	put_async(j, event->kind == SLICE_BEGIN ? 'b' : 'e', event);
	if (track_name) {
		track_name->over = true;
		track_name->ended = event->time;
	}
}

static int chrome_event(void *context, const struct slice_event *event)
{
	struct chrome_json *j = context;
	struct chrome_stream *stream = &j->stream[event->stream];

	if (event->whole)
		on_whole(j, event);
	else if (event->track == stream->faults_track)
		on_fault(j, event);
	else if (event->kind == SLICE_VALUE)
		put_value(j, event);
	else if (event->life)
		on_life(j, event);
	else if (event->kind == SLICE_BEGIN)
		stream->running = open_of(event);
	else if (event->kind == SLICE_END)
		put_slice(j, event, &stream->running, RUNNING);
	else if (!event->target)
		put_async(j, 'n', event);
	if (event->flow != SLICE_FLOW_NONE)
		put_flow(j, event);
	return -j->out->error;
}

/* Name a process or one of its tracks. */
static void put_metadata(struct chrome_json *j, const char *what, uint32_t process, int tid, const char *name,
			 size_t len)
{
	char *at = put_name(j, row_begin(j, 'M', process, tid), what, strlen(what));

	at = put_text(j, put(at, ",\"args\":{\"name\":\""), name, len);
	row_end(j, put(at, "\"}}"));
}

static int chrome_track(void *context, const struct slice_track *track)
{
	struct chrome_json *j = context;
	struct chrome_stream *stream = &j->stream[track->stream];

	if (track->kind == TRACK_THREAD) {
		track_names_set(&j->track_names, track->track, track->name, track->name_bytes);
	} else if (track->kind == TRACK_PROCESS) {
		put_metadata(j, "process_name", track->track, RUNNING, track->name, track->name_bytes);
		put_metadata(j, "thread_name", track->track, RUNNING, "running", strlen("running"));
	} else if (track->kind == TRACK_EXTRA) {
		stream->faults_track = track->track;
		put_metadata(j, "thread_name", track->process, FAULTS, track->name, track->name_bytes);
	} else if (track->kind == TRACK_LANE) {
		if (!stream->first_lane)
			stream->first_lane = track->track;
		put_metadata(j, "thread_name", track->process, (int)(LANES + track->track - stream->first_lane),
			     track->name, track->name_bytes);
	}
	return -j->out->error;
}

struct chrome_json *chrome_json_new(struct writer *out, const char *trace, uint64_t seed, int (*spool)(void),
				    struct consumer *consumer)
{
	struct chrome_json *j = calloc(1, sizeof(*j));
	char *at;

	if (!j)
		return NULL;
	j->out = out;
	j->ops = (struct slice_ops){.track = chrome_track, .event = chrome_event, .context = j};
	slices_init(&j->slices, &j->ops, trace, seed, spool);
	*consumer = slices_consumer(&j->slices);
	if (!track_names_init(&j->track_names))
		return chrome_json_free(j);
	at = put(row_room(j), "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"trace\":\"");
	at = put_text(j, at, trace, strlen(trace));
	row_end(j, put(at, "\"},\"traceEvents\":["));
	return j;
}

struct chrome_json *chrome_json_free(struct chrome_json *j)
{
	if (!j)
		return NULL;
	slices_deinit(&j->slices);
	track_names_deinit(&j->track_names);
	free(j);
	return NULL;
}

int chrome_json_finish(struct chrome_json *j)
{
	int r = slices_finish(&j->slices);

	row_end(j, put(row_room(j), "\n]}\n"));
	return r ? r : -j->out->error;
}

const struct slices *chrome_json_slices(const struct chrome_json *j)
{
	return &j->slices;
}
