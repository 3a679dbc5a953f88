/*
 * This file writes Chrome's trace events: JSON that chrome://tracing and the Perfetto UI open. The
 * letters in parentheses are the events' phases, the value of the key `ph`.
 *
 * Each stream becomes a process. The first track of the process has a slice (X) for each period in
 * which one thread ran, with the name of that thread, or in which no thread ran. Further tracks
 * show garbage collections, and gaps and damage. Each thread becomes an asynchronous track: a slice
 * (b, e) for the thread's life, and an instant (n) for each event of the thread.
 *
 * The format allows arrows (s, f) only between slices of phase X, so all arrows are on the first
 * track. An arrow begins at the time of its event, or at the end of its first thread's life if that
 * life ended earlier. The arrow ends at the time of its event.
 *
 * Memory is limited: the names and ends of the last TRACK_NAMES_MAX tracks are kept. A slice of an
 * older track is called `thread`, and the end of that thread's life is unknown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"
#include "exporter.h"
#include "json.h"
#include "merge.h"
#include "slices.h"
#include "thread-table.h"

#define RUNNING 1 /* thread id of a stream's first track */
#define EXTRAS	2

/* A slice that has begun. The slice is written when it ends. */
struct chrome_open {
	uint32_t track;
	uint64_t start;
	const char *category;			  /* a constant */
	struct slice_note notes[SLICE_NOTES_MAX]; /* numbers only */
	unsigned int n_notes;
};

struct chrome_stream {
	struct chrome_open running;
	struct chrome_open extra[EXTRAS];
};

struct chrome_state {
	struct slices slices;
	struct slice_ops ops;
	struct writer *out; /* output; borrowed */
	struct track_names track_names;
	struct chrome_stream stream[MERGE_STREAMS_MAX];
	bool begun; /* an event was written */
};

/* Inline, so that the compiler computes strlen() of a string constant. */
static inline void put(struct chrome_state *s, const char *text)
{
	writer_put(s->out, text, strlen(text));
}

static void put_number(struct chrome_state *s, int64_t n)
{
	writer_advance(s->out, digits_put_signed(writer_room(s->out, DIGITS_MAX), n));
}

/* Write KEY and the time NS in microseconds with three decimals. */
static void put_us(struct chrome_state *s, const char *key, uint64_t ns)
{
	char *out;
	size_t n;

	put(s, key);
	out = writer_room(s->out, DIGITS_MAX + 4);
	n = digits_put(out, ns / 1000);
	out[n++] = '.';
	out[n++] = (char)('0' + ns / 100 % 10);
	out[n++] = (char)('0' + ns / 10 % 10);
	out[n++] = (char)('0' + ns % 10);
	writer_advance(s->out, n);
}

/* Begin an event: write its phase, its process and its thread id. */
static void put_head(struct chrome_state *s, const char *phase, uint32_t process, int tid)
{
	put(s, s->begun ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	s->begun = true;
	put(s, phase);
	put(s, "\",\"pid\":");
	put_number(s, process);
	put(s, ",\"tid\":");
	put_number(s, tid);
}

static void put_name(struct chrome_state *s, const char *name, size_t len)
{
	put(s, ",\"name\":\"");
	write_json_text(s->out, name, len);
	put(s, "\"");
}

/* Write the name of TRACK, or `thread` if it is unknown. */
static void put_track_name(struct chrome_state *s, uint32_t track)
{
	const struct track_name *track_name = track_names_find(&s->track_names, track);

	put_name(s, track_name ? track_name->name : "thread", track_name ? track_name->name_bytes : strlen("thread"));
}

static void put_note(struct chrome_state *s, const struct slice_note *note)
{
	put(s, ",\"");
	put(s, note->key);
	put(s, "\":");
	if (!note->text) {
		put_number(s, note->number);
		return;
	}
	put(s, "\"");
	write_json_text(s->out, note->text, note->text_bytes);
	put(s, "\"");
}

/* Write the arguments, among them CATEGORY as the argument `event`, and end the event. */
static void put_arguments(struct chrome_state *s, const char *category, const struct slice_note *notes, unsigned int n)
{
	put(s, ",\"args\":{\"event\":\"");
	put(s, category);
	put(s, "\"");
	for (unsigned int i = 0; i < n; i++)
		put_note(s, &notes[i]);
	put(s, "}}");
}

/* Write an event with phase PHASE on the asynchronous track of the event's thread. */
static void put_async(struct chrome_state *s, const char *phase, const struct slice_event *event)
{
	put_head(s, phase, event->process, RUNNING);
	put(s, ",\"cat\":\"thread\",\"id\":\"");
	put_number(s, event->track);
	put_us(s, "\",\"ts\":", event->time);
	if (event->kind == SLICE_INSTANT)
		put_name(s, event->name, event->name_bytes);
	else
		put_track_name(s, event->track);
	if (event->kind == SLICE_END)
		put(s, "}");
	else
		put_arguments(s, event->category, event->notes, event->n_notes);
}

/* Write the slice that began with OPEN and ended with END, on the track TID. */
static void put_slice(struct chrome_state *s, const struct slice_event *end, const struct chrome_open *open, int tid)
{
	put_head(s, "X", end->process, tid);
	put_us(s, ",\"ts\":", open->start);
	put_us(s, ",\"dur\":", end->time > open->start ? end->time - open->start : 0);
	if (tid == RUNNING)
		put_track_name(s, open->track);
	else
		put_name(s, open->category, strlen(open->category));
	put_arguments(s, open->category, open->notes, open->n_notes);
}

static void put_flow(struct chrome_state *s, const struct slice_event *event)
{
	bool begins = event->flow == SLICE_FLOW_BEGINS;
	const struct track_name *track_name = begins ? track_names_find(&s->track_names, event->track) : NULL;
	uint64_t time =
		track_name && track_name->over && track_name->ended < event->time ? track_name->ended : event->time;

	put_head(s, begins ? "s" : "f", event->process, RUNNING);
	put(s, ",\"cat\":\"interaction\",\"id\":\"");
	put_number(s, (int64_t)event->flow_id);
	put_us(s, "\",\"ts\":", time);
	put_name(s, "interaction", strlen("interaction"));
	put(s, "}");
}

static void put_value(struct chrome_state *s, const struct slice_event *event)
{
	put_head(s, "C", event->process, RUNNING);
	put_us(s, ",\"ts\":", event->time);
	put_name(s, event->name, event->name_bytes);
	put(s, ",\"args\":{\"value\":");
	put_number(s, event->value);
	put(s, "}}");
}

/* Return the index of TRACK in STREAM's array EXTRA, or -1 if TRACK is not in the array. */
static int extra_of(const struct chrome_stream *stream, uint32_t track)
{
	for (int i = 0; i < EXTRAS; i++)
		if (stream->extra[i].track == track)
			return i;
	return -1;
}

/*
 * Return a slice that begins with EVENT. Omit the notes that are texts, because their bytes are
 * valid only during the call.
 */
static struct chrome_open open_of(const struct slice_event *event)
{
	struct chrome_open open = {.track = event->track, .start = event->time, .category = event->category};

	for (unsigned int i = 0; i < event->n_notes; i++)
		if (!event->notes[i].text)
			open.notes[open.n_notes++] = event->notes[i];
	return open;
}

static void on_extra(struct chrome_state *s, const struct slice_event *event, int i)
{
	struct chrome_open *open = &s->stream[event->stream].extra[i];
	const struct slice_note reason = {.key = "reason", .text = event->name, .text_bytes = event->name_bytes};

	if (event->kind == SLICE_BEGIN) {
		*open = open_of(event);
	} else if (event->kind == SLICE_END) {
		put_slice(s, event, open, RUNNING + 1 + i);
	} else {
		put_head(s, "i", event->process, RUNNING + 1 + i);
		put_us(s, ",\"s\":\"t\",\"ts\":", event->time);
		put_name(s, event->category, strlen(event->category));
		put_arguments(s, event->category, &reason, 1);
	}
}

static void on_life(struct chrome_state *s, const struct slice_event *event)
{
	struct track_name *track_name =
		event->kind == SLICE_END ? track_names_find(&s->track_names, event->track) : NULL;

	put_async(s, event->kind == SLICE_BEGIN ? "b" : "e", event);
	if (track_name) {
		track_name->over = true;
		track_name->ended = event->time;
	}
}

static int chrome_event(void *context, const struct slice_event *event)
{
	struct chrome_state *s = context;
	struct chrome_stream *stream = &s->stream[event->stream];
	int extra = extra_of(stream, event->track);

	if (extra >= 0)
		on_extra(s, event, extra);
	else if (event->kind == SLICE_VALUE)
		put_value(s, event);
	else if (event->life)
		on_life(s, event);
	else if (event->kind == SLICE_BEGIN)
		stream->running = open_of(event);
	else if (event->kind == SLICE_END)
		put_slice(s, event, &stream->running, RUNNING);
	else if (strcmp(event->category, "target") != 0)
		put_async(s, "n", event);
	if (event->flow != SLICE_FLOW_NONE)
		put_flow(s, event);
	return -s->out->error;
}

/* Name a process or one of its tracks. */
static void put_metadata(struct chrome_state *s, const char *what, uint32_t process, int tid, const char *name,
			 size_t len)
{
	put_head(s, "M", process, tid);
	put_name(s, what, strlen(what));
	put(s, ",\"args\":{\"name\":\"");
	write_json_text(s->out, name, len);
	put(s, "\"}}");
}

static int chrome_track(void *context, const struct slice_track *track)
{
	struct chrome_state *s = context;
	struct chrome_stream *stream = &s->stream[track->stream];
	int i = 0;

	if (track->kind == TRACK_THREAD) {
		track_names_set(&s->track_names, track->track, track->name, track->name_bytes);
	} else if (track->kind == TRACK_PROCESS) {
		put_metadata(s, "process_name", track->track, RUNNING, track->name, track->name_bytes);
		put_metadata(s, "thread_name", track->track, RUNNING, "running", strlen("running"));
	} else if (track->kind == TRACK_EXTRA) {
		while (i < EXTRAS - 1 && stream->extra[i].track)
			i++;
		stream->extra[i].track = track->track;
		put_metadata(s, "thread_name", track->process, RUNNING + 1 + i, track->name, track->name_bytes);
	}
	return -s->out->error;
}

static int chrome_open(struct export_job *job, struct consumer *consumer)
{
	struct chrome_state *s = calloc(1, sizeof(*s));

	job->state = s;
	if (!s)
		return -ENOMEM;
	s->out = job->out;
	s->ops = (struct slice_ops){.track = chrome_track, .event = chrome_event, .context = s};
	slices_init(&s->slices, &s->ops, job->trace);
	*consumer = slices_consumer(&s->slices);
	if (!track_names_init(&s->track_names))
		return -ENOMEM;
	put(s, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"trace\":\"");
	write_json_text(s->out, job->trace, strlen(job->trace));
	put(s, "\"},\"traceEvents\":[");
	return -s->out->error;
}

static int chrome_finish(struct export_job *job)
{
	struct chrome_state *s = job->state;
	int r = slices_finish(&s->slices);

	put(s, "\n]}\n");
	if (!r)
		slices_report_refused(&s->slices);
	return r ? r : -s->out->error;
}

static void chrome_close(struct export_job *job)
{
	struct chrome_state *s = job->state;

	if (!s)
		return;
	slices_deinit(&s->slices);
	track_names_deinit(&s->track_names);
	free(s);
}

const struct exporter export_chrome = {
	.name = "chrome",
	.what = "Chrome's JSON, for the Perfetto UI and chrome://tracing",
	.suffix = ".chrome.json",
	.open = chrome_open,
	.finish = chrome_finish,
	.close = chrome_close,
};
