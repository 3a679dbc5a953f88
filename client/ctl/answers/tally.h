/* Count the events of one stream in bounded memory. The result is called the stream's tally. */
#ifndef CTL_TALLY_H
#define CTL_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/event.h>
#include <mprof/statistics.h>
#include <mprof/times.h>
#include <mprof/trace.h>

#include "texts.h"
#include "thread-stats.h"

#define TALLY_TYPES (MPROF_THREAD_TYPES + 1) /* the last one counts threads of unknown types */
struct tally_counter {
	uint32_t name; /* number of the counter's name in TEXTS of struct tally */
	/* Value after the latest sample, also if that sample is outside of the period. */
	int64_t value;
	struct mprof_statistics_counter range; /* the samples inside of the period, without a rate */
	uint8_t kind;			       /* enum mprof_counter_kind, as the stream declares it first */
	bool grows;			       /* each sample behind the first is an `increase` of 0 or more */
	bool begun;			       /* there was a sample, also outside of the period */
	bool several;			       /* the counters of several streams with one name: there is no rate */
	bool losses;			       /* it counts events that are not in the stream */
};

struct tally {
	uint64_t from, to; /* the counted period in ns, both ends included */
	uint64_t events, events_by_type[MPROF_EVENT_IDS];
	uint64_t threads_by_type[TALLY_TYPES];
	uint64_t first_ns, last_ns;   /* times of the first and last counted event; valid if EVENTS > 0 */
	struct mprof_times_span span; /* of the counted events */
	uint64_t seen_ns;	      /* time of the latest event, also outside of the period */
	uint64_t before_ns;	      /* time of the event before, in the order of the stream */
	uint32_t declares;	      /* as of struct mprof_model_stream */
	bool declared;		      /* DECLARES is of the stream's packets up to here */
	uint64_t labels;	      /* number of different labels */
	uint64_t gcs, gc_ns, gc_longest_ns;
	struct texts texts;
	uint8_t *labelled; /* for each string of TEXTS: 1 if it was counted as a label; owned */
	uint32_t labelled_room;
	uint32_t *counter_index; /* for each string of TEXTS: the counter of that name; owned */
	uint32_t counter_index_room;
	struct tally_counter *counters;
	uint32_t counter_count, counter_room;
	uint64_t refused; /* samples of counters that were left out at the memory limit */
	struct thread_stats thread_stats;
	bool failed; /* out of memory */
};

/* Begin the tally of one stream. SHARES is the number of streams that share the memory limits. */
void tally_init(struct tally *t, unsigned int shares);
void tally_deinit(struct tally *t);

/* Count the next N events. The caller has set FROM and TO. */
void tally_events(struct tally *t, const struct mprof_event *events, size_t n);
/* Events are missing before the next one. */
void tally_gap(struct tally *t);
/* End the stream: no more events come. WENT_BACK: its clock did, by the decoder's verdict; a last event that comes late is no such step. */
void tally_end(struct tally *t, bool went_back);

/*
 * Add the counts of OTHER to T. tally_end() was called on OTHER, and tally_event() is never called
 * on T. Marked threads, busy threads and sleeping time belong to a single stream and are not added.
 */
void tally_join(struct tally *t, const struct tally *other);

/*
 * Return whether the ended stream would tell when no thread of it runs: it has told so, or its recorder always does. Without that,
 * no time asleep means nothing.
 */
bool tally_tells_sleep(const struct tally *t);
/* Return the value of the counter NAME, one of losses, after its latest sample, or 0 without one. */
uint64_t tally_counted(const struct tally *t, const char *name);
/* Return true if the tally is incomplete because of the memory limits. */
bool tally_truncated(const struct tally *t);

#endif
