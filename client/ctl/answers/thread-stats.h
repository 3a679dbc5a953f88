/*
 * Statistics on the threads of one stream: which threads exist, end, and run for how long.
 *
 * The number of threads is bounded. At the limit ended threads are forgotten first.
 */
#ifndef CTL_THREAD_STATS_H
#define CTL_THREAD_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/event.h>

#include "id-index.h"

#define THREAD_STAT_NONE     ID_INDEX_NONE
#define THREAD_STATS_BUSIEST 10u

enum thread_stat_flag {
	THREAD_STAT_ENDED = 1,
	THREAD_STAT_EXPECTED = 2, /* has the marker label: it should resolve */
};

#define THREAD_STAT_NO_LABEL 0x3fffffu /* labels have smaller numbers */

/* In 24 bytes. */
struct thread_stat {
	int64_t id;
	uint64_t running_ns;
	uint32_t alias;		 /* the thread that it became, or itself */
	unsigned int label : 22; /* number of its first label, given by the caller */
	unsigned int flags : 2;
	uint8_t type;
};

struct thread_stats {
	struct thread_stat *list;
	uint32_t n, room, most;
	struct id_index ids;
	/* The busiest of the forgotten threads; the others are in LIST. */
	struct thread_stat retired[THREAD_STATS_BUSIEST];
	uint32_t retired_n;
	uint64_t forgotten;   /* threads */
	uint64_t untracked;   /* events of threads beyond the limit */
	uint64_t retry_at;    /* value of UNTRACKED at which to try again to forget threads */
	uint64_t preexisting; /* threads whose creation was not seen */
	uint64_t sleeping_ns;
	/* The running thread, nothing (the program sleeps), or unknown. */
	enum { RUNNING_UNKNOWN, RUNNING_NOTHING, RUNNING_THREAD } state;
	uint32_t running;
	uint64_t since;
	bool cut; /* the running thread ended at CUT_NS, or earlier */
	uint64_t cut_ns;
	/* The counted period. */
	uint64_t from, to;
	bool failed; /* out of memory */
};

/* Allow at most MOST threads at once (at least 16). */
void thread_stats_init(struct thread_stats *r, uint32_t most);
void thread_stats_deinit(struct thread_stats *r);

/*
 * Take the next event. LABEL is the number of a label event's string, THREAD_STAT_NONE for other
 * events. MARKER: the label marks a thread that should resolve.
 */
void thread_stats_event(struct thread_stats *r, const struct mprof_raw_event *e, uint32_t label, bool marker);

/* End the trace at NS. */
void thread_stats_end(struct thread_stats *r, uint64_t ns);

/* Return the thread that thread I of the list finally became. */
uint32_t thread_stats_alias(struct thread_stats *r, uint32_t i);

/*
 * Write the threads that ran longest to OUT, which has room for THREAD_STATS_BUSIEST, the longest
 * first. Return their number.
 */
size_t thread_stats_busiest(const struct thread_stats *r, struct thread_stat *out);

#endif
