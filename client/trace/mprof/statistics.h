/*
 * libmprof: statistics of a range of time of a finished model.
 *
 *   s = mprof_statistics_new(mprof_model_view(m), from, to);
 *   all = mprof_statistics_totals(s);
 *
 * `mprofctl stats` prints the same numbers from the events themselves. Numbers of events differ
 * from those where a model does not keep the events: it has activations instead of switches, drops
 * a try_read that a read followed at once, and has no `__should_resolve` labels.
 */
#ifndef MPROF_STATISTICS_H
#define MPROF_STATISTICS_H

#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Largest number of threads in mprof_statistics_busiest(). */
#define MPROF_STATISTICS_BUSIEST 10u

/* One of the threads that ran longest. */
struct mprof_statistics_thread {
	uint64_t running_ns; /* running time inside of the range */
	uint32_t thread;     /* index of the view */
	uint32_t label;	     /* string, the thread's first label, or MPROF_NONE */
};

/* Statistics of one counter of the view. */
struct mprof_statistics_counter {
	uint64_t samples; /* number of samples in the range; if it is 0, all other fields are 0 */
	int64_t first;
	int64_t last;
	int64_t min;
	int64_t max;
	int64_t sum;	   /* sum of the samples of an amount, held at 64 bits; 0 for other kinds */
	double rate_per_s; /* mprof_statistics_rate() */
	uint64_t first_ns; /* times of the first and of the last sample, ns */
	uint64_t last_ns;
};

/*
 * Return the growth of a counter a second from its first to its last sample in C, or NAN without one. A
 * counter has a rate if its KIND is a total, or if it has no kind and GROWS (struct mprof_counter), and if
 * time passed between the two samples. A gauge and an amount have none: of an amount, the sum counts.
 */
MPROF_API double mprof_statistics_rate(const struct mprof_statistics_counter *c, enum mprof_counter_kind kind,
				       bool grows);

/* Return the name of KIND, a constant: "gauge", "total" or "amount"; NULL if it is undeclared or unknown. */
MPROF_API const char *mprof_counter_kind_name(uint8_t kind);

/* Statistics of all streams together. Both ends of the range are part of the range. */
struct mprof_statistics_totals {
	uint64_t events_by_type[MPROF_EVENT_IDS];
	/* Number of threads created in the range, by type; the last item counts all other types. */
	uint64_t threads_by_type[MPROF_THREAD_TYPES + 1];
	uint64_t created;
	uint64_t preexisting; /* number of threads without a `creates`, in the whole trace */
	uint64_t labels;      /* number of different labels */
	uint64_t collections;
	/*
	 * Sum of the durations of the collections that ended in the range, ns, clamped to 64 bits.
	 */
	uint64_t collecting_ns;
	uint64_t longest_ns; /* duration of the longest of these collections */
	/*
	 * Sum of the running times of all threads, and time in which no thread ran, as far as the trace tells. Neither has a
	 * time behind missing packets, up to the next event that tells which thread runs.
	 */
	uint64_t running_ns;
	uint64_t sleeping_ns;
	/*
	 * Part of the range that the trace covers, from FIRST_NS to LAST_NS, ns. Empty when
	 * FIRST_NS is greater than LAST_NS.
	 */
	uint64_t first_ns;
	uint64_t last_ns;
	uint32_t busiest; /* number of threads in mprof_statistics_busiest() */
	/*
	 * 1 if the rings would tell when no thread runs: they told of such a time, or their recorder always does. If it is 0,
	 * SLEEPING_NS means nothing.
	 */
	uint32_t tells_sleep;
	uint64_t dropped_events; /* events that recorders dropped, by their counters at the trace's end */
	uint64_t lost_words;	 /* words of OCaml's rings that its runtime overwrote, as above */
};

struct mprof_statistics;

/*
 * Count the range from FROM to TO, ns on the model's time line, in linear time. VIEW is used during
 * the call only. Return NULL without memory.
 */
MPROF_API struct mprof_statistics *mprof_statistics_new(const struct mprof_model_view *view, uint64_t from,
							uint64_t to);
/* Free S, which may be NULL. Return NULL. */
MPROF_API struct mprof_statistics *mprof_statistics_free(struct mprof_statistics *s);

/*
 * mprof_statistics_totals() returns the totals. mprof_statistics_counters() returns an array with
 * an item for each counter of the view. mprof_statistics_busiest() returns the threads that ran
 * longest, the longest first; BUSIEST of the totals is their number. S owns all of them until it is
 * freed.
 */
MPROF_API const struct mprof_statistics_totals *mprof_statistics_totals(const struct mprof_statistics *s);
MPROF_API const struct mprof_statistics_counter *mprof_statistics_counters(const struct mprof_statistics *s);
MPROF_API const struct mprof_statistics_thread *mprof_statistics_busiest(const struct mprof_statistics *s);

#ifdef __cplusplus
}
#endif

#endif
