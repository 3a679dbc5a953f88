/* The numbers of one stream, counted as its events come, in bounded memory. */
#ifndef CTL_TALLY_H
#define CTL_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/event.h>

#include "texts.h"
#include "thread-stats.h"

#define TALLY_TYPES (MPROF_THREAD_TYPES + 1) /* the last one: unknown */

struct tally_counter {
	uint32_t name; /* of the tally's texts */
	uint64_t samples;
	int64_t value; /* now, also of samples outside of the period */
	int64_t first, last, min, max;
	uint64_t first_ns, last_ns;
};

struct tally {
	uint64_t from, to; /* the period that counts, both included */
	uint64_t events, events_by_type[MPROF_EVENT_IDS];
	uint64_t threads_by_type[TALLY_TYPES];
	uint64_t first_ns, last_ns; /* the earliest and the latest; where there are events */
	uint64_t seen_ns;	    /* the latest, also outside of the period */
	uint64_t labels;	    /* different ones */
	uint64_t gcs, gc_ns, gc_longest_ns;
	struct texts texts;
	uint8_t *labelled; /* a byte for each text: is it a label that was counted? */
	uint32_t labelled_room;
	uint32_t *counter_index; /* text to counter */
	uint32_t counter_index_room;
	struct tally_counter *counters;
	uint32_t counter_count, counter_room;
	uint64_t refused; /* samples of counters that there was no room for */
	struct thread_stats thread_stats;
	bool failed; /* no memory */
};

/* For one of SHARES streams at once: they share the memory that there is to be. */
void tally_init(struct tally *t, unsigned int shares);
void tally_deinit(struct tally *t);

/* The next event; FROM and TO of the tally are set. */
void tally_event(struct tally *t, const struct mprof_raw_event *e);
/* There are no more. */
void tally_end(struct tally *t);

/*
 * Add the numbers of OTHER, another stream's that has ended, to T, which takes no events itself.  Threads are those of a stream: who
 * should resolve, who was busy and how long nobody ran is not in T.
 */
void tally_join(struct tally *t, const struct tally *other);

/* Was anything left out because memory is bounded? */
bool tally_truncated(const struct tally *t);

#endif
