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
/*
 * If the times of a stream go back at once by more than this, ns, the model takes the order of its events for that of time.
 * By less, they count as published late. The model does not see the events behind, as the decoder does (schema/times.md).
 */
#define MPROF_MODEL_STEP 1000000000u

struct mprof_model_options {
	/*
	 * Draw a bind (a thread that only waits for another and then runs a function) from its
	 * wake-up on, below the thread that it read then, instead of from its creation on.
	 */
	bool simplify;
	/*
	 * Any number that the writer of a trace cannot know. It keeps crafted ids from colliding in
	 * a hash table.
	 */
	uint64_t seed;
};

/* Origin of a stream's events. */
struct mprof_model_source {
	/* Any number that identifies the guest. Streams with the same number share thread ids. */
	uint32_t guest;
	/* Nanoseconds added to each timestamp of the stream. */
	int64_t offset_ns;
	/*
	 * Uncertainty of OFFSET_NS: the true offset lies between OFFSET_NS - UNCERTAINTY_NS and
	 * OFFSET_NS (struct mprof_clock). UINT64_MAX: unknown.
	 */
	uint64_t uncertainty_ns;
};

enum mprof_thread_flag {
	/*
	 * The stream's root, with id -1, is no thread of the program. Its activations are the times
	 * in which the program was idle.
	 */
	MPROF_THREAD_ROOT = 1,
	/*
	 * the trace has no `creates` of the thread: it begins with the stream, below the stream's
	 * root
	 */
	MPROF_THREAD_PREEXISTING = 2,
	MPROF_THREAD_RESOLVED = 4, /* fulfilled, failed, or became another thread */
	/* END is known: the time of an event, or the trace's end (MPROF_THREAD_NEVER_RESOLVED) */
	MPROF_THREAD_ENDED = 8,
	/*
	 * the program marked it with the label `__should_resolve`, or a marked thread became this
	 * one
	 */
	MPROF_THREAD_SHOULD_RESOLVE = 16,
	/* The thread should have resolved and did not: END is the latest end of its guest's streams. */
	MPROF_THREAD_NEVER_RESOLVED = 32,
	/*
	 * With MPROF_THREAD_NEVER_RESOLVED: the trace has no resolution of the thread, but it lacks events from the thread's
	 * creation on, which may have been one.
	 */
	MPROF_THREAD_END_UNSEEN = 128,
	MPROF_THREAD_SIMPLIFIED = 64, /* a bind that is drawn from its wake-up on: do not draw its creation */
};

/*
 * One thread. Without MPROF_THREAD_ENDED its end is unknown, and END is one microsecond after the
 * last event that names the thread.
 */
struct mprof_thread {
	int64_t id;
	uint64_t created; /* time of its `creates`, or of the stream's first event */
	uint64_t start;	  /* drawn start: CREATED, or the wake-up (MPROF_THREAD_SIMPLIFIED) */
	uint64_t end;	  /* end of the thread, at or after START */
	/*
	 * The thread that ran when this one was created, or the stream's root; MPROF_NONE for a
	 * root.
	 */
	uint32_t creator;
	uint32_t parent;  /* parent in the drawn tree: CREATOR, or the thread that woke this one */
	uint32_t becomes; /* the thread that this one became and that continues in its place, or MPROF_NONE */
	uint32_t resolver;
	/*
	 * First of the threads whose PARENT is this thread: the newest one; for a root, the one
	 * with the lowest id. MPROF_NONE: no such thread.
	 */
	uint32_t first_child;
	uint32_t next_sibling;	    /* next thread with the same PARENT, or MPROF_NONE */
	uint32_t first_label;	    /* first label, or MPROF_NONE; the chains are in the order of events */
	uint32_t first_interaction; /* first action of this thread as reader, resolver or sender, or MPROF_NONE */
	uint32_t first_activation;
	uint32_t failure; /* string with the reason of the thread's failure, or MPROF_NONE */
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
	uint32_t next;	/* next interaction of THREAD, or MPROF_NONE */
	uint16_t kind;	/* enum mprof_interaction_kind */
	uint16_t flags; /* 0 or MPROF_INTERACTION_BEGINS_WAIT */
};

/*
 * Flag of a signal with which THREAD begins to wait, and which wakes no thread. Recorders write it
 * when THREAD waits on the condition OTHER: OTHER runs because of the signal, and creates the
 * thread on which THREAD waits. Then THREAD runs on, or reads the created thread, or no event says
 * which thread ran on.
 */
#define MPROF_INTERACTION_BEGINS_WAIT 1u

/* THREAD ran from START to END. A root's activations are the times in which no thread ran. */
struct mprof_activation {
	uint64_t start;
	uint64_t end;
	uint32_t thread;
	uint32_t next; /* next activation of THREAD, or MPROF_NONE */
};

/* A label of a thread. mprof_label_text() returns its text. */
struct mprof_label {
	uint64_t time;
	uint32_t thread;
	uint32_t next; /* next label of THREAD, or MPROF_NONE */
	uint32_t text; /* string; if SAMPLE is set, the counter's name */
	/*
	 * The sample of a counter that this label reports, or MPROF_NONE for a label of the
	 * program.
	 */
	uint32_t sample;
};

struct mprof_sample {
	uint64_t time;
	int64_t value;
	uint32_t counter;
	uint32_t thread;
	uint32_t previous; /* previous sample of the same counter, or MPROF_NONE; NEXT likewise */
	uint32_t next;
};

struct mprof_counter {
	int64_t min; /* smallest sample */
	int64_t max;
	int64_t sum;   /* sum of all samples of an amount; 0 for other kinds */
	uint32_t name; /* string */
	uint32_t scale;
	uint32_t first; /* first sample */
	uint32_t last;
	uint32_t samples;
	uint16_t stream;
	/*
	 * 1 when the trace only has changes of the counter (`increase`): the values then begin at 0
	 * with the first event of the trace, where the guest's counter may have had another value.
	 * Else 0.
	 */
	uint8_t relative;
	uint8_t kind;  /* enum mprof_counter_kind, as the stream declares it first */
	uint8_t grows; /* 1 when each sample behind the first is an `increase` of 0 or more; else 0 */
	uint8_t reserved[7];
};

/*
 * The vertical axis that counters share: those counters of one stream whose names are the same up
 * to the last `#`. The range from MIN to MAX holds 0 and all values, and spans at least 10.
 */
struct mprof_scale {
	int64_t min;
	int64_t max;
	uint32_t name; /* string */
	uint32_t stream;
};

/*
 * A garbage collection that ended at TIME. DURATION_NS is what the trace says, which can be any
 * number.
 */
struct mprof_collection {
	uint64_t time;
	uint64_t duration_ns;
	uint32_t stream;
	uint32_t reserved;
};

/*
 * A named duration of THREAD, which ended at TIME. DURATION_NS is what the trace says, which can be any
 * number.
 */
struct mprof_duration {
	uint64_t time;
	uint64_t duration_ns;
	uint32_t thread;
	uint32_t name; /* string */
	uint32_t stream;
	uint32_t reserved;
};

/*
 * A sample of the system's view of THREAD: at TIME it was in the state TEXT (MPROF_STATE in mprof/events.def), and had used
 * PROCESSOR_NS of processor time since it began, which can be any number. KIND is the state, or MPROF_STATE_KINDS if TEXT
 * begins with no word that this version knows.
 */
struct mprof_state {
	uint64_t time;
	uint64_t processor_ns;
	uint32_t thread;
	uint32_t text;	   /* string */
	uint32_t kind;	   /* enum mprof_state_kind */
	uint32_t previous; /* previous sample of THREAD, or MPROF_NONE */
};

/*
 * From START to END, DURATION (an index) is the innermost duration of STREAM: the one that began last of
 * those that had begun and not ended. Pieces of a stream do not overlap.
 */
struct mprof_piece {
	uint64_t start;
	uint64_t end;
	uint32_t duration;
	uint32_t stream;
};

/* Missing packets. The trace has no events of STREAM between FROM and TO. */
struct mprof_gap {
	uint64_t from; /* time of the last event before the gap */
	uint64_t to;   /* time of the first event after the gap; FROM if there is none */
	uint64_t packets;
	uint32_t stream;
	uint32_t reserved;
};

/* A thread that was marked `__should_resolve`. */
struct mprof_expectation {
	uint32_t thread; /* marked thread */
	uint32_t final;	 /* the thread that THREAD became in the end, or THREAD */
};

/*
 * One stream. Its threads are on the rows from FIRST_ROW up to, but not including, FIRST_ROW +
 * ROWS.
 */
/* Whether the first event of a stream is the first one that its writer wrote. */
enum mprof_begin {
	MPROF_BEGIN_UNSAID, /* the writer declares it (DECLARES of the stream), or nothing tells */
	/*
	 * Yes: the event is in packet 0 of a writer that declares nothing, and only the thread that ran then lacks its creation.
	 * Packet 0 alone is no proof, since counts go on with 0 after 65,535.
	 */
	MPROF_BEGIN_FIRST,
	MPROF_BEGIN_LATER, /* no: a writer that declares nothing wrote packets, or created threads, before */
};

struct mprof_model_stream {
	uint64_t start; /* time of the stream's first event; 0 without an event */
	uint64_t end;	/* time of the stream's latest event; 0 without an event */
	uint64_t events;
	int64_t offset_ns;
	uint64_t uncertainty_ns;
	uint32_t guest;
	uint32_t root; /* thread */
	uint32_t first_row;
	uint32_t rows;
	/*
	 * Times of the stream's first signal, first read and first resolution (fulfills or fails), ns;
	 * UINT64_MAX if there is none.
	 */
	uint64_t first_signal;
	uint64_t first_read;
	uint64_t first_resolve;
	/*
	 * From BACK_FROM to BACK_TO, ns, the stream had each time twice: an event at BACK_FROM followed one at BACK_TO. If that
	 * was so several times, this spans them all. Both are 0 if it never was. BACK_NS is the largest difference of two
	 * events in a row, ns. Events that were published late are in these, too; mprof_decoder_totals() has the clock's steps alone.
	 */
	uint64_t back_from;
	uint64_t back_to;
	uint64_t back_ns;
	/*
	 * RUNNING is the thread that ran at the stream's end, since SINCE, ns; ROOT if the program did not
	 * run; MPROF_NONE if the stream does not say it.
	 */
	uint64_t since;
	uint32_t running;
	/*
	 * Flags that the stream's writer declares in each packet that has a declaration (MPROF_DECLARES_*
	 * and MPROF_WRITES_* in mprof/ids.h). MPROF_DECLARES_FIRST: the first event of the stream is the
	 * first one that its writer wrote. 0 if it declares nothing.
	 */
	uint32_t declares;
	/*
	 * A thread of the program (MPROF_THREAD_Task) whose first event is in this stream, and of which no
	 * stream says that it ran: its ring is not in the model. MPROF_NONE if there is none.
	 */
	uint32_t silent;
	uint32_t begin; /* enum mprof_begin */
	/* A state of the stream says that a thread ran at this time or later, ns; 0 if none does. */
	uint64_t ran;
};

/* A text: BYTES bytes at OFFSET of the view's TEXT, unescaped as in the trace. Not terminated. */
struct mprof_string {
	uint32_t offset;
	uint32_t bytes;
};

/* Numbers of contradictions in the trace. All are 0 for a sound trace. */
struct mprof_model_notes {
	/* `creates` of an id that a thread has: from then on the id names the new thread */
	uint64_t recreated;
	uint64_t alias_cycles;	   /* `becomes` after which a thread would become itself: ignored */
	uint64_t late;		   /* events older than the previous one of their stream */
	uint64_t backwards;	   /* threads whose end came before their start: END is set to START */
	uint64_t refused;	   /* events that would create, resolve or rename a root: ignored */
	uint64_t detached;	   /* threads that woke each other in a cycle: drawn below their root */
	uint64_t texts_lost;	   /* strings that did not fit into 4 GiB of text: empty */
	uint64_t counters_clipped; /* values of counters past 64 bits: clamped */
	/*
	 * Threads on a row below all others, because the search of the first free row took too
	 * long.
	 */
	uint64_t rows_not_first;
};

/* The whole model, as arrays. The model owns them until it is freed. */
struct mprof_model_view {
	const struct mprof_thread *threads;
	const struct mprof_interaction *interactions;
	const struct mprof_activation *activations;
	const struct mprof_label *labels;
	const struct mprof_sample *samples;
	const struct mprof_counter *counters; /* sorted by name, byte by byte, then by stream */
	const struct mprof_scale *scales;
	const struct mprof_collection *collections;
	const struct mprof_duration *durations;
	const struct mprof_piece *pieces; /* sorted by stream, then by time */
	const struct mprof_gap *gaps;
	const struct mprof_expectation *expectations;
	const struct mprof_model_stream *streams;
	const struct mprof_string *strings;
	const char *text;
	uint32_t n_threads;
	uint32_t n_interactions; /* the arrays from here to N_SAMPLES are in the order of events */
	uint32_t n_activations;
	uint32_t n_labels;
	uint32_t n_samples;
	uint32_t n_counters;
	uint32_t n_scales;
	uint32_t n_collections;
	uint32_t n_durations;
	uint32_t n_pieces;
	uint32_t n_gaps;
	uint32_t n_expectations;
	uint32_t n_streams;
	uint32_t n_strings;
	uint32_t rows; /* rows of all streams together */
	uint32_t text_bytes;
	struct mprof_model_notes notes;
	const struct mprof_state *states; /* in the order of events */
	uint32_t n_states;
	uint32_t reserved;
};

struct mprof_model;

/* Return an empty model, which the caller frees, or NULL without memory. Copy OPTIONS. */
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
 * Add E, the next event of STREAM, and copy its text. E can be the declaration of a packet's recorder
 * (mprof_event_is_recorder()), or a state of a thread that the model has; these count as no event. Give the events of streams that share a guest
 * in the order of time as far as it is known; the order between guests is free. Return MPROF_OK;
 * MPROF_CORRUPT for an unknown stream or event id; MPROF_END after mprof_model_finish();
 * MPROF_NOMEM, also for more than 2^32 - 1 items of a kind. After MPROF_NOMEM nothing has changed,
 * and the call can be repeated.
 */
MPROF_API enum mprof_status mprof_model_add(struct mprof_model *m, uint32_t stream, const struct mprof_raw_event *e);

/*
 * Add the next N events of STREAM, as mprof_decoder_batch() gives them: as N calls of
 * mprof_model_add(), but faster. Store the number of events added in *ADDED. Return MPROF_OK when
 * all were added; else the status of the first event that was not added, from which the call can be
 * repeated.
 */
MPROF_API enum mprof_status mprof_model_add_batch(struct mprof_model *m, uint32_t stream,
						  const struct mprof_event *events, size_t n, size_t *added);

/*
 * Say that the next events of STREAM are those of a packet whose header has COUNT. It is needed only for the first event, to know whether the
 * stream has its beginning (BEGIN of struct mprof_model_stream); without the call the threads tell alone. Return MPROF_OK;
 * MPROF_CORRUPT for an unknown stream; MPROF_END after mprof_model_finish().
 */
MPROF_API enum mprof_status mprof_model_packet(struct mprof_model *m, uint32_t stream, uint16_t count);

/*
 * Record that PACKETS packets (0: unknown number) of STREAM are missing here. The thread that ran
 * is taken to have stopped at the last event. Gaps without an event between them become one. Return
 * as mprof_model_add().
 */
MPROF_API enum mprof_status mprof_model_gap(struct mprof_model *m, uint32_t stream, uint64_t packets);

/*
 * Reserve memory for all further events: the events so far are the share SHARE, from 0 to 1, of
 * all. This is only a hint, which saves copying arrays that grow. At most a thousand times the
 * memory used so far is reserved.
 */
MPROF_API void mprof_model_expect(struct mprof_model *m, double share);

/*
 * End the input: compute the threads' ends, chains, tree and rows. Return MPROF_OK, or MPROF_NOMEM,
 * after which the call can be repeated.
 */
MPROF_API enum mprof_status mprof_model_finish(struct mprof_model *m);

/*
 * Return the arrays of the finished model, or NULL before mprof_model_finish() has returned
 * MPROF_OK. M owns them.
 */
MPROF_API const struct mprof_model_view *mprof_model_view(const struct mprof_model *m);

/*
 * Store in *NOW the number of bytes of memory that M holds, and in *MOST the largest number that M
 * ever held.
 */
MPROF_API void mprof_model_memory(const struct mprof_model *m, uint64_t *now, uint64_t *most);

/*
 * Write the text of label I, which is below VIEW's N_LABELS, into BUF of SIZE bytes, terminated and
 * cut to fit. The text is unescaped, as in the trace; the label of a counter gets the change
 * appended, as in `gntref+1`. Return the length of the whole text; if that is SIZE or more, the
 * text was cut.
 */
MPROF_API size_t mprof_label_text(const struct mprof_model_view *view, uint32_t i, char *buf, size_t size);

/*
 * Bounds of the offset from a guest's clock to a host's, for struct mprof_model_source. Zero the
 * structure first: then there is no bound. mprof_clock_before() adds the fact that an event stamped
 * GUEST_NS by the guest happened before HOST_NS on the host, mprof_clock_after() that it happened
 * after HOST_NS.
 */
struct mprof_clock {
	int64_t most;  /* if BOUNDED_ABOVE: upper bound of the host's time minus the guest's, ns */
	int64_t least; /* if BOUNDED_BELOW: lower bound of the same, ns */
	bool bounded_above;
	bool bounded_below;
};

MPROF_API void mprof_clock_before(struct mprof_clock *clock, uint64_t guest_ns, uint64_t host_ns);
MPROF_API void mprof_clock_after(struct mprof_clock *clock, uint64_t guest_ns, uint64_t host_ns);
/*
 * Store the upper bound as offset in *SOURCE, and its distance to the lower bound as uncertainty.
 * Without an upper bound the offset is 0 and the uncertainty UINT64_MAX.
 */
MPROF_API void mprof_clock_apply(const struct mprof_clock *clock, struct mprof_model_source *source);

#ifdef __cplusplus
}
#endif

#endif
