/*
 * libmprof: the model of a trace, as a viewer draws it and a question is answered from it.
 *
 *   m = mprof_model_new(&(struct mprof_model_options){.simplify = true, .seed = random});
 *   mprof_model_stream(m, &(struct mprof_model_source){0}, &stream);
 *   while ((status = mprof_decoder_next(d, &event)) != MPROF_END)
 *           mprof_model_add(m, stream, &event.raw);
 *   mprof_model_finish(m);
 *   view = mprof_model_view(m);
 *
 * Events go in one by one in logical order; what comes out are flat arrays of small structures that name each other by 32-bit
 * indices, so that a program on the other side of a WebAssembly memory reads them as they lie.  Several streams, of one guest or of several,
 * share one model and one time line.
 *
 * Everything that a trace says is hostile: ids are any 64-bit number, times go back, relations contradict each other and form
 * circles.  A model is made of all of it, in time that grows no worse than n log n with the events, and in memory that grows with what
 * was given and not with what the trace says of itself.  What had to be bent is counted in struct mprof_model_notes.
 *
 * Times are nanoseconds on the model's time line: the guest's own, moved by the stream's offset, and held between 0 and 2^63 - 1.
 *
 * No call is thread safe on one object; different objects share nothing.
 */
#ifndef MPROF_MODEL_H
#define MPROF_MODEL_H

#include <mprof/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_NONE     UINT32_MAX /* no thread, no string, end of a chain */
#define MPROF_TIME_MAX ((uint64_t)INT64_MAX)

struct mprof_model_options {
	/* Let a bind begin where it wakes, below the thread that it read, instead of where it was created. */
	bool simplify;
	/* Any number that the writer of a trace cannot know: it keeps crafted ids from meeting in one place of a table. */
	uint64_t seed;
};

/* Where a stream's events come from. */
struct mprof_model_source {
	/* Streams of one guest share its thread ids; any number. */
	uint32_t guest;
	/* Added to each timestamp of the stream. */
	int64_t offset_ns;
	/* The true offset is at most so much below OFFSET_NS (see struct mprof_clock), UINT64_MAX where that is not known. */
	uint64_t uncertainty_ns;
};

enum mprof_thread_flag {
	MPROF_THREAD_ROOT = 1,		  /* the stream's root, id -1: its activations are the idle periods */
	MPROF_THREAD_PREEXISTING = 2,	  /* never seen to be created: begins with the stream, below its root */
	MPROF_THREAD_RESOLVED = 4,	  /* fulfilled, failed, or became another thread */
	MPROF_THREAD_ENDED = 8,		  /* END is an event's time, or the trace's end (MPROF_THREAD_NEVER_RESOLVED) */
	MPROF_THREAD_SHOULD_RESOLVE = 16, /* marked `__should_resolve`, or such a one became it */
	MPROF_THREAD_NEVER_RESOLVED = 32, /* should have resolved and did not: extended to the stream's end */
	MPROF_THREAD_SIMPLIFIED = 64,	  /* a bind that begins where it wakes: its creation is not to be drawn */
};

/* One thread.  Without MPROF_THREAD_ENDED its end is not known and END is one microsecond behind the last event that names it. */
struct mprof_thread {
	int64_t id;
	uint64_t created; /* time of its `creates`; where it has none, the stream's first event */
	uint64_t start;	  /* where it is drawn from: CREATED, or where it woke (MPROF_THREAD_SIMPLIFIED) */
	uint64_t end;	  /* never before START */
	uint32_t creator; /* the thread that ran at its creation; its stream's root, or MPROF_NONE for a root */
	uint32_t parent;  /* the thread below which it is drawn: CREATOR, or what it woke by */
	uint32_t becomes; /* the thread that goes on in its place, or MPROF_NONE */
	uint32_t resolver;
	uint32_t first_child;	    /* of the threads with this PARENT, the newest first; a root's by id */
	uint32_t next_sibling;	    /* the next thread with the same PARENT */
	uint32_t first_label;	    /* chains in the order of events */
	uint32_t first_interaction; /* what this thread did: reader, resolver or sender */
	uint32_t first_activation;
	uint32_t failure; /* string: why it failed, or MPROF_NONE */
	uint32_t row;	  /* of the layout, from 0; MPROF_NONE for a root */
	uint16_t stream;
	uint8_t type;  /* enum mprof_thread_type or any other value; MPROF_THREAD_UNKNOWN where it was not created */
	uint8_t flags; /* enum mprof_thread_flag */
};

enum mprof_interaction_kind {
	MPROF_INTERACTION_RESOLVE,  /* THREAD resolved OTHER */
	MPROF_INTERACTION_READ,	    /* THREAD read OTHER, which was resolved */
	MPROF_INTERACTION_TRY_READ, /* THREAD looked at OTHER, which was not */
	MPROF_INTERACTION_SIGNAL,   /* THREAD signalled OTHER */
};

struct mprof_interaction {
	uint64_t time;
	uint32_t thread;
	uint32_t other;
	uint32_t next;	/* of the same THREAD */
	uint16_t kind;	/* enum mprof_interaction_kind */
	uint16_t flags; /* MPROF_INTERACTION_BEGINS_WAIT */
};

/*
 * A signal with this flag wakes nobody: THREAD begins to wait by it.  OTHER, running because of the signal, creates the thread that is waited on, and then
 * THREAD runs on, or looks at the created thread; or no event says who ran on.
 */
#define MPROF_INTERACTION_BEGINS_WAIT 1u

/* THREAD ran from START up to END; a root's are the times in which nothing ran. */
struct mprof_activation {
	uint64_t start;
	uint64_t end;
	uint32_t thread;
	uint32_t next; /* of the same THREAD */
};

/* A text at a thread; mprof_label_text() spells it. */
struct mprof_label {
	uint64_t time;
	uint32_t thread;
	uint32_t next;	 /* of the same THREAD */
	uint32_t text;	 /* string; with a SAMPLE, its counter's name */
	uint32_t sample; /* the label tells that this counter changed, or MPROF_NONE */
};

struct mprof_sample {
	uint64_t time;
	int64_t value;
	uint32_t counter;
	uint32_t thread;
	uint32_t previous; /* of the same counter, or MPROF_NONE */
	uint32_t next;
};

struct mprof_counter {
	int64_t min; /* of the samples */
	int64_t max;
	uint32_t name; /* string */
	uint32_t scale;
	uint32_t first; /* sample */
	uint32_t last;
	uint32_t samples;
	uint16_t stream;
	/* Only its changes were recorded (`increase`): values count from the first event of the trace, which need not be the first. */
	uint16_t relative;
};

/* What counters are drawn on: those of one name up to its last `#`, in one stream.  Spans 0 and all values, and 10 at least. */
struct mprof_scale {
	int64_t min;
	int64_t max;
	uint32_t name; /* string */
	uint32_t stream;
};

/* A garbage collection: ended at TIME, began DURATION_NS before (any number that the trace says). */
struct mprof_collection {
	uint64_t time;
	uint64_t duration_ns;
	uint32_t stream;
	uint32_t reserved;
};

/* Here packets are missing: nothing is known of the time between FROM and TO. */
struct mprof_gap {
	uint64_t from; /* the last event before */
	uint64_t to;   /* the first event behind; FROM where none came */
	uint64_t packets;
	uint32_t stream;
	uint32_t reserved;
};

/* A thread that was marked `__should_resolve`. */
struct mprof_expectation {
	uint32_t thread; /* that was marked */
	uint32_t final;	 /* what it became in the end, or itself */
};

/* One stream.  Its threads' rows are FIRST_ROW up to FIRST_ROW + ROWS, exclusively. */
struct mprof_model_stream {
	uint64_t start; /* its first event; 0 without one */
	uint64_t end;	/* its latest */
	uint64_t events;
	int64_t offset_ns;
	uint64_t uncertainty_ns;
	uint32_t guest;
	uint32_t root; /* thread */
	uint32_t first_row;
	uint32_t rows;
};

/* A text: BYTES bytes at OFFSET of the view's text, raw as in the trace. */
struct mprof_string {
	uint32_t offset;
	uint32_t bytes;
};

/* What a sound trace has none of. */
struct mprof_model_notes {
	uint64_t recreated;	   /* `creates` of an id that was there: from then on the id is a new thread's */
	uint64_t alias_cycles;	   /* `becomes` that would have closed a circle: passed over */
	uint64_t late;		   /* events older than the one before in their stream */
	uint64_t backwards;	   /* threads that ended before they began: they end where they begin */
	uint64_t refused;	   /* events that would have created, resolved or renamed a root: passed over */
	uint64_t detached;	   /* threads that woke each other in a circle: drawn below their root */
	uint64_t texts_lost;	   /* strings past 4 GiB: empty */
	uint64_t counters_clipped; /* values that passed 64 bits: held at the limit */
	uint64_t rows_not_first;   /* threads below all others, where the first free row took too long to find */
};

/* The whole model.  Everything is lent until the model is freed. */
struct mprof_model_view {
	const struct mprof_thread *threads;
	const struct mprof_interaction *interactions;
	const struct mprof_activation *activations;
	const struct mprof_label *labels;
	const struct mprof_sample *samples;
	const struct mprof_counter *counters; /* sorted by name, byte by byte, then by stream */
	const struct mprof_scale *scales;
	const struct mprof_collection *collections;
	const struct mprof_gap *gaps;
	const struct mprof_expectation *expectations;
	const struct mprof_model_stream *streams;
	const struct mprof_string *strings;
	const char *text;
	uint32_t n_threads;
	uint32_t n_interactions; /* this and those that follow in the order in which the events came */
	uint32_t n_activations;
	uint32_t n_labels;
	uint32_t n_samples;
	uint32_t n_counters;
	uint32_t n_scales;
	uint32_t n_collections;
	uint32_t n_gaps;
	uint32_t n_expectations;
	uint32_t n_streams;
	uint32_t n_strings;
	uint32_t rows; /* of all streams together */
	uint32_t text_bytes;
	struct mprof_model_notes notes;
};

struct mprof_model;

/* An empty model, or NULL without memory.  OPTIONS are copied. */
MPROF_API struct mprof_model *mprof_model_new(const struct mprof_model_options *options);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_model *mprof_model_free(struct mprof_model *m);

/*
 * Add a stream and put its index, counted from 0, into *STREAM.  MPROF_OK; MPROF_NOMEM, also past 65,535 streams; MPROF_END behind
 * mprof_model_finish().
 */
MPROF_API enum mprof_status mprof_model_stream(struct mprof_model *m, const struct mprof_model_source *source,
					       uint32_t *stream);

/*
 * Add the next event of STREAM; its text is copied.  Events of streams that share a guest must come in the order of time as far as
 * it is known; those of different guests may come in any order.  MPROF_OK; MPROF_NOMEM, with nothing changed, so that the call can be
 * repeated (2^32 - 1 items of a kind are no memory too); MPROF_CORRUPT where there is no such stream or event id; MPROF_END behind
 * mprof_model_finish().
 */
MPROF_API enum mprof_status mprof_model_add(struct mprof_model *m, uint32_t stream, const struct mprof_raw_event *e);

/*
 * Add the next N events of STREAM, as mprof_decoder_batch() gives them: what mprof_model_add() does with each, in less time.  *ADDED is how many
 * were added, all of them with MPROF_OK; else the status is that of the first that was not, and the call can be repeated with it.
 */
MPROF_API enum mprof_status mprof_model_add_batch(struct mprof_model *m, uint32_t stream,
						  const struct mprof_event *events, size_t n, size_t *added);

/*
 * PACKETS packets (0: not known how many) of STREAM are missing here.  What ran is taken to have stopped at the last event.  Gaps without an
 * event between them are one.  Returns as mprof_model_add() does.
 */
MPROF_API enum mprof_status mprof_model_gap(struct mprof_model *m, uint32_t stream, uint64_t packets);

/*
 * The events so far are SHARE (0 to 1) of all, as far as is known: room for the rest is reserved as if they went on like that.  Only a hint, which
 * spares the copying of arrays that grow; a thousandfold of what came is the most that it can cost.
 */
MPROF_API void mprof_model_expect(struct mprof_model *m, double share);

/* No more events: put the ends, the chains, the tree and the rows in place.  MPROF_OK, or MPROF_NOMEM: the call can be repeated. */
MPROF_API enum mprof_status mprof_model_finish(struct mprof_model *m);

/* The finished model, or NULL before mprof_model_finish() said MPROF_OK. */
MPROF_API const struct mprof_model_view *mprof_model_view(const struct mprof_model *m);

/* Bytes of memory that the model holds now, and the most it ever held. */
MPROF_API void mprof_model_memory(const struct mprof_model *m, uint64_t *now, uint64_t *most);

/*
 * What stands at label I of the view, raw as in the trace and with the change where a counter changed (`gntref+1`), into BUF of SIZE bytes,
 * always terminated; returns the length that it has or would have with room enough.
 */
MPROF_API size_t mprof_label_text(const struct mprof_model_view *view, uint32_t i, char *buf, size_t size);

/*
 * The bounds of the offset from one clock to another, for struct mprof_model_source.  A zeroed one knows nothing.  Where an event stamped
 * GUEST_NS was seen at HOST_NS it happened before that; where it was not there yet at HOST_NS it happened after.
 */
struct mprof_clock {
	int64_t most;  /* HOST - GUEST is not more, where BOUNDED_ABOVE */
	int64_t least; /* and not less, where BOUNDED_BELOW */
	bool bounded_above;
	bool bounded_below;
};

MPROF_API void mprof_clock_before(struct mprof_clock *clock, uint64_t guest_ns, uint64_t host_ns);
MPROF_API void mprof_clock_after(struct mprof_clock *clock, uint64_t guest_ns, uint64_t host_ns);
/* Offset and uncertainty by what is known; without an upper bound offset 0 and UINT64_MAX. */
MPROF_API void mprof_clock_apply(const struct mprof_clock *clock, struct mprof_model_source *source);

#ifdef __cplusplus
}
#endif

#endif
