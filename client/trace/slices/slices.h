/*
 * Make slices and flows of a trace, for the formats that draw them. The output is a sequence of
 * tracks, slices that begin and end, instants, arrows between instants (flows), and counters. The
 * meaning of each event is decided here, once for all these formats.
 *
 *   stream            a process with a track named like the stream
 *   thread            a track named by type and id, and by the first label once there is one
 *   life              a slice on the thread's track from `creates` (or the stream's first event) to
 *                     its end. Without a known end it ends a microsecond after the last event that
 *                     names the thread, or, if the thread is marked, at the stream's end
 *   running           slices inside of the life; the track of the program's root thread has slices
 *                     for the times in which nothing ran
 *   read, signal, …   an instant at the acting thread with the event's name as category, an instant
 *                     of category `target` at the other thread, and a flow from the thread that
 *                     gives to the thread that takes
 *   label             an instant
 *   counter           a counter track
 *   duration, gc      a slice, the duration's with its name, on lanes: tracks whose slices lie apart or
 *                     inside of each other. They come at the end of the trace, an enclosing slice first
 *   gaps, damage      slices and instants on a track of their own
 *
 * Exactly one slice event has the category of a trace event's name, so no event is lost and none is
 * shown twice. Memory is bounded; without temporary files a trace with too many durations is refused (whole-slices.h).
 */
#ifndef TRACE_SLICES_H
#define TRACE_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "consumer.h"
#include "texts.h"
#include "thread-table.h"
#include "utf8.h"
#include "whole-slices.h"

enum track_kind { TRACK_PROCESS, TRACK_THREAD, TRACK_COUNTER, TRACK_EXTRA, TRACK_LANE };

/* A track that is new or has a better name. NAME is valid UTF-8, borrowed for the call. */
struct slice_track {
	enum track_kind kind;
	uint32_t track;	     /* number of the track, from 1, unique in the output */
	uint32_t process;    /* number of the track of its process */
	unsigned int stream; /* number of the stream, from 0 */
	const char *name;
	size_t name_bytes;
	/* Counters whose names begin with the same SCALE_BYTES bytes are drawn to one scale. */
	size_t scale_bytes;
	/* For TRACK_THREAD: the thread; borrowed for the call. */
	const struct table_thread *thread;
	bool renamed; /* the track was announced before, with another name */
};

enum slice_kind { SLICE_BEGIN, SLICE_END, SLICE_INSTANT, SLICE_VALUE };
enum slice_flow { SLICE_FLOW_NONE, SLICE_FLOW_BEGINS, SLICE_FLOW_ENDS };

#define SLICE_NOTES_MAX 4

/* An argument of a slice event: a text (valid UTF-8), or a number. */
struct slice_note {
	const char *key; /* name of the argument, a constant string */
	size_t key_bytes;
	const char *text;
	size_t text_bytes;
	int64_t number; /* the number, if TEXT is NULL */
};

struct slice_event {
	enum slice_kind kind;
	uint32_t track, process;
	unsigned int stream;
	bool life;     /* for SLICE_BEGIN and SLICE_END: the slice is the life of the track's thread */
	bool expected; /* for the end of a life: the thread is marked as one that should resolve */
	/*
	 * For SLICE_BEGIN and SLICE_END: the slice is a duration or a collection, whose end was known when it
	 * was recorded. Its begin has UNTIL. Its end has the category as name.
	 */
	bool whole;
	uint64_t until; /* time of the end, ns */
	bool target;	/* the instant of category `target` at the thread that did not act */
	enum slice_flow flow;
	uint64_t flow_id; /* number of the flow, from 1 */
	uint64_t time;	  /* ns, at most INT64_MAX */
	/* A constant string. A SLICE_END has the category and name of its SLICE_BEGIN. */
	const char *category;
	const char *name; /* valid UTF-8 */
	size_t name_bytes;
	bool constant_name; /* NAME is a constant, and is not empty */
	int64_t value;	    /* for SLICE_VALUE: the counter's value */
	/*
	 * Track of the thread that set the counter, created the thread or took the duration; 0 for all
	 * other events.
	 */
	uint32_t actor;
	unsigned int n_notes;
	struct slice_note notes[SLICE_NOTES_MAX]; /* last: only N_NOTES of them are set */
};

/* Functions of a format. Each returns 0, or -errno to stop reading. */
struct slice_ops {
	int (*track)(void *context, const struct slice_track *track);
	int (*event)(void *context, const struct slice_event *event);
	void *context;
};

#define SLICE_MARKER "__should_resolve"

/* Return true if E is a label that marks its thread as one that should resolve. */
static inline bool slice_is_marker(const struct mprof_raw_event *e)
{
	return e->text && e->text_bytes == sizeof(SLICE_MARKER) - 1 &&
	       memcmp(e->text, SLICE_MARKER, sizeof(SLICE_MARKER) - 1) == 0;
}

struct slice_stream;

struct slices {
	const struct slice_ops *ops; /* functions of the format; borrowed */
	const char *name;	     /* name of the trace, any bytes; borrowed */
	struct slice_stream *stream; /* array of STREAMS streams; owned */
	unsigned int streams;
	/*
	 * Most threads in memory at once, of all streams together. The caller may lower it before
	 * the first event.
	 */
	uint32_t threads_most;
	uint32_t tracks; /* number of tracks so far */
	uint64_t flows;	 /* number of flows so far */
	/*
	 * The format wants the texts of events as they are, and not as valid UTF-8: labels, failures
	 * and the names of counters. The caller may set it before the first event.
	 */
	bool exact;
	/*
	 * The format has no tracks: the begin and the end of a whole slice come with its event, in the order of
	 * the trace, on track 0. The caller may set it before the first event.
	 */
	bool at_once;
	struct whole_slices whole;
	uint8_t event_name_bytes[MPROF_EVENT_IDS]; /* lengths of the names of the trace events */
	uint64_t seed;
	struct utf8 text; /* text of the event that is being handled */
	struct utf8 title;
	uint64_t events;
	uint64_t refused; /* number of events of threads and counters that were beyond the limits */
};

/*
 * Begin the slices of the trace NAME. OPS takes them. SEED is secret, so that no trace can be written whose threads or strings
 * collide. SPOOL is that of struct whole_slices. No memory is allocated.
 */
void slices_init(struct slices *s, const struct slice_ops *ops, const char *name, uint64_t seed, int (*spool)(void));
void slices_deinit(struct slices *s);

/* Return a consumer that makes slice events of a trace's events. A must outlive the consumer. */
struct consumer slices_consumer(struct slices *s);
/* End all open slices after the last event. Return 0 or -errno. */
int slices_finish(struct slices *slices);

#endif
