/*
 * libmprof: a range of time of a finished model in numbers.
 *
 *   n = mprof_numbers_new(mprof_model_view(m), from, to);
 *   all = mprof_numbers_of(n);
 *
 * They are those of `mprofctl stats`, as far as a model knows them: it keeps no switches (it has the pieces in which threads ran), no look that
 * a read followed at once, no marks of threads that should resolve as labels.
 */
#ifndef MPROF_NUMBERS_H
#define MPROF_NUMBERS_H

#include <mprof/model.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_NUMBERS_BUSIEST 10u

struct mprof_numbers_busy {
	uint64_t running_ns;
	uint32_t thread;
	uint32_t label; /* string, its first label; or MPROF_NONE */
};

/* Of one counter of the view. */
struct mprof_numbers_counter {
	uint64_t samples; /* without one the rest is 0 */
	int64_t first;
	int64_t last;
	int64_t min;
	int64_t max;
	uint64_t first_ns;
	uint64_t last_ns;
};

/* Of all streams together; both ends of the range belong to it. */
struct mprof_numbers_all {
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

struct mprof_numbers;

/* Count, in time that grows with the model.  VIEW is borrowed for the call alone.  NULL without memory. */
MPROF_API struct mprof_numbers *mprof_numbers_new(const struct mprof_model_view *view, uint64_t from, uint64_t to);
/* Takes NULL too; returns NULL. */
MPROF_API struct mprof_numbers *mprof_numbers_free(struct mprof_numbers *n);

/* Lent until the numbers are freed; one for each counter of the view, and as many of the busiest as there are. */
MPROF_API const struct mprof_numbers_all *mprof_numbers_of(const struct mprof_numbers *n);
MPROF_API const struct mprof_numbers_counter *mprof_numbers_counters(const struct mprof_numbers *n);
MPROF_API const struct mprof_numbers_busy *mprof_numbers_busiest(const struct mprof_numbers *n);

#ifdef __cplusplus
}
#endif

#endif
