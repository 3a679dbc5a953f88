/* Count the events of one stream in bounded memory. */
#ifndef CTL_TALLY_H
#define CTL_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/event.h>
#include <mprof/trace.h>

#include "texts.h"
#include "thread-stats.h"

#define TALLY_TYPES (MPROF_THREAD_TYPES + 1) /* the last one is for unknown types */
struct tally_counter {
	uint32_t name; /* in the tally's strings */
	uint64_t samples;
	int64_t value; /* present value, also from samples outside of the period */
	int64_t first, last, min, max;
	uint64_t first_ns, last_ns;
};

struct tally {
	uint64_t from, to; /* the counted period, both included */
	uint64_t events, events_by_type[MPROF_EVENT_IDS];
	uint64_t threads_by_type[TALLY_TYPES];
	uint64_t first_ns, last_ns; /* earliest and latest, if there are events */
	uint64_t seen_ns;	    /* the latest, also outside of the period */
	uint64_t labels;	    /* number of different ones */
	uint64_t gcs, gc_ns, gc_longest_ns;
	struct texts texts;
	uint8_t *labelled; /* for each string: 1 if it was counted as a label */
	uint32_t labelled_room;
	uint32_t *counter_index; /* from string to counter */
	uint32_t counter_index_room;
	struct tally_counter *counters;
	uint32_t counter_count, counter_room;
	uint64_t refused; /* samples of counters beyond the limit */
	struct thread_stats thread_stats;
	bool failed; /* out of memory */
};

/* Begin the tally of one of SHARES streams, which share the memory limits. */
void tally_init(struct tally *t, unsigned int shares);
void tally_deinit(struct tally *t);

/* Count the next N events. The caller has set FROM and TO. */
void tally_events(struct tally *t, const struct mprof_event *events, size_t n);
/* End the stream. */
void tally_end(struct tally *t);

/*
 * Add the counts of OTHER, a stream that has ended, to T, which takes no events itself. Marked
 * threads, busy threads and sleeping time belong to a single stream and are not added.
 */
void tally_join(struct tally *t, const struct tally *other);

/* Return true if the memory limits left something out. */
bool tally_truncated(const struct tally *t);

#endif
