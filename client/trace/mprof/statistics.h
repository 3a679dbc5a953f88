/*
 * libmprof: a range of time of a finished model in numbers.
 *
 *   n = mprof_statistics_new(mprof_model_view(m), from, to);
 *   all = mprof_statistics_totals(n);
 *
 * They are those of `mprofctl stats`, as far as a model knows them: it keeps no switches (it has the pieces in which threads ran), no look that
 * a read followed at once, no marks of threads that should resolve as labels.
 */
#ifndef MPROF_STATISTICS_H
#define MPROF_STATISTICS_H

#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_STATISTICS_BUSIEST 10u

struct mprof_statistics_busy {
	uint64_t running_ns;
	uint32_t thread;
	uint32_t label; /* string, its first label; or MPROF_NONE */
};

/* Of one counter of the view. */
struct mprof_statistics_counter {
	uint64_t samples; /* without one the rest is 0 */
	int64_t first;
	int64_t last;
	int64_t min;
	int64_t max;
	uint64_t first_ns;
	uint64_t last_ns;
};

/* Of all streams together; both ends of the range belong to it. */
struct mprof_statistics_totals {
	uint64_t events_by_type[MPROF_EVENT_IDS];
	uint64_t threads_by_type[MPROF_THREAD_TYPES + 1]; /* created in it; the last one: of another type */
	uint64_t created;
	uint64_t preexisting; /* in the whole trace */
	uint64_t labels;      /* different ones */
	uint64_t collections;
	uint64_t collecting_ns; /* of those that ended in it; held at the most that fits */
	uint64_t longest_ns;
	uint64_t running_ns; /* any thread */
	uint64_t sleeping_ns;
	uint64_t first_ns; /* the part of the range that the trace has; empty where FIRST_NS is the later */
	uint64_t last_ns;
	uint32_t busiest; /* so many there are, the one that ran longest first */
	uint32_t reserved;
};

struct mprof_statistics;

/* Count, in time that grows with the model.  VIEW is borrowed for the call alone.  NULL without memory. */
MPROF_API struct mprof_statistics *mprof_statistics_new(const struct mprof_model_view *view, uint64_t from,
							uint64_t to);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_statistics *mprof_statistics_free(struct mprof_statistics *n);

/* Lent until the numbers are freed; one for each counter of the view, and as many of the busiest as there are. */
MPROF_API const struct mprof_statistics_totals *mprof_statistics_totals(const struct mprof_statistics *n);
MPROF_API const struct mprof_statistics_counter *mprof_statistics_counters(const struct mprof_statistics *n);
MPROF_API const struct mprof_statistics_busy *mprof_statistics_busiest(const struct mprof_statistics *n);

#ifdef __cplusplus
}
#endif

#endif
