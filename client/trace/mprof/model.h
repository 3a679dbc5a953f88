/*
 * libmprof: the model of a trace: threads, what they did to each other, and when they ran.
 *
 *   m = mprof_model_new(&(struct mprof_model_options){.simplify = true, .seed = random});
 *   mprof_model_stream(m, &(struct mprof_model_source){0}, &stream);
 *   while ((status = mprof_decoder_next(d, &event)) != MPROF_END)
 *           mprof_model_add(m, stream, &event.raw);
 *   mprof_model_finish(m);
 *   view = mprof_model_view(m);
 *
 * Events go in one by one in logical order. The result is flat arrays of small structures that
 * refer to each other by 32-bit indices, so that a program outside a WebAssembly memory can read
 * them in place. Several streams, of one guest or of several, share one model and one time line.
 *
 * Traces are untrusted: ids are any 64-bit number, times go back, relations contradict each other
 * and form cycles. A model is made of all of it, in at most n log n time, and in memory that is
 * proportional to the events given. struct mprof_model_notes counts what had to be corrected.
 *
 * Times are nanoseconds on the model's time line: the guest's own clock plus the stream's offset,
 * clamped to 0 … 2^63 - 1.
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
	/* Start a bind when it wakes, below the thread that it read, instead of at its creation. */
	bool simplify;
	/*
	 * Any number that the writer of a trace cannot know. It keeps crafted ids from colliding in
	 * a hash table.
	 */
	uint64_t seed;
};

/* Origin of a stream's events. */
struct mprof_model_source {
	/* Any number. Streams with the same number share thread ids. */
	uint32_t guest;
	/* Nanoseconds added to each timestamp of the stream. */
	int64_t offset_ns;
	/*
	 * Largest distance of the true offset below OFFSET_NS (see struct mprof_clock); UINT64_MAX:
	 * unknown.
	 */
	uint64_t uncertainty_ns;
};

enum mprof_thread_flag {
	/* Root of the stream, id -1: its activations are the idle periods. */
	MPROF_THREAD_ROOT = 1,
	/* no `creates` in the trace: begins with the stream, below its root */
	MPROF_THREAD_PREEXISTING = 2,
	MPROF_THREAD_RESOLVED = 4, /* fulfilled, failed, or became another thread */
	/* END is an event's time, or the trace's end (MPROF_THREAD_NEVER_RESOLVED) */
	MPROF_THREAD_ENDED = 8,
	/* marked `__should_resolve`, or a thread with the mark became it */
	MPROF_THREAD_SHOULD_RESOLVE = 16,
	/* Should have resolved and did not: extended to the stream's end. */
	MPROF_THREAD_NEVER_RESOLVED = 32,
	MPROF_THREAD_SIMPLIFIED = 64, /* bind that starts when it wakes: do not draw its creation */
};

/*
 * One thread. Without MPROF_THREAD_ENDED its end is unknown, and END is one microsecond after the
 * last event that names it.
 */
struct mprof_thread {
	int64_t id;
	uint64_t created; /* time of its `creates`, or of the stream's first event */
	uint64_t start;	  /* drawn start: CREATED, or the wake-up (MPROF_THREAD_SIMPLIFIED) */
	uint64_t end;	  /* at or after START */
	/* Thread that ran at its creation, or its stream's root; MPROF_NONE for a root. */
	uint32_t creator;
	uint32_t parent;  /* parent in the drawn tree: CREATOR, or the thread that woke it */
	uint32_t becomes; /* thread that continues in its place, or MPROF_NONE */
	uint32_t resolver;
	/* Newest of the threads with this PARENT; for a root, the lowest id. */
	uint32_t first_child;
	uint32_t next_sibling;	    /* next thread with the same PARENT */
	uint32_t first_label;	    /* heads of chains in the order of events */
	uint32_t first_interaction; /* actions of this thread as reader, resolver or sender */
	uint32_t first_activation;
	uint32_t failure; /* string: reason of its failure, or MPROF_NONE */
	uint32_t row;	  /* row of the layout, from 0; MPROF_NONE for a root */
	uint16_t stream;
	/* enum mprof_thread_type or any other value; MPROF_THREAD_UNKNOWN without a `creates` */
	uint8_t type;
	uint8_t flags; /* enum mprof_thread_flag */
};

enum mprof_interaction_kind {
	MPROF_INTERACTION_RESOLVE,  /* THREAD resolved OTHER */
	MPROF_INTERACTION_READ,	    /* THREAD read OTHER, which was resolved */
	MPROF_INTERACTION_TRY_READ, /* THREAD tried to read OTHER, which was not resolved */
	MPROF_INTERACTION_SIGNAL,   /* THREAD signalled OTHER */
};

struct mprof_interaction {
	uint64_t time;
	uint32_t thread;
	uint32_t other;
	uint32_t next;	/* next interaction of THREAD */
	uint16_t kind;	/* enum mprof_interaction_kind */
	uint16_t flags; /* MPROF_INTERACTION_BEGINS_WAIT */
};

/*
 * Flag of a signal that wakes nobody: THREAD begins to wait by it. OTHER runs because of the signal
 * and creates the thread to wait on; then THREAD runs on, or reads the created thread, or no event
 * says which thread ran on.
 */
#define MPROF_INTERACTION_BEGINS_WAIT 1u

/* THREAD ran from START to END. A root's activations are the times in which nothing ran. */
struct mprof_activation {
	uint64_t start;
	uint64_t end;
	uint32_t thread;
	uint32_t next; /* next activation of THREAD */
};

/* A label of a thread. mprof_label_text() returns its text. */
struct mprof_label {
	uint64_t time;
	uint32_t thread;
	uint32_t next;	 /* next label of THREAD */
	uint32_t text;	 /* string; for a SAMPLE, its counter's name */
	uint32_t sample; /* change of a counter that the label reports, or MPROF_NONE */
};

struct mprof_sample {
	uint64_t time;
	int64_t value;
	uint32_t counter;
	uint32_t thread;
	uint32_t previous; /* previous sample of the same counter, or MPROF_NONE */
	uint32_t next;
};

struct mprof_counter {
	int64_t min; /* smallest sample */
	int64_t max;
	uint32_t name; /* string */
	uint32_t scale;
	uint32_t first; /* first sample */
	uint32_t last;
	uint32_t samples;
	uint16_t stream;
	/*
	 * 1 when the trace only has changes (`increase`): values count from the first event of the
	 * trace, which need not be the guest's first.
	 */
	uint16_t relative;
};

/*
 * The axis that counters share: those of one stream with the same name up to its last `#`. Its
 * range holds 0 and all values, and is at least 10.
 */
struct mprof_scale {
	int64_t min;
	int64_t max;
	uint32_t name; /* string */
	uint32_t stream;
};

/* A garbage collection that ended at TIME and took DURATION_NS, as the trace says (any number). */
struct mprof_collection {
	uint64_t time;
	uint64_t duration_ns;
	uint32_t stream;
	uint32_t reserved;
};

/* Missing packets: nothing is known of the time between FROM and TO. */
struct mprof_gap {
	uint64_t from; /* time of the last event before */
	uint64_t to;   /* time of the first event after, or FROM without one */
	uint64_t packets;
	uint32_t stream;
	uint32_t reserved;
};

/* A thread that was marked `__should_resolve`. */
struct mprof_expectation {
	uint32_t thread; /* marked thread */
	uint32_t final;	 /* thread that it became in the end, or itself */
};

/* One stream. Its threads are on rows FIRST_ROW up to, but not including, FIRST_ROW + ROWS. */
struct mprof_model_stream {
	uint64_t start; /* time of its first event; 0 without one */
	uint64_t end;	/* time of its latest event */
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

/* Contradictions in the trace. A sound trace has none. */
struct mprof_model_notes {
	/* `creates` of an existing id: the id names a new thread from then on */
	uint64_t recreated;
	uint64_t alias_cycles;	   /* `becomes` that would close a cycle: ignored */
	uint64_t late;		   /* events older than the previous one of their stream */
	uint64_t backwards;	   /* threads that ended before they began: they end where they begin */
	uint64_t refused;	   /* events that would create, resolve or rename a root: ignored */
	uint64_t detached;	   /* threads that woke each other in a cycle: drawn below their root */
	uint64_t texts_lost;	   /* strings past 4 GiB: empty */
	uint64_t counters_clipped; /* values past 64 bits: clamped */
	/* Threads put below all others, because the first free row took too long to find. */
	uint64_t rows_not_first;
};

/* The whole model. The model owns all arrays until it is freed. */
struct mprof_model_view {
	const struct mprof_thread *threads;
	const struct mprof_interaction *interactions;
	const struct mprof_activation *activations;
	const struct mprof_label *labels;
	const struct mprof_sample *samples;
	const struct mprof_counter *counters; /* by name, byte by byte, then by stream */
	const struct mprof_scale *scales;
	const struct mprof_collection *collections;
	const struct mprof_gap *gaps;
	const struct mprof_expectation *expectations;
	const struct mprof_model_stream *streams;
	const struct mprof_string *strings;
	const char *text;
	uint32_t n_threads;
	uint32_t n_interactions; /* this and the following arrays are in the order of events */
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
	uint32_t rows; /* rows of all streams together */
	uint32_t text_bytes;
	struct mprof_model_notes notes;
};

struct mprof_model;

/* Return an empty model, or NULL without memory. Copy OPTIONS. */
MPROF_API struct mprof_model *mprof_model_new(const struct mprof_model_options *options);
/* Free M, which may be NULL. Return NULL. */
MPROF_API struct mprof_model *mprof_model_free(struct mprof_model *m);

/*
 * Add a stream and store its index, from 0, in *STREAM. Return MPROF_OK; MPROF_NOMEM, also past
 * 65,535 streams; MPROF_END after mprof_model_finish().
 */
MPROF_API enum mprof_status mprof_model_stream(struct mprof_model *m, const struct mprof_model_source *source,
					       uint32_t *stream);

/*
 * Add the next event of STREAM and copy its text. Give the events of streams that share a guest in
 * the order of time as far as it is known; the order between guests is free. Return MPROF_OK;
 * MPROF_NOMEM, with nothing changed, so that the call can be repeated (also for more than 2^32 - 1
 * items of a kind); MPROF_CORRUPT for an unknown stream or event id; MPROF_END after
 * mprof_model_finish().
 */
MPROF_API enum mprof_status mprof_model_add(struct mprof_model *m, uint32_t stream, const struct mprof_raw_event *e);

/*
 * Add the next N events of STREAM, as mprof_decoder_batch() gives them: the same as N calls of
 * mprof_model_add(), faster. Store the number of events added in *ADDED. Return MPROF_OK when all
 * were; else the status of the first one that was not, and the call can be repeated from there.
 */
MPROF_API enum mprof_status mprof_model_add_batch(struct mprof_model *m, uint32_t stream,
						  const struct mprof_event *events, size_t n, size_t *added);

/*
 * Record that PACKETS packets (0: unknown number) of STREAM are missing here. The running thread is
 * taken to have stopped at the last event. Gaps without an event between them are joined. Return as
 * mprof_model_add().
 */
MPROF_API enum mprof_status mprof_model_gap(struct mprof_model *m, uint32_t stream, uint64_t packets);

/*
 * Reserve memory for the rest, when the events so far are SHARE (0 to 1) of all. Only a hint, which
 * saves copying growing arrays; it reserves at most a thousand times the memory used so far.
 */
MPROF_API void mprof_model_expect(struct mprof_model *m, double share);

/*
 * End the input: compute ends, chains, the tree and rows. Return MPROF_OK, or MPROF_NOMEM; then the
 * call can be repeated.
 */
MPROF_API enum mprof_status mprof_model_finish(struct mprof_model *m);

/*
 * Return the finished model, or NULL before mprof_model_finish() returned MPROF_OK. The model owns
 * it.
 */
MPROF_API const struct mprof_model_view *mprof_model_view(const struct mprof_model *m);

/* Store the bytes of memory that M holds, in *NOW, and the most that it ever held, in *MOST. */
MPROF_API void mprof_model_memory(const struct mprof_model *m, uint64_t *now, uint64_t *most);

/*
 * Write the text of label I of the view into BUF of SIZE bytes, terminated: raw as in the trace,
 * with the change appended for a counter (`gntref+1`). I is below the view's N_LABELS. Return the
 * full length, which can be SIZE or more; then the text was cut.
 */
MPROF_API size_t mprof_label_text(const struct mprof_model_view *view, uint32_t i, char *buf, size_t size);

/*
 * Bounds of the offset from a guest's clock to a host's, for struct mprof_model_source. Zero it
 * first: it then has no bound. mprof_clock_before() takes that an event stamped GUEST_NS happened
 * before HOST_NS, mprof_clock_after() that it happened after.
 */
struct mprof_clock {
	int64_t most;  /* upper bound of HOST - GUEST, ns, when BOUNDED_ABOVE */
	int64_t least; /* lower bound, when BOUNDED_BELOW */
	bool bounded_above;
	bool bounded_below;
};

MPROF_API void mprof_clock_before(struct mprof_clock *clock, uint64_t guest_ns, uint64_t host_ns);
MPROF_API void mprof_clock_after(struct mprof_clock *clock, uint64_t guest_ns, uint64_t host_ns);
/* Store offset and uncertainty in *SOURCE. Without an upper bound they are 0 and UINT64_MAX. */
MPROF_API void mprof_clock_apply(const struct mprof_clock *clock, struct mprof_model_source *source);

#ifdef __cplusplus
}
#endif

#endif
