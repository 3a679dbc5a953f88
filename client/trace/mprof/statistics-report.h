/*
 * libmprof: the answer of `stats` as JSON: a trace, or a range of its time, in numbers.
 *
 *   struct mprof_statistics_report report = {.all = *mprof_statistics_totals(s), .counters = counters, .n_counters = n};
 *   mprof_statistics_write(&report, &json);
 *
 * `mprofctl stats --json` prints it, and the viewer reads it. schema/answers/stats.json has its keys.
 */
#ifndef MPROF_STATISTICS_REPORT_H
#define MPROF_STATISTICS_REPORT_H

#include <mprof/json-writer.h>
#include <mprof/statistics.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The caller owns all that a report points to; it is used during the calls only. */

/* A counter that has samples. */
struct mprof_statistics_report_counter {
	const char *of;	  /* the name of its stream, which stands before its own; NULL: its name stands alone */
	const char *name; /* bytes of any kind */
	size_t name_bytes;
	struct mprof_statistics_counter range;
	uint8_t kind; /* enum mprof_counter_kind */
};

/* A thread that ran long, or that should resolve. */
struct mprof_statistics_report_thread {
	int64_t id;
	const char *of;	   /* the name of its stream; NULL: it is not told */
	const char *label; /* bytes of any kind; NULL: it has none */
	size_t label_bytes;
	uint64_t running_ns; /* of one that ran long */
	bool resolved;	     /* of one that should resolve */
	bool unsure;	     /* of one that is not RESOLVED: its resolution may be missing from the trace */
	uint8_t type;	     /* enum mprof_thread_type, of one that ran long */
	uint32_t index;	     /* of the view, if the report is INDEXED */
};

/* Number of fields that describe threads by type, as in struct mprof_statistics_totals. */
#define MPROF_STATISTICS_TYPES (MPROF_THREAD_TYPES + 1)

struct mprof_statistics_report {
	const char *stream; /* the name of the only stream that the numbers are about; NULL: it is not told */
	/*
	 * BUSIEST is not used. FIRST_NS and LAST_NS count if there are events, or if the report is INDEXED: then they are the part of
	 * the range that the trace covers. RUNNING_NS counts if the report is INDEXED.
	 */
	struct mprof_statistics_totals all;
	/* Counts of the reader, of the whole trace. */
	uint64_t bytes;
	uint64_t packets;
	uint64_t lost_packets;
	uint64_t damages;
	uint64_t unknown_texts;
	uint64_t skipped_extras;
	uint64_t unproven_events;
	uint64_t cut_bytes;
	uint64_t clock_back_ns; /* by how much the clock went back, at most; if it did, no counter has a rate */
	const struct mprof_statistics_report_counter *counters;
	const struct mprof_statistics_report_thread *busiest;	     /* the longest first */
	const struct mprof_statistics_report_thread *should_resolve; /* those that the program marked */
	uint32_t n_counters, n_busiest, n_should_resolve;
	bool several;	/* the numbers are sums over several streams: each sleeps by itself, so there is no share */
	bool summed;	/* the report has neither the busiest threads nor the time slept; STREAMS have them */
	bool truncated; /* threads, labels or counters are missing, because memory is bounded */
	bool indexed;	/* for a page: threads have their INDEX and OF, and all of them together RUNNING_NS */
	/* The reports of the streams that are summed up; none: the report is about one stream, or about all as one. */
	const struct mprof_statistics_report *streams;
	uint32_t n_streams;
};

/* Return the number of events in R. */
MPROF_API uint64_t mprof_statistics_events(const struct mprof_statistics_report *r);
/*
 * Return whether parts of what R counts are missing: packets, damaged places, or events that a recorder dropped. Then the numbers
 * of events and the times of R are those that are left.
 */
MPROF_API bool mprof_statistics_lacks(const struct mprof_statistics_report *r);
/*
 * Return the share of the time in which no thread ran, from 0 to 1, or NAN without one: of several streams, of streams that do
 * not tell when no thread runs, where parts are missing, and where times go back, so that the same time came twice.
 */
MPROF_API double mprof_statistics_share(const struct mprof_statistics_report *r);
/* Return the rate of C in R as mprof_statistics_rate(): C->range.rate_per_s, but NAN if the clock went back. */
MPROF_API double mprof_statistics_report_rate(const struct mprof_statistics_report *r,
					      const struct mprof_statistics_report_counter *c);
/* Return the name of TYPE, an index of `threads_by_type`; a constant. */
MPROF_API const char *mprof_statistics_type_name(uint8_t type);

/* Write the answer's members; the caller opens the object and closes it. */
MPROF_API void mprof_statistics_write(const struct mprof_statistics_report *r, struct mprof_json *j);

#ifdef __cplusplus
}
#endif

#endif
