/*
 * A trace as what formats of slices and flows are made of: tracks, and on them slices that begin and end, instants, arrows between instants,
 * and counters.  What an event means, and which acts it becomes, is decided here once for all such formats.
 *
 *   stream            a process: its track, named like the stream
 *   thread            a track, named by type and id, and by its first label once it has one
 *   life              a slice on it from `creates` (or the stream's first event) up to its end; where no end is known, up to a microsecond behind
 *                     the last event that names it, or, where it should have resolved, up to the stream's end
 *   running           slices inside of its life; the track of the root has those in which nothing ran
 *   read, signal, …   an instant with the event's name as its category at the thread that acts, one of category `target` at the other, and a
 *                     flow between them from the one that something comes from
 *   label             an instant
 *   counter           a counter track
 *   gc                slices on a track of their own; so are gaps, and damage is an instant there
 *
 * Each event is exactly one act whose category is the event's name, so that none gets lost and none is told twice.  Memory is bounded.
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

/* A track that is new, or has got a better name.  Names are valid UTF-8, lent for the call. */
struct slice_track {
	enum track_kind kind;
	uint32_t track;	     /* from 1, another for each track */
	uint32_t process;    /* the process's track */
	unsigned int stream; /* from 0 */
	const char *name;
	size_t name_bytes;
	size_t scale_bytes; /* of a counter: counters whose names begin with the same so many bytes share a scale */
	bool renamed;	    /* it was told before */
};

enum slice_kind { SLICE_BEGIN, SLICE_END, SLICE_INSTANT, SLICE_VALUE };
enum slice_flow { SLICE_FLOW_NONE, SLICE_FLOW_BEGINS, SLICE_FLOW_ENDS };

#define SLICE_NOTES_MAX 4

/* Something beside an act: a number, or a text (valid UTF-8). */
struct slice_note {
	const char *key; /* a constant */
	const char *text;
	size_t text_bytes;
	int64_t number; /* where TEXT is NULL */
};

struct slice_event {
	enum slice_kind kind;
	uint32_t track, process;
	unsigned int stream;
	bool life; /* BEGIN and END: the life of the track's thread, and not what is inside of it */
	enum slice_flow flow;
	uint64_t flow_id;     /* from 1 */
	uint64_t time;	      /* ns, at most INT64_MAX */
	const char *category; /* a constant; of an END, its BEGIN's, as is its name */
	const char *name;     /* valid UTF-8 */
	size_t name_bytes;
	int64_t value; /* of a counter, */
	uint32_t doer; /* and the track of the thread that set it */
	struct slice_note notes[SLICE_NOTES_MAX];
	unsigned int n_notes;
};

/* Who writes them; each returns 0 or a -errno that ends the reading. */
struct slice_ops {
	int (*track)(void *data, const struct slice_track *track);
	int (*event)(void *data, const struct slice_event *event);
	void *data;
};

struct slice_stream;

struct slices {
	const struct slice_ops *ops; /* borrowed */
	const char *name;	     /* of the trace, any bytes; borrowed */
	struct slice_stream *stream; /* each; owned */
	unsigned int streams;
	uint32_t threads_most; /* at once, of all streams together; may be lowered before the first event */
	uint32_t tracks;       /* so many were given out */
	uint64_t flows;	       /* as many */
	uint64_t seed;
	struct utf8 text; /* of the event at hand */
	struct utf8 title;
	uint64_t events;
	uint64_t refused; /* events of threads and counters that there was no room for */
};

/* Those of the trace NAME, to OPS.  No memory is taken. */
void slices_init(struct slices *a, const struct slice_ops *ops, const char *name);
void slices_deinit(struct slices *a);

/* A sink that makes acts of events; A is lent as long as it is used. */
struct consumer slices_consumer(struct slices *a);
/* The trace is over: end what is open.  0 or -errno. */
int slices_finish(struct slices *a);
/* Say so on stderr where there was no room for some threads or counters. */
void slices_report_refused(const struct slices *a);

#endif
