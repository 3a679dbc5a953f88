/*
 * Make slices and flows of a trace, for the formats that draw them: tracks with slices that begin
 * and end, instants, arrows between instants, and counters. The meaning of each event is decided
 * here, once for all such formats.
 *
 *   stream            a process with a track named like the stream
 *   thread            a track named by type and id, and by the first label once there is one
 *   life              a slice on the thread's track from `creates` (or the stream's first event) to
 *                     its end. Without a known end it ends a microsecond behind the last event that
 *                     names the thread, or, if the thread is marked, at the stream's end
 *   running           slices inside of the life; the root's track has those in which nothing ran
 *   read, signal, …   an instant at the acting thread with the event's name as category, an instant
 *                     of category `target` at the other thread, and a flow from the thread that
 *                     gives to the thread that takes
 *   label             an instant
 *   counter           a counter track
 *   gc                slices on a track of their own, as are gaps; damage is an instant there
 *
 * Each event becomes exactly one slice event whose category is the event's name, so that none is
 * lost and none is shown twice. Memory is bounded.
 */
#ifndef CTL_SLICES_H
#define CTL_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer.h"
#include "texts.h"
#include "thread-table.h"
#include "utf8.h"

enum track_kind { TRACK_PROCESS, TRACK_THREAD, TRACK_COUNTER, TRACK_EXTRA };

/* A track that is new or has a better name. Names are valid UTF-8, lent for the call. */
struct slice_track {
	enum track_kind kind;
	uint32_t track;	     /* unique, from 1 */
	uint32_t process;    /* the process's track */
	unsigned int stream; /* from 0 */
	const char *name;
	size_t name_bytes;
	/* Counters whose names share this many first bytes share a scale. */
	size_t scale_bytes;
	bool renamed; /* the track was announced before */
};

enum slice_kind { SLICE_BEGIN, SLICE_END, SLICE_INSTANT, SLICE_VALUE };
enum slice_flow { SLICE_FLOW_NONE, SLICE_FLOW_BEGINS, SLICE_FLOW_ENDS };

#define SLICE_NOTES_MAX 4

/* An argument of a slice event: a number, or a text (valid UTF-8). */
struct slice_note {
	const char *key; /* a constant */
	const char *text;
	size_t text_bytes;
	int64_t number; /* if TEXT is NULL */
};

struct slice_event {
	enum slice_kind kind;
	uint32_t track, process;
	unsigned int stream;
	bool life; /* BEGIN and END: this is the life of the track's thread */
	enum slice_flow flow;
	uint64_t flow_id;     /* from 1 */
	uint64_t time;	      /* ns, at most INT64_MAX */
	const char *category; /* a constant; an END has the category and name of its BEGIN */
	const char *name;     /* valid UTF-8 */
	size_t name_bytes;
	bool constant_name; /* NAME is a constant, and is not empty */
	int64_t value;	    /* the counter's value */
	uint32_t actor;	    /* track of the thread that set the counter */
	unsigned int n_notes;
	struct slice_note notes[SLICE_NOTES_MAX]; /* last: only N_NOTES of them are set */
};

/* Writers. Each returns 0, or -errno to stop reading. */
struct slice_ops {
	int (*track)(void *context, const struct slice_track *track);
	int (*event)(void *context, const struct slice_event *event);
	void *context;
};

struct slice_stream;

struct slices {
	const struct slice_ops *ops; /* borrowed */
	const char *name;	     /* trace's name, any bytes; borrowed */
	struct slice_stream *stream; /* one for each; owned */
	unsigned int streams;
	uint32_t threads_most; /* at once, in all streams; may be lowered before the first event */
	uint32_t tracks;       /* tracks so far */
	uint64_t flows;	       /* flows so far */
	uint64_t seed;
	struct utf8 text; /* text of the present event */
	struct utf8 title;
	uint64_t events;
	uint64_t refused; /* events of threads and counters beyond the limits */
};

/* Begin the slices of the trace NAME, to OPS. Allocates nothing. */
void slices_init(struct slices *a, const struct slice_ops *ops, const char *name);
void slices_deinit(struct slices *a);

/* Return a consumer that makes slice events. A is lent while it is used. */
struct consumer slices_consumer(struct slices *a);
/* End all open slices behind the last event. Return 0 or -errno. */
int slices_finish(struct slices *a);
/* Report on stderr if some threads or counters were beyond the limits. */
void slices_report_refused(const struct slices *a);

#endif
