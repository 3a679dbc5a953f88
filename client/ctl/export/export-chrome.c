/*
 * Chrome's trace events: JSON that chrome://tracing and the Perfetto UI open.
 *
 * A stream is a process.  Its first track has a slice (X) for each time in which a thread ran or none did, with the threads' names; behind it
 * are tracks of its collections, and of gaps and damage.  A thread is an asynchronous track of its own, with a slice (b, e) for its life and
 * an instant (n) for each event that it does.  Arrows (s, f) can only be between slices of the first kind, so one begins when
 * that which is told about was resolved, if that is known, and ends where it was looked at.
 *
 * Nothing is kept of what was written but the names of the last 262,144 threads and when they ended; an older one's slices of
 * running are called `thread`, and its arrows begin where they end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acts.h"
#include "cast.h"
#include "digits.h"
#include "exporter.h"
#include "json.h"
#include "lanes.h"

#define RUNNING 1 /* the thread id of a stream's first track */
#define EXTRAS	2

/* A slice that has begun and is written when it ends. */
struct chrome_open {
	uint32_t track;
	uint64_t start;
	const char *category;		      /* a constant */
	struct act_note notes[ACT_NOTES_MAX]; /* numbers */
	unsigned int n_notes;
};

struct chrome_stream {
	struct chrome_open running;
	struct chrome_open extra[EXTRAS];
};

struct chrome_state {
	struct acts acts;
	struct act_ops ops;
	struct writer *out; /* of the job */
	struct plates plates;
	struct chrome_stream stream[LANES_MAX];
	bool begun; /* is there an event? */
};

/* Inline, so that a constant's length is one. */
static inline void put(struct chrome_state *s, const char *text)
{
	writer_put(s->out, text, strlen(text));
}

static void put_number(struct chrome_state *s, int64_t n)
{
	writer_advance(s->out, digits_put_signed(writer_room(s->out, DIGITS_MAX), n));
}

/* Nanoseconds as microseconds, exactly. */
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

/* The beginning of an event: its kind, process and thread. */
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

/* The name of TRACK, as far as it is known. */
static void put_plate(struct chrome_state *s, uint32_t track)
{
	const struct plate *plate = plates_find(&s->plates, track);

	put_name(s, plate ? plate->name : "thread", plate ? plate->name_bytes : strlen("thread"));
}

static void put_note(struct chrome_state *s, const struct act_note *note)
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

/* The arguments, and the end of the event. */
static void put_arguments(struct chrome_state *s, const char *category, const struct act_note *notes, unsigned int n)
{
	unsigned int i;

	put(s, ",\"args\":{\"event\":\"");
	put(s, category);
	put(s, "\"");
	for (i = 0; i < n; i++)
		put_note(s, &notes[i]);
	put(s, "}}");
}

/* What belongs to a thread's own track. */
static void put_async(struct chrome_state *s, const char *phase, const struct act *act)
{
	put_head(s, phase, act->process, RUNNING);
	put(s, ",\"cat\":\"thread\",\"id\":\"");
	put_number(s, act->track);
	put_us(s, "\",\"ts\":", act->time);
	if (act->kind == ACT_INSTANT)
		put_name(s, act->name, act->name_bytes);
	else
		put_plate(s, act->track);
	if (act->kind == ACT_END)
		put(s, "}");
	else
		put_arguments(s, act->category, act->notes, act->n_notes);
}

/* A slice of the track TID. */
static void put_slice(struct chrome_state *s, const struct act *end, const struct chrome_open *open, int tid)
{
	put_head(s, "X", end->process, tid);
	put_us(s, ",\"ts\":", open->start);
	put_us(s, ",\"dur\":", end->time > open->start ? end->time - open->start : 0);
	if (tid == RUNNING)
		put_plate(s, open->track);
	else
		put_name(s, open->category, strlen(open->category));
	put_arguments(s, open->category, open->notes, open->n_notes);
}

static void put_flow(struct chrome_state *s, const struct act *act)
{
	bool begins = act->flow == ACT_FLOW_BEGINS;
	const struct plate *plate = begins ? plates_find(&s->plates, act->track) : NULL;
	uint64_t time = plate && plate->over && plate->ended < act->time ? plate->ended : act->time;

	put_head(s, begins ? "s" : "f", act->process, RUNNING);
	put(s, ",\"cat\":\"interaction\",\"id\":\"");
	put_number(s, (int64_t)act->flow_id);
	put_us(s, "\",\"ts\":", time);
	put_name(s, "interaction", strlen("interaction"));
	put(s, "}");
}

static void put_value(struct chrome_state *s, const struct act *act)
{
	put_head(s, "C", act->process, RUNNING);
	put_us(s, ",\"ts\":", act->time);
	put_name(s, act->name, act->name_bytes);
	put(s, ",\"args\":{\"value\":");
	put_number(s, act->value);
	put(s, "}}");
}

/* A track that is not a thread's: its number behind RUNNING, or -1. */
static int extra_of(const struct chrome_stream *stream, uint32_t track)
{
	int i;

	for (i = 0; i < EXTRAS; i++)
		if (stream->extra[i].track == track)
			return i;
	return -1;
}

/* No text is kept: it would be lent for the call alone. */
static struct chrome_open open_of(const struct act *act)
{
	struct chrome_open open = {.track = act->track, .start = act->time, .category = act->category};
	unsigned int i;

	for (i = 0; i < act->n_notes; i++)
		if (!act->notes[i].text)
			open.notes[open.n_notes++] = act->notes[i];
	return open;
}

static void on_extra(struct chrome_state *s, const struct act *act, int i)
{
	struct chrome_open *open = &s->stream[act->stream].extra[i];
	const struct act_note reason = {.key = "reason", .text = act->name, .text_bytes = act->name_bytes};

	if (act->kind == ACT_BEGIN) {
		*open = open_of(act);
	} else if (act->kind == ACT_END) {
		put_slice(s, act, open, RUNNING + 1 + i);
	} else {
		put_head(s, "i", act->process, RUNNING + 1 + i);
		put_us(s, ",\"s\":\"t\",\"ts\":", act->time);
		put_name(s, act->category, strlen(act->category));
		put_arguments(s, act->category, &reason, 1);
	}
}

static void on_life(struct chrome_state *s, const struct act *act)
{
	struct plate *plate = act->kind == ACT_END ? plates_find(&s->plates, act->track) : NULL;

	put_async(s, act->kind == ACT_BEGIN ? "b" : "e", act);
	if (plate) {
		plate->over = true;
		plate->ended = act->time;
	}
}

static int chrome_act(void *data, const struct act *act)
{
	struct chrome_state *s = data;
	struct chrome_stream *stream = &s->stream[act->stream];
	int extra = extra_of(stream, act->track);

	if (extra >= 0)
		on_extra(s, act, extra);
	else if (act->kind == ACT_VALUE)
		put_value(s, act);
	else if (act->life)
		on_life(s, act);
	else if (act->kind == ACT_BEGIN)
		stream->running = open_of(act);
	else if (act->kind == ACT_END)
		put_slice(s, act, &stream->running, RUNNING);
	else if (strcmp(act->category, "target") != 0)
		put_async(s, "n", act);
	if (act->flow != ACT_FLOW_NONE)
		put_flow(s, act);
	return -s->out->error;
}

/* What a process or one of its few tracks is called. */
static void put_metadata(struct chrome_state *s, const char *what, uint32_t process, int tid, const char *name,
			 size_t len)
{
	put_head(s, "M", process, tid);
	put_name(s, what, strlen(what));
	put(s, ",\"args\":{\"name\":\"");
	write_json_text(s->out, name, len);
	put(s, "\"}}");
}

static int chrome_track(void *data, const struct act_track *track)
{
	struct chrome_state *s = data;
	struct chrome_stream *stream = &s->stream[track->stream];
	int i = 0;

	if (track->kind == ACT_THREAD) {
		plates_name(&s->plates, track->track, track->name, track->name_bytes);
	} else if (track->kind == ACT_PROCESS) {
		put_metadata(s, "process_name", track->track, RUNNING, track->name, track->name_bytes);
		put_metadata(s, "thread_name", track->track, RUNNING, "running", strlen("running"));
	} else if (track->kind == ACT_EXTRA) {
		while (i < EXTRAS - 1 && stream->extra[i].track)
			i++;
		stream->extra[i].track = track->track;
		put_metadata(s, "thread_name", track->process, RUNNING + 1 + i, track->name, track->name_bytes);
	}
	return -s->out->error;
}

static int chrome_open(struct export_job *job, struct sink *sink)
{
	struct chrome_state *s = calloc(1, sizeof(*s));

	job->state = s;
	if (!s)
		return -ENOMEM;
	s->out = job->out;
	s->ops = (struct act_ops){.track = chrome_track, .act = chrome_act, .data = s};
	acts_init(&s->acts, &s->ops, job->trace);
	*sink = acts_sink(&s->acts);
	if (!plates_init(&s->plates))
		return -ENOMEM;
	put(s, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"trace\":\"");
	write_json_text(s->out, job->trace, strlen(job->trace));
	put(s, "\"},\"traceEvents\":[");
	return -s->out->error;
}

static int chrome_finish(struct export_job *job)
{
	struct chrome_state *s = job->state;
	int r = acts_finish(&s->acts);

	put(s, "\n]}\n");
	if (!r)
		acts_tell_refused(&s->acts);
	return r ? r : -s->out->error;
}

static void chrome_close(struct export_job *job)
{
	struct chrome_state *s = job->state;

	if (!s)
		return;
	acts_deinit(&s->acts);
	plates_deinit(&s->plates);
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
